//! A side of a comparison: the samples of a PV in order of time, those of one time together. A stream that breaks off is asked for
//! again from where it was, and one that ends is asked once whether that is all: an answer that was cut short may look like a whole one.

use std::{collections::VecDeque, io, thread, time::Duration};

use aa::{Answer, FieldValue, Heard, metadata_of};
use sample::{Batch, Metadata, Sample, TimeRange, Timestamp};

use crate::{
    commands::appliance::{Appliance, Incoming},
    failure::Failure,
};

/// So often in a row a stream may break off without having brought anything.
const TRIES: u32 = 5;
/// So often it may break off at all.
const BREAKS_MAX: u64 = 1000;
/// The first wait before it is asked for again; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// Where samples come from.
pub(crate) enum Source<'a> {
    /// An archiver that answers.
    Remote { archiver: &'a Appliance, pv: &'a str, answer: Option<Box<Answer<Incoming>>> },
    /// A store of this machine.
    Store(Box<store::Samples>),
    /// There are none.
    Nothing,
}

/// One side.
pub(crate) struct Side<'a> {
    source: Source<'a>,
    range: TimeRange,
    batch: Option<(Batch, usize)>,
    /// Fields of samples that are still to come.
    fields: VecDeque<(Timestamp, Vec<FieldValue>)>,
    /// The samples of the next time; none at the end.
    pub(crate) group: Vec<Sample>,
    /// What those samples carry.
    pub(crate) group_fields: Vec<FieldValue>,
    /// The time before that.
    done: Option<Timestamp>,
    /// Something was given out since it was asked for.
    begun: bool,
    failures: u32,
    /// What headers and fields said so far.
    pub(crate) metadata: Metadata,
    /// How often it broke off and was asked for again.
    pub(crate) breaks: u64,
    /// How often it ended before its end.
    pub(crate) cut_short: u64,
    /// Samples that came behind later ones, and were left out.
    pub(crate) out_of_order: u64,
}

impl<'a> Side<'a> {
    /// The samples of a range. The first are there when this returns; none if the archiver does not know the PV.
    pub(crate) fn open(source: Source<'a>, range: TimeRange, metadata: Metadata) -> Result<Option<Side<'a>>, Failure> {
        let mut side = Side {
            source,
            range,
            batch: None,
            fields: VecDeque::new(),
            group: Vec::new(),
            group_fields: Vec::new(),
            done: None,
            begun: false,
            failures: 0,
            metadata,
            breaks: 0,
            cut_short: 0,
            out_of_order: 0,
        };
        while let Err(error) = side.ask() {
            if error.kind() == io::ErrorKind::NotFound {
                return Ok(None);
            }
            side.wait(&error)?;
        }
        side.advance()?;
        Ok(Some(side))
    }

    /// The next time.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        self.group.first().map(|sample| sample.time)
    }

    /// Goes on behind a time that has been looked at.
    pub(crate) fn advance_from(&mut self, time: Timestamp) -> Result<(), Failure> {
        (self.done, self.begun) = (Some(time), true);
        self.advance()
    }

    fn advance(&mut self) -> Result<(), Failure> {
        self.gather()?;
        if !self.group.is_empty() || !matches!(self.source, Source::Remote { .. }) {
            return Ok(());
        }
        // It has ended; whether that is all shows when what is behind is asked for.
        self.reopen()?;
        self.gather()?;
        if !self.group.is_empty() {
            self.cut_short += 1;
            if self.cut_short > BREAKS_MAX {
                return Err("the answers end too soon again and again".into());
            }
        }
        Ok(())
    }

    /// Reads the samples of the next time, however often the stream breaks off.
    fn gather(&mut self) -> Result<(), Failure> {
        while let Err(error) = self.try_gather() {
            if !matches!(self.source, Source::Remote { .. }) {
                return Err(error.into());
            }
            self.wait(&error)?;
            self.breaks += 1;
            self.reopen()?;
        }
        self.failures = 0;
        Ok(())
    }

    fn try_gather(&mut self) -> io::Result<()> {
        self.group.clear();
        self.group_fields.clear();
        while let Some(time) = self.peek()? {
            if self.group.first().is_some_and(|first| first.time != time) {
                break;
            }
            if let Some((batch, row)) = &mut self.batch {
                self.group.push(batch.get(*row));
                *row += 1;
            }
        }
        let Some(time) = self.time() else { return Ok(()) };
        while self.fields.front().is_some_and(|(at, _)| *at <= time) {
            let Some((at, said)) = self.fields.pop_front() else { break };
            metadata_of(&said, &mut self.metadata);
            if at == time {
                self.group_fields.extend(said);
            }
        }
        Ok(())
    }

    /// The time of the next row that is within the range and later than what was given out. What stands before the range is the
    /// sample before it, which such an answer begins with.
    fn peek(&mut self) -> io::Result<Option<Timestamp>> {
        let from = self.next_from();
        loop {
            if let Some((batch, row)) = &mut self.batch {
                while let Some(time) = batch.times().get(*row) {
                    if *time >= from {
                        return Ok(Some(*time).filter(|time| *time < self.range.t1));
                    }
                    self.out_of_order += u64::from(self.begun && self.done.is_some_and(|done| *time < done));
                    *row += 1;
                }
            }
            self.batch = self.next_batch()?.map(|batch| (batch, 0));
            if self.batch.is_none() {
                return Ok(None);
            }
        }
    }

    fn next_from(&self) -> Timestamp {
        self.done.map_or(self.range.t0, |done| Timestamp::from_nanos(done.nanos().saturating_add(1)))
    }

    fn next_batch(&mut self) -> io::Result<Option<Batch>> {
        match &mut self.source {
            Source::Nothing => Ok(None),
            Source::Store(samples) => samples.next().transpose().map_err(io::Error::other),
            Source::Remote { answer, .. } => {
                let Some(answer) = answer else { return Ok(None) };
                loop {
                    let heard = answer.hear()?;
                    let damage = answer.damage;
                    if damage.bad_lines > 0 {
                        return Err(io::Error::other("there is a line in its answer that is no sample"));
                    }
                    if damage.torn_tails > 0 {
                        return Err(io::Error::other("its answer broke off within a line"));
                    }
                    match heard {
                        None => return Ok(None),
                        Some(Heard::Header(header)) => {
                            self.metadata.value_type = Some(header.payload.value_type());
                            metadata_of(&header.fields, &mut self.metadata);
                        }
                        Some(Heard::Samples(batch, fields)) => {
                            self.fields.extend(fields);
                            return Ok(Some(batch));
                        }
                    }
                }
            }
        }
    }

    /// Asks for what comes after that which was given out.
    fn ask(&mut self) -> io::Result<()> {
        let from = self.next_from();
        let Source::Remote { archiver, pv, answer } = &mut self.source else { return Ok(()) };
        (self.batch, *answer, self.begun) = (None, None, false);
        self.fields.clear();
        if from < self.range.t1 {
            let found = archiver.samples(pv, TimeRange { t0: from, t1: self.range.t1 })?;
            *answer = Some(Box::new(Answer::new(found.ok_or(io::ErrorKind::NotFound)?)));
        }
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        while let Err(error) = self.ask() {
            self.wait(&error)?;
        }
        Ok(())
    }

    /// Waits a while after a failure; gives up after too many.
    fn wait(&mut self, error: &io::Error) -> Result<(), Failure> {
        self.failures += 1;
        if self.failures >= TRIES || self.breaks >= BREAKS_MAX {
            let Source::Remote { archiver, .. } = &self.source else { return Err(error.to_string().into()) };
            let tried = self.failures;
            return Err(format!("{} does not give the samples, {tried} times in a row: {error}", archiver.url).into());
        }
        thread::sleep(FIRST_WAIT * 2u32.saturating_pow(self.failures - 1));
        Ok(())
    }
}
