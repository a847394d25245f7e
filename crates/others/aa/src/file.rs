//! One file: its header, the place of a time in it, and its samples from there on.
//!
//! Samples stand in order of time, so a time is found by halving; lines that are none are passed over. What stands in no order
//! all the same is sorted within a batch, and left out and counted where it is earlier than what was given out.

use std::{collections::VecDeque, io, ops::Range, sync::Arc};

use memchr::{memchr, memmem};
use sample::{Batch, Metadata, Sample, TimeRange, Timestamp};

use crate::{
    fields::{FieldValue, metadata_of},
    header::Header,
    rows::{Damage, Rows, time_of_line},
    scan::{Found, Scan},
    tape::{Place, Stamp, Tape},
};

/// Halving ends where so little is left.
const HALVED_BYTES_MIN: u64 = 16 << 10;
const BATCH_ROWS_MAX: usize = 8192;
const BATCH_BYTES_MAX: usize = 1 << 20;
/// Of so many lines that are passed over unread, one is looked at for its time.
const LOOKED_AT: u64 = 256;
/// After so many of them it is told how far has been looked: they take a millisecond or two.
const SKIPPED_MAX: u64 = 8192;
/// After so many samples behind the range nothing of it is expected any more.
const BEHIND_MAX: usize = 8;

/// An open file.
#[derive(Debug)]
pub(crate) struct PbFile {
    tape: Tape,
    pub(crate) header: Header,
    /// The first line, with its end.
    header_line: Vec<u8>,
    /// Where the samples begin.
    begins: u64,
}

impl PbFile {
    /// None if there is no header, as in an empty file.
    pub(crate) fn open(place: &Place) -> io::Result<Option<PbFile>> {
        let tape = Tape::open(place)?;
        let mut scan = Scan::from(0);
        let Found::Line(_, line) = scan.next(&tape)? else { return Ok(None) };
        let (header, header_line) = (Header::of_line(line), [line, b"\n"].concat());
        Ok(header.map(|header| PbFile { header, begins: header_line.len() as u64, header_line, tape }))
    }

    /// Which file it is, if it is a whole one that is read as it is.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.tape.stamp()
    }

    pub(crate) fn tape(&self) -> &Tape {
        &self.tape
    }

    /// About how many bytes the samples of a range have.
    pub(crate) fn bytes_of(&self, range: TimeRange) -> io::Result<u64> {
        let end = self.place_of(range.t1)?.saturating_add(HALVED_BYTES_MIN).min(self.len());
        Ok(end.saturating_sub(self.place_of(range.t0)?))
    }

    /// The samples of lines that lie there.
    pub(crate) fn samples_at(&self, bytes: Range<u64>) -> io::Result<Batch> {
        let mut buffer = vec![0; usize::try_from(bytes.end.saturating_sub(bytes.start).min(self.len())).unwrap_or(0)];
        let read = self.tape.read_at(&mut buffer, bytes.start)?;
        let mut rows = Rows::new(&self.header);
        for line in buffer[..read].split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n")) {
            let _ = rows.take_line(line); // what is no sample is none, and was counted
        }
        Ok(rows.batch())
    }

    /// Where to begin to read for samples from `time` on: a line at or before the first of them.
    fn place_of(&self, time: Timestamp) -> io::Result<u64> {
        if self.tape.is_packed() {
            return Ok(self.begins); // to look elsewhere is to unpack all before it
        }
        let (mut low, mut high) = (self.begins, self.tape.len());
        while high - low > HALVED_BYTES_MIN {
            let middle = low + (high - low) / 2;
            match self.first_behind(middle, high)? {
                Some((begins, first)) if first < time => low = begins,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// The first sample whose line begins behind `offset` and before `high`.
    fn first_behind(&self, offset: u64, high: u64) -> io::Result<Option<(u64, Timestamp)>> {
        let (mut scan, mut scratch) = (Scan::from(offset), Vec::new());
        let mut is_first = true;
        loop {
            match scan.next(&self.tape)? {
                Found::Line(..) | Found::Overlong if std::mem::take(&mut is_first) => {} // the end of a line
                Found::Line(begins, _) if begins >= high => return Ok(None),
                Found::Line(begins, line) => {
                    if let Some(time) = time_of_line(&self.header, line, &mut scratch) {
                        return Ok(Some((begins, time)));
                    }
                }
                Found::Overlong => {}
                Found::Torn | Found::End => return Ok(None),
            }
        }
    }

    /// The samples of a range.
    pub(crate) fn samples(self, range: TimeRange) -> io::Result<FileSamples> {
        let scan = Scan::from(self.place_of(range.t0)?);
        let rows = Rows::new(&self.header);
        Ok(FileSamples {
            file: self,
            scan,
            rows,
            range,
            last: None,
            behind: 0,
            damage: Damage::default(),
            ended: false,
            only: None,
            places: None,
            skipped: 0,
            looked_at: [None; 2],
        })
    }

    /// The newest sample at or before `time`.
    pub(crate) fn last_before(self, time: Timestamp) -> io::Result<Option<Sample>> {
        let t1 = Timestamp::from_nanos(time.nanos().saturating_add(1));
        // What is looked for may stand just before the place of the time.
        let mut from = self.place_of(t1)?;
        loop {
            let mut rows = Rows::new(&self.header);
            let mut best: Option<Sample> = None;
            let mut scan = Scan::from(from);
            let mut behind = 0;
            while behind < BEHIND_MAX {
                let Found::Line(_, line) = scan.next(&self.tape)? else { break };
                if rows.take_line(line).is_none() {
                    continue;
                }
                let batch = rows.batch();
                rows.fields();
                if batch.times()[0] > time {
                    behind += 1;
                } else if best.as_ref().is_none_or(|best| best.time <= batch.times()[0]) {
                    best = Some(batch.get(0));
                }
            }
            if best.is_some() || from == self.begins {
                return Ok(best);
            }
            from = self.begins;
        }
    }

    /// What the header says of the PV, and the first samples that say anything.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        let mut metadata = Metadata {
            value_type: Some(self.header.payload.value_type()),
            element_count: self.header.element_count,
            ..Metadata::default()
        };
        metadata_of(&self.header.fields, &mut metadata);
        let (mut scan, mut rows) = (Scan::from(self.begins), Rows::new(&self.header));
        if let Found::Line(_, line) = scan.next(&self.tape)?
            && rows.take_line(line).is_some()
        {
            rows.fields().iter().for_each(|(_, fields)| _ = metadata_of(fields, &mut metadata));
        }
        Ok(metadata)
    }

    /// Where the first sample at or after `time` stands: the same place for the same time, and the end if there is none.
    pub(crate) fn first_from(&self, time: Timestamp) -> io::Result<u64> {
        let (mut scan, mut scratch) = (Scan::from(self.place_of(time)?), Vec::new());
        loop {
            match scan.next(&self.tape)? {
                Found::Line(begins, line) => {
                    if time_of_line(&self.header, line, &mut scratch).is_some_and(|found| found >= time) {
                        return Ok(begins);
                    }
                }
                Found::Overlong => {}
                Found::Torn | Found::End => return Ok(self.tape.len()),
            }
        }
    }

    pub(crate) fn begins(&self) -> u64 {
        self.begins
    }

    pub(crate) fn len(&self) -> u64 {
        self.tape.len()
    }

    /// The first line, with its end.
    pub(crate) fn header_line(&self) -> &[u8] {
        &self.header_line
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.tape.read_at(buffer, offset)
    }

    /// Where the line ends in which `offset` lies, and whether a line feed ends it; if not, it ends with the file.
    pub(crate) fn line_end(&self, offset: u64) -> io::Result<(u64, bool)> {
        let (mut buffer, mut at) = (vec![0; 1 << 20], offset);
        loop {
            let read = self.tape.read_at(&mut buffer, at)?;
            match memchr(b'\n', &buffer[..read]) {
                Some(end) => return Ok((at + end as u64 + 1, true)),
                None if read == 0 => return Ok((at, false)),
                None => at += read as u64,
            }
        }
    }

    /// The time of the first sample.
    pub(crate) fn first(&self) -> io::Result<Option<Timestamp>> {
        let (mut scan, mut scratch) = (Scan::from(self.begins), Vec::new());
        loop {
            match scan.next(&self.tape)? {
                Found::Line(_, line) => {
                    if let Some(time) = time_of_line(&self.header, line, &mut scratch) {
                        return Ok(Some(time));
                    }
                }
                Found::Overlong => {}
                Found::Torn | Found::End => return Ok(None),
            }
        }
    }
}

/// The samples of a range from one file, in order of time.
#[derive(Debug)]
pub(crate) struct FileSamples {
    file: PbFile,
    scan: Scan,
    rows: Rows,
    range: TimeRange,
    /// The newest that was given out.
    last: Option<Timestamp>,
    behind: usize,
    pub(crate) damage: Damage,
    ended: bool,
    /// Lines without this text are passed over unread.
    only: Option<Arc<[u8]>>,
    /// Where lines stand that may hold it, the present place first; everywhere if that is not known.
    places: Option<VecDeque<Range<u64>>>,
    skipped: u64,
    /// The times of the last two of those lines that were looked at: a line that stands some places too late is not behind the first.
    looked_at: [Option<Timestamp>; 2],
}

impl FileSamples {
    /// Only those whose lines hold a text.
    pub(crate) fn only(self, text: Arc<[u8]>) -> FileSamples {
        FileSamples { only: Some(text), ..self }
    }

    /// And only those of these places.
    pub(crate) fn at(mut self, places: VecDeque<Range<u64>>) -> FileSamples {
        self.ended = places.is_empty();
        self.scan = Scan::from(places.front().map_or(0, |place| place.start));
        FileSamples { places: Some(places), ..self }
    }

    /// How far lines that hold something are all given out.
    pub(crate) fn looked_until(&self) -> Option<Timestamp> {
        self.looked_at[0]
    }

    /// The next batch, which may be empty where lines are passed over; none at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Batch>> {
        while !self.ended {
            self.read()?;
            let batch = self.rows.batch();
            if self.only.is_none() {
                self.rows.fields(); // nobody asks for them
            }
            let batch = self.in_order(batch);
            if !batch.is_empty() {
                self.last = batch.times().last().copied();
                return Ok(Some(batch));
            }
            if self.only.is_some() && !self.ended {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// The times of the samples given out so far that say of their fields that they changed.
    pub(crate) fn changes(&self) -> &[Timestamp] {
        self.rows.changes()
    }

    /// The fields that samples given out so far carried.
    pub(crate) fn fields(&mut self) -> Vec<(Timestamp, Vec<FieldValue>)> {
        let mut fields = self.rows.fields();
        fields.retain(|(time, _)| self.range.contains(*time));
        fields
    }

    /// Reads lines until a batch is full.
    fn read(&mut self) -> io::Result<()> {
        while self.rows.len() < BATCH_ROWS_MAX && self.rows.byte_size() < BATCH_BYTES_MAX {
            if let Some(places) = &mut self.places
                && places.front().is_some_and(|place| self.scan.at() >= place.end)
            {
                places.pop_front();
                let Some(next) = places.front() else {
                    self.ended = true;
                    break;
                };
                if next.start > self.scan.at() {
                    self.scan = Scan::from(next.start);
                }
            }
            match self.scan.next(&self.file.tape)? {
                Found::Line(_, line) if self.only.as_deref().is_some_and(|text| memmem::find(line, text).is_none()) => {
                    self.skipped += 1;
                    if self.skipped.is_multiple_of(LOOKED_AT)
                        && let Some(time) = time_of_line(&self.file.header, line, &mut Vec::new())
                    {
                        self.looked_at = [self.looked_at[1], Some(time)];
                        self.ended |= time >= self.range.t1;
                    }
                    if self.ended || self.skipped.is_multiple_of(SKIPPED_MAX) {
                        break;
                    }
                }
                Found::Line(_, line) => match self.rows.take_line(line) {
                    None => self.damage.bad_lines += 1,
                    Some(()) if self.rows.times().last().is_some_and(|time| *time >= self.range.t1) => {
                        self.behind += 1;
                        if self.behind >= BEHIND_MAX {
                            self.ended = true;
                            break;
                        }
                    }
                    Some(()) => {}
                },
                Found::Overlong => self.damage.bad_lines += 1,
                Found::Torn => self.damage.torn_tails += 1,
                Found::End => {
                    self.ended = true;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Those of the range, sorted, without what should have been given out before.
    fn in_order(&mut self, batch: Batch) -> Batch {
        let batch = batch.sorted();
        let within = batch.rows_within(self.range);
        let late = self.last.map_or(0, |last| batch.times()[within.clone()].partition_point(|time| *time < last));
        self.damage.out_of_order += late as u64;
        let rows = within.start + late..within.end;
        if rows == (0..batch.len()) { batch } else { batch.slice(rows) }
    }
}
