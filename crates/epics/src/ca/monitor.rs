//! What a client asks of a monitor.

use super::filter::FilterBand;
use crate::mask::Mask;

/// What is subscribed to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Monitor {
    /// Which changes of the value are sent. Changes of units, limits and labels always are.
    pub mask: Mask,
    /// How far a number must move, if the IOC can apply that; `Event::Filtered` says that it does. Changes of alarm are sent
    /// all the same. Some updates come twice.
    pub deadband: Option<FilterBand>,
    /// How arrays of characters are delivered.
    pub char_arrays: CharArrays,
}

/// How arrays of characters are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CharArrays {
    /// As text where the name ends with `$` (`X.DESC$`: "long string"), else as bytes.
    #[default]
    ByName,
    /// As text: for records that keep text in a waveform of characters.
    Text,
    /// As bytes.
    Bytes,
}
