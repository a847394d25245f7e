//! What a takeover takes of the node that takes: measured with a real store on the twin of the shared store, a thousand rows of changes behind
//! the last copy of the catalogue and the log of a minute.

use std::{sync::Arc, time::Duration};

use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
use sample::{Alarm, Batch, Sample, Timestamp, Value};
use shared::{Owner, Settings, Shard, Shared, twin::Memory};
use store::{Config, Shipping, Store, disk::RealDisk};

use crate::{measure::Stopwatch, store_bench::Outcome};

/// Each PV has so many samples that are committed and not in blocks.
const SAMPLES_EACH: usize = 10;

/// At most so many names are registered at a time.
const NAMES_AT_ONCE: usize = 1000;

/// Nobody waits longer for the journal.
const PATIENCE: Duration = Duration::from_secs(60);

/// What it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takeover {
    /// Seconds of processor for each PV, until samples are taken again.
    pub(super) opened_pv: f64,
    /// Bytes of the catalogue for each PV.
    pub(super) catalogue_bytes_pv: f64,
    /// Seconds of processor for each sample of the log that is read again.
    pub(super) replayed_sample: f64,
}

impl Takeover {
    pub(super) fn in_words(&self) -> String {
        let Takeover { opened_pv, catalogue_bytes_pv, replayed_sample } = self;
        format!(
            "a takeover, measured: {:.2} µs of processor and {catalogue_bytes_pv:.0} bytes of catalogue a PV until it records again, then {:.2} µs \
             for each sample of the log",
            1e6 * opened_pv,
            1e6 * replayed_sample
        )
    }
}

pub(super) fn measure(pvs: usize) -> Outcome<Takeover> {
    let shared: Arc<dyn Shared> = Arc::new(Memory::default());
    let folder = tempfile::tempdir()?;
    let before = open(&shared, folder.path().join("before"), 1)?;
    before.replay()?;
    let start = Timestamp::from_nanos(1_700_000_000_000_000_000);
    let names: Vec<_> =
        (0..pvs).map(|number| PvName::new(&format!("LAB:{number:07}:VALUE"))).collect::<Result<_, _>>()?;
    let mut ids = Vec::new();
    for names in names.chunks(NAMES_AT_ONCE) {
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let wanted: Vec<_> = names.iter().map(|name| (name.clone(), settings.clone())).collect();
        ids.extend(before.writer().register(&wanted, &By::new("the lab", start))?.iter().map(|entry| entry.id));
    }
    for row in 0..SAMPLES_EACH as i64 {
        let at = start.saturating_add(Duration::from_secs(row as u64));
        for (number, id) in ids.iter().enumerate() {
            let value = Value::F64(row as f64 + number as f64 / 7.0);
            let sample = Sample { time: at, value, alarm: Alarm::default(), pulse: 0, stamp: None };
            before.writer().append(&[(*id, Record::Samples(Batch::holding(sample)))], at)?;
        }
    }
    let samples = (pvs * SAMPLES_EACH) as u64;
    let deadline = std::time::Instant::now() + PATIENCE;
    while before.reader().watermark().durable < samples {
        if std::time::Instant::now() > deadline {
            return Err("what was appended did not become durable within a minute".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }

    let (opening, catalogue) = (Stopwatch::start(), catalogue_bytes(&shared)?);
    let next = open(&shared, folder.path().join("next"), 2)?;
    let opened = opening.passed().cpu;
    let replaying = Stopwatch::start();
    next.replay()?;
    let replayed = replaying.passed().cpu;
    Ok(Takeover {
        opened_pv: opened / pvs as f64,
        catalogue_bytes_pv: catalogue / pvs as f64,
        replayed_sample: replayed / samples as f64,
    })
}

/// The one shard that there is.
fn shard() -> Shard {
    Shard::new(3, 'a').expect("a small letter")
}

/// A node takes it.
fn open(shared: &Arc<dyn Shared>, folder: std::path::PathBuf, incarnation: u64) -> Outcome<Store> {
    std::fs::create_dir_all(&folder)?;
    let owner = Owner::take(Arc::clone(shared), shard(), "lab", incarnation, 1, Settings::default())?;
    let now = Timestamp::from_nanos(1_700_000_000_000_000_000 + incarnation as i64 * 1_000_000_000_000);
    Ok(Store::open_shard(Arc::new(RealDisk::new(&folder)), Config::new(&folder), owner, Shipping::default(), now)?)
}

/// What the journal and what it names hold of the catalogue.
fn catalogue_bytes(shared: &Arc<dyn Shared>) -> Outcome<f64> {
    let rows = shared.rows(shard().journal(), shared::Seq(0), usize::MAX)?;
    let mut bytes: u64 = rows.iter().map(|row| row.len() as u64).sum();
    for kind in ["body", "image"] {
        for key in shared.list(&format!("{}/{kind}/", shard()), "", usize::MAX)? {
            bytes += shared.len(&key)?.unwrap_or_default();
        }
    }
    Ok(bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_shard_is_taken_and_what_it_takes_is_known() {
        let takeover = measure(50).unwrap();
        assert!(takeover.catalogue_bytes_pv > 20.0 && takeover.catalogue_bytes_pv < 10_000.0, "{takeover:?}");
        assert!(takeover.opened_pv > 0.0 && takeover.replayed_sample > 0.0);
    }
}
