//! Lanes: the samples of each PV in the head, sealed and open.

use std::{collections::HashMap, ops::Range, sync::Arc};

use archive::{PvId, Record};
use sample::{Alarm, Bare, Batch, Element, Runs, Sample, ValueType};

use super::{
    Chunk,
    films::Arrived,
    pages::{Chain, Pages},
};
use crate::{
    block::{repeats::without_repeats, rows::rows_fitting},
    codec::frames::{self, FRAME_BYTES_MIN, Frames},
    log::arrays::Differences,
};

/// What has so many rows is sealed: this bounds what a reader copies.
pub(super) const OPEN_ROWS_MAX: usize = 1024;
/// Neither does a batch of arrays or texts grow beyond this, unless a single sample does.
pub(super) const OPEN_BYTES_MAX: usize = 256 << 10;
/// Rows of a chunk, where many arrive at once.
const CHUNK_ROWS_MAX: usize = 8192;

/// What a chunk takes besides its columns, and what a PV takes that has chunks.
pub(super) const CHUNK_BYTES: usize = 250;
/// What an alarm takes besides its message.
const ALARM_BYTES: usize = 100;

/// The samples of all PVs.
#[derive(Debug)]
pub(super) struct Lanes {
    /// By number of the PV.
    pub(super) plain: Vec<Lane>,
    pages: Pages,
    /// Those whose samples are not all in pages.
    pub(super) other: HashMap<PvId, Other>,
    /// Rows of pages name their alarm by its place here.
    alarms: Vec<Alarm>,
    alarm_numbers: HashMap<Alarm, u16>,
    /// The one that was asked for last: alarms come in swarms.
    last_alarm: u16,
}

/// The newest samples of a PV.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    chain: Chain,
    pub(super) open: Open,
}

/// Where the next sample of a PV goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    Nowhere,
    Pages(Element),
    Batch,
    Film,
    /// In the other half of the head.
    Elsewhere,
}

#[derive(Debug, Default)]
pub(super) struct Other {
    pub(super) sealed: Vec<Chunk>,
    pub(super) open: Option<Batch>,
    pub(super) film: Option<Arc<Frames>>,
}

/// What some records changed.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) bytes: isize,
    pub(super) samples: u64,
    pub(super) repeats: u64,
}

impl Lanes {
    pub(super) fn new(pages: Pages) -> Lanes {
        Lanes {
            plain: Vec::new(),
            pages,
            other: HashMap::new(),
            alarms: vec![Alarm::default()],
            alarm_numbers: HashMap::from([(Alarm::default(), 0)]),
            last_alarm: 0,
        }
    }

    /// Whether a PV lies in the other half of the head, now that this record of it comes.
    pub(super) fn leave_to_arrays(&mut self, pv: PvId, record: &Record, taken: &mut Taken) -> bool {
        let lane = self.lane(pv, taken);
        if lane.open == Open::Nowhere && frames::are(record) && !self.other.contains_key(&pv) {
            self.plain[pv.0 as usize].open = Open::Elsewhere;
        }
        self.is_left_to_arrays(pv)
    }

    pub(super) fn is_left_to_arrays(&self, pv: PvId) -> bool {
        self.plain.get(pv.0 as usize).is_some_and(|lane| lane.open == Open::Elsewhere)
    }

    /// Whether a PV has samples here.
    pub(super) fn has(&self, pv: PvId) -> bool {
        self.plain.get(pv.0 as usize).is_some_and(|lane| lane.open != Open::Nowhere)
            || !self.other.is_empty() && self.other.contains_key(&pv)
    }

    /// Whether there may be samples of a PV, here or in the other half.
    pub(super) fn may_have(&self, pv: PvId) -> bool {
        self.has(pv) || self.plain.get(pv.0 as usize).is_some_and(|lane| lane.chain.len() > 0)
    }

    /// Takes the samples of a record.
    pub(super) fn take(&mut self, pv: PvId, record: &Record, taken: &mut Taken, differences: &mut Differences) {
        match record {
            Record::Samples(batch) => self.append(pv, batch, taken, differences),
            Record::Sample(sample) => self.push(pv, sample, taken, differences),
            Record::Array(batch) => self.push_shared(pv, batch, taken, differences),
            // Nobody counts it among the samples, and the log has it whole.
            Record::LedgerRow(sample) => self.push(pv, sample, taken, &mut Differences::default()),
            Record::Gap(_) | Record::Metadata(..) => unreachable!("they lie beside the lanes"),
        }
    }

    /// Those that have samples, by number.
    pub(super) fn pvs(&self) -> Vec<PvId> {
        let plain = self.plain.iter().enumerate().filter(|(_, lane)| lane.chain.len() > 0);
        let mut pvs: Vec<PvId> = plain.map(|(number, _)| PvId(number as u32)).collect();
        pvs.extend(self.other.keys());
        pvs.sort_unstable();
        pvs.dedup();
        pvs
    }

    pub(super) fn sealed(&self, pv: PvId) -> &[Chunk] {
        self.other.get(&pv).map_or(&[], |other| &other.sealed)
    }

    /// A copy of what is not sealed; frames are shared.
    pub(super) fn open(&self, pv: PvId) -> Option<Chunk> {
        let lane = self.plain.get(pv.0 as usize)?;
        match lane.open {
            Open::Nowhere | Open::Elsewhere => None,
            Open::Pages(element) => Some(Chunk::from(self.paged(lane.chain, element))),
            Open::Batch => self.other.get(&pv)?.open.clone().map(Chunk::from),
            Open::Film => Some(Chunk::Frames(self.other.get(&pv)?.film.clone()?)),
        }
    }

    fn paged(&self, chain: Chain, element: Element) -> Batch {
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        for (alarm, rows) in self.pages.alarms(chain) {
            alarms.push(&self.alarms[alarm as usize], rows);
        }
        pulses.push(&0, chain.len());
        let values = self.pages.values(chain, element);
        Batch::from_columns(self.pages.times(chain), values, alarms, pulses).expect("each row has all of them")
    }

    /// A bare sample, into pages if its PV has them open for its type; whether it was taken.
    #[inline]
    pub(super) fn push_bare(&mut self, pv: PvId, bare: Bare, taken: &mut Taken) -> bool {
        let Some(lane) = self.plain.get_mut(pv.0 as usize) else { return false };
        if lane.open != Open::Pages(bare.element) {
            return false;
        }
        taken.bytes += self.pages.push(&mut lane.chain, bare.time, bare.bits, 0) as isize;
        taken.samples += 1;
        if lane.chain.len() >= OPEN_ROWS_MAX {
            self.seal(pv, taken);
        }
        true
    }

    pub(super) fn push(&mut self, pv: PvId, sample: &Sample, taken: &mut Taken, differences: &mut Differences) {
        if frames::may_be(sample.value.value_type()) {
            return self.push_array(pv, Arrived::Sample(sample), taken, differences);
        }
        if sample.pulse == 0
            && sample.stamp.is_none()
            && let Some((element, number)) = sample.value.bits()
            && let Some(alarm) = self.alarm(&sample.alarm, taken)
            && self.open_pages(pv, element, taken)
        {
            let lane = &mut self.plain[pv.0 as usize];
            taken.bytes += self.pages.push(&mut lane.chain, sample.time, number, alarm) as isize;
            taken.samples += 1;
            if lane.chain.len() >= OPEN_ROWS_MAX {
                self.seal(pv, taken);
            }
        } else {
            self.append_other(pv, &Batch::of(sample), taken);
        }
    }

    pub(super) fn append(&mut self, pv: PvId, batch: &Batch, taken: &mut Taken, differences: &mut Differences) {
        if frames::may_be(batch.value_type()) {
            if batch.byte_size() >= batch.len() * FRAME_BYTES_MIN {
                let rows = 0..batch.len();
                return rows.for_each(|row| self.push_array(pv, Arrived::Row(batch, row), taken, differences));
            }
            (0..batch.len()).for_each(|_| differences.push_whole());
        }
        let plain = batch.len() < OPEN_ROWS_MAX && batch.value_type().is_numeric_scalar() && is_plain(batch);
        if !plain || !self.append_plain(pv, batch, taken) {
            self.append_other(pv, batch, taken);
        }
    }

    /// Into pages; false, and nothing is taken, if they cannot go there.
    fn append_plain(&mut self, pv: PvId, batch: &Batch, taken: &mut Taken) -> bool {
        let known = batch.alarms().iter().all(|(_, alarm)| self.alarm(alarm, taken).is_some());
        if !known || !self.open_pages(pv, batch.value_type().element, taken) {
            return false;
        }
        for (rows, alarm) in batch.alarms().iter() {
            let alarm = self.alarm(alarm, taken).expect("it was given a number just now");
            let lane = &mut self.plain[pv.0 as usize];
            let times = &batch.times()[rows.clone()];
            taken.bytes += self.pages.extend(&mut lane.chain, times, batch.values(), rows, alarm) as isize;
        }
        taken.samples += batch.len() as u64;
        if self.plain[pv.0 as usize].chain.len() >= OPEN_ROWS_MAX {
            self.seal(pv, taken);
        }
        true
    }

    /// Makes sure that the next sample may go into pages. Not where a batch of that type is open: a PV that has a pulse now and
    /// then would get a chunk each time.
    fn open_pages(&mut self, pv: PvId, element: Element, taken: &mut Taken) -> bool {
        let lane = self.lane(pv, taken);
        match lane.open {
            Open::Pages(same) if same == element => return true,
            Open::Nowhere => {}
            Open::Pages(_) | Open::Film => self.seal(pv, taken),
            Open::Elsewhere => unreachable!("its records go to the other half"),
            Open::Batch => {
                let open = self.other.get(&pv).and_then(|other| other.open.as_ref());
                let of_type = |batch: &Batch| batch.value_type() == ValueType::scalar(element);
                if open.is_some_and(of_type) {
                    return false;
                }
                self.seal(pv, taken);
            }
        }
        self.plain[pv.0 as usize].open = Open::Pages(element);
        true
    }

    /// Into the open batch, or right into sealed chunks where there are many rows or large ones.
    fn append_other(&mut self, pv: PvId, batch: &Batch, taken: &mut Taken) {
        if batch.is_empty() {
            return;
        }
        self.lane(pv, taken);
        let mut start = 0;
        while start < batch.len() {
            let rows = start..start + rows_fitting(batch, start, CHUNK_ROWS_MAX, OPEN_BYTES_MAX);
            start = rows.end;
            taken.samples += rows.len() as u64;
            self.extend_open(pv, (batch.value_type(), rows.len()), taken, |open, taken| {
                taken.bytes += new_message_bytes(open, batch, &rows) as isize;
                open.extend_from(batch, rows)
            });
        }
    }

    /// Lets rows of a type be put into the open batch. What has no room for them is sealed before, and what is full then is too.
    pub(super) fn extend_open(
        &mut self,
        pv: PvId,
        (value_type, rows): (ValueType, usize),
        taken: &mut Taken,
        put: impl FnOnce(&mut Batch, &mut Taken) -> bool,
    ) {
        let has_room = |open: &Batch| {
            open.value_type() == value_type
                && open.len() + rows <= OPEN_ROWS_MAX.max(rows)
                && open.byte_size() < OPEN_BYTES_MAX
        };
        let open = self.other.get(&pv).and_then(|other| other.open.as_ref());
        if !open.is_some_and(has_room) {
            self.seal(pv, taken);
        }
        let open = self.other.entry(pv).or_default().open.get_or_insert_with(|| Batch::new(value_type));
        let before = open.memory();
        let fits = put(open, taken);
        assert!(fits, "the types were compared above");
        taken.bytes += open.memory() as isize - before as isize;
        let full = open.len() >= OPEN_ROWS_MAX || open.byte_size() >= OPEN_BYTES_MAX;
        self.plain[pv.0 as usize].open = Open::Batch;
        if full {
            self.seal(pv, taken);
        }
    }

    /// Closes what is open: readers share it from now on.
    pub(super) fn seal(&mut self, pv: PvId, taken: &mut Taken) {
        if self.plain[pv.0 as usize].open == Open::Film {
            self.plain[pv.0 as usize].open = Open::Nowhere;
            let other = self.other.entry(pv).or_default();
            let Some(mut frames) = other.film.take() else { return };
            let before = frames.memory();
            frames.shrink();
            taken.bytes += (frames.memory() + CHUNK_BYTES) as isize - before as isize;
            other.sealed.push(Chunk::Frames(frames));
            return;
        }
        let Some(open) = self.open_taken(pv, taken) else { return };
        let (mut batch, repeats) = without_repeats(open.sorted());
        batch.shrink();
        taken.bytes += (batch.memory() + CHUNK_BYTES) as isize;
        taken.repeats += repeats;
        self.other.entry(pv).or_default().sealed.push(Chunk::from(batch));
    }

    fn open_taken(&mut self, pv: PvId, taken: &mut Taken) -> Option<Batch> {
        let lane = self.plain[pv.0 as usize];
        self.plain[pv.0 as usize].open = Open::Nowhere;
        match lane.open {
            Open::Nowhere | Open::Film | Open::Elsewhere => None,
            Open::Pages(element) => {
                let batch = self.paged(lane.chain, element);
                taken.bytes -= lane.chain.bytes() as isize;
                self.pages.free(&mut self.plain[pv.0 as usize].chain);
                Some(batch)
            }
            Open::Batch => {
                let batch = self.other.get_mut(&pv)?.open.take()?;
                taken.bytes -= batch.memory() as isize;
                Some(batch)
            }
        }
    }

    pub(super) fn lane(&mut self, pv: PvId, taken: &mut Taken) -> Lane {
        let place = pv.0 as usize;
        if place >= self.plain.len() {
            let before = self.plain.capacity();
            self.plain.resize(place + 1, Lane { chain: Chain::EMPTY, open: Open::Nowhere });
            taken.bytes += ((self.plain.capacity() - before) * size_of::<Lane>()) as isize;
        }
        self.plain[place]
    }

    /// The number of an alarm; none if there are too many different ones.
    fn alarm(&mut self, alarm: &Alarm, taken: &mut Taken) -> Option<u16> {
        if alarm.is_none() {
            return Some(0);
        }
        if *alarm == self.alarms[usize::from(self.last_alarm)] {
            return Some(self.last_alarm);
        }
        let number = match self.alarm_numbers.get(alarm) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.alarms.len()).ok()?;
                self.alarms.push(alarm.clone());
                self.alarm_numbers.insert(alarm.clone(), number);
                taken.bytes += (ALARM_BYTES + message_bytes(alarm)) as isize;
                number
            }
        };
        self.last_alarm = number;
        Some(number)
    }
}

/// What the words of an alarm take.
pub(super) fn message_bytes(alarm: &Alarm) -> usize {
    alarm.message.as_ref().map_or(0, |message| message.len() + 2 * size_of::<usize>())
}

/// What the words of the alarms of some rows take that come behind those of another batch. What is sealed keeps them.
fn new_message_bytes(before: &Batch, batch: &Batch, rows: &Range<usize>) -> usize {
    let runs = batch.alarms().iter().filter(|(run, alarm)| {
        let goes_on = run.start <= rows.start && !before.is_empty() && before.alarms().get(before.len() - 1) == *alarm;
        alarm.message.is_some() && run.start < rows.end && run.end > rows.start && !goes_on
    });
    runs.map(|(_, alarm)| message_bytes(alarm)).sum()
}

/// Whether the rows have nothing that pages have no room for.
fn is_plain(batch: &Batch) -> bool {
    batch.stamps().is_ordinary() && batch.pulses().iter().all(|(_, pulse)| *pulse == 0)
}
