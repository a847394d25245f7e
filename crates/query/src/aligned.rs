//! Several PVs on the same times: a row for each time of a grid, or for each sample of one PV, made as it is asked for.
//!
//! Of each PV one batch is in memory, by pulse id those within the tolerance; and of rows so many that all PVs together have
//! `CELLS_A_PIECE` values.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::Arc,
    time::Duration,
};

use sample::{Batch, Column, Element, Severity, Shape, TimeRange, Timestamp, Value, ValueType};

use crate::{Before, Error, Query, Request, Samples, Series};

/// The most PVs of one answer: each has a batch of some 150 kB in memory.
pub const ALIGNED_PVS_MAX: usize = 1000;
/// The most rows of a grid.
pub const ALIGNED_ROWS_MAX: u64 = 1_000_000_000;
/// So many values are made at a time.
const CELLS_A_PIECE: usize = 1 << 16;
/// So many samples around a row are looked through for its pulse id.
const WINDOW_MAX: usize = 1 << 16;

/// Which value a PV has at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// The newest sample at or before it.
    Previous,
    /// Between the samples before and after it, on a straight line.
    Linear,
    /// The sample that is nearest to it; of two the earlier.
    Nearest,
    /// The sample with the same pulse id as that of the PV whose times are used.
    Pulse,
}

/// For which times there are rows.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Each so long after the one before, from the beginning of the range.
    Every(Duration),
    /// Those of the samples of one PV.
    Of(Series),
}

/// What is to be aligned, and how.
#[derive(Clone, Debug)]
pub struct AlignRequest {
    /// Whose values.
    pub series: Vec<Series>,
    /// From when to when there are rows.
    pub range: TimeRange,
    /// For which times.
    pub rows: Rows,
    /// Which value a row takes.
    pub alignment: Alignment,
    /// How far from a row a sample may lie, and two samples from each other between which a line is drawn; any if none.
    pub tolerance: Option<Duration>,
}

/// Why there are no rows, or no more of them.
#[derive(Debug)]
pub enum AlignError {
    /// The samples cannot be had.
    Query(Error),
    /// A column holds one type, and a value does not fit it.
    TypeChange {
        /// Of which of the series.
        index: usize,
        /// The type of the column.
        from: ValueType,
        /// The type of the value.
        to: ValueType,
        /// When.
        time: Timestamp,
    },
    /// Too many samples lie within the tolerance of a row.
    CrowdedWindow {
        /// Of which of the series.
        index: usize,
        /// At which row.
        time: Timestamp,
    },
}

impl fmt::Display for AlignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.among(&[]))
    }
}

impl AlignError {
    /// The same in words, with the name of the PV that it is about, if `names` has one for each of the series.
    pub fn among(&self, names: &[String]) -> String {
        let pv = |index: usize| names.get(index).cloned().unwrap_or_else(|| format!("PV {index} of the list"));
        match self {
            AlignError::Query(error) => error.to_string(),
            AlignError::TypeChange { index, from, to, time } => {
                format!("{} changes from {from} to {to} at {time}, a column holds one type", pv(*index))
            }
            AlignError::CrowdedWindow { index, time } => {
                format!("{} has more than {WINDOW_MAX} samples around {time}, lower the tolerance", pv(*index))
            }
        }
    }
}

impl std::error::Error for AlignError {}

impl From<Error> for AlignError {
    fn from(error: Error) -> AlignError {
        AlignError::Query(error)
    }
}

/// Some rows of all PVs, in columns.
#[derive(Debug)]
pub struct AlignedRows {
    /// The time of each row.
    pub times: Vec<Timestamp>,
    /// A column for each PV.
    pub columns: Vec<AlignedColumn>,
}

/// The values of one PV in some rows.
#[derive(Debug)]
pub struct AlignedColumn {
    /// Of the PV's type; doubles on straight lines. Zero or empty where there is none.
    pub values: Column,
    /// Whether there is a value.
    pub present: Vec<bool>,
    /// The severity of each; that of the worse of both ends on a straight line.
    pub severities: Vec<Severity>,
}

impl AlignedColumn {
    fn new(value_type: ValueType) -> AlignedColumn {
        AlignedColumn { values: Column::new(value_type), present: Vec::new(), severities: Vec::new() }
    }

    fn push_nothing(&mut self, nothing: &Value) {
        assert!(self.values.push(nothing), "it was made for the type of the column");
        self.present.push(false);
        self.severities.push(Severity::Invalid);
    }
}

/// The rows as they are made.
pub struct AlignedTable {
    times: Times,
    alignment: Alignment,
    tolerance: Option<Duration>,
    cursors: Vec<Cursor>,
    rows_a_piece: usize,
}

enum Times {
    Grid { next: Option<Timestamp>, end: Timestamp, period: Duration },
    Of { samples: Box<Samples>, batch: Batch, row: usize },
}

impl Times {
    /// The next few times, with pulse ids where they are of samples.
    fn take(&mut self, count: usize) -> Result<Vec<(Timestamp, u64)>, Error> {
        let mut taken = Vec::new();
        while taken.len() < count {
            match self {
                Times::Grid { next, end, period } => {
                    let Some(time) = next.filter(|time| time < end) else { break };
                    taken.push((time, 0));
                    let later = time.saturating_add(*period);
                    *next = (later > time).then_some(later);
                }
                Times::Of { samples, batch, row } => {
                    if *row == batch.len() {
                        let Some(more) = samples.next().transpose()? else { break };
                        (*batch, *row) = (more, 0);
                        continue;
                    }
                    taken.push((batch.times()[*row], *batch.pulses().get(*row)));
                    *row += 1;
                }
            }
        }
        Ok(taken)
    }
}

/// Where one PV is read.
struct Cursor {
    index: usize,
    samples: Samples,
    value_type: ValueType,
    nothing: Value,
    batch: Arc<Batch>,
    /// The first row of the batch that is later than the present time.
    next: usize,
    /// The last row of the batch before.
    held: Option<Arc<Batch>>,
    window: VecDeque<(Timestamp, u64)>,
    by_pulse: HashMap<u64, (Timestamp, Arc<Batch>, usize)>,
}

impl Query {
    /// The types of the columns, and the rows. A column has the type of its PV's newest value in the range.
    pub fn aligned(&self, request: &AlignRequest) -> Result<(Vec<ValueType>, AlignedTable), Error> {
        let AlignRequest { series, range, alignment, tolerance, .. } = request;
        let times = match &request.rows {
            Rows::Every(period) => Times::Grid { next: Some(range.t0), end: range.t1, period: *period },
            Rows::Of(series) => {
                let request = Request { series: series.clone(), range: *range, before: Before::None };
                let samples = Box::new(self.samples(&request));
                Times::Of { samples, batch: Batch::new(ValueType::scalar(Element::F64)), row: 0 }
            }
        };
        let mut cursors = Vec::new();
        for (index, series) in series.iter().enumerate() {
            let newest = self.last_before(series, range.t1)?.map(|sample| sample.value.value_type());
            let value_type = newest.unwrap_or(ValueType::scalar(Element::F64));
            let request = Request {
                series: series.clone(),
                range: around(*range, *alignment, *tolerance),
                before: Before::Include,
            };
            let value_type = if *alignment == Alignment::Linear { ValueType::scalar(Element::F64) } else { value_type };
            cursors.push(Cursor {
                index,
                samples: self.samples(&request),
                value_type,
                nothing: nothing(value_type),
                batch: Arc::new(Batch::new(value_type)),
                next: 0,
                held: None,
                window: VecDeque::new(),
                by_pulse: HashMap::new(),
            });
        }
        let types = cursors.iter().map(|cursor| cursor.value_type).collect();
        let rows_a_piece = (CELLS_A_PIECE / cursors.len().max(1)).max(1);
        let table = AlignedTable { times, alignment: *alignment, tolerance: *tolerance, cursors, rows_a_piece };
        Ok((types, table))
    }
}

/// The samples that rows of a range may need.
fn around(range: TimeRange, alignment: Alignment, tolerance: Option<Duration>) -> TimeRange {
    let (earlier, later) = match alignment {
        Alignment::Previous => (None, Some(Duration::ZERO)),
        Alignment::Linear | Alignment::Nearest => (None, tolerance),
        Alignment::Pulse => (tolerance, tolerance),
    };
    let t1 = later.map_or(Timestamp::MAX, |later| range.t1.saturating_add(later));
    TimeRange { t0: range.t0.saturating_sub(earlier.unwrap_or_default()), t1 }
}

/// What stands in a column where there is no value.
fn nothing(value_type: ValueType) -> Value {
    if value_type.shape == Shape::Array {
        return Value::Array(Column::new(ValueType::scalar(value_type.element)));
    }
    match value_type.element {
        Element::Bool => Value::Bool(false),
        Element::I8 => Value::I8(0),
        Element::U8 => Value::U8(0),
        Element::I16 => Value::I16(0),
        Element::U16 => Value::U16(0),
        Element::I32 => Value::I32(0),
        Element::U32 => Value::U32(0),
        Element::I64 => Value::I64(0),
        Element::U64 => Value::U64(0),
        Element::F32 => Value::F32(0.0),
        Element::F64 => Value::F64(0.0),
        Element::Enum => Value::Enum(0),
        Element::String => Value::String("".into()),
        Element::Structure => Value::Structure([].as_slice().into()),
    }
}

impl Iterator for AlignedTable {
    type Item = Result<AlignedRows, AlignError>;

    fn next(&mut self) -> Option<Result<AlignedRows, AlignError>> {
        let times = match self.times.take(self.rows_a_piece) {
            Ok(times) if times.is_empty() => return None,
            Ok(times) => times,
            Err(error) => return Some(Err(error.into())),
        };
        let columns = self.cursors.iter_mut().map(|cursor| cursor.column(&times, self.alignment, self.tolerance));
        let columns = columns.collect::<Result<_, _>>();
        let times = times.into_iter().map(|(time, _)| time).collect();
        Some(columns.map(|columns| AlignedRows { times, columns }))
    }
}

impl Cursor {
    fn column(
        &mut self,
        times: &[(Timestamp, u64)],
        alignment: Alignment,
        tolerance: Option<Duration>,
    ) -> Result<AlignedColumn, AlignError> {
        let mut column = AlignedColumn::new(self.value_type);
        for (time, pulse) in times {
            match alignment {
                Alignment::Pulse => self.push_of_pulse(&mut column, *time, *pulse, tolerance)?,
                _ => {
                    self.advance(*time)?;
                    self.push_at(&mut column, *time, alignment, tolerance)?;
                }
            }
        }
        Ok(column)
    }

    /// Moves on until what comes next is later than `time`.
    fn advance(&mut self, time: Timestamp) -> Result<(), AlignError> {
        loop {
            let times = self.batch.times();
            while self.next < times.len() && times[self.next] <= time {
                self.next += 1;
            }
            if self.next < times.len() {
                return Ok(());
            }
            let Some(more) = self.samples.next().transpose()? else { return Ok(()) };
            let rows = self.batch.len();
            if rows > 0 {
                self.held = Some(Arc::new(self.batch.slice(rows - 1..rows)));
            }
            (self.batch, self.next) = (Arc::new(more), 0);
        }
    }

    fn previous(&self) -> Option<(&Batch, usize)> {
        if self.next > 0 { Some((&self.batch, self.next - 1)) } else { Some((self.held.as_deref()?, 0)) }
    }

    fn later(&self) -> Option<(&Batch, usize)> {
        (self.next < self.batch.len()).then_some((&*self.batch, self.next))
    }

    fn push_at(
        &self,
        column: &mut AlignedColumn,
        time: Timestamp,
        alignment: Alignment,
        tolerance: Option<Duration>,
    ) -> Result<(), AlignError> {
        let near = |batch: &Batch, row: usize| {
            let apart = batch.times()[row].nanos().abs_diff(time.nanos());
            tolerance.is_none_or(|tolerance| u128::from(apart) <= tolerance.as_nanos())
        };
        let earlier = self.previous();
        let chosen = match alignment {
            Alignment::Linear => {
                self.push_between(column, time, tolerance);
                return Ok(());
            }
            Alignment::Nearest => match (earlier, self.later()) {
                (Some((a, i)), Some((b, j))) => {
                    let (before, after) = (a.times()[i].nanos(), b.times()[j].nanos());
                    let is_earlier = time.nanos().abs_diff(before) <= after.abs_diff(time.nanos());
                    Some(if is_earlier { (a, i) } else { (b, j) })
                }
                (one, other) => one.or(other),
            },
            _ => earlier,
        };
        match chosen.filter(|(batch, row)| near(batch, *row)) {
            Some((batch, row)) => self.push_row(column, batch, row),
            None => {
                column.push_nothing(&self.nothing);
                Ok(())
            }
        }
    }

    fn push_row(&self, column: &mut AlignedColumn, batch: &Batch, row: usize) -> Result<(), AlignError> {
        if !column.values.extend_from(batch.values(), row..row + 1) {
            // Doubles hold every other number, 64-bit integers as nearly as can be.
            let converted = batch.values().f64_at(row).map(Value::F64);
            if !converted.is_some_and(|value| column.values.push(&value)) {
                let (from, to) = (self.value_type, batch.value_type());
                return Err(AlignError::TypeChange { index: self.index, from, to, time: batch.times()[row] });
            }
        }
        column.present.push(true);
        column.severities.push(batch.alarms().get(row).severity);
        Ok(())
    }

    fn push_between(&self, column: &mut AlignedColumn, time: Timestamp, tolerance: Option<Duration>) {
        let severity = |(batch, row): (&Batch, usize)| batch.alarms().get(row).severity;
        let value = self.previous().and_then(|a| {
            let (t0, v0) = (a.0.times()[a.1].nanos(), a.0.values().f64_at(a.1)?);
            if t0 == time.nanos() {
                return Some((v0, severity(a)));
            }
            let b = self.later()?;
            let (t1, v1) = (b.0.times()[b.1].nanos(), b.0.values().f64_at(b.1)?);
            let apart = t1.abs_diff(t0);
            let near = tolerance.is_none_or(|tolerance| u128::from(apart) <= tolerance.as_nanos());
            let share = time.nanos().abs_diff(t0) as f64 / apart as f64;
            near.then(|| (v0 + (v1 - v0) * share, severity(a).max(severity(b))))
        });
        match value {
            Some((value, severity)) => {
                assert!(column.values.push(&Value::F64(value)), "lines are drawn in doubles");
                column.present.push(true);
                column.severities.push(severity);
            }
            None => column.push_nothing(&self.nothing),
        }
    }

    fn push_of_pulse(
        &mut self,
        column: &mut AlignedColumn,
        time: Timestamp,
        pulse: u64,
        tolerance: Option<Duration>,
    ) -> Result<(), AlignError> {
        let tolerance = tolerance.unwrap_or_default();
        let (first, last) = (time.saturating_sub(tolerance), time.saturating_add(tolerance));
        loop {
            while self.next < self.batch.len() && self.batch.times()[self.next] <= last {
                let (row, found) = (self.next, *self.batch.pulses().get(self.next));
                self.next += 1;
                if found != 0 && self.batch.times()[row] >= first {
                    self.window.push_back((self.batch.times()[row], found));
                    self.by_pulse.insert(found, (self.batch.times()[row], Arc::clone(&self.batch), row));
                }
                if self.window.len() > WINDOW_MAX {
                    return Err(AlignError::CrowdedWindow { index: self.index, time });
                }
            }
            if self.next < self.batch.len() {
                break;
            }
            let Some(more) = self.samples.next().transpose()? else { break };
            (self.batch, self.next) = (Arc::new(more), 0);
        }
        while let Some((old, gone)) = self.window.front().copied().filter(|(old, _)| *old < first) {
            self.window.pop_front();
            if self.by_pulse.get(&gone).is_some_and(|(kept, ..)| *kept == old) {
                self.by_pulse.remove(&gone);
            }
        }
        match self.by_pulse.get(&pulse).filter(|_| pulse != 0) {
            Some((_, batch, row)) => {
                let (batch, row) = (Arc::clone(batch), *row);
                self.push_row(column, &batch, row)
            }
            None => {
                column.push_nothing(&self.nothing);
                Ok(())
            }
        }
    }
}
