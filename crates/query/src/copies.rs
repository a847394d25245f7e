//! Copies: others who record the same PVs. What they have is merged; where one cannot be asked the answer goes on without it and says
//! so, or, where it is too late to say so, breaks off.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use archive::{Cost, Cuts, GapScope, LeavesOut, Source, SourceError, StretchStream, Stretches};
use sample::{Gap, Stretch, Timestamp};

use crate::Error;

/// One of those that record the same PVs, which an answer was made without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What it is called in a sentence.
    pub part: String,
    /// Why it was not asked, as a sentence for an operator.
    pub why: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "without {}: {}", self.part, self.why)
    }
}

/// What is to be said of one answer. Shared by all that is asked for it.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    left_out: Vec<LeftOut>,
    /// It was said: whatever is left out from now on would stay unsaid.
    is_said: bool,
}

impl Notes {
    fn is_left_out(&self, part: &str) -> bool {
        self.0.lock().expect("no holder of this lock panics").left_out.iter().any(|left_out| left_out.part == part)
    }

    /// Whether a copy may be left out.
    pub(crate) fn leave_copy_out(&self, copy: &str, why: &str) -> bool {
        self.leave_out(&called(copy), why)
    }

    /// What was left out. From here on nothing more may be.
    pub(crate) fn say(&self) -> Vec<LeftOut> {
        let mut noted = self.0.lock().expect("no holder of this lock panics");
        noted.is_said = true;
        noted.left_out.clone()
    }
}

impl LeavesOut for Notes {
    fn leave_out(&self, part: &str, why: &str) -> bool {
        let mut noted = self.0.lock().expect("no holder of this lock panics");
        if noted.left_out.iter().any(|left_out| left_out.part == part) {
            return true;
        }
        if !noted.is_said {
            noted.left_out.push(LeftOut { part: part.to_owned(), why: why.to_owned() });
        }
        !noted.is_said
    }
}

/// For rows and live updates, which never claim to be complete: anything may be left out.
#[derive(Debug)]
pub(crate) struct Unsaid;

impl LeavesOut for Unsaid {
    fn leave_out(&self, _: &str, _: &str) -> bool {
        true
    }
}

/// A copy as it is called in sentences.
fn called(copy: &str) -> String {
    format!("the copy {copy:?}")
}

/// How the copies of one answer are dealt with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard(Option<Arc<Notes>>);

impl Guard {
    /// Of an answer for which it is noted what was left out.
    pub(crate) fn noting(notes: Arc<Notes>) -> Guard {
        Guard(Some(notes))
    }

    /// Whether a copy was left out already: it stays so to the end of the answer.
    pub(crate) fn is_left_out(&self, copy: &dyn Source) -> bool {
        self.0.as_ref().is_some_and(|notes| notes.is_left_out(&called(copy.name())))
    }

    fn leave_out(&self, copy: &str, why: &str) -> bool {
        self.0.as_ref().is_none_or(|notes| notes.leave_copy_out(copy, why))
    }

    /// What a copy answered; none if the answer goes on without it.
    pub(crate) fn or_without<T>(
        &self,
        copy: &dyn Source,
        ask: impl FnOnce() -> Result<T, SourceError>,
    ) -> Result<Option<T>, Error> {
        if self.is_left_out(copy) {
            return Ok(None);
        }
        match ask() {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.cost == Cost::Piece => Err(error.into()),
            Err(error) if self.leave_out(copy.name(), &error.message) => Ok(None),
            Err(error) => Err(broke_off(&error).into()),
        }
    }

    /// What a copy tells piece by piece: if it fails before the first, and it can still be said, there are none.
    pub(crate) fn stream<I>(&self, copy: &dyn Source, open: impl FnOnce() -> I) -> FromCopy<I> {
        let pieces = (!self.is_left_out(copy)).then(open);
        FromCopy { pieces, copy: copy.name().to_owned(), guard: self.clone(), has_begun: false }
    }
}

fn broke_off(error: &SourceError) -> SourceError {
    let message = format!("a copy went away in the middle of the answer: {}; ask again", error.message);
    SourceError { cost: Cost::UntilBack, message }
}

/// Pieces that a copy tells.
pub(crate) struct FromCopy<I> {
    /// None when there are no more.
    pieces: Option<I>,
    copy: String,
    guard: Guard,
    has_begun: bool,
}

impl<T, I: Iterator<Item = Result<T, SourceError>>> Iterator for FromCopy<I> {
    type Item = Result<T, SourceError>;

    fn next(&mut self) -> Option<Result<T, SourceError>> {
        match self.pieces.as_mut()?.next() {
            Some(Err(error)) if error.cost != Cost::Piece => {
                self.pieces = None;
                let is_left_out = !self.has_begun && self.guard.leave_out(&self.copy, &error.message);
                (!is_left_out).then(|| Err(broke_off(&error)))
            }
            piece => {
                self.has_begun = true;
                piece
            }
        }
    }
}

impl Stretches for FromCopy<StretchStream> {
    fn cuts(&self) -> Cuts {
        self.pieces.as_ref().map_or(Cuts::default(), |pieces| pieces.cuts())
    }
}

/// A stream of stretches that tells of nothing.
pub(crate) struct Nothing;

impl Iterator for Nothing {
    type Item = Result<Stretch, SourceError>;

    fn next(&mut self) -> Option<Result<Stretch, SourceError>> {
        None
    }
}

impl Stretches for Nothing {}

/// Where both lack samples, each time with the cause of the longer gap.
pub(crate) fn in_both(ours: &[(GapScope, Gap)], theirs: &mut [(GapScope, Gap)]) -> Vec<(GapScope, Gap)> {
    theirs.sort_by_key(|(_, gap)| gap.from);
    let end = |gap: &Gap| gap.to.unwrap_or(Timestamp::MAX);
    let long = |gap: &Gap| i128::from(end(gap).nanos()) - i128::from(gap.from.nanos());
    let mut both = Vec::new();
    for (scope, our) in ours {
        for (other_scope, their) in theirs.iter().take_while(|(_, their)| their.from <= end(our)) {
            let (from, to) = (our.from.max(their.from), end(our).min(end(their)));
            // A gap may be one moment only.
            if from > to || from == to && long(our) > 0 && long(their) > 0 {
                continue;
            }
            let cause = if long(our) >= long(their) { our.cause } else { their.cause };
            let scope = if scope == other_scope { *scope } else { GapScope::Pv };
            let to = (our.to.is_some() || their.to.is_some()).then_some(to);
            both.push((scope, Gap { from, to, cause, lost: our.lost.min(their.lost) }));
        }
    }
    both.sort_by_key(|(_, gap)| (gap.from, gap.to));
    both.dedup();
    both
}

#[cfg(test)]
mod tests {
    use sample::GapCause;

    use super::*;

    fn gap(from: i64, to: Option<i64>, cause: GapCause, lost: u64) -> (GapScope, Gap) {
        let at = |seconds| Timestamp::from_seconds(seconds, 0);
        let scope = if cause == GapCause::ArchiverStopped { GapScope::Archiver } else { GapScope::Pv };
        (scope, Gap { from: at(from), to: to.map(at), cause, lost })
    }

    #[test]
    fn a_gap_is_told_only_where_both_have_one() {
        use GapCause::{ArchiverStopped, Disconnected, QueueFull};
        let ours = [
            gap(0, Some(10), ArchiverStopped, 0),
            gap(20, Some(30), Disconnected, 0),
            gap(40, Some(41), QueueFull, 7),
            gap(50, None, Disconnected, 0),
        ];
        let mut theirs = [
            gap(55, None, ArchiverStopped, 0),
            gap(10, Some(20), ArchiverStopped, 0),
            gap(25, Some(60), ArchiverStopped, 0),
        ];
        let both = [
            gap(25, Some(30), ArchiverStopped, 0),
            gap(40, Some(41), ArchiverStopped, 0),
            gap(50, Some(60), Disconnected, 0),
            gap(55, None, Disconnected, 0),
        ];
        let told: Vec<_> = in_both(&ours, &mut theirs).into_iter().map(|(_, gap)| gap).collect();
        assert_eq!(told, both.map(|(_, gap)| gap));
        assert_eq!(in_both(&ours, &mut []), []);
        let moment = [gap(5, Some(5), QueueFull, 3)];
        assert_eq!(in_both(&moment, &mut [gap(0, Some(9), Disconnected, 0)]), [gap(5, Some(5), Disconnected, 0)]);
    }

    #[test]
    fn what_was_said_is_not_taken_back_and_nothing_is_left_out_unsaid() {
        let notes = Notes::default();
        assert!(notes.leave_copy_out("b", "it is away") && notes.leave_copy_out("b", "again"));
        assert_eq!(notes.say(), [LeftOut { part: "the copy \"b\"".to_owned(), why: "it is away".to_owned() }]);
        assert!(notes.leave_copy_out("b", "it stays away") && !notes.leave_out("shard 3", "now"));
        assert_eq!(notes.say().len(), 1);
    }
}
