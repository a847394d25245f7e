//! The writer: takes facts out of the buffer, groups samples into batches per PV, and hands them to the store.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use archive::{PvId, Record, Roster, Sink};
use sample::{Batch, Sample, Timestamp, Value};

use crate::{
    acquire::{Shared, now},
    buffer::Drained,
    channel::Fact,
    ledger::Occasion,
};

/// How long a sample may wait for company before it is readable.
const GATHER_MAX: Duration = Duration::from_millis(10);

/// How often updates that wait to be due are looked at: scan periods are exact to this.
const SCAN_TICK: Duration = Duration::from_millis(50);

/// How soon a store that refused is asked again.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// So many portions are written before others have their turn, when so much waits that it may become too much.
const PORTIONS_BEHIND: u32 = 4;

/// How often it is asked again when the archiver is to end.
const RETRIES_AT_END: usize = 4;

/// Arrays from this size on stay as they came: a batch would be one more copy of them, just when the writer is behind and several
/// of a PV come at once. 10,000 arrays of 4 kB at 14 Hz took 1.7 times the time in batches, and the writer never caught up.
const ARRAY_BYTES_MAX: usize = 1 << 10;
/// The same of texts and structures, for which the store makes a batch anyway.
const OTHER_BYTES_MAX: usize = 1 << 20;
/// Arrays from this size on the store keeps rather than copy them: of those of which little changes only the first, but these come all
/// at once when the archiver starts.
const KEPT_BYTES_MIN: usize = 16 << 10;

/// Runs until the buffer is closed and empty.
pub(crate) fn run<S: Roster>(shared: &Arc<Shared<S>>) {
    let mut scanned = Instant::now();
    let (mut groups, mut hope, mut losses_told, mut since_turn) = (Groups::default(), Hope::Left, false, 0);
    loop {
        let before = now();
        let Drained { mut facts, bytes, losses, left, owed, behind, closed } = shared.buffer.drain(GATHER_MAX);
        // Of what is left, or lost and not told yet, some came before now.
        let before = [left, owed].into_iter().flatten().fold(before, Timestamp::min);
        let nothing = facts.is_empty() && losses.is_empty();
        if !nothing {
            hope = write(shared, (groups.group(facts.drain(..)), bytes), before, hope);
            shared.buffer.reuse(facts);
            losses_told |= !losses.is_empty();
            let losses: Vec<_> = losses.into_iter().map(|(pv, gap)| (pv, Record::Gap(gap))).collect();
            hope = write(shared, (losses, 0), before, hope);
            // Those who wait for an answer come first: a thread that never sleeps is put aside at the kernel's next tick only, up to 4 ms
            // later, and with more load than the machine can take a question waits for several such ticks.
            since_turn += 1;
            if since_turn >= if behind { PORTIONS_BEHIND } else { 1 } {
                since_turn = 0;
                std::thread::yield_now();
            }
        } else if closed {
            return;
        }
        shared.note_written(before);
        if !closed {
            let are_over = losses_told && left.is_none();
            losses_told &= !are_over;
            shared.keep_ledger(now(), if are_over { Occasion::Losses } else { Occasion::Look });
        }
        if scanned.elapsed() >= SCAN_TICK {
            scanned = Instant::now();
            shared.tick(now());
        }
        if !nothing && !closed && left.is_none() {
            // Lets a few more samples gather: a batch of ten costs little more than one of one.
            std::thread::sleep(GATHER_MAX / 2);
        }
    }
}

/// Whether a store that refuses is still waited for at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hope {
    Left,
    GivenUp,
}

fn write<S: Sink>(
    shared: &Arc<Shared<S>>,
    (records, bytes): (Vec<(PvId, Record)>, usize),
    before: Timestamp,
    hope: Hope,
) -> Hope {
    if records.is_empty() {
        return hope;
    }
    let mut tries_at_end = 0;
    loop {
        let error = match shared.sink.append(&records, shared.alive(before)) {
            Ok(()) => {
                shared.count_written(&records);
                shared.buffer.release(bytes);
                return hope;
            }
            Err(error) => error,
        };
        if tries_at_end == 0 && hope == Hope::Left {
            tracing::error!("the store refuses samples, they are kept in memory as long as there is room: {error}");
        }
        shared.buffer.store_refused();
        let is_ending = hope == Hope::Left && shared.buffer.wait_closed(RETRY_AFTER);
        let is_over = is_ending && shared.sink.is_over();
        if is_ending && !is_over {
            tries_at_end += 1;
            std::thread::sleep(RETRY_AFTER);
        }
        if is_over || hope == Hope::GivenUp || tries_at_end > RETRIES_AT_END {
            shared.count_refused(&records);
            shared.buffer.release(bytes);
            return Hope::GivenUp;
        }
    }
}

/// Where the last record of each PV is, by the number of the PV.
#[derive(Default)]
struct Groups {
    /// How many groups were made: what an earlier one left in `last` is not of this one.
    made: u64,
    last: Vec<Last>,
}

#[derive(Clone, Copy, Default)]
struct Last {
    group: u64,
    index: usize,
}

impl Groups {
    /// Samples of a PV become batches of one type; among facts of one PV the order stays.
    fn group(&mut self, facts: impl Iterator<Item = (PvId, Fact)>) -> Vec<(PvId, Record)> {
        self.made += 1;
        let mut records = Vec::<(PvId, Record)>::new();
        for (pv, fact) in facts {
            let place = pv.0 as usize;
            if place >= self.last.len() {
                self.last.resize(place + 1, Last::default());
            }
            let last = &mut self.last[place];
            let record = match fact {
                Fact::Sample(sample) => {
                    if last.group == self.made && add(&mut records[last.index].1, &sample) {
                        continue;
                    }
                    match &sample.value {
                        Value::Array(array) if array.byte_size() >= KEPT_BYTES_MIN => {
                            Record::Array(Arc::new(Batch::holding(sample)))
                        }
                        _ => Record::Sample(sample),
                    }
                }
                Fact::LedgerRow(row) => {
                    // What a row does not count must not get into a batch before it.
                    self.made += 1;
                    records.push((pv, Record::LedgerRow(row)));
                    continue;
                }
                Fact::Gap(gap) => Record::Gap(gap),
                Fact::Metadata(time, metadata) => Record::Metadata(time, metadata),
            };
            *last = Last { group: self.made, index: records.len() };
            records.push((pv, record));
        }
        records
    }
}

/// Adds a sample to those of a record, if it is of their type and there is room.
fn add(record: &mut Record, sample: &Sample) -> bool {
    match record {
        _ if is_large(sample) => false,
        Record::Samples(batch) => batch.push(sample),
        Record::Sample(first) if is_large(first) => false,
        Record::Sample(first) => {
            let mut batch = Batch::of(first);
            let fits = batch.push(sample);
            if fits {
                *record = Record::Samples(batch);
            }
            fits
        }
        Record::Array(_) | Record::LedgerRow(_) | Record::Gap(_) | Record::Metadata(..) => false,
    }
}

fn is_large(sample: &Sample) -> bool {
    let bytes_max = if matches!(sample.value, Value::Array(_)) { ARRAY_BYTES_MAX } else { OTHER_BYTES_MAX };
    sample.value.byte_size() >= bytes_max
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Column, Gap, GapCause};

    use super::*;

    fn sample(nanos: i64, value: Value) -> Fact {
        Fact::Sample(Sample {
            time: Timestamp::from_nanos(nanos),
            value,
            alarm: Alarm::default(),
            pulse: 0,
            stamp: None,
        })
    }

    #[test]
    fn samples_of_a_pv_share_a_batch_until_its_type_or_state_changes() {
        let gap = Gap { from: Timestamp::from_nanos(3), to: None, cause: GapCause::Disconnected, lost: 0 };
        let facts = vec![
            (PvId(1), sample(1, Value::I32(1))),
            (PvId(2), sample(1, Value::F64(1.0))),
            (PvId(1), sample(2, Value::I32(2))),
            (PvId(1), sample(3, Value::F64(3.0))),
            (PvId(1), Fact::Gap(gap)),
            (PvId(1), sample(4, Value::F64(4.0))),
            (PvId(2), sample(5, Value::F64(5.0))),
        ];
        let records = Groups::default().group(facts.into_iter());
        let sizes: Vec<(u32, usize)> = records.iter().map(|(pv, record)| (pv.0, record.samples())).collect();
        assert_eq!(sizes, [(1, 2), (2, 2), (1, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn small_arrays_that_come_at_once_share_a_batch_and_large_ones_stay_apart() {
        let group = |bytes: usize, count: usize| {
            let array = || Value::Array(Column::U8(vec![7; bytes]));
            let facts: Vec<_> = (0..count).map(|n| (PvId(1), sample(n as i64, array()))).collect();
            let records = Groups::default().group(facts.into_iter());
            records.iter().map(|(_, record)| record.samples()).collect::<Vec<_>>()
        };
        assert_eq!(group(ARRAY_BYTES_MAX, 3), [1, 1, 1]);
        assert_eq!(group(ARRAY_BYTES_MAX - 1, 900), [900]);
    }

    #[test]
    fn an_array_that_the_store_is_to_keep_is_not_copied() {
        let elements = vec![7; KEPT_BYTES_MIN];
        let place = elements.as_ptr();
        let facts = vec![(PvId(1), sample(1, Value::Array(Column::U8(elements))))];
        let records = Groups::default().group(facts.into_iter());
        let [(_, Record::Array(batch))] = &records[..] else { panic!("{records:?}") };
        let Column::Array(arrays) = batch.values() else { panic!("{batch:?}") };
        assert!(matches!(arrays.elements(), Column::U8(same) if same.as_ptr() == place));
    }
}
