//! Slow: the requests of the last day that took longest, with who asked for what. Few are kept, and nothing of them that a token, a password
//! or a formula of somebody could stand in.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use sample::Timestamp;

use crate::url::Params;

/// What is quicker is not slow.
const SLOW: Duration = Duration::from_millis(100);
/// So many of each hour are kept, and so many hours.
const OF_AN_HOUR: usize = 10;
const HOURS: usize = 24;
const HOUR_NANOS: i64 = 3_600_000_000_000;
/// Parameters that are told: those that say which PVs, which times and how much. What is not named here is left out.
const TOLD: [&str; 18] = [
    "pv", "from", "to", "time", "before", "after", "bins", "elements", "width", "limit", "offset", "match", "words",
    "sort", "state", "format", "method", "period",
];
/// So much is told of a request.
const WHAT_CHARS: usize = 300;
/// So many values of one parameter.
const VALUES: usize = 3;

/// A request that took long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlowRequest {
    /// When it came.
    pub(crate) at: Timestamp,
    /// Until the last of its answer was made.
    pub(crate) took: Duration,
    /// Who sent it, as the archive knows.
    pub(crate) who: String,
    /// Method, path, and what of its parameters may be told.
    pub(crate) what: String,
    /// The rows of its answer; none where they were not counted one by one.
    pub(crate) rows: Option<u64>,
}

/// The slowest requests of each of the last hours.
#[derive(Debug, Default)]
pub(crate) struct Slow(Mutex<VecDeque<(i64, Vec<SlowRequest>)>>);

impl Slow {
    /// Those of the last day, the slowest first.
    pub(crate) fn told(&self, now: Timestamp, limit: usize) -> Vec<SlowRequest> {
        let oldest = now.nanos() / HOUR_NANOS - HOURS as i64;
        let hours = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<SlowRequest> =
            hours.iter().filter(|(hour, _)| *hour >= oldest).flat_map(|(_, of)| of.iter().cloned()).collect();
        drop(hours);
        all.sort_by(|a, b| b.took.cmp(&a.took).then(a.at.cmp(&b.at)));
        all.truncate(limit);
        all
    }

    fn note(&self, request: SlowRequest) {
        let hour = request.at.nanos() / HOUR_NANOS;
        let mut hours = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !hours.iter().any(|(of, _)| *of == hour) {
            hours.push_back((hour, Vec::with_capacity(OF_AN_HOUR)));
            if hours.len() > HOURS + 1 {
                hours.pop_front();
            }
        }
        let Some((_, slowest)) = hours.iter_mut().find(|(of, _)| *of == hour) else { return };
        if slowest.len() < OF_AN_HOUR {
            slowest.push(request);
        } else if let Some(quickest) = slowest.iter_mut().min_by_key(|of| of.took).filter(|of| of.took < request.took) {
            *quickest = request;
        }
    }
}

/// A request while it is answered: whoever makes a part of its answer holds it, and with the last of them it is known how long it took.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    slow: Arc<Slow>,
    begun: Instant,
    at: Timestamp,
    who: String,
    what: String,
    rows: AtomicU64,
    /// Whether rows were counted.
    has_rows: AtomicBool,
}

impl Stopwatch {
    pub(crate) fn begin(slow: &Arc<Slow>, at: Timestamp, who: String, what: String) -> Arc<Stopwatch> {
        Stopwatch::since(Instant::now(), slow, at, who, what)
    }

    fn since(begun: Instant, slow: &Arc<Slow>, at: Timestamp, who: String, what: String) -> Arc<Stopwatch> {
        let slow = Arc::clone(slow);
        Arc::new(Stopwatch { slow, begun, at, who, what, rows: AtomicU64::new(0), has_rows: AtomicBool::new(false) })
    }

    /// So many rows of its answer were made.
    fn count(&self, rows: u64) {
        self.has_rows.store(true, Relaxed);
        self.rows.fetch_add(rows, Relaxed);
    }
}

/// Counts the rows of an answer while they are made, and tells how many there were when it is dropped.
pub(crate) struct RowCount {
    watch: Arc<Stopwatch>,
    rows: u64,
}

impl RowCount {
    pub(crate) fn of(watch: &Arc<Stopwatch>) -> RowCount {
        RowCount { watch: Arc::clone(watch), rows: 0 }
    }

    pub(crate) fn add_one(&mut self) {
        self.rows += 1;
    }
}

impl Drop for RowCount {
    fn drop(&mut self) {
        if self.rows > 0 {
            self.watch.count(self.rows);
        }
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        let took = self.begun.elapsed();
        if took >= SLOW {
            let (who, what) = (std::mem::take(&mut self.who), std::mem::take(&mut self.what));
            let rows = self.has_rows.load(Relaxed).then(|| self.rows.load(Relaxed));
            self.slow.note(SlowRequest { at: self.at, took, who, what, rows });
        }
    }
}

/// A request in one line, without anything that could be a secret. A form may have a million parameters: they are gone through once.
pub(crate) fn what(method: &str, path: &str, query: &Params) -> String {
    let mut given: [(Vec<&str>, usize); TOLD.len()] = Default::default();
    for (name, value) in query.given() {
        let Some((values, rest)) = TOLD.iter().position(|told| *told == name).and_then(|place| given.get_mut(place))
        else {
            continue;
        };
        if values.len() < VALUES { values.push(value) } else { *rest += 1 }
    }
    let mut what = format!("{method} {path}");
    for (name, (values, rest)) in TOLD.iter().zip(&given).filter(|(_, (values, _))| !values.is_empty()) {
        let more = if *rest > 0 { format!(" and {rest} more") } else { String::new() };
        what.push_str(&format!(" {name}={}{more}", values.join(",")));
    }
    let plain = what.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.take(WHAT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_nanos(hours * HOUR_NANOS)
    }

    fn request(hours: i64, millis: u64) -> SlowRequest {
        let (who, what) = ("ana".to_owned(), "GET /x".to_owned());
        SlowRequest { at: at(hours), took: Duration::from_millis(millis), who, what, rows: None }
    }

    #[test]
    fn the_slowest_of_a_day_are_kept_and_few_of_each_hour() {
        let slow = Slow::default();
        for hour in 0..40 {
            for millis in 0..100 {
                slow.note(request(hour, 1000 * hour as u64 + millis));
            }
        }
        let told = slow.told(at(39), 1000);
        assert_eq!((told.len(), told[0].took), (25 * OF_AN_HOUR, Duration::from_millis(39_099)));
        assert!(told.iter().all(|of| of.took.as_millis() % 1000 >= 90), "the slowest of each hour");
        assert_eq!(slow.told(at(39), 3).len(), 3);
        assert!(slow.told(at(100), 10).is_empty(), "they are of more than a day before");
    }

    #[test]
    fn what_takes_long_is_noted_when_the_last_of_its_answer_is_made() {
        let slow = Arc::new(Slow::default());
        let begun = Instant::now().checked_sub(SLOW).unwrap();
        let watch = Stopwatch::since(begun, &slow, at(1), "ana".to_owned(), "GET /y".to_owned());
        let of_answer = Arc::clone(&watch);
        drop(watch);
        let mut rows = RowCount::of(&of_answer);
        rows.add_one();
        drop(rows);
        assert!(slow.told(at(1), 9).is_empty(), "it is still under way");
        drop(of_answer);
        let told = slow.told(at(1), 9);
        assert_eq!((told.len(), told[0].who.as_str(), told[0].rows), (1, "ana", Some(1)));
        drop(Stopwatch::begin(&slow, at(1), "bob".to_owned(), String::new()));
        assert_eq!(slow.told(at(1), 9).len(), 1, "what is quick is not slow");
    }

    #[test]
    fn nothing_is_told_that_could_be_a_secret() {
        let query =
            Params::parse("pv=A%0AB&token=hunter2&access_token=hunter2&from=-1y&expr=A%2BB&pv=C&pv=D&pv=E&password=x");
        assert_eq!(what("GET", "/api/v1/samples", &query), "GET /api/v1/samples pv=A B,C,D and 1 more from=-1y");
        let long = Params::parse(&format!("match={}", "x".repeat(10_000)));
        assert_eq!(what("GET", "/", &long).chars().count(), WHAT_CHARS);
    }
}
