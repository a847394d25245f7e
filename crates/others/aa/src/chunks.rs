//! Chunks: a raw answer as it comes in, or a whole file in memory, as batches. An empty line ends a chunk of an answer, and the next
//! line is a header.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{self, Read};

use sample::{Batch, Sample, Timestamp, Value};

use crate::{
    fields::{FieldValue, number_of},
    header::Header,
    payload::Payload,
    relay::read_on,
    rows::{Damage, Rows},
    scan::{Found, Scan},
};

/// No batch has more rows.
const BATCH_ROWS_MAX: usize = 8192;
/// A batch that has reached so many bytes ends.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Fields that samples carry, each with the sample's time.
pub type Fields = Vec<(Timestamp, Vec<FieldValue>)>;

/// Samples with the header before them.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// What the header says.
    pub header: Header,
    /// The samples, in the order of the lines.
    pub batches: Vec<Batch>,
    /// The fields that samples carry, each with the sample's time.
    pub fields: Fields,
}

impl Chunk {
    /// What its samples carry of a field of the record, as samples of a PV of that name with their times and alarms; none if none of them
    /// carries it as a number.
    pub fn of_field(&self, name: &str) -> Option<Chunk> {
        let mut carrying = self.fields.iter().peekable();
        let mut batches: Vec<Batch> = Vec::new();
        for (batch, row) in self.batches.iter().flat_map(|batch| (0..batch.len()).map(move |row| (batch, row))) {
            // Fields stand in the order of the samples that carry them.
            let Some(time) = batch.times().get(row).copied() else { continue };
            let Some((_, fields)) = carrying.next_if(|(of, _)| *of == time) else { continue };
            let Some(number) = number_of(fields, name) else { continue };
            let alarm = batch.alarms().get(row).clone();
            let sample = Sample { time, value: Value::F64(number), alarm, pulse: 0, stamp: None };
            let last = batches.last_mut().filter(|last| last.len() < BATCH_ROWS_MAX);
            if !last.is_some_and(|last| last.push(&sample)) {
                batches.push(Batch::of(&sample));
            }
        }
        let record = self.header.pv_name.strip_suffix(".VAL").unwrap_or(&self.header.pv_name);
        let header = Header {
            payload: Payload::ScalarDouble,
            pv_name: format!("{record}.{name}"),
            element_count: None,
            fields: Vec::new(),
            ..self.header.clone()
        };
        (!batches.is_empty()).then_some(Chunk { header, batches, fields: Vec::new() })
    }
}

/// All samples that `bytes` hold. Lines that are none are counted, and so is a last line without its end.
pub fn read_chunks(bytes: &[u8]) -> (Vec<Chunk>, Damage) {
    let (mut chunks, mut answer) = (Vec::<Chunk>::new(), Answer::new(bytes));
    // Bytes in memory are read without failures.
    while let Ok(Some(heard)) = answer.hear() {
        match heard {
            Heard::Header(header) => chunks.push(Chunk { header: *header, batches: Vec::new(), fields: Vec::new() }),
            Heard::Samples(batch, fields) => {
                if let Some(chunk) = chunks.last_mut() {
                    chunk.batches.push(batch);
                    chunk.fields.extend(fields);
                }
            }
        }
    }
    (chunks, answer.damage)
}

/// What comes next of an answer.
#[derive(Debug)]
pub enum Heard {
    /// A header; the samples behind it are its own.
    Header(Box<Header>),
    /// Samples, with the fields that they carry.
    Samples(Batch, Fields),
}

/// A raw answer that is read as it comes in, with memory for a batch, or for the longest line.
#[derive(Debug)]
pub struct Answer<R> {
    source: R,
    scan: Scan,
    rows: Option<Rows>,
    /// The header whose turn comes when the samples before it have been given out.
    header: Option<Box<Header>>,
    is_first: bool,
    ended: bool,
    /// What could not be read so far.
    pub damage: Damage,
}

impl<R: Read> Answer<R> {
    /// What `source` gives.
    pub fn new(source: R) -> Answer<R> {
        let (scan, damage) = (Scan::from(0), Damage::default());
        Answer { source, scan, rows: None, header: None, is_first: true, ended: false, damage }
    }

    /// The next header or batch; none at the end.
    pub fn hear(&mut self) -> io::Result<Option<Heard>> {
        while !self.ended && self.header.is_none() {
            self.take_line()?;
            if let Some(rows) = &mut self.rows
                && (rows.len() >= BATCH_ROWS_MAX || rows.byte_size() >= BATCH_BYTES_MAX)
            {
                return Ok(Some(samples(rows)));
            }
        }
        if let Some(mut rows) = self.rows.take().filter(|rows| !rows.is_empty()) {
            return Ok(Some(samples(&mut rows)));
        }
        let header = self.header.take();
        self.rows = header.as_ref().map(|header| Rows::new(header));
        Ok(header.map(Heard::Header))
    }

    fn take_line(&mut self) -> io::Result<()> {
        let source = &mut self.source;
        match self.scan.next_by(|buffer, _| read_on(source, buffer))? {
            Found::Line(_, []) => self.is_first = true,
            Found::Line(_, line) => {
                if std::mem::take(&mut self.is_first)
                    && let Some(header) = Header::of_line(line)
                {
                    self.header = Some(Box::new(header));
                    return Ok(());
                }
                let taken = self.rows.as_mut().and_then(|rows| rows.take_line(line));
                self.damage.bad_lines += u64::from(taken.is_none());
            }
            Found::Overlong => self.damage.bad_lines += 1,
            Found::Torn => self.damage.torn_tails += 1,
            Found::End => self.ended = true,
        }
        Ok(())
    }
}

fn samples(rows: &mut Rows) -> Heard {
    let batch = rows.batch();
    Heard::Samples(batch, rows.fields())
}
