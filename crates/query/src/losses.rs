//! Which sample is the first one after a connection was lost.

use std::{collections::VecDeque, iter::Peekable, ops::Not};

use sample::{Gap, GapCause, Timestamp};

use crate::carried::AllCarried;

/// Whether the Archiver Appliance tells of such a gap, on the first sample after it; none in those where no connection was
/// lost. It may say that the archiver was started anew.
pub fn is_told(cause: GapCause) -> Option<RestartKind> {
    match cause {
        GapCause::Disconnected => Some(RestartKind::No),
        GapCause::ArchiverStopped | GapCause::Paused | GapCause::NeverConnected => Some(RestartKind::Yes),
        _ => None,
    }
}

/// Whether recording began anew behind a gap, and not the connection alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartKind {
    /// It went on.
    No,
    /// It began.
    Yes,
}

/// What happened since the sample before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Since {
    /// Nothing of note.
    #[default]
    Nothing,
    /// The connection was lost and came back.
    Loss,
}

/// The losses within a range, to be asked sample by sample.
#[derive(Default)]
pub(crate) struct Losses {
    own: VecDeque<Timestamp>,
    carried: Option<Peekable<AllCarried>>,
}

impl Losses {
    /// From gaps of the store, by beginning, and samples of old archives that tell of a loss.
    pub(crate) fn new(own: impl IntoIterator<Item = Gap>, carried: AllCarried) -> Losses {
        Losses { own: Losses::told(own), carried: Some(carried.peekable()) }
    }

    fn told(gaps: impl IntoIterator<Item = Gap>) -> VecDeque<Timestamp> {
        gaps.into_iter().filter_map(|gap| is_told(gap.cause).and(gap.to).map(|_| gap.from)).collect()
    }

    /// What happened between the time that was asked for before and the samples from `first` to `last`.
    pub(crate) fn since(&mut self, first: Timestamp, last: Timestamp) -> Since {
        let mut since = Since::Nothing;
        while self.own.front().is_some_and(|from| *from <= last) {
            self.own.pop_front();
            since = Since::Loss;
        }
        if let Some(carried) = &mut self.carried {
            // Of samples that are not asked for it does not matter what they tell; and where an archive cannot be read its samples
            // are missing too, of which whoever gives these tells.
            while let Some(carried) = carried.next_if(|carried| carried.as_ref().is_ok_and(|one| one.time > last).not())
            {
                if carried.is_ok_and(|carried| carried.time >= first && !carried.fields.is_empty()) {
                    since = Since::Loss;
                }
            }
        }
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_told_once_and_those_that_cost_no_connection_never() {
        let at = |second| Timestamp::from_seconds(second, 0);
        let gap = |from, to: Option<i64>, cause| Gap { from: at(from), to: to.map(at), cause, lost: 0 };
        let mut losses = Losses {
            own: Losses::told([
                gap(10, Some(20), GapCause::Disconnected),
                gap(12, Some(13), GapCause::QueueFull),
                gap(50, None, GapCause::Disconnected),
            ]),
            carried: None,
        };
        let mut since = |second| losses.since(at(second), at(second));
        assert_eq!([9, 21, 22, 60].map(&mut since), [Since::Nothing, Since::Loss, Since::Nothing, Since::Nothing]);
    }
}
