//! An archive in place: the same numbers as files of the Archiver Appliance, which are read where they lie.

use std::{fs, io::Write, path::Path};

use sample::Timestamp;

use super::archive::{DAY, FEW, Numbers, WEEK};
use crate::{store_bench::Outcome, workload::START};

/// The PVs of the files.
pub(super) const FEW_NAME: &str = "PLACE:360K";
pub(super) const WEEK_NAME: &str = "PLACE:7D";

/// The type of doubles in a header.
const SCALAR_DOUBLE: u64 = 6;
const ROWS_AT_ONCE: usize = 8192;

/// Makes the files below a folder, a day each, unless they are there.
pub(super) fn make(folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder.join("PLACE"))?;
    write(folder, FEW_NAME, &FEW)?;
    write(folder, WEEK_NAME, &WEEK)
}

/// A line for the archiver's configuration.
pub(super) fn config(folder: &Path) -> String {
    format!("old_archive = [{{ kind = \"plainpb\", path = {:?} }}]", folder.display().to_string())
}

fn write(folder: &Path, name: &str, numbers: &Numbers) -> Outcome<()> {
    let path = |day: i64| {
        let date = Timestamp::from_nanos(START + day * DAY).to_string();
        folder.join(format!("{}:{}.pb", name.replace(':', "/"), date[..10].replace('-', "_")))
    };
    // Where the last one is, all are.
    if path((numbers.end() - 1 - START) / DAY).exists() {
        return Ok(());
    }
    let mut signal = numbers.signal();
    let (mut left, mut day, mut bytes) = (numbers.samples as usize, 0, Vec::new());
    while left > 0 {
        let batch = signal.batch(left.min(ROWS_AT_ONCE));
        left -= batch.len();
        for row in 0..batch.len() {
            let since = batch.times()[row].nanos() - START;
            if since / DAY > day {
                save(&path(day), &mut bytes)?;
                day = since / DAY;
            }
            if bytes.is_empty() {
                bytes = header(name);
            }
            aa::put_line(&mut bytes, &line(since, batch.values().f64_at(row).ok_or("it makes numbers")?));
        }
    }
    save(&path(day), &mut bytes)
}

fn save(path: &Path, bytes: &mut Vec<u8>) -> Outcome<()> {
    fs::File::create(path)?.write_all(bytes)?;
    bytes.clear();
    Ok(())
}

fn header(name: &str) -> Vec<u8> {
    let mut message = vec![1 << 3];
    put_varint(&mut message, SCALAR_DOUBLE);
    message.push(2 << 3 | 2);
    put_varint(&mut message, name.len() as u64);
    message.extend_from_slice(name.as_bytes());
    message.push(3 << 3);
    put_varint(&mut message, 2026);
    let mut line = Vec::new();
    aa::put_line(&mut line, &message);
    line
}

/// A sample so many nanoseconds after the beginning of the year.
fn line(since: i64, number: f64) -> Vec<u8> {
    let mut message = vec![1 << 3];
    put_varint(&mut message, (since / 1_000_000_000) as u64);
    message.push(2 << 3);
    put_varint(&mut message, (since % 1_000_000_000) as u64);
    message.push(3 << 3 | 1);
    message.extend_from_slice(&number.to_le_bytes());
    message
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
