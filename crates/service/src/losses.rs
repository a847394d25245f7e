//! What was lost or is suspected to be in the last hours, as one sentence for an operator.

use std::sync::Arc;

use archive::{
    Directory, LedgerScale, Standing,
    ledger::{Column, Kind, RECENT, Trouble, trouble_in},
};
use query::Query;
use sample::{TimeRange, Timestamp};

use crate::ledger::each_row;

/// Reads what the ledger says of the hours before this start, of which nothing is in memory.
pub(crate) fn recall(archive: Query, directory: Arc<dyn Directory>, standing: Arc<dyn Standing>, started: Timestamp) {
    let recall = move || {
        if let Err(error) = recall_until(&archive, &*directory, &*standing, started) {
            tracing::warn!("what was lost before the start is not known: {error}");
        }
    };
    // Nobody waits for it: it is told as soon as it is known.
    if let Err(error) = std::thread::Builder::new().name("losses".to_owned()).spawn(recall) {
        tracing::warn!("what was lost before the start is not looked for: {error}");
    }
}

fn recall_until(
    archive: &Query,
    directory: &dyn Directory,
    standing: &dyn Standing,
    started: Timestamp,
) -> Result<(), query::Error> {
    let range = TimeRange { t0: started.saturating_sub(RECENT), t1: started };
    LedgerScale::Minute.names().try_for_each(|name| {
        each_row(archive, directory, &name, range, |from, bytes| {
            // What was written since the start is known.
            if let Ok((head, trouble)) = trouble_in(bytes, from)
                && head.until <= started
            {
                standing.recall(head.until, trouble);
            }
        })
    })
}

/// The sentence; none if nothing was lost and nothing is suspected.
pub(crate) fn sentence(of: &Trouble) -> Option<String> {
    let counts = of.of.counts();
    let because = |(column, count): (&Column, u64)| Some((count, column.because.filter(|_| count > 0)?));
    let lost: Vec<String> = Column::of(&[Kind::Lost], counts)
        .filter_map(because)
        .map(|(count, because)| format!("{count} {because}"))
        .collect();
    let missed = Column::of(&[Kind::Missed], counts).filter_map(because);
    let mut parts = Vec::new();
    if !lost.is_empty() {
        parts.push(format!("samples of {} were lost, {}", pvs(of.lossy_pvs), lost.join(", ")));
    }
    parts.extend(missed.map(|(count, because)| because.replace("{}", &count.to_string())));
    if of.suspected_pvs > 0 {
        let seconds = of.of.suspected_ms as f64 / 1000.0;
        parts.push(format!("updates of {} may be missing, of up to {seconds:.1} s in a minute", pvs(of.suspected_pvs)));
    }
    if parts.is_empty() {
        return None;
    }
    let (hours, last) = (RECENT.as_secs() / 3600, minute(of.last));
    Some(format!(
        "In the last {hours} hours {}; the last of it by {last} UTC. The ledger of each PV has the minutes.",
        parts.join("; ")
    ))
}

fn pvs(count: u64) -> String {
    format!("{count} PV{}", if count == 1 { "" } else { "s" })
}

/// A time to the minute, as `2026-11-24 03:07`.
fn minute(at: Timestamp) -> String {
    at.to_string().replace('T', " ").chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use archive::ledger::Account;

    use super::*;

    #[test]
    fn losses_are_one_sentence_and_none_are_none() {
        assert_eq!(sentence(&Trouble::default()), None);
        let last = Timestamp::from_seconds(1_795_489_620, 0);
        let of = Account { suspected_ms: 13_600, ..Account::default() };
        let hole = Trouble { of, suspected_pvs: 5000, last, ..Trouble::default() };
        let expected = "In the last 6 hours updates of 5000 PVs may be missing, of up to 13.6 s in a minute; the last of it by \
                        2026-11-24 03:07 UTC. The ledger of each PV has the minutes.";
        assert_eq!(sentence(&hole).as_deref(), Some(expected));
        let of = Account { queue_full: 7, rate_capped: 2, overruns: 1, ..hole.of };
        let both = Trouble { of, lossy_pvs: 1, ..hole };
        let expected = "In the last 6 hours samples of 1 PV were lost, 7 because the queue was full, 2 by the rate limits of their \
                        PVs; servers threw updates away, at least 1; updates of 5000 PVs may be missing";
        assert!(sentence(&both).unwrap().starts_with(expected), "{:?}", sentence(&both));
    }
}
