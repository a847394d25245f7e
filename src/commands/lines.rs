//! Files of JSON lines in which a run writes down how far it has come, for the next one to go on from.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek},
};

use serde_json::Value;

/// Shows each line from the first on that was written to its end, and gives how many bytes they are. What stands behind them was being
/// written when the run broke off, or is no such file.
pub(crate) fn whole(mut file: &File, mut see: impl FnMut(Value)) -> io::Result<u64> {
    file.rewind()?;
    let (mut lines, mut line, mut bytes) = (BufReader::new(file), Vec::new(), 0);
    loop {
        line.clear();
        let size = lines.read_until(b'\n', &mut line)?;
        match serde_json::from_slice(&line) {
            Ok(value) if line.ends_with(b"\n") => see(value),
            _ => return Ok(bytes),
        }
        bytes += size as u64;
    }
}
