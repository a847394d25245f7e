//! Which calls are made to fail, and how: each of them if PVARK_CRASH=all, some of each kind if not.

use std::{
    env,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::{Call, Failure, Fault};

/// Lives at the same time: nearly all of their time is waiting.
const THREADS: usize = 24;
/// So many calls of each kind are made to fail in a plain run.
const SAMPLED: u64 = 3;

/// The ways in which a kind of call can fail.
fn failures(call: Call) -> &'static [Failure] {
    match call {
        Call::Write => &[Failure::Eio, Failure::NoSpace, Failure::ShortEio, Failure::ShortNoSpace],
        Call::CreateFolder | Call::SetLen | Call::Rename => &[Failure::Eio, Failure::NoSpace],
        _ => &[Failure::Eio],
    }
}

/// Each fault of each call up to what a run without faults made, or some of them. The threads of a store make the number of
/// calls vary: some are added.
pub(crate) fn matrix(calls: impl Fn(Call) -> u64) -> Vec<Fault> {
    let all = env::var("PVARK_CRASH").is_ok_and(|which| which == "all");
    let mut faults = Vec::new();
    for call in Call::ALL {
        let calls = calls(call) + 3;
        let step = if all { 1 } else { calls.div_ceil(SAMPLED) };
        for failure in failures(call) {
            for lasting in [false, true] {
                // Another place for each way to fail, so that a plain run meets many.
                let first = if all { 0 } else { (faults.len() as u64 * 7) % step };
                let places = (first..calls).step_by(step as usize);
                faults.extend(places.map(|at| Fault { call, at, failure: *failure, lasting }));
            }
        }
    }
    faults
}

/// Runs all of them, many at once, and tells every failure.
pub(crate) fn run_all(what: &str, faults: &[Fault], run: impl Fn(Fault, &str) + Sync) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Relaxed)) {
                    let context = format!("{what}, {fault:?}");
                    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(*fault, &context)));
                    if result.is_err() {
                        failed.lock().unwrap().push(context);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    eprintln!("{what}: {} faults", faults.len());
    assert!(failed.is_empty(), "{} of {} failed: {failed:#?}", failed.len(), faults.len());
}
