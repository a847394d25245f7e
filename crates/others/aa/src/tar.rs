//! Tar files: which files a PV's tar file holds, and where. The Appliance adds members at the end, marks deleted ones by their
//! name, and writes long names as a member of their own; of equal names the last one counts. With `gztar` each member is in gzip.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io;

use crate::tape::{Content, Member, Tape};

const RECORD: u64 = 512;
const NAME_BYTES_MAX: u64 = 4096;
const DELETED: &str = "._del_";
/// How gzip begins, and a file of samples never does.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];

/// All members that are files. A torn end leaves out what is not whole.
pub(crate) fn members(tape: &Tape) -> io::Result<Vec<Member>> {
    let (mut members, mut at, mut long_name) = (Vec::<Member>::new(), 0, None);
    let mut record = [0; RECORD as usize];
    while tape.read_at(&mut record, at)? == record.len() {
        at += RECORD;
        if record.iter().all(|byte| *byte == 0) {
            continue; // padding, behind which more may have been added
        }
        let Some((name, len, kind)) = header(&record) else { break };
        let (start, end) = (at, at.saturating_add(len.div_ceil(RECORD).saturating_mul(RECORD)));
        if start.saturating_add(len) > tape.len() {
            break;
        }
        at = end;
        match kind {
            b'L' if len <= NAME_BYTES_MAX => {
                let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
                tape.read_at(&mut bytes, start)?;
                long_name = Some(text(&bytes));
            }
            b'0' | 0 => {
                let name = long_name.take().unwrap_or(name);
                let name = name.rsplit('/').next().unwrap_or(&name).to_owned();
                members.retain(|member| member.name != name);
                if !name.starts_with(DELETED) {
                    members.push(Member { name, content: content(tape, start, len)? });
                }
            }
            _ => long_name = None,
        }
    }
    Ok(members)
}

fn content(tape: &Tape, start: u64, len: u64) -> io::Result<Content> {
    let mut first = [0; GZIP.len()];
    let is_long = len >= GZIP.len() as u64 && tape.read_at(&mut first, start)? == first.len();
    Ok(if is_long && first == GZIP { Content::Gzip(start, len) } else { Content::Piece(start, len) })
}

/// Name, length and kind.
fn header(record: &[u8]) -> Option<(String, u64, u8)> {
    let (name, prefix) = (record.get(..100)?, record.get(345..500)?);
    let is_ustar = record.get(257..263)? == b"ustar\0";
    let name = match text(prefix) {
        prefix if is_ustar && !prefix.is_empty() => format!("{prefix}/{}", text(name)),
        _ => text(name),
    };
    Some((name, size(record.get(124..136)?)?, *record.get(156)?))
}

/// Octal digits, or where the first bit is set a big-endian number.
fn size(field: &[u8]) -> Option<u64> {
    match field.split_first()? {
        (0x80, rest) => rest.iter().try_fold(0u64, |size, byte| size.checked_mul(256)?.checked_add(u64::from(*byte))),
        _ => {
            let digits = text(field);
            let digits = digits.trim();
            if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}
