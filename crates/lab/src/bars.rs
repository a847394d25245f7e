//! Bars: what a figure must reach and what it should reach, printed beside what was measured.

/// A bar of one figure.
pub(crate) struct Bar {
    case: &'static str,
    metric: &'static str,
    better: Better,
    must: f64,
    aim: f64,
}

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

impl Bar {
    /// Whether a value reaches it, in a word.
    pub(crate) fn verdict(&self, value: f64) -> &'static str {
        let reaches = |bar: f64| if self.better == Better::More { value >= bar } else { value <= bar };
        match (reaches(self.must), reaches(self.aim)) {
            (_, true) => "reached",
            (true, false) => "enough",
            (false, false) => "MISSED",
        }
    }

    fn sign(&self) -> &'static str {
        if self.better == Better::More { "≥" } else { "≤" }
    }

    pub(crate) fn must_text(&self) -> String {
        format!("{} {}", self.sign(), self.must)
    }

    /// What is aimed at beyond that; nothing if it is the same.
    pub(crate) fn aim_text(&self) -> String {
        if self.aim == self.must { String::new() } else { format!("{} {}", self.sign(), self.aim) }
    }

    /// The bar in words, and whether a value reaches it.
    pub(crate) fn beside(&self, value: f64) -> String {
        let (must, aim, verdict) = (self.must_text(), self.aim_text(), self.verdict(value));
        if aim.is_empty() { format!("must {must}: {verdict}") } else { format!("must {must}, aim {aim}: {verdict}") }
    }
}

/// The bar of a figure, if it has one.
pub(crate) fn find(bench: &str, case: &str, metric: &str) -> Option<&'static Bar> {
    let bars = match bench {
        "store" => BARS,
        "retrieval" => RETRIEVAL,
        "versus" => VERSUS,
        _ => &[],
    };
    bars.iter().find(|bar| bar.case == case && bar.metric == metric)
}

/// The bar of a figure of a scenario of Table 3.
pub(crate) fn of_table3(scenario: &str, metric: &str) -> Option<&'static Bar> {
    // Frames of these are longer than 100 kB.
    let is_long = matches!(scenario, "AAPS-0110" | "AAPS-0120");
    TABLE3.iter().find(|bar| bar.metric == metric && !(is_long && metric == "memory of a client"))
}

#[cfg(test)]
pub(crate) fn cases() -> impl Iterator<Item = &'static str> {
    BARS.iter().map(|bar| bar.case)
}

const fn more(case: &'static str, metric: &'static str, must: f64, aim: f64) -> Bar {
    Bar { case, metric, better: Better::More, must, aim }
}

const fn less(case: &'static str, metric: &'static str, must: f64, aim: f64) -> Bar {
    Bar { case, metric, better: Better::Less, must, aim }
}

/// M samples/s are per processor second, bytes per sample are with everything that lies in a segment. A thousand bins of any range
/// are to take 10 ms, 1 as an aim, and 20 where the files are cold.
const BARS: &[Bar] = &[
    more("ingest-2k-1", "ingest per CPU-second", 8.0, 15.0),
    more("ingest-2k-10", "ingest per CPU-second", 8.0, 15.0),
    more("ingest-150k-1", "ingest per CPU-second", 5.0, 12.0),
    more("ingest-150k-10", "ingest per CPU-second", 5.0, 12.0),
    more("all-in-2k", "ingest and merge per CPU-second", 5.0, 9.0),
    more("all-in-150k", "ingest and merge per CPU-second", 5.0, 9.0),
    more("all-in-150k-early", "ingest and merge per CPU-second", 5.0, 9.0),
    less("size-adc", "bytes per sample", 3.4, 3.0),
    less("size-adc-evr", "bytes per sample", 1.1, 1.1),
    less("size-decimal", "bytes per sample", 3.2, 3.0),
    less("size-setpoint", "bytes per sample", 2.5, 2.3),
    less("size-sine", "bytes per sample", 9.0, 8.5),
    less("size-constant", "bytes per sample", 2.5, 2.3),
    less("size-counter", "bytes per sample", 3.2, 3.0),
    less("size-position", "bytes per sample", 4.2, 4.0),
    less("size-state", "bytes per sample", 2.5, 2.3),
    less("size-vacuum", "bytes per sample", 4.9, 4.7),
    less("size-text", "bytes per sample", 2.6, 2.4),
    less("size-adc", "index beside blocks", 0.1, 0.1),
    less("scan-mix", "index beside blocks", 0.1, 0.1),
    more("scan-mix", "scan per CPU-second", 200.0, 400.0),
    less("when-search", "days decide, warm p50", 2.0, 2.0),
    less("when-search", "peaks are read, warm p50", 2.0, 2.0),
    less("when-search", "all is read, warm p50", 2.0, 2.0),
    less("query", "14400 samples, warm p50", 0.3, 0.1),
    less("query", "360000 samples, warm p50", 4.0, 1.5),
    less("query", "360000 samples, cold p50", 15.0, 8.0),
    less("query", "360000 samples, cold reads", 3.0, 3.0),
    less("year-bins", "aligned, warm p50", 1.0, 0.4),
    less("year-bins", "aligned, cold p50", 20.0, 7.0),
    less("year-bins", "round, warm p50", 1.0, 0.4),
    less("year-bins", "round, cold p50", 20.0, 7.0),
    less("year-bins", "arbitrary, warm p50", 10.0, 1.0),
    less("year-bins", "arbitrary, cold p50", 20.0, 20.0),
    less("ten-years-bins", "aligned, warm p50", 10.0, 10.0),
    less("ten-years-bins", "round, warm p50", 10.0, 10.0),
    less("ten-years-bins", "arbitrary, warm p50", 10.0, 1.0),
    less("ten-years-bins", "arbitrary, cold p50", 20.0, 20.0),
    less("live-150k", "peak memory", 1200.0, 600.0),
    less("million-open", "peak memory", 2000.0, 2000.0),
    less("million-open", "open to first answer", 5.0, 5.0),
    more("frames-f64-1k", "ratio", 80.0, 80.0),
    more("frames-f64-10k", "ratio", 80.0, 80.0),
    more("frames-i32-100k", "ratio", 80.0, 80.0),
    more("frames-f64-1k", "flush", 5.0, 9.0),
    more("frames-f64-10k", "flush", 5.0, 9.0),
    more("frames-i32-100k", "flush", 5.0, 15.0),
    less("half-read", "bytes per sample", 1.7, 1.7),
    more("half-read", "100000 older, by the wall", 100.0, 100.0),
    more("half-write", "batches of 60 s, safe, by the wall", 10.0, 10.0),
];

/// Of one client, whose reading takes its share of the same processors.
const RETRIEVAL: &[Bar] = &[
    more("csv-360k x1", "rate", 300.0, 500.0),
    more("csv-7d x1", "rate", 300.0, 500.0),
    more("raw-360k x1", "samples", 20.0, 20.0),
    more("raw-7d x1", "samples", 20.0, 20.0),
    more("arrow-360k x1", "samples", 50.0, 100.0),
    more("arrow-7d x1", "samples", 50.0, 100.0),
    less("mean_600-7d x1", "answer, 99 % within", 5.0, 5.0),
    less("optimized_1000-year x1", "answer, 99 % within", 10.0, 10.0),
    less("memory-csv", "of a client that does not read", 256.0, 256.0),
    less("memory-raw", "of a client that does not read", 256.0, 256.0),
    less("memory-json", "of a client that does not read", 256.0, 256.0),
    less("memory-arrow", "of a client that does not read", 256.0, 256.0),
    less("crowd x1000", "first byte, 99 % within", 250.0, 250.0),
    less("crowd x1000", "samples lost meanwhile", 0.0, 0.0),
    less("hostile x10000", "samples lost meanwhile", 0.0, 0.0),
    less("hostile x10000", "memory of a hostile client", 256.0, 64.0),
];

/// Bars that each scenario of Table 3 has.
const TABLE3: &[Bar] = &[
    more("AAPS", "one client", 450.0, 700.0),
    more("AAPS", "100 : 10 clients", 0.9, 1.0),
    less("AAPS", "processor", 3.0, 2.0),
    less("AAPS", "memory of a client", 4.0, 1.5),
];

/// Ratios to the program that did not write lines into a room on the stack (commit 3591dc9).
const VERSUS: &[Bar] = &[
    less("raw-360k x1", "answer, new : old", 0.9, 0.8),
    less("raw-360k x1", "processor, new : old", 0.9, 0.8),
    less("csv-360k x1", "answer, new : old", 0.72, 0.59),
    less("csv-360k x1", "processor, new : old", 0.72, 0.59),
    less("json-360k x1", "answer, new : old", 0.65, 0.52),
    less("json-360k x1", "processor, new : old", 0.65, 0.52),
    less("csv-7d x1", "answer, new : old", 0.72, 0.59),
    less("csv-7d x1", "processor, new : old", 0.72, 0.59),
    less("csv-360k x10", "answer, new : old", 0.8, 0.8),
    less("csv-360k x10", "processor, new : old", 0.8, 0.8),
    less("place-mean_600-7d x1", "answer, new : old", 0.0111, 0.0111),
    less("place-mean_600-7d x1", "first answer, new : old", 1.0, 1.0),
    less("place-raw-360k x1", "answer, new : old", 0.57, 0.57),
    less("place-csv-360k x1", "answer, new : old", 0.74, 0.74),
    less("place-json-360k x1", "answer, new : old", 0.59, 0.59),
];
