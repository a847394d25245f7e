//! Outlines: what is remembered of a block whose checksum was right, so that whoever cuts it again reads one section, or a part of one, and
//! no more.
//!
//! ```text
//!   block     │ · · times · ████ · · · │ · · · values · · ████ · · · │ …      █ bits of one section: read, and compared
//!   outline     all else by which a section is decoded, what each section       with the checksum that the outline has of them
//!               amounts to, and a checksum of the bits of each
//! ```
//! The checksums are taken from bytes that the block's own checksum vouches for, so that whatever happens to the file later is
//! noticed as it would be if the whole block were read. Bits that have another checksum make the block be read as a whole, which
//! then tells what is wrong.
//!
//! It is made when a block is cut that is in memory; whoever waits for a disk is not to wait for this, too. All of the block is summed up in
//! parts then, which takes as long as the cut itself.
//!
//! An outline takes six or seven kilobytes instead of a block's 24. Blocks have one if they tell of their sections, and if their times and
//! numbers are made of packed integers, or of the steps between these: most are, but not what pco has compressed.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

mod strip;

use std::{io, ops::Range};

use sample::{Alarm, Column, Element, Runs, Timestamp, ValueType};

use self::strip::{Strip, summed};
use crate::{
    Summary,
    block::{
        Columns, Numbers, cut,
        sections::{self, Section},
    },
    bytes::{Cursor, Malformed},
    cache::Remember,
    codec::{
        bits::GROUP,
        float::Rule,
        int::Laid,
        time::{self, Clock},
        values,
    },
    free_lists,
};

/// A larger one is not worth its memory.
const BYTES_MAX: usize = 12 << 10;

/// What is read and decoded of a block when it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A section.
    Sections,
    /// A part of one, unless there is no room for all of them.
    Parts,
}

/// Of one block.
#[derive(Debug)]
pub(crate) struct Outline {
    value_type: ValueType,
    count: usize,
    sections: Box<[Section]>,
    /// All parts of all sections; none if sections are decoded as a whole.
    parts: Box<[Section]>,
    /// The time of the first row of each of what is decoded at once.
    starts: Box<[Timestamp]>,
    alarms: Runs<Alarm>,
    clock: Clock,
    /// Of what times are made; none where they lie on a line.
    ticks: Option<Strip>,
    rule: Values,
    /// Of what numbers are made; none where all are the same.
    integers: Option<Strip>,
}

/// How numbers are made of integers.
#[derive(Debug)]
enum Values {
    F64(Rule<f64>),
    F32(Rule<f32>),
    Integers,
}

/// The bytes of what is decoded at once in each of the strips, which are read together: where each part begins in its block, and where it goes.
pub(crate) type Parts<'a, 'b> = &'a mut [(u64, &'b mut [u8])];

impl Outline {
    /// That of a block, verified as these columns; none of one that has none.
    pub(crate) fn of(
        block: &[u8],
        columns: &Columns,
        lookup: &time::Lookup,
        detail: Detail,
    ) -> Result<Option<Outline>, Malformed> {
        let Some(sections) = columns.sections()? else { return Ok(None) };
        if !sections.iter().all(|section| section.rows.start.is_multiple_of(GROUP)) {
            return Ok(None); // those of older blocks begin anywhere
        }
        let (count, value_type) = (columns.count, columns.value_type);
        let parts = if detail == Detail::Parts { parts_of(columns, &sections)? } else { Box::default() };
        let units = if parts.is_empty() { &sections[..] } else { &parts };
        let (times, mut values) = columns.encoded();
        let Some((clock, ticks)) = lookup.laid(times)? else { return Ok(None) };
        let ticks = match ticks.map(|ticks| Strip::of(block, &ticks, units, matches!(clock, Clock::Steps(_)))) {
            Some(None) => return Ok(None),
            ticks => ticks.flatten(),
        };
        let Some(rule) = Values::take(&mut values, value_type.element, count)? else { return Ok(None) };
        let integers = match rule.is_constant() {
            true => None,
            false => match Laid::take(&mut values, count)?.and_then(|laid| Strip::of(block, &laid, units, false)) {
                None => return Ok(None),
                integers => integers,
            },
        };
        let starts = units.iter().map(|unit| lookup.get(unit.rows.start)).collect();
        let mut alarms = Runs::default();
        for (run, alarm) in columns.alarms()?.iter() {
            alarms.push(&Alarm { severity: alarm.severity, ..Alarm::default() }, run.len());
        }
        let sections = sections.into();
        let outline = Outline { value_type, count, sections, parts, starts, alarms, clock, ticks, rule, integers };
        if outline.bytes() <= BYTES_MAX {
            return Ok(Some(outline));
        }
        match detail {
            Detail::Sections => Ok(None),
            // With its parts it would be too large.
            Detail::Parts => Outline::of(block, columns, lookup, Detail::Sections),
        }
    }

    /// What is decoded at once: parts, or sections.
    fn units(&self) -> &[Section] {
        if self.parts.is_empty() { &self.sections } else { &self.parts }
    }

    /// As `cut::pieces` makes them, with the sections or parts that `read` reads. None if these are not what they were, or cannot be
    /// read.
    pub(crate) fn pieces(
        &self,
        whole: &Summary,
        edges: &[Timestamp],
        read: impl Fn(Parts) -> io::Result<()>,
    ) -> Option<Vec<Summary>> {
        let mut taken: Vec<(usize, Numbers)> = Vec::with_capacity(edges.len());
        let mut rows = Vec::with_capacity(edges.len());
        for edge in edges {
            let unit = self.starts.partition_point(|start| start < edge).checked_sub(1)?;
            let start = self.units().get(unit)?.rows.start;
            if taken.last().is_none_or(|(last, _)| *last != start) {
                taken.push((start, self.unit(unit, &read)?));
            }
            let (_, numbers) = taken.last()?;
            rows.push(start + numbers.times.partition_point(|time| time < edge));
        }
        let cuts = cut::cuts(self.count, rows).ok()?;
        if cuts.is_empty() {
            return Some(vec![*whole]);
        }
        let unit_of = |row: usize| self.units().partition_point(|unit| unit.rows.end <= row);
        let time = |row: usize| self.starts.get(unit_of(row)).copied().unwrap_or_default();
        let numbers = |rows: Range<usize>| match taken.iter().position(|(start, _)| *start == rows.start) {
            Some(known) => Ok(taken.swap_remove(known).1),
            // An edge lies where it begins or ends.
            None => self.unit(unit_of(rows.start), &read).ok_or(Malformed("it is not what it was")),
        };
        let made = cut::pieces_of(whole, &cuts, self.concerned(&cuts), time, numbers).ok()?;
        Some(cut::with_alarms(made, &self.alarms, &cuts, self.count))
    }

    /// All sections, but in place of those that cuts concern their parts, where there are some.
    fn concerned<'a>(&'a self, cuts: &'a [usize]) -> impl Iterator<Item = &'a Section> {
        let parts_of = |section: &Section| {
            let first = self.parts.partition_point(|part| part.rows.start < section.rows.start);
            let end = self.parts.partition_point(|part| part.rows.start < section.rows.end);
            self.parts.get(first..end).unwrap_or_default()
        };
        self.sections.iter().flat_map(move |section| {
            let has_parts = !self.parts.is_empty() && cut::is_concerned(&section.rows, cuts);
            if has_parts { parts_of(section) } else { std::slice::from_ref(section) }
        })
    }

    /// The same of the bytes of the block.
    pub(crate) fn pieces_of(&self, block: &[u8], whole: &Summary, edges: &[Timestamp]) -> Option<Vec<Summary>> {
        self.pieces(whole, edges, |parts| {
            for (at, part) in parts {
                let from = usize::try_from(*at).ok().and_then(|at| block.get(at..)?.get(..part.len()));
                part.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
            }
            Ok(())
        })
    }

    /// The rows of one of what is decoded at once.
    fn unit(&self, unit: usize, read: impl Fn(Parts) -> io::Result<()>) -> Option<Numbers> {
        let rows = self.units().get(unit)?.rows.clone();
        let of_strip = |strip: &Option<Strip>| strip.as_ref().map_or(0..0, |strip| strip.bytes_of(&rows));
        let (of_ticks, of_integers) = (of_strip(&self.ticks), of_strip(&self.integers));
        let mut bytes = free_lists::take::<u8>();
        bytes.resize(of_ticks.len() + of_integers.len(), 0);
        let (ticks, integers) = bytes.split_at_mut_checked(of_ticks.len())?;
        let mut parts = [(of_ticks.start as u64, &mut *ticks), (of_integers.start as u64, &mut *integers)];
        let is_read = match (of_ticks.is_empty(), of_integers.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => read(parts.get_mut(1..)?),
            (false, true) => read(parts.get_mut(..1)?),
            (false, false) => read(&mut parts),
        };
        let numbers = is_read.ok().and_then(|()| self.decoded(unit, &rows, (ticks, integers)));
        free_lists::give(bytes);
        numbers
    }

    /// The same out of the bytes of both strips.
    fn decoded(&self, unit: usize, rows: &Range<usize>, (ticks, integers): (&[u8], &[u8])) -> Option<Numbers> {
        let ticks = self.ticks.as_ref().map(|strip| strip.unit(unit, rows, ticks));
        let times: Vec<Timestamp> = match (&self.clock, ticks) {
            (Clock::Line(line), None) => rows.clone().map(|row| line.time(row, 0)).collect(),
            (Clock::Line(line), Some(rests)) => {
                rows.clone().zip(rests?).map(|(row, rest)| line.time(row, rest)).collect()
            }
            (Clock::Steps(tick), ticks) => {
                let start = self.starts.get(unit)?.nanos();
                let steps = ticks??.into_iter().map(|step| step.wrapping_mul(*tick));
                summed(start, steps).map(Timestamp::from_nanos).collect()
            }
        };
        let integers = match &self.integers {
            Some(strip) => strip.numbers(unit, rows, integers)?,
            None => vec![0; rows.len()],
        };
        let values = match &self.rule {
            Values::F64(rule) => Column::F64(rule.floats(&integers)?),
            Values::F32(rule) => Column::F32(rule.floats(&integers)?),
            Values::Integers => values::narrowed(self.value_type.element, &integers)?,
        };
        (times.is_sorted() && times.len() == rows.len()).then_some(Numbers { times, values })
    }
}

impl Remember for Outline {
    fn bytes(&self) -> usize {
        let strips = self.ticks.iter().chain(&self.integers);
        size_of::<Outline>()
            + size_of_val(&*self.sections)
            + size_of_val(&*self.parts)
            + size_of_val(&*self.starts)
            + self.alarms.byte_size()
            + self.rule.bytes()
            + strips.map(Strip::bytes).sum::<usize>()
    }
}

impl Values {
    /// Of a column, whose integers are then what is left of it.
    fn take(values: &mut Cursor, element: Element, count: usize) -> Result<Option<Values>, Malformed> {
        Ok(match element {
            Element::F64 => Rule::take(values, count)?.map(Values::F64),
            Element::F32 => Rule::take(values, count)?.map(Values::F32),
            Element::String | Element::Structure => None,
            _ => Some(Values::Integers),
        })
    }

    fn is_constant(&self) -> bool {
        matches!(self, Values::F64(Rule::Constant(_)) | Values::F32(Rule::Constant(_)))
    }

    fn bytes(&self) -> usize {
        match self {
            Values::F64(rule) => rule.bytes(),
            Values::F32(rule) => rule.bytes(),
            Values::Integers => 0,
        }
    }
}

/// All parts of all sections; none if the sums of one of them are not finite.
fn parts_of(columns: &Columns, sections: &[Section]) -> Result<Box<[Section]>, Malformed> {
    let numbers = columns.numbers(0..columns.count)?;
    let end = numbers.times.last().copied().unwrap_or_default();
    let parts = sections.iter().flat_map(|section| sections::parts(&section.rows));
    let parts: Option<Vec<Section>> = parts.map(|rows| Section::of_part(&numbers, 0, rows, end)).collect();
    Ok(parts.unwrap_or_default().into())
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use archive::PvId;
    use sample::{Batch, Severity};

    use super::*;
    use crate::{
        block::{
            self,
            cut::tests::{noise, signals, times},
        },
        codec::Effort,
    };

    const ROWS: usize = 8192;

    /// Blocks of all signals that bins are made of without looking at each sample, and their summaries.
    fn blocks() -> Vec<(String, Vec<u8>, Summary)> {
        let mut signals = signals(ROWS);
        let scattered = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_pow(3) >> 40;
        let readings = (0..ROWS).map(|i| (scattered(i) % 10_000) as f64 / 1e3).collect();
        signals.push(("readings", Column::F64(readings)));
        signals.push(("slow", Column::I64((0..ROWS as i64).map(|i| i * 1000 + i * i % 7).collect())));
        signals
            .push(("drift", Column::F64((0..ROWS).map(|i| (i as f64 * 3.0 + noise(i) * 2.0).round() / 8.0).collect())));
        let mut blocks = Vec::new();
        for (name, values) in signals {
            for (habit, effort) in (0..4).flat_map(|habit| [(habit, Effort::Flush), (habit, Effort::Merge)]) {
                let mut alarms = Runs::default();
                for row in 0..ROWS {
                    let message = Some(format!("a long story of {row}").into());
                    let severity = Severity::from_number((row / 999) as i64 % 4);
                    alarms.push(&Alarm { severity, status: 7, message: message.filter(|_| row % 999 == 1) }, 1);
                }
                let mut pulses = Runs::default();
                pulses.push(&7, ROWS);
                let batch = Batch::from_columns(times(ROWS, habit), values.clone(), alarms, pulses);
                let batch = batch.expect("the columns are of one length");
                let whole = Summary::of(&batch, 0..ROWS).expect("it is not empty");
                if whole.is_finite() {
                    let mut bytes = Vec::new();
                    block::put(&mut bytes, PvId(1), &batch, effort);
                    blocks.push((format!("{name}, times of habit {habit}"), bytes, whole));
                }
            }
        }
        blocks
    }

    fn outline(bytes: &[u8], detail: Detail) -> Option<Outline> {
        let columns = Columns::of(bytes).expect("it was written just now");
        Outline::of(bytes, &columns, &columns.times().expect("it has times"), detail).expect("it can be read")
    }

    /// Every block that has an outline, of both kinds.
    fn outlined() -> impl Iterator<Item = (String, Vec<u8>, Summary, Outline, Detail)> {
        let each = |(name, bytes, whole): (String, Vec<u8>, Summary)| {
            let outlined = move |detail| {
                Some((format!("{name}, {detail:?}"), bytes.clone(), whole, outline(&bytes, detail)?, detail))
            };
            [Detail::Sections, Detail::Parts].into_iter().filter_map(outlined)
        };
        blocks().into_iter().flat_map(each)
    }

    /// Edges, one or several, that cut a block anywhere, at the borders of sections too.
    fn edges(bytes: &[u8], whole: &Summary) -> Vec<Vec<Timestamp>> {
        let times = Columns::of(bytes).expect("it was written just now").times().expect("it has times");
        let rows = [1, 2, 100, 511, 512, 513, 1024, 3000, 3001, 4096, 7777, 8190, 8191];
        let mut edges: Vec<Timestamp> = rows.map(|row| times.get(row)).into_iter().collect();
        edges.extend((0..20).map(|i| {
            times.get((noise(i) * ROWS as f64) as usize % ROWS).saturating_add(std::time::Duration::from_nanos(1))
        }));
        edges.retain(|edge| *edge > whole.t0 && *edge <= whole.t1);
        edges.sort_unstable();
        edges.iter().map(|edge| vec![*edge]).chain([edges.clone(), edges[..2.min(edges.len())].to_vec()]).collect()
    }

    #[test]
    fn pieces_by_an_outline_are_those_of_the_block_to_the_last_bit_from_a_fraction_of_its_bytes() {
        let mut known = Vec::new();
        for (name, bytes, whole, outline, detail) in outlined() {
            let share = if outline.parts.is_empty() { 7 } else { 24 };
            assert!(outline.bytes() <= BYTES_MAX, "{name}");
            let columns = Columns::of(&bytes).expect("it was written just now");
            let lookup = columns.times().expect("it has times");
            for edges in edges(&bytes, &whole).into_iter().filter(|edges| !edges.is_empty()) {
                let read = std::cell::Cell::new(0);
                let found = outline.pieces(&whole, &edges, |parts| {
                    for (at, part) in parts {
                        read.set(read.get() + part.len());
                        part.copy_from_slice(&bytes[*at as usize..][..part.len()]);
                    }
                    Ok(())
                });
                let expected = cut::pieces(&columns, &lookup, &whole, &edges).expect("it was written just now");
                let found = found.expect("nothing has happened to it");
                assert_eq!(found.len(), expected.len(), "{name}: {edges:?}");
                for (found, expected) in found.iter().zip(&expected) {
                    assert!(found.identical(expected), "{name}: {edges:?}: {found:?} is not {expected:?}");
                }
                assert!(edges.len() > 1 || read.get() <= bytes.len() / share, "{name}: {} were read", read.get());
            }
            // A table of corrections leaves no room for parts.
            let has_parts = detail == Detail::Parts && !name.starts_with("drift,");
            assert_eq!(!outline.parts.is_empty(), has_parts, "{name}");
            known.push(name);
        }
        for kind in ["adc", "readings", "constant", "zero or more", "counter", "slow", "drift"] {
            let habits = known.iter().filter(|name| name.starts_with(&format!("{kind},"))).count();
            assert!(habits >= 6, "{kind} has {habits} of {known:?}");
        }
    }

    #[test]
    fn no_flipped_bit_of_what_is_read_goes_unnoticed() {
        for (name, bytes, whole, outline, _) in outlined() {
            let edge = edges(&bytes, &whole).swap_remove(5);
            let touched = std::cell::RefCell::new(Vec::new());
            let read = |flipped: Option<usize>| {
                let touched = &touched;
                outline.pieces(&whole, &edge, |parts| {
                    for (at, part) in parts {
                        let at = *at as usize;
                        part.copy_from_slice(&bytes[at..][..part.len()]);
                        touched.borrow_mut().extend(at..at + part.len());
                        if let Some(byte) = flipped.and_then(|flipped| part.get_mut(flipped.checked_sub(at)?)) {
                            *byte ^= 0x10;
                        }
                    }
                    Ok(())
                })
            };
            assert!(read(None).is_some(), "{name}");
            let places = touched.take();
            for place in places.iter().step_by(1 + places.len() / 40) {
                assert!(read(Some(*place)).is_none(), "{name}: byte {place}");
            }
            assert!(
                outline.pieces(&whole, &edge, |_| Err(io::ErrorKind::UnexpectedEof.into())).is_none()
                    || places.is_empty()
            );
        }
    }
}
