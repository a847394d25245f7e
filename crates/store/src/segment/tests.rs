//! Tests of segments: what is written is found, whole or in parts.

use std::sync::Arc;

use sample::{Alarm, Batch, PvId, PvName, Sample, Timestamp, Value};

use super::*;
use crate::{
    Summary,
    codec::Effort,
    disk::{Disk, RealDisk},
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
        writer.add(PvId(pv), &batch(pv, 3), Effort::Flush).unwrap();
        writer.add(PvId(pv), &batch(pv, 2), Effort::Flush).unwrap();
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
    segment.check_header().unwrap();
}
