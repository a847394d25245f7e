//! Pairs: a shard and its copy, two archives with the same PVs at two nodes. A copy has a number like any shard, behind that of the site.
//!
//! ```text
//!   0 … shards-1   shards of PVs     17.a, …       in the shared store
//!   shards         the site          32.a
//!   shards+1 …     their copies      17.b, …       where some policy says `copies = 2`; else there are none
//! ```

use archive::Copies;
use shared::Shard;

use crate::numbers::SHARDS_END;

/// The numbers of the shards of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairs {
    shards: u32,
    copies: Copies,
}

impl Pairs {
    /// Of so many shards of PVs, each with a copy if there are two.
    pub fn new(shards: u32, copies: Copies) -> Pairs {
        Pairs { shards, copies }
    }

    /// The shard of what belongs to no PV.
    pub fn site(self) -> u32 {
        self.shards
    }

    /// How many shards there are, the site and copies included.
    pub fn all(self) -> u32 {
        match self.copies {
            Copies::One => self.shards + 1,
            Copies::Two => (2 * self.shards + 1).min(SHARDS_END),
        }
    }

    /// The copy of a shard; none if it has none, or is one.
    pub fn copy_of(self, shard: u32) -> Option<u32> {
        (shard < self.shards).then_some(self.shards + 1 + shard).filter(|copy| *copy < self.all())
    }

    /// The shard of which this is the copy; none if it is none.
    pub fn copied(self, number: u32) -> Option<u32> {
        number.checked_sub(self.shards + 1).filter(|_| number < self.all())
    }

    /// The other one of the pair.
    pub fn other(self, number: u32) -> Option<u32> {
        self.copy_of(number).or_else(|| self.copied(number))
    }

    /// As the shared store knows it.
    pub fn archive(self, number: u32) -> Option<Shard> {
        match self.copied(number) {
            Some(shard) => Shard::new(shard, 'b'),
            None => Shard::new(number, 'a'),
        }
    }

    /// The number of what the shared store knows so; none if there is no such shard.
    pub fn number(self, archive: &Shard) -> Option<u32> {
        (0..self.all()).find(|number| self.archive(*number).as_ref() == Some(archive))
    }

    /// As it is called in sentences.
    pub fn called(self, number: u32) -> String {
        match self.copied(number) {
            Some(shard) => format!("shard {number}, the copy of shard {shard},"),
            None => format!("shard {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shard_of_pvs_has_one_copy_and_the_site_none() {
        let pairs = Pairs::new(3, Copies::Two);
        assert_eq!((pairs.site(), pairs.all()), (3, 7));
        assert_eq!(
            (0..8).map(|number| pairs.other(number)).collect::<Vec<_>>(),
            [Some(4), Some(5), Some(6), None, Some(0), Some(1), Some(2), None]
        );
        let archives: Vec<String> = (0..7).map(|number| pairs.archive(number).unwrap().to_string()).collect();
        assert_eq!(archives, ["0.a", "1.a", "2.a", "3.a", "0.b", "1.b", "2.b"]);
        assert!((0..7).all(|number| pairs.number(&pairs.archive(number).unwrap()) == Some(number)));
        assert_eq!(pairs.called(5), "shard 5, the copy of shard 1,");
    }

    #[test]
    fn where_no_policy_wants_copies_there_are_the_shards_and_the_site() {
        let pairs = Pairs::new(3, Copies::One);
        assert_eq!((pairs.all(), pairs.copy_of(0), pairs.copied(4), pairs.other(4)), (4, None, None, None));
        assert_eq!(pairs.number(&Shard::new(0, 'b').unwrap()), None);
    }
}
