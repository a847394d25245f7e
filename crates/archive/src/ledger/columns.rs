//! The columns of the ledger: what is counted of updates, each of them defined once, here.
//!
//! From this table come the account and its arithmetic, the bytes of rows, and what answers, metrics, reports and the description of
//! the API say of each. A new column is one more entry at the end: its place is its number in rows, and never changes.

/// What a column counts, and so what becomes of it in sums and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Updates that arrived: the sum of all that is stored, skipped, waiting and lost.
    Received,
    /// Samples that the queue took: they are in the store once the row is that counts them.
    Stored,
    /// Updates that were not to be sampled.
    Skipped,
    /// Updates that wait, more at the end than at the beginning. It alone may be below zero.
    Waiting,
    /// Samples that were received and not kept though they should have been.
    Lost,
    /// Updates that never arrived, at least so many. They are told with those that were lost, and in no sum.
    Missed,
    /// Samples whose stamp is out of the ordinary; they are stored all the same.
    OddStamp,
    /// Milliseconds in which updates may have been lost on their way. Answers have them in seconds.
    Suspected,
}

impl Kind {
    /// Whether it tells of something that went wrong with the archiver, or on the way to it.
    pub const fn is_trouble(self) -> bool {
        matches!(self, Kind::Lost | Kind::Missed | Kind::Suspected)
    }
}

/// A column, and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// What it counts.
    pub kind: Kind,
    /// What accounts in answers call it; what was lost or missed stands in `lost` there, odd stamps in `stamps`.
    pub name: &'static str,
    /// What the description of the API says of it in an account.
    pub in_account: Option<&'static str>,
    /// What the counters since the start call it, and say of it; none if they do not have it.
    pub since_start: Option<(&'static str, &'static str)>,
    /// What the trouble of the last hours says of it, if it is in it.
    pub in_trouble: Option<&'static str>,
    /// The metric of its own, without prefix, and its help. Those that have none are a label of a metric for their kind.
    pub metric: Option<(&'static str, &'static str)>,
    /// The reason that explains missing samples by it, and its sentence, in which `{}` is the count.
    pub reason: Option<(&'static str, &'static str)>,
    /// Why samples were lost, as the end of a sentence.
    pub because: Option<&'static str>,
    /// In one line with all others, behind or around its count, which `{}` stands for.
    pub in_short: Option<&'static str>,
}

impl Column {
    const fn new(kind: Kind, name: &'static str) -> Column {
        Column {
            kind,
            name,
            in_account: None,
            since_start: None,
            in_trouble: None,
            metric: None,
            reason: None,
            because: None,
            in_short: None,
        }
    }

    /// The counts of one or several kinds, with their columns.
    pub fn of<'a>(kinds: &'a [Kind], counts: [u64; COUNT]) -> impl Iterator<Item = (&'static Column, u64)> + 'a {
        COLUMNS.iter().zip(counts).filter(|(column, _)| kinds.contains(&column.kind))
    }
}

/// How many columns there are.
pub const COUNT: usize = COLUMNS.len();

/// Makes the account and its table of columns from one list. Each field has a column; all are `u64` but the one that waits.
macro_rules! columns {
    ($($(#[$doc:meta])* $field:ident: $number:ty => $column:expr;)*) => {
        /// What became of the updates of one PV in some stretch of time, or of all PVs.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Account { $($(#[$doc])* pub $field: $number,)* }

        /// All columns, in the order in which rows have them.
        pub static COLUMNS: [Column; [$(stringify!($field)),*].len()] = [$($column),*];

        impl Account {
            /// All counts, in the order of the columns; what waits as the bits of a signed number.
            pub const fn counts(&self) -> [u64; COUNT] {
                [$(self.$field as u64),*]
            }

            /// The other way round.
            pub const fn of_counts(counts: [u64; COUNT]) -> Account {
                let [$($field),*] = counts;
                Account { $($field: $field as $number),* }
            }
        }
    };
}

columns! {
    /// Updates that arrived.
    received: u64 => Column {
        since_start: Some(("received", "Updates that arrived.")),
        metric: Some(("samples_received", "Updates that arrived from IOCs")),
        in_short: Some("received {}"),
        ..Column::new(Kind::Received, "received")
    };
    /// Samples that the queue took: they are in the store once the row is that counts them.
    stored: u64 => Column {
        since_start: Some(("stored", "Samples that the store took.")),
        metric: Some(("samples_stored", "Samples that the store took")),
        in_short: Some("stored {}"),
        ..Column::new(Kind::Stored, "stored")
    };
    /// Updates that were not to be sampled: a newer one came within the scan period, they lay within the dead band, or all groups of
    /// the PV were disabled.
    skipped: u64 => Column {
        since_start: Some(("skipped", "Updates that scanning passed over.")),
        metric: Some(("samples_skipped", "Updates that scanning passed over")),
        reason: Some(("skipped", "{} updates were passed over: the PV is scanned.")),
        in_short: Some("skipped {}"),
        ..Column::new(Kind::Skipped, "skipped")
    };
    /// How many more updates wait for the end of their scan period at the end than at the beginning.
    waiting: i64 => Column {
        in_account: Some("How many more wait for the end of a scan period at the end than at the beginning."),
        ..Column::new(Kind::Waiting, "waiting")
    };
    /// Samples lost because the queue was full.
    queue_full: u64 => Column {
        since_start: Some(("dropped_queue", "Samples lost because the queue was full.")),
        in_trouble: Some("Samples lost because the queue was full."),
        reason: Some(("lost_queue_full", "{} samples found no room in the queue.")),
        because: Some("because the queue was full"),
        in_short: Some("{} in the queue"),
        ..Column::new(Kind::Lost, "queue_full")
    };
    /// Samples lost because the queue was full while the store refused to write, or because they were too large.
    store_refused: u64 => Column {
        since_start: Some(("dropped_store", "Samples lost because the store refused them.")),
        in_trouble: Some("Samples lost because the store took none."),
        reason: Some(("lost_store_refused", "{} samples were refused by the store.")),
        because: Some("because the store took none"),
        in_short: Some("{} by the store"),
        ..Column::new(Kind::Lost, "store_refused")
    };
    /// Samples left out because they came faster than the limit of the PV allows.
    rate_capped: u64 => Column {
        since_start: Some((
            "rate_capped",
            "Samples left out because they came faster than the limit of the PV allows.",
        )),
        in_trouble: Some("Samples left out by the limits of their PVs."),
        reason: Some(("rate_capped", "{} samples came faster than the PV's limit allows.")),
        because: Some("by the rate limits of their PVs"),
        in_short: Some("{} by limit"),
        ..Column::new(Kind::Lost, "rate_capped")
    };
    /// Updates before which the server said that it had thrown others away: at least so many never arrived.
    overruns: u64 => Column {
        in_account: Some("Updates before which the server threw others away: at least so many never arrived."),
        since_start: Some((
            "overruns",
            "Updates before which a pvAccess server said that it had thrown others away.",
        )),
        in_trouble: Some("Updates before which a server said that it had thrown others away."),
        reason: Some(("overrun", "The server threw updates away before {} updates.")),
        because: Some("servers threw updates away, at least {}"),
        in_short: Some("at least {} by the server"),
        ..Column::new(Kind::Missed, "overrun")
    };
    /// Samples whose stamp was never set.
    never_set: u64 => Column {
        since_start: Some(("never_set", "Samples whose time stamp was never set.")),
        ..Column::new(Kind::OddStamp, "never_set")
    };
    /// Samples whose stamp lay ahead of the clock.
    ahead: u64 => Column {
        since_start: Some(("ahead", "Samples whose time stamp lies far in the future.")),
        ..Column::new(Kind::OddStamp, "ahead")
    };
    /// Samples whose stamp lay before that of the sample before.
    backward: u64 => Column {
        since_start: Some(("backward", "Samples whose time stamp lies before that of the sample before.")),
        ..Column::new(Kind::OddStamp, "backward")
    };
    /// Milliseconds in which updates may have been lost on their way, by the looks of the connection. Nothing proves it.
    suspected_ms: u64 => Column {
        since_start: Some(("suspected_seconds", "Time in which updates may have been lost on their way.")),
        metric: Some((
            "suspected_milliseconds",
            "Time in which updates may have been lost on their way, summed over PVs",
        )),
        ..Column::new(Kind::Suspected, "suspected_seconds")
    };
}
