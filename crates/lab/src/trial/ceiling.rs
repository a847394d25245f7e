//! The ceiling: the highest load of a kind at which nothing is lost, found by trials.

use super::Findings;
use crate::store_bench::Outcome;

/// What was found.
pub(crate) struct Ceiling {
    /// The highest load without a loss and what its trial showed; none if there was a loss from the first.
    pub(crate) best: Option<(f64, Findings)>,
    /// The lowest at which something was lost, or what the producers could not reach.
    pub(crate) too_much: f64,
    /// What was not as it must be, even in an overload.
    pub(crate) faults: Vec<String>,
}

/// Doubles the load until something is lost, then halves the ratio between too much and not enough so many times.
pub(crate) fn ceiling(from: f64, halvings: u32, mut step: impl FnMut(f64) -> Outcome<Findings>) -> Outcome<Ceiling> {
    let mut found = Ceiling { best: None, too_much: f64::INFINITY, faults: Vec::new() };
    let (mut load, mut left) = (from, halvings);
    loop {
        let findings = step(load)?;
        found.faults.extend(findings.faults()?);
        if findings.is_loss_free()? && findings.is_in_time()? {
            found.best = Some((load, findings));
        } else {
            found.too_much = load;
        }
        let best = found.best.as_ref().map(|(load, _)| *load);
        load = match best {
            Some(best) if found.too_much.is_finite() => (best * found.too_much).sqrt(),
            Some(best) => 2.0 * best,
            None => found.too_much / 2.0,
        };
        if found.too_much.is_finite() {
            if left == 0 {
                return Ok(found);
            }
            left -= 1;
        }
    }
}
