//! `pvark-lab history`: an archive of long times, for whoever looks at it with the page.
//!
//! ```text
//!   H:DECADE        a sample a second for ten years, near 20, and one of 95
//!   H:YEAR          ten a second for a year
//!   H:00 … H:19     one a second for a year
//! ```
//! All of it is over when 2026 begins. The PVs are paused, so that the archiver looks for them nowhere.

use std::{fs, path::PathBuf, time::Instant};

use archive::{PvId, Record};
use clap::Args;
use sample::{Batch, Column, Timestamp};
use store::{Config, Durable, Store};

use crate::{
    measure::tell,
    questions::{DAY, SECOND, YEAR, append, moved, register},
    store_bench::{Outcome, merge},
    workload::{Kind, Pace, START, Signal},
};

/// 2019-03-03T17:22:10.123456789Z, when `H:DECADE` is far from all else.
const OUTLIER: i64 = 1_551_633_730_123_456_789;
const OUTLIER_VALUE: f64 = 95.0;
/// The store's clock goes on by so much at a time.
const STRIDE: i64 = 7 * DAY;
const BESIDE: usize = 20;

#[derive(Args)]
pub(crate) struct Options {
    /// Where the archive goes, into `data`; one that is there already, of the same scale, is kept.
    #[arg(long)]
    folder: PathBuf,
    /// How many samples: with 0.1 a tenth of them, as far apart as that makes them.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
}

/// One PV while it is filled.
struct Filling {
    pv: PvId,
    signal: Signal,
    period: i64,
    begin: i64,
    next: i64,
    has_outlier: bool,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let Options { folder, scale, .. } = options;
    if !(*scale > 0.0 && *scale <= 1.0) {
        return Err(format!("a scale of {scale} is not possible: say one above 0, and 1 at most").into());
    }
    let (data, note, made_of) = (folder.join("data"), folder.join("made-of"), format!("history {scale}"));
    if fs::read_to_string(&note).is_ok_and(|there| there == made_of) {
        return tell_kept(&made_of);
    }
    if data.exists() {
        return Err(format!("{} has another archive: say another folder", folder.display()).into());
    }
    fs::create_dir_all(folder)?;
    let began = Instant::now();
    let mut config = Config::new(&data);
    config.durable = Durable::Off;
    let decade = START - 10 * YEAR;
    let store = Store::open(config, Timestamp::from_nanos(decade))?;
    let slower = |period: i64| (period as f64 / scale) as i64;
    let mut names = vec!["H:DECADE".to_owned(), "H:YEAR".to_owned()];
    names.extend((0..BESIDE).map(|number| format!("H:{number:02}")));
    let mut filling: Vec<Filling> = Vec::new();
    for (number, pv) in register(&store, &names)?.into_iter().enumerate() {
        let (period, begin) = match number {
            0 => (slower(SECOND), decade),
            1 => (slower(SECOND / 10), START - YEAR),
            _ => (slower(SECOND), START - YEAR),
        };
        let kind = if number == 1 { Kind::Adc } else { Kind::Decimal };
        let signal = Signal::new(kind, Pace::Every(period), number as u64 + 1);
        filling.push(Filling { pv, signal, period, begin, next: begin, has_outlier: number == 0 });
    }
    let (mut stride, mut samples) = (decade, 0);
    while stride < START {
        stride = (stride + STRIDE).min(START);
        for one in &mut filling {
            while one.next < stride {
                let batch = one.batch(stride)?;
                samples += batch.len();
                append(&store, vec![(one.pv, Record::Samples(batch))], stride)?;
            }
        }
    }
    let end = Timestamp::from_nanos(START);
    merge(&store, end)?;
    store.close(end)?;
    fs::write(note, &made_of)?;
    tell(&format!("{samples} samples of {} PVs in {:.1} s", names.len(), began.elapsed().as_secs_f64()));
    Ok(())
}

fn tell_kept(made_of: &str) -> Outcome<()> {
    tell(&format!("{made_of}: there already"));
    Ok(())
}

impl Filling {
    /// The next samples before a time.
    fn batch(&mut self, end: i64) -> Outcome<Batch> {
        let rows = ((end - self.next + self.period - 1) / self.period).min(8192);
        let batch = moved(self.signal.batch(rows as usize), self.begin - START)?;
        self.next += rows * self.period;
        if self.has_outlier { with_outlier(batch, self.period) } else { Ok(batch) }
    }
}

/// The last sample before that moment comes at it, and is the one that nobody expects.
fn with_outlier(batch: Batch, period: i64) -> Outcome<Batch> {
    let (mut times, mut values, alarms, pulses) = batch.into_columns();
    let before = times.iter().rposition(|time| time.nanos() <= OUTLIER);
    let is_here = |row: usize| row + 1 < times.len() || times[row].nanos() + period > OUTLIER;
    if let (Some(row), Column::F64(numbers)) = (before.filter(|row| is_here(*row)), &mut values) {
        times[row] = Timestamp::from_nanos(OUTLIER);
        numbers[row] = OUTLIER_VALUE;
    }
    Batch::from_columns(times, values, alarms, pulses).ok_or_else(|| "the columns have no longer one length".into())
}
