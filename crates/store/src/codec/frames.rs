//! Frames: arrays of one PV of which each hardly differs from the one before it, as their differences.
//!
//! ```text
//!   samples (times, alarms, pulses, stamps)  +  the newest array  +  the cells that change in each, and what they were at first
//! ```
//! A waveform of 100,000 elements of which one changes takes 80 bytes here instead of 400,000, in the head as in a block. The array
//! that is kept whole is the one that the next is compared with; the first is made of it when somebody asks. They come out through
//! a `Player`, a few at a time, so that nobody ever holds all of them.

use std::{ops::Range, sync::Arc};

use archive::Record;
use sample::{Alarm, Arrays, Batch, Column, Element, Runs, Sample, Shape, Stamp, Stamps, Timestamp, Value, ValueType};

use crate::codec::{
    cells::{Changes, Originals, Progress, put_no_difference},
    limits::{BLOCK_ROWS_MAX, frames_bytes_max},
};

/// Arrays of fewer bytes are not worth the trouble: if one cell changes that is already more than an eighth.
pub(crate) const FRAME_BYTES_MIN: usize = 512;
/// So many bytes may be in changed cells, if the first array is not larger.
const CHANGED_BYTES_MAX: usize = 1 << 20;

/// Whether values of a type may be frames: arrays of numbers.
pub(crate) fn may_be(value_type: ValueType) -> bool {
    value_type.shape == Shape::Array && !matches!(value_type.element, Element::String | Element::Structure)
}

/// Whether the samples of a record may be frames.
pub(crate) fn are(record: &Record) -> bool {
    match record {
        Record::Samples(batch) => may_be(batch.value_type()),
        Record::Array(batch) => may_be(batch.value_type()),
        Record::Sample(sample) => may_be(sample.value.value_type()),
        Record::LedgerRow(_) | Record::Gap(_) | Record::Metadata(..) => false,
    }
}

/// Some samples of a record, with empty arrays in place of theirs.
pub(crate) fn without_arrays(record: &Record, rows: Range<usize>) -> Batch {
    match record {
        Record::Samples(batch) => bare(batch, rows),
        Record::Array(batch) => bare(batch, rows),
        Record::Sample(sample) => {
            let mut batch = Batch::new(sample.value.value_type());
            push(&mut batch, FrameFacts::of(sample));
            batch
        }
        Record::LedgerRow(_) | Record::Gap(_) | Record::Metadata(..) => unreachable!("only samples have arrays"),
    }
}

/// A sample with an empty array, in a batch that may have held another before.
pub(crate) fn single<'a>(room: &'a mut Option<Batch>, sample: &Sample) -> &'a Batch {
    let value_type = sample.value.value_type();
    if room.as_ref().is_none_or(|batch| batch.value_type() != value_type) {
        *room = None;
    }
    let batch = room.get_or_insert_with(|| Batch::new(value_type));
    batch.clear();
    push(batch, FrameFacts::of(sample));
    batch
}

pub(crate) fn bare(batch: &Batch, rows: Range<usize>) -> Batch {
    let (mut alarms, mut pulses, mut stamps) = (Runs::default(), Runs::default(), Stamps::default());
    alarms.extend_from(batch.alarms(), rows.clone());
    pulses.extend_from(batch.pulses(), rows.clone());
    stamps.extend_from(batch.stamps(), rows.clone(), 0);
    let arrays = empty_arrays(batch.value_type().element, rows.len());
    let samples = Batch::from_columns(batch.times()[rows].to_vec(), arrays, alarms, pulses);
    samples.and_then(|samples| samples.with_stamps(stamps)).expect("all are of the same rows")
}

/// So many arrays without elements.
pub(crate) fn empty_arrays(element: Element, rows: usize) -> Column {
    let none = Column::new(ValueType::scalar(element));
    Column::Array(Arrays::from_ends(vec![0; rows], none).expect("nothing can be divided into nothings"))
}

/// Whether so little changes from one array, which lies in a column, to another that they may be frames.
pub(crate) fn are_alike(own: (&Column, Range<usize>), before: (&Column, Range<usize>)) -> bool {
    Changes::default().add(own, before).is_some()
}

/// Adds a sample with an empty array.
fn push(samples: &mut Batch, FrameFacts { time, alarm, pulse, stamp }: FrameFacts) {
    let value = Value::Array(Column::new(ValueType::scalar(samples.value_type().element)));
    let fits = samples.push(&Sample { time, value, alarm: alarm.clone(), pulse, stamp });
    assert!(fits, "it has the type of the others");
}

/// What a sample has besides its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameFacts<'a> {
    pub(crate) time: Timestamp,
    pub(crate) alarm: &'a Alarm,
    pub(crate) pulse: u64,
    pub(crate) stamp: Option<Stamp>,
}

impl<'a> FrameFacts<'a> {
    pub(crate) fn of(sample: &'a Sample) -> FrameFacts<'a> {
        FrameFacts { time: sample.time, alarm: &sample.alarm, pulse: sample.pulse, stamp: sample.stamp }
    }

    pub(crate) fn of_row(batch: &'a Batch, row: usize) -> FrameFacts<'a> {
        let (alarm, pulse) = (batch.alarms().get(row), *batch.pulses().get(row));
        FrameFacts { time: batch.times()[row], alarm, pulse, stamp: batch.stamps().get(row) }
    }
}

/// Arrays of one type and length in order of time, no two of them of one time. They grow as long as they have room.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    /// With empty arrays in place of theirs.
    samples: Batch,
    newest: Column,
    changes: Changes,
    originals: Originals,
}

/// What became of an array that was offered to frames.
#[derive(Debug)]
pub(crate) enum Offered {
    /// It is among them.
    Taken,
    /// It is the first of new frames, as these were full.
    TakenAfter(Arc<Frames>),
    /// It equals the last one in everything, and was left out.
    Repeat,
    /// It does not belong here.
    Refused,
}

impl Frames {
    /// Frames that begin with the array of one sample.
    pub(crate) fn beginning_with(sample: Batch) -> Arc<Frames> {
        let samples = bare(&sample, 0..1);
        let Column::Array(arrays) = sample.into_values() else { unreachable!("only arrays are frames") };
        Arc::new(Frames::of(samples, arrays.into_elements()))
    }

    fn of(samples: Batch, newest: Column) -> Frames {
        Frames { samples, newest, changes: Changes::default(), originals: Originals::default() }
    }

    /// Offers them the array that lies at `range` in a column. If it is taken or a repeat, what changes from the last one to it is
    /// written to `difference`. Readers may share what is there; then they keep it, and a copy grows.
    pub(crate) fn offer(
        self: &mut Arc<Self>,
        facts: FrameFacts,
        column: &Column,
        range: Range<usize>,
        difference: &mut Vec<u8>,
    ) -> Offered {
        let last = *self.times().last().expect("there is a first one");
        if facts.time < last {
            return Offered::Refused;
        }
        if facts.time == last {
            let known = FrameFacts::of_row(&self.samples, self.len() - 1);
            let same = (facts.alarm, facts.pulse) == (known.alarm, known.pulse);
            let mut none = Changes::default();
            if !same || none.add((column, range), self.whole()).is_none() || !none.is_nothing() {
                return Offered::Refused;
            }
            put_no_difference(difference);
            return Offered::Repeat;
        }
        if self.is_full() {
            let mut changes = Changes::default();
            if changes.add((column, range), self.whole()).is_none() {
                return Offered::Refused;
            }
            let mut samples = Batch::new(self.samples.value_type());
            push(&mut samples, facts);
            let mut next = Frames::of(samples, self.newest.clone());
            changes.follow(difference, &mut next.newest, &mut Originals::default());
            return Offered::TakenAfter(std::mem::replace(self, Arc::new(next)));
        }
        let Frames { samples, newest, changes, originals } = Arc::make_mut(self);
        if changes.add((column, range), (newest, 0..newest.len())).is_none() {
            return Offered::Refused;
        }
        changes.follow(difference, newest, originals);
        push(samples, facts);
        Offered::Taken
    }

    /// The newest array and where in it all of it lies.
    fn whole(&self) -> (&Column, Range<usize>) {
        (&self.newest, 0..self.newest.len())
    }

    /// The samples, with empty arrays in place of theirs.
    pub(crate) fn samples(&self) -> &Batch {
        &self.samples
    }

    pub(crate) fn times(&self) -> &[Timestamp] {
        self.samples.times()
    }

    pub(crate) fn first(&self) -> Column {
        let mut array = self.newest.clone();
        self.originals.put_back(&mut array);
        array
    }

    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }

    /// The memory taken, with what is kept for more.
    pub(crate) fn memory(&self) -> usize {
        self.samples.memory() + self.newest.memory() + self.changes.memory() + self.originals.memory()
    }

    /// Gives back what is kept for more, unless somebody reads them.
    pub(crate) fn shrink(self: &mut Arc<Self>) {
        if let Some(frames) = Arc::get_mut(self) {
            frames.samples.shrink();
            frames.changes.shrink();
        }
    }

    /// Whether another array would make more of them than a block may have.
    fn is_full(&self) -> bool {
        let bytes = self.newest.byte_size();
        self.len() >= BLOCK_ROWS_MAX
            || (self.len() + 1) * bytes > frames_bytes_max(bytes)
            || self.changes.byte_size() >= CHANGED_BYTES_MAX.max(bytes)
    }

    /// Gives out the rows of a range.
    pub(crate) fn play(self: &Arc<Self>, rows: Range<usize>) -> Player {
        let mut player = Player::new(Film::Head(self.clone()), self.first());
        player.cut_to(rows);
        player
    }

    /// One of them.
    pub(crate) fn get(self: &Arc<Self>, row: usize) -> Sample {
        Player::new(Film::Head(self.clone()), self.first()).get(row)
    }
}

/// Frames as they are given out one behind the other.
#[derive(Debug)]
pub(crate) struct Player {
    film: Film,
    next: usize,
    end: usize,
    /// That of the next row.
    array: Column,
    progress: Progress,
}

/// What is played: samples with empty arrays in place of theirs, and what changes in all arrays but the first.
#[derive(Debug)]
enum Film {
    /// In the head, which may grow meanwhile.
    Head(Arc<Frames>),
    Block(Box<(Batch, Changes)>),
}

impl Film {
    fn samples(&self) -> &Batch {
        match self {
            Film::Head(frames) => &frames.samples,
            Film::Block(block) => &block.0,
        }
    }

    fn changes(&self) -> &Changes {
        match self {
            Film::Head(frames) => &frames.changes,
            Film::Block(block) => &block.1,
        }
    }
}

impl Player {
    fn new(film: Film, array: Column) -> Player {
        let end = film.samples().len();
        Player { film, next: 0, end, array, progress: Progress::default() }
    }

    /// Of a block that has the first array and the changes of the others, which were checked.
    pub(crate) fn of_block(samples: Batch, first: Column, changes: Changes) -> Player {
        Player::new(Film::Block(Box::new((samples, changes))), first)
    }

    /// All samples, with empty arrays in place of theirs.
    pub(crate) fn samples(&self) -> &Batch {
        self.film.samples()
    }

    /// Gives out nothing but the rows of a range, which does not begin before what comes next.
    pub(crate) fn cut_to(&mut self, rows: Range<usize>) {
        self.end = rows.end.min(self.samples().len());
        while self.next < rows.start.min(self.end) {
            self.step();
        }
    }

    /// One of them, which does not lie before what comes next.
    pub(crate) fn get(mut self, row: usize) -> Sample {
        self.cut_to(row..row + 1);
        Sample { value: Value::Array(self.array), ..self.film.samples().get(row) }
    }

    /// The row that comes next, with its time; none at the end.
    pub(crate) fn next(&self) -> Option<(usize, Timestamp)> {
        (self.next < self.end).then(|| (self.next, self.samples().times()[self.next]))
    }

    fn step(&mut self) {
        self.next += 1;
        if self.next < self.film.samples().len() {
            self.film.changes().apply(&mut self.progress, &mut self.array);
        }
    }

    /// The next rows: at least one, and no more than have so many bytes. Panics at the end.
    pub(crate) fn take(&mut self, bytes_max: usize) -> Batch {
        let rows = (bytes_max / self.array.byte_size().max(1)).clamp(1, self.end - self.next);
        let (start, len) = (self.next, self.array.len());
        let mut elements = Column::with_capacity(self.array.value_type(), rows * len);
        for _ in 0..rows {
            let fits = elements.extend_from(&self.array, 0..len);
            assert!(fits, "all arrays have one type");
            self.step();
        }
        let arrays = Arrays::from_ends((1..=rows).map(|row| row * len).collect(), elements);
        let samples = self.samples().slice(start..start + rows);
        samples.with_values(Column::Array(arrays.expect("each has that length"))).expect("there is one for each row")
    }
}

#[cfg(test)]
mod tests {
    use archive::PvId;

    use super::*;
    use crate::{
        block,
        bytes::Cursor,
        codec::{Effort, cells::take_difference},
    };

    const LEN: usize = 600;

    fn alarm(row: usize) -> Alarm {
        Alarm { status: (row / 7) as u16, ..Alarm::default() }
    }

    /// Arrays of which a few elements change, with a rest behind the last whole cell.
    fn array(row: usize) -> Column {
        Column::I32((0..LEN).map(|i| if i == row * 37 % LEN || i + 1 == LEN { row as i32 } else { i as i32 }).collect())
    }

    fn sample(row: usize) -> Sample {
        let time = Timestamp::from_nanos(row as i64 * 10);
        Sample { time, value: Value::Array(array(row)), alarm: alarm(row), pulse: row as u64 / 3, stamp: None }
    }

    fn frames(rows: usize) -> (Arc<Frames>, Vec<Vec<u8>>) {
        let mut frames = Frames::beginning_with(Batch::of(&sample(0)));
        let mut differences = Vec::new();
        for row in 1..rows {
            let mut difference = Vec::new();
            let offered = frames.offer(FrameFacts::of(&sample(row)), &array(row), 0..LEN, &mut difference);
            assert!(matches!(offered, Offered::Taken), "row {row}");
            differences.push(difference);
        }
        (frames, differences)
    }

    #[test]
    fn what_was_taken_is_played_from_any_row_to_any_other() {
        let frames = frames(40).0;
        assert!(frames.memory() < 20_000, "{}", frames.memory());
        assert_eq!(frames.first(), array(0));
        for rows in [0..40, 0..1, 7..8, 39..40, 13..31] {
            for bytes_max in [1, 5000, usize::MAX] {
                let mut player = frames.play(rows.clone());
                let mut next = rows.start;
                while let Some((row, time)) = player.next() {
                    assert_eq!((row, time), (next, sample(next).time));
                    let batch = player.take(bytes_max);
                    (0..batch.len()).for_each(|place| assert_eq!(batch.get(place), sample(next + place)));
                    next += batch.len();
                }
                assert_eq!(next, rows.end);
            }
        }
        assert_eq!(frames.get(17), sample(17));
    }

    #[test]
    fn differences_lead_from_each_array_to_the_next_and_are_small() {
        let (_, differences) = frames(40);
        let mut array_now = array(0);
        for (row, difference) in differences.iter().enumerate() {
            assert!(difference.len() < 40, "{} bytes", difference.len());
            let mut cursor = Cursor::new(difference);
            take_difference(&mut cursor, &mut array_now).expect("it was written just now");
            assert!(cursor.is_empty() && array_now == array(row + 1));
        }
    }

    #[test]
    fn what_does_not_belong_is_refused_and_a_repeat_left_out() {
        let (mut frames, _) = frames(5);
        let mut none = Vec::new();
        let mut offer = |facts: &Sample, array: &Column| {
            let offered = frames.offer(FrameFacts::of(facts), array, 0..array.len(), &mut none);
            (matches!(offered, Offered::Refused), matches!(offered, Offered::Repeat), frames.len())
        };
        assert_eq!(offer(&sample(4), &array(4)), (false, true, 5), "a repeat");
        assert_eq!(offer(&Sample { pulse: 9, ..sample(4) }, &array(4)), (true, false, 5), "another of that time");
        assert_eq!(offer(&sample(4), &array(5)), (true, false, 5), "another of that time");
        assert_eq!(offer(&sample(3), &array(4)), (true, false, 5), "it comes late");
        assert_eq!(offer(&sample(5), &Column::I32(vec![1; LEN])), (true, false, 5), "it differs too much");
        assert_eq!(offer(&sample(5), &Column::I32(vec![4; LEN + 1])), (true, false, 5), "it is longer");
        assert_eq!(offer(&sample(5), &Column::Enum(vec![4; LEN])), (true, false, 5), "it has another type");
        assert_eq!(offer(&sample(5), &array(5)), (false, false, 6), "it belongs");
    }

    #[test]
    fn long_frames_of_noise_that_stays_take_an_eightieth() {
        const LEN: usize = 100_000;
        let noise = |i: usize| ((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 31) as i32;
        let mut array: Vec<i32> = (0..LEN).map(noise).collect();
        let (first, mut none) = (sample(0), Vec::new());
        let begin = Sample { value: Value::Array(Column::I32(array.clone())), ..first.clone() };
        let mut frames = Frames::beginning_with(Batch::of(&begin));
        let full = (1..BLOCK_ROWS_MAX).find_map(|row| {
            array[0] = noise(row * LEN);
            let facts = FrameFacts { time: Timestamp::from_nanos(row as i64), ..FrameFacts::of(&first) };
            match frames.offer(facts, &Column::I32(array.clone()), 0..LEN, &mut none) {
                Offered::TakenAfter(full) => Some(full),
                _ => None,
            }
        });
        let full = full.expect("a block holds no more than 40 MiB");
        let mut block = Vec::new();
        block::put_frames(&mut block, PvId(1), &full, Effort::Flush);
        let plain = full.len() * LEN * 4;
        assert!(block.len() * 80 <= plain, "{} of {plain} bytes", block.len());
        let (_, back) = block::take(&block).expect("it was written just now");
        assert_eq!(back.len(), full.len());
        assert!((0..full.len()).step_by(37).all(|row| back.get(row).value == full.get(row).value));
    }

    #[test]
    fn full_frames_are_followed_by_others_and_shared_ones_stay_as_they_are() {
        let mut frames = Frames::beginning_with(Batch::of(&sample(0)));
        let (mut all, mut none, first) = (Vec::new(), Vec::new(), sample(0));
        let shared = frames.clone();
        for row in 1..20_000 {
            let facts = FrameFacts { time: Timestamp::from_nanos(row as i64), ..FrameFacts::of(&first) };
            match frames.offer(facts, &array(row), 0..LEN, &mut none) {
                Offered::Taken => {}
                Offered::TakenAfter(full) => all.push(full),
                other => panic!("{other:?}"),
            }
        }
        all.push(frames);
        assert_eq!((shared.len(), all.len()), (1, 4));
        let played = all
            .iter()
            .flat_map(|frames| (0..frames.len()).step_by(997).map(|row| (frames.times()[row], frames.get(row))));
        played.for_each(|(time, sample)| assert_eq!(sample.value, Value::Array(array(time.nanos() as usize))));
    }
}
