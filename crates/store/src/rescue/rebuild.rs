//! A catalogue made anew: what the names and footers of segments, and the log, still say.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use archive::{Method, Protocol, PvEntry, PvId, PvName, PvSettings, PvState};
use sample::Timestamp;

use crate::{
    Error,
    catalog::{self, copy::read_file, tables::Position},
    disk::Disk,
    log::{files, format, scan},
    segment::{Named, Segment, manifest::Manifest, week},
};

/// What is found of an archive whose catalogue is lost.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) segments: Vec<Manifest>,
    /// By key: whether the file was whole.
    whole: HashMap<String, bool>,
    /// Each PV with the number of the segment that knew it last.
    names: BTreeMap<PvId, (u64, Named)>,
    /// PVs in the log or in segments whose names nobody knows.
    nameless: Vec<PvId>,
    /// Sentences for the operator.
    pub(crate) remarks: Vec<String>,
    appended: u64,
}

/// What a file says of itself, by its footer and its key.
pub(crate) fn manifest(disk: &Arc<dyn Disk>, key: &str, now: Timestamp) -> Manifest {
    let bytes = disk.len(key).unwrap_or(0);
    let found = match Segment::of_file(disk.clone(), key) {
        Ok(segment) => segment.manifest.clone(),
        Err(_) => Manifest::unknown(key.to_owned(), bytes),
    };
    let name = key.rsplit('/').next().unwrap_or_default();
    let stem = name.trim_end_matches(".seg").trim_end_matches('r');
    let numbers: Vec<u64> = stem.split('-').filter_map(|number| number.parse().ok()).collect();
    let number = |place: usize| numbers.get(place).copied();
    let sequence = number(0).unwrap_or(found.sequence);
    let mut header = [0; 8];
    let written =
        disk.read_at(key, 24, &mut header).map_or(now, |()| Timestamp::from_nanos(i64::from_le_bytes(header)));
    Manifest {
        sequence,
        last: number(1).unwrap_or(sequence),
        generation: number(2).and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
        part: number(3).and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
        level: week::level(found.folder(), now),
        written: (written, written),
        ..found
    }
}

impl Found {
    pub(crate) fn add(&mut self, manifest: Manifest, is_whole: bool, names: Vec<Named>) {
        self.whole.insert(manifest.key.clone(), is_whole);
        for named in names {
            let newer = self.names.get(&named.pv).is_none_or(|(known, _)| *known <= manifest.last);
            if newer {
                self.names.insert(named.pv, (manifest.last, named));
            }
        }
        self.segments.push(manifest);
    }

    /// Leaves out segments that were merged into another that is whole, or what a merge wrote that did not come to its end.
    pub(crate) fn drop_merged(&mut self) {
        let all = self.segments.clone();
        let inside = |inner: &Manifest, outer: &Manifest| {
            let (a, b) = ((inner.sequence, inner.last), (outer.sequence, outer.last));
            a != b && b.0 <= a.0 && a.1 <= b.1
        };
        let whole = |manifest: &Manifest| self.whole.get(&manifest.key) == Some(&true);
        let is_left_over = |one: &Manifest| {
            let merged_into = all.iter().any(|other| inside(one, other) && whole(other));
            let damaged_merge = !whole(one) && all.iter().any(|other| inside(other, one));
            let older = all.iter().any(|other| {
                other.id() == one.id() && other.last == one.last && other.generation > one.generation && whole(other)
            });
            merged_into || damaged_merge || older
        };
        let mut kept: Vec<Manifest> = all.iter().filter(|one| !is_left_over(one)).cloned().collect();
        kept.sort_by_key(Manifest::id);
        for one in all.iter().filter(|one| is_left_over(one)) {
            self.remarks.push(format!("{} is left out: its samples are in another segment", one.key));
        }
        self.segments = kept;
    }

    /// The rows of all PVs. Of two with one name the one that was seen last keeps it.
    pub(crate) fn rows(&mut self) -> Vec<(PvId, Vec<u8>)> {
        let mut owners: HashMap<PvName, (u64, PvId)> = HashMap::new();
        for (pv, (seen, named)) in &self.names {
            let owner = owners.entry(named.name.clone()).or_insert((*seen, *pv));
            *owner = (*owner).max((*seen, *pv));
        }
        let mut rows = Vec::new();
        for (pv, (_, named)) in &self.names {
            if owners.get(&named.name).is_some_and(|(_, owner)| owner == pv) {
                rows.push((*pv, named.row.clone()));
                continue;
            }
            let name = format!("{}:was:{}", named.name, pv.0);
            self.remarks.push(format!("two PVs had the name {}; the older one is called {name}", named.name));
            rows.extend(unknown_row(*pv, &name));
        }
        for pv in &self.nameless {
            let name = format!("recovered:{}", pv.0);
            self.remarks
                .push(format!("nobody knows the name of PV number {}; it is called {name}, and is paused", pv.0));
            rows.extend(unknown_row(*pv, &name));
        }
        rows.sort_by_key(|(pv, _)| *pv);
        rows
    }

    /// All of the log is replayed.
    pub(crate) fn position(&self) -> Position {
        let next_segment = self.segments.iter().map(|manifest| manifest.last + 1).max().unwrap_or(0);
        let samples = self.segments.iter().map(|manifest| manifest.samples).sum();
        Position { frame: 0, appended: self.appended.max(samples), alive: None, next_segment }
    }
}

fn unknown_row(pv: PvId, name: &str) -> Option<(PvId, Vec<u8>)> {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    let entry = PvEntry { id: pv, name: PvName::recorded(name).ok()?, settings, added: Timestamp::default() };
    Some((pv, catalog::archived_bytes(&entry)))
}

/// Looks for PVs, in the log and among those salvaged, that no segment names, and for how many samples were ever appended.
pub(crate) fn add_nameless(disk: &dyn Disk, found: &mut Found, salvaged: &BTreeSet<PvId>) -> Result<(), Error> {
    let io = |source| Error::Io { doing: "list", path: format::FOLDER.to_owned(), source };
    let mut seen = salvaged.clone();
    for number in files::files(disk).map_err(io)? {
        let Some(bytes) = read_file(disk, &format::key(number))? else { continue };
        for frame in scan::scan(&bytes).frames {
            found.appended = found.appended.max(frame.appended);
            let records = bytes.get(frame.records.clone()).and_then(|bytes| scan::records(bytes).ok());
            seen.extend(records.into_iter().flatten().map(|(pv, _)| pv));
        }
    }
    found.nameless = seen.into_iter().filter(|pv| !found.names.contains_key(pv)).collect();
    Ok(())
}
