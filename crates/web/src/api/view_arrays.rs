//! A view in which the elements of arrays are told, too: made while it is sent, PV after PV, with one bin of arrays in memory.

use std::vec::IntoIter;

use axum::body::Bytes;
use query::{ArrayBin, ArrayBins, Cut};
use sample::TimeRange;
use serde_json::{Map, Value};
use service::Ask;

use super::{
    bins::{CSV_COLUMNS, put_bins, put_csv},
    view_part::{Drawn, Part, facts},
};
use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON},
    formats::{
        array_bins::put_bin,
        arrow,
        csv::put_field,
        value::put_json,
        view_arrays::{CSV_MORE, CSV_NONE, ViewArrow, put_lines},
    },
    refusal::Refusal,
};

/// Of how many rows of elements bins of arrays are made.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    pub(super) range: TimeRange,
    pub(super) cut: Cut,
    pub(super) rows: usize,
}

/// The answer, in a format.
pub(super) fn answer(call: &Call, format: &str, head: Map<String, Value>, parts: Vec<Part>, cells: Cells) -> Answer {
    let range = cells.range;
    let pieces = |parts: Vec<Part>| {
        let left = parts.into_iter();
        Pieces { ask: call.ask.clone(), left, cells, number: 0, arrays: None }.map(Some).chain([None])
    };
    match format {
        "json" => {
            let mut form = Json { range, is_first: true, is_first_bin: true };
            let begin = form.begin(&head);
            let put =
                move |piece: Option<Piece>| Ok(piece.map_or(Bytes::from_static(b"]}\n"), |piece| form.put(piece)));
            call.chunks(JSON, chunks(begin, pieces(parts), put))
        }
        "csv" => {
            let begin = format!("pv,{CSV_COLUMNS},{CSV_MORE}\n").into();
            let mut name = Vec::new();
            let put = move |piece: Option<Piece>| Ok(piece.map_or(Bytes::new(), |piece| put_as_csv(&mut name, piece)));
            call.chunks(CSV, chunks(begin, pieces(parts), put))
        }
        _ => {
            let mut stream = ViewArrow::new(facts(head, &parts, range))?;
            let put = move |piece: Option<Piece>| match piece {
                Some(piece) => Ok(put_as_arrow(&mut stream, piece)?),
                None => Ok(stream.finish()?),
            };
            call.chunks(arrow::CONTENT_TYPE, chunks(Bytes::new(), pieces(parts), put))
        }
    }
}

/// The answer in chunks: the beginning, each piece, and the end. An answer that breaks off has no end, so that nobody takes it for the whole.
fn chunks(
    begin: Bytes,
    pieces: impl Iterator<Item = Option<Result<Piece, Refusal>>>,
    mut put: impl FnMut(Option<Piece>) -> Result<Bytes, Refusal>,
) -> impl Iterator<Item = Result<Bytes, Refusal>> {
    let made = pieces.map(move |piece| put(piece.transpose()?));
    let mut is_broken = false;
    let whole = std::iter::once(Ok(begin)).chain(made).take_while(move |chunk| {
        let goes_on = !is_broken;
        is_broken = chunk.is_err();
        goes_on
    });
    whole.filter(|chunk| !chunk.as_ref().is_ok_and(Bytes::is_empty))
}

/// One piece of the answer, with the number of its PV.
enum Piece {
    /// A PV; one of arrays is followed by its bins and what was damaged among them.
    Begins(u16, Box<Part>),
    Arrays(u16, ArrayBin),
    Ends(Vec<String>),
}

/// A view piece by piece. Arrays are opened when those before are through.
struct Pieces {
    ask: Ask,
    left: IntoIter<Part>,
    cells: Cells,
    number: u16,
    arrays: Option<ArrayBins>,
}

impl Pieces {
    fn piece(&mut self) -> Result<Option<Piece>, Refusal> {
        if let Some(arrays) = &mut self.arrays {
            if let Some(bin) = arrays.next().transpose()? {
                return Ok(Some(Piece::Arrays(self.number - 1, bin)));
            }
            self.ask.go_on()?;
            let damage = arrays.damage().iter().map(ToString::to_string).collect();
            self.arrays = None;
            return Ok(Some(Piece::Ends(damage)));
        }
        let Some(part) = self.left.next() else { return Ok(None) };
        if let Some(series) = part.told.as_ref().ok().and_then(|drawn| drawn.arrays.clone()) {
            let Cells { range, cut, rows } = self.cells;
            let ask = self.ask.clone();
            let arrays = self.ask.array_bins(series, range, cut, rows)?;
            self.arrays = Some(arrays.while_wanted(move || ask.is_abandoned()));
        }
        self.number += 1;
        Ok(Some(Piece::Begins(self.number - 1, Box::new(part))))
    }
}

impl Iterator for Pieces {
    type Item = Result<Piece, Refusal>;

    fn next(&mut self) -> Option<Result<Piece, Refusal>> {
        self.piece().transpose()
    }
}

/// The object of a view, as it is without arrays, with `array_bins` in those of arrays.
struct Json {
    range: TimeRange,
    is_first: bool,
    is_first_bin: bool,
}

impl Json {
    fn begin(&self, head: &Map<String, Value>) -> Bytes {
        let mut out = Vec::new();
        put_json(&mut out, head);
        out.pop();
        out.extend_from_slice(b",\"pvs\":[");
        out.into()
    }

    fn put(&mut self, piece: Piece) -> Bytes {
        let mut out = Vec::new();
        match piece {
            Piece::Begins(_, part) => {
                out.extend_from_slice(separator(&mut self.is_first));
                put_json(&mut out, &part.head(self.range));
                if let Ok(Drawn { bins, arrays, .. }) = &part.told {
                    out.pop();
                    out.extend_from_slice(b",\n\"bins\":");
                    put_bins(&mut out, bins);
                    out.extend_from_slice(if arrays.is_some() { b",\n\"array_bins\":[" } else { b"}" });
                }
                self.is_first_bin = true;
            }
            Piece::Arrays(_, bin) => {
                out.extend_from_slice(separator(&mut self.is_first_bin));
                put_bin(&mut out, &bin);
            }
            Piece::Ends(damage) => {
                out.extend_from_slice(b"],\n\"array_damage\":");
                put_json(&mut out, &damage);
                out.push(b'}');
            }
        }
        out.into()
    }
}

fn separator(is_first: &mut bool) -> &'static [u8] {
    if std::mem::replace(is_first, false) { b"\n" } else { b",\n" }
}

/// Of arrays their rows of elements alone. `name` is the field with the name of the PV that is being told.
fn put_as_csv(name: &mut Vec<u8>, piece: Piece) -> Bytes {
    let mut out = Vec::new();
    match piece {
        Piece::Begins(_, part) => {
            name.clear();
            put_field(name, &part.name);
            name.push(b',');
            let numbers = part.told.iter().filter(|drawn| drawn.arrays.is_none()).flat_map(|drawn| &drawn.bins);
            for bin in numbers {
                out.extend_from_slice(name);
                put_csv(&mut out, bin);
                out.pop();
                out.extend_from_slice(CSV_NONE.as_bytes());
                out.push(b'\n');
            }
        }
        Piece::Arrays(_, bin) => put_lines(&mut out, name, &bin),
        Piece::Ends(_) => {}
    }
    out.into()
}

fn put_as_arrow(stream: &mut ViewArrow, piece: Piece) -> Result<Bytes, arrow::Error> {
    match piece {
        Piece::Begins(number, part) => match &part.told {
            Ok(drawn) if drawn.arrays.is_none() => stream.numbers(number, &drawn.bins),
            _ => Ok(Bytes::new()),
        },
        Piece::Arrays(number, bin) => stream.arrays(number, &bin),
        Piece::Ends(_) => Ok(Bytes::new()),
    }
}
