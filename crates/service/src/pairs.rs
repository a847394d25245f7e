//! What two expressions were at the same time, for one to be drawn over the other.

use analysis::{Pairs, PairsBy, PairsError, PairsGathering, Units};
use query::AlignError;
use sample::TimeRange;

use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

/// No answer has more pairs.
pub const PAIRS_MAX: usize = 1_000_000;
/// Nor more means, each of which is a bin of both.
const MEANS_MAX: i128 = 100_000;
/// What a pair takes until it is sent; vectors that grow have room for as many again.
const PAIR_BYTES: usize = 48;
/// The rest is charged as it comes, so many at a time.
const CHARGED_AT_ONCE: usize = 1 << 14;
/// What the samples around a row take whose pulse id is looked for.
const WINDOW_BYTES: usize = 1 << 20;

/// Whose pairs, and which.
#[derive(Clone, Debug)]
pub struct PairsWanted {
    /// The expression that is drawn to the right.
    pub x: String,
    /// And the one that is drawn upwards.
    pub y: String,
    /// Which numbers are put together.
    pub by: PairsBy,
    /// At most so many.
    pub limit: usize,
}

impl Ask {
    /// The pairs of two expressions, with the units of both.
    pub fn pairs(
        &self,
        wanted: &PairsWanted,
        range: TimeRange,
        units: Units,
    ) -> Result<(Pairs, [Option<String>; 2]), Refusal> {
        if wanted.limit > PAIRS_MAX {
            let message = format!("limit is {}, an answer has at most {PAIRS_MAX} pairs", wanted.limit);
            return Err(Refusal::new(Code::TooLarge, message).hint("ask for shorter ranges, or for by=mean"));
        }
        let (query, x, range) = self.formula(&wanted.x, range, units).map_err(|refusal| refusal.within("x"))?;
        let (_, y, _) = self.formula(&wanted.y, range, units).map_err(|refusal| refusal.within("y"))?;
        refuse_steps(wanted.by, range)?;
        if matches!(wanted.by, PairsBy::Pulse(_)) {
            self.lease.grow_by(2, WINDOW_BYTES)?;
        }
        let both = [&x, &y];
        let told = |error: PairsError| refused(error, wanted);
        let mut gathering =
            PairsGathering::new(&query, both, range, wanted.by, wanted.limit, self.is_wanted()).map_err(told)?;
        let mut charged = 0;
        loop {
            while charged < gathering.count() + CHARGED_AT_ONCE {
                self.lease.grow_by(CHARGED_AT_ONCE, PAIR_BYTES)?;
                charged += CHARGED_AT_ONCE;
            }
            self.go_on()?;
            if !gathering.go_on().map_err(told)? {
                break;
            }
        }
        Ok((gathering.pairs(), both.map(|program| program.units().map(str::to_owned))))
    }
}

/// Refuses times that are more than can be answered.
fn refuse_steps(by: PairsBy, range: TimeRange) -> Result<(), Refusal> {
    let (step, most) = match by {
        PairsBy::Grid(step) => (step, PAIRS_MAX as i128),
        PairsBy::Mean(step) => (step, MEANS_MAX),
        PairsBy::Last | PairsBy::Stamp | PairsBy::Pulse(_) => return Ok(()),
    };
    let length = i128::from(range.t1.nanos()) - i128::from(range.t0.nanos());
    let count = length / i128::from(step.max(1));
    if count > most {
        let message = format!("{count} times were asked for, at most {most} are possible");
        let hint = format!("take step={} or more, or a shorter range", (length / most + 1) as f64 / 1e9);
        return Err(Refusal::new(Code::TooLarge, message).hint(hint));
    }
    if count == 0 && matches!(by, PairsBy::Mean(_)) {
        let message = format!("the range is shorter than one step of {} s", step as f64 / 1e9);
        return Err(Refusal::new(Code::BadRequest, message));
    }
    Ok(())
}

fn refused(error: PairsError, wanted: &PairsWanted) -> Refusal {
    match error {
        PairsError::Step(error) => error.into(),
        PairsError::Align(AlignError::Query(error)) => error.into(),
        PairsError::Align(error) => Refusal::new(Code::Conflict, error.among(&[wanted.x.clone(), wanted.y.clone()])),
        PairsError::NoPv => Refusal::new(Code::BadRequest, "by=pulse takes two PVs, and a formula was given")
            .hint("samples have pulse ids, formulas have none; by=stamp takes both"),
    }
}
