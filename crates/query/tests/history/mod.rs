//! A random history of one PV in a real store, and the same as a list.

use std::sync::Arc;

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use sample::{Alarm, Batch, Column, Sample, Severity, TimeRange, Timestamp, Value};
use store::{Config, Reader, Store};
use tempfile::TempDir;

/// Times lie within so many nanoseconds, so that many samples share one.
const SPAN: u64 = 20_000;

pub(crate) struct History {
    pub(crate) pv: PvId,
    /// In order of time, of equal times in order of arrival, without identical repeats.
    pub(crate) samples: Vec<Sample>,
    store: Store,
    random: Random,
    // Dropped last: the store lies in it.
    _folder: TempDir,
}

impl History {
    pub(crate) fn random(seed: u64) -> History {
        let mut random = Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, calm: seed.is_multiple_of(2) };
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let open = || Store::open(Config::new(folder.path()), Timestamp::from_nanos(0)).expect("the store opens");
        let mut store = open();
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let name = PvName::new("TEST:PV").expect("it is a name");
        let pv = store
            .writer()
            .register(&[(name, settings)], &By::new("test", Timestamp::from_nanos(0)))
            .expect("it registers")[0]
            .id;
        let mut samples = Vec::new();
        let mut time = 0;
        for _ in 0..random.below(12) {
            let batch = random.batch(&mut time, &samples);
            samples.extend((0..batch.len()).map(|row| batch.get(row)));
            let records = [(pv, Record::Samples(batch))];
            store.writer().append(&records, Timestamp::from_nanos(0)).expect("the store takes it");
            if random.below(3) == 0 {
                store.close(Timestamp::from_nanos(0)).expect("the store closes");
                store = open();
            }
        }
        History { pv, samples: in_order(samples), store, random, _folder: folder }
    }

    pub(crate) fn reader(&self) -> Reader {
        self.store.reader()
    }

    pub(crate) fn random_range(&mut self) -> TimeRange {
        let mut time = || self.random.below(SPAN + 200) as i64 - 100;
        let (a, b) = (time(), time());
        TimeRange { t0: Timestamp::from_nanos(a.min(b)), t1: Timestamp::from_nanos(a.max(b)) }
    }

    pub(crate) fn random_count(&mut self) -> usize {
        [1, 2, 7, 100, 1000][self.random.below(5) as usize]
    }
}

fn in_order(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.sort_by_key(|sample| sample.time);
    let mut kept: Vec<Sample> = Vec::new();
    for sample in samples {
        let mut same_time = kept.iter().rev().take_while(|earlier| earlier.time == sample.time);
        if !same_time.any(|earlier| earlier.identical(&sample)) {
            kept.push(sample);
        }
    }
    kept
}

/// Numbers that are random enough for a test and the same on every machine (xorshift).
struct Random {
    state: u64,
    /// In a calm history time never goes back and nothing is repeated, so that blocks lie apart and bins come from summaries.
    calm: bool,
}

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % limit
    }

    /// True once in `times`, but never in a calm history.
    fn upset(&mut self, times: u64) -> bool {
        self.below(times) == 0 && !self.calm
    }

    /// Samples of one type, mostly ahead in time; some repeat earlier ones.
    fn batch(&mut self, time: &mut i64, earlier: &[Sample]) -> Batch {
        let kind = self.below(8);
        let mut batch = Batch::new(self.value(kind).value_type());
        for _ in 0..self.below(400) {
            *time += self.below(SPAN / 1000) as i64;
            if self.upset(20) || *time >= SPAN as i64 && !self.calm {
                *time = self.below(SPAN) as i64;
            }
            let repeat = earlier.len().checked_sub(1).filter(|_| self.upset(10));
            let repeated = repeat.map(|last| earlier[self.below(last as u64 + 1) as usize].clone());
            let sample = repeated.filter(|sample| sample.value.value_type() == batch.value_type());
            let sample = sample.unwrap_or_else(|| Sample {
                time: Timestamp::from_nanos(*time),
                value: self.value(kind),
                alarm: self.alarm(),
                pulse: self.below(2),
                stamp: None,
            });
            assert!(batch.push(&sample), "the batch was made for this kind");
        }
        batch
    }

    fn value(&mut self, kind: u64) -> Value {
        match kind {
            0..=2 => Value::F64(self.float()),
            3 => Value::I32(self.below(1000) as i32 - 500),
            4 => Value::Enum(self.below(4) as i32),
            5 => Value::Bool(self.below(2) == 1),
            6 => Value::String(Arc::from(["", "a", "b"][self.below(3) as usize])),
            _ => Value::Array(Column::F64(vec![1.5; self.below(3) as usize])),
        }
    }

    /// Ordinary numbers and, rarely, each of the odd ones.
    fn float(&mut self) -> f64 {
        const ODD: [f64; 8] =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE];
        match self.below(60) {
            0 => ODD[self.below(8) as usize],
            _ => (self.below(2_000_001) as f64 - 1_000_000.0) / 7.0,
        }
    }

    fn alarm(&mut self) -> Alarm {
        let severity = Severity::from_number(self.below(40) as i64 / 9);
        Alarm { severity, status: self.below(3) as u16, message: None }
    }
}
