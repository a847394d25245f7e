//! The types of samples that the Appliance knows.

use sample::{Element, Shape, ValueType};

/// The type of all samples in a file, by the numbers of `PayloadInfo.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[expect(missing_docs, reason = "the names are the Appliance's own")]
pub enum Payload {
    ScalarString = 0,
    ScalarShort = 1,
    ScalarFloat = 2,
    ScalarEnum = 3,
    ScalarByte = 4,
    ScalarInt = 5,
    ScalarDouble = 6,
    WaveformString = 7,
    WaveformShort = 8,
    WaveformFloat = 9,
    WaveformEnum = 10,
    WaveformByte = 11,
    WaveformInt = 12,
    WaveformDouble = 13,
    V4GenericBytes = 14,
}

impl Payload {
    /// All of them, in the order of their numbers.
    pub const ALL: [Payload; 15] = [
        Payload::ScalarString,
        Payload::ScalarShort,
        Payload::ScalarFloat,
        Payload::ScalarEnum,
        Payload::ScalarByte,
        Payload::ScalarInt,
        Payload::ScalarDouble,
        Payload::WaveformString,
        Payload::WaveformShort,
        Payload::WaveformFloat,
        Payload::WaveformEnum,
        Payload::WaveformByte,
        Payload::WaveformInt,
        Payload::WaveformDouble,
        Payload::V4GenericBytes,
    ];

    /// The type with that number in a header.
    pub fn from_number(number: i32) -> Option<Payload> {
        Payload::ALL.into_iter().find(|payload| *payload as i32 == number)
    }

    /// The type that the Appliance's configuration calls so: `DBR_SCALAR_DOUBLE`.
    pub fn from_name(name: &str) -> Option<Payload> {
        const NAMES: [&str; 15] = [
            "SCALAR_STRING",
            "SCALAR_SHORT",
            "SCALAR_FLOAT",
            "SCALAR_ENUM",
            "SCALAR_BYTE",
            "SCALAR_INT",
            "SCALAR_DOUBLE",
            "WAVEFORM_STRING",
            "WAVEFORM_SHORT",
            "WAVEFORM_FLOAT",
            "WAVEFORM_ENUM",
            "WAVEFORM_BYTE",
            "WAVEFORM_INT",
            "WAVEFORM_DOUBLE",
            "V4_GENERIC_BYTES",
        ];
        let place = NAMES.iter().position(|own| name.strip_prefix("DBR_") == Some(*own))?;
        Payload::ALL.get(place).copied()
    }

    /// What its values are here. Bytes are signed, as Java has them; a structure is kept as such.
    pub fn value_type(self) -> ValueType {
        let element = self.element();
        match self.shape() {
            Shape::Scalar => ValueType::scalar(element),
            Shape::Array => ValueType::array(element),
        }
    }

    /// Whether its values are single or arrays.
    pub(crate) fn shape(self) -> Shape {
        let is_array = (Payload::WaveformString as i32..=Payload::WaveformDouble as i32).contains(&(self as i32));
        if is_array { Shape::Array } else { Shape::Scalar }
    }

    /// What its values are made of.
    pub(crate) fn element(self) -> Element {
        match self {
            Payload::ScalarString | Payload::WaveformString => Element::String,
            Payload::ScalarShort | Payload::WaveformShort => Element::I16,
            Payload::ScalarFloat | Payload::WaveformFloat => Element::F32,
            Payload::ScalarEnum | Payload::WaveformEnum => Element::Enum,
            Payload::ScalarByte | Payload::WaveformByte => Element::I8,
            Payload::ScalarInt | Payload::WaveformInt => Element::I32,
            Payload::ScalarDouble | Payload::WaveformDouble => Element::F64,
            Payload::V4GenericBytes => Element::Structure,
        }
    }
}
