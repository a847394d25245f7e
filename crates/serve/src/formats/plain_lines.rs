//! Samples as the Archiver Appliance's CSV, text and XML: a line each, without a line of names.

use std::io::Write;

use axum::body::Bytes;
use sample::{Column, Timestamp};

use super::{
    bars::Bars,
    pieces::Piece,
    room::{Line, Number, Room, Short, of_numbers},
    seconds::{Day, InSecond, put_clock},
    sizes::LineBytes,
    svg::escaped,
    value::{Dialect, put, put_list},
};
use crate::{
    appliance::{spans::InSpans, status::date},
    delivery::answer::Chunks,
};

/// What stands between the columns, and how their time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// `getData.csv`: `secs,val,severity,status,nanos`.
    Commas,
    /// `getData.txt`: the same with tabs, and the time as a date.
    Tabs,
    /// `getData.flx`: XML with the whole second in milliseconds and the value.
    Elements,
}

/// Texts as they are, arrays in brackets. An empty line ends those with commas.
pub(crate) struct LinesPlain {
    columns: Columns,
    samples: InSpans,
    head: String,
    tail: &'static str,
    has_bars: bool,
    line_bytes: LineBytes,
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
        LinesPlain { columns, samples, head, tail, has_bars, line_bytes: LineBytes::default(), ended: false }
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
            Some(Ok(piece)) => {
                let piece = if self.has_bars { Bars::split(piece.into_batch(), true).0.into() } else { piece };
                self.line_bytes.written(&mut out, piece.len(), |out| put_plain(out, &piece, self.columns));
            }
            Some(Err(error)) => {
                self.ended = true;
                return Some(Err(error));
            }
            None => {
                self.ended = true;
                out.extend_from_slice(self.tail.as_bytes());
            }
        }
        Some(Ok(out.into()))
    }
}

pub(super) fn put_plain(out: &mut Vec<u8>, piece: &Piece, columns: Columns) {
    if columns == Columns::Elements {
        piece.rows().for_each(|row| put_element(out, piece.batch().times()[row], piece.values(), row));
        return;
    }
    of_numbers!(piece.values(), values => {
        put_columns(out, piece, columns, |line, _, row| values[row].put(line, Dialect::Appliance));
    }, else {
        put_columns(out, piece, columns, |line, out, row| {
            line.flush(out);
            put_bare(out, piece.values(), row);
        });
    });
}

#[inline(always)]
fn put_columns(out: &mut Vec<u8>, piece: &Piece, columns: Columns, value: impl Fn(&mut Line<'_>, &mut Vec<u8>, usize)) {
    if columns == Columns::Commas {
        let begin = |line: &mut Line<'_>, seconds: i64| {
            line.signed(seconds);
            line.text(b",");
        };
        return put_lines(out, piece, b",", begin, value);
    }
    // `Nov/20/2026 21:25:51 UTC`, of which the first twelve bytes are the same all day.
    let mut day = Day::written(|time| date(Some(time)).get(..12).unwrap_or_default().to_owned());
    let begin = |line: &mut Line<'_>, seconds: i64| {
        day.put_date(line, seconds);
        put_clock(line, seconds);
        line.text(b" UTC\t");
    };
    put_lines(out, piece, b"\t", begin, value);
}

/// `begin` writes what the lines of a second begin with.
#[inline(always)]
fn put_lines(
    out: &mut Vec<u8>,
    piece: &Piece,
    between: &[u8; 1],
    mut begin: impl FnMut(&mut Line<'_>, i64),
    value: impl Fn(&mut Line<'_>, &mut Vec<u8>, usize),
) {
    let (mut room, mut begun, times) = (Room::new(), InSecond::default(), piece.batch().times());
    let mut line = room.lines();
    for (rows, alarm) in piece.alarms() {
        let state = Short::of(|line| {
            line.text(between);
            line.unsigned(alarm.severity as u64);
            line.text(between);
            line.unsigned(alarm.status.into());
            line.text(between);
        });
        for row in rows {
            line.pass_on(out);
            let nanos = begun.nanos(times[row], &mut begin);
            line.short(begun.text());
            value(&mut line, out, row);
            line.short(&state);
            line.unsigned(nanos.into());
            line.text(b"\n");
        }
    }
    line.flush(out);
}

fn put_element(out: &mut Vec<u8>, time: Timestamp, values: &Column, row: usize) {
    let mut value = Vec::new();
    put_bare(&mut value, values, row);
    let millis = time.seconds_and_nanos().0.saturating_mul(1000);
    let value = escaped(&String::from_utf8_lossy(&value));
    write!(out, "<result><time>{millis}</time><value>{value}</value></result>").expect("a vector takes every byte");
}

/// Texts without quotes, in arrays too; everything else as in JSON.
fn put_bare(out: &mut Vec<u8>, column: &Column, row: usize) {
    match column {
        Column::String(texts) => out.extend_from_slice(texts.get(row).as_bytes()),
        Column::Array(arrays) if matches!(arrays.elements(), Column::String(_)) => {
            put_list(out, arrays.range(row), |out, index| put_bare(out, arrays.elements(), index));
        }
        other => put(out, other, row, Dialect::Appliance),
    }
}
