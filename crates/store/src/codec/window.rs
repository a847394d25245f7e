//! The window in which most of some numbers lie, and the patches for those that lie outside.
//!
//! Packing by the least and the greatest number lets one outlier in a thousand decide the width of all. A window of 2^width
//! numbers that leaves some out is smaller: scan jitter of 8192 samples needs 19 bits, or 18 and seventy patches.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::bits;

/// Numbers looked at to place a window. More do not find a better place, and sorting them takes longer than packing.
const LOOKED_AT: usize = 256;
/// What a patch takes, about: the gap to it, and its high bits.
const PATCH_BYTES: f64 = 2.5;
/// A window less than so many bits wider than the middle of the numbers is tried.
const WIDER: u32 = 6;

/// From `least` up to 2^`width` beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) least: i64,
    pub(crate) width: u32,
}

/// What a look at some numbers tells of all.
#[derive(Clone, Debug)]
pub(crate) struct WindowLook {
    min: i64,
    /// The width of the window that leaves none out.
    width: u32,
    /// How far above `min` those lie that were looked at, sorted.
    sorted: Vec<u64>,
}

impl WindowLook {
    /// At numbers between `min` and `max`.
    pub(crate) fn at(numbers: &[i64], min: i64, max: i64) -> WindowLook {
        let stride = numbers.len().div_ceil(LOOKED_AT) | 1; // odd, so that it does not go along with what repeats itself
        let mut sorted: Vec<u64> = numbers.iter().step_by(stride).map(|n| n.wrapping_sub(min) as u64).collect();
        sorted.sort_unstable();
        WindowLook { min, width: bits::width(max.wrapping_sub(min) as u64), sorted }
    }

    fn at_share(&self, share: f64) -> u64 {
        let place = (self.sorted.len() as f64 * share) as usize;
        self.sorted.get(place).or(self.sorted.last()).copied().unwrap_or(0)
    }

    /// The window that leaves none out.
    pub(crate) fn whole(&self) -> Window {
        Window { least: self.min, width: self.width }
    }

    /// The window that packs them best, as far as the look tells, and the bits that a number takes then.
    pub(crate) fn best(&self) -> (Window, f64) {
        let (mut best, mut cost) = (self.whole(), f64::from(self.width));
        let middle = bits::width(self.at_share(0.9) - self.at_share(0.1));
        for width in middle..self.width.min(middle + WIDER) {
            let (window, outside) = self.densest(width);
            let patched = f64::from(width) + outside * PATCH_BYTES * 8.0;
            if patched < cost {
                (best, cost) = (window, patched);
            }
        }
        (best, cost)
    }

    /// The place where a window of that width leaves the smallest share out, and that share.
    fn densest(&self, width: u32) -> (Window, f64) {
        let reach = (1u64 << width.min(63)) - 1;
        let (mut end, mut inside, mut low, mut high) = (0, 0, 0, 0);
        for (start, first) in self.sorted.iter().enumerate() {
            while let Some(next) = self.sorted.get(end).filter(|next| **next - first <= reach) {
                end += 1;
                if end - start > inside {
                    (inside, low, high) = (end - start, *first, *next);
                }
            }
        }
        // What room is left goes below, where the least of all lies if it is near, else to both sides.
        let room = reach - (high - low);
        let below = if low <= room { low } else { room / 2 };
        let least = self.min.wrapping_add((low - below) as i64);
        (Window { least, width }, (self.sorted.len() - inside) as f64 / self.sorted.len().max(1) as f64)
    }

    /// How many different numbers were seen, and whether each was seen often.
    pub(crate) fn distinct(&self) -> usize {
        self.sorted.chunk_by(|a, b| a == b).count()
    }

    /// The bits a number would take in a perfect entropy coder that knows the distribution, estimated by the distances of
    /// neighbours (Vasicek 1976).
    pub(crate) fn entropy(&self) -> f64 {
        let reach = (self.sorted.len() / 16).max(1);
        let ahead = self.sorted.iter().skip(2 * reach);
        let scale = self.sorted.len() as f64 / (2 * reach) as f64;
        let (mut sum, mut count) = (0.0, 0.0f64);
        for (low, high) in self.sorted.iter().zip(ahead) {
            sum += ((high - low) as f64 * scale).max(1.0).log2();
            count += 1.0;
        }
        sum / count.max(1.0)
    }
}

/// Whether most numbers lie near one end of their range, so that few decide the width of all.
pub(crate) fn has_outliers(numbers: &[i64], min: i64, max: i64) -> bool {
    let range = max.wrapping_sub(min) as u64;
    let above = |number: &i64| number.wrapping_sub(min) as u64;
    // Most lists cannot overflow, and such sums are taken several numbers at once.
    let sum = match bits::width(range) + bits::width(numbers.len() as u64) < u64::BITS {
        true => numbers.iter().map(above).fold(0, u64::wrapping_add),
        false => numbers.iter().map(above).fold(0, u64::saturating_add),
    };
    let mean = sum / numbers.len().max(1) as u64;
    bits::width(range) >= 3 + bits::width(mean.min(range.saturating_sub(mean)))
}

/// The least and the greatest.
pub(crate) fn extremes(numbers: &[i64]) -> (i64, i64) {
    numbers.iter().fold((i64::MAX, i64::MIN), |(min, max), number| (min.min(*number), max.max(*number)))
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use super::*;

    fn look(numbers: &[i64]) -> WindowLook {
        let (min, max) = extremes(numbers);
        WindowLook::at(numbers, min, max)
    }

    #[test]
    fn an_outlier_does_not_widen_the_window() {
        let mut numbers: Vec<i64> = (0..1000).map(|i| 50 + i % 16).collect();
        numbers[504] = i64::MAX;
        numbers[308] = i64::MIN;
        let (window, _) = look(&numbers).best();
        assert_eq!((window.least, window.width), (50, 4));
        assert_eq!(look(&numbers).whole().width, 64);
    }

    #[test]
    fn the_estimated_entropy_is_near_the_true_one() {
        let numbers: Vec<i64> = (0..4096u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as i64).collect();
        let entropy = look(&numbers).entropy();
        assert!((entropy - 12.0).abs() < 0.5, "{entropy}");
        assert_eq!(look(&[5; 300]).entropy(), 0.0);
    }
}
