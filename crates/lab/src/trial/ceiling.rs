//! The ceiling: the highest load of a kind at which nothing is lost, found by trials.

use super::Findings;
use crate::store_bench::Outcome;

/// What was found.
pub(crate) struct Ceiling<T> {
    /// The highest load that was not too much and what its trial showed; none if the first was, and those below it.
    pub(crate) best: Option<(f64, T)>,
    /// The lowest that was.
    pub(crate) too_much: f64,
}

/// The highest load without a loss once it runs, and what was not as it must be, even in an overload.
pub(crate) fn ceiling(
    from: f64,
    halvings: u32,
    mut step: impl FnMut(f64) -> Outcome<Findings>,
) -> Outcome<(Ceiling<Findings>, Vec<String>)> {
    let mut faults = Vec::new();
    let found = search(from, halvings, |load| {
        let mut once = || -> Outcome<(Findings, bool)> {
            let findings = step(load)?;
            faults.extend(findings.faults()?);
            // What the producers are too slow to make in time is another load.
            let is_enough = findings.is_steady()? && findings.is_in_time()?;
            Ok((findings, is_enough))
        };
        // Whatever else runs on the machine may cost a loss once.
        let first = once()?;
        if first.1 { Ok(first) } else { once() }
    })?;
    Ok((found, faults))
}

/// Doubles the load until it is too much, then halves the ratio between too much and not too much so many times. A step tells what
/// it has found, and whether the load was not too much.
fn search<T>(from: f64, halvings: u32, mut step: impl FnMut(f64) -> Outcome<(T, bool)>) -> Outcome<Ceiling<T>> {
    let mut found = Ceiling { best: None, too_much: f64::INFINITY };
    let (mut load, mut left) = (from, halvings);
    loop {
        match step(load)? {
            (what, true) => found.best = Some((load, what)),
            (_, false) => found.too_much = load,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_is_found_from_below_and_from_above() {
        for from in [1.0, 70.0, 900.0] {
            let mut steps = 0;
            let found = search(from, 8, |load| {
                steps += 1;
                Ok((load, load < 100.0))
            })
            .expect("no step fails");
            let (best, what) = found.best.expect("there is one");
            assert_eq!(best, what);
            assert!(
                best < 100.0 && found.too_much >= 100.0 && found.too_much / best < 1.1,
                "{best} {}",
                found.too_much
            );
            assert!(steps < 20, "{steps}");
        }
        let found = search(8.0, 3, |_| Ok(((), false))).expect("no step fails");
        assert!(found.best.is_none() && found.too_much == 1.0);
    }
}
