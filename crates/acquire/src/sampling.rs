//! Which updates become samples: each (monitor), or the newest of each period (scan), of those beyond a dead band, and at most so
//! many a second.
//!
//! ```text
//!   update ─► within the dead band? ─► not yet due, by period or cap? ─► sample
//!                 passed over              waits; a newer one takes its place
//!
//!   stamps  ──┊──u──u──u──┊────u────u─┊─►      a scan: of each slot between two full periods the newest
//!                      └ taken when the first of the next slot comes, or when the slot is over by our clock
//! ```
//! It is the stamp of an update that decides, and where periods, dead bands and caps begin does not depend on when somebody began to
//! listen: so two archivers that hear the same updates choose the same ones. What waits is taken as soon as it is due, so the newest
//! update always becomes a sample in the end. The first after a connection is taken at once.

use std::time::Duration;

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
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Scan {
    period: Duration,
    /// Nothing was taken since the connection.
    is_first: bool,
    /// The slot of which something was taken last.
    taken: Option<i64>,
}

fn begin_of_hour(hour: i64) -> Timestamp {
    Timestamp::from_nanos(hour.saturating_mul(ANEW_EACH))
}

/// An update that waits.
#[derive(Debug)]
struct Waiting {
    sample: Sample,
    /// It is a sample when an update comes that was stamped then or later,
    ripe: Timestamp,
    /// or when our clock says so, as none may come.
    due: Timestamp,
    /// How long that was from its arrival.
    wait: Duration,
}

/// Updates may be so late, or for scans a period if that is shorter: recorders do not hear of one at the same time.
const LATE_MAX: Duration = Duration::from_secs(1);
/// Dead bands and caps begin anew at each full hour of the stamps, so that two archivers, of which one was started later, agree again.
const ANEW_EACH: i64 = 3_600_000_000_000;

/// The hour of a stamp.
fn hour(stamp: Timestamp) -> i64 {
    stamp.nanos().div_euclid(ANEW_EACH)
}

/// What became of an update.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    /// It is a sample.
    Take(Sample),
    /// It waits until it is due.
    Wait,
    /// It waits, and the one that waited before is a sample.
    Release(Sample),
    /// The one that waited before is a sample, and so is it.
    Both(Sample, Sample),
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
            Method::Scan { period } => Some(Scan { period, is_first: true, taken: None }),
        };
        let band = rules.deadband.map(Band::new);
        let bucket = rules.rate_cap.map(Bucket::new);
        if scan.is_none() && band.is_none() && bucket.is_none() {
            return Sampler::Monitor;
        }
        Sampler::Sieve(Box::new(Sieve { band, scan, bucket, waiting: None }))
    }

    /// Decides what becomes of an update that has arrived.
    pub(crate) fn offer(&mut self, sample: Sample, now: Timestamp) -> Decision {
        let Sampler::Sieve(sieve) = self else { return Decision::Take(sample) };
        let sieve: &mut Sieve = sieve;
        if sieve.band.as_mut().is_some_and(|band| !band.lets_pass(&sample)) {
            return Decision::Leave;
        }
        let is_over =
            |waiting: &mut Waiting| sieve.scan.as_ref().is_some_and(|scan| scan.parts(&waiting.sample, &sample));
        let is_ripe = |waiting: &mut Waiting| sample.time >= waiting.ripe || sieve.bucket.is_none() && is_over(waiting);
        let released = sieve.waiting.take_if(is_ripe).map(|waiting| sieve.spend(waiting));
        let waiting = sieve.waiting(sample, now);
        let is_first = sieve.scan.as_mut().is_none_or(|scan| std::mem::take(&mut scan.is_first));
        // One that waits for the cap is not overtaken.
        if is_first && sieve.waiting.is_none() && waiting.ripe_by_cap <= waiting.of.sample.time {
            let sample = sieve.spend(waiting.at_once());
            return match released {
                Some(before) => Decision::Both(before, sample),
                None => Decision::Take(sample),
            };
        }
        let Some(before) = sieve.waiting.take() else {
            sieve.waiting = Some(waiting.of);
            return released.map_or(Decision::Wait, Decision::Release);
        };
        let in_slot = sieve.scan.as_ref().is_some_and(|scan| !scan.parts(&before.sample, &waiting.of.sample));
        // An IOC whose clock stands still must not put it off for ever.
        sieve.waiting = Some(Waiting { due: waiting.of.due.min(before.due), ..waiting.of });
        Decision::Replace(if in_slot { Passed::Scan } else { Passed::Cap })
    }

    /// The waiting update, if it is due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<Sample> {
        let Sampler::Sieve(sieve) = self else { return None };
        // A clock that was set back must not make a period longer.
        let is_due = |waiting: &mut Waiting| now >= waiting.due || now.saturating_add(waiting.wait) < waiting.due;
        sieve.waiting.take_if(is_due).map(|waiting| sieve.spend(waiting))
    }

    /// The waiting update, whether or not it is due.
    pub(crate) fn take_waiting(&mut self) -> Option<Sample> {
        let Sampler::Sieve(sieve) = self else { return None };
        sieve.waiting.take().map(|waiting| sieve.spend(waiting))
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self, Sampler::Sieve(sieve) if sieve.waiting.is_some())
    }

    /// Something came between: the next update is beyond every dead band, and of a scan the first.
    pub(crate) fn forget(&mut self) {
        let Sampler::Sieve(sieve) = self else { return };
        if let Some(band) = &mut sieve.band {
            band.forget();
        }
        if let Some(scan) = &mut sieve.scan {
            scan.is_first = true;
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

/// An update that is about to wait, and when a cap alone would let it pass.
struct ArrivedUpdate {
    of: Waiting,
    ripe_by_cap: Timestamp,
}

impl ArrivedUpdate {
    /// It need not wait.
    fn at_once(self) -> Waiting {
        Waiting { ripe: self.of.sample.time, ..self.of }
    }
}

impl Sieve {
    /// When an update is to be a sample that comes now.
    fn waiting(&mut self, sample: Sample, now: Timestamp) -> ArrivedUpdate {
        let stamp = sample.time;
        let ripe_by_cap = self.bucket.as_mut().map_or(stamp, |bucket| bucket.room_at(stamp));
        let Some(scan) = &self.scan else {
            let wait = between(stamp, ripe_by_cap);
            return ArrivedUpdate {
                of: Waiting { sample, ripe: ripe_by_cap, due: now.saturating_add(wait), wait },
                ripe_by_cap,
            };
        };
        let ripe = scan.end(stamp).max(ripe_by_cap);
        // Of a slot of which something was taken already the next is a period away, wherever its end is.
        let least = if scan.taken == Some(scan.slot(stamp)) { scan.period } else { Duration::ZERO };
        let of_slot = between(stamp, ripe).max(least);
        let wait = of_slot + LATE_MAX.min(scan.period);
        ArrivedUpdate { of: Waiting { sample, ripe, due: now.saturating_add(wait), wait }, ripe_by_cap }
    }

    /// What waited is taken.
    fn spend(&mut self, waiting: Waiting) -> Sample {
        if let Some(scan) = &mut self.scan {
            (scan.taken, scan.is_first) = (Some(scan.slot(waiting.sample.time)), false);
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.count_until(waiting.ripe);
            // At a full hour there may be none left to take: that of the hour before was meant.
            bucket.tokens = (bucket.tokens - 1.0).max(0.0);
        }
        waiting.sample
    }
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_nanos(to.nanos().saturating_sub(from.nanos()).max(0).unsigned_abs())
}

impl Scan {
    fn nanos(&self) -> i64 {
        i64::try_from(self.period.as_nanos()).unwrap_or(i64::MAX).max(1)
    }

    /// In which slot a stamp lies.
    fn slot(&self, stamp: Timestamp) -> i64 {
        stamp.nanos().div_euclid(self.nanos())
    }

    /// When the slot of a stamp is over.
    fn end(&self, stamp: Timestamp) -> Timestamp {
        Timestamp::from_nanos(self.slot(stamp).saturating_add(1).saturating_mul(self.nanos()))
    }

    /// Whether the slots of two updates are not the same.
    fn parts(&self, a: &Sample, b: &Sample) -> bool {
        self.slot(a.time) != self.slot(b.time)
    }
}

/// A cap as a bucket of tokens: each sample takes one, and they come back with time, that of the stamps.
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

    /// Whether it begins empty with each hour: not where an hour is too short for a sample.
    fn begins_anew(&self) -> bool {
        self.cap.per_second() * (ANEW_EACH as f64 / 1e9) >= 2.0
    }

    /// A clock that was set back brings no tokens and takes none.
    fn count_until(&mut self, stamp: Timestamp) {
        let before = self.counted.replace(stamp).unwrap_or(stamp);
        let since = if self.begins_anew() && hour(stamp) > hour(before) {
            self.tokens = 0.0;
            begin_of_hour(hour(stamp))
        } else {
            before
        };
        let seconds = between(since, stamp).as_secs_f64();
        self.tokens = (self.tokens + seconds * self.cap.per_second()).min(f64::from(self.cap.burst()));
    }

    /// When there is room for an update of that stamp.
    fn room_at(&mut self, stamp: Timestamp) -> Timestamp {
        self.count_until(stamp);
        // What nanoseconds lose in the sum must not cost a tick.
        if self.tokens >= 1.0 - 1e-9 {
            return stamp;
        }
        let behind = |from: Timestamp, tokens: f64| {
            from.saturating_add(Duration::try_from_secs_f64(tokens / self.cap.per_second()).unwrap_or(Duration::MAX))
        };
        let room = behind(stamp, 1.0 - self.tokens);
        if self.begins_anew() && hour(room) > hour(stamp) {
            return behind(begin_of_hour(hour(stamp) + 1), 1.0);
        }
        room
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
