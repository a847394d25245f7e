//! Moving: closed segments go from place to place, each by one transaction of the catalogue.
//!
//! ```text
//!   copy to far .tmp ► sync ► read it back and compare ► rename ► sync folder ► near tables, synced ► catalogue ► remove the source
//! ```
//! A crash before the catalogue leaves the source in force, and a copy that the next attempt goes on with; a crash after it leaves a
//! source that is removed when the place is next looked at. A place that cannot be reached keeps what would go there where it is.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use archive::Work;
use sample::Timestamp;
use xxhash_rust::xxh3::Xxh3;

use crate::{
    Error,
    catalog::Told,
    disk::{Disk, fault_of_file, quarantine},
    engine::Engine,
    places::{Place, tables_key},
    rescue::{check, recover::LeftOver},
    segment::{
        Segment,
        manifest::{Level, Manifest},
        week,
    },
    upkeep::compact::Compaction,
};

/// Copied and compared in pieces of this size.
const PIECE_BYTES: u64 = 1 << 20;

/// Why a move did not come to its end.
enum Broken {
    /// It was told to stop.
    Stopped,
    /// The source, or the archive's own folder.
    Near(io::Error),
    /// The place to which it goes.
    Far(io::Error),
    /// The copy is not what was copied.
    Differs,
}

impl Engine {
    /// Looks at each place.
    pub(crate) fn look_at_places(&self) -> Result<(), Error> {
        for place in self.places.iter() {
            let first_use = self.catalog.is_new_place(&place.name)?;
            place.look(self.home.archive(), first_use);
            if place.is_untidied() {
                self.catalog.put_place(&place.name, &place.folder)?;
                if let Err(error) = self.tidy(place) {
                    place.fail("look for left-over files", &error);
                }
            }
        }
        Ok(())
    }

    /// Moves one segment, if one is due and can be moved.
    pub(crate) fn move_next(&self, now: Timestamp, go_on: &dyn Fn() -> bool) -> Result<Compaction, Error> {
        let segments = self.snapshot().segments.clone();
        let due = segments.iter().find_map(|segment| {
            let to = self.destination(&segment.manifest, now)?;
            let may = to.is_usable() && self.places.reach(&segment.manifest) && !segment.stays();
            may.then_some((segment, to))
        });
        let Some((segment, to)) = due else { return Ok(Compaction::Nothing) };
        let key = &segment.manifest.key;
        let moved = self.copy_there(segment, to, go_on);
        self.counters.set_work("moving", None);
        match moved {
            Ok(()) => {}
            Err(Broken::Stopped) => return Ok(Compaction::Stopped),
            // The others go on.
            Err(Broken::Near(error)) if !self.is_away() && self.lacks(segment) => {
                segment.stay();
                self.counters
                    .problem(format!("{key} cannot be moved to the place {:?}: {error}; run `pvark check`", to.name));
                return Ok(Compaction::Done);
            }
            Err(Broken::Near(source)) => return Err(Error::Io { doing: "move", path: key.clone(), source }),
            Err(Broken::Far(error)) => {
                to.fail(&format!("copy {key}"), &error);
                return Ok(Compaction::Stopped);
            }
            Err(Broken::Differs) => {
                to.fail(&format!("copy {key}"), &io::Error::other("what was read back is not what was written"));
                return Ok(Compaction::Stopped);
            }
        }
        let manifest = Manifest { place: Some(to.name.clone()), ..segment.manifest.clone() };
        let bytes = manifest.bytes;
        let entered = self.replace_segments(std::slice::from_ref(segment), vec![manifest], Told::default())?;
        if entered == Compaction::Done {
            tracing::info!("{key} lies in the place {:?} now", to.name);
            self.counters.moved_segments.fetch_add(1, Relaxed);
            self.counters.moved_bytes.fetch_add(bytes, Relaxed);
        } else if !self.snapshot().segments.iter().any(|segment| segment.manifest.key == *key) {
            // It was merged or taken away meanwhile.
            self.remove_unfinished(&tables_key(key));
            let removed = to.disk().and_then(|there| there.remove(key));
            removed.unwrap_or_else(|error| to.fail(&format!("remove {key}"), &error));
        }
        Ok(entered)
    }

    /// Whether a segment has no file that can be read from its first byte to its last.
    fn lacks(&self, segment: &Segment) -> bool {
        let Manifest { key, bytes, .. } = &segment.manifest;
        let source = self.places.of(&segment.manifest).map_or(Ok(&self.disk), |place| place.disk());
        let mut last = [0];
        let read = source.and_then(|disk| disk.read_at(key, bytes.saturating_sub(1), &mut last));
        read.is_err_and(|error| fault_of_file(&error).is_some())
    }

    /// The last place whose time has come, if the segment is not there or farther yet.
    pub(crate) fn destination(&self, manifest: &Manifest, now: Timestamp) -> Option<&Arc<Place>> {
        let closed = match manifest.level {
            Level::Minutes | Level::Hour => return None,
            Level::Day => week::day_end(week::day(manifest.written.1)),
            Level::Week => week::end(manifest.folder()),
        };
        let is_now = manifest.place.as_deref().and_then(|name| self.places.find(name)).map(|(at, _)| at);
        let due = |place: &Place| place.after < Duration::MAX && closed.saturating_add(place.after) <= now;
        let (at, place) = self.places.iter().enumerate().filter(|(_, place)| due(place)).last()?;
        is_now.is_none_or(|is_now| is_now < at).then_some(place)
    }

    /// Everything up to the catalogue.
    fn copy_there(&self, segment: &Segment, to: &Place, go_on: &dyn Fn() -> bool) -> Result<(), Broken> {
        let Manifest { key, bytes, tables_at, .. } = &segment.manifest;
        let from = self.places.of(&segment.manifest);
        let source = from.map_or(Ok(&self.disk), |place| place.disk()).map_err(Broken::Near)?;
        let there = to.disk().map_err(Broken::Far)?;
        if there.len(key).ok() != Some(*bytes) {
            self.copy(&**source, &**there, &segment.manifest, to, go_on)?;
        } else if self.check_of(&**source, key, *bytes, to, go_on)?
            != self.check_of(&**there, key, *bytes, to, go_on)?
        {
            self.set_aside(to, key).map_err(Broken::Far)?; // copied next time
            return Err(Broken::Differs);
        }
        let tables = tables_key(key);
        let near_len = bytes - tables_at;
        if self.disk.len(&tables).ok() != Some(near_len) {
            self.put_tables(&**source, &segment.manifest).map_err(Broken::Near)?;
        }
        Ok(())
    }

    fn copy(
        &self,
        source: &dyn Disk,
        there: &dyn Disk,
        manifest: &Manifest,
        to: &Place,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), Broken> {
        let Manifest { key, bytes, .. } = manifest;
        let unfinished = format!("{key}.tmp");
        there.create_folder(manifest.folder()).map_err(Broken::Far)?;
        // What an earlier attempt has written is verified with the rest.
        let mut at = there.len(&unfinished).unwrap_or(0).min(*bytes) / PIECE_BYTES * PIECE_BYTES;
        let pace = Pace::new(to.bytes_per_second);
        while at < *bytes {
            let mut piece = vec![0; (*bytes - at).min(PIECE_BYTES) as usize];
            source.read_at(key, at, &mut piece).map_err(Broken::Near)?;
            there.write_at(&unfinished, at, &piece).map_err(Broken::Far)?;
            at += piece.len() as u64;
            self.counters.set_work("moving", Some(Work::new("moving", key, at, *bytes)));
            if !pace.keep(piece.len() as u64, go_on) {
                return Err(Broken::Stopped);
            }
        }
        there.set_len(&unfinished, *bytes).map_err(Broken::Far)?;
        there.sync(&unfinished).map_err(Broken::Far)?;
        if self.check_of(source, key, *bytes, to, go_on)? != self.check_of(there, &unfinished, *bytes, to, go_on)? {
            there.remove(&unfinished).map_err(Broken::Far)?;
            return Err(Broken::Differs);
        }
        let name = || -> io::Result<()> {
            if there.len(key).is_ok() {
                self.set_aside(to, key)?;
            }
            there.rename(&unfinished, key)?;
            there.sync_folder(manifest.folder())?;
            there.sync_folder("")
        };
        name().map_err(Broken::Far)
    }

    /// A file gets its name when it is whole: one that lies there under the name of another segment is somebody's.
    fn set_aside(&self, place: &Place, key: &str) -> io::Result<()> {
        let aside = quarantine::set_aside(&**place.disk()?, key)?;
        let name = &place.name;
        self.counters
            .problem(format!("another file than {key} lay in the place {name:?}, and is kept there as {aside}"));
        Ok(())
    }

    /// The check of a whole file.
    fn check_of(
        &self,
        disk: &dyn Disk,
        key: &str,
        bytes: u64,
        to: &Place,
        go_on: &dyn Fn() -> bool,
    ) -> Result<u64, Broken> {
        let is_far = to.disk().is_ok_and(|far| std::ptr::addr_eq(Arc::as_ptr(far), std::ptr::from_ref(disk)));
        let broken = if is_far { Broken::Far } else { Broken::Near };
        let mut check = Xxh3::new();
        let mut at = 0;
        while at < bytes {
            if !go_on() {
                return Err(Broken::Stopped);
            }
            let mut piece = vec![0; (bytes - at).min(PIECE_BYTES) as usize];
            match disk.read_at(key, at, &mut piece) {
                Ok(()) => {}
                Err(error) => return Err(broken(error)),
            }
            check.update(&piece);
            at += piece.len() as u64;
        }
        Ok(check.digest())
    }

    /// Writes the near part of a segment.
    fn put_tables(&self, source: &dyn Disk, manifest: &Manifest) -> io::Result<()> {
        let Manifest { key, bytes, tables_at, .. } = manifest;
        let tables = tables_key(key);
        let unfinished = format!("{tables}.tmp");
        self.make_week(manifest.folder())?;
        self.disk.set_len(&unfinished, 0)?;
        let mut at = *tables_at;
        while at < *bytes {
            let mut piece = vec![0; (bytes - at).min(PIECE_BYTES) as usize];
            source.read_at(key, at, &mut piece)?;
            self.disk.write_at(&unfinished, at - tables_at, &piece)?;
            at += piece.len() as u64;
        }
        self.disk.sync(&unfinished)?;
        self.disk.rename(&unfinished, &tables)?;
        self.disk.sync_folder(manifest.folder())
    }

    /// Removes what a crash left of moves: copies of what is not there any more, and sources of what was moved.
    fn tidy(&self, place: &Place) -> io::Result<()> {
        let snapshot = self.snapshot();
        let manifests: Vec<Manifest> = snapshot.segments.iter().map(|segment| segment.manifest.clone()).collect();
        let there = place.disk()?;
        let is_here = |manifest: &&Manifest| manifest.place.as_deref() == Some(place.name.as_str());
        for manifest in manifests.iter().filter(is_here) {
            let mut others: Vec<&Arc<dyn Disk>> = vec![&self.disk];
            others.extend(
                self.places
                    .iter()
                    .filter(|other| other.name != place.name && other.is_usable())
                    .filter_map(|other| other.disk().ok()),
            );
            let mut sources = others.into_iter().filter(|other| other.len(&manifest.key).is_ok()).peekable();
            if sources.peek().is_some() && check::is_segment(there, &manifest.key, manifest) {
                sources.try_for_each(|source| source.remove(&manifest.key))?;
            }
        }
        let left_over = LeftOver::of(&manifests, vec![(None, &self.disk), (Some(&place.name), there)]);
        for folder in there.list("")?.iter().filter(|name| week::is_folder(name)) {
            for name in there.list(folder)? {
                let key = format!("{folder}/{name}");
                let listed = |key: &str| manifests.iter().any(|manifest| manifest.key == key);
                let unfinished = name.strip_suffix(".tmp").map(|name| format!("{folder}/{name}"));
                if unfinished.as_ref().is_some_and(|key| !listed(key)) {
                    there.remove(&key)?;
                } else if name.ends_with(".seg") && !listed(&key) {
                    if left_over.may_go(&name) {
                        there.remove(&key)?;
                    } else {
                        there.rename(&key, &format!("{key}.orphan"))?;
                        let Place { name, .. } = place;
                        let told = format!(
                            "{key} in the place {name:?} is not in the catalogue, or the catalogue is an older one; the file is kept \
                             as {key}.orphan"
                        );
                        self.counters.problem(told);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Keeps a copy below a rate.
struct Pace {
    bytes_per_second: Option<u64>,
}

impl Pace {
    fn new(bytes_per_second: Option<u64>) -> Pace {
        Pace { bytes_per_second }
    }

    /// Waits as long as so many bytes may take, and says whether to go on.
    fn keep(&self, bytes: u64, go_on: &dyn Fn() -> bool) -> bool {
        let time =
            self.bytes_per_second.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(bytes as f64 / rate as f64));
        let until = Instant::now() + time;
        while go_on() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
        false
    }
}
