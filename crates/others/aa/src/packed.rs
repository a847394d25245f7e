//! What must be unpacked from its beginning: its bytes come in order, and going back further than a little means beginning anew.

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
    sync::Arc,
};

use flate2::{Crc, read::DeflateDecoder};

/// So many bytes behind the place of the last read are kept, for whoever goes back to the beginning of a line.
const KEPT_BYTES: usize = 1 << 20;

type Stream = Box<dyn Read + Send>;

/// Bytes that come in order.
pub(crate) struct PackedBytes {
    open: Box<dyn Fn() -> io::Result<Stream> + Send>,
    stream: Option<Stream>,
    /// What was unpacked last, and the offset behind it.
    kept: Vec<u8>,
    at: u64,
}

impl fmt::Debug for PackedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed(at {})", self.at)
    }
}

impl PackedBytes {
    /// What the streams give that `open` opens: each the same.
    pub(crate) fn new(open: impl Fn() -> io::Result<Stream> + Send + 'static) -> PackedBytes {
        PackedBytes { open: Box::new(open), stream: None, kept: Vec::new(), at: 0 }
    }

    /// Reads from `offset` on, at least a byte unless the end is reached.
    pub(crate) fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset < self.at - self.kept.len() as u64 {
            (self.stream, self.at) = (None, 0);
            self.kept.clear();
        }
        let mut passing = [0; 64 << 10];
        while self.at < offset {
            let wanted = passing.len().min(usize::try_from(offset - self.at).unwrap_or(usize::MAX));
            if self.unpack(&mut passing[..wanted])? == 0 {
                return Ok(0);
            }
        }
        let again = usize::try_from(self.at - offset).unwrap_or(0);
        if again > 0 {
            let kept = &self.kept[self.kept.len() - again..];
            let size = kept.len().min(buffer.len());
            buffer[..size].copy_from_slice(&kept[..size]);
            return Ok(size);
        }
        self.unpack(buffer)
    }

    fn unpack(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stream.is_none() {
            self.stream = Some((self.open)()?);
        }
        let Some(stream) = &mut self.stream else { return Ok(0) };
        let read = crate::relay::read_on(stream, buffer)?;
        self.at += read as u64;
        self.kept.extend_from_slice(&buffer[..read]);
        if self.kept.len() > 2 * KEPT_BYTES {
            self.kept.drain(..self.kept.len() - KEPT_BYTES);
        }
        Ok(read)
    }
}

/// A piece of a file, read from its beginning.
pub(crate) struct PieceReader {
    pub(crate) file: Arc<File>,
    pub(crate) at: u64,
    pub(crate) end: u64,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let read = self.file.read_at(&mut buffer[..wanted], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A deflated piece, of which the checksum is looked at when it has been read to its end.
pub(crate) struct Inflating {
    inside: DeflateDecoder<PieceReader>,
    crc: Crc,
    expected: u32,
}

impl Inflating {
    pub(crate) fn new(piece: PieceReader, expected: u32) -> Inflating {
        Inflating { inside: DeflateDecoder::new(piece), crc: Crc::new(), expected }
    }
}

impl Read for Inflating {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inside.read(buffer)?;
        self.crc.update(&buffer[..read]);
        if read == 0 && !buffer.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum is wrong"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_offset_is_reached_forwards_and_backwards() {
        let bytes: Arc<[u8]> = (0..5_000_000u32).map(|i| (i % 251) as u8).collect();
        let inside = bytes.clone();
        let mut packed = PackedBytes::new(move || Ok(Box::new(io::Cursor::new(inside.clone()))));
        let mut buffer = [0; 1000];
        for offset in [0, 500, 4_000_000, 3_999_000, 10, 4_999_990, 5_000_000, 0, 2_500_000] {
            let read = packed.read_at(&mut buffer, offset).unwrap();
            let expected = &bytes[offset as usize..(offset as usize + read)];
            assert_eq!(&buffer[..read], expected, "{offset}");
            assert_eq!(read == 0, offset == 5_000_000);
        }
    }
}
