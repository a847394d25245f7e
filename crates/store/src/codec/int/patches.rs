//! Patches: what the few numbers have beyond their width that need more bits than the others.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::{
    bytes::{Cursor, Malformed},
    codec::bits::Packed,
};

/// Width, packed numbers and the patches to them.
pub(super) fn take_packed<'a>(
    cursor: &mut Cursor<'a>,
    count: usize,
    patched: bool,
) -> Result<(Packed<'a>, Patches<'a>), Malformed> {
    let width = u32::from(cursor.u8()?);
    let packed = Packed::take(cursor, count, width)?;
    let left = if patched { cursor.count(count)? } else { 0 };
    let mut patches = Patches { cursor: *cursor, left, width, next: usize::MAX, high: 0, broken: None };
    patches.step(0);
    Ok((packed, patches))
}

/// Patches that are read as the numbers come along.
pub(super) struct Patches<'a> {
    cursor: Cursor<'a>,
    pub(super) left: usize,
    width: u32,
    /// The number that is patched next; none if it lies beyond all.
    pub(super) next: usize,
    pub(super) high: i64,
    broken: Option<Malformed>,
}

impl<'a> Patches<'a> {
    /// Reads the next patch.
    pub(super) fn step(&mut self, before: usize) {
        self.next = usize::MAX;
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let patch = self.cursor.varint().and_then(|gap| Ok((gap, self.cursor.zigzag()?)));
        match patch {
            Ok((gap, high)) => {
                self.next = before.saturating_add(usize::try_from(gap).unwrap_or(usize::MAX));
                self.high = high.checked_shl(self.width).unwrap_or(0);
            }
            Err(malformed) => (self.broken, self.left) = (Some(malformed), 0),
        }
    }

    /// Patches a group whose first number is that of `row`.
    pub(super) fn apply(&mut self, row: usize, group: &mut [u64]) {
        while let Some(number) = self.next.checked_sub(row).and_then(|place| group.get_mut(place)) {
            *number = number.wrapping_add(self.high as u64);
            self.step(self.next);
        }
    }

    /// Passes over the patches of the numbers before `row`.
    pub(super) fn skip_to(&mut self, row: usize) {
        while self.next < row {
            self.step(self.next);
        }
    }

    /// Goes on behind the patches, if each has found its number. Whoever wants no rows up to the end has no use for what follows.
    pub(super) fn end_behind(mut self, cursor: &mut Cursor<'a>, end: usize, count: usize) -> Result<(), Malformed> {
        if end == count || self.broken.is_some() {
            self.skip_to(count);
            *cursor = self.end()?;
        }
        Ok(())
    }

    /// What follows the patches, if each has found its number.
    pub(super) fn end(self) -> Result<Cursor<'a>, Malformed> {
        match self.broken {
            Some(malformed) => Err(malformed),
            None if self.left > 0 || self.next != usize::MAX => Err(Malformed("a patch lies beyond the numbers")),
            None => Ok(self.cursor),
        }
    }
}
