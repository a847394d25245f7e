//! `POST /api/v1/pvs/{pv}/import`: a part of an import, as lines of CSV.

use archive::ImportedPart;
use sample::{Alarm, Sample, Severity, Timestamp, Value};
use serde_json::json;
use service::RefusedRow;

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    refusal::{Code, Refusal},
};

/// The types that a column of text can become.
const TYPES: [&str; 6] = ["f64", "f32", "i32", "i64", "string", "bool"];

/// Takes a part: what is not known by its name yet is entered as a whole. Lines are counted from `line=`.
pub(crate) fn import(call: &Call) -> Answer {
    let (entry, query) = (call.pv()?, &call.query);
    let (name, part) = (query.needed("import")?, query.needed("part")?);
    let value_type = query.word("type", &TYPES, Code::BadRequest)?;
    let first_line = query.number("line")?.unwrap_or(1usize);
    let import = call.ask.import_of_pv(&entry, name, part, query.get("known_as"))?;
    if let Some(known) = import.known() {
        return json(&already(known));
    }
    let text = std::str::from_utf8(&call.body);
    let text = text.map_err(|error| Refusal::new(Code::BadRequest, format!("the lines are not UTF-8: {error}")))?;
    let is_sample = |(line, number): &(&str, usize)| {
        !(line.trim().is_empty() || line.starts_with('#') || (*number == 1 && line.starts_with("time")))
    };
    let rows = text
        .lines()
        .zip(first_line..)
        .filter(is_sample)
        .map(|(line, number)| sample(line, value_type).map_err(|why| RefusedRow { number, why }));
    let imported = import.take_samples(&entry, rows)?;
    json(&json!({ "status": "imported", "samples": imported.samples, "bytes": imported.bytes }))
}

/// What is told of a part that was taken before.
pub(super) fn already(known: &ImportedPart) -> serde_json::Value {
    json!({ "status": "already_imported", "samples": known.samples, "bytes": known.bytes })
}

/// `time,value,severity,status`, the last two of which may be left out. A text that holds a comma stands in quotes.
fn sample(line: &str, value_type: &str) -> Result<Sample, String> {
    let (time, rest) = line.split_once(',').ok_or("expected time,value,severity,status")?;
    let time = Timestamp::parse(time.trim()).map_err(|error| error.to_string())?;
    let (value, rest) = value_and_rest(rest)?;
    let mut rest = rest.split(',').map(str::trim);
    let severity = severity(rest.next().unwrap_or(""))?;
    let status = match rest.next().unwrap_or("") {
        "" => 0,
        text => text.parse().map_err(|_| format!("status is {text:?}, expected a number from 0 to 65535"))?,
    };
    let value = typed(&value, value_type)?;
    Ok(Sample { time, value, alarm: Alarm { severity, status, message: None }, pulse: 0, stamp: None })
}

fn value_and_rest(text: &str) -> Result<(String, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_once(',').unwrap_or((text, ""));
        return Ok((value.to_owned(), rest));
    };
    let (mut value, mut rest) = (String::new(), quoted);
    loop {
        let (before, after) = rest.split_once('"').ok_or("a quote is not closed")?;
        value.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Ok((value, after.strip_prefix(',').unwrap_or(after))),
        }
    }
}

fn severity(text: &str) -> Result<Severity, String> {
    let by_number = |number: i64| (0..=4).contains(&number).then(|| Severity::from_number(number));
    let by_name = || (0..=4).map(Severity::from_number).find(|severity| severity.name().eq_ignore_ascii_case(text));
    match text {
        "" => Ok(Severity::from_number(0)),
        text => text.parse().ok().and_then(by_number).or_else(by_name).ok_or_else(|| {
            format!("severity is {text:?}, expected NO_ALARM, MINOR, MAJOR, INVALID, UNDEFINED or a number from 0 to 4")
        }),
    }
}

fn typed(text: &str, value_type: &str) -> Result<Value, String> {
    if value_type == "string" {
        return Ok(Value::String(text.into()));
    }
    let text = text.trim();
    let value = match value_type {
        "f32" => text.parse().ok().map(Value::F32),
        "i32" => text.parse().ok().map(Value::I32),
        "i64" => text.parse().ok().map(Value::I64),
        "bool" => match text {
            "0" | "false" => Some(Value::Bool(false)),
            "1" | "true" => Some(Value::Bool(true)),
            _ => None,
        },
        _ => text.parse().ok().map(Value::F64),
    };
    value.ok_or_else(|| format!("value is {text:?}, which is no {value_type}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_samples_or_say_what_is_wrong() {
        let of = |line: &str, value_type: &str| match sample(line, value_type) {
            Ok(Sample { time, value, alarm, .. }) => {
                format!("{time} {value:?} {} {}", alarm.severity.name(), alarm.status)
            }
            Err(wrong) => wrong,
        };
        let time = "2020-01-01T00:00:00.000000000Z";
        assert_eq!(of("2020-01-01T00:00:00Z,1.5", "f64"), format!("{time} F64(1.5) NO_ALARM 0"));
        assert_eq!(of("2020-01-01T01:00:00+01:00, -3,minor,7,", "i32"), format!("{time} I32(-3) MINOR 7"));
        assert_eq!(
            of(r#"2020-01-01T00:00:00Z,"a ""b"", c",2"#, "string"),
            format!("{time} String(\"a \\\"b\\\", c\") MAJOR 0")
        );
        assert_eq!(of("2020-01-01T00:00:00Z,x", "f64"), "value is \"x\", which is no f64");
        assert_eq!(of("2020-01-01T00:00:00Z,1,7", "f64").split(',').next(), Some("severity is \"7\""));
        assert_eq!(of("2020-01-01T00:00:00Z", "f64"), "expected time,value,severity,status");
        assert_eq!(of("2020-01-01T00:00:00Z,\"x", "string"), "a quote is not closed");
        assert_eq!(of("2020-01-01T00:00:00Z,1,0,-1", "f64"), "status is \"-1\", expected a number from 0 to 65535");
    }
}
