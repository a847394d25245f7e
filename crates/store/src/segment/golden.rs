//! Segments of each format version that must be readable for ever. `testdata/segments/vN/NAME.seg` are the bytes, `NAME.txt` all that
//! is in them. Files that are there are never written again; one that is missing is written when `UPDATE_GOLDEN` is set.

use std::{fmt::Write as _, fs, path::PathBuf, sync::Arc};

use archive::{PvId, PvName};
use sample::{Alarm, Batch, Column, Sample, Severity, TimeRange, Timestamp, Value};

use super::*;
use crate::{
    block::sections::Section,
    cache::Remembered,
    codec::Effort,
    disk::{Disk, RealDisk},
};

/// Stretches of the levels that the text shows.
const DAY: i64 = 86_400_000_000_000;
const MINUTE: i64 = 60_000_000_000;

const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];

fn folder(version: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/segments")).join(version)
}

fn disk(version: &str) -> Arc<dyn Disk> {
    Arc::new(RealDisk::new(folder(version)))
}

fn batch(from: i64, step: i64, count: i64, value: impl Fn(i64) -> Value) -> Batch {
    let mut batch = Batch::new(value(0).value_type());
    for i in 0..count {
        let alarm = match i % 5 {
            3 => Alarm { severity: Severity::Invalid, status: 17, message: None },
            _ => Alarm::default(),
        };
        let time = Timestamp::from_nanos(1_795_209_540_000_000_000 + from + i * step);
        let pulse = (i / 4) as u64;
        assert!(batch.push(&Sample { time, value: value(i), alarm, pulse, stamp: None }));
    }
    batch
}

/// Numbers with levels, a change of type, late samples, texts and arrays; fifty PVs, so that there are two pages; what is new in
/// version 2, a block that tells of its quarters; and in version 3, of its sections, and single blocks without an index.
fn write() {
    let second = 1_000_000_000;
    let number =
        |i: i64| Value::F64(if i % 700 == 5 { f64::NAN } else { (i * i % 1009) as f64 / 7.0 + i as f64 * 1e-9 });
    let mut writer =
        SegmentWriter::new(disk("v3"), "small.seg".into(), 42, Timestamp::from_nanos(1_795_300_000_000_000_000));
    let mut add = |pv: u32, batch: &Batch| writer.add(PvId(pv), batch, Effort::Merge).unwrap();
    (0..4).for_each(|block| add(1, &batch(block * 30 * second, second / 50, 1500, number)));
    add(2, &batch(0, second, 7, |i| Value::I32(i as i32 * 1000 - 3)));
    add(2, &batch(7 * second, second, 5, |i| Value::String(["OPEN", "CLOSED"][i as usize % 2].into())));
    add(2, &batch(3 * second, second / 3, 4, |i| Value::I32(-(i as i32))));
    add(5, &batch(0, second, 3, |i| Value::Array(Column::I16((0..i as i16).collect()))));
    add(7, &batch(0, second / 10, 4500, |i| Value::F64((i / 9) as f64 * 0.5)));
    (100..150).for_each(|pv| add(pv, &batch(i64::from(pv), 10 * second, 2, |i| Value::Enum(i as i32))));
    let named = |pv: PvId| {
        let name = PvName::new(&format!("LAB:{}", pv.0)).unwrap();
        (pv != PvId(149)).then(|| Named { pv, name, row: vec![0xa1, pv.0 as u8] })
    };
    writer.finish(&named).unwrap().unwrap();
}

/// All that a reader can find in a segment. Of long blocks some samples.
fn text(segment: &Segment) -> String {
    let mut text = String::new();
    let footer = segment.footer().unwrap();
    writeln!(text, "segment {}, {} PVs, {} blocks", footer.sequence, footer.pvs, footer.blocks).unwrap();
    writeln!(text, "{} samples from {} to {}", footer.samples, footer.t0, footer.t1).unwrap();
    for named in segment.names().unwrap() {
        writeln!(text, "name {} {} {:?}", named.pv.0, named.name, named.row).unwrap();
    }
    for record in segment.records().unwrap() {
        let DirectoryRecord { pv, blocks, samples, t0, t1, .. } = record;
        writeln!(text, "PV {}: {blocks} blocks, {samples} samples from {t0} to {t1}", pv.0).unwrap();
        let tables = segment.tables(&record, Table::Index, Table::Summaries).unwrap();
        let entries = tables.index().unwrap();
        for (entry, summary) in entries.iter().zip(tables.summaries(&entries).unwrap()) {
            writeln!(text, "  block {} {} {} {}", entry.value_type, entry.count, entry.t0, entry.t1).unwrap();
            summary_line(&mut text, &summary);
            let sections = segment.read_columns(pv, entry, |_, columns, _| columns.sections()).unwrap();
            for Section { min, max, sum, squares, integral, .. } in sections.into_iter().flatten() {
                writeln!(text, "    quarter {:?}", [min, max, sum, squares, integral]).unwrap();
            }
            let batch = segment.read(pv, entry).unwrap();
            for row in (0..batch.len()).step_by(1 + batch.len() / 10) {
                let Sample { time, value, alarm, pulse, .. } = batch.get(row);
                writeln!(text, "    {time} {} {} {pulse} {value:?}", alarm.severity.name(), alarm.status).unwrap();
            }
        }
        for width in [MINUTE, DAY] {
            let (first, last) = (t0.nanos().div_euclid(width), t1.nanos().div_euclid(width));
            let edges: Vec<Timestamp> = (first..=last + 1).map(|edge| Timestamp::from_nanos(edge * width)).collect();
            let rows = segment.rows(&record, (&edges, width), TimeRange::ALL, &Remembered::within(1 << 20));
            for row in rows.unwrap().unwrap_or_default() {
                writeln!(text, "  level {} {} {} {}", width / MINUTE, row.count, row.t0, row.t1).unwrap();
                summary_line(&mut text, &row);
            }
        }
    }
    text
}

fn summary_line(text: &mut String, s: &crate::Summary) {
    let counts = [s.count, s.nan_count, s.invalid_count, s.covered];
    let numbers = [s.min, s.max, s.sum, s.squares, s.integral, s.first, s.last];
    writeln!(text, "    {counts:?} {numbers:?} {}", s.severity_max.name()).unwrap();
}

#[test]
fn segments_of_every_version_are_read_for_ever() {
    for version in VERSIONS {
        let segment = Segment::of_file(disk(version), "small.seg").unwrap();
        segment.header().unwrap();
        let expected = fs::read_to_string(folder(version).join("small.txt")).unwrap();
        let found = text(&segment);
        let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
        assert_eq!(differs, None, "{version}");
        assert_eq!(found.len(), expected.len(), "{version}");
        let records = segment.records().unwrap();
        let single = records.iter().filter(|record| record.only != 0).count();
        let told = (found.matches("quarter").count(), single);
        let expected = [("v1", (0, 0)), ("v2", (4, 0)), ("v3", (9, 52))];
        assert!(expected.contains(&(version, told)), "{version}: {told:?}");
    }
}

#[test]
fn a_golden_segment_that_is_missing_is_written_when_asked_for() {
    if std::env::var_os("UPDATE_GOLDEN").is_none() || folder("v3").join("small.seg").exists() {
        return;
    }
    fs::create_dir_all(folder("v3")).unwrap();
    write();
    fs::write(folder("v3").join("small.txt"), text(&Segment::of_file(disk("v3"), "small.seg").unwrap())).unwrap();
}
