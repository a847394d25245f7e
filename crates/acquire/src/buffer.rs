//! The one queue between the network and the disk: bounded, never waited for by the network, exact about what it cannot take.

use std::{
    collections::HashMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sample::{Gap, GapCause, PvId, Timestamp, VALUE_BYTES_MAX};

use crate::channel::Fact;

/// What a fact costs besides the bytes of its value.
const FACT_BYTES: usize = size_of::<(PvId, Fact)>();

/// The memory of so many bytes of facts is used again.
const SPARE_BYTES_MAX: usize = 8 << 20;

/// The queue. Bytes count from `offer` to `release`, so that what the writer holds while the store refuses is bounded too.
#[derive(Debug)]
pub(crate) struct Buffer {
    queue: Mutex<Queue>,
    filled: Condvar,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Queue {
    facts: Vec<(PvId, Fact)>,
    /// The memory for those that come when these are drained.
    spare: Vec<(PvId, Fact)>,
    bytes: usize,
    /// By cause too: what a full queue lost before the store was known to refuse is not the store's loss.
    losses: HashMap<(PvId, GapCause), Gap>,
    /// Where the last of them that was drained ends. A gap is known by where it begins: of two that began at the same time the
    /// second would take the place of the first, and what that one has counted.
    ended: HashMap<(PvId, GapCause), Timestamp>,
    refused: bool,
    closed: bool,
}

/// What the writer takes out at once.
#[derive(Debug, Default)]
pub(crate) struct Drained {
    pub(crate) facts: Vec<(PvId, Fact)>,
    /// A gap for each PV and cause that lost samples since the last time.
    pub(crate) losses: Vec<(PvId, Gap)>,
    /// Nothing more will come.
    pub(crate) closed: bool,
}

/// What became of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    Taken,
    Lost(GapCause),
}

impl Buffer {
    pub(crate) fn new(bytes_max: usize) -> Buffer {
        Buffer { queue: Mutex::default(), filled: Condvar::new(), bytes_max }
    }

    /// Takes a fact, or counts a lost sample. Gaps and metadata are few and small, and are always taken.
    pub(crate) fn offer(&self, pv: PvId, fact: Fact, now: Timestamp) -> Offered {
        let size = self.size_of(&fact);
        let too_large = matches!(&fact, Fact::Sample(sample) if sample.value.byte_size() > VALUE_BYTES_MAX);
        let mut queue = self.lock();
        if too_large || queue.bytes + size > self.bytes_max && matches!(fact, Fact::Sample(_)) {
            let cause = if queue.refused || too_large { GapCause::StoreRefused } else { GapCause::QueueFull };
            let from = queue.ended.get(&(pv, cause)).map_or(now, |ended| now.max(*ended));
            let loss = queue.losses.entry((pv, cause)).or_insert(Gap { from, to: None, cause, lost: 0 });
            loss.lost += 1;
            loss.to = Some(Timestamp::from_nanos(now.max(loss.from).nanos().saturating_add(1)));
            return Offered::Lost(cause);
        }
        self.take(queue, pv, fact, size);
        Offered::Taken
    }

    /// Takes a row of the ledger, whether or not there is room: there are few, and they tell what found none.
    pub(crate) fn insist(&self, pv: PvId, fact: Fact) {
        let size = self.size_of(&fact);
        self.take(self.lock(), pv, fact, size);
    }

    /// What a fact counts for as long as it is in the queue, or with the writer. No value counts for more than half of the queue, or one that is larger would never get through.
    pub(crate) fn size_of(&self, fact: &Fact) -> usize {
        FACT_BYTES + payload_bytes(fact).min(self.bytes_max / 2)
    }

    fn take(&self, mut queue: MutexGuard<'_, Queue>, pv: PvId, fact: Fact, size: usize) {
        queue.bytes += size;
        queue.facts.push((pv, fact));
        if queue.facts.len() == 1 {
            self.filled.notify_one();
        }
    }

    /// Takes everything out, waiting for something at most `patience`.
    pub(crate) fn drain(&self, patience: Duration) -> Drained {
        let mut queue = self.lock();
        if queue.facts.is_empty() && !queue.closed {
            queue = self.filled.wait_timeout(queue, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        let spare = std::mem::take(&mut queue.spare);
        let facts = std::mem::replace(&mut queue.facts, spare);
        let lost = std::mem::take(&mut queue.losses);
        queue.ended.extend(lost.iter().filter_map(|(key, gap)| Some((*key, gap.to?))));
        let losses = lost.into_iter().map(|((pv, _), gap)| (pv, gap)).collect();
        Drained { facts, losses, closed: queue.closed }
    }

    /// Takes back the memory of facts that are gone, unless so many waited that others may need it more.
    pub(crate) fn reuse(&self, mut facts: Vec<(PvId, Fact)>) {
        facts.clear();
        if facts.capacity() * FACT_BYTES <= SPARE_BYTES_MAX {
            self.lock().spare = facts;
        }
    }

    /// The store has taken what was drained.
    pub(crate) fn release(&self, bytes: usize) {
        let mut queue = self.lock();
        queue.bytes -= bytes;
        queue.refused = false;
    }

    /// The store refuses; what is lost from here on is lost for that.
    pub(crate) fn store_refused(&self) {
        self.lock().refused = true;
    }

    #[cfg(test)]
    pub(crate) fn is_refused(&self) -> bool {
        self.lock().refused
    }

    /// Nothing more will come: the writer ends when it has taken what is there.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    /// Waits until closed, at most `patience`; whether it is.
    pub(crate) fn wait_closed(&self, patience: Duration) -> bool {
        let queue = self.lock();
        let wait = self.filled.wait_timeout_while(queue, patience, |queue| !queue.closed);
        wait.unwrap_or_else(PoisonError::into_inner).0.closed
    }

    /// Bytes that wait, and the most that may.
    pub(crate) fn fill(&self) -> (usize, usize) {
        (self.lock().bytes, self.bytes_max)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn payload_bytes(fact: &Fact) -> usize {
    match fact {
        Fact::Sample(sample) | Fact::Own(sample) => {
            sample.value.byte_size() + sample.alarm.message.as_ref().map_or(0, |message| message.len())
        }
        Fact::Gap(_) | Fact::Metadata(..) => 0,
    }
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Column, Sample, Value};

    use super::*;

    fn sample(nanos: i64) -> Fact {
        let time = Timestamp::from_nanos(nanos);
        Fact::Sample(Sample { time, value: Value::F64(0.0), alarm: Alarm::default(), pulse: 0, stamp: None })
    }

    #[test]
    fn every_sample_is_either_taken_or_counted() {
        let buffer = Buffer::new(10 * FACT_BYTES);
        let taken =
            (0..25).filter(|n| buffer.offer(PvId(1), sample(*n), Timestamp::from_nanos(*n)) == Offered::Taken).count();
        let drained = buffer.drain(Duration::ZERO);
        assert_eq!((taken, drained.facts.len()), (10, 10));
        let (from, to) = (Timestamp::from_nanos(10), Some(Timestamp::from_nanos(25)));
        assert_eq!(drained.losses, [(PvId(1), Gap { from, to, cause: GapCause::QueueFull, lost: 15 })]);
    }

    fn image(bytes: usize) -> Fact {
        let Fact::Sample(sample) = sample(0) else { unreachable!("it is a sample") };
        Fact::Sample(Sample { value: Value::Array(Column::U8(vec![7; bytes])), ..sample })
    }

    #[test]
    fn a_value_larger_than_the_queue_gets_through_one_at_a_time() {
        let buffer = Buffer::new(100_000);
        let offer = |fact: Fact| buffer.offer(PvId(1), fact, Timestamp::from_nanos(0));
        assert_eq!(offer(sample(0)), Offered::Taken);
        assert_eq!(offer(image(250_000)), Offered::Taken);
        assert_eq!(offer(image(250_000)), Offered::Lost(GapCause::QueueFull));
        assert_eq!(offer(sample(1)), Offered::Taken, "there is room for others beside it");
        let drained = buffer.drain(Duration::ZERO);
        buffer.release(drained.facts.iter().map(|(_, fact)| buffer.size_of(fact)).sum());
        assert_eq!((drained.facts.len(), buffer.fill().0), (3, 0));
        assert_eq!(offer(image(250_000)), Offered::Taken);
    }

    #[test]
    fn a_value_that_the_store_would_refuse_is_counted_and_never_gets_there() {
        let buffer = Buffer::new(usize::MAX);
        let offer = |bytes| buffer.offer(PvId(1), image(bytes), Timestamp::from_nanos(5));
        assert_eq!(offer(VALUE_BYTES_MAX), Offered::Taken);
        assert_eq!(offer(VALUE_BYTES_MAX + 1), Offered::Lost(GapCause::StoreRefused));
        let drained = buffer.drain(Duration::ZERO);
        let lost: Vec<_> = drained.losses.iter().map(|(_, gap)| (gap.cause, gap.lost)).collect();
        assert_eq!((drained.facts.len(), lost), (1, vec![(GapCause::StoreRefused, 1)]));
    }

    #[test]
    fn what_the_writer_holds_counts_until_it_is_released() {
        let buffer = Buffer::new(2 * FACT_BYTES);
        assert_eq!(buffer.offer(PvId(1), sample(0), Timestamp::from_nanos(0)), Offered::Taken);
        assert_eq!(buffer.offer(PvId(1), sample(1), Timestamp::from_nanos(1)), Offered::Taken);
        let held = buffer.drain(Duration::ZERO);
        buffer.store_refused();
        assert_eq!(buffer.offer(PvId(1), sample(2), Timestamp::from_nanos(2)), Offered::Lost(GapCause::StoreRefused));
        buffer.release(held.facts.iter().map(|(_, fact)| buffer.size_of(fact)).sum());
        assert_eq!(buffer.offer(PvId(1), sample(3), Timestamp::from_nanos(3)), Offered::Taken);
    }

    #[test]
    fn each_cause_of_a_loss_is_counted_apart() {
        let buffer = Buffer::new(0);
        let lose = |nanos| buffer.offer(PvId(1), sample(nanos), Timestamp::from_nanos(nanos));
        assert_eq!((lose(0), lose(1)), (Offered::Lost(GapCause::QueueFull), Offered::Lost(GapCause::QueueFull)));
        buffer.store_refused();
        assert_eq!(lose(2), Offered::Lost(GapCause::StoreRefused));
        let mut lost: Vec<_> =
            buffer.drain(Duration::ZERO).losses.iter().map(|(_, gap)| (gap.cause, gap.lost)).collect();
        lost.sort_by_key(|(_, lost)| *lost);
        assert_eq!(lost, [(GapCause::StoreRefused, 1), (GapCause::QueueFull, 2)]);
    }

    /// What comes in one packet has one time of arrival, and the writer may drain in between.
    #[test]
    fn losses_of_one_moment_that_are_drained_apart_are_gaps_apart() {
        let buffer = Buffer::new(0);
        let mut gaps = HashMap::new();
        for now in [5, 5, 5, 4, 9] {
            assert_eq!(
                buffer.offer(PvId(1), sample(5), Timestamp::from_nanos(now)),
                Offered::Lost(GapCause::QueueFull)
            );
            let losses = buffer.drain(Duration::ZERO).losses;
            gaps.extend(losses.into_iter().map(|(pv, gap)| ((pv, gap.from, gap.cause), gap)));
        }
        assert_eq!(gaps.values().map(|gap| gap.lost).sum::<u64>(), 5);
        assert!(gaps.values().all(|gap| gap.to > Some(gap.from)));
    }

    #[test]
    fn gaps_are_taken_even_when_it_is_full() {
        let buffer = Buffer::new(0);
        let gap = Gap { from: Timestamp::from_nanos(0), to: None, cause: GapCause::Disconnected, lost: 0 };
        assert_eq!(buffer.offer(PvId(1), Fact::Gap(gap), Timestamp::from_nanos(0)), Offered::Taken);
    }
}
