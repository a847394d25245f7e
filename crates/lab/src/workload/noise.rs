//! Chance: small, seeded, good enough for noise.

/// xorshift64*.
#[derive(Clone)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        // One round of splitmix64, so that neighbouring seeds have nothing in common.
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Noise((z ^ (z >> 31)) | 1)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From 0 up to, not including, `count`.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }

    /// From 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal, of variance 1: the sum of twelve numbers, in four draws of three times 21 bits.
    pub(crate) fn gauss(&mut self) -> f64 {
        const MASK: u64 = (1 << 21) - 1;
        let sum: u64 =
            (0..4).map(|_| self.bits()).map(|bits| (bits >> 43) + (bits >> 22 & MASK) + (bits >> 1 & MASK)).sum();
        (sum as f64 + 6.0) / (1u64 << 21) as f64 - 6.0
    }

    /// Exponential, with that mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}
