//! The samples of one PV as Arrow streams that follow each other: a new one begins where the type changes, so nothing is
//! converted and nothing refused.
//!
//! With `Columns::Needed` a column that would hold nothing (no alarm, no message, no pulse) is left out until the first sample
//! that needs it, for which a new stream begins too. That halves what is sent of most PVs.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::writer::StreamEncoder;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use axum::body::Bytes;
use query::Samples;
use sample::{Batch, Column, ValueType};

use super::{
    arrow::{Error, alarms, messages, pulses, times, values},
    json::{has_messages, has_pulses},
};

/// Shorter pieces are put together.
const COLUMN_BYTES_MIN: usize = 4096;

/// Which columns besides time and value a stream has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// All of them.
    All,
    /// Those in which there is something.
    Needed,
}

/// What the samples of one stream have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StreamLayout {
    value_type: ValueType,
    alarms: bool,
    messages: bool,
    pulses: bool,
}

impl StreamLayout {
    fn bare(value_type: ValueType) -> StreamLayout {
        StreamLayout { value_type, alarms: false, messages: false, pulses: false }
    }

    fn full(value_type: ValueType) -> StreamLayout {
        StreamLayout { value_type, alarms: true, messages: true, pulses: true }
    }

    /// With what a batch needs besides. It only ever widens, so that there are no more streams than columns in a type.
    fn widened(self, batch: &Batch) -> StreamLayout {
        StreamLayout {
            value_type: batch.value_type(),
            alarms: self.alarms || batch.alarms().iter().any(|(_, alarm)| !alarm.is_none()),
            messages: self.messages || has_messages(batch),
            pulses: self.pulses || has_pulses(batch),
        }
    }

    fn schema(self) -> Schema {
        let empty = values(Column::new(self.value_type));
        let mut fields = vec![
            Field::new("time", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), false),
            Field::new("value", empty.data_type().clone(), false),
        ];
        if self.alarms {
            fields.push(Field::new("severity", DataType::UInt8, false));
            fields.push(Field::new("status", DataType::UInt16, false));
        }
        if self.messages {
            fields.push(Field::new("message", DataType::Utf8, true));
        }
        if self.pulses {
            fields.push(Field::new("pulse", DataType::UInt64, false));
        }
        Schema::new(fields)
    }

    fn columns(self, batch: Batch) -> Vec<ArrayRef> {
        let (stamps, column, runs, pulse_ids) = batch.into_columns();
        let mut columns = vec![times(stamps), values(column)];
        if self.alarms {
            columns.extend(alarms(&runs));
        }
        if self.messages {
            columns.push(messages(&runs));
        }
        if self.pulses {
            columns.push(pulses(&pulse_ids));
        }
        columns
    }
}

struct Stream {
    layout: StreamLayout,
    schema: Arc<Schema>,
    encoder: StreamEncoder,
}

/// The streams' bytes as they are made.
pub(crate) struct Streams {
    samples: Samples,
    usual: ValueType,
    columns: Columns,
    facts: HashMap<String, String>,
    left: Option<u64>,
    stream: Option<Stream>,
    truncated: bool,
    damage: Vec<String>,
    /// What was made and is still to be sent.
    made: VecDeque<Bytes>,
    ended: bool,
}

impl Streams {
    /// `usual` is the type to announce where there are no samples, `facts` stand in the metadata of each schema.
    pub(crate) fn new(
        samples: Samples,
        usual: ValueType,
        facts: HashMap<String, String>,
        columns: Columns,
        limit: Option<u64>,
    ) -> Streams {
        let (stream, damage, made) = (None, Vec::new(), VecDeque::new());
        Streams { samples, usual, columns, facts, left: limit, stream, truncated: false, damage, made, ended: false }
    }

    /// The next batch within the limit. Damaged blocks are passed over and noted.
    fn next_batch(&mut self) -> Result<Option<Batch>, Error> {
        while !self.truncated {
            match self.samples.next() {
                Some(Ok(batch)) => {
                    let left = self.left.unwrap_or(u64::MAX);
                    let kept = (batch.len() as u64).min(left);
                    self.left = self.left.map(|left| left - kept);
                    self.truncated = kept < batch.len() as u64;
                    return Ok(match kept {
                        0 => None,
                        _ if self.truncated => Some(batch.slice(0..kept as usize)),
                        _ => Some(batch),
                    });
                }
                Some(Err(error)) if error.is_damage() => self.damage.push(error.to_string()),
                Some(Err(error)) => return Err(Error::Query(error)),
                None => break,
            }
        }
        Ok(None)
    }

    /// Makes what the next batch comes to, or the end.
    fn make(&mut self) -> Result<(), Error> {
        match self.next_batch()? {
            Some(batch) => {
                let had = self.stream.as_ref().map(|stream| stream.layout);
                let layout = match self.columns {
                    Columns::All => StreamLayout::full(batch.value_type()),
                    Columns::Needed => had.unwrap_or(StreamLayout::bare(batch.value_type())).widened(&batch),
                };
                if had != Some(layout) {
                    self.begin(layout)?;
                }
                let stream = self.stream.as_mut().expect("one has just begun");
                let columns = layout.columns(batch);
                let made = stream.encoder.encode(&RecordBatch::try_new(Arc::clone(&stream.schema), columns)?)?;
                self.send(made);
                Ok(())
            }
            None => self.finish(),
        }
    }

    /// Ends the stream that there is, and begins the next.
    fn begin(&mut self, layout: StreamLayout) -> Result<(), Error> {
        self.end()?;
        let mut facts = self.facts.clone();
        facts.insert("type".to_owned(), layout.value_type.to_string());
        let schema = Arc::new(layout.schema().with_metadata(facts));
        let encoder = StreamEncoder::try_new(&schema)?;
        self.stream = Some(Stream { layout, schema, encoder });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        if let Some(stream) = self.stream.take() {
            self.send(stream.encoder.finish()?);
        }
        Ok(())
    }

    /// What is to be told of the whole stands in the schema of one more stream without rows.
    fn finish(&mut self) -> Result<(), Error> {
        self.ended = true;
        if self.truncated {
            self.facts.insert("truncated".to_owned(), "true".to_owned());
        }
        if !self.damage.is_empty() {
            self.facts.insert("damage".to_owned(), serde_json::Value::from(self.damage.clone()).to_string());
        }
        if self.stream.is_none() || self.truncated || !self.damage.is_empty() {
            let layout = self.stream.as_ref().map(|stream| stream.layout);
            let layout = layout.unwrap_or(match self.columns {
                Columns::All => StreamLayout::full(self.usual),
                Columns::Needed => StreamLayout::bare(self.usual),
            });
            self.begin(layout)?;
        }
        self.end()
    }

    /// Columns are sent from where they are, what stands between them at once.
    fn send(&mut self, buffers: Vec<Buffer>) {
        let mut small = Vec::new();
        for buffer in buffers {
            if buffer.len() < COLUMN_BYTES_MIN {
                small.extend_from_slice(&buffer);
                continue;
            }
            if !small.is_empty() {
                self.made.push_back(std::mem::take(&mut small).into());
            }
            self.made.push_back(Bytes::from_owner(buffer));
        }
        if !small.is_empty() {
            self.made.push_back(small.into());
        }
    }

    fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        while self.made.is_empty() && !self.ended {
            self.make()?;
        }
        Ok(self.made.pop_front())
    }
}

impl Iterator for Streams {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Result<Bytes, Error>> {
        let chunk = self.chunk();
        self.ended |= chunk.is_err();
        chunk.transpose()
    }
}
