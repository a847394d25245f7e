//! `pvark get`: what a running archiver has recorded of a PV, as a table or in a format for programs.

use std::io::{self, Read, Write};

use serde_json::Value;

use super::{
    http::{ANSWER_BYTES_MAX, agent, checked, encoded},
    print::print_line,
    table,
};
use crate::{
    cli::{Format, Get},
    failure::Failure,
    host::clock::now,
};

/// Rows that a table shows; more is for the other formats.
const TABLE_ROWS_MAX: u32 = 100_000;

pub(crate) fn run(command: &Get) -> Result<(), Failure> {
    let now = now();
    let (from, to) = command.range.ends(now)?;
    let reduced = match command.bins {
        Some(bins) => {
            let elements = command.elements.map(|elements| format!("elements={elements}&")).unwrap_or_default();
            format!("bins?bins={bins}&{elements}")
        }
        None => "samples?".to_owned(),
    };
    let format = match command.format {
        Format::Table if command.bins.is_none() => format!("json&limit={TABLE_ROWS_MAX}"),
        format => format.in_url().to_owned(),
    };
    let pv = encoded(&command.pv);
    let url = format!("{}/api/v1/pvs/{pv}/{reduced}from={from}&to={to}&format={format}", command.server.url);
    let mut answer = checked(agent().get(&url).call(), &command.server.url)?;
    if let Some(incomplete) = answer.headers().get("pvark-incomplete").and_then(|told| told.to_str().ok()) {
        eprintln!("this may not be all: the archiver answered {incomplete}");
    }
    if command.format == Format::Table {
        let json: Value = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?;
        let lines = if command.bins.is_some() { table::bins(&json) } else { table::samples(&json) };
        return lines.iter().try_for_each(|line| print_line(line)).map_err(Failure::from);
    }
    pass_on(answer.body_mut().as_reader())
}

/// Posts a question: its answer for a table; in other formats it is printed as it comes.
pub(super) fn posted(server: &str, path: &str, body: Value, format: Format) -> Result<Option<Value>, Failure> {
    let url = format!("{server}/api/v1/{path}&format={}", format.in_url());
    let mut answer = checked(agent().post(&url).send_json(body), server)?;
    if format != Format::Table {
        return pass_on(answer.body_mut().as_reader()).map(|()| None);
    }
    Ok(Some(answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?))
}

/// Prints an answer as it comes.
pub(super) fn pass_on(mut body: impl Read) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match body.read(&mut chunk)? {
            0 => return Ok(out.flush()?),
            size => out.write_all(&chunk[..size])?,
        }
    }
}
