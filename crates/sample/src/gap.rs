//! A gap: a time in which a PV was not recorded, with the reason, kept like any other fact.

use crate::{TimeRange, Timestamp};

/// Why nothing, or not everything, was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum GapCause {
    /// The PV had not been found yet since the archiver started or the PV was added.
    NeverConnected,
    /// The connection to the IOC was lost.
    Disconnected,
    /// Somebody paused the PV.
    Paused,
    /// The archiver was not running.
    ArchiverStopped,
    /// Samples came faster than they could be taken; `lost` of them were dropped.
    QueueFull,
    /// The store refused to write (disk full or failed); `lost` samples were dropped.
    StoreRefused,
    /// The IOC answered with an error instead of values.
    ServerError,
    /// The PV was taken out of the archive, and came back later.
    NotArchived,
    /// All groups of the PV were disabled.
    Disabled,
    /// It was recorded, and the time for which it is kept is over; `lost` samples had it.
    Expired,
    /// It was recorded, and the file of the archive that held it is missing or damaged.
    Damaged,
}

impl GapCause {
    /// All causes, in the order of their numbers on disk.
    pub const ALL: [GapCause; 11] = [
        GapCause::NeverConnected,
        GapCause::Disconnected,
        GapCause::Paused,
        GapCause::ArchiverStopped,
        GapCause::QueueFull,
        GapCause::StoreRefused,
        GapCause::ServerError,
        GapCause::NotArchived,
        GapCause::Disabled,
        GapCause::Expired,
        GapCause::Damaged,
    ];

    /// The name used in answers and metrics.
    pub fn name(self) -> &'static str {
        match self {
            GapCause::NeverConnected => "never_connected",
            GapCause::Disconnected => "disconnected",
            GapCause::Paused => "paused",
            GapCause::ArchiverStopped => "archiver_stopped",
            GapCause::QueueFull => "queue_full",
            GapCause::StoreRefused => "store_refused",
            GapCause::ServerError => "server_error",
            GapCause::NotArchived => "not_archived",
            GapCause::Disabled => "disabled",
            GapCause::Expired => "expired",
            GapCause::Damaged => "damaged",
        }
    }
}

/// A time without (all) samples. It is recorded open when it begins and again, with its end, when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first moment that is not covered. With the PV and the cause it names the gap: recording it again replaces it.
    pub from: Timestamp,
    /// The first moment that is covered again; none while the gap lasts.
    pub to: Option<Timestamp>,
    /// Why.
    pub cause: GapCause,
    /// How many samples are known to be lost; 0 where nobody can know.
    pub lost: u64,
}

impl Gap {
    /// Whether any of the gap lies within `range`.
    pub fn overlaps(&self, range: TimeRange) -> bool {
        self.from < range.t1 && self.to.is_none_or(|to| to > range.t0)
    }
}
