//! Which updates become samples: each (monitor), or the newest once a period (scan), of those beyond a dead band, and at most so
//! many a second.
//!
//! ```text
//!   update ─► within the dead band? ─► not yet due, by period or cap? ─► sample
//!                 passed over              waits; a newer one takes its place
//! ```
//! What waits is taken as soon as it is due, so the newest update always becomes a sample in the end.

use archive::{Method, PvSettings, RateCap};
use sample::{Alarm, Sample, Timestamp, Value};

mod band;

use band::Band;

/// Decides for one PV. Time comes in as an argument.
#[derive(Debug)]
pub(crate) enum Sampler {
    /// Every update is a sample, as of most PVs.
    Monitor,
    Sieve(Box<Sieve>),
}

/// What holds updates back.
#[derive(Debug)]
pub(crate) struct Sieve {
    band: Option<Band>,
    scan: Option<Scan>,
    bucket: Option<Bucket>,
    waiting: Option<Sample>,
}

#[derive(Debug)]
struct Scan {
    period: std::time::Duration,
    due: Timestamp,
}

/// What became of an update.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    /// It is a sample.
    Take(Sample),
    /// It waits until it is due.
    Wait,
    /// It waits, and the one that waited before is passed over.
    Replace(Passed),
    /// It is passed over: it lies within the dead band.
    Leave,
}

/// Why an update that waited is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// A newer one came within the scan period.
    Scan,
    /// A newer one came before the cap of its rate allowed it.
    Cap,
}

impl Sampler {
    pub(crate) fn new(settings: &PvSettings) -> Sampler {
        let rules = settings.rules();
        let scan = match settings.method {
            Method::Monitor => None,
            Method::Scan { period } => Some(Scan { period, due: Timestamp::MIN }),
        };
        let band = rules.deadband.map(Band::new);
        let bucket = rules.rate_cap.map(Bucket::new);
        if scan.is_none() && band.is_none() && bucket.is_none() {
            return Sampler::Monitor;
        }
        Sampler::Sieve(Box::new(Sieve { band, scan, bucket, waiting: None }))
    }

    /// An update arrived.
    pub(crate) fn offer(&mut self, sample: Sample, now: Timestamp) -> Decision {
        let Sampler::Sieve(sieve) = self else { return Decision::Take(sample) };
        if sieve.band.as_mut().is_some_and(|band| !band.lets_pass(&sample)) {
            return Decision::Leave;
        }
        if sieve.waiting.is_none() && sieve.is_due(now) {
            sieve.spend(now);
            return Decision::Take(sample);
        }
        match sieve.waiting.replace(sample) {
            None => Decision::Wait,
            Some(_) if sieve.scan.as_ref().is_some_and(|scan| sieve.bucket.is_none() || now < scan.due) => {
                Decision::Replace(Passed::Scan)
            }
            Some(_) => Decision::Replace(Passed::Cap),
        }
    }

    /// The waiting update, if it is due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<Sample> {
        let Sampler::Sieve(sieve) = self else { return None };
        if sieve.waiting.is_none() || !sieve.is_due(now) {
            return None;
        }
        sieve.spend(now);
        sieve.waiting.take()
    }

    /// The waiting update, whether or not it is due.
    pub(crate) fn take_waiting(&mut self) -> Option<Sample> {
        let Sampler::Sieve(sieve) = self else { return None };
        sieve.waiting.take()
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self, Sampler::Sieve(sieve) if sieve.waiting.is_some())
    }

    /// Something came between: the next update is beyond every dead band.
    pub(crate) fn forget(&mut self) {
        if let Sampler::Sieve(sieve) = self
            && let Some(band) = &mut sieve.band
        {
            band.forget();
        }
    }

    /// Whether the server applies the dead band; then nothing is left out here but what it sends twice.
    pub(crate) fn set_band_at_server(&mut self, at_server: bool) {
        if let Sampler::Sieve(sieve) = self
            && let Some(band) = &mut sieve.band
        {
            band.at_server = at_server;
        }
    }

    /// Whether there is a dead band, and whether the server applies it.
    pub(crate) fn band_at_server(&self) -> Option<bool> {
        let Sampler::Sieve(sieve) = self else { return None };
        sieve.band.as_ref().map(|band| band.at_server)
    }
}

impl Sieve {
    fn is_due(&mut self, now: Timestamp) -> bool {
        // A clock that was set back must not make a period longer.
        let by_period =
            self.scan.as_ref().is_none_or(|scan| now >= scan.due || now.saturating_add(scan.period) < scan.due);
        by_period && self.bucket.as_mut().is_none_or(|bucket| bucket.has_room(now))
    }

    /// A sample is taken now.
    fn spend(&mut self, now: Timestamp) {
        if let Some(scan) = &mut self.scan {
            scan.due = now.saturating_add(scan.period);
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.tokens -= 1.0;
        }
    }
}

/// A cap as a bucket of tokens: each sample takes one, and they come back with time.
#[derive(Debug)]
struct Bucket {
    cap: RateCap,
    tokens: f64,
    /// None before the first update.
    counted: Option<Timestamp>,
}

impl Bucket {
    fn new(cap: RateCap) -> Bucket {
        Bucket { cap, tokens: f64::from(cap.burst()), counted: None }
    }

    /// A clock that was set back brings no tokens and takes none.
    fn has_room(&mut self, now: Timestamp) -> bool {
        let before = self.counted.replace(now).unwrap_or(now);
        let seconds = now.nanos().saturating_sub(before.nanos()).max(0) as f64 / 1e9;
        self.tokens = (self.tokens + seconds * self.cap.per_second()).min(f64::from(self.cap.burst()));
        // What nanoseconds lose in the sum must not cost a tick.
        self.tokens >= 1.0 - 1e-9
    }
}

/// The number that a dead band is about; none of what has no distance.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(_) | Value::Enum(_) => None,
        value => value.as_f64(),
    }
}

/// What an alarm is apart from its words.
fn alarm_state(alarm: &Alarm) -> (sample::Severity, u16) {
    (alarm.severity, alarm.status)
}

#[cfg(test)]
mod tests;
