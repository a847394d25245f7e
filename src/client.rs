//! The commands that ask: `add`, `get` and `explain` talk to a running archiver over HTTP.

use std::{
    io::{self, BufRead, Read, Write},
    time::Duration,
};

use archive::{
    ledger::{COLUMNS, Kind},
    settings::Given,
};
use sample::{TimeRange, Timestamp};
use serde_json::Value;

use crate::{
    Failure,
    cli::{Add, Explain, Format, Get},
    signals::now,
    table,
};

/// Rows that a table shows; more is for the other formats.
const TABLE_ROWS_MAX: u32 = 100_000;

/// The largest JSON answer that a table is made from.
pub(crate) const ANSWER_BYTES_MAX: u64 = 256 << 20;

pub(crate) fn add(command: &Add) -> Result<(), Failure> {
    let pvs: Vec<Value> = names(&command.names)?.iter().map(|name| wanted_pv(command, name)).collect();
    let url = format!("{}/api/v1/pvs", command.server.url);
    let sent = agent().post(&url).send_json(serde_json::json!({ "pvs": pvs }));
    let answer =
        checked(sent, &command.server.url)?.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json::<Value>()?;
    let mut refused = 0;
    for pv in answer["pvs"].as_array().into_iter().flatten() {
        let (name, status) = (pv["name"].as_str().unwrap_or("?"), pv["status"].as_str().unwrap_or("?"));
        match pv["message"].as_str() {
            Some(message) => print_line(&format!("{name}  {status}: {message}"))?,
            None => print_line(&format!("{name}  {status}"))?,
        }
        refused += usize::from(status == "refused");
    }
    if refused > 0 { Err(format!("{refused} of {} PVs were refused", pvs.len()).into()) } else { Ok(()) }
}

/// Names as they were given; `-` stands for those on standard input. Comments and empty lines do not count.
pub(crate) fn names(given: &[String]) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for name in given {
        match name.as_str() {
            "-" => names.extend(io::stdin().lock().lines().collect::<Result<Vec<_>, _>>()?),
            name => names.push(name.to_owned()),
        }
    }
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty() && !name.starts_with('#'));
    Ok(names.map(str::to_owned).collect())
}

/// What is said of a PV; what is not said is left out.
fn wanted_pv(command: &Add, name: &str) -> Value {
    let mut pv = serde_json::json!({ "name": name });
    if let Some(policy) = &command.policy {
        pv["policy"] = policy.as_str().into();
    }
    for (key, given) in command.settings.0.iter() {
        pv[key] = plain(given);
    }
    pv
}

/// A value of a setting as JSON.
fn plain(given: &Given) -> Value {
    match given {
        Given::Nothing => Value::Null,
        Given::Switch(is_on) => (*is_on).into(),
        Given::Number(number) => (*number).into(),
        Given::Count(count) => (*count).into(),
        Given::Text(text) => text.as_str().into(),
        Given::Texts(texts) => texts.clone().into(),
        Given::Burst { rate, .. } => plain(rate),
        Given::Members(members) => members.iter().map(|(name, given)| ((*name).to_owned(), plain(given))).collect(),
    }
}

pub(crate) fn get(command: &Get) -> Result<(), Failure> {
    let now = now();
    let (from, to) = range(&command.from, &command.to, now)?;
    let reduced = match command.bins {
        Some(bins) => format!("bins?bins={bins}&"),
        None => "samples?".to_owned(),
    };
    let format = match command.format {
        Format::Table if command.bins.is_none() => format!("json&limit={TABLE_ROWS_MAX}"),
        Format::Table | Format::Json => "json".to_owned(),
        Format::Csv => "csv".to_owned(),
        Format::Arrow => "arrow".to_owned(),
    };
    let pv = encoded(&command.pv);
    let url = format!("{}/api/v1/pvs/{pv}/{reduced}from={from}&to={to}&format={format}", command.server.url);
    let mut answer = checked(agent().get(&url).call(), &command.server.url)?;
    if command.format == Format::Table {
        let json: Value = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?;
        let lines = if command.bins.is_some() { table::bins(&json) } else { table::samples(&json) };
        return lines.iter().try_for_each(|line| print_line(line)).map_err(Failure::from);
    }
    let mut body = answer.body_mut().as_reader();
    let mut out = io::stdout().lock();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match body.read(&mut chunk)? {
            0 => return Ok(out.flush()?),
            size => out.write_all(&chunk[..size])?,
        }
    }
}

pub(crate) fn explain(command: &Explain) -> Result<(), Failure> {
    let now = now();
    let (from, to) = range(&command.from, &command.to, now)?;
    let (pv, proof) = (encoded(&command.pv), &command.proof);
    let url = format!("{}/api/v1/pvs/{pv}/explain?from={from}&to={to}&proof={proof}", command.server.url);
    let mut answer = checked(agent().get(&url).call(), &command.server.url)?;
    let told: Value = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?;
    let text = table::text;
    let samples = text(&told["samples"]);
    print_line(&format!("{samples} samples, {}: {}", text(&told["complete"]), text(&told["text"])))?;
    let mut rows = vec![["from", "to", "lost", "why"].map(str::to_owned).to_vec()];
    for reason in table::list(&told["reasons"]) {
        rows.push(["from", "to", "lost", "text"].map(|column| text(&reason[column])).to_vec());
    }
    if rows.len() > 1 {
        table::aligned(&rows).iter().try_for_each(|line| print_line(line))?;
    }
    Ok(print_line(&in_short(&told["account"]))?)
}

/// An account in one line.
fn in_short(account: &Value) -> String {
    let named = |kinds: &[Kind]| {
        let columns = COLUMNS.iter().filter(|column| kinds.contains(&column.kind));
        let said = columns.filter_map(|column| {
            let lost = matches!(column.kind, Kind::Lost | Kind::Missed);
            let count = if lost { &account["lost"][column.name] } else { &account[column.name] };
            Some(column.in_short?.replace("{}", &table::text(count)))
        });
        said.collect::<Vec<_>>().join(", ")
    };
    let (fates, lost, missed) =
        (named(&[Kind::Received, Kind::Stored, Kind::Skipped]), named(&[Kind::Lost]), named(&[Kind::Missed]));
    format!("{fates}, lost {lost}; {missed}")
}

pub(crate) fn agent() -> ureq::Agent {
    let config =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_connect(Some(Duration::from_secs(5)));
    config.build().into()
}

/// An answer that is a success; otherwise the archiver's own words.
pub(crate) fn checked(
    sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    server: &str,
) -> Result<ureq::http::Response<ureq::Body>, Failure> {
    let mut answer =
        sent.map_err(|error| format!("no archiver answers at {server} ({error}); start one with `pvark run`"))?;
    if answer.status().is_success() {
        return Ok(answer);
    }
    let status = answer.status();
    let text = answer.body_mut().read_to_string().unwrap_or_default();
    let json: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let message = json["error"]["message"].as_str().unwrap_or(text.trim());
    let hint = json["error"]["hint"].as_str().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Err(format!("{message}{hint} [HTTP {}]", status.as_u16()).into())
}

/// A time as it is typed.
pub(crate) fn moment(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    Ok(Timestamp::typed(text, now)?)
}

/// The ends of a range as they are typed.
pub(crate) fn range(from: &str, to: &str, now: Timestamp) -> Result<(Timestamp, Timestamp), Failure> {
    let TimeRange { t0, t1 } = TimeRange::typed(Some(from), Some(to), now, (Duration::ZERO, now))?;
    Ok((t0, t1))
}

/// A name as a part of a URL's path.
pub(crate) fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// Prints a line. Unlike `println!` it does not panic when the reader has gone.
pub(crate) fn print_line(line: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_the_list_of_cases_says() {
        let cases: Value = serde_json::from_str(include_str!("../testdata/times.json")).unwrap();
        let now = Timestamp::parse(cases["now"].as_str().unwrap()).unwrap();
        let told = |text: &Value| text.as_str().map(|text| Timestamp::parse(text).unwrap());
        for case in cases["moments"].as_array().unwrap().iter().filter(|case| case["zone"].is_null()) {
            assert_eq!(moment(case["text"].as_str().unwrap(), now).ok(), told(&case["is"]), "{case}");
        }
        for case in cases["ranges"].as_array().unwrap() {
            let (Some(from), Some(to)) = (case["from"].as_str(), case["to"].as_str()) else { continue };
            let expected = told(&case["is"][0]).zip(told(&case["is"][1]));
            assert_eq!(range(from, to, now).ok(), expected, "{case}");
        }
    }

    #[test]
    fn names_are_encoded_for_paths() {
        assert_eq!(encoded("SR:C01{BPM:1}x/y"), "SR:C01%7BBPM:1%7Dx%2Fy");
    }
}
