//! The archive that is asked: made by the store directly, and kept for the next run if a folder is named.

use std::{fs, path::Path};

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use sample::{Alarm, Arrays, Batch, Column, Runs, Timestamp};
use store::{Config, Durable, Store};

use super::table3::RecordedWaveform;
use crate::{
    store_bench::{Outcome, merge},
    workload::{Kind, Pace, START, Signal},
};

pub(super) const SECOND: i64 = 1_000_000_000;
pub(super) const DAY: i64 = 86_400 * SECOND;
const TENTH: i64 = SECOND / 10;

/// A PV that sends numbers at 10 Hz from the beginning of 2026.
pub(super) struct Numbers {
    pub(super) name: &'static str,
    pub(super) samples: i64,
    kind: Kind,
}

/// As many as the Archiver Appliance's file of half a day has; every bit of the values is noise.
pub(super) const FEW: Numbers = Numbers { name: "LAB:360K", samples: 360_000, kind: Kind::Sine };
/// Seven days.
pub(super) const WEEK: Numbers = Numbers { name: "LAB:7D", samples: 7 * 864_000, kind: Kind::Sine };
/// A year of an ADC of 16 bits.
pub(super) const YEAR: Numbers = Numbers { name: "LAB:YEAR", samples: 365 * 864_000, kind: Kind::Adc };

impl Numbers {
    pub(super) fn signal(&self) -> Signal {
        Signal::new(self.kind, Pace::Every(TENTH), 1)
    }

    pub(super) fn end(&self) -> i64 {
        START + self.samples * TENTH
    }
}

/// The frames of a scenario that are enough for a cell of the table.
pub(super) struct Frames<'a> {
    pub(super) scenario: &'a RecordedWaveform,
    pub(super) count: i64,
}

/// Makes the archive below a folder, unless it is there.
pub(super) fn make(folder: &Path, numbers: &[&Numbers], frames: &[Frames]) -> Outcome<()> {
    let data = folder.join("data");
    let made_of: Vec<String> = (numbers.iter().map(|numbers| format!("{} {}", numbers.name, numbers.samples)))
        .chain(frames.iter().map(|frames| format!("{} {}", frames.scenario.name, frames.count)))
        .collect();
    let (note, made_of) = (folder.join("made-of"), made_of.join("\n"));
    if fs::read_to_string(&note).is_ok_and(|there| there == made_of) {
        return Ok(());
    }
    if data.exists() {
        fs::remove_dir_all(&data)?;
    }
    let mut config = Config::new(&data);
    config.durable = Durable::Off;
    let start = Timestamp::from_nanos(START);
    let store = Store::open(config, start)?;
    let mut last = start;
    for frames in frames {
        let pv = register(&store, &frames.scenario.name)?;
        let mut row = 0;
        while row < frames.count {
            let batch = frames.batch(row);
            row += batch.len() as i64;
            last = last.max(append(&store, pv, batch)?);
        }
    }
    for numbers in numbers {
        let pv = register(&store, numbers.name)?;
        let mut signal = numbers.signal();
        let mut left = numbers.samples as usize;
        while left > 0 {
            let batch = signal.batch(left.min(8192));
            left -= batch.len();
            last = last.max(append(&store, pv, batch)?);
        }
    }
    merge(&store, last)?;
    store.close(last)?;
    Ok(fs::write(note, made_of)?)
}

/// Paused, so that the archiver looks for it nowhere.
fn register(store: &Store, name: &str) -> Outcome<PvId> {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    let entries = store
        .writer()
        .register(&[(PvName::new(name)?, settings)], &By::new("the lab", Timestamp::from_nanos(START)))?;
    Ok(entries.first().ok_or("the store did not take the PV")?.id)
}

/// As the archive would have grown: the clock of the store goes with the samples.
fn append(store: &Store, pv: PvId, batch: Batch) -> Outcome<Timestamp> {
    let time = batch.times()[batch.len() - 1];
    store.tick(time);
    let records = [(pv, Record::Samples(batch))];
    while let Err(error) = store.writer().append(&records, time) {
        if !matches!(error, store::Error::Busy) {
            return Err(error.into());
        }
    }
    Ok(time)
}

impl Frames<'_> {
    /// Zeros but for the first element, which counts: of such a length are the answers in the paper.
    fn batch(&self, first: i64) -> Batch {
        let RecordedWaveform { points, is_integer, rate, .. } = *self.scenario;
        let rows = (self.count - first).min(((4 << 20) / points as i64).clamp(1, 4096));
        let all = rows as usize * points;
        let mut elements = if is_integer { Column::I32(vec![0; all]) } else { Column::F64(vec![0.0; all]) };
        for row in 0..rows as usize {
            match &mut elements {
                Column::I32(all) => all[row * points] = (first + row as i64) as i32,
                Column::F64(all) => all[row * points] = (first + row as i64) as f64,
                _ => {}
            }
        }
        let times = (first..first + rows).map(|row| Timestamp::from_nanos(START + row * SECOND / rate)).collect();
        let arrays = Arrays::from_ends((1..=rows as usize).map(|row| row * points).collect(), elements);
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), rows as usize);
        pulses.push(&0, rows as usize);
        let arrays = Column::Array(arrays.expect("each row has that many elements"));
        Batch::from_columns(times, arrays, alarms, pulses).expect("all columns have that many rows")
    }

    /// The end of the range that holds so many of them.
    pub(super) fn end(&self, count: i64) -> i64 {
        START + (count - 1) * SECOND / self.scenario.rate
    }
}
