//! What nodes of a cluster ask of each other beyond samples, as bytes: CBOR with numbered fields, converted by hand, so that the public
//! types can change without the language of nodes. PVs have the numbers of their shard.

use std::{net::SocketAddr, time::Duration};

use archive::{
    Action, AddRequest, Added, Brief, By, Change, Connection, DataFate, DirectoryError, Fault, How, Mark, Method,
    OldName, Principal, Protocol, PvId, PvName, PvSettings, PvState, RuleName, Rules, Status, Way, Wishes,
    ledger::{Account, COUNT},
    settings::{SettingCell, SettingCells},
};
use minicbor::{Decode, Encode};
use sample::Timestamp;

use crate::{
    figures::FiguresRow,
    rows::{DeletionRow, IocRow, KeptTokenRow, MemoRow, MemoTextRow, PurgedRow, SizeRow, StepRow},
};

/// A question; most are about a shard that the asked node has open.
#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) enum Question {
    #[n(0)]
    Add(#[n(0)] u32, #[n(1)] Vec<AddRow>, #[n(2)] ByWire),
    #[n(1)]
    Pause(#[n(0)] u32, #[n(1)] Vec<u32>, #[n(2)] ByWire),
    #[n(2)]
    Resume(#[n(0)] u32, #[n(1)] Vec<u32>, #[n(2)] ByWire),
    /// The flag: its data is to go.
    #[n(3)]
    Remove(#[n(0)] u32, #[n(1)] Vec<u32>, #[n(2)] bool, #[n(3)] ByWire),
    /// The flag: the old name stays as an alias.
    #[n(4)]
    Rename(#[n(0)] u32, #[n(1)] u32, #[n(2)] String, #[n(3)] bool, #[n(4)] ByWire),
    #[n(5)]
    Briefs(#[n(0)] u32, #[n(1)] Vec<u32>),
    #[n(6)]
    Status(#[n(0)] u32, #[n(1)] u32),
    #[n(7)]
    OpenAccount(#[n(0)] u32, #[n(1)] u32),
    /// Take what this node holds of an epoch that has ended.
    #[n(8)]
    Offer(#[n(0)] PartRow),
    /// Frames that the asked node holds: from one on and below another, about so many bytes.
    #[n(9)]
    Frames(#[n(0)] PartRow, #[n(1)] u64),
    /// The number of the first frame of the file that has the first one of these.
    #[n(10)]
    Beginning(#[n(0)] PartRow),
    /// Take a shard, whoever has it.
    #[n(11)]
    Take(#[n(0)] u32),
    /// Have no shards from now on, or have some again.
    #[n(12)]
    Leave(#[n(0)] bool),
    /// Write down in the audit what an operator has ordered of nodes.
    #[n(14)]
    Note(#[n(0)] u8, #[n(1)] String, #[n(2)] ByWire),
    /// What adding PVs would do.
    #[n(15)]
    Foresee(#[n(0)] u32, #[n(1)] Vec<AddRow>),
    /// Enter PVs of other archives, paused.
    #[n(16)]
    EnterPaused(#[n(0)] u32, #[n(1)] Vec<String>, #[n(2)] ByWire),
    /// Enter fields with their PVs.
    #[n(17)]
    EnterFields(#[n(0)] u32, #[n(1)] Vec<(u32, String)>, #[n(2)] ByWire),
    /// Bring back PVs, under another name where one is given.
    #[n(18)]
    Restore(#[n(0)] u32, #[n(1)] Vec<(u32, Option<String>)>, #[n(2)] ByWire),
    /// Take an order back.
    #[n(19)]
    Undo(#[n(0)] u32, #[n(1)] u64, #[n(2)] ByWire),
    /// The flag: the data of these removed PVs is to go.
    #[n(20)]
    DecideUpon(#[n(0)] u32, #[n(1)] Vec<u32>, #[n(2)] bool, #[n(3)] ByWire),
    #[n(21)]
    AddAliases(#[n(0)] u32, #[n(1)] Vec<(u32, String)>, #[n(2)] ByWire),
    #[n(22)]
    RemoveAlias(#[n(0)] u32, #[n(1)] u32, #[n(2)] String, #[n(3)] ByWire),
    /// Hide the samples of a range; the whole range if the flag says so, though there are none, as the copy has some.
    #[n(23)]
    DeleteRange(#[n(0)] u32, #[n(1)] u32, #[n(2)] (i64, i64), #[n(3)] ByWire, #[n(4)] Option<bool>),
    #[n(24)]
    RestoreRange(#[n(0)] u32, #[n(1)] u64, #[n(2)] ByWire),
    /// What a purge of one PV, or of all, of what was deleted before a time would take.
    #[n(25)]
    Purgeable(#[n(0)] u32, #[n(1)] Option<u32>, #[n(2)] i64),
    #[n(26)]
    Purge(#[n(0)] u32, #[n(1)] Option<u32>, #[n(2)] i64, #[n(3)] ByWire),
    /// Keep memos, each in the place of the one that stands with it; the asked node has the site, as for all that follow.
    #[n(27)]
    PutMemos(#[n(0)] Vec<(Option<MemoRow>, MemoTextRow)>, #[n(1)] ByWire),
    #[n(28)]
    RemoveMemo(#[n(0)] Box<MemoRow>, #[n(1)] ByWire),
    #[n(29)]
    Tokens,
    #[n(30)]
    AddToken(#[n(0)] KeptTokenRow),
    #[n(31)]
    RevokeToken(#[n(0)] String, #[n(1)] ByWire),
    #[n(32)]
    TouchTokens(#[n(0)] Vec<(String, i64)>),
    /// What the asked node has to say of itself.
    #[n(33)]
    Figures,
    /// What the PVs of a shard take on disk, from one on, some thousand; of that one alone if the flag says so, which nodes that do not
    /// know it pass over.
    #[n(34)]
    Sizes(#[n(0)] u32, #[n(1)] u32, #[n(2)] Option<bool>),
    /// The IOCs of the shards that the asked node has.
    #[n(35)]
    Iocs,
    /// Make the list of a copy that of its shard, at that time.
    #[n(36)]
    Mirror(#[n(0)] u32, #[n(1)] i64),
    /// Say where a copy stands, of what is older than that time.
    #[n(37)]
    Mark(#[n(0)] u32, #[n(1)] i64),
    /// Give up what was there of these PVs when that was said, as their shard has it by now.
    #[n(38)]
    GiveUp(#[n(0)] u32, #[n(1)] Vec<u32>, #[n(2)] MarkRow, #[n(3)] ByWire),
}

impl Question {
    /// Whether it must not be asked again where nobody knows what became of it.
    pub(crate) fn is_order(&self) -> bool {
        !matches!(
            self,
            Question::Briefs(..)
                | Question::Status(..)
                | Question::OpenAccount(..)
                | Question::Frames(..)
                | Question::Beginning(..)
                | Question::Foresee(..)
                | Question::Purgeable(..)
                | Question::Tokens
                | Question::Figures
                | Question::Sizes(..)
                | Question::Iocs
                | Question::Mirror(..)
                | Question::Mark(..)
        )
    }
}

/// An answer.
#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) enum Answer {
    #[n(0)]
    Added(#[n(0)] Vec<(u32, u8)>),
    #[n(1)]
    Changes(#[n(0)] Vec<u8>),
    #[n(2)]
    Entry(#[n(0)] u32),
    #[n(3)]
    Briefs(#[n(0)] Vec<Option<StatusRow>>),
    #[n(4)]
    Status(#[n(0)] Option<StatusRow>),
    #[n(5)]
    Account(#[n(0)] Option<(i64, Vec<u64>)>),
    #[n(6)]
    Done(#[n(0)] bool),
    #[n(7)]
    Frames(#[n(0)] Option<FramesRow>),
    #[n(8)]
    Number(#[n(0)] u64),
    #[n(10)]
    Fault(#[n(0)] u8, #[n(1)] String),
    /// The asked node does not have the shard, and has done nothing.
    #[n(11)]
    Elsewhere,
    #[n(12)]
    Foreseen(#[n(0)] Vec<u8>),
    /// What became of each: its number, or why not.
    #[n(13)]
    Each(#[n(0)] Vec<EachRow>),
    #[n(14)]
    Steps(#[n(0)] Vec<StepRow>),
    #[n(15)]
    Deletion(#[n(0)] DeletionRow),
    #[n(16)]
    Purged(#[n(0)] PurgedRow),
    #[n(17)]
    Memos(#[n(0)] Vec<MemoRow>),
    #[n(18)]
    Tokens(#[n(0)] Vec<KeptTokenRow>),
    #[n(19)]
    Figures(#[n(0)] FiguresRow),
    /// By number, the next ones if there are more.
    #[n(20)]
    Sizes(#[n(0)] Vec<SizeRow>),
    #[n(21)]
    Iocs(#[n(0)] Vec<IocRow>),
    #[n(22)]
    Marked(#[n(0)] MarkRow),
}

/// What became of one of several things.
#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) enum EachRow {
    #[n(0)]
    Done(#[n(0)] u32),
    #[n(1)]
    Fault(#[n(0)] u8, #[n(1)] String),
}

/// Where a copy stands, in which epoch.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct MarkRow {
    #[n(0)]
    pub(crate) epoch: u64,
    #[n(1)]
    before: i64,
    #[n(2)]
    below: u64,
    #[n(3)]
    deletion: u64,
    #[n(4)]
    hidden: Vec<u32>,
}

impl MarkRow {
    pub(crate) fn of(epoch: u64, mark: &Mark) -> MarkRow {
        let Mark { before, below, deletion, hidden } = mark;
        let hidden = hidden.iter().map(|pv| pv.0).collect();
        MarkRow { epoch, before: before.nanos(), below: *below, deletion: *deletion, hidden }
    }

    pub(crate) fn mark(&self) -> Mark {
        let before = Timestamp::from_nanos(self.before);
        Mark { before, below: self.below, deletion: self.deletion, hidden: locals(&self.hidden) }
    }
}

/// Frames of an epoch of a shard, and which node holds them.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) struct PartRow {
    #[n(0)]
    pub(crate) shard: u32,
    #[n(1)]
    pub(crate) epoch: u64,
    #[n(2)]
    pub(crate) first: u64,
    #[n(3)]
    pub(crate) end: u64,
    #[n(4)]
    pub(crate) holder: String,
}

#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) struct FramesRow {
    #[n(0)]
    pub(crate) first: u64,
    #[n(1)]
    pub(crate) end: u64,
    #[n(2)]
    pub(crate) file: u64,
    #[n(3)]
    pub(crate) at: u64,
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    pub(crate) bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct AddRow {
    #[n(0)]
    name: String,
    #[n(1)]
    policy: Option<String>,
    #[n(2)]
    is_paused: bool,
    #[n(3)]
    protocol: Option<String>,
    /// 0 stands for a monitor, others are periods in nanoseconds.
    #[n(4)]
    method: Option<u64>,
    #[n(5)]
    rules: Vec<(u32, CellRow)>,
}

#[derive(Clone, Debug, PartialEq, Encode, Decode)]
enum CellRow {
    #[n(0)]
    Number(#[n(0)] f64),
    #[n(1)]
    Count(#[n(0)] u64),
    #[n(2)]
    Text(#[n(0)] String),
    #[n(3)]
    Texts(#[n(0)] Vec<String>),
}

/// Who gives an order, and when.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct ByWire {
    #[n(0)]
    at: i64,
    #[n(1)]
    who: String,
    #[n(2)]
    how: Option<String>,
    #[n(3)]
    claimed: Option<String>,
    #[n(4)]
    way: Option<(Option<String>, String, String)>,
}

/// How a PV fares. What a list says of it is a part of that.
#[derive(Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct StatusRow {
    #[n(0)]
    connection: u8,
    #[n(1)]
    since: i64,
    #[n(2)]
    first_connected: Option<i64>,
    #[n(3)]
    last_connected: Option<i64>,
    #[n(4)]
    reconnects: u64,
    #[n(5)]
    counters: Vec<u64>,
    #[n(6)]
    last_sample: Option<i64>,
    #[n(7)]
    server: Option<String>,
    #[n(8)]
    refusal: Option<String>,
    #[n(9)]
    is_disabled: bool,
    #[n(10)]
    deadband_at_server: Option<bool>,
    #[n(11)]
    lacking: Vec<String>,
    #[n(12)]
    received: u64,
    #[n(13)]
    dropped: u64,
}

const CONNECTIONS: [Connection; 4] =
    [Connection::Searching, Connection::Connected, Connection::Disconnected, Connection::Paused];
const ADDED: [Added; 3] = [Added::New, Added::Already, Added::Changed];
const CHANGES: [Change; 3] = [Change::Done, Change::Already, Change::Unknown];
const FAULTS: [Fault; 6] =
    [Fault::NotNow, Fault::NameTaken, Fault::NothingThere, Fault::Failed, Fault::NoRoom, Fault::InTheWay];

fn place<T: PartialEq>(of: &[T], wanted: &T) -> u8 {
    of.iter().position(|one| one == wanted).unwrap_or(0) as u8
}

pub(crate) fn added_row(added: Added) -> u8 {
    place(&ADDED, &added)
}

pub(crate) fn added(row: u8) -> Option<Added> {
    ADDED.get(usize::from(row)).copied()
}

pub(crate) fn changes_rows(changes: &[Change]) -> Vec<u8> {
    changes.iter().map(|change| place(&CHANGES, change)).collect()
}

pub(crate) fn changes(rows: &[u8]) -> Option<Vec<Change>> {
    rows.iter().map(|row| CHANGES.get(usize::from(*row)).copied()).collect()
}

pub(crate) fn action_row(action: Action) -> u8 {
    place(&Action::ALL, &action)
}

pub(crate) fn fault_row(error: &DirectoryError) -> Answer {
    Answer::Fault(place(&FAULTS, &error.fault), error.message.clone())
}

impl EachRow {
    pub(crate) fn of(each: Result<PvId, DirectoryError>) -> EachRow {
        match each {
            Ok(pv) => EachRow::Done(pv.0),
            Err(error) => EachRow::Fault(place(&FAULTS, &error.fault), error.message),
        }
    }

    pub(crate) fn each(self) -> Result<PvId, DirectoryError> {
        match self {
            EachRow::Done(pv) => Ok(PvId(pv)),
            EachRow::Fault(row, message) => Err(fault(row, message)),
        }
    }
}

/// The answer that it is done.
pub(crate) fn done(answer: Answer) -> Option<()> {
    matches!(answer, Answer::Done(true)).then_some(())
}

/// The answer that tells what became of each.
pub(crate) fn each(answer: Answer) -> Option<Vec<Result<PvId, DirectoryError>>> {
    if let Answer::Each(rows) = answer { Some(rows.into_iter().map(EachRow::each).collect()) } else { None }
}

pub(crate) fn added_rows(added: &[Added]) -> Vec<u8> {
    added.iter().map(|added| added_row(*added)).collect()
}

pub(crate) fn all_added(rows: &[u8]) -> Option<Vec<Added>> {
    rows.iter().map(|row| added(*row)).collect()
}

pub(crate) fn fault(row: u8, message: String) -> DirectoryError {
    DirectoryError { fault: FAULTS.get(usize::from(row)).copied().unwrap_or(Fault::Failed), message }
}

pub(crate) fn bytes<T: Encode<()>>(of: &T) -> Vec<u8> {
    minicbor::to_vec(of).unwrap_or_default()
}

pub(crate) fn read<'b, T: Decode<'b, ()>>(bytes: &'b [u8]) -> Option<T> {
    minicbor::decode(bytes).ok()
}

impl AddRow {
    /// Of a request; none if it asks for something that cannot be said so: settings that are the usual ones, where a policy says others.
    pub(crate) fn of(request: &AddRequest) -> Option<AddRow> {
        let AddRequest { name, policy, wishes, state } = request;
        let settings = wishes.over(&plain());
        let rules = settings.rules().cells();
        let row = AddRow {
            name: name.to_string(),
            policy: policy.as_ref().map(RuleName::to_string),
            is_paused: *state == PvState::Paused,
            protocol: wishes.protocol.map(|protocol| protocol.name().to_owned()),
            method: wishes.method.map(|method| match method {
                Method::Monitor => 0,
                Method::Scan { period } => period.as_nanos() as u64,
            }),
            rules: rules.iter().map(|(number, cell)| (number, CellRow::of(cell))).collect(),
        };
        (row.request().as_ref() == Some(request)).then_some(row)
    }

    /// The request; none if it makes no sense.
    pub(crate) fn request(&self) -> Option<AddRequest> {
        let mut cells = SettingCells::default();
        self.rules.iter().for_each(|(number, cell)| cells.put(*number, cell.cell()));
        let rules = Rules::of_cells(&cells)?;
        let known = Wishes::from(&PvSettings { rules: rules.shared(), ..plain() });
        let protocol = self.protocol.as_deref().map(|name| Protocol::from_name(name).ok_or(())).transpose().ok()?;
        let method = self.method.map(|nanos| match nanos {
            0 => Method::Monitor,
            nanos => Method::Scan { period: Duration::from_nanos(nanos) },
        });
        Some(AddRequest {
            name: PvName::new(&self.name).ok()?,
            policy: self.policy.as_deref().map(RuleName::new).transpose().ok()?,
            wishes: Wishes { protocol, method, ..known },
            state: if self.is_paused { PvState::Paused } else { PvState::Active },
        })
    }
}

fn plain() -> PvSettings {
    PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active)
}

impl CellRow {
    fn of(cell: &SettingCell) -> CellRow {
        match cell {
            SettingCell::Number(number) => CellRow::Number(*number),
            SettingCell::Count(count) => CellRow::Count(*count),
            SettingCell::Text(text) => CellRow::Text(text.clone()),
            SettingCell::Texts(texts) => CellRow::Texts(texts.clone()),
        }
    }

    fn cell(&self) -> SettingCell {
        match self {
            CellRow::Number(number) => SettingCell::Number(*number),
            CellRow::Count(count) => SettingCell::Count(*count),
            CellRow::Text(text) => SettingCell::Text(text.clone()),
            CellRow::Texts(texts) => SettingCell::Texts(texts.clone()),
        }
    }
}

impl From<&By> for ByWire {
    fn from(by: &By) -> ByWire {
        let way = |way: &Way| {
            (way.address.map(|address| address.to_string()), way.listener.to_string(), way.request.to_string())
        };
        ByWire {
            at: by.at.nanos(),
            who: by.who.established().to_owned(),
            how: by.who.how().map(|how| how.name().to_owned()),
            claimed: by.who.claimed().map(str::to_owned),
            way: by.who.way().map(way),
        }
    }
}

impl ByWire {
    pub(crate) fn by(&self) -> Option<By> {
        let way = |(address, listener, request): &(Option<String>, String, String)| {
            let address = address.as_deref().map(str::parse).transpose().ok()?;
            Some(Way { address, listener: listener.as_str().into(), request: request.as_str().into() })
        };
        let way = match &self.way {
            Some(row) => Some(way(row)?),
            None => None,
        };
        let who = match &self.how {
            Some(how) => Principal::recorded(&self.who, How::from_name(how)?, self.claimed.as_deref(), way),
            None => Principal::recorded_alone(&self.who),
        };
        Some(By { who, at: Timestamp::from_nanos(self.at) })
    }
}

fn nanos(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::nanos)
}

fn time(nanos: Option<i64>) -> Option<Timestamp> {
    nanos.map(Timestamp::from_nanos)
}

pub(crate) fn account_row(account: &Account) -> Vec<u64> {
    account.counts().to_vec()
}

pub(crate) fn account(counts: &[u64]) -> Option<Account> {
    <[u64; COUNT]>::try_from(counts).ok().map(Account::of_counts)
}

impl From<&Brief> for StatusRow {
    fn from(brief: &Brief) -> StatusRow {
        StatusRow {
            connection: place(&CONNECTIONS, &brief.connection),
            since: brief.since.nanos(),
            first_connected: nanos(brief.first_connected),
            last_connected: nanos(brief.last_connected),
            reconnects: brief.reconnects,
            last_sample: nanos(brief.last_sample),
            server: brief.server.map(|server| server.to_string()),
            received: brief.received,
            dropped: brief.dropped,
            ..StatusRow::default()
        }
    }
}

impl From<&Status> for StatusRow {
    fn from(status: &Status) -> StatusRow {
        StatusRow {
            connection: place(&CONNECTIONS, &status.connection),
            since: status.since.nanos(),
            first_connected: nanos(status.first_connected),
            last_connected: nanos(status.last_connected),
            reconnects: status.reconnects,
            counters: account_row(&status.counters),
            last_sample: nanos(status.last_sample),
            server: status.server.map(|server| server.to_string()),
            refusal: status.refusal.clone(),
            is_disabled: status.disabled,
            deadband_at_server: status.deadband_at_server,
            lacking: status.lacking.iter().map(|path| path.as_str().to_owned()).collect(),
            ..StatusRow::default()
        }
    }
}

impl StatusRow {
    fn connection(&self) -> Option<Connection> {
        CONNECTIONS.get(usize::from(self.connection)).copied()
    }

    fn server(&self) -> Option<SocketAddr> {
        self.server.as_deref().and_then(|server| server.parse().ok())
    }

    pub(crate) fn brief(&self) -> Option<Brief> {
        Some(Brief {
            connection: self.connection()?,
            since: Timestamp::from_nanos(self.since),
            first_connected: time(self.first_connected),
            last_connected: time(self.last_connected),
            reconnects: self.reconnects,
            received: self.received,
            dropped: self.dropped,
            last_sample: time(self.last_sample),
            server: self.server(),
        })
    }

    pub(crate) fn status(&self) -> Option<Status> {
        Some(Status {
            connection: self.connection()?,
            since: Timestamp::from_nanos(self.since),
            first_connected: time(self.first_connected),
            last_connected: time(self.last_connected),
            reconnects: self.reconnects,
            counters: account(&self.counters)?,
            last_sample: time(self.last_sample),
            server: self.server(),
            refusal: self.refusal.clone(),
            disabled: self.is_disabled,
            deadband_at_server: self.deadband_at_server,
            lacking: self.lacking.iter().filter_map(|path| archive::FieldPath::new(path).ok()).collect(),
        })
    }
}

pub(crate) fn fate(deletes: bool) -> DataFate {
    if deletes { DataFate::Delete } else { DataFate::Keep }
}

pub(crate) fn old_name(stays: bool) -> OldName {
    if stays { OldName::Alias } else { OldName::Free }
}

pub(crate) fn locals(numbers: &[u32]) -> Vec<PvId> {
    numbers.iter().map(|number| PvId(*number)).collect()
}

#[cfg(test)]
mod tests {
    use archive::Deadband;

    use super::*;

    fn there_and_back(question: Question) {
        let sent = bytes(&question);
        assert_eq!(read::<Question>(&sent), Some(question));
        for len in 0..sent.len() {
            assert_eq!(read::<Question>(&sent[..len]), None, "cut at {len}");
        }
    }

    #[test]
    fn questions_come_back_and_no_part_of_one_is_one() {
        let way = Way { address: Some([10, 0, 0, 7].into()), listener: "127.0.0.1:1".into(), request: "7".into() };
        let who = Principal::shown(How::Token, "ingest").calling_itself("a script").by_way(way);
        let by = By::new(who, Timestamp::from_seconds(5, 9));
        assert_eq!(ByWire::from(&by).by(), Some(by.clone()));
        let mut request = AddRequest::new(PvName::new("SR:C01{BPM:1}x").unwrap());
        request.wishes.deadband = Some(Deadband::Absolute(0.5));
        request.wishes.method = Some(Method::Scan { period: Duration::from_secs(2) });
        request.state = PvState::Paused;
        let row = AddRow::of(&request).unwrap();
        assert_eq!(row.request(), Some(request));
        there_and_back(Question::Add(3, vec![row], ByWire::from(&by)));
        let part = PartRow { shard: 1, epoch: 2, first: 3, end: 4, holder: "a".into() };
        there_and_back(Question::Frames(part, 1 << 20));
    }
}
