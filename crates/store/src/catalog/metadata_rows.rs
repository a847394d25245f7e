//! The rows of metadata: one where something changes, and none where nothing does.
//!
//! Older programs wrote one for each PV at each start. These are dropped in steps while the archive is in use; when all were looked
//! at, a mark says so.

use std::ops::Bound::{Excluded, Included};

use archive::{Action, AuditRecord, By, PvId};
use redb::ReadableTable;
use sample::{Metadata, Timestamp};

use super::{
    audit::put_audit,
    changes::{Table, Transaction},
    database::Catalog,
    tables::{META, METADATA, METADATA_TIDIED, unreadable},
};
use crate::{
    Error,
    facts::{self, Facts},
};

/// The name in `meta` that counts what was dropped so far.
const DROPPED: &str = "metadata_dropped";
/// So many rows are looked at in one transaction: a flush waits for it.
const STEP_ROWS: usize = 20_000;

type Rows<'t> = Table<'t, (u32, i64), &'static [u8]>;
/// PV and since when.
type Key = (u32, i64);

/// Whether there is more to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tidying {
    /// What follows this row.
    From((u32, i64)),
    Done,
}

impl Tidying {
    /// Before the first row.
    pub(crate) const BEGIN: Tidying = Tidying::From((u32::MIN, i64::MIN));
}

/// Enters changes. What is equal to the row before it is left out, and takes the place of an equal one behind it: a part of an
/// import says the same as the part before, and comes before what was recorded live.
pub(super) fn put(transaction: &Transaction, facts: &Facts) -> Result<(), redb::Error> {
    let mut rows = transaction.open_table(METADATA)?;
    for ((pv, since), change) in &facts.metadata {
        let key = (pv.0, since.nanos());
        let same = |row: Option<(Key, Metadata)>| row.filter(|(_, told)| *told == **change).map(|(key, _)| key);
        if let Some(repeat) = same(after(&rows, key)?) {
            rows.remove(repeat)?;
        }
        match same(before(&rows, key)?) {
            Some(_) => rows.remove(key)?,
            None => rows.insert(key, facts::metadata_bytes(change).as_slice())?,
        };
    }
    Ok(())
}

/// The row of the same PV before a key.
fn before(rows: &Rows, (pv, since): Key) -> Result<Option<(Key, Metadata)>, redb::Error> {
    let row = rows.range((pv, i64::MIN)..(pv, since))?.next_back().transpose()?;
    Ok(row.and_then(|(key, bytes)| Some((key.value(), facts::metadata(bytes.value())?))))
}

/// The row of the same PV behind a key.
fn after(rows: &Rows, (pv, since): Key) -> Result<Option<(Key, Metadata)>, redb::Error> {
    let row = rows.range::<Key>((Excluded((pv, since)), Included((pv, i64::MAX))))?.next().transpose()?;
    Ok(row.and_then(|(key, bytes)| Some((key.value(), facts::metadata(bytes.value())?))))
}

impl Catalog {
    /// Of which of these PVs there is metadata.
    pub(crate) fn have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, Error> {
        self.read(|tables| {
            let table = tables.0.open_table(METADATA)?;
            if table.first()?.is_none() {
                return Ok(vec![false; pvs.len()]);
            }
            let of = |pv: &PvId| Ok(table.range((pv.0, i64::MIN)..=(pv.0, i64::MAX))?.next().transpose()?.is_some());
            pvs.iter().map(of).collect()
        })
    }

    /// The metadata of a PV in force at `t0`, then each change before `t1`.
    pub(crate) fn metadata(&self, pv: PvId, t0: Timestamp, t1: Timestamp) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        self.read(|tables| {
            let table = tables.0.open_table(METADATA)?;
            let in_force = table.range((pv.0, i64::MIN)..=(pv.0, t0.nanos()))?.next_back();
            let after = t0.nanos().saturating_add(1);
            let changes = table.range((pv.0, after)..(pv.0, t1.nanos().max(after)))?;
            let mut found = Vec::new();
            for row in in_force.into_iter().chain(changes) {
                let (key, bytes) = row?;
                let metadata = facts::metadata(bytes.value()).ok_or(unreadable("metadata of a PV"))?;
                found.push((Timestamp::from_nanos(key.value().1), metadata));
            }
            Ok(found)
        })
    }

    /// Where to begin to look for rows that say nothing; nothing is to be done where all were looked at.
    pub(crate) fn tidying(&self) -> Result<Tidying, Error> {
        let tidied = self.read(|tables| tables.meta(METADATA_TIDIED))?;
        Ok(if tidied.is_some() { Tidying::Done } else { Tidying::BEGIN })
    }

    /// Drops rows that add nothing to the one before them, among the next ones. At the end the audit says how many there were.
    pub(crate) fn tidy_metadata(&self, from: Tidying, now: Timestamp) -> Result<Tidying, Error> {
        let Tidying::From(from) = from else { return Ok(from) };
        self.write_audited(|transaction| {
            let mut rows = transaction.open_table(METADATA)?;
            let (repeats, last) = repeats(&rows, from)?;
            for key in &repeats {
                rows.remove(key)?;
            }
            drop(rows);
            let mut meta = transaction.open_table(META)?;
            let dropped = meta.get(DROPPED)?.map_or(0, |count| count.value()) + repeats.len() as u64;
            if let Some(last) = last {
                meta.insert(DROPPED, dropped)?;
                return Ok(Tidying::From(last));
            }
            meta.remove(DROPPED)?;
            meta.insert(METADATA_TIDIED, 1)?;
            drop(meta);
            if dropped > 0 {
                let detail = format!("{dropped} rows of metadata that said what the row before them says");
                let by = By::new("the archiver", now);
                put_audit(transaction, &[AuditRecord { detail, ..AuditRecord::new(Action::Tidied, &by) }])?;
            }
            Ok(Tidying::Done)
        })
    }
}

/// The rows behind `from` that add nothing, among so many as are looked at in one go; and the last of these, if there may be more.
fn repeats(rows: &Rows, from: Key) -> Result<(Vec<Key>, Option<Key>), redb::Error> {
    let mut repeats = Vec::new();
    // What is kept before the first of them is in force there.
    let in_force = rows.range((from.0, i64::MIN)..=from)?.next_back().transpose()?;
    let mut kept: Option<(PvId, Metadata)> = match in_force {
        Some((key, bytes)) => facts::metadata(bytes.value()).map(|of| (PvId(key.value().0), of)),
        None => None,
    };
    let (mut looked_at, mut last) = (0, None);
    for row in rows.range::<Key>((Excluded(from), Included((u32::MAX, i64::MAX))))?.take(STEP_ROWS) {
        let (key, bytes) = row?;
        let (key, told) = (key.value(), facts::metadata(bytes.value()));
        (looked_at, last) = (looked_at + 1, Some(key));
        let pv = PvId(key.0);
        match (told, &kept) {
            (Some(told), Some((of, known))) if *of == pv && told.adds_nothing_to(known) => repeats.push(key),
            (told, _) => kept = told.map(|told| (pv, told)),
        }
    }
    Ok((repeats, last.filter(|_| looked_at == STEP_ROWS)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sample::Limits;

    use super::*;
    use crate::disk::RealDisk;

    fn said(units: Option<&str>, run: Option<&str>) -> Metadata {
        let unset = units.map(|_| Limits { low: f64::NAN, high: f64::NAN });
        let text = |text: Option<&str>| text.map(str::to_owned);
        Metadata { units: text(units), display: unset, server_run: text(run), ..Metadata::default() }
    }

    /// An archive as an older program left it: with these rows of each PV, and no mark.
    fn archive(folder: &std::path::Path, pvs: u32, rows: &[Metadata]) -> Catalog {
        let catalog = Catalog::open(Arc::new(RealDisk::new(folder))).unwrap();
        let write = catalog.write(|transaction| {
            transaction.open_table(META)?.remove(METADATA_TIDIED)?;
            let mut table = transaction.open_table(METADATA)?;
            for pv in 0..pvs {
                for (since, row) in rows.iter().enumerate() {
                    table.insert((pv, since as i64), facts::metadata_bytes(row).as_slice())?;
                }
            }
            Ok(())
        });
        write.unwrap();
        catalog
    }

    fn since(catalog: &Catalog, pv: u32) -> Vec<i64> {
        let rows = catalog.metadata(PvId(pv), Timestamp::MIN, Timestamp::MAX).unwrap();
        rows.into_iter().map(|(since, _)| since.nanos()).collect()
    }

    fn tidy(catalog: &Catalog) -> usize {
        let (mut at, mut steps) = (catalog.tidying().unwrap(), 0);
        while at != Tidying::Done {
            at = catalog.tidy_metadata(at, Timestamp::from_nanos(99)).unwrap();
            steps += 1;
        }
        steps
    }

    #[test]
    fn rows_of_older_programs_that_say_nothing_go_and_each_change_stays() {
        let folder = tempfile::tempdir().unwrap();
        let full = |units, run| said(Some(units), run);
        let rows = [
            said(None, None), // 0: nothing is known before it
            full("mA", None),
            full("mA", None), // 2 goes: not set limits are the same
            said(None, None), // 3 goes: the type alone
            full("mA", None), // 4 goes
            full("A", None),
            full("A", Some("beacons:x")),
            full("A", None), // 7 goes: which run it is was not asked
            full("A", Some("beacons:y")),
            full("mA", Some("beacons:y")),
        ];
        // Enough of them for several steps, which end within the rows of a PV.
        let pvs = (STEP_ROWS / 3) as u32 + 1;
        let catalog = archive(folder.path(), pvs, &rows);
        let steps = tidy(&catalog);
        assert!(steps > 2, "{steps}");
        for pv in [0, 1, pvs / 2, pvs - 2, pvs - 1] {
            assert_eq!(since(&catalog, pv), [0, 1, 5, 6, 8, 9], "PV {pv}");
        }
        let left = catalog.read(|tables| Ok(redb::ReadableTableMetadata::len(&tables.0.open_table(METADATA)?)?));
        assert_eq!(left.unwrap(), u64::from(pvs) * 6);
        let audit = catalog.audit(u64::MAX, 10).unwrap();
        let told = format!("{} rows of metadata that said what the row before them says", pvs * 4);
        assert_eq!(
            audit.iter().map(|line| (line.action, &*line.detail)).collect::<Vec<_>>(),
            [(Action::Tidied, &*told)]
        );
        assert_eq!(tidy(&catalog), 0, "it is done once");
    }

    #[test]
    fn one_that_was_interrupted_begins_anew_and_counts_all() {
        let folder = tempfile::tempdir().unwrap();
        let pvs = STEP_ROWS as u32;
        let catalog = archive(folder.path(), pvs, &[said(Some("mA"), None), said(Some("mA"), None)]);
        let first = catalog.tidy_metadata(Tidying::BEGIN, Timestamp::from_nanos(1)).unwrap();
        assert!(matches!(first, Tidying::From(_)), "{first:?}");
        drop(catalog);
        let catalog = Catalog::open(Arc::new(RealDisk::new(folder.path()))).unwrap();
        tidy(&catalog);
        let audit = catalog.audit(u64::MAX, 10).unwrap();
        assert!(audit.len() == 1 && audit[0].detail.starts_with(&format!("{pvs} rows")), "{audit:?}");
    }

    #[test]
    fn an_archive_that_is_new_or_has_nothing_to_drop_has_no_line_in_its_audit() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(Arc::new(RealDisk::new(folder.path()))).unwrap();
        assert_eq!(catalog.tidying().unwrap(), Tidying::Done);
        let other = tempfile::tempdir().unwrap();
        let catalog = archive(other.path(), 3, &[said(None, None), said(Some("mA"), None)]);
        tidy(&catalog);
        assert_eq!(catalog.audit(u64::MAX, 10).unwrap(), []);
    }

    #[test]
    fn a_change_that_is_entered_between_equal_rows_leaves_none_that_repeats() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(Arc::new(RealDisk::new(folder.path()))).unwrap();
        let enter = |rows: &[(i64, &str)]| {
            let mut facts = Facts::default();
            for (since, units) in rows {
                let key = (PvId(1), Timestamp::from_nanos(*since));
                facts.metadata.insert(key, Arc::new(said(Some(units), None)));
            }
            catalog.write(|transaction| put(transaction, &facts)).unwrap();
            since(&catalog, 1)
        };
        assert_eq!(enter(&[(50, "mA")]), [50]);
        assert_eq!(enter(&[(60, "mA"), (70, "A")]), [50, 70]);
        assert_eq!(enter(&[(10, "mA"), (20, "mA")]), [10, 70], "what it says holds from there");
        assert_eq!(enter(&[(30, "V"), (40, "mA")]), [10, 30, 40, 70]);
        assert_eq!(enter(&[(30, "mA")]), [10, 70], "said anew as what is before and behind it");
        assert_eq!(enter(&[(10, "A")]), [10], "said anew as what is behind it");
    }
}
