//! Reading while samples arrive, heads are flushed and segments are merged: what was appended before a read is always in it.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use archive::PvId;
use common::{append, at, register, sample, wait_until};
use sample::{Sample, TimeRange, Value};
use store::{Config, Error, Reader, Store};

const ROUNDS: u64 = 400;
const ROWS: u64 = 100;

fn samples(round: u64) -> Vec<Sample> {
    (0..ROWS).map(|i| sample((round * ROWS + i) as i64, Value::F64(i as f64 / 8.0))).collect()
}

/// Tells everyone that it is over, when dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Reads everything and counts it; nothing may be missing in between.
fn read_and_verify(reader: &Reader, pv: PvId, appended: &AtomicU64) {
    let before = appended.load(SeqCst);
    let mut next = 0;
    for batch in reader.samples(pv, TimeRange::ALL) {
        for time in batch.unwrap().times() {
            assert_eq!(time.nanos(), next, "of {before} samples at least");
            next += 1;
        }
    }
    assert!(next as u64 >= before, "{next} of at least {before}");
    let last = reader.last_before(pv, at(i64::MAX)).unwrap().map_or(0, |last| last.time.nanos() + 1);
    assert!(last as u64 >= before);
}

#[test]
fn no_sample_is_ever_missing_between_head_segment_and_merged_segment() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { head_bytes_max: 30_000, ..Config::new(folder.path()) };
    let store = Store::open(config, at(0)).unwrap();
    let pv = register(&store, &["A"]).unwrap()[0];
    let (appended, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _over = Over(&over); // so that a panic ends the others, too
                while !over.load(SeqCst) {
                    read_and_verify(&store.reader(), pv, &appended);
                }
            });
        }
        let _over = Over(&over);
        for round in 0..ROUNDS {
            while !over.load(SeqCst)
                && let Err(error) = append(&store, pv, &samples(round))
            {
                assert!(matches!(error, Error::Busy), "{error}");
            }
            appended.store((round + 1) * ROWS, SeqCst);
            if round % 20 == 19 {
                let flushed = || over.load(SeqCst) || store.reader().health().head_bytes < 30_000;
                wait_until("the head is flushed", flushed);
            }
        }
        wait_until("segments are merged", || over.load(SeqCst) || store.reader().health().merged_segments >= 8);
    });
    let health = store.reader().health();
    assert!(health.flushes >= 10 && health.corrupt_blocks == 0, "{health:?}");
    store.close(at(1)).unwrap();
    assert!(store::check(folder.path(), |_| {}).unwrap().is_clean());
}
