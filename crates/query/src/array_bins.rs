//! Bins of arrays: what each element was between two edges, so that no frame of a long time has to be looked at, and none is passed over.
//!
//! ```text
//!   element │ 3 ▒▒▓▒│▒▒▒▒│    a bin has a row for each element,
//!           │ 2 ▒▒▒▒│▒█▒▒│    and where arrays are longer than rows are wanted
//!           │ 1 ░░░░│░░░░│    one for 2, 4, 8 … neighbouring ones:
//!           └─0─────┴────┴─►  what stands out in one frame stands out in its row
//! ```
//! Arrays have no summaries: each is read, once. Of the answer one bin is in memory, however long the range and the arrays are; where a
//! bin is much work, some are made at the same time.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use sample::{Batch, Column, Severity, TimeRange, Timestamp};

use crate::{
    Before, Error, Query, Request, Series,
    query::Samples,
    side_by_side::{processors, side_by_side},
    tally::{CompensatedSum, Tally},
};

/// The most bins that are made at the same time.
pub const ARRAY_BINS_AT_ONCE: usize = 4;
/// That many elements of a bin take some ten milliseconds to read: the bins behind it are worth a thread each.
const ELEMENTS_A_THREAD: usize = 1 << 20;

/// The most rows of elements that a bin may have: more than any screen has pixels.
pub const ELEMENTS_MAX: usize = 65_536;

/// The arrays from `t0` up to, not including, `t1`.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayBin {
    /// Where it begins.
    pub t0: Timestamp,
    /// Where it ends.
    pub t1: Timestamp,
    /// How many samples there are. Those that are no arrays of numbers, as before a change of type, only count here.
    pub count: u64,
    /// How many of them are of severity INVALID.
    pub invalid_count: u64,
    /// The worst severity.
    pub severity_max: Severity,
    /// How many elements the longest array has.
    pub length: usize,
    /// How many neighbouring elements share a row: a power of two.
    pub elements_per_row: usize,
    /// What the elements were, from the first on.
    pub rows: Vec<Elements>,
}

/// One element of the arrays of a bin, or some neighbouring ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elements {
    /// How many finite numbers there are: those of which `mean` is made.
    pub count: u64,
    /// The smallest number; NaN where there is none.
    pub min: f64,
    /// The largest number; NaN where there is none.
    pub max: f64,
    /// The mean of the finite numbers; NaN where there is none.
    pub mean: f64,
}

/// The bins of a range in order, empty ones too. A damaged block is left out and told by `damage`; other errors end it.
pub struct ArrayBins {
    query: Query,
    series: Series,
    samples: Samples,
    edges: Arc<[Timestamp]>,
    next: usize,
    rows_max: usize,
    /// Bins that were made together. Once it is begun all are.
    made: VecDeque<Result<ArrayBin, Error>>,
    is_together: bool,
    /// The rest of a batch, from a row on, that lies behind what was counted.
    waiting: Option<(Batch, usize)>,
    damage: Vec<Error>,
    ended: bool,
    is_gone: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl ArrayBins {
    pub(crate) fn new(query: Query, series: Series, edges: Arc<[Timestamp]>, rows_max: usize) -> ArrayBins {
        let range = TimeRange { t0: edges[0], t1: edges[edges.len() - 1] };
        let samples = query.samples(&Request { series: series.clone(), range, before: Before::None });
        let (made, is_gone) = (VecDeque::new(), Arc::new(|| false));
        let (next, waiting, damage) = (0, None, Vec::new());
        let (is_together, ended) = (false, false);
        ArrayBins { query, series, samples, edges, next, rows_max, made, is_together, waiting, damage, ended, is_gone }
    }

    /// Gives up a bin of many arrays once the client has left that asked for it.
    #[must_use]
    pub fn while_wanted(self, is_gone: impl Fn() -> bool + Send + Sync + 'static) -> ArrayBins {
        ArrayBins { is_gone: Arc::new(is_gone), ..self }
    }

    /// What was found damaged so far.
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }

    /// The next batch and the row in it to go on from, if that row lies before `t1`.
    fn next_before(&mut self, t1: Timestamp) -> Result<Option<(Batch, usize)>, Error> {
        while self.waiting.is_none() {
            if (self.is_gone)() {
                self.ended = true;
                return Ok(None);
            }
            self.waiting = match self.samples.next().transpose() {
                Ok(None) => return Ok(None),
                Ok(Some(batch)) => (!batch.is_empty()).then_some((batch, 0)),
                Err(error) if error.is_damage() => {
                    self.damage.push(error);
                    None
                }
                Err(error) => return Err(error),
            };
        }
        Ok(self.waiting.take_if(|(batch, row)| batch.times()[*row] < t1))
    }

    fn made_alone(&mut self, t0: Timestamp, t1: Timestamp) -> Result<ArrayBin, Error> {
        let (mut tally, mut elements) = (Tally::default(), ElementTally::new(self.rows_max));
        while let Some((batch, row)) = self.next_before(t1)? {
            let end = row + batch.times()[row..].partition_point(|time| *time < t1);
            tally.add_rows(&batch, row..end);
            elements.add_rows(&batch, row..end);
            self.waiting = (end < batch.len()).then_some((batch, end));
        }
        self.is_together |= elements.read >= ELEMENTS_A_THREAD && processors() > 1;
        let bin = tally.bin(t0, t1);
        Ok(ArrayBin {
            t0,
            t1,
            count: bin.count,
            invalid_count: bin.invalid_count,
            severity_max: bin.severity_max,
            length: elements.length,
            elements_per_row: 1 << elements.shift,
            rows: elements.cells.iter().map(Cell::told).collect(),
        })
    }

    /// Makes the next ones, each in a thread of its own.
    fn make_together(&mut self) {
        let count = processors().min(ARRAY_BINS_AT_ONCE).min(self.edges.len() - 1 - self.next);
        let parts: Vec<&[Timestamp]> = self.edges[self.next..=self.next + count].windows(2).collect();
        let made = side_by_side(&parts, count, |edges| {
            let mut bins = ArrayBins::new(self.query.clone(), self.series.clone(), (*edges).into(), self.rows_max);
            bins.is_gone = Arc::clone(&self.is_gone);
            (bins.next(), bins.damage)
        });
        for (bin, damage) in made {
            // A block in which two bins meet is told once.
            let is_known = |error: &Error| self.damage.iter().any(|known| known.to_string() == error.to_string());
            let new: Vec<Error> = damage.into_iter().filter(|error| !is_known(error)).collect();
            self.damage.extend(new);
            // None is made for somebody who has gone.
            self.made.extend(bin);
        }
        self.next += count;
    }
}

impl Iterator for ArrayBins {
    type Item = Result<ArrayBin, Error>;

    fn next(&mut self) -> Option<Result<ArrayBin, Error>> {
        if self.ended {
            return None;
        }
        if self.is_together && self.made.is_empty() && self.next + 1 < self.edges.len() {
            self.make_together();
        }
        if let Some(made) = self.made.pop_front() {
            self.ended = made.is_err();
            return Some(made);
        }
        if self.is_together || self.next + 1 >= self.edges.len() {
            return None;
        }
        let (t0, t1) = (self.edges[self.next], self.edges[self.next + 1]);
        self.next += 1;
        let made = self.made_alone(t0, t1);
        if self.ended {
            return None;
        }
        self.ended = made.is_err();
        Some(made)
    }
}

/// The running account of the elements of one bin.
struct ElementTally {
    rows_max: usize,
    length: usize,
    /// How many elements were looked at.
    read: usize,
    /// A row has 2 to the power of this neighbouring elements.
    shift: u32,
    cells: Vec<Cell>,
}

impl ElementTally {
    fn new(rows_max: usize) -> ElementTally {
        ElementTally { rows_max, length: 0, read: 0, shift: 0, cells: Vec::new() }
    }

    fn add_rows(&mut self, batch: &Batch, rows: Range<usize>) {
        let Column::Array(arrays) = batch.values() else { return };
        if !batch.value_type().is_numeric_array() {
            return;
        }
        for row in rows {
            let range = arrays.range(row);
            self.make_room(range.len());
            self.read += range.len();
            self.add(arrays.elements(), range);
        }
    }

    /// Rows for an array of that length. Where there were too many, neighbouring ones become one.
    fn make_room(&mut self, length: usize) {
        self.length = self.length.max(length);
        while self.length.div_ceil(1 << self.shift) > self.rows_max {
            self.shift += 1;
            let pairs = self.cells.chunks(2);
            self.cells = pairs.map(|pair| pair.iter().fold(Cell::default(), |sum, cell| sum.with(cell))).collect();
        }
        self.cells.resize_with(self.length.div_ceil(1 << self.shift), Cell::default);
    }

    fn add(&mut self, elements: &Column, range: Range<usize>) {
        match elements {
            Column::Bool(v) => self.add_numbers(&v[range], |v| f64::from(u8::from(v))),
            Column::I8(v) => self.add_numbers(&v[range], f64::from),
            Column::U8(v) => self.add_numbers(&v[range], f64::from),
            Column::I16(v) => self.add_numbers(&v[range], f64::from),
            Column::U16(v) => self.add_numbers(&v[range], f64::from),
            Column::I32(v) | Column::Enum(v) => self.add_numbers(&v[range], f64::from),
            Column::U32(v) => self.add_numbers(&v[range], f64::from),
            Column::I64(v) => self.add_numbers(&v[range], |v| v as f64),
            Column::U64(v) => self.add_numbers(&v[range], |v| v as f64),
            Column::F32(v) => self.add_numbers(&v[range], f64::from),
            Column::F64(v) => self.add_numbers(&v[range], |v| v),
            Column::String(_) | Column::Structure(_) | Column::Array(_) => {}
        }
    }

    fn add_numbers<T: Copy>(&mut self, numbers: &[T], number: impl Fn(T) -> f64) {
        for (cell, numbers) in self.cells.iter_mut().zip(numbers.chunks(1 << self.shift)) {
            numbers.iter().for_each(|one| cell.add(number(*one)));
        }
    }
}

struct Cell {
    count: u64,
    /// Above `max` while there is no number.
    min: f64,
    max: f64,
    sum: CompensatedSum,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell { count: 0, min: f64::INFINITY, max: f64::NEG_INFINITY, sum: CompensatedSum::default() }
    }
}

impl Cell {
    fn add(&mut self, number: f64) {
        if number.is_nan() {
            return;
        }
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        if number.is_finite() {
            self.count += 1;
            self.sum.add(number);
        }
    }

    fn with(mut self, other: &Cell) -> Cell {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum.add_sum(&other.sum);
        self
    }

    fn told(&self) -> Elements {
        let (min, max) = if self.min > self.max { (f64::NAN, f64::NAN) } else { (self.min, self.max) };
        let mean = if self.count == 0 { f64::NAN } else { self.sum.over(self.count) };
        Elements { count: self.count, min, max, mean }
    }
}
