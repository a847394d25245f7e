//! `/api/v1/diff`: which of many PVs changed between two times, those first that changed most beside what they usually do.

use std::time::Duration;

use sample::{Batch, Sample, Timestamp};
use serde_json::{Map, Value};
use service::{Compared, ComparedPv, DiffRow, DiffWanted, now};

use super::many::meant;
use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON},
    formats::{
        csv::{put_field, put_value},
        list::Frame,
        missing,
        value::{self, Dialect, put_f64, put_json},
    },
    refusal::{Code, Refusal},
};

/// For how long it is looked what PVs usually do.
const USUAL: f64 = 86_400.0;
/// What a name takes until it is compared.
const COMPARED_BYTES: usize = 128;

/// `GET` or `POST /diff`
pub(crate) fn show(call: &Call) -> Answer {
    let format = call.query.word("format", &["json", "csv"], Code::UnknownFormat)?;
    let with_unchanged = call.query.word("unchanged", &["false", "true"], Code::BadRequest)? == "true";
    let before = call.query.time("before")?;
    let before =
        before.ok_or_else(|| Refusal::new(Code::BadRequest, "before= is missing, the time to compare with"))?;
    let after = call.query.time("after")?.unwrap_or_else(now);
    let seconds = call.query.number("usual")?.unwrap_or(USUAL);
    let usual = Duration::try_from_secs_f64(seconds).map_err(|_| {
        Refusal::new(Code::BadRequest, format!("usual is {seconds:?}, expected seconds before the first time"))
    })?;
    let (names, meant) = meant(call)?;
    call.ask.lease.grow_by(names.len(), COMPARED_BYTES)?;
    let pvs = names.into_iter().zip(meant).map(|(name, meant)| ComparedPv { name, meant });
    let wanted = DiffWanted { before, after, usual, with_unchanged };
    let Compared { rows, unknown, untold } = call.ask.diff(pvs.collect(), wanted)?;
    if format == "csv" {
        let frame = Frame::headed("pv,before,after,change,spread,score,time,severity\n");
        return call.list(CSV, frame, rows.into_iter().map(|row| Ok(Some(row))), |out, row| {
            put_csv(out, &row);
            Ok(())
        });
    }
    let mut head = head(before, after, unknown);
    head.extend(missing::pvs(&untold).into_iter().chain(missing::parts(&call.ask.noted())));
    call.list(JSON, Frame::member("pvs", &head)?, rows.into_iter().map(|row| Ok(Some(row))), |out, row| {
        put_row(out, &row);
        Ok(())
    })
}

fn head(before: Timestamp, after: Timestamp, unknown: Vec<String>) -> Map<String, Value> {
    let members =
        [("before", before.to_string().into()), ("after", after.to_string().into()), ("unknown", Value::from(unknown))];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// A row in JSON. An infinite score, of a PV that never moved before or has no numbers, is null.
fn put_row(out: &mut Vec<u8>, row: &DiffRow) {
    out.extend_from_slice(b"{\"after\":");
    put_sample(out, row.after.as_ref());
    out.extend_from_slice(b",\"before\":");
    put_sample(out, row.before.as_ref());
    put_number(out, "change", row.change);
    out.extend_from_slice(b",\"pv\":");
    put_json(out, &row.name);
    put_number(out, "score", row.score);
    put_number(out, "spread", row.spread);
    out.push(b'}');
}

fn put_sample(out: &mut Vec<u8>, sample: Option<&Sample>) {
    let Some(sample) = sample else { return out.extend_from_slice(b"null") };
    let severity = sample.alarm.severity as u8;
    out.extend_from_slice(format!("{{\"severity\":{severity},\"time\":\"{}\",\"value\":", sample.time).as_bytes());
    value::put(out, Batch::of(sample).values(), 0, Dialect::Exact);
    out.push(b'}');
}

fn put_number(out: &mut Vec<u8>, name: &str, number: Option<f64>) {
    out.extend_from_slice(format!(",\"{name}\":").as_bytes());
    put_f64(out, number.unwrap_or(f64::NAN), Dialect::Viewer);
}

fn put_csv(out: &mut Vec<u8>, row: &DiffRow) {
    put_field(out, &row.name);
    for sample in [&row.before, &row.after] {
        out.push(b',');
        sample.iter().for_each(|sample| put_value(out, Batch::of(sample).values(), 0));
    }
    for number in [row.change, row.spread, row.score] {
        out.push(b',');
        number.iter().for_each(|number| put_f64(out, *number, Dialect::Appliance));
    }
    let after = row.after.as_ref();
    let time = after.map(|sample| sample.time.to_string()).unwrap_or_default();
    let severity = after.map(|sample| (sample.alarm.severity as u8).to_string()).unwrap_or_default();
    out.extend_from_slice(format!(",{time},{severity}\n").as_bytes());
}
