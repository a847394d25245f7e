//! Segments without a file: those that are lost, and those that were merged or moved since the catalogue was read.

use std::collections::{HashMap, HashSet};

use crate::{
    Error,
    catalog::copy::{self, Copy},
    disk::{Disk, Objects, RealDisk},
    segment::manifest::Manifest,
};

/// A segment that has no file where it is looked for, or none of its length.
pub(super) struct Absent<'a> {
    pub(super) of: &'a Manifest,
    /// What is wrong; nothing if it was merged or moved meanwhile.
    pub(super) finding: Option<String>,
}

/// Which of the known segments are absent. `near` are the files in the folder of the archive, `places` the folders of other places.
///
/// A file goes behind the change of the catalogue that does without it: where one is missing, a catalogue that is read after that look
/// names it only if it is lost.
pub(super) fn absent<'a>(
    disk: &dyn Disk,
    known: &'a [Manifest],
    near: &[String],
    places: &HashMap<String, String>,
) -> Result<Vec<Absent<'a>>, Error> {
    let near: HashSet<&str> = near.iter().map(String::as_str).collect();
    let absent = known.iter().filter_map(|of| Some(Absent { of, finding: Some(absence(of, &near, places)?) }));
    let mut absent: Vec<Absent> = absent.collect();
    let newer = if absent.is_empty() { Ok(Copy::default()) } else { copy::read_copy(disk)? };
    if let Ok(newer) = newer {
        let named: HashSet<_> = newer.segments.iter().map(|of| (&of.key, &of.place)).collect();
        absent
            .iter_mut()
            .filter(|one| !named.contains(&(&one.of.key, &one.of.place)))
            .for_each(|one| one.finding = None);
    }
    Ok(absent)
}

fn absence(of: &Manifest, near: &HashSet<&str>, places: &HashMap<String, String>) -> Option<String> {
    let Manifest { key, bytes, samples, t0, t1, .. } = of;
    let Some(name) = &of.place else {
        let finding = || {
            format!("{key} is in the catalogue, but there is no such file; it held {samples} samples of {t0} to {t1}")
        };
        return (!near.contains(key.as_str())).then(finding);
    };
    let Some(folder) = places.get(name) else {
        return Some(format!("{key} lies in the place {name:?}, and nobody knows where that is"));
    };
    let is_there = RealDisk::new(folder).len(key).ok() == Some(*bytes);
    (!is_there).then(|| format!("{key} is not in the place {name:?} ({folder}), or not whole; is it mounted?"))
}

#[cfg(test)]
mod tests {
    use std::{fs, thread, time::Duration};

    use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
    use sample::{Alarm, Sample, Timestamp, Value};

    use super::*;
    use crate::{Config, Store};

    const DAY: i64 = 86_400_000_000_000;

    fn keys(of: &Copy) -> Vec<String> {
        of.segments.iter().map(|of| of.key.clone()).collect()
    }

    #[test]
    fn what_was_merged_since_the_catalogue_was_read_is_no_finding_and_what_is_lost_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::from_nanos(0);
        let store = Store::open(Config::new(folder.path()), now).unwrap();
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let by = By::new("test", now);
        let pv = store.writer().register(&[(PvName::new("S").unwrap(), settings)], &by).unwrap()[0].id;
        for hour in 1..4 {
            let time = Timestamp::from_nanos(hour * DAY / 24);
            let sample = Sample { time, value: Value::F64(1.0), alarm: Alarm::default(), pulse: 0, stamp: None };
            store.writer().append(&[(pv, Record::Sample(sample))], time).unwrap();
            store.engine.flush(time).unwrap();
        }
        let disk = RealDisk::new(folder.path());
        let read = || copy::read_copy(&disk).unwrap().unwrap();
        let before = read();
        assert_eq!(before.segments.len(), 3);
        store.tick(Timestamp::from_nanos(10 * DAY));
        while read().segments.len() > 1 || before.segments.iter().any(|of| folder.path().join(&of.key).exists()) {
            thread::sleep(Duration::from_millis(1));
        }
        let near = keys(&read());
        let merged = absent(&disk, &before.segments, &near, &HashMap::new()).unwrap();
        assert_eq!(merged.iter().filter(|one| one.finding.is_none()).count(), 3, "they are told as lost");

        fs::remove_file(folder.path().join(&near[0])).unwrap();
        let now = read();
        let lost = absent(&disk, &now.segments, &[], &HashMap::new()).unwrap();
        let findings: Vec<&String> = lost.iter().filter_map(|one| one.finding.as_ref()).collect();
        assert!(findings.len() == 1 && findings[0].contains("there is no such file"), "{findings:?}");
    }
}
