//! What papers report of other archivers and databases, beside which figures by the wall are put, as theirs are. Their machines were
//! others and older, and their clients sat behind a network, so the ratios say how far apart things are, not more.

/// A figure of a paper, in the unit of ours.
pub(crate) struct Reported {
    case: &'static str,
    metric: &'static str,
    pub(crate) of: &'static str,
    pub(crate) value: f64,
    more_is_better: bool,
}

impl Reported {
    /// How many times better ours is.
    pub(crate) fn times_better(&self, ours: f64) -> f64 {
        if self.more_is_better { ours / self.value } else { self.value / ours }
    }
}

/// The sources, by the names that `of` begins with.
pub(crate) const SOURCES: &str = "\
HALF: X. Sun et al., *Research on HALF historical data archiver technology*, 2023: writing InfluxDB 1.5 · 10⁵ and TimescaleDB 1.2 · 10⁵,
reading TimescaleDB 1.4 · 10⁶ and the Archiver Appliance 6 · 10⁵ samples/s. Channel Archiver: its manual, \"close to 10000\" values/s.";

pub(crate) fn reported(case: &str, metric: &str) -> impl Iterator<Item = &'static Reported> {
    REPORTED.iter().filter(move |reported| reported.case == case && reported.metric == metric)
}

#[cfg(test)]
pub(crate) fn cases() -> impl Iterator<Item = &'static str> {
    REPORTED.iter().map(|reported| reported.case)
}

const fn rate(case: &'static str, metric: &'static str, of: &'static str, value: f64) -> Reported {
    Reported { case, metric, of, value, more_is_better: true }
}

const fn delay(case: &'static str, metric: &'static str, of: &'static str, value: f64) -> Reported {
    Reported { case, metric, of, value, more_is_better: false }
}

const INFLUX: &str = "InfluxDB (HALF)";
const TIMESCALE: &str = "TimescaleDB (HALF)";
const TIMESCALE_READ: &str = "TimescaleDB over its network (HALF)";
const APPLIANCE_READ: &str = "Archiver Appliance over its network (HALF)";

/// Delays are the papers' rates over so many samples.
const REPORTED: &[Reported] = &[
    rate("ingest-2k-1", "by the wall, samples made meanwhile", INFLUX, 0.15),
    rate("ingest-2k-1", "by the wall, samples made meanwhile", "Channel Archiver", 0.01),
    rate("ingest-2k-10", "by the wall, samples made meanwhile", INFLUX, 0.15),
    rate("ingest-150k-1", "by the wall, samples made meanwhile", INFLUX, 0.15),
    rate("ingest-150k-10", "by the wall, samples made meanwhile", INFLUX, 0.15),
    rate("all-in-2k", "by the wall, samples made meanwhile", INFLUX, 0.15),
    rate("all-in-150k", "by the wall, samples made meanwhile", INFLUX, 0.15),
    delay("query", "14400 samples, warm p50", TIMESCALE_READ, 14.4 / 1.4),
    delay("query", "14400 samples, warm p50", APPLIANCE_READ, 14.4 / 0.6),
    delay("query", "360000 samples, warm p50", TIMESCALE_READ, 360.0 / 1.4),
    delay("query", "360000 samples, warm p50", APPLIANCE_READ, 360.0 / 0.6),
    rate("half-write", "batches of 6 s, safe, by the wall", TIMESCALE, 0.12),
    rate("half-write", "batches of 60 s, safe, by the wall", INFLUX, 0.15),
    rate("half-write", "batches of 60 s, safe, by the wall", TIMESCALE, 0.12),
    rate("half-read", "14400 newest, by the wall", TIMESCALE_READ, 1.4),
    rate("half-read", "14400 older, by the wall", TIMESCALE_READ, 1.4),
    rate("half-read", "100000 newest, by the wall", TIMESCALE_READ, 1.4),
    rate("half-read", "100000 older, by the wall", TIMESCALE_READ, 1.4),
    rate("half-read", "100000 older, by the wall", APPLIANCE_READ, 0.6),
    rate("half-read", "360000 newest, by the wall", TIMESCALE_READ, 1.4),
    rate("half-read", "360000 older, by the wall", TIMESCALE_READ, 1.4),
    rate("half-read", "360000 older, by the wall", APPLIANCE_READ, 0.6),
];
