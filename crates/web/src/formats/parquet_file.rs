//! Samples as a Parquet file, made a row group at a time: what is waiting is one group.

use std::{collections::HashMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use axum::body::Bytes;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding},
    errors::ParquetError,
    file::{metadata::KeyValue, properties::WriterProperties},
    schema::types::ColumnPath,
};
use query::Samples;
use sample::{Batch, ValueType};

use super::arrow::{Error, samples_columns, samples_schema};

pub(crate) const CONTENT_TYPE: &str = "application/vnd.apache.parquet";

/// A group ends after so many rows: readers skip groups by their times, and want them neither small nor large.
pub(super) const GROUP_ROWS_MAX: usize = 1 << 17;
/// Or when it takes so much memory, which long arrays do.
pub(super) const GROUP_BYTES_MAX: usize = 16 << 20;

/// The file's bytes as they are made.
pub(crate) struct SamplesParquet {
    samples: Samples,
    schema: Arc<Schema>,
    writer: Option<ArrowWriter<Vec<u8>>>,
    value_type: ValueType,
    waiting: Option<Batch>,
    left: u64,
}

impl SamplesParquet {
    /// `usual` is the type of the column where there are no samples; `facts` stand in the file's metadata.
    pub(crate) fn new(
        mut samples: Samples,
        usual: ValueType,
        facts: HashMap<String, String>,
        limit: Option<u64>,
    ) -> Result<SamplesParquet, Error> {
        let waiting = samples.next().transpose()?;
        let value_type = waiting.as_ref().map_or(usual, Batch::value_type);
        let schema = Arc::new(samples_schema(value_type));
        let writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties(facts))).map_err(failed)?;
        let left = limit.unwrap_or(u64::MAX);
        Ok(SamplesParquet { samples, schema, writer: Some(writer), value_type, waiting, left })
    }

    /// The next group, or the end of the file.
    fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(mut writer) = self.writer.take() else { return Ok(None) };
        while writer.in_progress_rows() < GROUP_ROWS_MAX && writer.memory_size() < GROUP_BYTES_MAX {
            let Some(batch) = self.next_batch()? else {
                writer.finish().map_err(failed)?;
                return Ok(Some(std::mem::take(writer.inner_mut()).into()));
            };
            let rows = RecordBatch::try_new(Arc::clone(&self.schema), samples_columns(batch))?;
            writer.write(&rows).map_err(failed)?;
        }
        writer.flush().map_err(failed)?;
        let group = std::mem::take(writer.inner_mut());
        self.writer = Some(writer);
        Ok(Some(group.into()))
    }

    fn next_batch(&mut self) -> Result<Option<Batch>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        let batch = self.waiting.take().map(Ok).or_else(|| self.samples.next()).transpose()?;
        let Some(batch) = batch else { return Ok(None) };
        if batch.value_type() != self.value_type {
            let time = batch.times().first().copied().unwrap_or_default();
            return Err(Error::TypeChange { from: self.value_type, to: batch.value_type(), time });
        }
        let kept = (batch.len() as u64).min(self.left);
        self.left -= kept;
        Ok(Some(if kept < batch.len() as u64 { batch.slice(0..kept as usize) } else { batch }))
    }
}

/// Times as differences, all else as its writer finds best, and everything by Snappy, which every reader knows.
pub(super) fn properties(facts: HashMap<String, String>) -> WriterProperties {
    let mut facts: Vec<KeyValue> = facts.into_iter().map(|(name, fact)| KeyValue::new(name, fact)).collect();
    facts.sort_by(|a, b| a.key.cmp(&b.key));
    let time = ColumnPath::from("time");
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
        .set_key_value_metadata(Some(facts))
        .build()
}

fn failed(error: ParquetError) -> ArrowError {
    ArrowError::ParquetError(error.to_string())
}

impl Iterator for SamplesParquet {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Result<Bytes, Error>> {
        self.chunk().transpose()
    }
}
