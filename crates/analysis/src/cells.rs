//! Cells: stretches of time between edges, and what summaries leave possible in each.
//!
//! ```text
//!   cells     ┊      ┊      ┊      ┊        what holds at the beginning of a cell is what the last sample before it gave
//!   rows        ━━━    ━━━━         of the store: least, greatest, last of the samples between two edges
//!   bounds    [ 1, 5 ][ 4, 9 ][ 9 ]
//! ```

use std::sync::Arc;

use query::{Error, Query};
use sample::{Batch, Severity, Stretch, Summary, TimeRange, Timestamp};

use crate::{
    bounds::Bounds,
    steps::{Gaps, numbers_of},
    track::{State, Track, What},
};

/// Whether summaries say anything of a track.
pub(crate) fn are_told(what: &What) -> bool {
    matches!(what, What::Value | What::Is(_) | What::Severity | What::Missing | What::IsNan | What::Silent(_))
}

/// What a track may be in each cell between neighbouring edges. What cannot be read is left open: who reads the samples is told.
pub(crate) fn bounds(
    query: &Query,
    track: &Track,
    edges: &Arc<[Timestamp]>,
    gaps: &Gaps,
) -> Result<Vec<Bounds>, Error> {
    let count = edges.len() - 1;
    if !are_told(&track.what) {
        return Ok(vec![Bounds::ANY; count]);
    }
    let range = TimeRange { t0: edges[0], t1: edges[count] };
    let held = match query.last_before(&track.series, range.t0) {
        Ok(held) => held,
        Err(error) if error.is_damage() => return Ok(vec![Bounds::ANY; count]),
        Err(error) => return Err(error),
    };
    let mut cells = Cells::new(&track.what, edges);
    if let Some(sample) = &held {
        cells.last = Some(sample.time);
        cells.held = held_by(&track.what, &Batch::of(sample));
    }
    if matches!(track.what, What::Missing) && held.is_some() {
        cells.pass_to(count); // once there was a sample there is always one
    } else {
        for stretch in query.stretches(&track.series, range, Arc::clone(edges))? {
            match stretch {
                Ok(Stretch::Summary(summary)) => cells.add_summary(&summary),
                Ok(Stretch::Samples(batch)) => cells.add_rows(&batch),
                Err(error) if error.is_damage() => cells.add_damage(),
                Err(error) => return Err(error),
            }
        }
        cells.end();
    }
    let mut made = cells.made;
    if !matches!(track.what, What::Silent(_)) {
        hide(&mut made, &track.what, edges, gaps);
    }
    Ok(made)
}

/// What holds after a sample.
fn held_by(what: &What, batch: &Batch) -> Bounds {
    let mut number = Vec::new();
    numbers_of(what, batch, &mut number);
    number.last().map_or(Bounds::ANY, |number| Bounds::one(*number))
}

struct Cells<'c> {
    what: &'c What,
    edges: &'c [Timestamp],
    made: Vec<Bounds>,
    /// What holds at the end of what was looked at.
    held: Bounds,
    /// When the last sample was.
    last: Option<Timestamp>,
    numbers: Vec<f64>,
}

impl<'c> Cells<'c> {
    fn new(what: &'c What, edges: &'c [Timestamp]) -> Cells<'c> {
        let held = match what {
            What::Missing | What::Silent(_) => Bounds::one(1.0),
            _ => Bounds::UNKNOWN,
        };
        Cells { what, edges, made: Vec::new(), held, last: None, numbers: Vec::new() }
    }

    /// Begins all cells up to one that has so many before it: what holds goes on in each.
    fn pass_to(&mut self, cell: usize) {
        while self.made.len() <= cell && self.made.len() + 1 < self.edges.len() {
            self.fall_silent();
            let silent = if let What::Silent(nanos) = self.what { self.silence(*nanos, self.made.len()) } else { None };
            self.made.push(silent.unwrap_or(self.held));
        }
    }

    /// Whether no sample is new enough in a cell that has none so far.
    fn silence(&self, nanos: i64, cell: usize) -> Option<Bounds> {
        let begins = self.last?.nanos().saturating_add(nanos);
        Some(match () {
            () if begins <= self.edges[cell].nanos() => Bounds::one(1.0),
            () if begins >= self.edges[cell + 1].nanos() => Bounds::one(0.0),
            () => Bounds::between(0.0, 1.0),
        })
    }

    /// The cell of a time, to which all before are passed.
    fn cell_of(&mut self, time: Timestamp) -> usize {
        let from = self.made.len().saturating_sub(1);
        let rest = &self.edges[from..];
        let cell = from + rest.partition_point(|edge| *edge <= time).saturating_sub(1);
        let cell = cell.min(self.edges.len() - 2);
        self.pass_to(cell);
        cell
    }

    fn add(&mut self, cell: usize, bounds: Bounds) {
        self.made[cell] = self.made[cell].or(bounds);
    }

    fn add_summary(&mut self, summary: &Summary) {
        let cell = self.cell_of(summary.t0);
        let is_of_numbers = summary.value_type.is_numeric_scalar();
        let mut within = Bounds::EMPTY;
        if summary.numbers() > 0 && is_of_numbers {
            within = Bounds::between(summary.min, summary.max);
        }
        if summary.nan_count > 0 || !is_of_numbers {
            within = within.or_unknown();
        }
        let (within, held) = match self.what {
            What::Value if is_of_numbers => (within, Bounds::one(summary.last)),
            What::Is(state) if is_of_numbers => of_state(state, summary),
            What::Severity => of_severity(summary),
            What::IsNan if is_of_numbers && summary.nan_count == 0 => (Bounds::one(0.0), Bounds::one(0.0)),
            What::IsNan if is_of_numbers && summary.numbers() == 0 => (Bounds::one(1.0), Bounds::one(1.0)),
            What::Missing => (Bounds::one(0.0), Bounds::one(0.0)),
            What::Silent(nanos) => {
                let mut within = self.until(summary.t0, *nanos);
                if summary.t1.nanos().saturating_sub(summary.t0.nanos()) >= *nanos {
                    within = within.or(Bounds::one(1.0));
                }
                (within, Bounds::one(0.0))
            }
            _ => (Bounds::ANY, Bounds::ANY),
        };
        self.add(cell, within);
        (self.held, self.last) = (held, Some(summary.t1));
    }

    /// Of the time up to a sample: whether there is silence before it.
    fn until(&self, time: Timestamp, nanos: i64) -> Bounds {
        let is_long = self.last.is_none_or(|last| time.nanos().saturating_sub(last.nanos()) > nanos);
        if is_long { Bounds::between(0.0, 1.0) } else { Bounds::one(0.0) }
    }

    fn add_rows(&mut self, batch: &Batch) {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        numbers_of(self.what, batch, &mut numbers);
        let times = batch.times();
        let mut row = 0;
        while row < times.len() {
            let cell = self.cell_of(times[row]);
            let end = row + times[row..].partition_point(|time| *time < self.edges[cell + 1]).max(1);
            let mut within = Bounds::EMPTY;
            for row in row..end {
                within = within.or(match self.what {
                    What::Silent(nanos) => self.until(times[row], *nanos),
                    _ => Bounds::one(numbers[row]),
                });
                self.last = Some(times[row]);
            }
            self.add(cell, within);
            self.held =
                if matches!(self.what, What::Silent(_)) { Bounds::one(0.0) } else { Bounds::one(numbers[end - 1]) };
            row = end;
        }
        self.numbers = numbers;
    }

    /// Something is missing, here or behind.
    fn add_damage(&mut self) {
        if let Some(cell) = self.made.last_mut() {
            *cell = Bounds::ANY;
        }
        self.held = Bounds::ANY;
        self.pass_to(self.edges.len());
    }

    fn end(&mut self) {
        self.fall_silent();
        self.pass_to(self.edges.len());
    }

    /// A cell may fall silent behind its last sample.
    fn fall_silent(&mut self) {
        if let (What::Silent(nanos), Some(cell)) = (self.what, self.made.len().checked_sub(1))
            && self.silence(*nanos, cell) != Some(Bounds::one(0.0))
        {
            self.add(cell, Bounds::between(0.0, 1.0));
        }
    }
}

/// Numbers of a state within a summary, and behind it.
fn of_state(state: &State, summary: &Summary) -> (Bounds, Bounds) {
    if summary.value_type.element != sample::Element::Enum {
        return (Bounds::one(0.0), Bounds::one(0.0));
    }
    if !state.is_constant(summary.t0, summary.t1) {
        return (Bounds::between(0.0, 1.0), Bounds::between(0.0, 1.0));
    }
    let is = |number: f64| f64::from(u8::from(state.number_at(summary.t0) == Some(number)));
    let within = match state.number_at(summary.t0) {
        Some(number) if summary.min <= number && number <= summary.max && summary.min < summary.max => {
            Bounds::between(0.0, 1.0)
        }
        _ => Bounds::one(is(summary.min)),
    };
    (within, Bounds::one(is(summary.last)))
}

fn of_severity(summary: &Summary) -> (Bounds, Bounds) {
    let worst = f64::from(summary.severity_max as u8);
    let is_all_invalid = summary.invalid_count == summary.count && summary.severity_max == Severity::Invalid;
    let within = if is_all_invalid { Bounds::one(worst) } else { Bounds::between(0.0, worst) };
    (within, within)
}

/// Within gaps nothing is known.
fn hide(made: &mut [Bounds], what: &What, edges: &[Timestamp], gaps: &Gaps) {
    let hidden = if matches!(what, What::Missing) { Bounds::one(1.0) } else { Bounds::UNKNOWN };
    for (from, to) in gaps.iter() {
        let first = edges.partition_point(|edge| edge.nanos() <= *from).saturating_sub(1);
        for cell in first..made.len() {
            let (begin, end) = (edges[cell].nanos(), edges[cell + 1].nanos());
            if begin >= *to {
                break;
            }
            if end > *from {
                made[cell] = if *from <= begin && end <= *to { hidden } else { made[cell].or(hidden) };
            }
        }
    }
}
