//! The values of many PVs at one time, found a few hundred at a time and written in four formats.

use std::{collections::HashMap, sync::Arc};

use archive::PvEntry;
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, StringArray, TimestampNanosecondArray, UInt8Array, UInt16Array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use axum::body::Bytes;
use query::{Series, in_shares};
use sample::{Batch, Element, Sample, Shape, Timestamp};
use service::{Ask, Meant};

use super::{
    arrow::Error,
    csv::{put_field, put_value},
    ended::next_chunk,
    missing,
    value::{Dialect, put, put_json},
};
use crate::{formats::appliance_values::dbr_type, refusal::Refusal};

/// How many PVs are looked up for the first chunk of the answer, and for each later one at most.
const PVS_AT_FIRST: usize = 256;
const PVS_A_CHUNK: usize = 2048;
/// A chunk ends earlier when its values take more than this.
const VALUES_BYTES: usize = 1 << 20;
/// What a name takes with whose it is.
pub(crate) const WANTED_BYTES: usize = 128;
/// And so many are worth a thread of their own.
const PVS_A_THREAD: usize = 512;

/// One name, and what it stands for.
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) meant: Meant,
}

/// What was found for one name: none if it had no value yet.
pub(crate) type Found = (String, Option<Sample>);

/// The values, and at the end the names that nobody knows, and those for which nobody answers.
pub(crate) struct Values {
    ask: Ask,
    time: Timestamp,
    left: std::vec::IntoIter<Wanted>,
    /// How many are looked up next.
    next: usize,
    unknown: Vec<String>,
    untold: Vec<(String, String)>,
}

impl Values {
    pub(crate) fn new(ask: Ask, time: Timestamp, wanted: Vec<Wanted>) -> Values {
        Values { ask, time, left: wanted.into_iter(), next: PVS_AT_FIRST, unknown: Vec::new(), untold: Vec::new() }
    }

    /// The next few, looked up by all processors; none when all names have been looked up.
    fn next(&mut self) -> Result<Option<Vec<Found>>, Refusal> {
        let mut known = Vec::new();
        for Wanted { name, meant } in self.left.by_ref().take(self.next) {
            match meant {
                Meant::Series(entry, series) => known.push((name, entry, series)),
                Meant::Untold(why) => self.untold.push((name, why)),
                Meant::Nothing => self.unknown.push(name),
            }
        }
        let mut found: Vec<Found> = Vec::with_capacity(known.len());
        for share in in_shares(&known, PVS_A_THREAD, |share| self.look_up(share)) {
            for (name, told) in share? {
                match told {
                    Ok(sample) => found.push((name, sample)),
                    Err(why) => self.untold.push((name, why)),
                }
            }
        }
        let bytes: usize = found.iter().flat_map(|(_, sample)| sample).map(|sample| sample.value.byte_size()).sum();
        self.next = match VALUES_BYTES * found.len() / bytes.max(1) {
            fitting if bytes > VALUES_BYTES => fitting.clamp(1, PVS_A_CHUNK),
            _ => PVS_A_CHUNK.min(2 * self.next),
        };
        let is_end = found.is_empty() && self.left.len() == 0;
        Ok((!is_end).then_some(found))
    }

    #[expect(clippy::type_complexity, reason = "a row is found, or the reason why it is not")]
    fn look_up(
        &self,
        share: &[(String, PvEntry, Series)],
    ) -> Result<Vec<(String, Result<Option<Sample>, String>)>, Refusal> {
        let look_up = |(name, entry, series): &(String, PvEntry, Series)| {
            let told = self.ask.told(entry, || self.ask.last_before(series, self.time))?;
            Ok((name.clone(), told))
        };
        share.iter().map(look_up).collect()
    }

    /// The members of the answer that say what is missing.
    fn lacking(&self) -> impl Iterator<Item = (String, serde_json::Value)> {
        missing::pvs(&self.untold).into_iter().chain(missing::parts(&self.ask.noted()))
    }
}

/// `{"time", "pvs": [{…}], "unknown": […]}`
pub(crate) struct AtJson {
    values: Values,
    rows: usize,
    begun: bool,
    ended: bool,
}

impl AtJson {
    pub(crate) fn new(values: Values) -> AtJson {
        AtJson { values, rows: 0, begun: false, ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            out.extend_from_slice(format!("{{\"time\":\"{}\",\"pvs\":[", self.values.time).as_bytes());
        }
        match self.values.next()? {
            Some(found) => {
                for (name, sample) in found {
                    out.extend_from_slice(if self.rows == 0 { b"\n" } else { b",\n" });
                    self.rows += 1;
                    put_row(&mut out, &name, sample.as_ref());
                }
            }
            None => {
                self.ended = true;
                out.extend_from_slice(b"],\n\"unknown\":");
                put_json(&mut out, &self.values.unknown);
                for (name, value) in self.values.lacking() {
                    out.extend_from_slice(format!(",\n\"{name}\":").as_bytes());
                    put_json(&mut out, &value);
                }
                out.extend_from_slice(b"}\n");
            }
        }
        Ok(out.into())
    }
}

fn put_row(out: &mut Vec<u8>, name: &str, sample: Option<&Sample>) {
    out.extend_from_slice(b"{\"pv\":");
    put_json(out, &name);
    let Some(sample) = sample else {
        out.extend_from_slice(b",\"time\":null}");
        return;
    };
    let (time, value_type) = (sample.time, sample.value.value_type());
    out.extend_from_slice(format!(",\"time\":\"{time}\",\"type\":\"{value_type}\",\"value\":").as_bytes());
    put(out, Batch::of(sample).values(), 0, Dialect::Exact);
    let (severity, status) = (sample.alarm.severity as u8, sample.alarm.status);
    out.extend_from_slice(format!(",\"severity\":{severity},\"status\":{status}}}").as_bytes());
}

impl Iterator for AtJson {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// `{"PV":{"secs",…},…}` as the Archiver Appliance has it: what is unknown or has no value is left out.
pub(crate) struct AtAppliance {
    values: Values,
    /// What is older is left out.
    since: Option<Timestamp>,
    rows: usize,
    begun: bool,
    ended: bool,
}

impl AtAppliance {
    pub(crate) fn new(values: Values, since: Option<Timestamp>) -> AtAppliance {
        AtAppliance { values, since, rows: 0, begun: false, ended: false }
    }

    fn chunk(&mut self) -> Result<Bytes, Refusal> {
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            out.push(b'{');
        }
        let Some(found) = self.values.next()? else {
            self.ended = true;
            out.extend_from_slice(b"}\n");
            return Ok(out.into());
        };
        let since = self.since.unwrap_or(Timestamp::MIN);
        let found = found.iter().filter_map(|(name, sample)| Some((name, sample.as_ref()?)));
        for (name, sample) in found.filter(|(_, sample)| sample.time >= since) {
            out.extend_from_slice(if self.rows == 0 { b"" } else { b",\n" });
            self.rows += 1;
            put_json(&mut out, name);
            let (seconds, nanos) = sample.time.seconds_and_nanos();
            out.extend_from_slice(format!(":{{\"secs\":{seconds},\"nanos\":{nanos},\"val\":").as_bytes());
            // Within arrays the Appliance writes null for what is no number, and bare words elsewhere.
            let is_array = sample.value.value_type().shape == Shape::Array;
            let dialect = if is_array { Dialect::Viewer } else { Dialect::Appliance };
            put(&mut out, Batch::of(sample).values(), 0, dialect);
            let (severity, status) = (sample.alarm.severity as u8, sample.alarm.status);
            let dbr_type = dbr_type(sample.value.value_type());
            let rest = format!(
                ",\"severity\":{severity},\"status\":{status},\"fields\":{{}},\"meta\":{{\"DBRType\":\"{dbr_type}\"}}}}"
            );
            out.extend_from_slice(rest.as_bytes());
        }
        Ok(out.into())
    }
}

impl Iterator for AtAppliance {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}

/// A line each; names that nobody knows are left out, and so are those without a value.
pub(crate) struct AtCsv {
    values: Values,
    begun: bool,
}

impl AtCsv {
    pub(crate) fn new(values: Values) -> AtCsv {
        AtCsv { values, begun: false }
    }
}

impl Iterator for AtCsv {
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            out.extend_from_slice(b"pv,time,value,severity,status\n");
        }
        match self.values.next() {
            Ok(Some(found)) => {
                for (name, sample) in found.iter().filter_map(|(name, sample)| Some((name, sample.as_ref()?))) {
                    put_field(&mut out, name);
                    out.extend_from_slice(format!(",{},", sample.time).as_bytes());
                    put_value(&mut out, Batch::of(sample).values(), 0);
                    let (severity, status) = (sample.alarm.severity as u8, sample.alarm.status);
                    out.extend_from_slice(format!(",{severity},{status}\n").as_bytes());
                }
                Some(Ok(out.into()))
            }
            Ok(None) => (!out.is_empty()).then(|| Ok(out.into())),
            Err(error) => Some(Err(error)),
        }
    }
}

/// One stream for values of all types: numbers stand in `number`, and what a double does not hold exactly stands in `text`.
pub(crate) struct AtArrow {
    values: Values,
    schema: Arc<Schema>,
    writer: StreamWriter<Vec<u8>>,
    ended: bool,
}

impl AtArrow {
    pub(crate) fn new(values: Values) -> Result<AtArrow, Error> {
        let schema = Schema::new(vec![
            Field::new("pv", DataType::Utf8, false),
            Field::new("time", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), true),
            Field::new("type", DataType::Utf8, true),
            Field::new("number", DataType::Float64, true),
            Field::new("text", DataType::Utf8, true),
            Field::new("severity", DataType::UInt8, true),
            Field::new("status", DataType::UInt16, true),
        ]);
        let facts = HashMap::from([("time".to_owned(), values.time.to_string())]);
        let schema = Arc::new(schema.with_metadata(facts));
        let writer = StreamWriter::try_new(Vec::new(), &schema)?;
        Ok(AtArrow { values, schema, writer, ended: false })
    }

    fn chunk(&mut self) -> Result<Bytes, Error> {
        match self.values.next().map_err(Error::Refused)? {
            Some(found) => self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns(&found))?)?,
            None => {
                self.ended = true;
                self.writer.finish()?;
                self.finish_with_unknown()?;
            }
        }
        Ok(std::mem::take(self.writer.get_mut()).into())
    }

    /// Names that nobody knows, and those for which nobody answers, stand in the schema of one more stream without rows.
    fn finish_with_unknown(&mut self) -> Result<(), Error> {
        let mut more: HashMap<String, String> =
            self.values.lacking().map(|(name, value)| (name, value.to_string())).collect();
        if !self.values.unknown.is_empty() {
            let unknown = serde_json::Value::from(std::mem::take(&mut self.values.unknown)).to_string();
            more.insert("unknown".to_owned(), unknown);
        }
        if more.is_empty() {
            return Ok(());
        }
        let mut facts = self.schema.metadata().clone();
        facts.extend(more);
        let schema = self.schema.as_ref().clone().with_metadata(facts);
        let mut more = StreamWriter::try_new(std::mem::take(self.writer.get_mut()), &schema)?;
        more.finish()?;
        *self.writer.get_mut() = more.into_inner()?;
        Ok(())
    }
}

fn columns(found: &[Found]) -> Vec<ArrayRef> {
    let samples = || found.iter().map(|(_, sample)| sample.as_ref());
    let times = samples().map(|sample| Some(sample?.time.nanos()));
    let texts = samples().map(|sample| exact_text(sample?));
    vec![
        Arc::new(StringArray::from_iter_values(found.iter().map(|(name, _)| name))),
        Arc::new(times.collect::<TimestampNanosecondArray>().with_timezone("UTC")),
        Arc::new(samples().map(|sample| Some(sample?.value.value_type().to_string())).collect::<StringArray>()),
        Arc::new(samples().map(|sample| sample?.value.as_f64()).collect::<Float64Array>()),
        Arc::new(texts.collect::<StringArray>()),
        Arc::new(samples().map(|sample| Some(sample?.alarm.severity as u8)).collect::<UInt8Array>()),
        Arc::new(samples().map(|sample| Some(sample?.alarm.status)).collect::<UInt16Array>()),
    ]
}

/// A text as it is; long integers, arrays and structures as JSON; none of all other numbers.
fn exact_text(sample: &Sample) -> Option<String> {
    let value_type = sample.value.value_type();
    let wide = matches!(value_type.element, Element::I64 | Element::U64 | Element::String | Element::Structure);
    if value_type.shape == Shape::Scalar && !wide {
        return None;
    }
    if let sample::Value::String(text) = &sample.value {
        return Some(text.to_string());
    }
    let mut out = Vec::new();
    put(&mut out, Batch::of(sample).values(), 0, Dialect::Appliance);
    Some(String::from_utf8_lossy(&out).into_owned())
}

impl Iterator for AtArrow {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Result<Bytes, Error>> {
        next_chunk(self, |answer| &mut answer.ended, Self::chunk)
    }
}
