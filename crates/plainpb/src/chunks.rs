//! Chunks: a whole file or raw answer in memory as batches. An empty line ends a chunk of an answer, and the next line is a header.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use memchr::memchr;
use sample::{Batch, Timestamp};

use crate::{
    fields::FieldValue,
    header::Header,
    rows::{Damage, Rows},
};

/// No batch has more rows.
const BATCH_ROWS_MAX: usize = 8192;
/// A batch that has reached so many bytes ends.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Samples with the header before them.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// What the header says.
    pub header: Header,
    /// The samples, in the order of the lines.
    pub batches: Vec<Batch>,
    /// The fields that samples carry, each with the sample's time.
    pub fields: Vec<(Timestamp, Vec<FieldValue>)>,
}

/// All samples that `bytes` hold. Lines that are none are counted, and so is a last line without its end.
pub fn read_chunks(bytes: &[u8]) -> (Vec<Chunk>, Damage) {
    let (mut chunks, mut damage) = (Vec::new(), Damage::default());
    let mut open: Option<(Chunk, Rows)> = None;
    let (mut rest, mut is_first) = (bytes, true);
    while !rest.is_empty() {
        let Some((line, after)) = memchr(b'\n', rest).and_then(|end| Some((rest.get(..end)?, rest.get(end + 1..)?)))
        else {
            damage.torn_tails += 1;
            break;
        };
        rest = after;
        if line.is_empty() {
            is_first = true;
            continue;
        }
        if std::mem::take(&mut is_first)
            && let Some(header) = Header::of_line(line)
        {
            close(open.take(), &mut chunks);
            let rows = Rows::new(&header);
            open = Some((Chunk { header, batches: Vec::new(), fields: Vec::new() }, rows));
            continue;
        }
        let taken = open.as_mut().and_then(|(_, rows)| rows.take_line(line));
        damage.bad_lines += u64::from(taken.is_none());
        if let Some((chunk, rows)) = &mut open
            && (rows.len() >= BATCH_ROWS_MAX || rows.byte_size() >= BATCH_BYTES_MAX)
        {
            chunk.batches.push(rows.batch());
        }
    }
    close(open, &mut chunks);
    (chunks, damage)
}

fn close(open: Option<(Chunk, Rows)>, chunks: &mut Vec<Chunk>) {
    let Some((mut chunk, mut rows)) = open else { return };
    if !rows.is_empty() {
        chunk.batches.push(rows.batch());
    }
    chunk.fields = rows.fields();
    chunks.push(chunk);
}
