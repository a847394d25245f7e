//! Whose a segment is: by what stands in its header, for which archive it was written and under which key. Files are swapped, renamed
//! and taken from other archives by hand, and every checksum in them is still right.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Error,
    disk::Disk,
    segment::{Segment, format::key_number},
};

/// What a file in the place of a segment is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// What was written there, or nobody can know: an older program wrote it.
    Ours,
    /// It was written for another archive.
    Foreign(u64),
    /// It was written for this archive, under another key: which, if it is known.
    Misplaced(Option<String>),
}

impl Whose {
    /// Looks into the file of a segment that is to lie under `key`. `known` are the keys of the archive.
    pub(crate) fn of<'a>(
        segment: &Segment,
        key: &str,
        archive: Option<u64>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Result<Whose, Error> {
        let Some(identity) = segment.header()? else { return Ok(Whose::Ours) };
        if archive.is_some_and(|archive| archive != identity.archive) {
            return Ok(Whose::Foreign(identity.archive));
        }
        if identity.key == key_number(key) {
            return Ok(Whose::Ours);
        }
        let right = known.into_iter().find(|known| key_number(known) == identity.key);
        Ok(Whose::Misplaced(right.map(str::to_owned)))
    }

    /// What is wrong, as the end of a sentence that begins with the key; none if nothing is.
    pub(crate) fn finding(&self) -> Option<String> {
        match self {
            Whose::Ours => None,
            Whose::Foreign(archive) => Some(format!("is a segment of another archive, {archive:016x}")),
            Whose::Misplaced(Some(right)) => Some(format!("is another segment, the one that belongs to {right}")),
            Whose::Misplaced(None) => Some("is another segment of this archive, which it names no more".to_owned()),
        }
    }
}

/// The number of the archive for which most of these segments were written; none if none says so.
pub(crate) fn carried(disk: &Arc<dyn Disk>, keys: &[String]) -> Option<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for key in keys {
        let identity = Segment::of_file(disk.clone(), key).and_then(|segment| segment.header());
        if let Ok(Some(identity)) = identity {
            *counts.entry(identity.archive).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(archive, _)| archive)
}
