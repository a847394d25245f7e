//! The maker of rows: reads a file on and says what stretches of it amount to.
//!
//! Rows do not depend on how far a file was read at a time: whoever goes on begins with the first line of the last row again.

use std::{io, ops::Range};

use sample::{Summary, Timestamp};

use crate::{
    digest::{Carries, Row},
    digest_format::{ROW_BYTES_MAX, ROW_SAMPLES_MAX, ROW_SAMPLES_MIN},
    file::PbFile,
    rows::Rows,
    scan::{Found, Scan},
};

/// A step ends with the first row that ends behind so many samples or bytes. What it has read of the next row is read again.
const STEP_SAMPLES: usize = 16_384;
const STEP_BYTES: usize = 1 << 20;
/// What is left of a minute behind a full row is a row if it has so many samples.
const REST_SAMPLES_MIN: usize = 16;

/// What a step gave.
pub(crate) enum Step {
    /// Rows, and there is more.
    Some(Vec<Row>),
    /// The last rows, and how much of the file was read.
    Last(Vec<Row>, u64),
    /// Samples stand in no order, or a row would be too long.
    Broken,
}

/// How far a file has been read.
#[derive(Debug)]
pub(crate) struct Maker {
    at: u64,
    /// The last sample, and whether its row was full.
    before: Option<(Timestamp, bool)>,
}

/// The row that is being made, and those before it in a step.
struct Rowing {
    rows: Vec<(Range<usize>, Row)>,
    start: usize,
    at: u64,
    bad: u32,
    carries: Carries,
    is_behind_full: bool,
}

impl Maker {
    /// From a place on, with the row before it.
    pub(crate) fn new(at: u64, before: Option<&Row>) -> Maker {
        Maker { at, before: before.map(|row| (row.summary.t1, is_full(row.summary.count as usize))) }
    }

    /// How far it has come.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Reads on for some milliseconds.
    pub(crate) fn step(&mut self, file: &PbFile) -> io::Result<Step> {
        let (mut scan, mut lines) = (Scan::from(self.at), Rows::new(&file.header));
        let (mut last, is_behind_full) = self.before.map_or((None, false), |(time, full)| (Some(time), full));
        let (start, at, bad) = (0, self.at, 0);
        let mut rowing = Rowing { rows: Vec::new(), start, at, bad, carries: Carries::Nothing, is_behind_full };
        let mut end = self.at;
        let is_last = loop {
            match scan.next(file.tape())? {
                Found::Line(begins, line) => {
                    end = begins + line.len() as u64 + 1;
                    let carried = lines.carrying();
                    if lines.take_line(line).is_none() {
                        rowing.bad += 1;
                        continue;
                    }
                    let index = lines.len() - 1;
                    let time = lines.times()[index];
                    if let Some(last) = last {
                        if time <= last {
                            return Ok(Step::Broken);
                        }
                        if index > rowing.start && rowing.ends(index - rowing.start, begins, last, time) {
                            rowing.end(index, begins);
                        }
                    }
                    last = Some(time);
                    if lines.carrying() > carried {
                        rowing.carries = Carries::Fields;
                    }
                }
                Found::Overlong => rowing.bad += 1,
                Found::Torn => break true,
                Found::End => break true,
            }
            let is_much = lines.len() >= STEP_SAMPLES || lines.byte_size() >= STEP_BYTES;
            if is_much && !rowing.rows.is_empty() {
                break false;
            }
        };
        if is_last && lines.len() > rowing.start {
            rowing.end(lines.len(), end);
        }
        let batch = lines.batch();
        let whole = |(samples, row): (Range<usize>, Row)| Some(Row { summary: Summary::of(&batch, samples)?, ..row });
        let rows: Vec<Row> = rowing.rows.into_iter().filter_map(whole).collect();
        if rows.iter().any(|row| row.len == u32::MAX) {
            return Ok(Step::Broken);
        }
        if let Some(row) = rows.last() {
            self.before = Some((row.summary.t1, is_full(row.summary.count as usize)));
            self.at = row.end();
        }
        Ok(if is_last { Step::Last(rows, end) } else { Step::Some(rows) })
    }
}

fn is_full(samples: usize) -> bool {
    samples >= ROW_SAMPLES_MAX
}

impl Rowing {
    /// Whether a row of so many samples ends before the line at `begins`, between the samples of these times.
    fn ends(&self, samples: usize, begins: u64, last: Timestamp, time: Timestamp) -> bool {
        if is_full(samples) || begins - self.at >= ROW_BYTES_MAX {
            return true;
        }
        let (last, next) = (last.seconds_and_nanos().0, time.seconds_and_nanos().0);
        let crosses = |seconds: i64| last.div_euclid(seconds) != next.div_euclid(seconds);
        let of_minute = if self.is_behind_full { REST_SAMPLES_MIN } else { ROW_SAMPLES_MIN };
        samples >= REST_SAMPLES_MIN
            && crosses(60)
            && (samples >= of_minute
                || samples >= ROW_SAMPLES_MIN / 2 && crosses(600)
                || samples >= ROW_SAMPLES_MIN / 4 && crosses(3600))
    }

    /// Ends the row before that sample, whose line begins there. What its samples amount to is told later.
    fn end(&mut self, sample: usize, begins: u64) {
        let nothing =
            Summary::without_values(sample::ValueType::scalar(sample::Element::F64), Timestamp::MIN, Timestamp::MIN, 0);
        let len = u32::try_from(begins - self.at).unwrap_or(u32::MAX);
        let row = Row { at: self.at, len, bad: self.bad, carries: self.carries, summary: nothing };
        self.rows.push((self.start..sample, row));
        self.is_behind_full = is_full(sample - self.start);
        (self.start, self.at, self.bad, self.carries) = (sample, begins, 0, Carries::Nothing);
    }
}
