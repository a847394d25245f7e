//! Computes over a range: formulas in bins or step by step, statistics and histograms.

use std::sync::Arc;

use analysis::{
    ArrayResults, ArrayValue, Bound, FormulaBins, Histogram, HistogramGathering, HistogramParts, HistogramWeight,
    IsWanted, Kind, Program, Results, Statistics, StatisticsGathering, StatisticsWanted, Units, Wants,
};
use query::Query;
use sample::{TimeRange, Timestamp};

use crate::{
    ask::Ask,
    clock::now,
    refusal::{Code, Refusal},
};

/// More percentiles, and more parts of a histogram, are refused.
const PERCENTILES_MAX: usize = 100;
const PARTS_MAX: usize = 10_000;
/// More bins of a formula are refused.
const BINS_MAX: usize = 100_000;
/// What a bin takes until it is sent, and the numbers of a range as far as they are kept apart.
const BIN_BYTES: usize = 200;
const NUMBERS_BYTES: usize = 16 << 20;
/// No answer has more of arrays, in doubles.
const ARRAYS_BYTES_MAX: usize = 256 << 20;
/// What a part of a histogram takes.
const PART_BYTES: usize = 64;

/// The steps of a formula: of numbers, or of arrays.
pub enum FormulaSteps {
    /// It gives a number at each.
    Numbers(Box<Results>),
    /// It computes with arrays.
    Arrays(Box<ArraySteps>),
}

/// The steps of a formula that computes with arrays, as many as one answer may have.
pub struct ArraySteps {
    ask: Ask,
    results: ArrayResults,
    kind: Kind,
    /// Bytes given out so far, and the most that one step needed while it was made.
    bytes: usize,
    at_once: usize,
}

impl ArraySteps {
    /// Arrays, or numbers that they amount to.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the answer has as much as one may have.
    pub fn is_full(&self) -> bool {
        self.bytes >= ARRAYS_BYTES_MAX
    }

    /// The next step; none at the end. Memory is charged for the largest.
    pub fn next_step(&mut self) -> Result<Option<(Timestamp, ArrayValue)>, Refusal> {
        self.ask.go_on()?;
        let (lease, at_once) = (&self.ask.lease, &mut self.at_once);
        let step = self.results.next(&mut |bytes| {
            lease.grow(bytes.saturating_sub(*at_once))?;
            *at_once = bytes.max(*at_once);
            Ok::<(), Refusal>(())
        })?;
        self.bytes += match &step {
            Some((_, ArrayValue::Array(array))) => array.len() * size_of::<f64>(),
            _ => 0,
        };
        Ok(step)
    }

    /// Sentences about what is damaged, since this was asked last.
    pub fn take_damage(&mut self) -> Vec<String> {
        self.results.take_damage()
    }
}

/// What lies beyond now is not looked at.
fn until_now(range: TimeRange) -> TimeRange {
    let now = now();
    TimeRange { t0: range.t0.min(now), t1: range.t1.min(now) }
}

impl Ask {
    pub(crate) fn is_wanted(&self) -> IsWanted {
        let asked = self.clone();
        Arc::new(move || !asked.is_abandoned())
    }

    /// What an expression says, and what it is computed of: what lies beyond now is not looked at.
    pub(crate) fn formula(
        &self,
        text: &str,
        range: TimeRange,
        units: Units,
    ) -> Result<(Query, Program, TimeRange), Refusal> {
        let range = until_now(range);
        let program = self.program(text, range, units)?;
        Ok((self.listed().behind.query.clone(), program, range))
    }

    /// A formula in bins of equal length, and its units.
    pub fn formula_bins(
        &self,
        text: &str,
        range: TimeRange,
        units: Units,
        count: usize,
        wants: Wants,
    ) -> Result<(FormulaBins, Option<String>), Refusal> {
        if count == 0 || count > BINS_MAX {
            let message = format!("{count} bins were asked for, 1 to {BINS_MAX} are possible");
            return Err(Refusal::new(Code::BadRequest, message));
        }
        let (query, program, range) = self.formula(text, range, units)?;
        self.lease.grow_by(count, BIN_BYTES)?;
        let units = program.units().map(str::to_owned);
        Ok((FormulaBins::new(query, program, range, count, wants, self.is_wanted())?, units))
    }

    /// A formula at each of its steps, and its units.
    pub fn formula_steps(
        &self,
        text: &str,
        range: TimeRange,
        units: Units,
    ) -> Result<(FormulaSteps, Option<String>), Refusal> {
        let range = until_now(range);
        let query = &self.listed().behind.query;
        Ok(match self.bound(text, range, units)? {
            Bound::Numbers(program) => {
                let units = program.units().map(str::to_owned);
                let results = Results::of(query, &program, range, self.is_wanted())?;
                (FormulaSteps::Numbers(Box::new(results)), units)
            }
            Bound::Arrays(program) => {
                let (units, kind) = (program.units().map(str::to_owned), program.kind());
                let results = ArrayResults::of(query, program, range, self.is_wanted())?;
                let steps = ArraySteps { ask: self.clone(), results, kind, bytes: 0, at_once: 0 };
                (FormulaSteps::Arrays(Box::new(steps)), units)
            }
        })
    }

    /// What a formula amounts to in a range, and its units. A condition is 1 while it holds and 0 while it does not.
    pub fn statistics(
        &self,
        text: &str,
        range: TimeRange,
        units: Units,
        wanted: StatisticsWanted,
    ) -> Result<(Statistics, Option<String>), Refusal> {
        let is_percent = |percent: &f64| (0.0..=100.0).contains(percent);
        if wanted.percentiles.len() > PERCENTILES_MAX || !wanted.percentiles.iter().all(is_percent) {
            let message = format!("percentiles are at most {PERCENTILES_MAX} numbers from 0 to 100");
            return Err(Refusal::new(Code::BadRequest, message));
        }
        if wanted.histogram > PARTS_MAX {
            let message = format!("{} parts were asked for, a histogram has at most {PARTS_MAX}", wanted.histogram);
            return Err(Refusal::new(Code::BadRequest, message));
        }
        let (query, program, range) = self.formula(text, range, units)?;
        self.lease.grow(NUMBERS_BYTES)?;
        let mut gathering = StatisticsGathering::new(&query, &program, range, wanted, self.is_wanted())?;
        while gathering.go_on()? {}
        Ok((gathering.statistics(), program.units().map(str::to_owned)))
    }

    /// For how long a formula lay between which edges, or how many samples did, and its units.
    pub fn histogram(
        &self,
        text: &str,
        range: TimeRange,
        units: Units,
        parts: HistogramParts,
        weight: HistogramWeight,
    ) -> Result<(Histogram, Option<String>), Refusal> {
        refuse_parts(&parts)?;
        let (query, program, range) = self.formula(text, range, units)?;
        self.lease.grow_by(PARTS_MAX, PART_BYTES)?;
        let units = program.units().map(str::to_owned);
        let mut gathering = HistogramGathering::new(query, program, range, parts, weight, self.is_wanted())?;
        while gathering.go_on()? {}
        Ok((gathering.histogram(), units))
    }
}

/// Refuses parts that are none.
fn refuse_parts(parts: &HistogramParts) -> Result<(), Refusal> {
    let refusal = |why: String| Err(Refusal::new(Code::BadRequest, why));
    match parts {
        HistogramParts::Equal { count, .. } if *count == 0 || *count > PARTS_MAX => {
            refusal(format!("{count} bins were asked for, a histogram has 1 to {PARTS_MAX}"))
        }
        HistogramParts::Equal { low, high, .. } => {
            match [low, high].into_iter().flatten().find(|end| !end.is_finite()) {
                Some(end) => refusal(format!("a histogram cannot begin or end at {end}")),
                None if low.zip(*high).is_some_and(|(low, high)| low >= high) => {
                    refusal("low= has to be less than high=".to_owned())
                }
                None => Ok(()),
            }
        }
        HistogramParts::Edges(edges) if edges.len() < 2 || edges.len() > PARTS_MAX + 1 => {
            refusal(format!("{} edges were given, a histogram has 2 to {}", edges.len(), PARTS_MAX + 1))
        }
        HistogramParts::Edges(edges) => {
            let is_wrong =
                |index: &usize| !edges[*index].is_finite() || (*index > 0 && edges[index - 1] >= edges[*index]);
            match (0..edges.len()).find(is_wrong) {
                Some(index) => {
                    refusal(format!("edges have to be finite and to rise, and number {} does not", index + 1))
                }
                None => Ok(()),
            }
        }
    }
}
