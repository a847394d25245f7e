//! Values: what kinds of PVs there are.

use std::f64::consts::TAU;

use sample::{Column, Strings};

use super::{Noise, Signal};

/// What a PV sends. Drifts are sines of an hour at 10 Hz; noise is gaussian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A 16-bit converter over ±10 V, slope 20/65535: noise of 3 steps, drift of ±20 steps.
    Adc,
    /// A temperature of three decimals, as a serial device sends it: noise of 0.005, drift of ±0.05.
    Decimal,
    /// A setpoint of one decimal that is changed every five minutes or so.
    Setpoint,
    /// A sine of an hour with noise of 0.001: entropy in every bit.
    Sine,
    /// The same for ever.
    Constant,
    /// A counter, 32 bits, that counts 1000 ± 14 between two samples.
    Counter,
    /// A beam position in nanometres, 32 bits: noise of 1.5 µm, drift of ±3 µm.
    Position,
    /// A state of four, for a minute or so each.
    State,
    /// A vacuum gauge, 32-bit float: noise of 1 %, drift of ±10 %.
    Vacuum,
    /// A text of four, for a minute or so each.
    Text,
    /// An integer that walks up and down by at most ten: the values of HALF's test.
    Walk,
}

impl Kind {
    /// Of 20 PVs 8 are converters, 4 decimals, 4 sines, 2 setpoints and 2 constants.
    pub(crate) fn of_mix(number: usize) -> Kind {
        match number % 20 {
            0..8 => Kind::Adc,
            8..12 => Kind::Decimal,
            12..16 => Kind::Sine,
            16..18 => Kind::Setpoint,
            _ => Kind::Constant,
        }
    }

    pub(super) fn first_level(self, noise: &mut Noise) -> f64 {
        match self {
            Kind::Adc => (noise.unit() * 60_000.0).floor(),
            Kind::Decimal => 20_000.0 + (noise.unit() * 10_000.0).floor(),
            Kind::Walk => (noise.unit() * 100_000.0).floor(),
            _ => noise.unit(),
        }
    }
}

/// Samples of an hour at 10 Hz.
const DRIFT_ROWS: f64 = 36_000.0;

pub(super) fn values(signal: &mut Signal, count: usize) -> Column {
    let rows = signal.row..signal.row + count as u64;
    match signal.kind {
        Kind::Adc => Column::F64(rows.map(|row| adc(signal, row)).collect()),
        Kind::Decimal => Column::F64(rows.map(|row| decimal(signal, row)).collect()),
        Kind::Setpoint => {
            let steps = rows.map(|row| kept(signal, row, 3000.0, |noise| noise.below(10_000) as f64 / 10.0));
            Column::F64(steps.collect())
        }
        Kind::Sine => Column::F64(rows.map(|row| drift(signal, row) + 1e-3 * signal.noise.gauss()).collect()),
        Kind::Constant => Column::F64(vec![signal.level; count]),
        Kind::Counter => {
            let ticks = rows.map(|_| {
                signal.level += (1000.0 + 14.0 * signal.noise.gauss()).round();
                signal.level as i64 as i32
            });
            Column::I32(ticks.collect())
        }
        Kind::Position => {
            let nanometres = rows.map(|row| 3000.0 * drift(signal, row) + 1500.0 * signal.noise.gauss());
            Column::I32(nanometres.map(|number| number as i32).collect())
        }
        Kind::State => Column::Enum(rows.map(|row| kept(signal, row, 700.0, state) as i32).collect()),
        Kind::Vacuum => {
            let pressures = rows.map(|row| 1e-9 * (1.0 + 0.1 * drift(signal, row) + 0.01 * signal.noise.gauss()));
            Column::F32(pressures.map(|number| number as f32).collect())
        }
        Kind::Text => {
            let texts = ["IDLE", "RAMPING to 3.5 GeV", "TOP-UP", "beam lost: vacuum interlock in cell 12"];
            let strings: Strings = rows.map(|row| texts[kept(signal, row, 700.0, state) as usize]).collect();
            Column::String(strings)
        }
        Kind::Walk => {
            let steps = rows.map(|_| {
                signal.level += signal.noise.below(21) as f64 - 10.0;
                signal.level as i32
            });
            Column::I32(steps.collect())
        }
    }
}

fn drift(signal: &Signal, row: u64) -> f64 {
    (TAU * (row as f64 / DRIFT_ROWS + signal.phase)).sin()
}

fn adc(signal: &mut Signal, row: u64) -> f64 {
    let steps = (signal.level + 20.0 * drift(signal, row) + 3.0 * signal.noise.gauss()).round();
    steps * (20.0 / 65535.0) - 10.0
}

fn decimal(signal: &mut Signal, row: u64) -> f64 {
    let thousandths = (signal.level + 50.0 * drift(signal, row) + 5.0 * signal.noise.gauss()).round();
    thousandths / 1000.0
}

fn state(noise: &mut Noise) -> f64 {
    noise.below(4) as f64
}

/// A level that stays for `rows` samples in the mean and is then drawn anew.
fn kept(signal: &mut Signal, row: u64, rows: f64, draw: fn(&mut Noise) -> f64) -> f64 {
    if row >= signal.level_until {
        signal.level = draw(&mut signal.noise);
        signal.level_until = row + 1 + signal.noise.exponential(rows) as u64;
    }
    signal.level
}
