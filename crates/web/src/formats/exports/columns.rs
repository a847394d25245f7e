//! Exports in columns: Arrow files and Parquet files, of every sample in a zip with one for each PV, as each has a type of its own. A PV whose
//! type changes has a file for each stretch.

use std::{io::Write, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use query::AlignedRows;
use sample::Batch;
use service::Draft;

use super::{
    parts::{Part, RawForm, RowForm, failed, part_name},
    zip::Zip,
};
use crate::{
    formats::{
        arrow::{samples_columns, samples_schema},
        parquet_file::{GROUP_BYTES_MAX, GROUP_ROWS_MAX, properties},
        rows::{RowsHeading, rows_columns, rows_schema},
    },
    refusal::Refusal,
};

/// A Parquet file that is written a group at a time.
struct Groups<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: Arc<Schema>,
}

impl<W: Write + Send> Groups<W> {
    fn new(to: W, schema: Schema, facts: std::collections::HashMap<String, String>) -> Result<Groups<W>, Refusal> {
        let schema = Arc::new(schema);
        let writer = ArrowWriter::try_new(to, Arc::clone(&schema), Some(properties(facts))).map_err(failed)?;
        Ok(Groups { writer, schema })
    }

    fn put(&mut self, columns: Vec<ArrayRef>) -> Result<(), Refusal> {
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(failed)?).map_err(failed)?;
        if self.writer.in_progress_rows() >= GROUP_ROWS_MAX || self.writer.memory_size() >= GROUP_BYTES_MAX {
            self.writer.flush().map_err(failed)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Refusal> {
        self.writer.finish().map(drop).map_err(failed)
    }
}

/// An Arrow file, a batch at a time.
struct Batches<W: Write> {
    writer: FileWriter<W>,
    schema: Arc<Schema>,
}

impl<W: Write> Batches<W> {
    fn new(to: W, schema: Schema) -> Result<Batches<W>, Refusal> {
        let writer = FileWriter::try_new(to, &schema).map_err(failed)?;
        Ok(Batches { writer, schema: Arc::new(schema) })
    }

    fn put(&mut self, columns: Vec<ArrayRef>) -> Result<(), Refusal> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(failed)?;
        self.writer.write(&batch).map_err(failed)
    }

    fn finish(mut self) -> Result<(), Refusal> {
        self.writer.finish().map_err(failed)
    }
}

/// A Parquet file for each PV.
pub(super) struct ZippedParquet {
    zip: Zip,
    names: Vec<String>,
    current: Option<Groups<Zip>>,
}

impl ZippedParquet {
    pub(super) fn new(draft: &Draft, names: Vec<String>) -> Result<ZippedParquet, Refusal> {
        Ok(ZippedParquet { zip: Zip::go_on(draft)?, names, current: None })
    }
}

impl RawForm for ZippedParquet {
    fn begin(&mut self, part: &Part) -> Result<(), Refusal> {
        self.zip.begin(&format!("{}.parquet", part_name(&self.names, part)))?;
        self.current = Some(Groups::new(self.zip.clone(), samples_schema(part.value_type), part.facts())?);
        Ok(())
    }

    fn put(&mut self, _part: &Part, batch: Batch) -> Result<(), Refusal> {
        self.current.as_mut().map_or(Ok(()), |groups| groups.put(samples_columns(batch)))
    }

    fn end(&mut self, _part: &Part) -> Result<(), Refusal> {
        self.current.take().map_or(Ok(()), Groups::finish)?;
        self.zip.end()
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        self.zip.finish()
    }
}

/// An Arrow file for each PV.
pub(super) struct ZippedArrow {
    zip: Zip,
    names: Vec<String>,
    current: Option<Batches<Zip>>,
}

impl ZippedArrow {
    pub(super) fn new(draft: &Draft, names: Vec<String>) -> Result<ZippedArrow, Refusal> {
        Ok(ZippedArrow { zip: Zip::go_on(draft)?, names, current: None })
    }
}

impl RawForm for ZippedArrow {
    fn begin(&mut self, part: &Part) -> Result<(), Refusal> {
        self.zip.begin(&format!("{}.arrow", part_name(&self.names, part)))?;
        let schema = samples_schema(part.value_type).with_metadata(part.facts());
        self.current = Some(Batches::new(self.zip.clone(), schema)?);
        Ok(())
    }

    fn put(&mut self, _part: &Part, batch: Batch) -> Result<(), Refusal> {
        self.current.as_mut().map_or(Ok(()), |batches| batches.put(samples_columns(batch)))
    }

    fn end(&mut self, _part: &Part) -> Result<(), Refusal> {
        self.current.take().map_or(Ok(()), Batches::finish)?;
        self.zip.end()
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        self.zip.finish()
    }
}

/// A Parquet file of all PVs on the same times.
pub(super) struct ParquetRows {
    groups: Option<Groups<Draft>>,
    with_severity: bool,
}

impl ParquetRows {
    pub(super) fn new(draft: &Draft, heading: &RowsHeading) -> Result<ParquetRows, Refusal> {
        let schema = rows_schema(heading);
        let facts = schema.metadata().iter().map(|(name, fact)| (name.clone(), fact.clone())).collect();
        let groups = Some(Groups::new(draft.clone(), schema, facts)?);
        Ok(ParquetRows { groups, with_severity: heading.with_severity })
    }
}

impl RowForm for ParquetRows {
    fn put(&mut self, rows: AlignedRows) -> Result<(), Refusal> {
        let columns = rows_columns(rows, self.with_severity).map_err(failed)?;
        self.groups.as_mut().map_or(Ok(()), |groups| groups.put(columns))
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        self.groups.take().map_or(Ok(()), Groups::finish)
    }
}

/// An Arrow file of all PVs on the same times.
pub(super) struct ArrowRows {
    batches: Option<Batches<Draft>>,
    with_severity: bool,
}

impl ArrowRows {
    pub(super) fn new(draft: &Draft, heading: &RowsHeading) -> Result<ArrowRows, Refusal> {
        let batches = Some(Batches::new(draft.clone(), rows_schema(heading))?);
        Ok(ArrowRows { batches, with_severity: heading.with_severity })
    }
}

impl RowForm for ArrowRows {
    fn put(&mut self, rows: AlignedRows) -> Result<(), Refusal> {
        let columns = rows_columns(rows, self.with_severity).map_err(failed)?;
        self.batches.as_mut().map_or(Ok(()), |batches| batches.put(columns))
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        self.batches.take().map_or(Ok(()), Batches::finish)
    }
}
