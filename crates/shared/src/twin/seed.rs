//! Numbers that look random and are the same for the same seed (splitmix64, which needs no crate).

/// What gives them.
#[derive(Clone, Debug)]
pub struct Seed(u64);

impl Seed {
    /// From a number; neighbours have nothing in common.
    pub fn new(seed: u64) -> Seed {
        Seed(seed)
    }

    /// The next of 2^64.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of 0, 1, …, `end` - 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    /// Whether something happens that happens so often in 1000 times.
    pub fn happens(&mut self, in_1000: u32) -> bool {
        self.below(1000) < u64::from(in_1000)
    }
}
