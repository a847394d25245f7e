//! Reports: PVs in a certain state, and PVs by what they lost, send and take. Each row has plain fields; each list is made while it is
//! read.

mod losses;
mod rates;
mod states;

use std::cmp::Reverse;

use archive::PvId;

pub use losses::{DroppedRow, LostConnectionsRow, SilentRow};
pub use rates::{ConsumedRow, EventRateRow, StorageRateRow};
pub use states::{ChangedRow, DisconnectedRow, NamedRow, TimeSpanRow, WaveformRow};

use crate::{
    ask::Ask,
    refusal::Refusal,
    seen::{Look, Seen, all_seen, seen},
};

/// What a PV takes in a list that is sorted before it is sent.
const PLACE_BYTES: usize = 32;

/// What is asked of PVs to sort them, and then for their rows.
#[derive(Clone, Copy)]
struct Looks {
    key: Look,
    row: Look,
}

/// PVs in order, each with what they were sorted by.
type Ranked<K> = Box<dyn Iterator<Item = Result<(Seen, K), Refusal>> + Send>;

/// The PVs by what `key` says of them, the largest first; those of which it says nothing are left out.
fn ranked<K: Ord + Copy + Send + 'static>(
    ask: &Ask,
    limit: usize,
    looks: Looks,
    key: impl Fn(&Seen) -> Option<K>,
) -> Result<Ranked<K>, Refusal> {
    ask.room_for_each_name(PLACE_BYTES + size_of::<K>())?;
    let mut places: Vec<(K, PvId)> = Vec::new();
    for (index, seen) in all_seen(ask, looks.key).enumerate() {
        if index % 1024 == 0 {
            ask.go_on()?;
        }
        let seen = seen?;
        places.extend(key(&seen).map(|key| (key, seen.entry.id)));
    }
    places.sort_by_key(|(key, _)| Reverse(*key));
    let places = places.into_iter().take(limit);
    let rows = seen(ask, places, |(_, pv)| Some(*pv), looks.row);
    Ok(Box::new(rows.filter_map(|row| row.map(|((key, _), seen)| Some((seen?, key))).transpose())))
}
