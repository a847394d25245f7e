//! Workloads: what PVs of an accelerator send, made from a seed.

use sample::{Alarm, Column, Runs, Severity, Strings, Timestamp};

/// xorshift64*: small, seeded, good enough for noise.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal, of variance 1.
    pub(crate) fn gauss(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// What a PV sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A 16-bit converter with a slope of 20/65535 and 3 bits of noise.
    Adc,
    /// Three decimals, as a serial device sends them.
    Decimal,
    /// A setpoint that is changed every few minutes.
    Setpoint,
    /// A sine with noise in every bit.
    Sine,
    /// The same for ever.
    Constant,
    /// A counter, 32 bits.
    Counter,
    /// A beam position in nanometres, 32 bits.
    Position,
    /// A state with a few names.
    State,
    /// A vacuum gauge, 32-bit float.
    Vacuum,
    /// A text that changes now and then.
    Text,
}

impl Kind {
    pub(crate) const ALL: [Kind; 10] = [
        Kind::Adc,
        Kind::Decimal,
        Kind::Setpoint,
        Kind::Sine,
        Kind::Constant,
        Kind::Counter,
        Kind::Position,
        Kind::State,
        Kind::Vacuum,
        Kind::Text,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Adc => "adc f64",
            Kind::Decimal => "decimal f64",
            Kind::Setpoint => "setpoint f64",
            Kind::Sine => "sine f64",
            Kind::Constant => "constant f64",
            Kind::Counter => "counter i32",
            Kind::Position => "position i32",
            Kind::State => "state enum",
            Kind::Vacuum => "vacuum f32",
            Kind::Text => "text string",
        }
    }

    /// The values of `count` samples.
    pub(crate) fn values(self, noise: &mut Noise, count: usize) -> Column {
        let phase = noise.unit();
        let slow = |i: usize| (i as f64 / 5000.0 + phase).sin();
        match self {
            Kind::Adc => {
                let code = |noise: &mut Noise, i| (40_000.0 + 2000.0 * slow(i) + 3.0 * noise.gauss()).round();
                Column::F64((0..count).map(|i| code(noise, i) * (20.0 / 65535.0) - 10.0).collect())
            }
            Kind::Decimal => {
                let milli = |noise: &mut Noise, i| (23_457.0 + 300.0 * slow(i) + 2.0 * noise.gauss()).round();
                Column::F64((0..count).map(|i| milli(noise, i) / 1000.0).collect())
            }
            Kind::Setpoint => {
                Column::F64((0..count).map(|i| ((i / 3000) as f64 * phase * 100.0).round() / 10.0).collect())
            }
            Kind::Sine => Column::F64((0..count).map(|i| slow(i) + 1e-3 * noise.gauss()).collect()),
            Kind::Constant => Column::F64(vec![phase; count]),
            Kind::Counter => Column::I32((0..count).map(|i| (i * 17) as i32 + (noise.bits() % 8) as i32).collect()),
            Kind::Position => {
                Column::I32((0..count).map(|i| (50_000.0 * slow(i) + 400.0 * noise.gauss()) as i32).collect())
            }
            Kind::State => Column::Enum((0..count).map(|i| (i / 700 % 4) as i32).collect()),
            Kind::Vacuum => {
                Column::F32((0..count).map(|i| (1e-9 * (1.0 + 0.1 * slow(i) + 0.01 * noise.gauss())) as f32).collect())
            }
            Kind::Text => {
                let texts = ["IDLE", "RAMPING to 3.5 GeV", "TOP-UP", "beam lost: vacuum interlock in cell 12"];
                let strings: Strings = (0..count).map(|i| texts[i / 200 % texts.len()]).collect();
                Column::String(strings)
            }
        }
    }
}

/// Times of a 10 Hz scan that is late by about 100 µs.
pub(crate) fn times(noise: &mut Noise, start: i64, count: usize) -> Vec<Timestamp> {
    let time = |noise: &mut Noise, i: i64| start + i * 100_000_000 + (100_000.0 * noise.gauss().abs()) as i64;
    (0..count as i64).map(|i| Timestamp::from_nanos(time(noise, i))).collect()
}

/// An alarm in one sample of 20,000, for a while.
pub(crate) fn alarms(noise: &mut Noise, count: usize) -> Runs<Alarm> {
    let mut alarms = Runs::default();
    while alarms.len() < count {
        let calm = (noise.bits() % 40_000) as usize;
        alarms.push(&Alarm::default(), calm.min(count - alarms.len()));
        let minor = Alarm { severity: Severity::Minor, status: 4, message: None };
        alarms.push(&minor, 50.min(count - alarms.len()));
    }
    alarms
}
