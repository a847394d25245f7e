//! `/api/v1/view`: what a page draws of many PVs in one answer: bins on edges that neighbouring views share, gaps, metadata and states.
//!
//! ```text
//!   edges   ┊    │    │    │    │    ┊      multiples of one round width since 1970: whoever pans asks for the columns that are new
//!   PV 0    ▁▂▃▄▄▃▂▁▁▂▃▄▅▆▅▄▃▂▁▁▂▃▄▅        its bins, then those of the next
//!   PV 1    ▇▇▇▆▆▆▇▇▇▇▆▆▆▆▇▇▇▇▆▆▆▇▇▇
//! ```

use query::{Bin, Cut, ELEMENTS_MAX, Error};
use sample::{TimeRange, Timestamp};
use serde_json::{Map, Value};
use service::{Meant, now};

use super::{
    bins::{CSV_COLUMNS, ELEMENTS_BYTES, put_bins, put_csv},
    many::{meant, unknown_names},
    view_arrays::{self, Cells},
    view_part::{Drawn, Part, facts},
};
use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON, whole},
    formats::{arrow, csv::put_field, missing, value::put_json},
    refusal::{Code, Refusal},
    url::Params,
};

/// A page shows no more PVs at once.
const PVS_MAX: usize = 200;
const BINS_DEFAULT: usize = 1000;
/// All PVs together have no more bins.
const BINS_MAX: usize = 500_000;
/// All arrays together have no more rows of elements, which are made while they are read.
const ELEMENT_ROWS_MAX: usize = 10_000_000;
/// What a bin takes until it is sent, as columns and as text; and what a PV takes with its metadata.
const BIN_BYTES: usize = 400;
const PV_BYTES: usize = 4096;

/// `GET` or `POST /view`
pub(crate) fn show(call: &Call) -> Answer {
    let (names, meant) = meant(call)?;
    let range = call.query.range()?;
    let format = call.query.word("format", &["arrow", "json", "csv"], Code::UnknownFormat)?;
    if names.len() > PVS_MAX {
        let message = format!("{} PVs are named, a view has at most {PVS_MAX}", names.len());
        return Err(Refusal::new(Code::TooLarge, message).hint("ask for several views"));
    }
    let cut = cut(&call.query)?;
    let rows = elements(&call.query)?;
    let until = now();
    let count = cut.count(range);
    if count.saturating_mul(names.len()) > BINS_MAX {
        let message = format!("{count} bins of each of {} PVs are more than {BINS_MAX}", names.len());
        return Err(Refusal::new(Code::TooLarge, message).hint("ask for fewer bins, a larger width=, or fewer PVs"));
    }
    call.ask.lease.grow_by(count * names.len(), BIN_BYTES)?;
    call.ask.lease.grow_by(names.len(), PV_BYTES)?;
    let unknown = names.iter().zip(&meant).filter(|(_, meant)| matches!(meant, Meant::Nothing));
    let unknown: Vec<String> = unknown.map(|(name, _)| name.clone()).collect();
    if !unknown.is_empty() {
        return Err(unknown_names(&call.ask, &unknown));
    }
    let mut parts = Vec::with_capacity(names.len());
    for (name, meant) in names.into_iter().zip(meant) {
        let told = match meant {
            Meant::Series(entry, series) => {
                let draw = || Drawn::of(&call.ask, entry.clone(), &series, range, cut, until, rows.is_some());
                call.ask.told(&entry, draw)?
            }
            Meant::Untold(why) => Err(why),
            Meant::Nothing => Err("nothing is called so".to_owned()),
        };
        parts.push(Part { name, told });
    }
    let mut head = head_of(&parts, range, until);
    head.extend(missing::parts(&call.ask.noted()));
    if let Some(rows) = rows {
        let arrays = parts.iter().filter(|part| part.told.as_ref().is_ok_and(|drawn| drawn.arrays.is_some())).count();
        if arrays.saturating_mul(count).saturating_mul(rows) > ELEMENT_ROWS_MAX {
            let message = format!(
                "arrays: {arrays}, bins of each: {count}, elements of each bin: {rows}; together more than {ELEMENT_ROWS_MAX}"
            );
            return Err(
                Refusal::new(Code::TooLarge, message).hint("ask for fewer elements, fewer bins, or fewer arrays")
            );
        }
        call.ask.lease.grow_by(rows, ELEMENTS_BYTES)?;
        return view_arrays::answer(call, format, head, parts, Cells { range, cut, rows });
    }
    match format {
        "json" => Ok(whole(JSON, as_json(&head, &parts, range))),
        "csv" => Ok(whole(CSV, as_csv(&parts))),
        _ => Ok(whole(arrow::CONTENT_TYPE, arrow::view(&bins_by_pv(&parts), facts(head, &parts, range))?)),
    }
}

/// At most so many bins of a round width, or of a width that is given, as a page that pans has it from the view before.
fn cut(query: &Params) -> Result<Cut, Refusal> {
    let count = query.number("bins")?.unwrap_or(BINS_DEFAULT);
    let Some(seconds) = query.number::<f64>("width")? else { return Ok(Cut::Aligned(count)) };
    let nanos = (seconds * 1e9).round();
    if !(nanos >= 1.0 && nanos < i64::MAX as f64) {
        let message = format!("width is {seconds}, expected seconds, as `width` of an earlier answer says");
        return Err(Refusal::new(Code::BadRequest, message));
    }
    Ok(Cut::Wide(nanos as i64))
}

/// In how many rows the elements of arrays are wanted in each bin; none where arrays are only counted.
fn elements(query: &Params) -> Result<Option<usize>, Refusal> {
    match query.number("elements")? {
        Some(count) if count == 0 || count > ELEMENTS_MAX => Err(Error::ElementCount { count }.into()),
        rows => Ok(rows),
    }
}

fn bins_by_pv(parts: &[Part]) -> Vec<&[Bin]> {
    parts.iter().map(Part::bins).collect()
}

/// What is said of the view as a whole. `until` is where live updates go on: what arrives from then on is in no bin.
fn head_of(parts: &[Part], range: TimeRange, until: Timestamp) -> Map<String, Value> {
    let bins = parts.iter().map(Part::bins).find_map(|bins| bins.first().zip(bins.last()));
    let width = bins.map(|(first, _)| (first.t1.nanos() - first.t0.nanos()) as f64 / 1e9);
    let members = [
        ("from", bins.map_or(range.t0, |(first, _)| first.t0).to_string().into()),
        ("to", bins.map_or(range.t1, |(_, last)| last.t1).to_string().into()),
        ("width", width.into()),
        ("until", until.to_string().into()),
    ];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

fn as_json(head: &Map<String, Value>, parts: &[Part], range: TimeRange) -> Vec<u8> {
    let mut out = Vec::new();
    put_json(&mut out, head);
    out.pop();
    out.extend_from_slice(b",\"pvs\":[");
    for (index, part) in parts.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        put_json(&mut out, &part.head(range));
        if let Ok(drawn) = &part.told {
            out.pop();
            out.extend_from_slice(b",\n\"bins\":");
            put_bins(&mut out, &drawn.bins);
            out.push(b'}');
        }
    }
    out.extend_from_slice(b"]}\n");
    out
}

/// Bins alone, with the name of their PV.
fn as_csv(parts: &[Part]) -> Vec<u8> {
    let mut out = format!("pv,{CSV_COLUMNS}\n").into_bytes();
    for part in parts {
        let mut name = Vec::new();
        put_field(&mut name, &part.name);
        name.push(b',');
        for bin in part.bins() {
            out.extend_from_slice(&name);
            put_csv(&mut out, bin);
        }
    }
    out
}
