//! Integers that are looked at in place, where they lie packed.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{
    patches::take_packed,
    read::take,
    tags::{DELTA, PACKED, PATCHED, PATCHED_DELTA},
};
use crate::{
    bytes::{Cursor, Malformed},
    codec::bits::Packed,
};

/// Integers that lie packed, one behind the other: the numbers themselves, or the steps between them.
#[derive(Clone)]
pub(crate) struct Laid<'a> {
    /// The number before the first step; none where there are no steps.
    pub(crate) first: Option<i64>,
    pub(crate) least: i64,
    pub(crate) packed: Packed<'a>,
    /// The place of each packed integer that takes more bits, and how much is added to it.
    pub(crate) patches: Vec<(usize, i64)>,
}

impl<'a> Laid<'a> {
    /// None of numbers that lie in another way.
    pub(crate) fn take(cursor: &mut Cursor<'a>, count: usize) -> Result<Option<Laid<'a>>, Malformed> {
        let Some(codec @ (PACKED | PATCHED | DELTA | PATCHED_DELTA)) = cursor.first().filter(|_| count > 0) else {
            return Ok(None);
        };
        cursor.u8()?;
        let first = if matches!(codec, DELTA | PATCHED_DELTA) { Some(cursor.zigzag()?) } else { None };
        let least = cursor.zigzag()?;
        let count = count - usize::from(first.is_some());
        let (packed, mut patches) = take_packed(cursor, count, matches!(codec, PATCHED | PATCHED_DELTA))?;
        let mut found = Vec::with_capacity(patches.left + 1);
        while patches.next < count {
            found.push((patches.next, patches.high));
            patches.step(patches.next);
        }
        *cursor = patches.end()?;
        Ok(Some(Laid { first, least, packed, patches: found }))
    }

    /// What is packed at a place.
    fn get(&self, place: usize) -> i64 {
        let first = self.patches.partition_point(|(patched, _)| *patched < place);
        let here = self.patches.get(first..).unwrap_or_default().iter().take_while(|(patched, _)| *patched == place);
        let high = here.fold(0i64, |sum, (_, high)| sum.wrapping_add(*high));
        self.least.wrapping_add(self.packed.get(place) as i64).wrapping_add(high)
    }
}

/// Integers that are looked at one by one, in place where they are packed.
pub(crate) enum Lookup<'a> {
    Packed(Laid<'a>),
    All(Vec<i64>),
}

impl<'a> Lookup<'a> {
    pub(crate) fn take(cursor: &mut Cursor<'a>, count: usize) -> Result<Lookup<'a>, Malformed> {
        let is_packed = matches!(cursor.first(), Some(PACKED | PATCHED));
        match is_packed.then(|| Laid::take(cursor, count)).transpose()?.flatten() {
            Some(laid) => Ok(Lookup::Packed(laid)),
            None => take(cursor, count).map(Lookup::All),
        }
    }

    /// The number of a row; 0 beyond them all.
    pub(crate) fn get(&self, row: usize) -> i64 {
        match self {
            Lookup::Packed(laid) => laid.get(row),
            Lookup::All(numbers) => numbers.get(row).copied().unwrap_or_default(),
        }
    }
}
