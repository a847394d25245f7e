//! Pairs: what two expressions were at the same time, for one to be drawn over the other.
//!
//! ```text
//!   x   ●───●──────●────●       last    each ● of x, with what y held then
//!   y   ●──────●───●───         stamp   only where both have a ●
//!         │    │    │    │      grid    at equal distances, what both held
//!         ├────┼────┼────┤      mean    the means of both between these, from summaries where these tell them
//!                               pulse   samples of both with one pulse id
//! ```

use std::{sync::Arc, time::Duration};

use query::{AlignError, AlignRequest, AlignedTable, Alignment, Query, Rows};
use sample::{TimeRange, Timestamp};

use crate::{
    formula::{FormulaBins, IsWanted, MadeOf, Piece, Results, Wants},
    program::Program,
    steps::{STEPS_AT_ONCE, StepError, range_of},
};

/// Which numbers of the two are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairsBy {
    /// Each sample of the first, with what the second held then.
    Last,
    /// Samples of both with the same stamp.
    Stamp,
    /// What both held at each of some times, so many nanoseconds apart.
    Grid(i64),
    /// The means of both over so many nanoseconds each.
    Mean(i64),
    /// Samples of both with the same pulse id, which lie no further apart than that. Both are PVs.
    Pulse(Duration),
}

/// Why there are no pairs, or no more of them.
#[derive(Debug)]
pub enum PairsError {
    /// Samples cannot be had.
    Step(StepError),
    /// Samples by pulse id cannot be had.
    Align(AlignError),
    /// Pulse ids are those of samples, which a formula has none of.
    NoPv,
}

impl<E: Into<StepError>> From<E> for PairsError {
    fn from(error: E) -> PairsError {
        PairsError::Step(error.into())
    }
}

/// The pairs, and what they amount to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// When each was.
    pub times: Vec<Timestamp>,
    /// What the first was.
    pub x: Vec<f64>,
    /// What the second was.
    pub y: Vec<f64>,
    /// How often one of both was known and the other was not, or had no partner.
    pub unpaired: u64,
    /// Where the first pair lies that was not made any more.
    pub until: Option<Timestamp>,
    /// How nearly the pairs lie on a straight line (Pearson's coefficient); NaN if that cannot be said.
    pub correlation: f64,
    /// The line from which the squared distances of `y` are least: how steep it is, and where it begins.
    pub slope: f64,
    /// What it is where `x` is zero.
    pub intercept: f64,
    /// For how many pairs summaries alone were asked.
    pub by_summaries: usize,
    /// How many numbers were read.
    pub read: u64,
    /// Sentences about what is damaged.
    pub damage: Vec<String>,
}

/// Makes them.
pub struct PairsGathering {
    how: How,
    limit: usize,
    pairs: Pairs,
    line: LineSums,
}

enum How {
    Steps { x: Side, y: Side, is_stamped: bool },
    Grid { x: Side, y: Side, next: Option<i64>, step: i64, to: i64 },
    Means { x: Box<FormulaBins>, y: Box<FormulaBins> },
    Pulses(Box<AlignedTable>),
}

/// One of both, as it is gone through.
pub(crate) struct Side {
    pub(crate) results: Results,
    piece: Option<Piece>,
}

impl Side {
    pub(crate) fn of(
        query: &Query,
        program: &Program,
        range: TimeRange,
        is_wanted: &IsWanted,
    ) -> Result<Side, StepError> {
        Ok(Side { results: Results::of(query, program, range, Arc::clone(is_wanted))?, piece: None })
    }

    /// What holds at a time, which is no earlier than the one before.
    pub(crate) fn at(&mut self, time: i64) -> Result<Option<Piece>, StepError> {
        while self.piece.is_none_or(|piece| piece.to <= time) {
            match self.results.next()? {
                Some(piece) => self.piece = Some(piece),
                None => return Ok(None),
            }
        }
        Ok(self.piece.filter(|piece| piece.from <= time))
    }

    fn number_at(&mut self, time: i64) -> Result<f64, StepError> {
        Ok(self.at(time)?.map_or(f64::NAN, |piece| piece.number))
    }
}

/// Whether there may be more pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    End,
}

impl PairsGathering {
    /// Of two expressions in a range, at most so many pairs.
    pub fn new(
        query: &Query,
        [x, y]: [&Program; 2],
        range: TimeRange,
        by: PairsBy,
        limit: usize,
        is_wanted: IsWanted,
    ) -> Result<PairsGathering, PairsError> {
        let sides = |range: TimeRange| -> Result<[Side; 2], StepError> {
            Ok([Side::of(query, x, range, &is_wanted)?, Side::of(query, y, range, &is_wanted)?])
        };
        let how = match by {
            PairsBy::Last | PairsBy::Stamp => {
                let [x, y] = sides(range)?;
                How::Steps { x, y, is_stamped: by == PairsBy::Stamp }
            }
            PairsBy::Grid(step) => {
                let [x, y] = sides(range)?;
                How::Grid { x, y, next: Some(range.t0.nanos()), step: step.max(1), to: range.t1.nanos() }
            }
            PairsBy::Mean(step) => {
                let (parts, whole) = whole_parts(range, step);
                let bins = |of: &Program| {
                    FormulaBins::new(query.clone(), of.clone(), whole, parts, Wants::Mean, Arc::clone(&is_wanted))
                };
                How::Means { x: Box::new(bins(x)?), y: Box::new(bins(y)?) }
            }
            PairsBy::Pulse(tolerance) => {
                let (Some(x), Some(y)) = (x.plain(), y.plain()) else { return Err(PairsError::NoPv) };
                let request = AlignRequest {
                    series: vec![x.clone(), y.clone()],
                    range,
                    rows: Rows::Of(x.clone()),
                    alignment: Alignment::Pulse,
                    tolerance: Some(tolerance),
                };
                How::Pulses(Box::new(query.aligned(&request)?.1))
            }
        };
        Ok(PairsGathering { how, limit, pairs: Pairs::default(), line: LineSums::default() })
    }

    /// How many there are so far.
    pub fn count(&self) -> usize {
        self.pairs.times.len()
    }

    /// Makes some more; false at the end.
    pub fn go_on(&mut self) -> Result<bool, PairsError> {
        let goes = match &mut self.how {
            How::Steps { .. } => self.steps()?,
            How::Grid { .. } => self.grid()?,
            How::Means { .. } => self.means()?,
            How::Pulses(_) => self.pulses()?,
        };
        Ok(goes == Goes::On && self.pairs.until.is_none())
    }

    fn steps(&mut self) -> Result<Goes, StepError> {
        let How::Steps { x, y, is_stamped } = &mut self.how else { return Ok(Goes::End) };
        for _ in 0..STEPS_AT_ONCE {
            let Some(piece) = x.results.next()? else { return Ok(Goes::End) };
            if !piece.is_sample || piece.number.is_nan() {
                continue;
            }
            let other = y.at(piece.from)?;
            let partner = other.filter(|other| !*is_stamped || (other.is_sample && other.from == piece.from));
            let number = partner.map_or(f64::NAN, |other| other.number);
            if self.pairs.put(&mut self.line, self.limit, piece.from, [piece.number, number]) == Goes::End {
                return Ok(Goes::End);
            }
        }
        Ok(Goes::On)
    }

    fn grid(&mut self) -> Result<Goes, StepError> {
        let How::Grid { x, y, next, step, to } = &mut self.how else { return Ok(Goes::End) };
        for _ in 0..STEPS_AT_ONCE {
            let Some(time) = next.filter(|time| *time < *to) else { return Ok(Goes::End) };
            *next = time.checked_add(*step);
            let numbers = [x.number_at(time)?, y.number_at(time)?];
            if self.pairs.put(&mut self.line, self.limit, time, numbers) == Goes::End {
                return Ok(Goes::End);
            }
        }
        Ok(Goes::On)
    }

    fn means(&mut self) -> Result<Goes, StepError> {
        let How::Means { x, y } = &mut self.how else { return Ok(Goes::End) };
        for _ in 0..STEPS_AT_ONCE {
            let (Some(x), Some(y)) = (x.next().transpose()?, y.next().transpose()?) else { return Ok(Goes::End) };
            let is_told = x.made_of == MadeOf::Summaries && y.made_of == MadeOf::Summaries;
            let before = self.pairs.times.len();
            if self.pairs.put(&mut self.line, self.limit, x.t0.nanos(), [x.mean, y.mean]) == Goes::End {
                return Ok(Goes::End);
            }
            self.pairs.by_summaries += if is_told { self.pairs.times.len() - before } else { 0 };
        }
        Ok(Goes::On)
    }

    fn pulses(&mut self) -> Result<Goes, PairsError> {
        let How::Pulses(table) = &mut self.how else { return Ok(Goes::End) };
        let Some(rows) = table.next().transpose().map_err(PairsError::Align)? else { return Ok(Goes::End) };
        let [x, y] = [0, 1].map(|column| &rows.columns[column]);
        self.pairs.read += 2 * rows.times.len() as u64;
        for (row, time) in rows.times.iter().enumerate() {
            let number = |column: &query::AlignedColumn| {
                let number = if column.present[row] { column.values.f64_at(row) } else { None };
                number.unwrap_or(f64::NAN)
            };
            if self.pairs.put(&mut self.line, self.limit, time.nanos(), [number(x), number(y)]) == Goes::End {
                return Ok(Goes::End);
            }
        }
        Ok(Goes::On)
    }

    /// What they come to.
    pub fn pairs(mut self) -> Pairs {
        let (read, damage) = match &mut self.how {
            How::Steps { x, y, .. } | How::Grid { x, y, .. } => {
                let damage = [x.results.take_damage(), y.results.take_damage()].concat();
                (x.results.read() + y.results.read(), damage)
            }
            How::Means { x, y } => (x.read() + y.read(), [x.damage(), y.damage()].concat()),
            How::Pulses(_) => (self.pairs.read, Vec::new()),
        };
        let Line { correlation, slope, intercept } = self.line.told();
        Pairs { correlation, slope, intercept, read, damage, ..self.pairs }
    }
}

/// How many parts of a length a range has from its beginning, and the range of them all.
fn whole_parts(range: TimeRange, step: i64) -> (usize, TimeRange) {
    let length = range.t1.nanos().saturating_sub(range.t0.nanos()).max(0);
    let parts = length / step.max(1);
    (usize::try_from(parts).unwrap_or(usize::MAX), range_of(range.t0.nanos(), range.t0.nanos() + parts * step.max(1)))
}

impl Pairs {
    /// Puts a pair, if both are known and there is room.
    fn put(&mut self, line: &mut LineSums, limit: usize, time: i64, [x, y]: [f64; 2]) -> Goes {
        if x.is_nan() && y.is_nan() {
            return Goes::On;
        }
        if x.is_nan() || y.is_nan() {
            self.unpaired += 1;
            return Goes::On;
        }
        let time = Timestamp::from_nanos(time);
        if self.times.len() == limit {
            self.until = Some(time);
            return Goes::End;
        }
        self.times.push(time);
        self.x.push(x);
        self.y.push(y);
        line.add(x, y);
        Goes::On
    }
}

/// Sums over the finite pairs: their means, and products of the distances from these (Welford, 1962).
#[derive(Clone, Copy, Debug, Default)]
struct LineSums {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

/// A straight line through pairs.
struct Line {
    correlation: f64,
    slope: f64,
    intercept: f64,
}

impl LineSums {
    fn add(&mut self, x: f64, y: f64) {
        if !x.is_finite() || !y.is_finite() {
            return;
        }
        self.count += 1.0;
        let (off_x, off_y) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += off_x / self.count;
        self.mean_y += off_y / self.count;
        self.xx += off_x * (x - self.mean_x);
        self.yy += off_y * (y - self.mean_y);
        self.xy += off_x * (y - self.mean_y);
    }

    /// NaN where all lie at one place, or above each other.
    fn told(&self) -> Line {
        let slope = if self.xx > 0.0 { self.xy / self.xx } else { f64::NAN };
        let is_spread = self.xx > 0.0 && self.yy > 0.0;
        let correlation = if is_spread { self.xy / (self.xx.sqrt() * self.yy.sqrt()) } else { f64::NAN };
        Line { correlation: correlation.clamp(-1.0, 1.0), slope, intercept: self.mean_y - slope * self.mean_x }
    }
}
