//! The one queue between the network and the disk: bounded, never waited for by the network, exact about what it cannot take.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use archive::{PvId, VALUE_BYTES_MAX};
use sample::{Gap, GapCause, Metadata, Timestamp};

use crate::channel::Fact;

/// What a fact costs besides the bytes of its value.
const FACT_BYTES: usize = size_of::<(PvId, Fact)>();

/// What is handed to the store at once, about two milliseconds' work of single numbers. When the writer is behind the queue may hold much
/// more: then there is room again after each portion, those who ask the store meanwhile get a turn, and it sees in time that its head is
/// full; and nobody who reads a batch has to take more at once.
pub(crate) const PORTION_BYTES: usize = 1 << 20;
/// Of arrays, and of whatever else takes so many bytes, no more than so many at once, a tenth of a millisecond's work: with more than the
/// archiver can take of them, whoever asks waits for that. Less of single numbers at once would cost more for each.
const PORTION_ARRAYS: usize = 64;
const ARRAY_BYTES_MIN: usize = 256;

/// The memory of so many portions is used again.
const SPARES_MAX: usize = 4;
/// When the writer is not behind it is that of one, and of so many facts: what comes in five milliseconds at 800,000 updates a second.
const SPARE_FACTS: usize = 4096;

/// Gaps and metadata may take so much more than the queue has for samples. Where IOCs come and go while the store refuses for days,
/// those of a PV are put together.
const FACTS_MORE_BYTES: usize = 16 << 20;

/// How often losses are told. Those that follow one another within this are one gap, so that hours of too much are not
/// a gap for each PV and second; but none is longer than the other.
const LOSSES_EACH: Duration = Duration::from_secs(1);
const GAP_MAX: Duration = Duration::from_secs(60);

/// The queue. Bytes count from `offer` to `release`, so that what the writer holds while the store refuses is bounded too.
#[derive(Debug)]
pub(crate) struct Buffer {
    queue: Mutex<Queue>,
    filled: Condvar,
    bytes_max: usize,
    /// What is told of it to those who only look, beside the lock: the thread that holds it may be put aside, as by whoever looks.
    fill: AtomicUsize,
    /// How many gaps and metadata lost their place to another, ever.
    merged: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    /// In the order in which they came, all but the last of them full. Each goes as a whole, and its memory with it.
    portions: VecDeque<Portion>,
    /// Memory for those that come.
    spares: Vec<Vec<(PvId, Fact)>>,
    bytes: usize,
    /// By cause too: what a full queue lost before the store was known to refuse is not the store's loss.
    losses: HashMap<(PvId, GapCause), Gap>,
    /// The last of them that was drained. A gap is known by where it begins: what is told of it anew takes the place of what was told
    /// before, and so has all that it has counted.
    known: HashMap<(PvId, GapCause), Gap>,
    /// Gaps and metadata that found no room: of each PV one by cause, and the newest. They are told when nothing else waits.
    late: LateFacts,
    /// When losses were drained last, and when the first came of those since.
    told: Option<Instant>,
    owed: Option<Timestamp>,
    refused: bool,
    closed: bool,
}

#[derive(Debug, Default)]
struct LateFacts {
    /// When the first of them came.
    since: Option<Timestamp>,
    gaps: HashMap<(PvId, GapCause), Gap>,
    metadata: HashMap<PvId, (Timestamp, Arc<Metadata>)>,
}

/// Facts that go to the store at once.
#[derive(Debug)]
struct Portion {
    /// When the first of them came.
    since: Timestamp,
    bytes: usize,
    arrays: usize,
    facts: Vec<(PvId, Fact)>,
}

impl Portion {
    fn is_full(&self) -> bool {
        self.bytes >= PORTION_BYTES || self.arrays >= PORTION_ARRAYS
    }
}

/// What the writer takes out at once.
#[derive(Debug, Default)]
pub(crate) struct Drained {
    pub(crate) facts: Vec<(PvId, Fact)>,
    /// What they count for, to be released.
    pub(crate) bytes: usize,
    /// A gap for each PV and cause that lost samples since they were told last.
    pub(crate) losses: Vec<(PvId, Gap)>,
    /// When the first of those came that are left; none if none is.
    pub(crate) left: Option<Timestamp>,
    /// When the first of those losses came that are still to be told; none if all are.
    pub(crate) owed: Option<Timestamp>,
    /// More than an eighth of the room is taken.
    pub(crate) behind: bool,
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
        Buffer {
            queue: Mutex::default(),
            filled: Condvar::new(),
            fill: AtomicUsize::new(0),
            merged: AtomicU64::new(0),
            bytes_max,
        }
    }

    /// Takes a fact, or counts a lost sample. Gaps and metadata are always taken, some of them together.
    pub(crate) fn offer(&self, pv: PvId, fact: Fact, now: Timestamp) -> Offered {
        let size = self.size_of(&fact);
        let too_large = matches!(&fact, Fact::Sample(sample) if sample.value.byte_size() > VALUE_BYTES_MAX);
        let mut queue = self.lock();
        if too_large || queue.bytes + size > self.bytes_max && matches!(fact, Fact::Sample(_)) {
            let cause = if queue.refused || too_large { GapCause::StoreRefused } else { GapCause::QueueFull };
            queue.owed = Some(queue.owed.map_or(now, |owed| owed.min(now)));
            // After a clock was set back they begin anew.
            let known =
                queue.known.get(&(pv, cause)).copied().filter(|known| known.from <= now.saturating_add(LOSSES_EACH));
            let begin = || {
                let ended = known.and_then(|known| known.to).unwrap_or(Timestamp::MIN);
                let goes_on = |known: &Gap| {
                    now <= ended.saturating_add(LOSSES_EACH) && ended < known.from.saturating_add(GAP_MAX)
                };
                known.filter(goes_on).unwrap_or(Gap { from: now.max(ended), to: None, cause, lost: 0 })
            };
            let loss = queue.losses.entry((pv, cause)).or_insert_with(begin);
            loss.lost += 1;
            let end = Timestamp::from_nanos(now.max(loss.from).nanos().saturating_add(1));
            loss.to = loss.to.max(Some(end));
            return Offered::Lost(cause);
        }
        let more = if matches!(fact, Fact::Sample(_)) { 0 } else { FACTS_MORE_BYTES };
        if queue.bytes + size > self.bytes_max + more {
            let took_a_place = queue.late.add(pv, fact, now);
            self.merged.fetch_add(u64::from(took_a_place), Relaxed);
            return Offered::Taken;
        }
        if let Fact::Gap(gap) = &fact
            && let Some(before) = queue.late.gaps.remove(&(pv, gap.cause))
            && before.from != gap.from
        {
            // Where both are of one gap, this one knows more of it.
            self.take(&mut queue, (pv, Fact::Gap(before)), FACT_BYTES, now);
        }
        self.take(&mut queue, (pv, fact), size, now);
        Offered::Taken
    }

    /// Takes a row of the ledger, whether or not there is room: there are few, as the writer itself makes them, and they tell what
    /// found none.
    pub(crate) fn insist(&self, pv: PvId, fact: Fact, now: Timestamp) {
        let size = self.size_of(&fact);
        self.take(&mut self.lock(), (pv, fact), size, now);
    }

    /// What a fact counts for as long as it is in the queue, or with the writer. No value counts for more than half of the queue, or one
    /// that is larger would never get through.
    pub(crate) fn size_of(&self, fact: &Fact) -> usize {
        FACT_BYTES + payload_bytes(fact).min(self.bytes_max / 2)
    }

    fn take(&self, queue: &mut Queue, fact: (PvId, Fact), size: usize, now: Timestamp) {
        queue.bytes += size;
        self.fill.store(queue.bytes, Relaxed);
        let arrays = usize::from(size >= FACT_BYTES + ARRAY_BYTES_MIN);
        match queue.portions.back_mut() {
            Some(last) if !last.is_full() => {
                last.bytes += size;
                last.arrays += arrays;
                last.facts.push(fact);
            }
            _ => {
                let mut facts = queue.spares.pop().unwrap_or_default();
                facts.push(fact);
                queue.portions.push_back(Portion { since: now, bytes: size, arrays, facts });
                if queue.portions.len() == 1 {
                    self.filled.notify_one();
                }
            }
        }
    }

    /// Takes the oldest portion out, waiting for something at most `patience`.
    pub(crate) fn drain(&self, patience: Duration) -> Drained {
        let mut queue = self.lock();
        if queue.portions.is_empty() && !queue.closed {
            queue = self.filled.wait_timeout(queue, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        let mut drained = Drained { closed: queue.closed, ..Drained::default() };
        if let Some(Portion { bytes, facts, .. }) = queue.portions.pop_front() {
            (drained.bytes, drained.facts) = (bytes, facts);
        } else if queue.late.since.is_some() {
            drained.facts = queue.late.take();
        }
        drained.left = queue.portions.front().map(|portion| portion.since);
        let is_end = queue.closed && drained.left.is_none();
        if is_end || queue.told.is_none_or(|told| told.elapsed() >= LOSSES_EACH) && !queue.losses.is_empty() {
            (queue.told, queue.owed) = (Some(Instant::now()), None);
            let lost = mem::take(&mut queue.losses);
            queue.known.extend(lost.iter().map(|(key, gap)| (*key, *gap)));
            drained.losses = lost.into_iter().map(|((pv, _), gap)| (pv, gap)).collect();
        }
        drained.behind = queue.bytes > self.bytes_max / 8;
        drained.owed = [queue.owed, queue.late.since].into_iter().flatten().min();
        drained
    }

    /// Takes back the memory of facts that are gone; little of it while the writer is not behind.
    pub(crate) fn reuse(&self, mut facts: Vec<(PvId, Fact)>) {
        facts.clear();
        let mut queue = self.lock();
        let mut most = SPARES_MAX;
        if queue.portions.len() <= 1 {
            facts.shrink_to(SPARE_FACTS);
            most = 1;
        }
        queue.spares.truncate(most);
        if facts.capacity() > 0 && queue.spares.len() < most {
            queue.spares.push(facts);
        }
    }

    /// The store has taken what was drained.
    pub(crate) fn release(&self, bytes: usize) {
        let mut queue = self.lock();
        queue.bytes -= bytes;
        self.fill.store(queue.bytes, Relaxed);
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

    /// How many gaps and metadata were put together with others.
    pub(crate) fn merged(&self) -> u64 {
        self.merged.load(Relaxed)
    }

    /// Bytes that wait, and the most that may.
    pub(crate) fn fill(&self) -> (usize, usize) {
        (self.fill.load(Relaxed), self.bytes_max)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LateFacts {
    /// Takes one, and says whether another lost its place to it.
    fn add(&mut self, pv: PvId, fact: Fact, now: Timestamp) -> bool {
        self.since.get_or_insert(now);
        match fact {
            Fact::Gap(gap) => {
                let before = self.gaps.remove(&(pv, gap.cause)).filter(|before| before.from != gap.from);
                // In between nothing was taken: the queue was full.
                let from = before.map_or(gap.from, |before| before.from.min(gap.from));
                let lost = before.map_or(0, |before| before.lost) + gap.lost;
                self.gaps.insert((pv, gap.cause), Gap { from, lost, ..gap });
                before.is_some()
            }
            Fact::Metadata(since, metadata) => self.metadata.insert(pv, (since, metadata)).is_some(),
            Fact::Sample(_) | Fact::LedgerRow(_) => {
                unreachable!("samples are counted, and rows are taken whatever there is room for")
            }
        }
    }

    fn take(&mut self) -> Vec<(PvId, Fact)> {
        self.since = None;
        let gaps = mem::take(&mut self.gaps).into_iter().map(|((pv, _), gap)| (pv, Fact::Gap(gap)));
        let metadata = mem::take(&mut self.metadata).into_iter();
        gaps.chain(metadata.map(|(pv, (since, metadata))| (pv, Fact::Metadata(since, metadata)))).collect()
    }
}

fn payload_bytes(fact: &Fact) -> usize {
    match fact {
        Fact::Sample(sample) | Fact::LedgerRow(sample) => {
            sample.value.byte_size() + sample.alarm.message.as_ref().map_or(0, |message| message.len())
        }
        Fact::Gap(_) => 0,
        Fact::Metadata(_, metadata) => {
            size_of::<Metadata>() + metadata.labels.iter().map(|label| size_of::<String>() + label.len()).sum::<usize>()
        }
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

    #[test]
    fn losses_that_are_still_to_be_told_are_owed_since_the_first_of_them() {
        let buffer = Buffer::new(FACT_BYTES);
        let at = Timestamp::from_nanos;
        for n in 0..3 {
            let _ = buffer.offer(PvId(1), sample(n), at(n));
        }
        let told = buffer.drain(Duration::ZERO);
        assert_eq!((told.losses.len(), told.owed), (1, None));
        for n in [7, 8] {
            assert_eq!(buffer.offer(PvId(1), sample(n), at(n)), Offered::Lost(GapCause::QueueFull));
        }
        let withheld = buffer.drain(Duration::ZERO);
        assert_eq!((withheld.losses.len(), withheld.owed), (0, Some(at(7))), "it is too soon to tell them");
        buffer.close();
        let last = buffer.drain(Duration::ZERO);
        assert_eq!((last.losses.len(), last.owed, last.closed), (1, None, true));
    }

    #[test]
    fn a_clock_that_is_set_back_begins_a_gap_of_its_own() {
        let buffer = Buffer::new(0);
        let hour = 3_600_000_000_000;
        let lose = |nanos| buffer.offer(PvId(1), sample(nanos), Timestamp::from_nanos(nanos));
        let _ = lose(2 * hour);
        assert_eq!(buffer.drain(Duration::ZERO).losses.len(), 1);
        let _ = lose(hour);
        buffer.close();
        let [(_, gap)] = buffer.drain(Duration::ZERO).losses[..] else { panic!("one gap") };
        assert_eq!(
            (gap.from, gap.to, gap.lost),
            (Timestamp::from_nanos(hour), Some(Timestamp::from_nanos(hour + 1)), 1)
        );
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
        buffer.release(drained.bytes);
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
    fn few_arrays_are_a_portion_and_many_numbers() {
        let buffer = Buffer::new(usize::MAX);
        let facts_at_once = |fact: fn() -> Fact| {
            for n in 0..4 * PORTION_BYTES / FACT_BYTES {
                buffer.offer(PvId(1), fact(), Timestamp::from_nanos(n as i64));
            }
            let first = buffer.drain(Duration::ZERO).facts.len();
            while buffer.drain(Duration::ZERO).left.is_some() {}
            first
        };
        assert_eq!(facts_at_once(|| image(ARRAY_BYTES_MIN)), PORTION_ARRAYS);
        assert_eq!(facts_at_once(|| image(0)), PORTION_BYTES.div_ceil(FACT_BYTES));
    }

    #[test]
    fn what_waits_is_handed_over_in_portions_in_its_order_and_says_what_is_left() {
        let buffer = Buffer::new(usize::MAX);
        for n in 0..20 {
            let Fact::Sample(sample) = image(PORTION_BYTES / 8) else { unreachable!("it is a sample") };
            let time = Timestamp::from_nanos(n);
            let fact = Fact::Sample(Sample { time, ..sample });
            assert_eq!(buffer.offer(PvId(1), fact, time), Offered::Taken);
        }
        let mut times = Vec::new();
        loop {
            let drained = buffer.drain(Duration::ZERO);
            assert!(drained.facts.len() <= 8 && drained.bytes < 2 * PORTION_BYTES, "{} facts", drained.facts.len());
            times.extend(drained.facts.iter().map(|(_, fact)| match fact {
                Fact::Sample(sample) => sample.time.nanos(),
                other => panic!("{other:?}"),
            }));
            let next = times.len() as i64;
            assert_eq!(drained.left, (next < 20).then_some(Timestamp::from_nanos(next)));
            buffer.release(drained.bytes);
            if drained.left.is_none() {
                break;
            }
        }
        assert_eq!((times, buffer.fill().0), ((0..20).collect(), 0));
    }

    /// Counted by what they are, whoever holds them: what was handed over and released holds no memory in the queue any more.
    #[test]
    fn a_full_queue_and_what_the_writer_holds_stay_within_its_bytes() {
        let bytes_max = 32 << 20;
        let buffer = Buffer::new(bytes_max);
        let fill = || {
            (0..i64::MAX).take_while(|n| buffer.offer(PvId(1), sample(*n), Timestamp::from_nanos(*n)) == Offered::Taken)
        };
        let held = |buffer: &Buffer| {
            let queue = buffer.lock();
            let portions = queue.portions.iter().map(|portion| portion.facts.capacity()).sum::<usize>();
            (portions + queue.spares.iter().map(Vec::capacity).sum::<usize>()) * FACT_BYTES
        };
        fill().for_each(drop);
        for _ in 0..100 {
            let Drained { facts, bytes, .. } = buffer.drain(Duration::ZERO);
            let with_writer = facts.capacity() * FACT_BYTES;
            buffer.release(bytes);
            fill().for_each(drop);
            let all = held(&buffer) + with_writer;
            assert!(all < bytes_max + bytes_max / 2 + 4 * PORTION_BYTES, "{all} bytes");
            buffer.reuse(facts);
        }
    }

    #[test]
    fn what_the_writer_holds_counts_until_it_is_released() {
        let buffer = Buffer::new(2 * FACT_BYTES);
        assert_eq!(buffer.offer(PvId(1), sample(0), Timestamp::from_nanos(0)), Offered::Taken);
        assert_eq!(buffer.offer(PvId(1), sample(1), Timestamp::from_nanos(1)), Offered::Taken);
        let held = buffer.drain(Duration::ZERO);
        buffer.store_refused();
        assert_eq!(buffer.offer(PvId(1), sample(2), Timestamp::from_nanos(2)), Offered::Lost(GapCause::StoreRefused));
        buffer.release(held.bytes);
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
    fn losses_that_are_drained_apart_are_counted_in_one_gap_or_in_gaps_apart() {
        let buffer = Buffer::new(0);
        let mut gaps = HashMap::new();
        let later = LOSSES_EACH.as_nanos() as i64 + 20;
        let second = LOSSES_EACH.as_nanos() as i64;
        let minutes = (1..=150).map(|n| later + n * second);
        for now in [5, 5, 5, 4, 9, later].into_iter().chain(minutes) {
            assert_eq!(
                buffer.offer(PvId(1), sample(5), Timestamp::from_nanos(now)),
                Offered::Lost(GapCause::QueueFull)
            );
            buffer.lock().told = None;
            let losses = buffer.drain(Duration::ZERO).losses;
            gaps.extend(losses.into_iter().map(|(pv, gap)| ((pv, gap.from, gap.cause), gap)));
        }
        assert_eq!(gaps.values().map(|gap| gap.lost).sum::<u64>(), 156);
        assert!(gaps.values().all(|gap| gap.to > Some(gap.from)));
        let mut begun: Vec<i64> = gaps.values().map(|gap| gap.from.nanos()).collect();
        begun.sort_unstable();
        assert_eq!(begun, [5, later, later + 61 * second, later + 122 * second]);
    }

    #[test]
    fn gaps_are_taken_even_when_it_is_full() {
        let buffer = Buffer::new(0);
        let gap = Gap { from: Timestamp::from_nanos(0), to: None, cause: GapCause::Disconnected, lost: 0 };
        assert_eq!(buffer.offer(PvId(1), Fact::Gap(gap), Timestamp::from_nanos(0)), Offered::Taken);
    }

    /// As the store keeps them: by PV, beginning and cause, the last that was told.
    #[test]
    fn gaps_and_metadata_that_find_no_room_are_put_together_and_the_last_of_each_is_told() {
        let (buffer, at) = (Buffer::new(0), Timestamp::from_nanos);
        let cause = GapCause::Disconnected;
        let last = 200_000;
        for second in 0..=last {
            let opened = Gap { from: at(10 * second), to: None, cause, lost: 0 };
            let closed = Gap { to: Some(at(10 * second + 5)), ..opened };
            let metadata = Metadata { precision: Some(second as i32), ..Metadata::default() };
            for fact in [Fact::Gap(opened), Fact::Gap(closed), Fact::Metadata(at(10 * second), metadata.into())] {
                assert_eq!(buffer.offer(PvId(second as u32 % 2), fact, at(10 * second)), Offered::Taken);
            }
        }
        assert!(buffer.fill().0 <= FACTS_MORE_BYTES, "{} bytes", buffer.fill().0);
        assert!(buffer.merged() > 100_000, "{}", buffer.merged());
        let (mut gaps, mut newest) = (HashMap::new(), HashMap::new());
        loop {
            let Drained { facts, bytes, .. } = buffer.drain(Duration::ZERO);
            buffer.release(bytes);
            if facts.is_empty() {
                break;
            }
            for (pv, fact) in facts {
                match fact {
                    Fact::Gap(gap) => _ = gaps.insert((pv, gap.from), gap),
                    Fact::Metadata(since, metadata) => _ = newest.insert(pv, (since, metadata.precision)),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(gaps.values().all(|gap| gap.to.is_some()), "each ends");
        for pv in [0, 1] {
            let second = last - (last + pv) % 2;
            assert_eq!(newest[&PvId(pv as u32)], (at(10 * second), Some(second as i32)));
            assert_eq!(
                gaps.iter().filter(|((of, _), _)| *of == PvId(pv as u32)).map(|(_, gap)| gap.to).max(),
                Some(Some(at(10 * second + 5)))
            );
        }
        let again = Gap { from: at(7), to: None, cause, lost: 0 };
        assert_eq!(buffer.offer(PvId(1), Fact::Gap(again), at(7)), Offered::Taken);
        assert_eq!(buffer.drain(Duration::ZERO).facts.len(), 1, "there is room again");
    }
}
