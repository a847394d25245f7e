//! Steps: a track as the moments at which its number changes, made from samples as they are read.
//!
//! ```text
//!   samples      ●   ●●    ●            of equal time the last counts
//!   gaps              ├──┤              nothing is known within
//!   steps     │──┴───┴┴──┴─┴────        the first at the beginning of the range, whatever holds there
//! ```

use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};

use query::{Before, Error, Query, Request, Samples};
use sample::{Batch, Column, Sample, Shape, TimeRange, Timestamp};

use crate::track::{Track, What};

/// One answer reads at most this many numbers: two PVs at 10 Hz have three thousand million in five years.
pub(crate) const READ_MAX: u64 = 4_000_000_000;
/// After so many steps others get a turn.
pub(crate) const STEPS_AT_ONCE: usize = 8192;
/// One answer keeps at most this many sentences about damage.
pub(crate) const DAMAGE_TOLD: usize = 100;
/// The steps within the window of a moving average are kept; more than these are refused.
const WINDOW_STEPS_MAX: usize = 1 << 20;
/// What the steps in a window take at most, with room for as many more while they grow.
pub(crate) const WINDOW_BYTES_MAX: usize = 2 * WINDOW_STEPS_MAX * size_of::<(i64, f64)>();
/// Samples of a short range are read from so much of its length earlier, but no more than that: the one that holds at its beginning mostly
/// lies in the block that is read anyway, and would be looked for in it by itself.
const REACH_PART: i64 = 16;
const REACH_MAX: i64 = 60_000_000_000;
/// Sums over a window are made anew after so many steps, so that what rounding leaves does not grow.
const SUMS_RENEWED: usize = 4096;

/// Times and numbers, both as long as each other, the times rising.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) times: Vec<i64>,
    pub(crate) numbers: Vec<f64>,
    /// Those of the times at which there is no sample: gaps begin and end there, or what came before goes on. They are few.
    pub(crate) edges: Vec<i64>,
}

/// What a step is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MadeBy {
    Sample,
    Edge,
}

impl Rows {
    /// Adds a row that is not earlier than the last. Of equal times the later row counts.
    pub(crate) fn push(&mut self, time: i64, number: f64) {
        if self.times.last() == Some(&time) {
            self.numbers.pop();
        } else {
            self.times.push(time);
        }
        self.numbers.push(number);
    }

    /// Notes what the last row is made by. A sample counts, whatever else is at its time.
    fn mark(&mut self, time: i64, made_by: MadeBy) {
        let is_marked = self.edges.last() == Some(&time);
        match made_by {
            MadeBy::Sample if is_marked => self.edges.truncate(self.edges.len() - 1),
            MadeBy::Edge if !is_marked => self.edges.push(time),
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

/// Times in which nothing is known of a PV, in order, apart from each other.
pub(crate) type Gaps = Arc<[(i64, i64)]>;

/// Why there are no more steps.
#[derive(Debug)]
pub enum StepError {
    /// Samples cannot be had.
    Query(Error),
    /// Too many lie within the window of a moving average.
    CrowdedWindow,
    /// More numbers than these would have to be read.
    TooMany(u64),
    /// Nobody wants them any more.
    Unwanted,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepError::Query(error) => write!(f, "{error}"),
            StepError::CrowdedWindow => {
                write!(f, "more than {WINDOW_STEPS_MAX} samples lie within the window of a moving average")
            }
            StepError::TooMany(most) => write!(f, "more than {most} numbers would have to be read"),
            StepError::Unwanted => f.write_str("nobody wants the answer any more"),
        }
    }
}

impl std::error::Error for StepError {}

impl From<Error> for StepError {
    fn from(error: Error) -> StepError {
        StepError::Query(error)
    }
}

/// The samples of a track as rows with rising times, before anything is made of them.
struct Raw {
    /// What comes before all others.
    first: Option<Batch>,
    samples: Samples,
    what: What,
    /// The last row that was read: others may come of its time.
    held: Option<(i64, f64)>,
    is_over: bool,
    /// How many numbers were read.
    read: u64,
    damage: Vec<String>,
}

impl Raw {
    fn next(&mut self) -> Result<Option<Rows>, StepError> {
        let mut rows = Rows::default();
        while !self.is_over && rows.is_empty() {
            match self.first.take().map(Ok).or_else(|| self.samples.next()) {
                None => {
                    self.is_over = true;
                    self.held.take().into_iter().for_each(|(time, number)| rows.push(time, number));
                }
                Some(Err(error)) if error.is_damage() => {
                    // What is not there may have changed at once after the last that is.
                    let behind = self.held.map(|(time, _)| time.saturating_add(1));
                    self.held.take().into_iter().for_each(|(time, number)| rows.push(time, number));
                    self.held = behind.map(|time| (time, f64::NAN));
                    self.damage.push(error.to_string());
                }
                Some(batch) => self.add(&batch?, &mut rows),
            }
        }
        Ok((!rows.is_empty()).then_some(rows))
    }

    fn add(&mut self, batch: &Batch, rows: &mut Rows) {
        let mut numbers = Vec::new();
        numbers_of(&self.what, batch, &mut numbers);
        let arrays = if let Column::Array(arrays) = batch.values() { arrays.elements().len() } else { 0 };
        self.read += (batch.len() + arrays) as u64;
        let times = batch.times();
        let is_rising = times.windows(2).all(|pair| pair[0] < pair[1]);
        if let Some((time, number)) = self.held.take() {
            rows.push(time, number);
        }
        if is_rising && rows.times.last().is_none_or(|last| times.first().is_some_and(|first| *last < first.nanos())) {
            rows.times.extend(times.iter().map(|time| time.nanos()));
            rows.numbers.append(&mut numbers);
        } else {
            for (time, number) in times.iter().zip(numbers) {
                rows.push(time.nanos(), number);
            }
        }
        self.held = rows.times.pop().zip(rows.numbers.pop());
    }
}

/// The number that each sample gives, NaN where it gives none.
pub(crate) fn numbers_of(what: &What, batch: &Batch, out: &mut Vec<f64>) {
    match what {
        What::Severity => {
            for (rows, alarm) in batch.alarms().iter() {
                out.resize(rows.end, f64::from(alarm.severity as u8));
            }
        }
        What::Is(state) => out.extend((0..batch.len()).map(|row| {
            let is_it = match batch.values() {
                Column::String(texts) => texts.get(row) == &*state.name,
                Column::Enum(numbers) => state.number_at(batch.times()[row]) == Some(f64::from(numbers[row])),
                _ => false,
            };
            f64::from(u8::from(is_it))
        })),
        What::Missing | What::Silent(_) => out.resize(batch.len(), 0.0),
        What::Element(_) | What::Length | What::Sum | What::Mean | What::Least | What::Greatest => {
            out.extend((0..batch.len()).map(|row| of_array(what, batch, row)));
        }
        _ => match batch.values() {
            Column::F64(numbers) => out.extend_from_slice(numbers),
            Column::F32(numbers) => out.extend(numbers.iter().copied().map(f64::from)),
            Column::I32(numbers) | Column::Enum(numbers) => out.extend(numbers.iter().copied().map(f64::from)),
            column => out.extend((0..batch.len()).map(|row| column.f64_at(row).unwrap_or(f64::NAN))),
        },
    }
    if *what == What::IsNan {
        let is_number = batch.value_type().is_numeric_scalar();
        let told = |number: f64| if is_number { f64::from(u8::from(number.is_nan())) } else { f64::NAN };
        out.iter_mut().for_each(|number| *number = told(*number));
    }
}

/// What one array amounts to. A single number is an array of one.
fn of_array(what: &What, batch: &Batch, row: usize) -> f64 {
    let (elements, range) = match batch.values() {
        Column::Array(arrays) => (arrays.elements(), arrays.range(row)),
        column if batch.value_type().shape == Shape::Scalar => (column, row..row + 1),
        _ => return f64::NAN,
    };
    amounts(what, range.map(|index| elements.f64_at(index).unwrap_or(f64::NAN)))
}

/// What some numbers amount to.
pub(crate) fn amounts(what: &What, mut numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let len = numbers.len();
    match what {
        What::Length => len as f64,
        What::Element(index) => numbers.nth(*index).unwrap_or(f64::NAN),
        _ if len == 0 => f64::NAN,
        What::Sum => numbers.sum(),
        What::Mean => numbers.sum::<f64>() / len as f64,
        // f64::min passes over NaN, of which nothing would be known then.
        What::Least => numbers.fold(f64::INFINITY, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }),
        _ => numbers.fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }),
    }
}

/// The samples of a range, with what holds at its beginning.
struct Opened {
    held: Option<Sample>,
    /// Those that were read to find it.
    first: Option<Batch>,
    samples: Samples,
}

impl Opened {
    /// Of arrays no more are read than are owed.
    fn of(query: &Query, track: &Track, range: TimeRange) -> Result<Opened, StepError> {
        let samples = |range| query.samples(&Request { series: track.series.clone(), range, before: Before::None });
        let reach = (range.t1.nanos().saturating_sub(range.t0.nanos()) / REACH_PART).min(REACH_MAX);
        let reaches = reach > 0 && track.series.field.is_none() && !track.what.is_of_arrays();
        let earlier = TimeRange { t0: range.t0.saturating_sub(Duration::from_nanos(reach.max(0) as u64)), ..range };
        let opened = if reaches { Opened::reaching(samples(earlier), range.t0) } else { None };
        let mut opened = opened.unwrap_or_else(|| Opened { held: None, first: None, samples: samples(range) });
        if opened.held.is_none()
            && let Some(before) = range.t0.nanos().checked_sub(1)
        {
            opened.held = query.last_before(&track.series, Timestamp::from_nanos(before))?;
        }
        Ok(opened)
    }

    /// Those from `begin` on of samples that begin earlier. None if something is damaged: it may lie before.
    fn reaching(mut samples: Samples, begin: Timestamp) -> Option<Opened> {
        let mut held = None;
        while let Some(batch) = samples.next() {
            let batch = batch.ok()?;
            let before = batch.times().partition_point(|time| *time < begin);
            held = before.checked_sub(1).map(|last| batch.get(last)).or(held);
            if before < batch.len() {
                let first = if before == 0 { batch } else { batch.slice(before..batch.len()) };
                return Some(Opened { held, first: Some(first), samples });
            }
        }
        Some(Opened { held, first: None, samples })
    }
}

/// The steps of one track from `from` up to `to`.
pub(crate) struct Steps {
    raw: Raw,
    what: What,
    from: i64,
    to: i64,
    /// How much later a step is than the sample that makes it.
    shift: i64,
    gaps: Gaps,
    /// Gaps that are over, or begun, are before this one.
    gap: usize,
    in_gap: bool,
    /// What held before the next row, whether or not it is in a gap.
    current: f64,
    /// The sample before.
    last: Option<(i64, f64)>,
    /// Silence is told up to here.
    silent_told: bool,
    sum: Sum,
    window: AverageWindow,
    out: Rows,
    is_over: bool,
}

/// What is summed up since the beginning of the range.
#[derive(Default)]
struct Sum {
    total: f64,
    since: Option<(i64, f64)>,
}

/// The steps in the window of a moving average, with what they amount to.
#[derive(Default)]
struct AverageWindow {
    steps: VecDeque<(i64, f64)>,
    integral: f64,
    covered: f64,
    changes: usize,
}

impl Steps {
    /// `gaps` are those of the PV in the range, and as long before it as the track looks back.
    pub(crate) fn of(query: &Query, track: &Track, range: TimeRange, gaps: &Gaps) -> Result<Steps, StepError> {
        let (from, to) = (range.t0.nanos(), range.t1.nanos());
        let shift = if let What::Shift(nanos) = track.what { nanos } else { 0 };
        let end = to.saturating_sub(shift);
        let before = |time: i64| match time.checked_sub(1) {
            Some(before) => query.last_before(&track.series, Timestamp::from_nanos(before)),
            None => Ok(None),
        };
        let mut begin = from.saturating_sub(shift);
        let mut opened = Opened::of(query, track, range_of(begin, end.max(begin)))?;
        if let (What::Average(nanos), Some(sample)) = (&track.what, &opened.held) {
            // The window of the step that holds at the beginning ends there.
            begin = sample.time.nanos().saturating_sub(*nanos);
            opened = Opened::of(query, track, range_of(begin, end.max(begin)))?;
        }
        let Opened { held, first, samples } = opened;
        let needs_one_more = matches!(track.what, What::Previous | What::Change | What::Derivative);
        let earlier = match &held {
            Some(held) if needs_one_more => before(held.time.nanos())?,
            _ => None,
        };
        let (what, damage) = (track.what.clone(), Vec::new());
        let raw = Raw { first, samples, what, held: None, is_over: false, read: 0, damage };
        let mut steps = Steps {
            raw,
            what: track.what.clone(),
            from,
            to,
            shift,
            gaps: if matches!(track.what, What::Silent(_)) { Arc::new([]) } else { Arc::clone(gaps) },
            gap: 0,
            in_gap: false,
            current: if matches!(track.what, What::Missing) { 1.0 } else { f64::NAN },
            last: None,
            silent_told: false,
            sum: Sum::default(),
            window: AverageWindow::default(),
            out: Rows::default(),
            is_over: false,
        };
        let is_first = held.is_none();
        for sample in earlier.into_iter().chain(held) {
            let mut number = Vec::new();
            numbers_of(&track.what, &Batch::of(&sample), &mut number);
            steps.row(sample.time.nanos(), number[0]);
        }
        if is_first {
            steps.begin();
        }
        Ok(steps)
    }

    /// How many numbers were read.
    pub(crate) fn read(&self) -> u64 {
        self.raw.read
    }

    /// What was found damaged since this was asked last.
    pub(crate) fn take_damage(&mut self) -> Vec<String> {
        std::mem::take(&mut self.raw.damage)
    }

    /// The next steps, the first of them at `from`; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Rows>, StepError> {
        while !self.is_over {
            match self.raw.next()? {
                Some(rows) => {
                    if self.is_plain(&rows) {
                        self.pass_on(rows);
                    } else {
                        for (time, number) in rows.times.iter().zip(&rows.numbers) {
                            self.row(*time, *number);
                        }
                    }
                    if self.window.steps.len() > WINDOW_STEPS_MAX {
                        return Err(StepError::CrowdedWindow);
                    }
                }
                None => self.end(),
            }
            if !self.out.is_empty() {
                return Ok(Some(std::mem::take(&mut self.out)));
            }
        }
        Ok(None)
    }

    /// Whether rows are steps as they are: no gap lies among them, and nothing is made of them.
    fn is_plain(&self, rows: &Rows) -> bool {
        let is_direct = !matches!(
            self.what,
            What::Silent(_) | What::Previous | What::Change | What::Derivative | What::Integral | What::Average(_)
        );
        let ends = rows.times.first().zip(rows.times.last());
        is_direct
            && !self.in_gap
            && ends.is_some_and(|(first, last)| {
                *first >= self.from.saturating_sub(self.shift)
                    && self.gaps.get(self.gap).is_none_or(|gap| gap.0 > *last)
            })
    }

    fn pass_on(&mut self, mut rows: Rows) {
        self.last = rows.times.last().copied().zip(rows.numbers.last().copied());
        self.current = self.last.map_or(self.current, |(_, number)| number);
        if self.shift != 0 {
            rows.times.iter_mut().for_each(|time| *time = time.saturating_add(self.shift));
        }
        if self.out.is_empty() {
            self.out = rows;
        } else {
            for (time, number) in rows.times.into_iter().zip(rows.numbers) {
                self.out.push(time, number);
                self.out.mark(time, MadeBy::Sample);
            }
        }
    }

    /// One sample, whose time is later than that of the one before.
    fn row(&mut self, time: i64, number: f64) {
        let at = time.saturating_add(self.shift);
        self.tell_silence(at);
        self.pass_gaps(at);
        let last = self.last.replace((time, number));
        self.silent_told = false;
        let seconds = |earlier: i64| (i128::from(time) - i128::from(earlier)) as f64 / 1e9;
        self.current = match (&self.what, last) {
            (What::Previous, Some((_, before))) => before,
            (What::Change, Some((_, before))) => number - before,
            (What::Derivative, Some((earlier, before))) => (number - before) / seconds(earlier),
            (What::Previous | What::Change | What::Derivative, None) => f64::NAN,
            _ => number,
        };
        // What came before the range goes on at its beginning.
        self.step(at, if at < self.from { MadeBy::Edge } else { MadeBy::Sample });
    }

    /// The gaps that begin or end up to a time make steps of their own.
    fn pass_gaps(&mut self, at: i64) {
        while let Some((from, to)) = self.gaps.get(self.gap).copied() {
            let (from, to) = (from.saturating_add(self.shift), to.saturating_add(self.shift));
            if !self.in_gap {
                if from > at {
                    return;
                }
                self.in_gap = true;
                self.step(from, MadeBy::Edge);
            }
            if to > at {
                return;
            }
            (self.in_gap, self.gap) = (false, self.gap + 1);
            self.step(to, MadeBy::Edge);
        }
    }

    /// What holds from a time on.
    fn step(&mut self, at: i64, made_by: MadeBy) {
        let number = match self.what {
            What::Integral => self.integral(at),
            What::Average(nanos) => self.average(at, nanos),
            What::Missing if self.in_gap => 1.0,
            What::Missing => self.current,
            _ if self.in_gap => f64::NAN,
            _ => self.current,
        };
        self.put(at, number, made_by);
    }

    /// Puts a step; what holds at the beginning of the range begins there.
    fn put(&mut self, at: i64, number: f64, made_by: MadeBy) {
        if at < self.to {
            let time = at.max(self.from);
            self.out.push(time, number);
            self.out.mark(time, made_by);
        }
    }

    fn tell_silence(&mut self, at: i64) {
        let What::Silent(nanos) = self.what else { return };
        let Some((last, _)) = self.last else { return };
        let begins = last.saturating_add(nanos);
        if begins < at && !std::mem::replace(&mut self.silent_told, true) {
            self.put(begins, 1.0, MadeBy::Edge);
        }
    }

    /// The number, or NaN in a gap.
    fn known(&self) -> f64 {
        if self.in_gap { f64::NAN } else { self.current }
    }

    fn integral(&mut self, at: i64) -> f64 {
        let (at, number) = (at.max(self.from), self.known());
        if let Some((since, last)) = self.sum.since.replace((at, number))
            && !last.is_nan()
            && at > since
        {
            self.sum.total += last * (at.saturating_sub(since) as f64 / 1e9);
        }
        if number.is_nan() { number } else { self.sum.total }
    }

    fn average(&mut self, at: i64, nanos: i64) -> f64 {
        let number = self.known();
        self.window.enter(at, number, nanos);
        if number.is_nan() { number } else { self.window.mean_at(at, nanos, number) }
    }

    /// What holds at the beginning if there was no sample before.
    fn begin(&mut self) {
        let (at, number) = match self.what {
            What::Missing | What::Silent(_) => (self.from, 1.0),
            _ => (self.from, f64::NAN),
        };
        self.current = number;
        self.put(at, number, MadeBy::Edge);
    }

    fn end(&mut self) {
        self.tell_silence(self.to);
        self.pass_gaps(self.to.saturating_sub(1));
        self.is_over = true;
    }
}

impl AverageWindow {
    /// A number that holds from `at` on.
    fn enter(&mut self, at: i64, number: f64, nanos: i64) {
        match self.steps.back_mut() {
            Some((since, last)) if *since == at => {
                *last = number;
                return;
            }
            Some((since, last)) if !last.is_nan() => {
                self.integral += *last * at.saturating_sub(*since) as f64;
                self.covered += at.saturating_sub(*since) as f64;
            }
            _ => {}
        }
        self.steps.push_back((at, number));
        let begin = at.saturating_sub(nanos);
        self.changes += 1;
        while let (Some((since, first)), Some((next, _))) = (self.steps.front().copied(), self.steps.get(1).copied()) {
            if next > begin {
                break;
            }
            if first.is_finite() {
                self.integral -= first * next.saturating_sub(since) as f64;
                self.covered -= next.saturating_sub(since) as f64;
            } else if !first.is_nan() {
                self.changes = SUMS_RENEWED; // what is infinite cannot be taken off again
            }
            self.steps.pop_front();
        }
        if self.changes >= SUMS_RENEWED {
            (self.integral, self.covered) = self.sums_since(i64::MIN);
            self.changes = 0;
        }
    }

    /// What the numbers from `begin` up to the last step amount to, and for how long they were known.
    fn sums_since(&self, begin: i64) -> (f64, f64) {
        let (mut integral, mut covered) = (0.0, 0.0);
        for ((since, number), (next, _)) in self.steps.iter().zip(self.steps.iter().skip(1)) {
            if !number.is_nan() && *next > begin {
                integral += number * next.saturating_sub(*since.max(&begin)) as f64;
                covered += next.saturating_sub(*since.max(&begin)) as f64;
            }
        }
        (integral, covered)
    }

    /// The mean of what held in the window that ends at `at`; the number itself if nothing did.
    fn mean_at(&self, at: i64, nanos: i64, number: f64) -> f64 {
        let begin = at.saturating_sub(nanos);
        let (mut integral, mut covered) = (self.integral, self.covered);
        if !integral.is_finite() {
            (integral, covered) = self.sums_since(begin);
        } else if let Some((since, first)) = self.steps.front().copied()
            && since < begin
            && !first.is_nan()
            && self.steps.len() > 1
        {
            integral -= first * begin.saturating_sub(since) as f64;
            covered -= begin.saturating_sub(since) as f64;
        }
        if covered > 0.0 { integral / covered } else { number }
    }
}

/// A range of nanoseconds.
pub(crate) fn range_of(from: i64, to: i64) -> TimeRange {
    TimeRange { t0: Timestamp::from_nanos(from), t1: Timestamp::from_nanos(to) }
}
