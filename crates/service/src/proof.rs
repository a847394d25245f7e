//! Proofs: a counter that must rise by one, or pulse ids without a break, show that nothing is missing, or how much is.

use archive::PvId;
use query::{Before, Error, Query, Request};
use sample::{TimeRange, Timestamp};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// The value: a tick that its IOC raises by one with every update.
    Value,
    /// The pulse id that came with the value (userTag of pvAccess).
    Pulse,
}

/// More samples are not looked at.
const SAMPLES_MAX: u64 = 20_000_000;

/// So many places where something is missing are named.
const BREAKS_MAX: usize = 100;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// How many samples were looked at.
    pub samples: u64,
    /// How many updates are missing between them.
    pub missing: u64,
    /// How often the counter went back, or stood still: a restart of the IOC, or no counter at all.
    pub restarts: u64,
    /// The sample behind which something is missing, the next one, and how much.
    pub breaks: Vec<(Timestamp, Timestamp, u64)>,
    /// Whether all samples were looked at.
    pub whole: bool,
}

impl Proof {
    /// Whether it proves that nothing is missing between the first and the last sample.
    pub fn is_complete(&self) -> bool {
        self.whole && self.samples > 1 && self.missing == 0 && self.restarts == 0
    }

    fn step(&mut self, before: Option<(Timestamp, u64)>, now: (Timestamp, u64)) {
        self.samples += 1;
        let Some((time, count)) = before else { return };
        match now.1.checked_sub(count) {
            Some(1) => {}
            None | Some(0) => self.restarts += 1,
            Some(step) => {
                self.missing = self.missing.saturating_add(step - 1);
                if self.breaks.len() < BREAKS_MAX {
                    self.breaks.push((time, now.0, step - 1));
                }
            }
        }
    }
}

/// Looks at every sample of a range; none if there is a sample that does not count.
pub(crate) fn prove(archive: &Query, pv: PvId, range: TimeRange, counter: Counter) -> Result<Option<Proof>, Error> {
    let mut proof = Proof { whole: true, ..Proof::default() };
    let mut before = None;
    for batch in archive.samples(&Request { series: pv.into(), range, before: Before::None }) {
        let batch = match batch {
            Err(error) if error.is_damage() => {
                (proof.whole, before) = (false, None);
                continue;
            }
            batch => batch?,
        };
        for (row, time) in batch.times().iter().enumerate() {
            let count = match counter {
                Counter::Pulse => Some(*batch.pulses().get(row)).filter(|pulse| *pulse != 0),
                Counter::Value => batch.values().f64_at(row).and_then(whole_number),
            };
            let Some(count) = count else { return Ok(None) };
            proof.step(before, (*time, count));
            before = Some((*time, count));
        }
        if proof.samples >= SAMPLES_MAX {
            proof.whole = false;
            break;
        }
    }
    Ok(Some(proof))
}

/// A float that is a count, shifted so that all are positive: doubles count exactly to 2^53.
fn whole_number(value: f64) -> Option<u64> {
    const EXACT: i64 = 1 << 53;
    (value.fract() == 0.0 && value.abs() < EXACT as f64).then(|| (value as i64 + EXACT).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(counts: &[u64]) -> Proof {
        let mut proof = Proof { whole: true, ..Proof::default() };
        let mut before = None;
        for (n, count) in counts.iter().enumerate() {
            let now = (Timestamp::from_nanos(n as i64), *count);
            proof.step(before, now);
            before = Some(now);
        }
        proof
    }

    #[test]
    fn a_counter_proves_or_tells_exactly_what_is_missing() {
        assert!(proof(&[5, 6, 7]).is_complete());
        assert!(!proof(&[5]).is_complete(), "one sample proves nothing");
        let missing = proof(&[5, 6, 10, 11, 13]);
        assert_eq!((missing.missing, missing.is_complete()), (4, false));
        let at = Timestamp::from_nanos;
        assert_eq!(missing.breaks, [(at(1), at(2), 3), (at(3), at(4), 1)]);
        assert_eq!((proof(&[5, 6, 0, 1]).restarts, proof(&[5, 5]).restarts), (1, 1));
        assert!(!proof(&[5, 6, 0, 1]).is_complete());
    }

    #[test]
    fn only_whole_numbers_count() {
        assert_eq!(whole_number(0.5), None);
        assert_eq!(whole_number(f64::NAN), None);
        assert_eq!(whole_number(1e300), None);
        for value in [-3.0, -1.0, 0.0, 1.0, 2.0, 12_345.0] {
            assert_eq!(whole_number(value).unwrap() + 1, whole_number(value + 1.0).unwrap(), "{value}");
        }
    }
}
