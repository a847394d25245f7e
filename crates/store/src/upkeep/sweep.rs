//! The sweep of a shard: what owners that were stopped have left in the shared store, and no row of the journal names, goes from there.

use std::time::{Duration, Instant};

use shared::{Orphans, Swept};

use crate::{Error, engine::Engine, upkeep::stop::Stop};

/// The first look comes so long after a shard was taken; a node that has just come has other things to do.
const FIRST: Duration = Duration::from_secs(3600);
/// And so much later for each number of the shard, so that not all that one node has are looked through at once.
const APART: Duration = Duration::from_secs(120);
/// After that many shards it begins again.
const TURNS: u32 = 60;
/// And another so long after each. An orphan goes a day after it was seen first.
const EVERY: Duration = Duration::from_secs(6 * 3600);

/// Runs until it is told to stop.
pub(crate) fn run(engine: &Engine, stop: &Stop) {
    let turn = engine.owned.as_ref().map_or(0, |owned| owned.shard.number() % TURNS);
    let (mut orphans, mut pause) = (Orphans::default(), FIRST + APART * turn);
    while stop.wait(pause) {
        pause = EVERY;
        let begun = Instant::now();
        match engine.sweep(&mut orphans, &|| !stop.is_asked()) {
            Ok(Swept { removed: 0, .. }) => {}
            Ok(Swept { removed, .. }) => {
                tracing::info!("{removed} pieces that no journal names were removed in {:?}", begun.elapsed());
            }
            Err(error) => tracing::warn!("what no journal names cannot be looked for: {error}"),
        }
    }
}

impl Engine {
    /// Looks through the keys of the shard once, while the owner goes on.
    pub(crate) fn sweep(&self, orphans: &mut Orphans, go_on: &dyn Fn() -> bool) -> Result<Swept, Error> {
        let Some(owned) = self.owned.as_ref().filter(|owned| !owned.holds_merges()) else {
            return Ok(Swept::default());
        };
        let inventory = owned.owner().inventory();
        let Some(inventory) = inventory else { return Ok(Swept::default()) };
        Ok(orphans.sweep(&inventory, owned.since.elapsed(), &|key| owned.is_in_use(key), go_on)?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shared::{Shared, twin::Memory};

    use super::*;
    use crate::store::shard::fixture::taken;

    #[test]
    fn what_an_owner_before_has_left_is_found_and_nothing_that_a_journal_names() {
        let memory = Arc::new(Memory::default());
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        drop(taken(folders[0].path(), &memory));
        memory.put("3.a/seg/0000000000000001/2026-W01/000000000009.seg/000000", b"left").unwrap();
        let store = taken(folders[1].path(), &memory);
        let swept = store.engine.sweep(&mut Orphans::default(), &|| true).unwrap();
        assert_eq!((swept.waiting, swept.removed), (1, 0));
        let stopped = store.engine.sweep(&mut Orphans::default(), &|| false).unwrap();
        assert_eq!(stopped, Swept::default());
    }
}
