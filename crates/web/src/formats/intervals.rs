//! Intervals in which a condition held, as they are found: JSON, CSV, Arrow, and lines that tell how far the search is.
//!
//! JSON and lines say at their end whether all of the range was looked at. CSV and Arrow have no place for that: they break off where it was
//! not, unless the client has said itself after how many intervals to end.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use analysis::{Found, Interval};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use axum::body::Bytes;
use sample::{TimeRange, Timestamp};
use serde_json::{Value, json};
use service::When;

use super::{arrow, ended::next_chunk, value::put_json};
use crate::refusal::{Code, Refusal};

/// A JSON value a line.
pub(crate) const LINES: &str = "application/x-ndjson";
/// So many intervals are put together before they are sent.
const AT_ONCE: usize = 1000;
/// So many intervals are given if nothing else is said.
const LIMIT: u64 = 10_000;
/// So often it is told how far the search is.
const TOLD_EACH: Duration = Duration::from_millis(200);

/// What was asked for.
pub(crate) struct Wanted {
    pub(crate) text: String,
    /// No more intervals than that, if the client says so.
    pub(crate) limit: Option<u64>,
}

/// A search, with what was given of it.
struct Finding {
    when: When,
    wanted: Wanted,
    given: u64,
    /// For how many nanoseconds it held in what was given.
    held: i64,
    /// Where what was given ends, if there is more than the limit.
    cut: Option<Timestamp>,
    last: Timestamp,
}

/// Some of what was found.
struct Piece {
    intervals: Vec<Interval>,
    is_last: bool,
}

impl Finding {
    fn new(when: When, wanted: Wanted) -> Finding {
        let last = when.range().t0;
        Finding { when, wanted, given: 0, held: 0, cut: None, last }
    }

    /// The next intervals, as many as are put together, or fewer if that takes long.
    fn piece(&mut self, patience: Option<Duration>) -> Result<Piece, Refusal> {
        let (begun, mut intervals) = (Instant::now(), Vec::new());
        while intervals.len() < AT_ONCE {
            match self.when.next().transpose()? {
                None => return Ok(Piece { intervals, is_last: true }),
                Some(Found::Interval(_)) if self.given == self.wanted.limit.unwrap_or(LIMIT) => {
                    self.cut = Some(self.last);
                    return Ok(Piece { intervals, is_last: true });
                }
                Some(Found::Interval(interval)) => {
                    self.given += 1;
                    self.held += interval.to.nanos() - interval.from.nanos();
                    self.last = interval.to;
                    intervals.push(interval);
                }
                Some(Found::Progress) if patience.is_some_and(|patience| begun.elapsed() >= patience) => break,
                Some(Found::Progress) => {}
            }
        }
        Ok(Piece { intervals, is_last: false })
    }

    /// Up to when everything was found, if it is not the end of the range.
    fn until(&self) -> Option<Timestamp> {
        self.cut.or_else(|| (!self.when.is_whole()).then_some(self.when.tally().until))
    }

    fn refuse_a_part(&self) -> Result<(), Refusal> {
        let is_as_asked = self.cut.is_some() && self.wanted.limit.is_some();
        let Some(until) = self.until().filter(|_| !is_as_asked) else { return Ok(()) };
        let message = format!("the search was ended at {until}, and this format has no place to tell that");
        Err(Refusal::new(Code::TooLarge, message).hint("go on from there, raise limit=, or take json or lines"))
    }

    fn tally(&self) -> Value {
        let tally = self.when.tally();
        json!({
            "intervals": self.given,
            "held": seconds(self.held),
            "unknown": seconds(tally.unknown),
            "by_summaries": seconds(tally.by_summaries),
            "read": tally.read,
            "until": self.until().unwrap_or(self.when.range().t1).to_string(),
            "whole": self.until().is_none(),
            "damage": tally.damage,
        })
    }

    fn head(&self) -> Value {
        let TimeRange { t0, t1 } = self.when.range();
        json!({ "expression": self.wanted.text, "from": t0.to_string(), "to": t1.to_string() })
    }
}

fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

fn as_json(interval: &Interval) -> Value {
    json!({
        "from": interval.from.to_string(),
        "to": interval.to.to_string(),
        "seconds": length(interval),
        "begins": interval.begins.name(),
        "ends": interval.ends.name(),
    })
}

fn length(interval: &Interval) -> f64 {
    seconds(interval.to.nanos().saturating_sub(interval.from.nanos()))
}

/// `{"expression", "from", "to", "found": [{"from", "to", "seconds", "begins", "ends"}], "tally": {…}}`
pub(crate) struct IntervalsJson {
    finding: Finding,
    begun: bool,
    count: usize,
    ended: bool,
}

impl IntervalsJson {
    pub(crate) fn new(when: When, wanted: Wanted) -> IntervalsJson {
        IntervalsJson { finding: Finding::new(when, wanted), begun: false, count: 0, ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            put_json(&mut out, &self.finding.head());
            out.pop();
            out.extend_from_slice(b",\"found\":[");
        }
        let piece = self.finding.piece(None)?;
        for interval in &piece.intervals {
            out.extend_from_slice(if self.count == 0 { b"\n" } else { b",\n" });
            self.count += 1;
            put_json(&mut out, &as_json(interval));
        }
        if piece.is_last {
            self.ended = true;
            out.extend_from_slice(b"],\n\"tally\":");
            put_json(&mut out, &self.finding.tally());
            out.extend_from_slice(b"}\n");
        }
        Ok(out.into())
    }
}

impl Iterator for IntervalsJson {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// A line for the question, for each interval, for how far it is now and then, and for what it came to.
pub(crate) struct IntervalsLines {
    finding: Finding,
    begun: bool,
    ended: bool,
}

impl IntervalsLines {
    pub(crate) fn new(when: When, wanted: Wanted) -> IntervalsLines {
        IntervalsLines { finding: Finding::new(when, wanted), begun: false, ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let mut out = Vec::new();
        let mut put = |value: &Value| {
            put_json(&mut out, value);
            out.push(b'\n');
        };
        if !std::mem::replace(&mut self.begun, true) {
            put(&json!({ "search": self.finding.head() }));
        }
        let piece = self.finding.piece(Some(TOLD_EACH))?;
        piece.intervals.iter().for_each(|interval| put(&json!({ "found": as_json(interval) })));
        if piece.is_last {
            self.ended = true;
            put(&json!({ "tally": self.finding.tally() }));
        } else {
            put(&json!({ "progress": self.progress() }));
        }
        Ok(out.into())
    }

    fn progress(&self) -> Value {
        let (tally, TimeRange { t0, t1 }) = (self.finding.when.tally(), self.finding.when.range());
        let done = (tally.until.nanos() - t0.nanos()) as f64 / (t1.nanos() - t0.nanos()).max(1) as f64;
        json!({ "until": tally.until.to_string(), "done": done, "intervals": tally.intervals, "read": tally.read })
    }
}

impl Iterator for IntervalsLines {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// A line each.
pub(crate) struct IntervalsCsv {
    finding: Finding,
    begun: bool,
    ended: bool,
}

impl IntervalsCsv {
    pub(crate) fn new(when: When, wanted: Wanted) -> IntervalsCsv {
        IntervalsCsv { finding: Finding::new(when, wanted), begun: false, ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let mut out = String::new();
        if !std::mem::replace(&mut self.begun, true) {
            out.push_str("from,to,seconds,begins,ends\n");
        }
        let piece = self.finding.piece(None)?;
        for interval in &piece.intervals {
            let Interval { from, to, begins, ends } = interval;
            out.push_str(&format!("{from},{to},{},{},{}\n", length(interval), begins.name(), ends.name()));
        }
        if piece.is_last {
            self.finding.refuse_a_part()?;
            self.ended = true;
        }
        Ok(out.into())
    }
}

impl Iterator for IntervalsCsv {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// Columns as in CSV.
pub(crate) struct IntervalsArrow {
    finding: Finding,
    schema: Arc<Schema>,
    writer: StreamWriter<Vec<u8>>,
    ended: bool,
}

impl IntervalsArrow {
    pub(crate) fn new(when: When, wanted: Wanted) -> Result<IntervalsArrow, Refusal> {
        let time = || DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let field = |name: &str, of: DataType| Field::new(name, of, false);
        let fields = vec![
            field("from", time()),
            field("to", time()),
            field("seconds", DataType::Float64),
            field("begins", DataType::Utf8),
            field("ends", DataType::Utf8),
        ];
        let TimeRange { t0, t1 } = when.range();
        let facts = [("expression", wanted.text.clone()), ("from", t0.to_string()), ("to", t1.to_string())];
        let facts: HashMap<String, String> = facts.map(|(name, fact)| (name.to_owned(), fact)).into();
        let schema = Arc::new(Schema::new(fields).with_metadata(facts));
        let writer = StreamWriter::try_new(Vec::new(), &schema).map_err(arrow::Error::from)?;
        Ok(IntervalsArrow { finding: Finding::new(when, wanted), schema, writer, ended: false })
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let piece = self.finding.piece(None)?;
        let intervals = &piece.intervals;
        let words = |word: fn(&Interval) -> &'static str| -> ArrayRef {
            Arc::new(intervals.iter().map(|interval| Some(word(interval))).collect::<StringArray>())
        };
        let columns: Vec<ArrayRef> = vec![
            arrow::times(intervals.iter().map(|interval| interval.from).collect()),
            arrow::times(intervals.iter().map(|interval| interval.to).collect()),
            Arc::new(intervals.iter().map(|interval| Some(length(interval))).collect::<Float64Array>()),
            words(|interval| interval.begins.name()),
            words(|interval| interval.ends.name()),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(arrow::Error::from)?;
        self.writer.write(&batch).map_err(arrow::Error::from)?;
        if piece.is_last {
            self.finding.refuse_a_part()?;
            self.ended = true;
            self.writer.finish().map_err(arrow::Error::from)?;
        }
        Ok(std::mem::take(self.writer.get_mut()).into())
    }
}

impl Iterator for IntervalsArrow {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}
