//! What the bytes of segments are: blocks, indices, summaries, levels. Read from the files by docs/format.md, since the store tells
//! only their sum.

use std::{fs, io, path::Path};

/// Bytes of all segments of an archive.
#[derive(Default)]
pub(crate) struct SegmentShares {
    pub(crate) segments: u64,
    pub(crate) blocks: u64,
    pub(crate) index: u64,
    pub(crate) summaries: u64,
    pub(crate) levels: u64,
    pub(crate) all: u64,
}

const HEADER_LEN: u64 = 64;
const TAIL_LEN: usize = 16;
const PAGE_RECORDS: usize = 46;
const RECORD_LEN: usize = 88;
const PAGE_LEN: usize = 8 + PAGE_RECORDS * RECORD_LEN;

impl SegmentShares {
    pub(crate) fn of(archive: &Path) -> io::Result<SegmentShares> {
        let mut shares = SegmentShares::default();
        for week in fs::read_dir(archive)?.collect::<io::Result<Vec<_>>>()? {
            if !week.path().is_dir() {
                continue;
            }
            for file in fs::read_dir(week.path())?.collect::<io::Result<Vec<_>>>()? {
                if file.path().extension().is_some_and(|extension| extension == "seg") {
                    let bytes = fs::read(file.path())?;
                    shares
                        .add(&bytes)
                        .ok_or_else(|| io::Error::other("a segment is not as docs/format.md draws it"))?;
                }
            }
        }
        Ok(shares)
    }

    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        let tail = bytes.len().checked_sub(TAIL_LEN)?;
        let footer = bytes.get(tail.checked_sub(number::<4>(bytes, tail)? as usize)?..tail)?;
        let (pvs, tables_at) = (number::<4>(footer, 12)? as usize, number::<8>(footer, 56)?);
        let pages_at = number::<8>(footer, 64)? as usize;
        for pv in 0..pvs {
            let record = pages_at + pv / PAGE_RECORDS * PAGE_LEN + 8 + pv % PAGE_RECORDS * RECORD_LEN;
            self.index += number::<4>(bytes, record + 48)?;
            self.summaries += number::<4>(bytes, record + 52)?;
            self.levels += number::<4>(bytes, record + 56)?;
        }
        self.blocks += tables_at - HEADER_LEN;
        self.all += bytes.len() as u64;
        self.segments += 1;
        Some(())
    }
}

fn number<const LEN: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut wide = [0; 8];
    wide[..LEN].copy_from_slice(bytes.get(at..at + LEN)?);
    Some(u64::from_le_bytes(wide))
}
