//! Bars: what a figure must reach and what it should reach, printed beside what was measured.

/// A bar of one figure.
pub(crate) struct Bar {
    case: &'static str,
    metric: &'static str,
    better: Better,
    pub(crate) must: f64,
    pub(crate) aim: f64,
}

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

impl Bar {
    /// The bar in words, and whether a value reaches it.
    pub(crate) fn beside(&self, value: f64) -> String {
        let reaches = |bar: f64| if self.better == Better::More { value >= bar } else { value <= bar };
        let verdict = match (reaches(self.must), reaches(self.aim)) {
            (_, true) => "reached",
            (true, false) => "enough",
            (false, false) => "MISSED",
        };
        let sign = if self.better == Better::More { "≥" } else { "≤" };
        if self.must == self.aim {
            format!("must {sign} {}: {verdict}", self.must)
        } else {
            format!("must {sign} {}, aim {sign} {}: {verdict}", self.must, self.aim)
        }
    }
}

/// The bar of a figure, if it has one.
pub(crate) fn find(case: &str, metric: &str) -> Option<&'static Bar> {
    BARS.iter().find(|bar| bar.case == case && bar.metric == metric)
}

const fn more(case: &'static str, metric: &'static str, must: f64, aim: f64) -> Bar {
    Bar { case, metric, better: Better::More, must, aim }
}

const fn less(case: &'static str, metric: &'static str, must: f64, aim: f64) -> Bar {
    Bar { case, metric, better: Better::Less, must, aim }
}

/// M samples/s are per processor second, bytes per sample are with everything that lies in a segment.
const BARS: [Bar; 4] = [
    more("ingest-2k-1", "ingest per CPU-second", 8.0, 15.0),
    more("ingest-2k-10", "ingest per CPU-second", 8.0, 15.0),
    more("ingest-150k-1", "ingest per CPU-second", 5.0, 12.0),
    less("ingest-150k-1", "peak memory", 1200.0, 600.0),
];
