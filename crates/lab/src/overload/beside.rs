//! Clients of the archiver beside the load: how long its status and a query take.

use std::{process::Command, thread, time::Duration};

use rustix::thread::gettid;
use sample::Timestamp;

use crate::{
    farm,
    http::{Connection, address},
    measure::percentile,
};

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

/// Asks until the work is done, with two clients, each on a connection of its own and on the cores of the archiver.
pub(super) fn ask<T>((url, cores): (&str, Option<&str>), pv: &str, work: impl FnOnce() -> T) -> (Seen, T) {
    let done = std::sync::atomic::AtomicBool::new(false);
    let is_done = || done.load(std::sync::atomic::Ordering::Relaxed);
    thread::scope(|scope| {
        let status = scope.spawn(|| ask_for((url, cores), &|| "/api/v1/status".to_owned(), &is_done));
        let queries =
            scope.spawn(|| ask_for((url, cores), &|| query(pv, Timestamp::from_nanos(farm::now())), &is_done));
        let result = work();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        let (status, no_status) = status.join().unwrap_or_default();
        let (queries, no_query) = queries.join().unwrap_or_default();
        (Seen { status, queries, failed: no_status + no_query }, result)
    })
}

fn query(pv: &str, now: Timestamp) -> String {
    format!("/api/v1/pvs/{pv}/bins?bins=100&from={}&to={now}", now.saturating_sub(RANGE))
}

/// Lets this thread run before all that does not ask for the same, and on the cores of the archiver, so that what it measures is the
/// time of the archiver and not its own wait for a core beside the farm, which is busy: what the kernel does there for the farm, up to
/// 13 ms at a time, no thread comes before. Says so where that is not permitted.
fn run_before_others(cores: Option<&str>) {
    let thread = gettid().as_raw_nonzero().to_string();
    let changed = |tool: &str, options: &[&str]| {
        let changed = Command::new(tool).args(options).arg(&thread).output();
        if !changed.is_ok_and(|tool| tool.status.success()) {
            eprintln!("{tool} is not permitted here: times of answers contain the client's own wait for a core");
        }
    };
    changed("chrt", &["--fifo", "--pid", "1"]);
    if let Some(cores) = cores {
        changed("taskset", &["--pid", "--cpu-list", cores]);
    }
}

/// Asks again and again, on one connection as long as it holds.
fn ask_for(
    (url, cores): (&str, Option<&str>),
    question: &dyn Fn() -> String,
    is_done: &dyn Fn() -> bool,
) -> (Vec<f64>, usize) {
    let (mut taken, mut failed) = (Vec::new(), 0);
    let mut connection = None;
    run_before_others(cores);
    while !is_done() {
        let answer = match connection.take().map_or_else(|| Connection::open(address(url)?), Ok) {
            Ok(mut open) => open.get(&question(), |_| {}).map(|answer| (answer, open)),
            Err(error) => Err(error),
        };
        match answer {
            Ok((answer, open)) if answer.status == 200 => {
                taken.push(answer.whole);
                connection = Some(open);
            }
            _ => failed += 1,
        }
        thread::sleep(PAUSE);
    }
    (taken, failed)
}
