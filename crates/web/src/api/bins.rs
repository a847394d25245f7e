//! `GET /api/v1/pvs/{pv}/bins`: a range cut into bins, for drawing any span at once; of arrays each element, or some neighbouring ones together.

use std::io::Write;

use archive::PvEntry;
use query::{ARRAY_BINS_AT_ONCE, Bin, Cut, ELEMENTS_MAX, Series};
use sample::{Metadata, Sample, TimeRange, Timestamp, ValueType};
use serde_json::Value;
use service::{Ask, now};

use super::samples::{FORMATS, facts, head};
use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON, whole},
    formats::{
        array_bins::{ArrayBinsArrow, ArrayBinsCsv, ArrayBinsJson},
        arrow::{self, seconds_covered},
        value::{self, put_cell, put_json, put_known, put_list},
    },
    refusal::{Code, Refusal},
    url::Params,
};

const BINS_DEFAULT: usize = 1000;
/// What a bin is charged until it is sent, with its text. No more bins than this are charged: the query refuses more.
const BIN_BYTES: usize = 400;
const BINS_CHARGED_MAX: usize = 100_000;
/// What a row of elements takes while the bins are made that are made at the same time, and in what is sent of one.
pub(super) const ELEMENTS_BYTES: usize = 80 * ARRAY_BINS_AT_ONCE + 80;
/// More rows are refused in any case.
const ELEMENTS_CHARGED_MAX: usize = ELEMENTS_MAX;

/// `GET /pvs/{pv}/bins`
pub(crate) fn show(call: &Call) -> Answer {
    let ((entry, series), range) = (call.pv_or_field()?, call.query.range()?);
    let format = call.query.word("format", &FORMATS, Code::UnknownFormat)?;
    let cut = cut(&call.query)?;
    let newest = call.ask.metadata_at_end(entry.id, range)?;
    let last = call.ask.last_before(&series, range.t1)?;
    let announced = newest.as_ref().and_then(|(_, metadata)| metadata.value_type).filter(|_| series.field.is_none());
    let value_type = last.map(|sample| sample.value.value_type()).or(announced);
    // Of arrays that came later only, there are bins of arrays before, too: empty ones.
    let later = match value_type {
        None if series.field.is_none() => call.ask.metadata_at_end(entry.id, TimeRange::ALL)?,
        _ => None,
    };
    let of_array = value_type.or(later.and_then(|(_, metadata)| metadata.value_type));
    if let Some(value_type) = of_array.filter(|value_type| value_type.is_numeric_array()) {
        return of_arrays(call, &Asked { entry, series, range, cut, value_type, newest }, format);
    }
    refuse_what_is_no_number(&entry, value_type)?;
    let (bins, damage) = collect(&call.ask, &series, range, cut)?;
    match format {
        "csv" => Ok(whole(CSV, csv(&bins))),
        "arrow" => {
            let bytes = arrow::bins(&bins, facts(&entry, range, newest.as_ref()))?;
            Ok(whole(arrow::CONTENT_TYPE, bytes))
        }
        _ => {
            let first = bins.first().map_or(range.t0, |bin| bin.t0);
            let before = call.ask.last_before(&series, first)?;
            let mut head = head(&entry, range, newest.as_ref());
            head.insert("type".to_owned(), value_type.map(|t| t.to_string()).into());
            head.extend(series.field.as_deref().map(|path| ("field".to_owned(), path.into())));
            head.insert("damage".to_owned(), damage.into());
            head.insert("raw".to_owned(), bins.iter().all(|bin| bin.count <= 1).into());
            head.insert("before".to_owned(), before.as_ref().map(sample_before).into());
            let mut out = Vec::new();
            put_json(&mut out, &head);
            out.pop();
            out.extend_from_slice(b",\n\"bins\":");
            put_bins(&mut out, &bins);
            out.extend_from_slice(b"}\n");
            Ok(whole(JSON, out))
        }
    }
}

/// What is asked of a PV whose values are arrays of numbers.
struct Asked {
    entry: PvEntry,
    series: Series,
    range: TimeRange,
    cut: Cut,
    value_type: ValueType,
    newest: Option<(Timestamp, Metadata)>,
}

/// Bins of arrays are made one by one while they are sent.
fn of_arrays(call: &Call, asked: &Asked, format: &str) -> Answer {
    let Asked { entry, series, range, cut, value_type, newest } = asked;
    let rows = call.query.number("elements")?.unwrap_or(ELEMENTS_MAX);
    call.ask.lease.grow_by(rows.min(ELEMENTS_CHARGED_MAX), ELEMENTS_BYTES)?;
    let ask = call.ask.clone();
    let bins = call.ask.array_bins(series.clone(), *range, *cut, rows)?.while_wanted(move || ask.is_abandoned());
    match format {
        "csv" => call.chunks(CSV, ArrayBinsCsv::new(bins)),
        "arrow" => {
            let facts = facts(entry, *range, newest.as_ref());
            call.chunks(arrow::CONTENT_TYPE, ArrayBinsArrow::new(bins, facts)?)
        }
        _ => {
            let mut head = head(entry, *range, newest.as_ref());
            head.insert("type".to_owned(), value_type.to_string().into());
            head.extend(series.field.as_deref().map(|path| ("field".to_owned(), path.into())));
            call.chunks(JSON, ArrayBinsJson::new(head, bins))
        }
    }
}

/// Equal parts of the range, or round ones at multiples of their length.
fn cut(query: &Params) -> Result<Cut, Refusal> {
    let count = query.number("bins")?.unwrap_or(BINS_DEFAULT);
    let align = query.word("align", &["false", "true"], Code::BadRequest)?;
    Ok(if align == "true" { Cut::Aligned(count) } else { Cut::Equal(count) })
}

fn refuse_what_is_no_number(entry: &PvEntry, value_type: Option<ValueType>) -> Result<(), Refusal> {
    match value_type {
        Some(value_type) if !value_type.is_numeric_scalar() => {
            let message = format!("{} holds {value_type}, which has no minimum, maximum or mean", entry.name);
            Err(Refusal::new(Code::BadRequest, message).hint(format!("GET /api/v1/pvs/{}/samples", entry.name)))
        }
        _ => Ok(()),
    }
}

/// All bins, and what was found damaged, unless the client goes away meanwhile.
fn collect(ask: &Ask, series: &Series, range: TimeRange, cut: Cut) -> Result<(Vec<Bin>, Vec<String>), Refusal> {
    ask.lease.grow_by(cut.count(range).min(BINS_CHARGED_MAX), BIN_BYTES)?;
    let mut source = ask.bins(series.clone(), range, cut)?.held_until(now());
    let mut bins = Vec::new();
    while let Some(bin) = source.next().transpose()? {
        bins.push(bin);
        if ask.is_abandoned() {
            return Err(Refusal::new(Code::BadRequest, "the client has gone"));
        }
    }
    Ok((bins, source.damage().iter().map(ToString::to_string).collect()))
}

pub(super) fn sample_before(sample: &Sample) -> Value {
    serde_json::json!({
        "time": sample.time.to_string(),
        "seconds": sample.time.seconds_f64(),
        "value": value::as_json(&sample.value),
        "severity": sample.alarm.severity as u8,
    })
}

pub(super) fn put_bins(out: &mut Vec<u8>, bins: &[Bin]) {
    let counts = |out: &mut Vec<u8>, name: &str, count: fn(&Bin) -> u64| {
        out.extend_from_slice(format!(",\n\"{name}\":").as_bytes());
        put_list(out, bins.iter(), |out, bin| put_json(out, &count(bin)));
    };
    let numbers = |out: &mut Vec<u8>, name: &str, number: fn(&Bin) -> f64| {
        out.extend_from_slice(format!(",\n\"{name}\":").as_bytes());
        put_list(out, bins.iter(), |out, bin| put_known(out, number(bin)));
    };
    out.extend_from_slice(b"{\"start\":");
    put_list(out, bins.iter(), |out, bin| put_json(out, &bin.t0.seconds_f64()));
    numbers(out, "end", |bin| bin.t1.seconds_f64());
    counts(out, "count", |bin| bin.count);
    numbers(out, "min", |bin| bin.min);
    numbers(out, "max", |bin| bin.max);
    numbers(out, "mean", |bin| bin.mean);
    numbers(out, "std", |bin| bin.std);
    numbers(out, "time_weighted_mean", |bin| bin.time_weighted_mean);
    numbers(out, "covered", seconds_covered);
    numbers(out, "first", |bin| bin.first);
    numbers(out, "last", |bin| bin.last);
    counts(out, "severity", |bin| bin.severity_max as u64);
    counts(out, "nan", |bin| bin.nan_count);
    counts(out, "invalid", |bin| bin.invalid_count);
    out.push(b'}');
}

/// The columns of bins in CSV.
pub(super) const CSV_COLUMNS: &str =
    "start,end,count,min,max,mean,std,time_weighted_mean,covered,first,last,severity,nan,invalid";

fn csv(bins: &[Bin]) -> Vec<u8> {
    let mut out = format!("{CSV_COLUMNS}\n").into_bytes();
    bins.iter().for_each(|bin| put_csv(&mut out, bin));
    out
}

/// A line of CSV.
pub(super) fn put_csv(out: &mut Vec<u8>, bin: &Bin) {
    put_time(out, bin.t0);
    put_time(out, bin.t1);
    put_json(out, &bin.count);
    let means = [bin.mean, bin.std, bin.time_weighted_mean, seconds_covered(bin)];
    for number in [bin.min, bin.max].into_iter().chain(means).chain([bin.first, bin.last]) {
        out.push(b',');
        put_cell(out, number);
    }
    let (severity, nan, invalid) = (bin.severity_max as u8, bin.nan_count, bin.invalid_count);
    writeln!(out, ",{severity},{nan},{invalid}").expect("a vector takes every byte");
}

fn put_time(out: &mut Vec<u8>, time: Timestamp) {
    write!(out, "{time},").expect("a vector takes every byte");
}
