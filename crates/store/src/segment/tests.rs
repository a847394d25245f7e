//! Tests of segments: what is written is found, whole or in parts.

use std::sync::Arc;

use archive::{PvId, PvName};
use sample::{Alarm, Batch, Sample, Timestamp, Value};

use super::*;
use crate::{
    Summary,
    codec::Effort,
    disk::{Disk, RealDisk},
    segment::format::{HEADER_LEN, PAGE_LEN, TAIL_LEN},
};

fn batch(pv: u32, count: i64) -> Batch {
    let mut batch = Batch::new(sample::ValueType::scalar(sample::Element::F64));
    for i in 0..count {
        let time = Timestamp::from_nanos(i);
        let value = Value::F64(f64::from(pv) + i as f64);
        assert!(batch.push(&Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None }));
    }
    batch
}

/// Every PV has a name but each tenth.
fn named(pv: PvId) -> Option<Named> {
    let name = PvName::new(&format!("PV:{}", pv.0)).unwrap();
    (!pv.0.is_multiple_of(10)).then(|| Named { pv, name, row: vec![7; pv.0 as usize % 5] })
}

#[test]
fn each_of_many_pvs_is_found_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder.path()));
    let mut writer = SegmentWriter::new(disk.clone(), "a.seg".into(), 3, Timestamp::from_nanos(5));
    for pv in (0..1000).step_by(2) {
        writer.add(PvId(pv), &batch(pv, 3), Effort::Merge).unwrap();
        writer.add(PvId(pv), &batch(pv, 2), Effort::Merge).unwrap();
    }
    let manifest = writer.finish(&named).unwrap().unwrap();
    assert_eq!((manifest.blocks, manifest.samples), (1000, 2500));
    assert_eq!((manifest.first_pv, manifest.last_pv), (PvId(0), PvId(998)));
    assert_eq!(manifest.bytes, disk.len("a.seg").unwrap());
    assert_eq!(Segment::of_file(disk.clone(), "a.seg").unwrap().manifest, manifest);
    let segment = Segment::new(disk, manifest);
    for pv in 0..1001 {
        let record = segment.record(PvId(pv)).unwrap();
        assert_eq!(record.is_some(), pv % 2 == 0 && pv < 1000, "PV {pv}");
        let Some(record) = record else { continue };
        let tables = segment.tables(&record, Table::Index, Table::Summaries).unwrap();
        let entries = tables.index().unwrap();
        assert_eq!(segment.index(&record).unwrap(), entries);
        let summaries = tables.summaries(&entries).unwrap();
        assert_eq!(entries.len(), 2);
        for ((entry, summary), count) in entries.iter().zip(summaries).zip([3, 2]) {
            let batch = batch(pv, count);
            assert_eq!(segment.read(PvId(pv), entry).unwrap(), batch);
            assert!(summary.identical(&Summary::of(&batch, 0..batch.len()).unwrap()));
        }
    }
    let names: Vec<Named> = (0..1000).step_by(2).filter_map(|pv| super::tests::named(PvId(pv))).collect();
    assert_eq!((names.len(), segment.names().unwrap()), (400, names));
    segment.header().unwrap();
}

#[test]
fn a_single_block_is_found_by_its_record_alone() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder.path()));
    let mut writer = SegmentWriter::new(disk.clone(), "a.seg".into(), 3, Timestamp::from_nanos(5));
    writer.add(PvId(4), &batch(4, 7), Effort::Flush).unwrap();
    writer.add(PvId(6), &batch(6, 7), Effort::Merge).unwrap();
    let segment = Segment::new(disk, writer.finish(&named).unwrap().unwrap());
    let end = segment.footer().unwrap().tables_at;
    let records = segment.records().unwrap();
    assert_eq!(records.iter().map(|record| record.lens[Table::Index as usize]).collect::<Vec<_>>(), [0, 0]);
    assert_eq!((records[0].tables_len(), records[1].tables_len() > 0), (0, true), "a merge writes its summary");
    for record in &records {
        let entries = segment.index(record).unwrap();
        assert_eq!(segment.tables(record, Table::Index, Table::Levels).unwrap().index().unwrap(), entries);
        assert_eq!(entries, [segment.only(record).unwrap().unwrap()]);
        assert_eq!(segment.read(record.pv, &entries[0]).unwrap(), batch(record.pv.0, 7));
    }
    let good = records[1];
    let bad = [
        DirectoryRecord { blocks: 2, ..good },
        DirectoryRecord { samples: 1 << 32, ..good },
        DirectoryRecord { only: good.only + 1, ..good },
        DirectoryRecord { only: good.only & 0xff_ffff | 14 << 24, ..good },
        DirectoryRecord { blocks_at: u64::MAX, ..good },
    ];
    assert!(bad.iter().all(|record| record.only(end).is_err()));
    assert_eq!(DirectoryRecord { lens: [9, 0, 0], ..good }.only(end), Ok(None), "an index goes before");
    let large = Entry { len: 1 << 24, ..segment.only(&good).unwrap().unwrap() };
    assert!(!DirectoryRecord { only: 0, ..good }.put_only(&large), "its length has no room");
}

/// Sixty PVs on two pages of the directory; the first of them has levels.
fn small(disk: &Arc<dyn Disk>) -> Manifest {
    let mut writer = SegmentWriter::new(disk.clone(), "a.seg".into(), 3, Timestamp::from_nanos(5));
    let mut often = Batch::new(sample::ValueType::scalar(sample::Element::F64));
    for i in 0..2000 {
        let time = Timestamp::from_nanos(i * 10_000_000);
        let value = Value::F64((i * i % 1009) as f64 / 7.0 + i as f64 * 1e-9);
        assert!(often.push(&Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None }));
    }
    writer.add(PvId(1), &often, Effort::Merge).unwrap();
    for pv in 2..61 {
        writer.add(PvId(pv), &batch(pv, 3), Effort::Merge).unwrap();
        writer.add(PvId(pv), &batch(pv, 2), Effort::Merge).unwrap();
    }
    writer.finish(&named).unwrap().unwrap()
}

/// All that can be read of some PVs, each part for itself: record, index, summaries, levels, blocks.
fn parts(segment: &Segment, pvs: &[u32]) -> Vec<(u32, &'static str, usize, Result<String, String>)> {
    fn text<T: std::fmt::Debug>(result: Result<T, crate::Error>) -> Result<String, String> {
        result.map(|found| format!("{found:?}")).map_err(|error| error.to_string())
    }
    let mut parts = Vec::new();
    for pv in pvs {
        let record = segment.record(PvId(*pv));
        parts.push((
            *pv,
            "record",
            0,
            text(
                record
                    .as_ref()
                    .map_err(|error| crate::Error::CorruptSegment { path: String::new(), reason: error.to_string() }),
            ),
        ));
        let Ok(Some(record)) = record else { continue };
        let tables = segment.tables(&record, Table::Index, Table::Levels).unwrap();
        let entries = tables.index();
        parts.push((*pv, "levels", 0, text(tables.levels_check().map(drop))));
        match entries {
            Ok(entries) => {
                parts.push((*pv, "summaries", 0, text(tables.summaries(&entries))));
                for (place, entry) in entries.iter().enumerate() {
                    parts.push((*pv, "block", place, text(segment.read(PvId(*pv), entry))));
                }
                parts.push((*pv, "index", 0, Ok(format!("{entries:?}"))));
            }
            Err(error) => parts.push((*pv, "index", 0, Err(error.to_string()))),
        }
    }
    parts
}

/// What a byte of the file belongs to: which PV, which part of what is known of it, and which block.
fn owner(whole: &Segment, place: u64) -> (u32, &'static str, usize) {
    for record in whole.records().unwrap() {
        let entries = whole.index(&record).unwrap();
        let hit = |entry: &Entry| (entry.offset..entry.offset + u64::from(entry.len)).contains(&place);
        if let Some(block) = entries.iter().position(hit) {
            return (record.pv.0, "block", block);
        }
        let mut start = record.tables_at;
        for (name, len) in ["index", "summaries", "levels"].into_iter().zip(record.lens) {
            if (start..start + u64::from(len)).contains(&place) {
                return (record.pv.0, name, 0);
            }
            start += u64::from(len);
        }
    }
    let footer = whole.footer().unwrap();
    if place < HEADER_LEN as u64 {
        return (0, "header", 0);
    }
    assert!(place >= footer.pages_at, "byte {place} belongs to nothing");
    if place < footer.names_at {
        return (0, "page", ((place - footer.pages_at) / PAGE_LEN as u64) as usize);
    }
    let names = place < whole.manifest.bytes - (TAIL_LEN + directory::footer_len(footer)) as u64;
    (0, if names { "names" } else { "end" }, 0)
}

#[test]
fn each_flipped_byte_hurts_what_it_belongs_to_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder.path()));
    let manifest = small(&disk);
    let whole = Segment::new(disk.clone(), manifest.clone());
    let (bytes, names) = (std::fs::read(folder.path().join("a.seg")).unwrap(), whole.names().unwrap());
    assert!(whole.records().unwrap()[0].lens[Table::Levels as usize] > 0, "the first PV has levels");
    let expected = parts(&whole, &(1..=60).collect::<Vec<_>>());
    for (place, byte) in bytes.iter().enumerate() {
        let (pv, part, number) = owner(&whole, place as u64);
        // On both pages, next to what was hit and far from it.
        let mut pvs = vec![2, 46, 47, 60, pv, pv + 1, pv.saturating_sub(1)];
        pvs.retain(|pv| (1..=60).contains(pv));
        pvs.sort_unstable();
        pvs.dedup();
        disk.write_at("a.seg", place as u64, &[byte ^ (1 << (place % 8))]).unwrap();
        let damaged = Segment::new(disk.clone(), manifest.clone());
        assert_eq!(damaged.footer().is_err(), part == "end", "byte {place}");
        if part != "end" {
            assert_eq!(damaged.header().is_err(), part == "header", "byte {place}");
            assert_eq!(damaged.names().map_err(drop), if part == "names" { Err(()) } else { Ok(names.clone()) });
            let found = parts(&damaged, &pvs);
            for expected in expected.iter().filter(|expected| pvs.contains(&expected.0)) {
                let &(of, what, which, _) = expected;
                let lost = part == "page" && number == usize::from(of > 46)
                    || of == pv && (what, which) == (part, number)
                    || of == pv && part == "index" && ["summaries", "block"].contains(&what);
                let still = found.contains(expected);
                let told = found.iter().any(|found| (found.0, found.3.is_err()) == (of, true));
                assert!(if lost { !still && told } else { still }, "byte {place} of {part}: {what} {which} of PV {of}");
            }
        }
        disk.write_at("a.seg", place as u64, &[*byte]).unwrap();
    }
}

#[test]
fn the_index_of_full_blocks_is_a_thousandth_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder.path()));
    let mut writer = SegmentWriter::new(disk.clone(), "a.seg".into(), 3, Timestamp::from_nanos(5));
    let noise = |i: i64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 44;
    for block in 0..80 {
        let mut batch = Batch::new(sample::ValueType::scalar(sample::Element::F64));
        for i in block * 8192..(block + 1) * 8192 {
            let time = Timestamp::from_nanos(1_793_491_200_000_000_000 + i * 100_000_000 + noise(i) / 10);
            let value = Value::F64((noise(i * 31) >> 4) as f64);
            assert!(batch.push(&Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None }));
        }
        writer.add(PvId(1), &batch, Effort::Merge).unwrap();
    }
    let manifest = writer.finish(&named).unwrap().unwrap();
    let blocks = manifest.tables_at - HEADER_LEN as u64;
    let index = Segment::new(disk, manifest).record(PvId(1)).unwrap().unwrap().lens[Table::Index as usize];
    assert!(u64::from(index) * 1000 <= blocks, "{index} bytes of index for {blocks} of blocks");
}
