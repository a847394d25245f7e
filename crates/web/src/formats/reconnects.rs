//! What samples carry besides values: the fields of old archives as they stand there, and where connections came back, which
//! the Archiver Appliance tells by fields on the first sample after the loss.

use std::{collections::VecDeque, iter::Peekable};

use archive::Carried;
use query::{RestartKind, is_told};
use sample::{Gap, Timestamp};

/// A connection that was lost and came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reconnect {
    lost: Timestamp,
    regained: Timestamp,
    restart: bool,
}

impl Reconnect {
    /// Names and texts of the fields.
    fn fields(&self) -> Vec<(String, String)> {
        let seconds = |time: Timestamp| time.seconds_and_nanos().0.to_string();
        let mut fields = vec![("cnxlostepsecs".to_owned(), seconds(self.lost))];
        if self.restart {
            fields.push(("startup".to_owned(), "true".to_owned()));
        }
        fields.push(("cnxregainedepsecs".to_owned(), seconds(self.regained)));
        fields
    }
}

/// What a sample carries besides its value.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) fields: Vec<(String, String)>,
    /// Whether they changed then, where an old archive says it.
    pub(crate) is_change: Option<bool>,
}

/// What samples of old archives carry, in order of time.
type CarriedInOrder = Box<dyn Iterator<Item = Result<Carried, query::Error>> + Send>;

/// The losses within an answer and what its samples carry, in order of time.
#[derive(Default)]
pub(crate) struct Reconnects {
    gaps: VecDeque<Reconnect>,
    carried: Option<Peekable<CarriedInOrder>>,
}

impl Reconnects {
    /// From gaps of the store, sorted by beginning. Those that still last have no first sample after them; those without a loss
    /// of connection are not told.
    pub(crate) fn of(gaps: impl IntoIterator<Item = Gap>) -> Reconnects {
        let told = gaps.into_iter().filter_map(|gap| {
            let restart = is_told(gap.cause)? == RestartKind::Yes;
            Some(Reconnect { lost: gap.from, regained: gap.to?, restart })
        });
        Reconnects { gaps: told.collect(), carried: None }
    }

    /// And what samples of old archives carry.
    pub(crate) fn with(
        self,
        carried: impl Iterator<Item = Result<Carried, query::Error>> + Send + 'static,
    ) -> Reconnects {
        let carried: CarriedInOrder = Box::new(carried);
        Reconnects { carried: Some(carried.peekable()), ..self }
    }

    /// No sample before this has any.
    pub(crate) fn silent_until(&mut self) -> Timestamp {
        let carried = match self.carried.as_mut().and_then(|carried| carried.peek()) {
            Some(Ok(carried)) => carried.time,
            Some(Err(_)) => Timestamp::MIN,
            None => Timestamp::MAX,
        };
        self.gaps.front().map_or(carried, |next| next.lost.min(carried))
    }

    /// The fields of the sample at `time`, which must not be before the one that was asked for last. What cannot be read of an old
    /// archive is put into `damage`.
    pub(crate) fn fields(&mut self, time: Timestamp, damage: &mut Option<query::Error>) -> Told {
        let lost = self.before(time);
        while let Some(carried) = &mut self.carried
            && let Some(carried) = carried.next_if(|carried| carried.as_ref().map_or(true, |one| one.time <= time))
        {
            match carried {
                Ok(Carried { time: of, fields, is_change, .. }) if of == time && !fields.is_empty() => {
                    return Told { fields, is_change: Some(is_change) };
                }
                Ok(_) => {}
                Err(error) => *damage = Some(error),
            }
        }
        Told { fields: lost.map(|lost| lost.fields()).unwrap_or_default(), is_change: None }
    }

    /// The loss that the sample at `time` is the first one after. Several in a row count as one.
    fn before(&mut self, time: Timestamp) -> Option<Reconnect> {
        let mut told: Option<Reconnect> = None;
        while let Some(next) = self.gaps.front().copied().filter(|next| next.lost <= time) {
            self.gaps.pop_front();
            told = Some(match told {
                None => next,
                Some(told) => Reconnect {
                    lost: told.lost,
                    regained: told.regained.max(next.regained),
                    restart: told.restart || next.restart,
                },
            });
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use archive::SourceError;
    use sample::{Alarm, GapCause};

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
        assert_eq!(reconnects.silent_until(), at(10));
        let mut fields = |s| reconnects.fields(at(s), &mut None).fields;
        assert!(fields(9).is_empty());
        let told = fields(23);
        let expected = [("cnxlostepsecs", "10"), ("startup", "true"), ("cnxregainedepsecs", "22")];
        assert_eq!(told, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
        assert!(fields(24).is_empty());
        assert!(fields(60).is_empty());
        assert_eq!(reconnects.silent_until(), Timestamp::MAX);
    }

    #[test]
    fn what_cannot_be_read_is_told_on_the_next_sample_that_is_asked_for() {
        let fields = vec![("HIHI".to_owned(), "9".to_owned())];
        let carried = |s| Carried {
            time: Timestamp::from_seconds(s, 0),
            alarm: Alarm::default(),
            fields: fields.clone(),
            is_change: true,
        };
        let broken = || query::Error::Source(SourceError::piece("a file is damaged"));
        let read = vec![Ok(carried(10)), Err(broken()), Ok(carried(20))];
        let mut reconnects = Reconnects::default().with(read.into_iter());
        assert_eq!(reconnects.silent_until(), Timestamp::from_seconds(10, 0));
        let mut told = |s| {
            let mut damage = None;
            let told = reconnects.fields(Timestamp::from_seconds(s, 0), &mut damage);
            (told.fields.len(), damage.is_some())
        };
        assert_eq!([5, 10, 15, 20, 25].map(&mut told), [(0, false), (1, false), (0, true), (1, false), (0, false)]);
    }
}
