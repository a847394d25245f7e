//! Room for a list of numbers on its way into a codec: short ones, as blocks of slow PVs and tables of few blocks have them, take
//! no memory from the heap. With 150,000 PVs that is what most of the time of a flush went into.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

/// Longer lists lie on the heap.
const SHORT: usize = 128;

/// Where the numbers lie.
pub(crate) struct Room {
    short: [i64; SHORT],
    long: Vec<i64>,
}

impl Default for Room {
    #[inline(always)]
    fn default() -> Room {
        Room { short: [0; SHORT], long: Vec::new() }
    }
}

impl Room {
    /// Puts the numbers there.
    #[inline(always)]
    pub(crate) fn fill(&mut self, numbers: impl ExactSizeIterator<Item = i64>) -> &mut [i64] {
        match self.short.get_mut(..numbers.len()) {
            Some(short) => {
                short.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
                short
            }
            None => {
                self.long.extend(numbers);
                &mut self.long
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lists_and_long_ones_are_what_was_put_there() {
        for count in [0, 1, SHORT as i64, SHORT as i64 + 1, 1000] {
            let expected: Vec<i64> = (0..count).map(|i| i * i).collect();
            assert_eq!(*Room::default().fill(expected.iter().copied()), *expected);
        }
    }
}
