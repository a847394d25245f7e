//! Samples as the Archiver Appliance's JSON and CSV, a line each.

use std::io::Write;

use axum::body::Bytes;
use sample::{Batch, Column, Shape, Timestamp};
use serde_json::Value;

use super::{
    bars::{Bars, connection_change},
    svg::escaped,
    value::{Dialect, put, put_json},
};
use crate::{
    answer::Chunks,
    appliance::{details::instant, reconnects::Reconnects, source::DAMAGED, spans::InSpans, status::date},
};

/// Room for a line of the first piece; later ones have what those before them took.
const LINE_BYTES: usize = 64;

/// So much room is taken for each line of a piece.
struct LineRoom(usize);

impl Default for LineRoom {
    fn default() -> LineRoom {
        LineRoom(LINE_BYTES)
    }
}

impl LineRoom {
    fn take(&self, out: &mut Vec<u8>, lines: usize) {
        out.reserve_exact(self.0 * lines);
    }

    /// So many bytes were written into it.
    fn note(&mut self, bytes: usize, lines: usize) {
        self.0 = bytes / lines.max(1) + 2;
    }
}

/// What the lines of JSON say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `getData.json`: all of a sample.
    Full,
    /// `getData.qw`: milliseconds and the value.
    Quick,
    /// `getData.jplot`: pairs of time and value.
    Plot,
}

/// What stands before the samples.
struct Head {
    text: Vec<u8>,
    /// Whether the PV has arrays, where the head is to say whether these samples are some.
    waveform: Option<bool>,
    end: &'static [u8],
}

impl Head {
    fn put(self, out: &mut Vec<u8>, waveform: Option<bool>) {
        out.extend_from_slice(&self.text);
        if let Some(usual) = self.waveform {
            put_text(out, format_args!(" , \"waveform\": {}", waveform.unwrap_or(usual)));
        }
        out.extend_from_slice(self.end);
    }
}

/// `{"meta":…,"data":[…]}`, one sample a line: what stands in the list of an answer for one PV.
pub(crate) struct LinesJson {
    form: Form,
    head: Option<Head>,
    samples: InSpans,
    reconnects: Reconnects,
    has_bars: bool,
    room: LineRoom,
    first: bool,
    /// A damaged block, of which the next sample is to tell.
    damage: Option<query::Error>,
    ended: bool,
}

impl LinesJson {
    /// Pairs of time and value under the name of the PV.
    pub(crate) fn plot(name: &str, samples: InSpans, has_bars: bool) -> LinesJson {
        let mut head = b"{ \"label\": ".to_vec();
        put_json(&mut head, &name);
        let reconnects = Reconnects::default();
        let head = Head { text: head, waveform: None, end: b", \"data\": [ \n" };
        LinesJson::headed(Form::Plot, head, samples, reconnects, has_bars)
    }

    /// `meta` are the members of the meta object, in order; `waveform` is whether the PV has arrays, if that is to be among them.
    pub(crate) fn new(
        form: Form,
        meta: &[(String, Value)],
        waveform: Option<bool>,
        samples: InSpans,
        reconnects: Reconnects,
        has_bars: bool,
    ) -> LinesJson {
        let mut head = b"{ \"meta\": { ".to_vec();
        for (index, (name, value)) in meta.iter().enumerate() {
            head.extend_from_slice(if index == 0 { b"" } else { b" , " });
            put_json(&mut head, name);
            head.extend_from_slice(b": ");
            put_json(&mut head, value);
        }
        let head = Head { text: head, waveform, end: b" },\n\"data\": [ \n" };
        LinesJson::headed(form, head, samples, reconnects, has_bars)
    }

    fn headed(form: Form, head: Head, samples: InSpans, reconnects: Reconnects, has_bars: bool) -> LinesJson {
        let (head, room) = (Some(head), LineRoom::default());
        LinesJson { form, head, samples, reconnects, has_bars, room, first: true, damage: None, ended: false }
    }

    fn put_batch(&mut self, out: &mut Vec<u8>, batch: Batch) {
        let (before, lines) = (out.len(), batch.len());
        self.room.take(out, lines);
        self.put_lines(out, batch);
        self.room.note(out.len() - before, lines);
    }

    fn put_lines(&mut self, out: &mut Vec<u8>, batch: Batch) {
        let (batch, bars) = Bars::split(batch, self.has_bars);
        let mut begun = InSecond::default();
        for (rows, alarm) in batch.alarms().iter() {
            let state = Short::of(&format!(", \"severity\":{}, \"status\":{}", alarm.severity as u8, alarm.status));
            for row in rows {
                if !std::mem::replace(&mut self.first, false) {
                    out.extend_from_slice(b",\n");
                }
                let time = batch.times()[row];
                match self.form {
                    Form::Full => {
                        let nanos = begun.put(out, time, |seconds| format!("{{ \"secs\": {seconds}, \"val\": "));
                        put(out, batch.values(), row, Dialect::Appliance);
                        out.extend_from_slice(b", \"nanos\": ");
                        put_json(out, &nanos);
                        state.put(out);
                    }
                    Form::Quick => {
                        out.extend_from_slice(b"{ \"millis\": ");
                        put_json(out, &time.nanos().div_euclid(1_000_000));
                        out.extend_from_slice(b", \"val\": ");
                        put(out, batch.values(), row, Dialect::Viewer);
                    }
                    Form::Plot => {
                        put_text(out, format_args!("[\"{}\", ", instant(time)));
                        put(out, batch.values(), row, Dialect::Viewer);
                        out.push(b']');
                        continue;
                    }
                }
                let carried = self.reconnects.fields(time, &mut self.damage).fields;
                let damaged = self.damage.take().map(|_| DAMAGED.map(str::to_owned).into());
                let fields = carried.into_iter().chain(connection_change(alarm)).chain(bars.field(row));
                put_fields(out, fields.chain(damaged));
                out.extend_from_slice(b" }");
            }
        }
    }
}

/// A text that many lines have. Copies of a fixed length are the fastest there are.
#[derive(Clone, Copy, Default)]
struct Short {
    room: [u8; 32],
    len: usize,
}

impl Short {
    /// Of 32 bytes at most.
    fn of(text: &str) -> Short {
        let mut short = Short { len: text.len(), ..Short::default() };
        short.room[..text.len()].copy_from_slice(text.as_bytes());
        short
    }

    fn put(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.room);
        out.truncate(end);
    }
}

/// The text that all samples of a second begin with: made once for each second.
#[derive(Default)]
struct InSecond {
    second: Option<i64>,
    text: Short,
}

impl InSecond {
    /// Writes it. Gives the nanoseconds beyond the second.
    fn put(&mut self, out: &mut Vec<u8>, time: Timestamp, text: impl FnOnce(i64) -> String) -> u32 {
        let (seconds, nanos) = time.seconds_and_nanos();
        if self.second != Some(seconds) {
            (self.second, self.text) = (Some(seconds), Short::of(&text(seconds)));
        }
        self.text.put(out);
        nanos
    }
}

impl Chunks<query::Error> for LinesJson {
    fn is_at_hand(&self) -> bool {
        self.samples.is_at_hand()
    }
}

impl Iterator for LinesJson {
    type Item = Result<Bytes, query::Error>;

    fn next(&mut self) -> Option<Result<Bytes, query::Error>> {
        if self.ended {
            return None;
        }
        let mut out = Vec::new();
        let next = self.samples.next();
        let first = next.as_ref().and_then(|batch| batch.as_ref().ok());
        // Whether there are arrays is seen from the first sample: some operators make single numbers of them, or arrays of numbers.
        let waits = first.is_some_and(Batch::is_empty) && self.form == Form::Quick;
        if let Some(head) = self.head.take_if(|_| !waits) {
            let is_array = |batch: &Batch| batch.value_type().shape == Shape::Array && !self.has_bars;
            head.put(&mut out, first.map(is_array));
        }
        match next {
            Some(Ok(batch)) => self.put_batch(&mut out, batch),
            Some(Err(error)) if error.is_damage() && self.form == Form::Full => self.damage = Some(error),
            Some(Err(error)) => {
                self.ended = true;
                return Some(Err(error));
            }
            None => {
                self.ended = true;
                if let Some(error) = self.damage.take() {
                    return Some(Err(error));
                }
                out.extend_from_slice(b"\n] }\n");
            }
        }
        Some(Ok(out.into()))
    }
}

fn put_fields(out: &mut Vec<u8>, fields: impl Iterator<Item = (String, String)>) {
    let mut is_first = true;
    for (name, text) in fields {
        out.extend_from_slice(if std::mem::replace(&mut is_first, false) { b", \"fields\": {" } else { b"," });
        out.push(b' ');
        put_json(out, &name);
        out.extend_from_slice(b": ");
        put_json(out, &text);
    }
    if !is_first {
        out.extend_from_slice(b" }");
    }
}

/// What stands between the columns of lines without names, and how their time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// `getData.csv`: `secs,val,severity,status,nanos`.
    Commas,
    /// `getData.txt`: the same with tabs, and the time as a date.
    Tabs,
    /// `getData.flx`: XML with the whole second in milliseconds and the value.
    Elements,
}

/// A sample a line, without a line of names; texts as they are, arrays in brackets. An empty line ends those with commas.
pub(crate) struct LinesPlain {
    columns: Columns,
    samples: InSpans,
    head: String,
    tail: &'static str,
    has_bars: bool,
    room: LineRoom,
    ended: bool,
}

impl LinesPlain {
    /// `head` stands above the samples.
    pub(crate) fn new(columns: Columns, head: String, samples: InSpans, has_bars: bool) -> LinesPlain {
        let (head, tail) = match columns {
            Columns::Elements => ("<data>\n".to_owned(), "</data>\n"),
            Columns::Commas => (head, "\n"),
            Columns::Tabs => (head, ""),
        };
        LinesPlain { columns, samples, head, tail, has_bars, room: LineRoom::default(), ended: false }
    }
}

impl Chunks<query::Error> for LinesPlain {
    fn is_at_hand(&self) -> bool {
        self.samples.is_at_hand()
    }
}

impl Iterator for LinesPlain {
    type Item = Result<Bytes, query::Error>;

    fn next(&mut self) -> Option<Result<Bytes, query::Error>> {
        if self.ended {
            return None;
        }
        let mut out = std::mem::take(&mut self.head).into_bytes();
        match self.samples.next() {
            Some(Ok(batch)) => {
                let (before, lines) = (out.len(), batch.len());
                self.room.take(&mut out, lines);
                put_plain(&mut out, &Bars::split(batch, self.has_bars).0, self.columns);
                self.room.note(out.len() - before, lines);
                Some(Ok(out.into()))
            }
            Some(Err(error)) => {
                self.ended = true;
                Some(Err(error))
            }
            None => {
                self.ended = true;
                out.extend_from_slice(self.tail.as_bytes());
                Some(Ok(out.into()))
            }
        }
    }
}

fn put_plain(out: &mut Vec<u8>, batch: &Batch, columns: Columns) {
    let mut begun = InSecond::default();
    for (rows, alarm) in batch.alarms().iter() {
        let between = if columns == Columns::Commas { "," } else { "\t" };
        let state = Short::of(&format!("{between}{}{between}{}{between}", alarm.severity as u8, alarm.status));
        for row in rows {
            let time = batch.times()[row];
            let nanos = match columns {
                Columns::Commas => begun.put(out, time, |seconds| format!("{seconds},")),
                Columns::Tabs => begun.put(out, time, |_| format!("{}\t", date(Some(time)))),
                Columns::Elements => {
                    put_element(out, time, batch.values(), row);
                    continue;
                }
            };
            put_bare(out, batch.values(), row);
            state.put(out);
            put_json(out, &nanos);
            out.push(b'\n');
        }
    }
}

fn put_element(out: &mut Vec<u8>, time: Timestamp, values: &Column, row: usize) {
    let mut value = Vec::new();
    put_bare(&mut value, values, row);
    let millis = time.seconds_and_nanos().0.saturating_mul(1000);
    let value = escaped(&String::from_utf8_lossy(&value));
    put_text(out, format_args!("<result><time>{millis}</time><value>{value}</value></result>"));
}

/// Texts without quotes, in arrays too; everything else as in JSON.
fn put_bare(out: &mut Vec<u8>, column: &Column, row: usize) {
    match column {
        Column::String(texts) => out.extend_from_slice(texts.get(row).as_bytes()),
        Column::Array(arrays) if matches!(arrays.elements(), Column::String(_)) => {
            super::value::put_list(out, arrays.range(row), |out, index| put_bare(out, arrays.elements(), index));
        }
        other => put(out, other, row, Dialect::Appliance),
    }
}

fn put_text(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes every byte");
}
