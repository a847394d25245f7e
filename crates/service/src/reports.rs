//! Reports: PVs in a certain state, and PVs by what they lost, send and take. Each row has plain fields; each list is made while it is
//! read.

mod losses;
mod rates;
mod states;

use std::cmp::Reverse;

use archive::{Brief, NamePlace, Outline, PvName, PvState};

pub use losses::{DroppedRow, LostConnectionsRow, SilentRow};
pub use rates::{ConsumedRow, EventRateRow, StorageRateRow};
pub use states::{ChangedRow, DisconnectedRow, NamedRow, TimeSpanRow, WaveformRow};

use crate::{
    ask::Ask,
    refusal::Refusal,
    seen::{Look, Sight, Turn, Whom, all_seen},
};

/// What a PV takes in a list that is sorted before it is sent.
const PLACE_BYTES: usize = 32;

/// PVs in order, each with what they were sorted by, and with what is told beside that.
type Ranked<K, V> = Box<dyn Iterator<Item = Result<(PvName, K, V), Refusal>> + Send>;

/// The PVs as they are now, by what `key` says of them, the largest first, each with that and with what is told beside it; those of which
/// it says nothing are left out. Of equal ones the names decide.
fn ranked<K: Ord + Copy + Send + 'static, V: Copy + Send + 'static>(
    ask: &Ask,
    limit: usize,
    look: Look,
    is_meant: impl Fn(&Outline, Option<&Brief>) -> bool,
    key: impl Fn(&Sight<'_>) -> Option<(K, V)>,
) -> Result<Ranked<K, V>, Refusal> {
    ask.room_for_each_name(PLACE_BYTES + size_of::<(K, V)>())?;
    let names = ask.listed().behind.directory.names();
    let keyed = |of: &Turn<'_>| Ok(key(&of.sight).map(|(key, told)| (key, told, of.place)));
    let mut places: Vec<(K, V, NamePlace)> = Vec::new();
    for place in all_seen(ask, names.clone(), (Whom::Pvs, look), is_meant, keyed) {
        places.push(place?);
    }
    places.sort_by_key(|(key, ..)| Reverse(*key));
    let rows = places.into_iter().take(limit);
    Ok(Box::new(rows.filter_map(move |(key, told, place)| Some(Ok((names.at(place)?.name.clone(), key, told))))))
}

/// Every PV.
fn each(_: &Outline, _: Option<&Brief>) -> bool {
    true
}

/// Those that are not paused.
fn active(outline: &Outline, _: Option<&Brief>) -> bool {
    outline.state == PvState::Active
}
