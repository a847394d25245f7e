//! PVs by what is missing: samples without room, connections that were lost, silence. Those that are paused are left out.

use std::cmp::Reverse;

use archive::{Brief, Connection, PvName};
use sample::Timestamp;

use super::{active, ranked};
use crate::{
    ask::Ask,
    refusal::Refusal,
    seen::{Look, Sight},
};

/// The samples of a PV in this run for which there was no room.
#[derive(Clone, Debug)]
pub struct DroppedRow {
    /// Which.
    pub name: PvName,
    /// How many.
    pub samples: u64,
}

/// How often the connection of a PV was lost in this run.
#[derive(Clone, Debug)]
pub struct LostConnectionsRow {
    /// Which.
    pub name: PvName,
    /// How often.
    pub lost: u64,
    /// Where it stands; none if acquisition does not know it any more.
    pub connection: Option<Connection>,
}

/// When the newest sample of a PV was.
#[derive(Clone, Debug)]
pub struct SilentRow {
    /// Which.
    pub name: PvName,
    /// When; none if there is no sample.
    pub last_sample: Option<Timestamp>,
}

impl Ask {
    /// The PVs that lost samples in this run for want of room, the most first.
    pub fn dropped_for_room(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<DroppedRow, Refusal>> + Send + use<>, Refusal> {
        let dropped = |of: &Sight<'_>| Some((of.brief?.dropped, ())).filter(|(dropped, ())| *dropped > 0);
        let rows = ranked(self, limit, Look::Fares, active, dropped)?;
        Ok(rows.map(|row| row.map(|(name, samples, ())| DroppedRow { name, samples })))
    }

    /// The PVs by lost connections, the most often first.
    pub fn lost_connections(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<LostConnectionsRow, Refusal>> + Send + use<>, Refusal> {
        let losses = |brief: &Brief| brief.reconnects + u64::from(brief.connection == Connection::Disconnected);
        let lost = |of: &Sight<'_>| of.brief.map(|brief| (losses(brief), brief.connection));
        let rows = ranked(self, limit, Look::Fares, active, lost)?;
        let row = |(name, lost, connection)| LostConnectionsRow { name, lost, connection: Some(connection) };
        Ok(rows.map(move |one| one.map(row)))
    }

    /// The PVs by their newest samples, those that have been silent for longest first.
    pub fn silent(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<SilentRow, Refusal>> + Send + use<>, Refusal> {
        let last = |of: &Sight<'_>| of.brief.map(|_| (Reverse(of.last_sample(self)), ()));
        let rows = ranked(self, limit, Look::Samples, active, last)?;
        Ok(rows.map(|row| row.map(|(name, Reverse(last_sample), ())| SilentRow { name, last_sample })))
    }
}
