//! Spectra: how strong each frequency is in what was recorded evenly, or was made even by a method that is said.
//!
//! ```text
//!   samples    ●   ●   ●   ●   ●      as they are, if no stamp lies further from its place than is tolerated
//!   resampled  ┼───┼───┼───┼───┼      at multiples of a step: what held, a straight line between samples, or the mean of the step
//!        ▼ less its mean, or its line; times the window; Fourier transform
//!   0 ≤ f ≤ rate/2, one-sided: those between both ends count for their mirror images, too
//! ```
//! An amplitude is that of a sine: `A·sin(2πft)` has A at f, if f is one of the frequencies, whatever the window. A density is its square by
//! hertz, whose sum times the distance of frequencies is the mean square (Heinzel, Rüdiger and Schilling, 2002). What is not known at either
//! end of the range is left out; what is not known between is in the way.

use std::{f64::consts::TAU, fmt, sync::Arc};

use query::Query;
use realfft::RealFftPlanner;
use sample::{TimeRange, Timestamp};

use crate::{
    formula::{FormulaBins, IsWanted, MadeOf, Results, Wants},
    program::Program,
    steps::{STEPS_AT_ONCE, StepError, range_of},
};

/// No spectrum is made of more points.
pub const POINTS_MAX: usize = 1 << 20;
/// Nor of more means.
pub const MEANS_MAX: usize = 100_000;
/// What a point takes at most: its time, its number, its frequency, and what a transform of a length that is prime needs beside.
pub const POINT_BYTES: usize = 200;

/// What points are multiplied by before they are transformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpectrumWindow {
    /// Nothing.
    None,
    /// A raised cosine, 0 at both ends.
    Hann,
}

/// What the answer gives for each frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpectrumOutput {
    /// The amplitude of a sine.
    Amplitude,
    /// The square by hertz.
    Density,
}

/// What is taken off the points first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detrend {
    /// Their mean.
    Mean,
    /// The straight line that is nearest to them.
    Linear,
    /// Nothing.
    None,
}

/// How points come to be at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resample {
    /// What held.
    Previous,
    /// A straight line between the samples before and after.
    Linear,
    /// The mean over time of each step.
    Mean,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectrumWanted {
    /// What points are multiplied by.
    pub window: SpectrumWindow,
    /// What the answer gives for each frequency.
    pub output: SpectrumOutput,
    /// What is taken off.
    pub detrend: Detrend,
    /// How far a stamp may lie from its place, in steps.
    pub tolerance: f64,
    /// How many nanoseconds points lie apart, and how they come to; the samples as they are if none.
    pub resample: Option<(i64, Resample)>,
}

/// A spectrum.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// The frequencies in hertz, from 0 to half the rate.
    pub frequencies: Vec<f64>,
    /// What was asked of each.
    pub strengths: Vec<f64>,
    /// When the first point was.
    pub from: Timestamp,
    /// One step behind the last.
    pub to: Timestamp,
    /// How many points there are.
    pub points: usize,
    /// How many seconds they lie apart.
    pub step: f64,
    /// The mean of the points.
    pub mean: f64,
    /// How far a stamp lies from its place at most, in steps.
    pub unevenness: f64,
    /// What the points were made of.
    pub made_of: MadeOf,
    /// How many numbers were read.
    pub read: u64,
    /// Sentences about what is damaged.
    pub damage: Vec<String>,
}

/// Why there is no spectrum.
#[derive(Debug)]
pub enum SpectrumError {
    /// Samples cannot be had.
    Step(StepError),
    /// There are fewer than two points.
    TooFew(usize),
    /// There are more points than that, of which the last that would do was then.
    TooMany(usize, Timestamp),
    /// Stamps do not lie where they should.
    Uneven(Unevenness),
    /// Something is not known between the first point and the last.
    Unknown {
        /// From when on.
        at: Timestamp,
        /// The longest time in which all is known, with its points, if there is one.
        longest: Option<(Timestamp, Timestamp, usize)>,
    },
    /// What is infinite has no frequencies.
    Infinite(Timestamp),
}

/// How uneven samples are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unevenness {
    /// How many there are.
    pub count: usize,
    /// The seconds from one to the next, by the mean.
    pub step: f64,
    /// The shortest and the longest time between two neighbours, in seconds.
    pub apart: (f64, f64),
    /// The one that lies furthest from its place.
    pub worst: Timestamp,
    /// By how many steps.
    pub off: f64,
}

impl fmt::Display for SpectrumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpectrumError::Step(error) => write!(f, "{error}"),
            SpectrumError::TooFew(count) => write!(f, "there are {count} points, and a spectrum needs 2 at least"),
            SpectrumError::TooMany(most, last) => {
                write!(
                    f,
                    "there are more than {most} points in the range, of which the last that would do is at {last}"
                )
            }
            SpectrumError::Uneven(Unevenness { count, step, apart: (least, most), worst, off }) => write!(
                f,
                "the samples are not even: {count} samples lie {step} s apart by the mean, {least} s at least and {most} s at \
                 most, and that of {worst} is {off:.3} steps off its place"
            ),
            SpectrumError::Unknown { at, longest } => {
                write!(f, "the value is not known at {at}")?;
                match longest {
                    Some((from, to, count)) => write!(f, ", and for longest from {from} to {to}, {count} points"),
                    None => f.write_str(", nor elsewhere in the range"),
                }
            }
            SpectrumError::Infinite(at) => write!(f, "the value is infinite at {at}"),
        }
    }
}

impl std::error::Error for SpectrumError {}

impl<E: Into<StepError>> From<E> for SpectrumError {
    fn from(error: E) -> SpectrumError {
        SpectrumError::Step(error.into())
    }
}

/// Gathers the points of one.
pub struct SpectrumGathering {
    how: How,
    wanted: SpectrumWanted,
    points: Points,
    made_of: MadeOf,
    read: u64,
    damage: Vec<String>,
}

enum How {
    Samples(Box<Results>),
    Held { results: Box<Results>, grid: Grid, until: i64 },
    Lines { results: Box<Results>, grid: Grid, last: Option<(i64, f64)> },
    Means(Box<FormulaBins>),
    Over,
}

/// Times at equal distances.
#[derive(Clone, Copy)]
struct Grid {
    from: i64,
    step: i64,
    count: i64,
    next: i64,
}

impl Grid {
    /// The next of them that lies before a time.
    fn before(&mut self, time: i64) -> Option<i64> {
        let at = self.from.checked_add(self.step.checked_mul(self.next)?)?;
        let is_there = self.next < self.count && at < time;
        self.next += i64::from(is_there);
        is_there.then_some(at)
    }
}

/// The points of the stretch that goes on, and the longest of those before it.
#[derive(Default)]
struct Points {
    times: Vec<i64>,
    numbers: Vec<f64>,
    /// How many there were in all.
    seen: usize,
    /// How many there are in the stretch that goes on, which points are kept of only where it is the first.
    count: usize,
    from: i64,
    to: i64,
    longest: Option<(i64, i64, usize)>,
    /// Where the first was that is not known behind one that is.
    broken: Option<i64>,
    /// Not known since, unless a point comes yet.
    unknown: Option<i64>,
}

impl Points {
    fn put(&mut self, time: i64, number: f64) -> Result<(), SpectrumError> {
        if number.is_infinite() {
            return Err(SpectrumError::Infinite(Timestamp::from_nanos(time)));
        }
        if number.is_nan() {
            self.unknown.get_or_insert(time);
            return Ok(());
        }
        if let Some(unknown) = self.unknown.take()
            && self.count > 0
        {
            self.broken.get_or_insert(unknown);
            self.close();
        }
        if self.count == 0 {
            self.from = time;
        }
        if self.seen == POINTS_MAX {
            // Nobody looks through a range that is too long for where it is known.
            return Err(self.unknown_between().unwrap_or_else(|| {
                let last = self.times.last().copied().unwrap_or_default();
                SpectrumError::TooMany(POINTS_MAX, Timestamp::from_nanos(last))
            }));
        }
        self.seen += 1;
        self.count += 1;
        self.to = time;
        if self.broken.is_none() {
            self.times.push(time);
            self.numbers.push(number);
        }
        Ok(())
    }

    /// Why there is no spectrum where something is not known between points.
    fn unknown_between(&mut self) -> Option<SpectrumError> {
        let at = Timestamp::from_nanos(self.broken?);
        self.close();
        let longest = self
            .longest
            .filter(|(.., count)| *count > 1)
            .map(|(from, to, count)| (Timestamp::from_nanos(from), Timestamp::from_nanos(to.saturating_add(1)), count));
        Some(SpectrumError::Unknown { at, longest })
    }

    fn close(&mut self) {
        if self.longest.is_none_or(|(_, _, count)| count < self.count) {
            self.longest = Some((self.from, self.to, self.count));
        }
        self.count = 0;
    }
}

impl SpectrumGathering {
    /// Of an expression in a range.
    pub fn new(
        query: &Query,
        program: &Program,
        range: TimeRange,
        wanted: SpectrumWanted,
        is_wanted: IsWanted,
    ) -> Result<SpectrumGathering, SpectrumError> {
        let results = |is_wanted: &IsWanted| -> Result<Box<Results>, StepError> {
            Ok(Box::new(Results::of(query, program, range, Arc::clone(is_wanted))?))
        };
        let how = match wanted.resample {
            None => How::Samples(results(&is_wanted)?),
            Some((step, method)) => {
                let step = step.max(1);
                let length = i128::from(range.t1.nanos()) - i128::from(range.t0.nanos());
                let whole = method == Resample::Mean;
                let count = if whole { length / i128::from(step) } else { length.max(0).div_euclid(i128::from(step)) };
                let is_begun = !whole && length.rem_euclid(i128::from(step)) > 0;
                let count = usize::try_from(count).unwrap_or(usize::MAX).saturating_add(usize::from(is_begun));
                let most = if whole { MEANS_MAX } else { POINTS_MAX };
                let grid = Grid { from: range.t0.nanos(), step, count: count.min(most) as i64, next: 0 };
                if count > most {
                    let last = grid.from.saturating_add((most as i64 - 1).saturating_mul(step));
                    return Err(SpectrumError::TooMany(most, Timestamp::from_nanos(last)));
                }
                if count < 2 {
                    return Err(SpectrumError::TooFew(count));
                }
                match method {
                    Resample::Previous => How::Held { results: results(&is_wanted)?, grid, until: range.t1.nanos() },
                    Resample::Linear => How::Lines { results: results(&is_wanted)?, grid, last: None },
                    Resample::Mean => {
                        let whole = range_of(grid.from, grid.from + step * grid.count);
                        let (query, program) = (query.clone(), program.clone());
                        How::Means(Box::new(FormulaBins::new(query, program, whole, count, Wants::Mean, is_wanted)?))
                    }
                }
            }
        };
        let (points, made_of) = (Points::default(), MadeOf::Samples);
        Ok(SpectrumGathering { how, wanted, points, made_of, read: 0, damage: Vec::new() })
    }

    /// How many points there are so far.
    pub fn count(&self) -> usize {
        self.points.times.len()
    }

    /// Gathers some more; false at the end.
    pub fn go_on(&mut self) -> Result<bool, SpectrumError> {
        match std::mem::replace(&mut self.how, How::Over) {
            How::Over => Ok(false),
            How::Samples(results) => self.samples(results),
            How::Held { results, grid, until } => self.held(results, grid, until),
            How::Lines { results, grid, last } => self.lines(results, grid, last),
            How::Means(bins) => self.means(bins),
        }
    }

    fn samples(&mut self, mut results: Box<Results>) -> Result<bool, SpectrumError> {
        for _ in 0..STEPS_AT_ONCE {
            let Some(piece) = results.next()? else { return self.end(*results) };
            // What goes on at an edge is no sample, unless nothing is known from there on.
            if piece.is_sample || piece.number.is_nan() {
                self.points.put(piece.from, piece.number)?;
            }
        }
        self.how = How::Samples(results);
        Ok(true)
    }

    fn held(&mut self, mut results: Box<Results>, mut grid: Grid, until: i64) -> Result<bool, SpectrumError> {
        for _ in 0..STEPS_AT_ONCE {
            let Some(piece) = results.next()? else { return self.end(*results) };
            while let Some(at) = grid.before(piece.to.min(until)) {
                self.points.put(at, piece.number)?;
            }
        }
        self.how = How::Held { results, grid, until };
        Ok(true)
    }

    /// On lines from each sample to the next. What holds at the beginning counts as a sample there, and the last goes on to the end.
    fn lines(
        &mut self,
        mut results: Box<Results>,
        mut grid: Grid,
        mut last: Option<(i64, f64)>,
    ) -> Result<bool, SpectrumError> {
        for _ in 0..STEPS_AT_ONCE {
            let Some(piece) = results.next()? else {
                while let Some(at) = grid.before(i64::MAX) {
                    self.points.put(at, last.map_or(f64::NAN, |(_, number)| number))?;
                }
                return self.end(*results);
            };
            if !piece.is_sample && last.is_some_and(|(_, number)| number == piece.number) {
                continue;
            }
            while let Some(at) = grid.before(piece.from) {
                self.points.put(at, last.map_or(f64::NAN, |before| between(before, (piece.from, piece.number), at)))?;
            }
            last = Some((piece.from, piece.number));
        }
        self.how = How::Lines { results, grid, last };
        Ok(true)
    }

    fn means(&mut self, mut bins: Box<FormulaBins>) -> Result<bool, SpectrumError> {
        for _ in 0..STEPS_AT_ONCE {
            let Some(bin) = bins.next().transpose()? else {
                self.read = bins.read();
                self.damage = bins.damage().to_vec();
                return Ok(false);
            };
            self.made_of =
                if bin.made_of == MadeOf::Samples || self.points.count == 0 { bin.made_of } else { self.made_of };
            self.points.put(bin.t0.nanos(), bin.mean)?;
        }
        self.how = How::Means(bins);
        Ok(true)
    }

    fn end(&mut self, mut results: Results) -> Result<bool, SpectrumError> {
        self.read = results.read();
        self.damage = results.take_damage();
        Ok(false)
    }

    /// Transforms the points.
    pub fn spectrum(mut self) -> Result<Spectrum, SpectrumError> {
        if let Some(unknown) = self.points.unknown_between() {
            return Err(unknown);
        }
        let Points { times, mut numbers, .. } = self.points;
        let [Some(first), Some(last)] = [times.first(), times.last()].map(|time| time.copied()) else {
            return Err(SpectrumError::TooFew(0));
        };
        let count = numbers.len();
        if count < 2 {
            return Err(SpectrumError::TooFew(count));
        }
        let (step, unevenness) = match self.wanted.resample {
            Some((step, _)) => (step as f64, 0.0),
            None => even(&times, self.wanted.tolerance).map_err(SpectrumError::Uneven)?,
        };
        drop(times);
        let mean = mean(&numbers);
        take_off(&mut numbers, self.wanted.detrend);
        let (frequencies, strengths) = transform(numbers, step / 1e9, self.wanted.window, self.wanted.output);
        Ok(Spectrum {
            frequencies,
            strengths,
            from: Timestamp::from_nanos(first),
            to: Timestamp::from_nanos(last.saturating_add(step.round() as i64)),
            points: count,
            step: step / 1e9,
            mean,
            unevenness,
            made_of: self.made_of,
            read: self.read,
            damage: self.damage,
        })
    }
}

/// On the line from one sample to the next. What is not known at its beginning is not known up to the next.
fn between((t0, a): (i64, f64), (t1, b): (i64, f64), at: i64) -> f64 {
    let share = (at - t0) as f64 / (t1 - t0) as f64;
    // Nothing is known where the line would lead: the last number holds up to there.
    if b.is_nan() || at == t0 { a } else { a * (1.0 - share) + b * share }
}

/// How far stamps lie apart by the line that is nearest to them, and how far from it at most, in steps.
fn even(times: &[i64], tolerance: f64) -> Result<(f64, f64), Unevenness> {
    let count = times.len() as f64;
    let first = times[0];
    let off = |time: &i64| (time - first) as f64;
    let (middle, mean) = ((count - 1.0) / 2.0, times.iter().map(off).sum::<f64>() / count);
    let (mut squares, mut products) = (0.0, 0.0);
    for (index, time) in times.iter().enumerate() {
        let from_middle = index as f64 - middle;
        squares += from_middle * from_middle;
        products += from_middle * (off(time) - mean);
    }
    let step = products / squares;
    let beside = |(index, time): (usize, &i64)| ((off(time) - mean) - step * (index as f64 - middle)).abs() / step;
    let (mut worst, mut most) = (0, 0.0);
    for (index, time) in times.iter().enumerate() {
        let beside = beside((index, time));
        if beside > most {
            (worst, most) = (index, beside);
        }
    }
    if most <= tolerance {
        return Ok((step, most));
    }
    let apart = times.windows(2).map(|pair| pair[1] - pair[0]);
    let (least, longest) = apart.fold((i64::MAX, 0), |(least, longest), nanos| (least.min(nanos), longest.max(nanos)));
    Err(Unevenness {
        count: times.len(),
        step: step / 1e9,
        apart: (least as f64 / 1e9, longest as f64 / 1e9),
        worst: Timestamp::from_nanos(times[worst]),
        off: most,
    })
}

fn mean(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    // Each is made smaller first, so that the sum of large ones is finite.
    numbers.iter().map(|number| number / count).sum()
}

fn take_off(numbers: &mut [f64], what: Detrend) {
    if what == Detrend::None {
        return;
    }
    let (mean, middle) = (mean(numbers), (numbers.len() as f64 - 1.0) / 2.0);
    let (mut squares, mut products) = (0.0, 0.0);
    for (index, number) in numbers.iter().enumerate() {
        let from_middle = index as f64 - middle;
        squares += from_middle * from_middle;
        products += from_middle * (number - mean);
    }
    let slope = if what == Detrend::Linear { products / squares } else { 0.0 };
    for (index, number) in numbers.iter_mut().enumerate() {
        *number -= mean + slope * (index as f64 - middle);
    }
}

/// Frequencies and how strong they are.
fn transform(mut numbers: Vec<f64>, step: f64, window: SpectrumWindow, output: SpectrumOutput) -> (Vec<f64>, Vec<f64>) {
    let count = numbers.len();
    let (mut sum, mut squares) = (count as f64, count as f64);
    if window == SpectrumWindow::Hann {
        (sum, squares) = (0.0, 0.0);
        for (index, number) in numbers.iter_mut().enumerate() {
            let weight = 0.5 - 0.5 * (TAU * index as f64 / count as f64).cos();
            *number *= weight;
            sum += weight;
            squares += weight * weight;
        }
    }
    let transform = RealFftPlanner::<f64>::new().plan_fft_forward(count);
    let mut out = transform.make_output_vec();
    transform.process(&mut numbers, &mut out).expect("both are as long as the plan says");
    drop(numbers);
    let rate = 1.0 / step;
    let strengths = out.iter().enumerate().map(|(index, at)| {
        // Neither 0 nor half the rate, where the count is even, has a mirror image.
        let is_alone = index == 0 || 2 * index == count;
        let sides = if is_alone { 1.0 } else { 2.0 };
        match output {
            SpectrumOutput::Amplitude => sides * at.norm() / sum,
            SpectrumOutput::Density => sides * at.norm_sqr() / (rate * squares),
        }
    });
    let strengths = strengths.collect();
    let frequencies = (0..out.len()).map(|index| index as f64 * rate / count as f64).collect();
    (frequencies, strengths)
}
