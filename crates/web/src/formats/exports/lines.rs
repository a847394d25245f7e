//! Exports as CSV: the lines of `/api/v1/samples` and of `/api/v1/aligned`, to the byte.

use query::AlignedRows;
use sample::Batch;
use service::Draft;

use super::parts::{Part, RawForm, RowForm};
use crate::{
    delivery::pieces::Piece,
    formats::{
        csv::{self, put_field},
        rows::{RowsHeading, put_csv_head, put_csv_rows},
    },
    refusal::Refusal,
};

/// So many rows are made into text at a time; of long arrays fewer.
const ROWS_AT_ONCE: usize = 1024;
const BYTES_AT_ONCE: usize = 1 << 20;

/// Every sample, with the name of its PV before it.
pub(super) struct RawLines {
    draft: Draft,
    text: Vec<u8>,
}

impl RawLines {
    pub(super) fn new(draft: &Draft) -> Result<RawLines, Refusal> {
        if draft.position() == 0 {
            draft.put(format!("pv,{}", csv::HEAD).as_bytes())?;
        }
        Ok(RawLines { draft: draft.clone(), text: Vec::new() })
    }
}

impl RawForm for RawLines {
    fn begin(&mut self, _part: &Part) -> Result<(), Refusal> {
        Ok(())
    }

    fn put(&mut self, part: &Part, batch: Batch) -> Result<(), Refusal> {
        let mut lead = Vec::new();
        put_field(&mut lead, &part.pv.name);
        lead.push(b',');
        let at_once = (BYTES_AT_ONCE * batch.len() / batch.byte_size().max(1)).clamp(1, ROWS_AT_ONCE);
        let mut rest = Piece::from(batch);
        while !rest.is_empty() {
            let (first, others) = rest.split(at_once);
            self.text.clear();
            csv::put_rows(&mut self.text, &lead, &first);
            self.draft.put(&self.text)?;
            rest = others;
        }
        Ok(())
    }

    fn end(&mut self, _part: &Part) -> Result<(), Refusal> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// A line for each time.
pub(super) struct RowLines {
    draft: Draft,
    heading: RowsHeading,
    text: Vec<u8>,
}

impl RowLines {
    pub(super) fn new(draft: &Draft, heading: RowsHeading) -> Result<RowLines, Refusal> {
        let mut text = Vec::new();
        put_csv_head(&mut text, &heading);
        draft.put(&text)?;
        Ok(RowLines { draft: draft.clone(), heading, text })
    }
}

impl RowForm for RowLines {
    fn put(&mut self, rows: AlignedRows) -> Result<(), Refusal> {
        self.text.clear();
        put_csv_rows(&mut self.text, &rows, self.heading.with_severity);
        self.draft.put(&self.text)
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}
