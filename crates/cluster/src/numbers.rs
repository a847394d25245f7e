//! Numbers of PVs in a cluster: the shard and the number within it, in one that is the same on every node and after every restart.
//!
//! ```text
//!   number := shard:12 bits local:20 bits
//! ```
//! The ledger divides PVs by their numbers modulo 64, which is the same for both.

use archive::PvId;

/// Bits of the number within a shard.
const LOCAL_BITS: u32 = 20;

/// The most PVs that a shard can ever have: no number is given twice.
pub const PVS_MAX: u32 = 1 << LOCAL_BITS;

/// No shard has this number or a higher one.
pub const SHARDS_END: u32 = 1 << (u32::BITS - LOCAL_BITS);

/// The number in the cluster of a PV that has this one in its shard; none where there is no room for it.
pub fn global(shard: u32, local: PvId) -> Option<PvId> {
    (shard < SHARDS_END && local.0 < PVS_MAX).then_some(PvId(shard << LOCAL_BITS | local.0))
}

/// The shard of a PV, and its number there.
pub fn split(pv: PvId) -> (u32, PvId) {
    (pv.0 >> LOCAL_BITS, PvId(pv.0 & (PVS_MAX - 1)))
}

#[cfg(test)]
mod tests {
    use archive::ledger_share;

    use super::*;

    #[test]
    fn a_number_tells_its_shard_and_has_the_share_of_the_ledger_that_it_has_there() {
        for (shard, local) in [(0, 0), (0, PVS_MAX - 1), (31, 5), (SHARDS_END - 1, 77)] {
            let number = global(shard, PvId(local)).unwrap();
            assert_eq!(split(number), (shard, PvId(local)));
            assert_eq!(ledger_share(number), ledger_share(PvId(local)));
        }
        assert_eq!(global(SHARDS_END, PvId(0)), None);
        assert_eq!(global(0, PvId(PVS_MAX)), None);
    }
}
