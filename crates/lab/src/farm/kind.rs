//! The types that simulated PVs have, and the value of a scalar at an update.

use std::str::FromStr;

use epics::Value;

/// A type of PV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    U8,
    I16,
    I32,
    F32,
    F64,
    Enum,
    String,
}

const NAMES: [(&str, Kind); 7] = [
    ("f64", Kind::F64),
    ("f32", Kind::F32),
    ("i32", Kind::I32),
    ("i16", Kind::I16),
    ("u8", Kind::U8),
    ("enum", Kind::Enum),
    ("string", Kind::String),
];

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let found = NAMES.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind);
        found.ok_or_else(|| format!("{text:?} is no type of PV, expected f64, f32, i32, i16, u8, enum or string"))
    }
}

impl Kind {
    /// How many states an enum has.
    pub(crate) const LABELS: u64 = 16;

    /// Bytes of one element in memory.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Kind::U8 => 1,
            Kind::I16 | Kind::Enum => 2,
            Kind::I32 | Kind::F32 => 4,
            Kind::F64 => 8,
            Kind::String => 40,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F64)
    }

    /// The counter begins again at this number, which is the first that the type cannot hold exactly.
    pub(crate) fn modulus(self) -> u64 {
        match self {
            Kind::U8 => 1 << 8,
            Kind::I16 => 1 << 15,
            Kind::I32 => 1 << 31,
            Kind::F32 => 1 << 24,
            Kind::F64 => 1 << 53,
            Kind::Enum => Kind::LABELS,
            Kind::String => u64::MAX,
        }
    }

    /// The value of a scalar at an update: its number.
    pub(crate) fn scalar(self, number: u64) -> Value {
        let count = number % self.modulus();
        match self {
            Kind::U8 => Value::U8(count as u8),
            Kind::I16 => Value::I16(count as i16),
            Kind::I32 => Value::I32(count as i32),
            Kind::F32 => Value::F32(count as f32),
            Kind::F64 => Value::F64(count as f64),
            Kind::Enum => Value::Enum(count as i32),
            Kind::String => Value::String(count.to_string()),
        }
    }
}
