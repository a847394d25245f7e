//! `pvark import --pv`: CSV files become parts of an import of a running archiver. A part is named by its file, its first line and what
//! it holds, so that a file that grew, or an import that broke off, sends again only what is new.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    time::{Duration, Instant},
};

use archive::{old_text_hash, part_hash};
use serde_json::Value;

use super::patiently;
use crate::{
    cli::Csv,
    commands::{
        bytes::bytes_text,
        http::{ANSWER_BYTES_MAX, agent, by, encoded},
        print::print_line,
    },
    failure::Failure,
};

/// A part has so many bytes of text: well within what the archiver takes at once.
const PART_BYTES: usize = 4 << 20;

pub(crate) fn import(command: &Csv) -> Result<(), Failure> {
    let mut total = CsvTotal { samples: 0, skipped: 0, told_at: Instant::now() };
    for file in &command.files {
        import_file(command, file, &mut total).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let CsvTotal { samples, skipped, .. } = total;
    Ok(print_line(&format!("{samples} samples imported, {skipped} had been before"))?)
}

fn pv(command: &Csv) -> &str {
    command.pv.as_deref().expect("clap requires it")
}

struct CsvTotal {
    samples: u64,
    /// Of parts that were known.
    skipped: u64,
    told_at: Instant,
}

fn import_file(command: &Csv, file: &Path, total: &mut CsvTotal) -> Result<(), Failure> {
    let bytes_total = file.metadata()?.len();
    let mut lines = BufReader::new(File::open(file)?);
    let (mut part, mut first, mut next, mut bytes) = (String::new(), 1, 1, 0);
    loop {
        let size = lines.read_line(&mut part)?;
        next += 1;
        if part.len() >= PART_BYTES || (size == 0 && !part.is_empty()) {
            send(command, file, first, &part, total)?;
            bytes += part.len() as u64;
            (first, part) = (next, String::new());
            if total.told_at.elapsed() >= Duration::from_secs(2) {
                total.told_at = Instant::now();
                eprintln!("{}: {} of {}", file.display(), bytes_text(bytes), bytes_text(bytes_total));
            }
        }
        if size == 0 {
            return Ok(());
        }
    }
}

fn send(command: &Csv, file: &Path, line: u64, part: &str, total: &mut CsvTotal) -> Result<(), Failure> {
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let name = |hash: String| encoded(&format!("{} {file} line {line} {hash}", pv(command)));
    let known_as = name(format!("{:016x}", old_text_hash(part)));
    let name = name(format!("xxh3-{:016x}", part_hash(part.as_bytes())));
    let (pv, import, value_type) = (encoded(pv(command)), encoded(&command.name), &command.value_type);
    let url = format!(
        "{}/api/v1/pvs/{pv}/import?import={import}&part={name}&known_as={known_as}&type={value_type}&line={line}&by={}",
        command.server.url,
        by()
    );
    let send = || agent().post(&url).header("content-type", "text/csv").send(part);
    let mut answer = patiently(command.patience, &command.server.url, send)?;
    let answer: Value = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?;
    let samples = answer["samples"].as_u64().unwrap_or(0);
    match answer["status"] == "imported" {
        true => total.samples += samples,
        false => total.skipped += samples,
    }
    Ok(())
}
