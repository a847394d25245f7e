//! A random archive of three PVs in a real store, over some days, and the same as lists.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use analysis::Known;
use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use query::{Query, Series};
use sample::{
    Alarm, Batch, Element, Gap, GapCause, Metadata, Sample, Severity, TimeRange, Timestamp, Value, ValueType,
};
use store::{Config, Store};
use tempfile::TempDir;

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_767_225_600 * SECOND;
/// How long it is, in seconds.
const SPAN: u64 = 4 * 86_400;

/// A number, an enum whose states are named anew in the middle, and one that changes its type.
pub(crate) const NAMES: [&str; 3] = ["T:A", "T:B", "T:C"];
const LABELS: [[&str; 3]; 2] = [["OFF", "ON", "Fault"], ["ON", "OFF", "Fault"]];

/// Times, and the sum until each of them.
type Sums = Vec<(i64, f64)>;

pub(crate) struct Archive {
    pub(crate) random: Random,
    pvs: Vec<PvId>,
    /// The samples of each PV in order of time. Of samples of one time the last to arrive stays.
    samples: Vec<Vec<Sample>>,
    gaps: Vec<Vec<(i64, i64)>>,
    renamed: i64,
    /// Integrals of a PV since a time, up to each of its steps.
    sums: RefCell<HashMap<(usize, i64), Sums>>,
    store: Store,
    // Dropped last: the store lies in it.
    folder: TempDir,
}

impl Archive {
    pub(crate) fn random(seed: u64) -> Archive {
        let mut archive = Archive::empty(seed);
        let is_calm = seed.is_multiple_of(2);
        archive.renamed = START + archive.random.below(SPAN) as i64 * SECOND;
        for (since, labels) in [START, archive.renamed].into_iter().zip(LABELS) {
            let labels = labels.map(str::to_owned).to_vec();
            let metadata =
                Metadata { value_type: Some(ValueType::scalar(Element::Enum)), labels, ..Metadata::default() };
            let since = Timestamp::from_nanos(since);
            archive.append(1, Record::Metadata(since, metadata.into()), since);
        }
        let mut times = [0; 3].map(|_: i32| START + archive.random.below(SPAN / 4) as i64 * SECOND);
        for _ in 0..3 + archive.random.below(9) {
            for (pv, time) in times.iter_mut().enumerate() {
                let batch = archive.random.batch(pv, time, is_calm);
                archive.samples[pv].extend((0..batch.len()).map(|row| batch.get(row)));
                archive.append(pv, Record::Samples(batch), Timestamp::from_nanos(START));
            }
            if archive.random.below(3) == 0 {
                archive = archive.reopened();
            }
        }
        for pv in 0..NAMES.len() {
            for _ in 0..archive.random.below(6) {
                let from = START + archive.random.below(SPAN) as i64 * SECOND;
                let random = &mut archive.random;
                let lasts = if random.below(2) == 0 { random.below(5000) } else { random.below(SPAN / 2) };
                let (from, to) = (Timestamp::from_nanos(from), Timestamp::from_nanos(from + lasts as i64 * SECOND));
                let gap = Gap { from, to: Some(to), cause: GapCause::Disconnected, lost: 0 };
                archive.append(pv, Record::Gap(gap), to);
            }
        }
        archive.samples = std::mem::take(&mut archive.samples).into_iter().map(in_order).collect();
        archive.gaps = archive.pvs.iter().map(|pv| archive.gaps_of(*pv)).collect();
        archive
    }

    /// The first of the three has these samples, nanoseconds since the beginning.
    pub(crate) fn of_one(numbers: impl Iterator<Item = (i64, f64)>) -> Archive {
        let archive = Archive::empty(0);
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for (time, number) in numbers {
            let time = Timestamp::from_nanos(START + time);
            let sample = Sample { time, value: Value::F64(number), alarm: Alarm::default(), pulse: 0, stamp: None };
            assert!(batch.push(&sample), "the batch was made for this kind");
        }
        archive.append(0, Record::Samples(batch), Timestamp::from_nanos(START));
        archive.reopened()
    }

    /// Nothing but the names.
    fn empty(seed: u64) -> Archive {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let store = opened(&folder);
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let names = NAMES.map(|name| (PvName::new(name).expect("it is a name"), settings.clone()));
        let by = By::new("test", Timestamp::from_nanos(START));
        let entries = store.writer().register(&names, &by).expect("it registers");
        Archive {
            random: Random::new(seed),
            pvs: entries.iter().map(|entry| entry.id).collect(),
            samples: vec![Vec::new(); 3],
            gaps: vec![Vec::new(); 3],
            renamed: START,
            sums: RefCell::default(),
            store,
            folder,
        }
    }

    fn append(&self, pv: usize, record: Record, now: Timestamp) {
        self.store.writer().append(&[(self.pvs[pv], record)], now).expect("the store takes it");
    }

    fn reopened(self) -> Archive {
        self.store.close(Timestamp::from_nanos(START)).expect("the store closes");
        Archive { store: opened(&self.folder), ..self }
    }

    /// As the archive tells them, which is not what is tested here.
    fn gaps_of(&self, pv: PvId) -> Vec<(i64, i64)> {
        let gaps = self.query().gaps(&pv.into(), TimeRange::ALL).expect("gaps can be read");
        gaps.iter().map(|(_, gap)| (gap.from.nanos(), gap.to.map_or(i64::MAX, Timestamp::nanos))).collect()
    }

    pub(crate) fn query(&self) -> Query {
        Query::over(self.store.reader())
    }

    /// T:U has units of its own.
    pub(crate) fn known(&self, name: &str) -> Option<Known> {
        let units = match name {
            "T:A" => Some("A".to_owned()),
            "T:U" => Some("mm".to_owned()),
            _ => None,
        };
        let pv = if name == "T:U" { 0 } else { NAMES.iter().position(|known| *known == name)? };
        let value_type = [Some(Element::F64), Some(Element::Enum), None][pv].map(ValueType::scalar);
        let history = self.query().metadata(self.pvs[pv], TimeRange::ALL).expect("metadata can be read");
        let labels = history.into_iter().map(|(since, metadata)| (since, metadata.labels)).collect();
        Some(Known { series: Series::from(self.pvs[pv]), value_type, units, labels })
    }

    pub(crate) fn whole(&self) -> TimeRange {
        let [t0, t1] = [START, START + 2 * SPAN as i64 * SECOND].map(Timestamp::from_nanos);
        TimeRange { t0, t1 }
    }

    pub(crate) fn random_range(&mut self) -> TimeRange {
        let mut time = || START + (self.random.below(SPAN + 40_000) as i64 - 20_000) * SECOND;
        let (a, b) = (time(), time());
        TimeRange { t0: Timestamp::from_nanos(a.min(b)), t1: Timestamp::from_nanos(a.max(b)) }
    }

    /// Each time at which anything changes.
    pub(crate) fn changes(&self) -> impl Iterator<Item = i64> {
        let samples = self.samples.iter().flatten().map(|sample| sample.time.nanos());
        samples.chain(self.gaps.iter().flatten().flat_map(|(from, to)| [*from, *to]))
    }

    /// The stamps of a PV's samples, each once.
    pub(crate) fn stamps(&self, pv: usize) -> impl Iterator<Item = i64> {
        self.samples[pv].iter().map(|sample| sample.time.nanos())
    }

    pub(crate) fn in_gap(&self, pv: usize, time: i64) -> bool {
        self.gaps[pv].iter().any(|(from, to)| (*from..*to).contains(&time))
    }

    /// The newest sample at or before a time.
    pub(crate) fn in_force(&self, pv: usize, time: i64) -> Option<&Sample> {
        let after = self.samples[pv].partition_point(|sample| sample.time.nanos() <= time);
        self.samples[pv][..after].last()
    }

    pub(crate) fn number_at(&self, pv: usize, time: i64) -> Option<f64> {
        let sample = self.in_force(pv, time).filter(|_| !self.in_gap(pv, time))?;
        sample.value.as_f64().filter(|number| !number.is_nan())
    }

    /// The newest two samples at or before a time, by time and number, unless it lies in a gap.
    pub(crate) fn newest_two(&self, pv: usize, time: i64) -> Option<((i64, f64), (i64, f64))> {
        let after = self.samples[pv].partition_point(|sample| sample.time.nanos() <= time);
        let of = |sample: &Sample| Some((sample.time.nanos(), sample.value.as_f64()?));
        match &self.samples[pv][..after] {
            [.., before, now] if !self.in_gap(pv, time) => Some((of(before)?, of(now)?)),
            _ => None,
        }
    }

    /// When the number changed last, by a sample or a gap.
    pub(crate) fn last_step(&self, pv: usize, time: i64) -> i64 {
        let edges = self.gaps[pv].iter().flat_map(|(from, to)| [*from, *to]).filter(|edge| *edge <= time);
        let sample = self.in_force(pv, time).map(|sample| sample.time.nanos());
        edges.chain(sample).max().unwrap_or(i64::MIN)
    }

    /// The numbers that are known between two times, and for how long each was.
    pub(crate) fn steps_between(&self, pv: usize, from: i64, to: i64) -> Vec<(f64, i64)> {
        let begin = self.samples[pv].partition_point(|sample| sample.time.nanos() < from);
        let end = self.samples[pv].partition_point(|sample| sample.time.nanos() <= to).max(begin);
        let own = self.samples[pv][begin..end].iter().map(|sample| sample.time.nanos());
        let mut times: Vec<i64> = own.chain(self.gaps[pv].iter().flat_map(|(from, to)| [*from, *to])).collect();
        times.extend([from, to]);
        times.retain(|time| (from..=to).contains(time));
        times.sort_unstable();
        times.dedup();
        let known = |pair: &[i64]| Some((self.number_at(pv, pair[0])?, pair[1] - pair[0]));
        times.windows(2).filter_map(known).collect()
    }

    /// What the numbers amount to from a time up to the last step at or before another. Each beginning is summed up once, as looking
    /// through all steps again for each moment takes minutes.
    pub(crate) fn integral(&self, pv: usize, from: i64, time: i64) -> f64 {
        let mut sums = self.sums.borrow_mut();
        let sums = sums.entry((pv, from)).or_insert_with(|| {
            let samples = self.samples[pv].iter().map(|sample| sample.time.nanos());
            let mut times: Vec<i64> = samples
                .chain(self.gaps[pv].iter().flat_map(|(from, to)| [*from, *to]))
                .filter(|time| *time > from)
                .collect();
            times.push(from);
            times.sort_unstable();
            times.dedup();
            let mut sums = vec![(from, 0.0)];
            for pair in times.windows(2) {
                let held =
                    self.number_at(pv, pair[0]).map_or(0.0, |number| number * ((pair[1] - pair[0]) as f64 / 1e9));
                sums.push((pair[1], sums[sums.len() - 1].1 + held));
            }
            sums
        });
        let after = sums.partition_point(|(step, _)| *step <= time);
        sums[after.saturating_sub(1)].1
    }

    pub(crate) fn label(&self, pv: usize, time: i64, index: i32) -> Option<&'static str> {
        let labels = LABELS[usize::from(time >= self.renamed)];
        (pv == 1).then(|| labels.get(usize::try_from(index).ok()?).copied()).flatten()
    }
}

/// Of equal time the last that is no repeat of another of that time, as the store has it.
fn opened(folder: &TempDir) -> Store {
    Store::open(Config::new(folder.path()), Timestamp::from_nanos(START)).expect("the store opens")
}

fn in_order(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.sort_by_key(|sample| sample.time);
    let mut unlike: Vec<Sample> = Vec::new();
    for sample in samples {
        let mut same_time = unlike.iter().rev().take_while(|earlier| earlier.time == sample.time);
        if !same_time.any(|earlier| earlier.identical(&sample)) {
            unlike.push(sample);
        }
    }
    let mut kept: Vec<Sample> = Vec::new();
    for sample in unlike {
        kept.pop_if(|last| last.time == sample.time);
        kept.push(sample);
    }
    kept
}

/// Numbers that are random enough for a test and the same on every machine (xorshift).
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % limit
    }

    /// Samples of one type. For a while their numbers change little, so that summaries decide; sometimes time goes back.
    fn batch(&mut self, pv: usize, time: &mut i64, is_calm: bool) -> Batch {
        let kind = if pv == 2 { self.below(3) } else { pv as u64 };
        let (level, spread) = (self.below(11) as i64 - 5, [1, 1, 4][self.below(3) as usize]);
        let mut batch: Option<Batch> = None;
        let step_max = [20, 300][self.below(2) as usize];
        for _ in 0..self.below(1500) {
            *time += self.below(step_max) as i64 * SECOND;
            if !is_calm && self.below(40) == 0 {
                *time -= self.below(600) as i64 * SECOND;
            }
            let number = level + self.below(spread) as i64;
            let value = match kind {
                0 if self.below(200) == 0 => {
                    Value::F64([f64::NAN, f64::INFINITY][self.below(2) as usize * usize::from(!is_calm)])
                }
                0 => Value::F64(number as f64),
                1 => Value::Enum((number.unsigned_abs() % 4) as i32),
                _ => Value::String(Arc::from(["a", "b", ""][(number.unsigned_abs() % 3) as usize])),
            };
            let severity =
                Severity::from_number(if self.below(100) == 0 { self.below(4) as i64 } else { level.max(0) / 2 });
            let alarm = Alarm { severity, status: 0, message: None };
            let sample = Sample { time: Timestamp::from_nanos(*time), value, alarm, pulse: 0, stamp: None };
            let into = batch.get_or_insert_with(|| Batch::new(sample.value.value_type()));
            assert!(into.push(&sample), "the batch was made for this kind");
        }
        batch.unwrap_or_else(|| Batch::new(ValueType::scalar(Element::F64)))
    }
}
