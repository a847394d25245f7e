//! What nodes of a cluster ask of each other beyond samples, as bytes: CBOR with numbered fields, converted by hand, so that the public
//! types can change without the language of nodes. PVs have the numbers of their shard.

mod add_row;
mod by;
mod codes;
mod marks;
mod status;

use archive::{DirectoryError, PvId};
use minicbor::{Decode, Encode};

use self::codes::{FAULTS, place};
use crate::{
    figures::FiguresRow,
    rows::{DeletionRow, IocRow, KeptTokenRow, MemoRow, MemoTextRow, PurgedRow, SizeRow, StepRow},
    upkeep::{KeptRow, WeekRow},
};

pub(crate) use self::{
    add_row::AddRow,
    by::ByWire,
    codes::{action_row, added, added_row, added_rows, all_added, changes, changes_rows, fate, fault, old_name},
    marks::{FramesRow, ImportedRow, MarkRow, PartRow, locals},
    status::{StatusRow, account, account_row},
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
    /// How long what the asked node has open is kept.
    #[n(39)]
    Retention,
    /// The week that it takes away next of what is kept for so many nanoseconds.
    #[n(40)]
    NextToGo(#[n(0)] u64),
    /// What the shards that the asked node has know of a part of an import: its name, and that of the part.
    #[n(41)]
    Known(#[n(0)] String, #[n(1)] String),
    /// What stands before the share that a node is sent of an import. It is sent so alone, and never asked.
    #[n(42)]
    Share(#[n(0)] String, #[n(1)] ByWire),
    /// All of a part that a shard has entered was found: it is known from now on.
    #[n(43)]
    Verified(#[n(0)] u32, #[n(1)] String, #[n(2)] String, #[n(3)] ByWire),
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
                | Question::Retention
                | Question::NextToGo(..)
                | Question::Known(..)
                | Question::Verified(..)
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
    #[n(23)]
    Retention(#[n(0)] Vec<KeptRow>),
    #[n(24)]
    NextToGo(#[n(0)] Option<WeekRow>),
    /// What is known of a part of an import, or what a share brought.
    #[n(25)]
    Imported(#[n(0)] Option<ImportedRow>),
}

/// What became of one of several things.
#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) enum EachRow {
    #[n(0)]
    Done(#[n(0)] u32),
    #[n(1)]
    Fault(#[n(0)] u8, #[n(1)] String),
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

pub(crate) fn bytes<T: Encode<()>>(of: &T) -> Vec<u8> {
    minicbor::to_vec(of).unwrap_or_default()
}

pub(crate) fn read<'b, T: Decode<'b, ()>>(bytes: &'b [u8]) -> Option<T> {
    minicbor::decode(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use archive::{AddRequest, By, Deadband, How, Method, Principal, PvName, PvState, Way};
    use sample::Timestamp;

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
        there_and_back(Question::Share("old".into(), ByWire::from(&by)));
        there_and_back(Question::Verified(3, "old".into(), "part 1".into(), ByWire::from(&by)));
    }
}
