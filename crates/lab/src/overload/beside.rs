//! Clients of the archiver beside the load: how long its status and a query take.

use std::{
    thread,
    time::{Duration, Instant},
};

use sample::Timestamp;

use crate::{farm, measure::percentile};

/// So long after an answer the next question is asked.
const PAUSE: Duration = Duration::from_millis(20);

/// Of a PV that a client asks for, so much is asked for.
const RANGE: Duration = Duration::from_secs(30);

/// What clients saw in some time.
pub(super) struct Seen {
    /// Seconds until each answer was there.
    status: Vec<f64>,
    queries: Vec<f64>,
    /// Questions without an answer, or with another than 200.
    pub(super) failed: usize,
}

impl Seen {
    /// Milliseconds for the status and for a query.
    pub(super) fn percentiles(&mut self, percent: usize) -> (f64, f64) {
        (1e3 * percentile(&mut self.status, percent), 1e3 * percentile(&mut self.queries, percent))
    }
}

/// Asks until the work is done, with two clients, each on a connection of its own.
pub(super) fn ask<T>(url: &str, pv: &str, work: impl FnOnce() -> T) -> (Seen, T) {
    let done = std::sync::atomic::AtomicBool::new(false);
    let is_done = || done.load(std::sync::atomic::Ordering::Relaxed);
    thread::scope(|scope| {
        let status = scope.spawn(|| ask_for(&|| format!("{url}/api/v1/status"), &is_done));
        let queries = scope.spawn(|| ask_for(&|| query(url, pv, Timestamp::from_nanos(farm::now())), &is_done));
        let result = work();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        let (status, no_status) = status.join().unwrap_or_default();
        let (queries, no_query) = queries.join().unwrap_or_default();
        (Seen { status, queries, failed: no_status + no_query }, result)
    })
}

fn query(url: &str, pv: &str, now: Timestamp) -> String {
    format!("{url}/api/v1/pvs/{pv}/bins?bins=100&from={}&to={now}", now.saturating_sub(RANGE))
}

fn ask_for(question: &dyn Fn() -> String, is_done: &dyn Fn() -> bool) -> (Vec<f64>, usize) {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(30))).build().into();
    let (mut taken, mut failed) = (Vec::new(), 0);
    while !is_done() {
        let begun = Instant::now();
        let answer = agent.get(question()).call().and_then(|mut answer| answer.body_mut().read_to_vec());
        match answer {
            Ok(_) => taken.push(begun.elapsed().as_secs_f64()),
            Err(_) => failed += 1,
        }
        thread::sleep(PAUSE);
    }
    (taken, failed)
}
