//! The disk of a node: the logs of its epochs, of which a crash leaves what was synced, and its segments.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use shared::{Epoch, Frames, Local, LogRun};

/// A frame of the log: one record, and bytes that make it longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) epoch: Epoch,
    pub(crate) number: u64,
    pub(crate) record: u64,
}

const LEN: usize = 24;

impl Frame {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        [self.epoch.0, self.number, self.record].iter().for_each(|n| out.extend(n.to_le_bytes()));
    }

    /// The frames in a run of the log or in a segment.
    pub(crate) fn all(bytes: &[u8]) -> Vec<Frame> {
        assert_eq!(bytes.len() % LEN, 0, "frames are whole");
        let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let frame = |b: &[u8]| Frame { epoch: Epoch(number(b, 0)), number: number(b, 8), record: number(b, 16) };
        bytes.chunks_exact(LEN).map(frame).collect()
    }
}

/// The log of one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Frames from this one on are kept.
    pub(crate) first: u64,
    /// Each with the file in which it lies and where.
    frames: Vec<(Frame, u64, u64)>,
    pub(crate) synced: u64,
    file: u64,
    at: u64,
}

impl Log {
    pub(crate) fn new(first: u64) -> Log {
        Log { first, synced: first, ..Log::default() }
    }

    pub(crate) fn end(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.frames.push((frame, self.file, self.at));
        self.at += LEN as u64;
    }

    pub(crate) fn begin_file(&mut self) {
        (self.file, self.at) = (self.file + 1, 0);
    }

    pub(crate) fn frames(&self, range: Frames) -> Vec<Frame> {
        let from = (range.first - self.first) as usize;
        let len = (range.end - range.first) as usize;
        self.frames[from..from + len].iter().map(|(frame, ..)| *frame).collect()
    }

    /// Frames below are in segments, and safe.
    pub(crate) fn forget(&mut self, below: u64) {
        let below = below.clamp(self.first, self.synced);
        self.frames.drain(..(below - self.first) as usize);
        self.first = below;
    }

    fn crash(&mut self) {
        self.frames.truncate((self.synced - self.first) as usize);
    }
}

/// What a node has on its disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    pub(crate) logs: BTreeMap<Epoch, Log>,
    pub(crate) segments: BTreeMap<String, Vec<u8>>,
}

impl Disk {
    pub(crate) fn crash(&mut self) {
        self.logs.values_mut().for_each(Log::crash);
    }
}

/// The disk as the owner of an epoch sees it.
pub(crate) struct Seen<'a> {
    pub(crate) disk: &'a Disk,
    pub(crate) epoch: Epoch,
}

impl Local for Seen<'_> {
    fn log(&self, from: u64, max: usize) -> io::Result<Option<LogRun>> {
        let log = &self.disk.logs[&self.epoch];
        assert!(from >= log.first, "frame {from} is asked for, and was forgotten");
        if from >= log.synced {
            return Ok(None);
        }
        let (_, file, at) = log.frames[(from - log.first) as usize];
        let synced = log.frames.iter().take((log.synced - log.first) as usize).skip((from - log.first) as usize);
        let mut bytes = Vec::new();
        let of_file = synced.take_while(|(_, other, _)| *other == file).take((max / LEN).max(1));
        of_file.for_each(|(frame, ..)| frame.put(&mut bytes));
        let frames = Frames { first: from, end: from + (bytes.len() / LEN) as u64 };
        Ok(Some(LogRun { frames, file, at, bytes }))
    }

    fn segment(&self, key: &str) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.disk.segments[key].as_slice()))
    }
}
