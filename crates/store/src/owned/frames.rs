//! The frames in the files of a log, read from any one on: to be shipped, or to be handed over by an owner that was replaced.

use std::{
    io,
    sync::{Arc, Mutex},
};

use shared::{Frames, LogRun};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    disk::Disk,
    log::{
        files,
        format::{self, FRAME_LEN, HEADER_LEN},
    },
};

/// At least so much is looked at while a frame is looked for.
const LOOK_BYTES: usize = 1 << 20;

/// The files of a log.
#[derive(Debug)]
pub struct LogFrames {
    disk: Arc<dyn Disk>,
    place: Mutex<Option<Place>>,
}

/// Where a frame begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    frame: u64,
    file: u64,
    at: u64,
}

/// The head of a frame.
#[derive(Clone, Copy)]
struct Head {
    number: u64,
    appended: u64,
    /// With its head.
    len: u64,
}

/// Frames of one file, one behind the other.
struct Read {
    bytes: Vec<u8>,
    end: u64,
    appended: u64,
}

impl LogFrames {
    /// The log in the folder that a disk has.
    pub fn new(disk: Arc<dyn Disk>) -> LogFrames {
        LogFrames { disk, place: Mutex::default() }
    }

    /// The number of the first frame that is there and the one behind the last that is whole; none if there is none.
    pub fn extent(&self) -> io::Result<Option<Frames>> {
        let (mut first, mut end) = (None, 0);
        for file in self.files()? {
            let Some(head) = self.head(file, HEADER_LEN as u64)? else { continue };
            first.get_or_insert(head.number);
            let mut place = Place { frame: head.number, file, at: HEADER_LEN as u64 };
            while let Some(read) = self.read_whole(place)? {
                place = Place { frame: read.end, at: place.at + read.bytes.len() as u64, ..place };
            }
            end = place.frame;
        }
        Ok(first.map(|first| Frames { first, end }))
    }

    /// Frames at a place, up to what a crash may have torn.
    fn read_whole(&self, place: Place) -> io::Result<Option<Read>> {
        match self.read_here(place, u64::MAX, LOOK_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            read => read,
        }
    }

    /// The number of the first frame of the file that has this frame: arrays in it may follow those of frames before it.
    pub fn beginning_of(&self, frame: u64) -> io::Result<u64> {
        let found = self.file_of(frame)?;
        found.map(|place| place.frame).ok_or_else(|| gone(frame))
    }

    /// Frames from this number on and below another, as they lie in one file: about `max` bytes, one at least. None if there is none
    /// below.
    pub fn read(&self, from: u64, below: u64, max: usize) -> io::Result<Option<LogRun>> {
        Ok(self.read_counted(from, below, max)?.map(|(run, _)| run))
    }

    /// The same, with how many samples were appended up to the end of it.
    pub(crate) fn read_counted(&self, from: u64, below: u64, max: usize) -> io::Result<Option<(LogRun, u64)>> {
        if from >= below {
            return Ok(None);
        }
        let mut known = self.place.lock().expect("no holder of this lock panics");
        let place = match known.filter(|place| place.frame == from) {
            Some(place) => place,
            None => self.seek(from)?,
        };
        let (place, read) = match self.read_here(place, below, max)? {
            Some(read) => (place, read),
            // It is the first of the next file.
            None => {
                let place = self.seek(from)?;
                let read = self.read_here(place, below, max)?;
                (place, read.ok_or_else(|| gone(from))?)
            }
        };
        let Read { bytes, end, appended } = read;
        *known = Some(Place { frame: end, at: place.at + bytes.len() as u64, ..place });
        let run = LogRun { frames: Frames { first: from, end }, file: place.file, at: place.at, bytes };
        Ok(Some((run, appended)))
    }

    fn files(&self) -> io::Result<Vec<u64>> {
        files::files(&*self.disk)
    }

    /// The beginning of the file that has a frame, if it is not behind the end of it.
    fn file_of(&self, frame: u64) -> io::Result<Option<Place>> {
        for file in self.files()?.into_iter().rev() {
            let at = HEADER_LEN as u64;
            if let Some(head) = self.head(file, at)?
                && head.number <= frame
            {
                return Ok(Some(Place { frame: head.number, file, at }));
            }
        }
        Ok(None)
    }

    fn seek(&self, frame: u64) -> io::Result<Place> {
        let mut place = self.file_of(frame)?.ok_or_else(|| gone(frame))?;
        while place.frame < frame {
            let read = self.read_here(place, frame, LOOK_BYTES)?.ok_or_else(|| gone(frame))?;
            place = Place { frame: read.end, at: place.at + read.bytes.len() as u64, ..place };
        }
        Ok(place)
    }

    /// The head of the frame at a place of a file; none if there is none.
    fn head(&self, file: u64, at: u64) -> io::Result<Option<Head>> {
        let key = format::key(file);
        let len = match self.disk.len(&key) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None), // it went, being of no use any more
            len => len?,
        };
        let mut bytes = [0; FRAME_LEN];
        if at + FRAME_LEN as u64 > len {
            return Ok(None);
        }
        self.disk.read_at(&key, at, &mut bytes)?;
        let head = head(&bytes);
        // The room behind the last frame is zero, and frames are numbered from 1 on.
        Ok(head.filter(|head| head.number > 0 && at + head.len <= len))
    }

    /// Frames at a place whose checksums are right; none where the file has no frame of that number.
    fn read_here(&self, place: Place, below: u64, max: usize) -> io::Result<Option<Read>> {
        let Some(first) = self.head(place.file, place.at)?.filter(|head| head.number == place.frame) else {
            return Ok(None);
        };
        let key = format::key(place.file);
        let left = self.disk.len(&key)? - place.at;
        let mut bytes = vec![0; (max as u64).max(first.len).min(left) as usize];
        self.disk.read_at(&key, place.at, &mut bytes)?;
        let (mut len, mut next, mut appended) = (0, place.frame, 0);
        while next < below
            && let Some(head) = bytes.get(len..).and_then(head)
            && head.number == next
            && let Some(frame) = bytes.get(len..len + head.len as usize)
        {
            let (check, body) = frame.split_at(8);
            if xxh3_64(body).to_le_bytes() != check {
                break;
            }
            (len, next, appended) = (len + head.len as usize, next + 1, head.appended);
        }
        if len == 0 {
            let told = format!("frame {} in {key} is damaged", place.frame);
            return Err(io::Error::new(io::ErrorKind::InvalidData, told));
        }
        bytes.truncate(len);
        Ok(Some(Read { bytes, end: next, appended }))
    }
}

fn gone(frame: u64) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("frame {frame} is not in the log"))
}

fn head(bytes: &[u8]) -> Option<Head> {
    let number = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..at + 8)?.first_chunk()?));
    let len = u32::from_le_bytes(*bytes.get(8..12)?.first_chunk()?);
    Some(Head { number: number(12)?, appended: number(20)?, len: FRAME_LEN as u64 + u64::from(len) })
}
