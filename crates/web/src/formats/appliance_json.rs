//! Samples as the Archiver Appliance's JSON, a line each.

use sample::{Alarm, Batch, Shape, Timestamp};
use serde_json::Value;

use super::{
    bars::{Bars, connection_change},
    line_buffer::{LineBuffer, Numbers, Others, ShortText, Values, of_numbers},
    seconds::{Day, SecondText, put_clock},
    sizes::LineBytes,
    value::{Dialect, put, put_json},
};
use crate::{
    delivery::{
        chunk::{Chunk, Rows},
        pieces::{Piece, Pieces},
    },
    formats::{
        reconnects::Reconnects,
        span_samples::{DAMAGED, InSpans},
    },
};

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
            out.extend_from_slice(format!(" , \"waveform\": {}", waveform.unwrap_or(usual)).as_bytes());
        }
        out.extend_from_slice(self.end);
    }
}

/// `{"meta":…,"data":[…]}`, one sample a line: what stands in the list of an answer for one PV.
pub(crate) struct LinesJson {
    form: Form,
    head: Option<Head>,
    samples: Pieces<InSpans>,
    reconnects: Reconnects,
    has_bars: bool,
    line_bytes: LineBytes,
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
        let (head, samples, line_bytes) = (Some(head), Pieces::of(samples), LineBytes::default());
        LinesJson { form, head, samples, reconnects, has_bars, line_bytes, first: true, damage: None, ended: false }
    }

    /// The lines of a piece behind what is there already.
    fn put_piece(&mut self, out: &mut Vec<u8>, piece: Piece) {
        let (before, lines) = (out.len(), piece.len());
        self.line_bytes.make_room(out, lines);
        if self.has_bars {
            let (batch, bars) = Bars::split(piece.into_batch(), true);
            self.put_each(out, &batch.into(), &bars);
        } else if self.is_plain(&piece) {
            let is_first = self.first;
            self.first &= piece.is_empty();
            put_plain(out, &piece, self.form, is_first);
        } else {
            self.put_each(out, &piece, &Bars::default());
        }
        self.line_bytes.note(lines, out.len() - before);
    }

    /// Whether none of these samples carries anything besides.
    fn is_plain(&mut self, piece: &Piece) -> bool {
        self.form == Form::Plot
            || self.plain_rows(piece.times()) == piece.len()
                && piece.alarms().all(|(_, alarm)| connection_change(alarm).is_none())
    }

    /// How many of these samples carry nothing that is not their own.
    fn plain_rows(&mut self, times: &[Timestamp]) -> usize {
        if self.damage.is_some() {
            return 0;
        }
        let until = self.reconnects.silent_until();
        times.partition_point(|time| *time < until)
    }

    /// Lines some of which carry something. Those that do not are written together.
    fn put_each(&mut self, out: &mut Vec<u8>, piece: &Piece, bars: &Bars) {
        for (rows, alarm) in piece.alarms() {
            let has_more = connection_change(alarm).is_some() || !bars.is_empty();
            let mut next = rows.start;
            while next < rows.end {
                let all = &piece.batch().times()[next..rows.end];
                let plain = if has_more && self.form != Form::Plot { 0 } else { self.plain_rows(all) };
                let count = if self.form == Form::Plot { all.len() } else { plain.max(1) };
                let is_first = std::mem::replace(&mut self.first, false);
                put_plain(out, &piece.part(next..next + count), self.form, is_first);
                if plain == 0 && self.form != Form::Plot {
                    self.put_carried(out, piece.batch().times()[next], alarm, bars.field(next));
                }
                next += count;
            }
        }
    }

    /// What the last line carries.
    fn put_carried(&mut self, out: &mut Vec<u8>, time: Timestamp, alarm: &Alarm, bar: Option<(String, String)>) {
        let carried = self.reconnects.fields(time, &mut self.damage).fields;
        let damaged = self.damage.take().map(|_| DAMAGED.map(str::to_owned).into());
        let fields = carried.into_iter().chain(connection_change(alarm)).chain(bar).chain(damaged);
        out.truncate(out.len() - LINE_END.len());
        put_fields(out, fields);
        out.extend_from_slice(LINE_END);
    }
}

/// What stands at the end of a line that is an object.
const LINE_END: &[u8; 2] = b" }";
/// What stands between lines.
const BETWEEN: &[u8; 2] = b",\n";

/// Lines with nothing but what is the sample's own.
pub(super) fn put_plain(out: &mut Vec<u8>, piece: &Piece, form: Form, is_first: bool) {
    let start = out.len();
    of_numbers!(piece.values(), values => {
        let dialect = if form == Form::Full { Dialect::Appliance } else { Dialect::Viewer };
        put_form(out, piece, form, &Numbers(values, dialect));
    }, else {
        let dialect = if form == Form::Full { Dialect::Appliance } else { Dialect::Viewer };
        put_form(out, piece, form, &Others(|out: &mut Vec<u8>, row| put(out, piece.values(), row, dialect)));
    });
    if is_first && !piece.is_empty() {
        out.drain(start..start + BETWEEN.len());
    }
}

#[inline(always)]
fn put_form(out: &mut Vec<u8>, piece: &Piece, form: Form, values: &impl Values) {
    match form {
        Form::Full => put_full(out, piece, values),
        Form::Quick => put_quick(out, piece, values),
        Form::Plot => put_pairs(out, piece, values),
    }
}

/// Each line with what stands between it and the one before.
fn put_full(out: &mut Vec<u8>, piece: &Piece, values: &impl Values) {
    let (mut room, mut begun, times) = (LineBuffer::new(), SecondText::default(), piece.batch().times());
    let mut line = room.lines();
    for (rows, alarm) in piece.alarms() {
        let state = ShortText::of(|line| {
            line.text(b", \"severity\":");
            line.unsigned(alarm.severity as u64);
            line.text(b", \"status\":");
            line.unsigned(alarm.status.into());
        });
        for row in rows {
            line.pass_on(out);
            let nanos = begun.nanos(times[row], |line, seconds| {
                line.text(b",\n{ \"secs\": ");
                line.signed(seconds);
                line.text(b", \"val\": ");
            });
            line.short(begun.text());
            values.put(&mut line, out, row);
            line.text(b", \"nanos\": ");
            line.unsigned(nanos.into());
            line.short(&state);
            line.text(LINE_END);
        }
    }
    line.flush(out);
}

fn put_quick(out: &mut Vec<u8>, piece: &Piece, values: &impl Values) {
    let (mut room, times) = (LineBuffer::new(), piece.batch().times());
    let mut line = room.lines();
    for row in piece.rows() {
        line.pass_on(out);
        line.text(b",\n{ \"millis\": ");
        line.signed(times[row].nanos().div_euclid(1_000_000));
        line.text(b", \"val\": ");
        values.put(&mut line, out, row);
        line.text(LINE_END);
    }
    line.flush(out);
}

/// Times to the millisecond.
fn put_pairs(out: &mut Vec<u8>, piece: &Piece, values: &impl Values) {
    let (mut room, mut begun, times) = (LineBuffer::new(), SecondText::default(), piece.batch().times());
    let (mut line, mut day) = (room.lines(), Day::iso());
    for row in piece.rows() {
        line.pass_on(out);
        let nanos = begun.nanos(times[row], |line, seconds| {
            line.text(b",\n[\"");
            day.put_date(line, seconds);
            put_clock(line, seconds);
            line.text(b".");
        });
        line.short(begun.text());
        line.three_digits(nanos / 1_000_000);
        line.text(b"Z\", ");
        values.put(&mut line, out, row);
        line.text(b"]");
    }
    line.flush(out);
}

impl Iterator for LinesJson {
    type Item = Result<Chunk, query::Error>;

    fn next(&mut self) -> Option<Result<Chunk, query::Error>> {
        if self.ended {
            return None;
        }
        let mut out = Vec::new();
        let next = self.samples.next();
        let first = next.as_ref().and_then(|piece| piece.as_ref().ok());
        // Whether there are arrays is seen from the first sample: some operators make single numbers of them, or arrays of numbers.
        let waits = first.is_some_and(Piece::is_empty) && self.form == Form::Quick;
        if let Some(head) = self.head.take_if(|_| !waits) {
            let is_array = |batch: &Batch| batch.value_type().shape == Shape::Array && !self.has_bars;
            head.put(&mut out, first.map(|piece| is_array(piece.batch())));
        }
        match next {
            Some(Ok(piece)) if out.is_empty() && !self.first && !self.has_bars && self.is_plain(&piece) => {
                let form = self.form;
                let put = move |out: &mut Vec<u8>, piece: &Piece| put_plain(out, piece, form, false);
                return Some(Ok(Rows::lines(piece, put).into()));
            }
            Some(Ok(piece)) => {
                let piece = self.samples.cut(piece);
                self.put_piece(&mut out, piece);
            }
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
