//! Samples as the Archiver Appliance's CSV, text and XML: a line each, without a line of names.

use std::io::Write;

use sample::{Column, Timestamp};

use super::{
    bars::Bars,
    line_buffer::{Line, LineBuffer, Numbers, Others, ShortText, Values, of_numbers},
    seconds::{Day, SecondText, put_clock},
    svg::escaped,
    value::{Dialect, put, put_list},
};
use crate::{
    delivery::{
        chunk::{Chunk, Rows},
        pieces::Piece,
    },
    formats::{appliance_values::date, span_samples::InSpans},
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
        LinesPlain { columns, samples, head, tail, has_bars, ended: false }
    }
}

impl Iterator for LinesPlain {
    type Item = Result<Chunk, query::Error>;

    fn next(&mut self) -> Option<Result<Chunk, query::Error>> {
        if self.ended {
            return None;
        }
        if !self.head.is_empty() {
            return Some(Ok(std::mem::take(&mut self.head).into_bytes().into()));
        }
        let batch = self.samples.next();
        self.ended = !matches!(batch, Some(Ok(_)));
        Some(match batch {
            Some(batch) => batch.map(|batch| {
                let (batch, columns) = (Bars::split(batch, self.has_bars).0, self.columns);
                Rows::lines(batch.into(), move |out, piece| put_plain(out, piece, columns)).into()
            }),
            None => Ok(self.tail.as_bytes().to_vec().into()),
        })
    }
}

/// Writes the samples of a piece, a line each.
pub(super) fn put_plain(out: &mut Vec<u8>, piece: &Piece, columns: Columns) {
    if columns == Columns::Elements {
        piece.rows().for_each(|row| put_element(out, piece.batch().times()[row], piece.values(), row));
        return;
    }
    of_numbers!(piece.values(), values => {
        put_columns(out, piece, columns, &Numbers(values, Dialect::Appliance));
    }, else {
        put_columns(out, piece, columns, &Others(|out: &mut Vec<u8>, row| put_bare(out, piece.values(), row)));
    });
}

#[inline(always)]
fn put_columns(out: &mut Vec<u8>, piece: &Piece, columns: Columns, values: &impl Values) {
    if columns == Columns::Commas {
        let begin = |line: &mut Line<'_>, seconds: i64| {
            line.signed(seconds);
            line.text(b",");
        };
        return put_lines(out, piece, b",", begin, values);
    }
    // `Nov/20/2026 21:25:51 UTC`, of which the first twelve bytes are the same all day.
    let mut day = Day::written(|time| date(Some(time)).get(..12).unwrap_or_default().to_owned());
    let begin = |line: &mut Line<'_>, seconds: i64| {
        day.put_date(line, seconds);
        put_clock(line, seconds);
        line.text(b" UTC\t");
    };
    put_lines(out, piece, b"\t", begin, values);
}

/// `begin` writes what the lines of a second begin with.
#[inline(always)]
fn put_lines(
    out: &mut Vec<u8>,
    piece: &Piece,
    between: &[u8; 1],
    mut begin: impl FnMut(&mut Line<'_>, i64),
    values: &impl Values,
) {
    let (mut room, mut begun, times) = (LineBuffer::new(), SecondText::default(), piece.batch().times());
    let mut line = room.lines();
    for (rows, alarm) in piece.alarms() {
        let state = ShortText::of(|line| {
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
            values.put(&mut line, out, row);
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
