//! Arrays in the head: as frames where they hardly differ from one to the next, else in batches like texts.

use std::{ops::Range, sync::Arc};

use archive::PvId;
use sample::{Alarm, Batch, Column, Sample, Value};

use super::lanes::{CHUNK_BYTES, Lanes, Open, Taken, message_bytes};
use crate::{
    codec::frames::{self, FRAME_BYTES_MIN, FrameFacts, Frames, Offered, are_alike},
    head::Chunk,
    log::arrays::Differences,
};

/// An array that comes: one of a batch, or that of a sample.
#[derive(Clone, Copy)]
pub(super) enum Arrived<'a> {
    Row(&'a Batch, usize),
    Sample(&'a Sample),
    /// In a batch of its own, which is kept if it becomes no frame.
    Shared(&'a Arc<Batch>),
}

impl<'a> Arrived<'a> {
    fn facts(self) -> FrameFacts<'a> {
        match self {
            Arrived::Row(batch, row) => FrameFacts::of_row(batch, row),
            Arrived::Sample(sample) => FrameFacts::of(sample),
            Arrived::Shared(batch) => FrameFacts::of_row(batch, 0),
        }
    }

    /// Its elements, among others in a column.
    fn elements(self) -> (&'a Column, Range<usize>) {
        match self {
            Arrived::Shared(batch) => Arrived::Row(batch, 0).elements(),
            Arrived::Row(batch, row) => {
                let Column::Array(arrays) = batch.values() else { unreachable!("the caller looked at the type") };
                (arrays.elements(), arrays.range(row))
            }
            Arrived::Sample(sample) => {
                let Value::Array(elements) = &sample.value else { unreachable!("the caller looked at the type") };
                (elements, 0..elements.len())
            }
        }
    }
}

impl Lanes {
    /// Takes an array that is in a batch of its own.
    pub(super) fn push_shared(
        &mut self,
        pv: PvId,
        batch: &Arc<Batch>,
        taken: &mut Taken,
        differences: &mut Differences,
    ) {
        if frames::may_be(batch.value_type()) {
            self.push_array(pv, Arrived::Shared(batch), taken, differences);
        } else {
            self.append(pv, batch, taken, differences);
        }
    }

    /// Takes an array of numbers, and tells what changes in it from the one before.
    pub(super) fn push_array(&mut self, pv: PvId, arrived: Arrived, taken: &mut Taken, differences: &mut Differences) {
        taken.samples += 1;
        let lane = self.lane(pv, taken);
        taken.bytes += self.new_message_bytes(pv, arrived.facts().alarm) as isize;
        let (elements, range) = arrived.elements();
        let bytes = range.len() * (elements.byte_size() / elements.len().max(1));
        if bytes >= FRAME_BYTES_MIN && lane.open != Open::Film {
            self.begin_film(pv, arrived, taken);
        }
        if let Some(other) = self.other.get_mut(&pv)
            && let Some(film) = &mut other.film
        {
            let before = film.memory();
            let offered = film.offer(arrived.facts(), elements, range, differences.room());
            taken.bytes += film.memory() as isize - before as isize;
            match offered {
                Offered::Taken => return differences.push(),
                Offered::Repeat => {
                    taken.repeats += 1;
                    return differences.push();
                }
                Offered::TakenAfter(mut full) => {
                    full.shrink();
                    taken.bytes += (full.memory() + CHUNK_BYTES) as isize;
                    other.sealed.push(Chunk::Frames(full));
                    return differences.push();
                }
                Offered::Refused => {}
            }
        }
        differences.push_whole();
        if let Arrived::Shared(batch) = arrived {
            self.seal(pv, taken);
            taken.bytes += (batch.memory() + CHUNK_BYTES) as isize;
            self.other.entry(pv).or_default().sealed.push(Chunk::Rows(batch.clone()));
        } else {
            self.push_to_batch(pv, arrived, taken);
        }
    }

    /// What the words of the alarm of an array take, unless they are those of the one before it. What is sealed keeps them.
    fn new_message_bytes(&self, pv: PvId, alarm: &Alarm) -> usize {
        let other = self.other.get(&pv);
        let film = other.and_then(|other| other.film.as_ref()).map(|film| film.samples());
        let open = film.or_else(|| other.and_then(|other| other.open.as_ref()));
        let last = open.and_then(|open| Some(open.alarms().get(open.len().checked_sub(1)?)));
        if last == Some(alarm) { 0 } else { message_bytes(alarm) }
    }

    /// Begins a film with the last array, if the one that comes may be the second.
    fn begin_film(&mut self, pv: PvId, arrived: Arrived, taken: &mut Taken) {
        let Some((batch, row)) = self.last_array(pv) else { return };
        let Column::Array(arrays) = batch.values() else { return };
        let before = (arrays.elements(), arrays.range(row));
        if arrived.facts().time <= batch.times()[row] || !are_alike(arrived.elements(), before) {
            return;
        }
        let last = self.take_last_array(pv, taken);
        let film = Frames::beginning_with(last);
        taken.bytes += film.memory() as isize;
        self.other.entry(pv).or_default().film = Some(film);
        self.plain[pv.0 as usize].open = Open::Film;
    }

    /// The array that came last, if it is in a batch.
    fn last_array(&self, pv: PvId) -> Option<(&Batch, usize)> {
        let other = self.other.get(&pv)?;
        let batch = match (self.plain[pv.0 as usize].open, other.sealed.last()) {
            (Open::Batch, _) => other.open.as_ref()?,
            (Open::Nowhere, Some(Chunk::Rows(batch))) if batch.len() == 1 => batch,
            _ => return None,
        };
        Some((batch, batch.len().checked_sub(1)?))
    }

    /// Takes that out of its batch, and seals what is left of it.
    fn take_last_array(&mut self, pv: PvId, taken: &mut Taken) -> Batch {
        let other = self.other.entry(pv).or_default();
        if let Some(open) = other.open.take() {
            taken.bytes -= open.memory() as isize;
            self.plain[pv.0 as usize].open = Open::Nowhere;
            let before = open.len() - 1;
            if before == 0 {
                return open;
            }
            let rest = open.slice(0..before);
            taken.bytes += rest.memory() as isize;
            other.open = Some(rest);
            self.plain[pv.0 as usize].open = Open::Batch;
            self.seal(pv, taken);
            return open.slice(before..before + 1);
        }
        match other.sealed.pop() {
            Some(Chunk::Rows(batch)) => {
                taken.bytes -= (batch.memory() + CHUNK_BYTES) as isize;
                Arc::unwrap_or_clone(batch)
            }
            _ => unreachable!("the caller has seen it"),
        }
    }

    /// Puts an array into the open batch.
    fn push_to_batch(&mut self, pv: PvId, arrived: Arrived, taken: &mut Taken) {
        let value_type = match arrived {
            Arrived::Row(batch, _) => batch.value_type(),
            Arrived::Shared(batch) => batch.value_type(),
            Arrived::Sample(sample) => sample.value.value_type(),
        };
        self.extend_open(pv, (value_type, 1), taken, |open, _| match arrived {
            Arrived::Row(batch, row) => open.extend_from(batch, row..row + 1),
            Arrived::Shared(batch) => open.extend_from(batch, 0..1),
            Arrived::Sample(sample) => open.push(sample),
        });
    }
}
