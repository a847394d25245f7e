//! A list of PVs with what each is: `name,type,rate,length,changes,count` in lines, only the name is needed.

use std::collections::HashMap;

/// What some PVs are together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    pub(super) pvs: f64,
    /// Per second.
    pub(super) updates: f64,
    /// Those of them that are arrays.
    pub(super) frames: f64,
    /// Of values, per second.
    pub(super) bytes: f64,
    /// Of the arrays of all PVs once: what the archiver holds to compare the next with.
    pub(super) held: f64,
    /// Per second, of those elements that change.
    pub(super) changed: f64,
}

impl Load {
    /// So many times as much of everything.
    pub(super) fn times(&self, times: f64) -> Load {
        let Load { pvs, updates, frames, bytes, held, changed } = *self;
        Load {
            pvs: pvs * times,
            updates: updates * times,
            frames: frames * times,
            bytes: bytes * times,
            held: held * times,
            changed: changed * times,
        }
    }
}

const COLUMNS: [&str; 6] = ["name", "type", "rate", "length", "changes", "count"];

/// Adds up a list. The first line may name the columns in another order; cells are parted by commas, semicolons or blanks.
pub(super) fn read(text: &str) -> Result<Load, String> {
    let mut columns: Vec<String> = COLUMNS.map(str::to_owned).to_vec();
    let mut load = Load::default();
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let cells: Vec<&str> =
            line.split([',', ';', ' ', '\t']).map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if load == Load::default() && cells.contains(&"name") {
            if let Some(unknown) = cells.iter().find(|cell| !COLUMNS.contains(cell)) {
                return Err(format!("line {number}: there is no column {unknown:?}, expected {}", COLUMNS.join(", ")));
            }
            columns = cells.iter().map(|cell| (*cell).to_owned()).collect();
            continue;
        }
        if cells.len() > columns.len() {
            return Err(format!("line {number} has {} cells, expected at most {}", cells.len(), columns.len()));
        }
        add(&mut load, &columns.iter().map(String::as_str).zip(cells).collect())
            .map_err(|error| format!("line {number}: {error}"))?;
    }
    if load.pvs == 0.0 { Err("the list has no PVs".to_owned()) } else { Ok(load) }
}

fn add(load: &mut Load, cells: &HashMap<&str, &str>) -> Result<(), String> {
    let number = |column: &str, default: f64, most: f64| -> Result<f64, String> {
        let Some(text) = cells.get(column) else { return Ok(default) };
        let found = text.parse::<f64>().ok().filter(|value| (0.0..=most).contains(value));
        found.ok_or_else(|| format!("{column} is {text:?}, expected a number from 0 to {most}"))
    };
    let kind = cells.get("type").copied().unwrap_or("f64");
    let element =
        element_bytes(kind).ok_or_else(|| format!("type is {kind:?}, expected one like f64, i32 or double"))?;
    let (rate, length) = (number("rate", 1.0, 1e6)?, number("length", 1.0, 1e8)?);
    // A scalar that changes at all is another number; of an array little may change.
    let changes = number("changes", if length > 1.0 { 0.0 } else { 1.0 }, 1.0)?;
    let count = number("count", 1.0, 1e8)?;
    let value = length * element;
    load.pvs += count;
    load.updates += count * rate;
    load.bytes += count * rate * value;
    load.changed += count * rate * value * changes;
    if length > 1.0 {
        load.held += count * value;
        load.frames += count * rate;
    }
    Ok(())
}

/// By the names of pvark, of EPICS records and of pvAccess.
fn element_bytes(kind: &str) -> Option<f64> {
    Some(match kind.to_ascii_lowercase().as_str() {
        "bool" | "i8" | "u8" | "char" | "uchar" | "byte" | "ubyte" => 1.0,
        "i16" | "u16" | "short" | "ushort" | "enum" => 2.0,
        "i32" | "u32" | "f32" | "long" | "ulong" | "int" | "uint" | "float" | "integer" => 4.0,
        "i64" | "u64" | "f64" | "int64" | "uint64" | "double" => 8.0,
        "string" => 40.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_added_up_whatever_the_order_of_its_columns() {
        let load = read("# ours\nA:1\nW:1 i32 14 1000 0.5 100\n").expect("a list");
        assert_eq!((load.pvs, load.updates, load.bytes), (101.0, 1401.0, 8.0 + 100.0 * 14.0 * 4000.0));
        assert_eq!((load.held, load.changed), (400_000.0, 8.0 + 0.5 * 5_600_000.0));
        let other =
            read("name,count,rate,length,type,changes\nW:1,100,14,1000,integer,0.5\nA:1,1,1\n").expect("a list");
        assert_eq!(other, load);
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let cases = [
            ("A\nB what", "line 2: type"),
            ("A f64 fast", "line 1: rate"),
            ("A f64 1 1 2", "from 0 to 1"),
            ("name,speed\nA,1", "no column"),
            ("A f64 1 1 0 1 9", "cells"),
            ("# nothing\n", "no PVs"),
        ];
        for (text, word) in cases {
            let error = read(text).expect_err(text);
            assert!(error.contains(word), "{text:?}: {error}");
        }
    }
}
