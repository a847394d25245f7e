//! What is computed of a range: formulas in bins or step by step, and statistics.

use std::sync::Arc;

use analysis::{FormulaBins, Gathering, IsWanted, Program, Results, Statistics, StatisticsWanted, Units, Wants};
use query::Query;
use sample::TimeRange;

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

impl Ask {
    fn is_wanted(&self) -> IsWanted {
        let asked = self.clone();
        Arc::new(move || !asked.is_abandoned())
    }

    fn formula(&self, text: &str, range: TimeRange, units: Units) -> Result<(Query, Program, TimeRange), Refusal> {
        let now = now();
        let range = TimeRange { t0: range.t0.min(now), t1: range.t1.min(now) };
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
    ) -> Result<(Results, Option<String>), Refusal> {
        let (query, program, range) = self.formula(text, range, units)?;
        Ok((Results::of(&query, &program, range, self.is_wanted())?, program.units().map(str::to_owned)))
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
        let mut gathering = Gathering::new(&query, &program, range, wanted, self.is_wanted())?;
        while gathering.go_on()? {}
        Ok((gathering.statistics(), program.units().map(str::to_owned)))
    }
}
