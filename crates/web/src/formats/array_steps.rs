//! The steps of a formula over arrays as they are made: JSON, CSV, Arrow.
//!
//! JSON says at its end which arrays did not go together, and up to when there are steps. CSV and Arrow have no place for the latter: they
//! break off where there would be more, unless the client has said itself after how many steps to end.

use std::sync::Arc;

use analysis::{ArrayValue, Kind};
use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{Float64Builder, LargeListBuilder},
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use axum::body::Bytes;
use sample::Timestamp;
use serde_json::{Map, Value, json};
use service::ArraySteps;

use super::{
    arrow,
    ended::next_chunk,
    value::{Dialect, put_f64, put_json, put_known},
};
use crate::refusal::{Code, Refusal};

/// So many steps are given if nothing else is said.
const LIMIT: usize = 100_000;
/// Numbers, and steps, that are put together before they are sent.
const NUMBERS_AT_ONCE: usize = 1 << 15;
const STEPS_AT_ONCE: usize = 1024;

/// Steps, with what was given of them.
pub(crate) struct Giving {
    steps: ArraySteps,
    facts: Map<String, Value>,
    limit: Option<usize>,
    given: usize,
    unequal: u64,
    first_unequal: Option<(Timestamp, usize, usize)>,
    until: Option<Timestamp>,
    damage: Vec<String>,
    is_over: bool,
}

impl Giving {
    pub(crate) fn new(steps: ArraySteps, facts: Map<String, Value>, limit: Option<usize>) -> Giving {
        let (damage, until) = (Vec::new(), None);
        Giving { steps, facts, limit, given: 0, unequal: 0, first_unequal: None, until, damage, is_over: false }
    }

    /// The next steps; none are left where fewer come than are put together.
    fn some(&mut self) -> Result<Vec<(Timestamp, ArrayValue)>, Refusal> {
        let (mut some, mut numbers) = (Vec::new(), 0);
        while some.len() < STEPS_AT_ONCE && numbers < NUMBERS_AT_ONCE {
            let is_full = self.given >= self.limit.unwrap_or(LIMIT) || self.steps.is_full();
            let Some((time, value)) = self.steps.next_step()? else {
                self.is_over = true;
                break;
            };
            if is_full {
                (self.until, self.is_over) = (Some(time), true);
                break;
            }
            if let ArrayValue::Unequal(a, b) = value {
                self.unequal += 1;
                self.first_unequal.get_or_insert((time, a, b));
            }
            self.given += 1;
            numbers += if let ArrayValue::Array(array) = &value { array.len() } else { 1 };
            some.push((time, value));
        }
        self.damage.extend(self.steps.take_damage());
        Ok(some)
    }

    fn tail(&self) -> Map<String, Value> {
        let first = self.first_unequal.map(|(time, a, b)| json!({ "time": time.to_string(), "lengths": [a, b] }));
        let members = [
            ("unequal", json!({ "count": self.unequal, "first": first })),
            ("until", self.until.map(|until| until.to_string()).into()),
            ("damage", self.damage.clone().into()),
        ];
        members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
    }

    fn refuse_a_part(&self) -> Result<(), Refusal> {
        let is_as_asked = self.limit.is_some_and(|limit| self.given == limit);
        let Some(until) = self.until.filter(|_| !is_as_asked) else { return Ok(()) };
        let message = format!("there are more steps from {until} on, and this format has no place to tell that");
        Err(Refusal::new(Code::TooLarge, message).hint("go on from there, say limit=, or take json"))
    }
}

fn put_value(out: &mut Vec<u8>, value: &ArrayValue) {
    match value {
        ArrayValue::Unknown | ArrayValue::Unequal(..) => out.extend_from_slice(b"null"),
        ArrayValue::Number(number) => put_known(out, *number),
        ArrayValue::Array(array) => {
            out.push(b'[');
            for (index, number) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                put_known(out, *number);
            }
            out.push(b']');
        }
    }
}

/// `{…, "steps": [{"time", "value"}], "unequal": {…}, "until", "damage"}`
pub(crate) struct ArrayStepsJson {
    giving: Giving,
    begun: bool,
    count: usize,
    ended: bool,
}

impl ArrayStepsJson {
    pub(crate) fn new(giving: Giving) -> ArrayStepsJson {
        ArrayStepsJson { giving, begun: false, count: 0, ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let some = self.giving.some()?;
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            put_json(&mut out, &self.giving.facts);
            out.pop();
            out.extend_from_slice(b",\"steps\":[");
        }
        for (time, value) in &some {
            out.extend_from_slice(if self.count == 0 { b"\n{\"time\":\"" } else { b",\n{\"time\":\"" });
            self.count += 1;
            out.extend_from_slice(format!("{time}\",\"value\":").as_bytes());
            put_value(&mut out, value);
            out.push(b'}');
        }
        if self.giving.is_over {
            self.ended = true;
            out.extend_from_slice(b"],\n");
            let mut tail = Vec::new();
            put_json(&mut tail, &self.giving.tail());
            out.extend_from_slice(&tail[1..]);
            out.push(b'\n');
        }
        Ok(out.into())
    }
}

impl Iterator for ArrayStepsJson {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// A line for each step, its array in quotes as JSON.
pub(crate) struct ArrayStepsCsv {
    giving: Giving,
    begun: bool,
    ended: bool,
}

impl ArrayStepsCsv {
    pub(crate) fn new(giving: Giving) -> ArrayStepsCsv {
        ArrayStepsCsv { giving, begun: false, ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let some = self.giving.some()?;
        let mut out = if std::mem::replace(&mut self.begun, true) { Vec::new() } else { b"time,value\n".to_vec() };
        for (time, value) in &some {
            out.extend_from_slice(format!("{time},").as_bytes());
            match value {
                ArrayValue::Unknown | ArrayValue::Unequal(..) => {}
                ArrayValue::Number(number) => put_f64(&mut out, *number, Dialect::Appliance),
                ArrayValue::Array(_) => {
                    let mut text = Vec::new();
                    put_value(&mut text, value);
                    out.push(b'"');
                    // Infinities are texts, whose quotes are doubled.
                    for byte in text {
                        out.extend(std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }));
                    }
                    out.push(b'"');
                }
            }
            out.push(b'\n');
        }
        if self.giving.is_over {
            self.giving.refuse_a_part()?;
            self.ended = true;
        }
        Ok(out.into())
    }
}

impl Iterator for ArrayStepsCsv {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// Times, and lists of doubles, or doubles.
pub(crate) struct ArrayStepsArrow {
    giving: Giving,
    schema: Arc<Schema>,
    writer: StreamWriter<Vec<u8>>,
    ended: bool,
}

impl ArrayStepsArrow {
    pub(crate) fn new(giving: Giving) -> Result<ArrayStepsArrow, Refusal> {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let list = || DataType::LargeList(Arc::new(Field::new("item", DataType::Float64, true)));
        let value = if giving.steps.kind() == Kind::Array { list() } else { DataType::Float64 };
        let facts = arrow::texts(&giving.facts);
        let fields = vec![Field::new("time", time, false), Field::new("value", value, true)];
        let schema = Arc::new(Schema::new(fields).with_metadata(facts));
        let writer = StreamWriter::try_new(Vec::new(), &schema).map_err(arrow::Error::from)?;
        Ok(ArrayStepsArrow { giving, schema, writer, ended: false })
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let some = self.giving.some()?;
        let times = arrow::times(some.iter().map(|(time, _)| *time).collect());
        let values: ArrayRef = if self.giving.steps.kind() == Kind::Array {
            let mut lists = LargeListBuilder::new(Float64Builder::new());
            for (_, value) in &some {
                if let ArrayValue::Array(array) = value {
                    lists.values().append_slice(array);
                }
                lists.append(matches!(value, ArrayValue::Array(_)));
            }
            Arc::new(lists.finish())
        } else {
            let number = |value: &ArrayValue| if let ArrayValue::Number(number) = value { Some(*number) } else { None };
            Arc::new(some.iter().map(|(_, value)| number(value)).collect::<arrow_array::Float64Array>())
        };
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![times, values]).map_err(arrow::Error::from)?;
        self.writer.write(&batch).map_err(arrow::Error::from)?;
        if self.giving.is_over {
            self.giving.refuse_a_part()?;
            self.ended = true;
            self.writer.finish().map_err(arrow::Error::from)?;
        }
        Ok(std::mem::take(self.writer.get_mut()).into())
    }
}

impl Iterator for ArrayStepsArrow {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}
