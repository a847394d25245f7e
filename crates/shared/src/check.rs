//! The check of a shard: reads its journal and every byte that it names, while the owner goes on, and changes nothing.

use crate::{
    error::{Error, Result},
    image::{Catalogue, Image},
    keys::Shard,
    orphans::{each_key, is_orphan},
    pieces::{self, Object},
    seam::Shared,
};

/// The owner may have done without something just when it was looked for: then the journal is read again, so often.
const LOOKS: usize = 5;

/// What was found of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Rows of the journal, those before the newest checkpoint included.
    pub rows: u64,
    /// Objects that the journal names.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Everything that is wrong, in sentences.
    pub problems: Vec<String>,
    /// Keys that no row names and none ever will: what owners have left that were stopped. They cost room and nothing else.
    pub orphans: Vec<String>,
}

/// Checks a shard. `catalogue` is brought up to date on the way. `told` hears how many bytes were read.
pub fn check(
    shared: &dyn Shared,
    shard: &Shard,
    catalogue: &mut dyn Catalogue,
    told: &mut dyn FnMut(u64),
) -> Result<Checked> {
    let mut checked = Checked::default();
    let Some(mut image) = image_of(shared, shard, catalogue, &mut checked)? else { return Ok(checked) };
    let mut suspects: Vec<(Object, String)> = Vec::new();
    for object in image.objects() {
        checked.objects += 1;
        checked.bytes += object.len;
        match pieces::verify(shared, shard, object) {
            Ok(()) => {}
            Err(error @ Error::Damaged { .. }) => suspects.push((object.clone(), error.to_string())),
            Err(error) => return Err(error),
        }
        told(checked.bytes);
    }
    let mut old = Vec::new();
    each_key(shared, shard, &|| true, |key| {
        old.extend(Some(key).filter(|key| is_orphan(shard, &image, image.epoch(), key)));
        Ok(())
    })?;
    if suspects.is_empty() && old.is_empty() {
        return Ok(checked);
    }
    // What is named no more need not be there. Of what no row names now, none did before, as no epoch but the last appends.
    let Some(newer) = image_of(shared, shard, &mut (), &mut checked)? else { return Ok(checked) };
    image = newer;
    let is_named = |(object, _): &(Object, String)| image.objects().any(|named| named == object);
    checked.problems.extend(suspects.into_iter().filter(is_named).map(|(_, told)| told));
    checked.orphans = old.into_iter().filter(|key| is_orphan(shard, &image, image.epoch(), key)).collect();
    Ok(checked)
}

/// What the journal amounts to; none if it is damaged, which is among the problems then.
fn image_of(
    shared: &dyn Shared,
    shard: &Shard,
    catalogue: &mut dyn Catalogue,
    checked: &mut Checked,
) -> Result<Option<Image>> {
    let mut last = String::new();
    for _ in 0..LOOKS {
        match Image::read(shared, shard, catalogue) {
            Ok(image) => {
                checked.rows = image.next().0;
                return Ok(Some(image));
            }
            Err(error @ (Error::Damaged { .. } | Error::TooNew { .. } | Error::Local { .. })) => {
                last = error.to_string();
            }
            Err(error) => return Err(error),
        }
    }
    checked.problems.push(format!("shard {shard} cannot be read: {last}"));
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;
    use crate::{Frames, Local, LogRun, Owner, Plan, Settings, twin::Memory};

    /// One segment, and one run of the log.
    struct Disk;

    impl Local for Disk {
        fn log(&self, from: u64, _: usize) -> std::io::Result<Option<LogRun>> {
            let run = || LogRun { frames: Frames { first: 1, end: 4 }, file: 1, at: 0, bytes: vec![7; 300] };
            Ok((from == 1).then(run))
        }

        fn segment(&self, _: &str) -> std::io::Result<Box<dyn std::io::Read + '_>> {
            Ok(Box::new(std::io::Cursor::new(vec![9; 1000])))
        }
    }

    /// A shard whose second owner has a checkpoint, a segment and a piece of the log, and whose first has left something.
    fn shard() -> (Arc<Memory>, Shard, Owner) {
        let (memory, shard) = (Arc::new(Memory::default()), Shard::new(1, 'a').unwrap());
        let settings = Settings { piece: 256, commit_every: Duration::ZERO, ..Settings::default() };
        let take = || Owner::take(memory.clone(), shard.clone(), "node", 1, 1, settings).unwrap();
        take();
        memory.put("1.a/seg/0000000000000001/2026-W47/000000000001.seg/000000", b"left").unwrap();
        let mut owner = take();
        owner.read_image(&mut ()).unwrap();
        let segments = vec!["2026-W47/000000000002.seg".to_owned()];
        owner.change(Plan { segments, catalogue: vec![1; 100], ..Plan::default() });
        owner.advance(Duration::ZERO, &Disk).unwrap();
        owner.checkpoint(Duration::ZERO, Some(&mut &[5; 700][..])).unwrap();
        (memory, shard, owner)
    }

    fn check_it(memory: &Memory, shard: &Shard) -> Checked {
        check(memory, shard, &mut (), &mut |_| {}).unwrap()
    }

    fn key_with(memory: &Memory, part: &str) -> String {
        memory.list("1.a/", "", 100).unwrap().into_iter().find(|key| key.contains(part)).unwrap()
    }

    #[test]
    fn a_whole_shard_is_whole_and_what_a_stopped_owner_left_is_an_orphan() {
        let (memory, shard, _) = shard();
        let checked = check_it(&memory, &shard);
        assert_eq!(checked.problems, Vec::<String>::new());
        assert_eq!((checked.objects, checked.bytes), (3, 2000));
        assert_eq!(checked.orphans, ["1.a/seg/0000000000000001/2026-W47/000000000001.seg/000000"]);
        let nobody = check_it(&memory, &Shard::new(2, 'a').unwrap());
        assert_eq!(nobody, Checked::default());
    }

    #[test]
    fn a_flipped_byte_and_a_missing_piece_are_named_wherever_they_are() {
        for part in ["/seg/0000000000000002", "/log/", "/image/"] {
            let (memory, shard, _) = shard();
            let key = key_with(&memory, part);
            let mut bytes = memory.get(&key, 0..1000).unwrap().unwrap();
            memory.remove(&key).unwrap();
            let missing = check_it(&memory, &shard).problems;
            assert!(missing.len() == 1 && missing[0].contains(&key) && missing[0].contains("not there"), "{missing:?}");
            bytes[3] ^= 4;
            memory.put(&key, &bytes).unwrap();
            let flipped = check_it(&memory, &shard).problems;
            let object = key.rsplit_once('/').unwrap().0;
            assert!(flipped.len() == 1 && flipped[0].contains(object), "{flipped:?}");
            assert!(flipped[0].contains("checksum is wrong"), "{flipped:?}");
        }
    }

    #[test]
    fn a_journal_that_cannot_be_read_is_the_finding() {
        let (memory, shard, owner) = shard();
        drop(owner);
        memory.create("1.a", crate::Seq(memory.journal("1.a").len() as u64), b"no row").unwrap();
        let checked = check_it(&memory, &shard);
        assert!(checked.problems[0].starts_with("shard 1.a cannot be read: "), "{:?}", checked.problems);
    }
}
