//! A strip: integers that lie packed in a block, by which some of them are read again, and checked, without the others.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::{
    block::sections::Section,
    bytes::Cursor,
    codec::{
        bits::{Packed, packed_len},
        int::Laid,
    },
};

/// Integers of all rows that lie packed, in their place in the block.
#[derive(Debug)]
pub(super) struct Strip {
    /// Where they begin.
    at: usize,
    width: u32,
    least: i64,
    of: Of,
    /// Some integers need more than is packed: their places, and how much more in units of 2^width.
    patched: Box<[u16]>,
    highs: Box<[i32]>,
    /// Of the bytes of each of what is decoded at once.
    checks: Box<[u64]>,
}

/// What is packed.
#[derive(Debug)]
enum Of {
    /// A number for each row.
    Rows,
    /// The steps from row to row. The first number of each of what is decoded at once, where it is not known from elsewhere.
    Steps(Box<[i64]>),
}

/// A number and those after it, by the steps between them.
pub(super) fn summed(first: i64, steps: impl IntoIterator<Item = i64>) -> impl Iterator<Item = i64> {
    let mut number = first;
    std::iter::once(first).chain(steps.into_iter().map(move |step| {
        number = number.wrapping_add(step);
        number
    }))
}

impl Strip {
    /// Of integers that lie packed in a block, which may be steps themselves; none if the outline would be too large.
    pub(super) fn of(block: &[u8], laid: &Laid, units: &[Section], are_steps: bool) -> Option<Strip> {
        let (bytes, width) = laid.packed.bits();
        let at = (bytes.as_ptr() as usize).checked_sub(block.as_ptr() as usize)?;
        let patched = laid.patches.iter().map(|(place, _)| u16::try_from(*place).ok()).collect::<Option<_>>()?;
        let high = |high: i64| i32::try_from(high.checked_shr(width).unwrap_or(0)).ok();
        let highs = laid.patches.iter().map(|(_, added)| high(*added)).collect::<Option<_>>()?;
        let of = match laid.first {
            Some(first) => Of::Steps(firsts(first, laid, units)),
            None if are_steps => Of::Steps(Box::default()),
            None => Of::Rows,
        };
        let mut strip = Strip { at, width, least: laid.least, of, patched, highs, checks: Box::default() };
        let check = |unit: &Section| block.get(strip.bytes_of(&unit.rows)).map(xxh3_64);
        strip.checks = units.iter().map(check).collect::<Option<_>>()?;
        Some(strip)
    }

    pub(super) fn bytes(&self) -> usize {
        let firsts = if let Of::Steps(firsts) = &self.of { size_of_val(&**firsts) } else { 0 };
        size_of_val(&*self.patched) + size_of_val(&*self.highs) + size_of_val(&*self.checks) + firsts
    }

    /// The places of what is packed for a section or a part: of steps those within it.
    pub(super) fn places(&self, rows: &Range<usize>) -> Range<usize> {
        match self.of {
            Of::Rows => rows.clone(),
            Of::Steps(_) => rows.start..rows.end.saturating_sub(1),
        }
    }

    /// Where the bytes of a section or a part lie in the block. Both begin where groups of packed numbers do.
    pub(super) fn bytes_of(&self, rows: &Range<usize>) -> Range<usize> {
        let places = self.places(rows);
        let start = self.at + packed_len(places.start, self.width);
        start..start + packed_len(places.len(), self.width)
    }

    /// The packed integers of a section or a part, if its bytes have not changed.
    pub(super) fn unit(&self, unit: usize, rows: &Range<usize>, bytes: &[u8]) -> Option<Vec<i64>> {
        if self.checks.get(unit) != Some(&xxh3_64(bytes)) {
            return None;
        }
        let places = self.places(rows);
        let mut integers = Vec::with_capacity(places.len() + 1);
        let packed = Packed::take(&mut Cursor::new(bytes), places.len(), self.width).ok()?;
        packed.each(0..places.len(), |_, group| {
            integers.extend(group.iter().map(|number| self.least.wrapping_add(*number as i64)));
        });
        let patched = self.patched.partition_point(|place| usize::from(*place) < places.start);
        for (place, high) in self.patched.iter().zip(&self.highs).skip(patched) {
            let Some(integer) = integers.get_mut(usize::from(*place) - places.start) else { break };
            *integer = integer.wrapping_add(i64::from(*high).checked_shl(self.width).unwrap_or(0));
        }
        Some(integers)
    }

    /// The numbers of the rows of a section or a part.
    pub(super) fn numbers(&self, unit: usize, rows: &Range<usize>, bytes: &[u8]) -> Option<Vec<i64>> {
        let packed = self.unit(unit, rows, bytes)?;
        match &self.of {
            Of::Rows => Some(packed),
            Of::Steps(firsts) => Some(summed(*firsts.get(unit)?, packed).collect()),
        }
    }
}

/// The first number of each section or part, where steps lie packed. They begin where groups of them end.
fn firsts(first: i64, laid: &Laid, units: &[Section]) -> Box<[i64]> {
    let mut firsts = Vec::with_capacity(units.len());
    let mut starts = units.iter().map(|unit| unit.rows.start).peekable();
    let last = units.last().map_or(0, |unit| unit.rows.start);
    let mut number = first;
    firsts.extend(starts.next_if_eq(&0).map(|_| number));
    laid.packed.each(0..last, |place, group| {
        // The bits that a sum of many steps loses are lost to the number, too.
        let steps = group.iter().fold(0u64, |sum, step| sum.wrapping_add(*step));
        number = number.wrapping_add(steps as i64).wrapping_add(laid.least.wrapping_mul(group.len() as i64));
        firsts.extend(starts.next_if_eq(&(place + group.len())).map(|_| number));
    });
    let (mut patches, mut high) = (laid.patches.iter().peekable(), 0i64);
    for (number, unit) in firsts.iter_mut().zip(units) {
        while let Some((_, added)) = patches.next_if(|(place, _)| *place < unit.rows.start) {
            high = high.wrapping_add(*added);
        }
        *number = number.wrapping_add(high);
    }
    firsts.into()
}
