//! Kinds of change, as both protocols name them: Channel Access with each subscription, pvAccess to servers of records.

use std::ops::BitOr;

/// Kinds of change, joined with `|`.
///
/// The default is `ARCHIVE | ALARM`. `ARCHIVE` follows the dead band that the IOC's engineer set for archiving (`ADEL`, by
/// default none), `ALARM` adds changes of severity within it. `VALUE` would follow the dead band for displays (`MDEL`)
/// instead, so what is stored would depend on how smooth a display should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(u16);

impl Mask {
    /// Changes beyond the dead band for displays (`MDEL`).
    pub const VALUE: Mask = Mask(1);
    /// Changes beyond the dead band for archives (`ADEL`).
    pub const ARCHIVE: Mask = Mask(2);
    /// Changes of alarm severity or status.
    pub const ALARM: Mask = Mask(4);
    /// Changes of units, limits and labels, as updates of the value.
    pub const PROPERTY: Mask = Mask(8);

    /// The bits on the wire.
    pub fn bits(self) -> u16 {
        self.0
    }
}

impl Default for Mask {
    fn default() -> Mask {
        Mask::ARCHIVE | Mask::ALARM
    }
}

impl BitOr for Mask {
    type Output = Mask;

    fn bitor(self, other: Mask) -> Mask {
        Mask(self.0 | other.0)
    }
}
