//! Where connections came back, told as the Archiver Appliance tells it: fields on the first sample after the loss.

use std::collections::VecDeque;

use sample::{Gap, GapCause, Timestamp};

/// A connection that was lost and came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reconnect {
    lost: Timestamp,
    regained: Timestamp,
    startup: bool,
}

impl Reconnect {
    /// Names and texts of the fields.
    pub(crate) fn fields(&self) -> Vec<(&'static str, String)> {
        let seconds = |time: Timestamp| time.seconds_and_nanos().0.to_string();
        let mut fields = vec![("cnxlostepsecs", seconds(self.lost))];
        if self.startup {
            fields.push(("startup", "true".to_owned()));
        }
        fields.push(("cnxregainedepsecs", seconds(self.regained)));
        fields
    }
}

/// The losses within an answer, in order of time.
pub(crate) struct Reconnects(VecDeque<Reconnect>);

impl Reconnects {
    /// From gaps sorted by beginning. Those that still last have no first sample after them; those without a loss of
    /// connection are not told.
    pub(crate) fn of(gaps: impl IntoIterator<Item = Gap>) -> Reconnects {
        let told = gaps.into_iter().filter_map(|gap| {
            let startup = match gap.cause {
                GapCause::Disconnected => false,
                GapCause::ArchiverStopped | GapCause::Paused | GapCause::NeverConnected => true,
                _ => return None,
            };
            Some(Reconnect { lost: gap.from, regained: gap.to?, startup })
        });
        Reconnects(told.collect())
    }

    /// The loss that the sample at `time` is the first one after. Several in a row count as one.
    pub(crate) fn before(&mut self, time: Timestamp) -> Option<Reconnect> {
        let mut told: Option<Reconnect> = None;
        while let Some(next) = self.0.front().copied().filter(|next| next.lost <= time) {
            self.0.pop_front();
            told = Some(match told {
                None => next,
                Some(told) => Reconnect {
                    lost: told.lost,
                    regained: told.regained.max(next.regained),
                    startup: told.startup || next.startup,
                },
            });
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(from: i64, to: Option<i64>, cause: GapCause) -> Gap {
        let second = |s: i64| Timestamp::from_seconds(s, 0);
        Gap { from: second(from), to: to.map(second), cause, lost: 0 }
    }

    #[test]
    fn the_first_sample_after_a_loss_tells_it_and_no_other() {
        let mut reconnects = Reconnects::of([
            gap(10, Some(20), GapCause::Disconnected),
            gap(12, Some(13), GapCause::QueueFull),
            gap(15, Some(22), GapCause::ArchiverStopped),
            gap(50, None, GapCause::Disconnected),
        ]);
        let at = |s: i64| Timestamp::from_seconds(s, 0);
        assert_eq!(reconnects.before(at(9)), None);
        let told = reconnects.before(at(23)).unwrap();
        let expected = [("cnxlostepsecs", "10"), ("startup", "true"), ("cnxregainedepsecs", "22")];
        assert_eq!(told.fields(), expected.map(|(name, text)| (name, text.to_owned())));
        assert_eq!(reconnects.before(at(24)), None);
        assert_eq!(reconnects.before(at(60)), None);
    }
}
