//! Parquet files, read back by another reader than their writer's, hold what the Arrow streams hold.

use crate::served;

use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use axum::body::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use sample::{Alarm, Batch, Column, Runs, Timestamp};
use served::{Archive, time};
use store::Store;

const RANGE: &str = "from=2025-12-31T23:59:59Z&to=2026-01-02T00:00:00Z";

/// Each row as a text, so that batches of other sizes compare.
fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let of = |batch: &RecordBatch| {
        let row = |row: usize| batch.columns().iter().map(|column| format!("{:?}", column.slice(row, 1))).collect();
        (0..batch.num_rows()).map(row).collect::<Vec<String>>()
    };
    batches.iter().flat_map(of).collect()
}

fn in_parquet(archive: &Archive, pv: &str, more: &str) -> (usize, Vec<RecordBatch>) {
    let answer = archive.get(&format!("/api/v1/pvs/{pv}/samples?{RANGE}&format=parquet{more}"));
    assert_eq!((answer.status, answer.whole), (200, true), "{}", answer.text());
    let file = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(answer.body)).unwrap();
    let groups = file.metadata().num_row_groups();
    (groups, file.build().unwrap().map(Result::unwrap).collect())
}

fn in_arrow(archive: &Archive, pv: &str) -> Vec<RecordBatch> {
    let answer = archive.get(&format!("/api/v1/pvs/{pv}/samples?{RANGE}&format=arrow"));
    StreamReader::try_new(answer.body.as_slice(), None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_type_is_kept_exactly() {
    let archive = Archive::with_history();
    for pv in ["T:ARRAY", "T:BYTE", "T:DOUBLE", "T:ENUM", "T:LONG", "T:NONE", "T:STRING", "T:STRUCTURE"] {
        let (_, read) = in_parquet(&archive, pv, "");
        let streamed = in_arrow(&archive, pv);
        assert_eq!(rows(&read), rows(&streamed), "{pv}");
        assert_eq!(read.is_empty(), pv == "T:NONE");
        for (a, b) in read.iter().zip(&streamed) {
            assert_eq!(a.schema().fields(), b.schema().fields(), "{pv}");
        }
    }
}

#[test]
fn a_file_holds_one_type_and_no_more_than_the_limit() {
    let archive = Archive::with_history();
    let changing = archive.get(&format!("/api/v1/pvs/T:CHANGE/samples?{RANGE}&format=parquet"));
    assert_eq!((changing.status, &changing.json()["error"]["code"]), (409, &"conflict".into()));
    assert_eq!(rows(&in_parquet(&archive, "T:CHANGE", "&limit=1").1).len(), 1);
    assert_eq!(rows(&in_parquet(&archive, "T:LONG", "&limit=0").1).len(), 0);
}

/// More than two row groups.
fn fill_much(store: &Store) {
    const ROWS: i64 = 300_000;
    let writer = store.writer();
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    let pv = writer.register(&[(PvName::new("T:MUCH").unwrap(), settings)], &By::new("test", time(0.0))).unwrap()[0].id;
    let times = (0..ROWS).map(|row| Timestamp::from_nanos(time(0.0).nanos() + row * 1000)).collect();
    let values = Column::F64((0..ROWS).map(|row| (row as f64).sqrt()).collect());
    let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
    alarms.push(&Alarm::default(), ROWS as usize);
    pulses.push(&0, ROWS as usize);
    let batch = Batch::from_columns(times, values, alarms, pulses).unwrap();
    writer.append(&[(pv, Record::Samples(batch))], time(0.0)).unwrap();
}

#[test]
fn long_answers_are_made_a_group_at_a_time() {
    let archive = Archive::start(fill_much, |config| config);
    let (groups, read) = in_parquet(&archive, "T:MUCH", "");
    assert_eq!(groups, 3);
    assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), 300_000);
    let streamed = in_arrow(&archive, "T:MUCH");
    assert_eq!(rows(&read[..2]), rows(&streamed)[..rows(&read[..2]).len()]);
}
