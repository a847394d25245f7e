//! Recovery, which is how every store is opened: the catalogue is the truth, and what the log has beyond it goes into the head.

use std::{cell::OnceCell, collections::HashSet, io, ops::Range, sync::Arc};

use archive::{PvId, Record};
use sample::{Gap, GapCause, Timestamp};

use crate::{
    Error,
    catalog::{tables::Position, unfinished::Tail},
    disk::{Disk, fault_of_file, quarantine::QUARANTINE},
    head::{Head, SlabPool},
    log::{
        arrays::{Differences, Lasts},
        files, format,
        scan::{self, Frame, Part, Parts},
    },
    places,
    rescue::check,
    segment::{manifest::Manifest, week},
};

/// What the log had beyond the position in the catalogue.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) head: Head,
    pub(crate) next_frame: u64,
    pub(crate) next_log_file: u64,
    pub(crate) appended: u64,
    /// The last sign of life; none in an archive that never was.
    pub(crate) alive: Option<Timestamp>,
    /// Sentences for an operator.
    pub(crate) problems: Vec<String>,
    /// The ends of gaps that the log left open. They are to be appended to it, or the next recovery would find these gaps
    /// open again and end them at a later sign of life, over samples that were taken meanwhile.
    pub(crate) closed_gaps: Vec<(PvId, Record)>,
    /// What the ledger does not tell of.
    pub(crate) tail: Tail,
    /// Gaps for samples that the log had and that cannot be read any more.
    pub(crate) lost: Vec<Gap>,
}

impl Recovered {
    /// Of a log that begins with that frame, where nothing is to be replayed.
    pub(crate) fn nothing(first: u64, position: Position, pages: &Arc<SlabPool>, tail: Tail) -> Recovered {
        Recovered {
            head: Head::new(pages),
            next_frame: first,
            next_log_file: 1,
            appended: position.appended,
            alive: position.alive,
            problems: Vec::new(),
            closed_gaps: Vec::new(),
            tail,
            lost: Vec::new(),
        }
    }
}

/// Replays the log into a head.
pub(crate) fn replay(
    disk: &Arc<dyn Disk>,
    position: Position,
    pages: &Arc<SlabPool>,
    tail: Tail,
) -> Result<Recovered, Error> {
    let io = |source| Error::Io { doing: "read and sync the folder", path: format::FOLDER.to_owned(), source };
    let mut recovered = Recovered::nothing(position.frame, position, pages, tail);
    let settled = files::settle_names(&**disk);
    recovered.problems = settled.map_err(|source| Error::Io {
        doing: "name files of the log in",
        path: format::FOLDER.into(),
        source,
    })?;
    let numbers = files::files(&**disk).map_err(io)?;
    for number in &numbers {
        replay_file(&**disk, *number, Some(number) == numbers.last(), &mut recovered)?;
        recovered.next_log_file = number + 1;
    }
    disk.sync_folder(format::FOLDER).map_err(io)?; // the names of files that a dying process left are as new
    close_gaps(&mut recovered);
    Ok(recovered)
}

fn replay_file(disk: &dyn Disk, number: u64, is_last: bool, recovered: &mut Recovered) -> Result<(), Error> {
    let key = format::key(number);
    let io = |doing, source| Error::Io { doing, path: key.clone(), source };
    let len = disk.len(&key).map_err(|error| io("read the log", error))?;
    let mut parts = Parts::new(len, |at, bytes| disk.read_at(&key, at, bytes));
    let mut arrays = Lasts::default();
    let mut end = len.min(format::HEADER_LEN as u64); // behind it is room that nobody needs any more
    while let Some(part) = parts.next().map_err(|error| io("read the log", error))? {
        end = part.end();
        match part {
            Part::Newer(version) => {
                return Err(Error::TooNew { path: key.clone(), version, supported: format::VERSION });
            }
            Part::Frame(frame, bytes) => replay_frame(disk, (&key, &frame), bytes, &mut arrays, recovered)?,
            Part::Torn(tail) if is_last => {
                tracing::info!("{key}: {} bytes at the end are cut, a crash tore them off", tail.end - tail.start);
                disk.set_len(&key, tail.start).map_err(|error| io("cut the log", error))?;
                end = len; // it is cut
            }
            Part::Damaged(range) | Part::Torn(range) => set_range_aside(disk, &key, range, &mut recovered.problems)?,
        }
    }
    if end < len
        && let Err(error) = disk.set_len(&key, end)
    {
        tracing::warn!("cannot give back the room at the end of {key}: {error}");
    }
    // What is found is reported as durable, and may so far be in the memory of the operating system alone.
    disk.sync(&key).map_err(|error| io("sync the log", error))
}

fn replay_frame(
    disk: &dyn Disk,
    (key, frame): (&str, &Frame),
    bytes: &[u8],
    arrays: &mut Lasts,
    recovered: &mut Recovered,
) -> Result<(), Error> {
    let alive = recovered.alive;
    recovered.alive = alive.max(Some(frame.now));
    if frame.number < recovered.next_frame {
        return Ok(()); // in blocks already
    }
    let mut found = 0;
    let whole = scan::records(bytes).is_ok_and(|records| {
        let mut differences = Differences::default();
        let mut give = |pv, record| {
            found += recovered.tail.note_replayed(pv, &record);
            recovered.head.append(&[(pv, record)], &mut differences);
        };
        let restored = records.into_iter().map(|record| arrays.restore(frame.number, record, &mut give));
        restored.filter(Result::is_err).count() == 0
    });
    if !whole {
        set_aside(disk, key, frame.records.start as u64, bytes, &mut recovered.problems)?;
    }
    let (missing, lost) = frame.missing(recovered.next_frame, recovered.appended, found);
    (recovered.next_frame, recovered.appended) = (frame.number + 1, frame.appended);
    if lost > 0 {
        let from = alive.unwrap_or(frame.now).min(frame.now);
        recovered.lost.push(Gap { from, to: Some(frame.now), cause: GapCause::Damaged, lost });
    }
    if !missing.is_empty() {
        let told = format::missing_frames(&missing, lost);
        recovered.problems.push(format!("before {key}: {told}; a gap of all PVs tells of it"));
    }
    Ok(())
}

/// Keeps the damaged bytes of a place in a file.
fn set_range_aside(disk: &dyn Disk, key: &str, range: Range<u64>, problems: &mut Vec<String>) -> Result<(), Error> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let read = disk.read_at(key, range.start, &mut bytes);
    read.map_err(|source| Error::Io { doing: "read the log", path: key.to_owned(), source })?;
    set_aside(disk, key, range.start, &bytes, problems)
}

/// Keeps damaged bytes for whoever wants to look at them, and says so.
pub(crate) fn set_aside(
    disk: &dyn Disk,
    key: &str,
    at: u64,
    bytes: &[u8],
    problems: &mut Vec<String>,
) -> Result<(), Error> {
    let name = key.replace('/', "-");
    let copy = format!("{QUARANTINE}/{name}-{at}");
    let write = || -> io::Result<()> {
        disk.create_folder(QUARANTINE)?;
        disk.write_at(&copy, 0, bytes)?;
        disk.sync(&copy)?;
        disk.sync_folder(QUARANTINE)
    };
    write().map_err(|source| Error::Io { doing: "set aside damaged bytes in", path: copy.clone(), source })?;
    problems.push(format!(
        "{} bytes at byte {at} of {key} are damaged and could not be read into the archive; they are kept in {copy}",
        bytes.len()
    ));
    Ok(())
}

/// Ends the gaps that the log left open. Those in the catalogue are ended there.
fn close_gaps(recovered: &mut Recovered) {
    let Some(alive) = recovered.alive else { return };
    let ended = |gap: &Gap| Gap { to: Some(alive.max(gap.from)), ..*gap };
    let facts = recovered.head.facts();
    let open = facts.gaps.iter().filter(|(_, gap)| gap.to.is_none());
    recovered.closed_gaps = open.map(|((pv, ..), gap)| (*pv, Record::Gap(ended(gap)))).collect();
    drop(facts);
    recovered.head.append(&recovered.closed_gaps, &mut Differences::default());
}

/// Removes half-written segments and what a merge left over, and sets aside whole segments that the catalogue does not know: a
/// crash came between the file and the transaction, and the log has their samples.
pub(crate) fn set_orphans_aside(disk: &Arc<dyn Disk>, segments: &[Manifest]) -> Result<Vec<String>, Error> {
    let known: HashSet<&str> = segments.iter().map(|segment| segment.key.as_str()).collect();
    let moved = segments.iter().filter(|segment| segment.place.is_some());
    let tables: HashSet<String> = moved.map(|segment| places::tables_key(&segment.key)).collect();
    let left_over = LeftOver::of(segments, vec![(None, disk)]);
    let mut problems = Vec::new();
    let mut run = || -> io::Result<()> {
        for folder in disk.list("")?.iter().filter(|name| week::is_folder(name)) {
            for name in disk.list(folder)? {
                let key = format!("{folder}/{name}");
                if name.ends_with(".tmp")
                    || (name.ends_with(".tables") && !tables.contains(&key))
                    || (name.ends_with(".seg") && !known.contains(&*key) && left_over.may_go(&name))
                {
                    match disk.remove(&key) {
                        Err(error) if fault_of_file(&error).is_some() => {
                            problems.push(format!("{key} cannot be removed: {error}"))
                        }
                        removed => removed?,
                    }
                } else if name.ends_with(".seg") && !known.contains(&*key) {
                    disk.rename(&key, &format!("{key}.orphan"))?;
                    let why = if is_imported(&name) {
                        "it was written by an import that did not come to its end and can be begun anew"
                    } else {
                        "a crash came before it was entered, and its samples are in the log"
                    };
                    problems.push(format!(
                        "{key} is not in the catalogue: {why}, or the catalogue is an older one; the file is kept as \
                         {key}.orphan"
                    ));
                }
            }
        }
        Ok(())
    };
    run().map_err(|source| Error::Io { doing: "look for unknown segments in", path: "the archive".into(), source })?;
    Ok(problems)
}

/// The highest number of a flush that is in a segment of that name.
fn last_of(name: &str) -> Option<u64> {
    let mut numbers = name.trim_end_matches(".seg").split('-').map(|number| number.parse().ok());
    let first = numbers.next()?;
    numbers.next().unwrap_or(first)
}

/// Whether a file came from an import and was never merged: its number stands twice in its name, with the generation 0.
fn is_imported(name: &str) -> bool {
    let numbers: Vec<&str> = name.trim_end_matches(".seg").split('-').collect();
    matches!(numbers.as_slice(), [first, last, "0", _] if first == last)
}

/// Which unknown segments are left over from merges, and nothing is lost with them.
///
/// An older catalogue, put back by hand, names files that were merged since, and others lie in their places: then nothing may go that
/// holds their samples.
pub(crate) struct LeftOver<'a> {
    segments: &'a [Manifest],
    /// The disks by the names of their places; the folder of the archive has none.
    disks: Vec<(Option<&'a str>, &'a Arc<dyn Disk>)>,
    newest: Option<u64>,
    /// Whether each known segment there is what the catalogue means. It is looked at only if something is to go.
    complete: OnceCell<bool>,
}

impl<'a> LeftOver<'a> {
    pub(crate) fn of(segments: &'a [Manifest], disks: Vec<(Option<&'a str>, &'a Arc<dyn Disk>)>) -> LeftOver<'a> {
        let newest = segments.iter().map(|segment| segment.last).max();
        LeftOver { segments, disks, newest, complete: OnceCell::new() }
    }

    /// Whether a file of that name, which no known segment has, may be removed.
    pub(crate) fn may_go(&self, name: &str) -> bool {
        last_of(name) <= self.newest && is_left_over(name, self.segments) && self.is_complete()
    }

    fn is_complete(&self) -> bool {
        let is_whole = |segment: &Manifest| {
            let mut lying = self.disks.iter().filter(|(place, _)| *place == segment.place.as_deref());
            lying.all(|(_, disk)| check::is_segment(disk, &segment.key, segment))
        };
        *self.complete.get_or_init(|| self.segments.iter().all(is_whole))
    }
}

/// Whether an unknown segment is a merged one that was not entered, or one that was merged into a known one.
fn is_left_over(name: &str, segments: &[Manifest]) -> bool {
    let numbers = name.trim_end_matches(".seg");
    let merged = numbers.contains('-');
    let number = numbers.parse().ok();
    merged || number.is_some_and(|number| segments.iter().any(|of| (of.sequence..=of.last).contains(&number)))
}
