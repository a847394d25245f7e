//! What every back end has to do, as functions that its tests call: each panics where a promise of the seam is not kept.
//!
//! `folder` is a key under which nothing lies yet; two runs against one server have two of them.

use std::{
    io::{self, Read},
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    error::Error,
    ids::{Epoch, Frames, Seq},
    image::Image,
    keys::Shard,
    owner::{Local, LogRun, Owner, Plan, Settings},
    pieces::{read_at, read_whole},
    seam::{Created, MAX_ROW_LEN, MAX_VALUE_LEN, Shared, Swapped},
    settle,
    twin::{FaultRates, Net, Seed},
};

/// This many writers race for one row.
const WRITERS: usize = 8;

/// So often do they.
const RACES: u64 = 10;

/// All of it but [`ownership`].
pub fn all(shared: &Arc<dyn Shared>, folder: &str) {
    objects(&**shared, folder);
    lists(&**shared, folder);
    rows(&**shared, folder);
    names(&**shared, folder);
    races_for_a_row(shared, folder);
    races_for_a_name(shared, folder);
    beats(&**shared, folder);
    unknown(shared, folder);
}

/// Objects are what was put, in every range, until they are removed.
pub fn objects(shared: &dyn Shared, folder: &str) {
    let key = format!("{folder}/objects/a.b-c_d/0");
    assert_eq!(shared.get(&key, 0..10).expect("a get"), None, "nothing lies there yet");
    assert_eq!(shared.len(&key).expect("a length"), None);
    let bytes: Vec<u8> = (0..300_000u32).map(|i| (i * 7 % 251) as u8).collect();
    shared.put(&key, &bytes).expect("a put");
    shared.put(&key, &bytes).expect("the same once more");
    assert_eq!(shared.len(&key).expect("a length"), Some(300_000));
    for range in [0..300_000, 0..1, 299_999..300_000, 262_143..262_145, 7..7, 0..1 << 40, 299_990..300_010] {
        let found = shared.get(&key, range.clone()).expect("a get").expect("an object");
        let end = (range.end as usize).min(bytes.len());
        assert_eq!(found, &bytes[range.start as usize..end], "{range:?}");
    }
    assert_eq!(shared.get(&key, 300_000..300_001).expect("a get"), Some(Vec::new()), "behind the end");
    let empty = format!("{folder}/objects/empty");
    shared.put(&empty, b"").expect("a put of nothing");
    assert_eq!(shared.get(&empty, 0..10).expect("a get"), Some(Vec::new()));
    assert_eq!(shared.len(&empty).expect("a length"), Some(0));
    for key in [&key, &empty] {
        shared.remove(key).expect("a removal");
        shared.remove(key).expect("one more");
        assert_eq!(shared.len(key).expect("a length"), None);
    }
}

/// Keys are listed in the order of their bytes, from anywhere on, as many as are wanted.
pub fn lists(shared: &dyn Shared, folder: &str) {
    let prefix = format!("{folder}/lists/");
    let mut keys: Vec<String> = ["a/x", "a/b", "a-b", "a.b", "A", "b/0/1", "b/1", "b00", "z"]
        .iter()
        .map(|key| format!("{prefix}{key}"))
        .collect();
    let beside = format!("{folder}/lists0");
    for key in keys.iter().chain([&beside]) {
        shared.put(key, b"x").expect("a put");
    }
    keys.sort();
    assert_eq!(shared.list(&prefix, "", 100).expect("a list"), keys);
    let b: Vec<&String> = keys.iter().filter(|key| key[prefix.len()..].starts_with('b')).collect();
    let listed = shared.list(&format!("{prefix}b"), "", 100).expect("a list");
    assert_eq!(listed.iter().collect::<Vec<_>>(), b, "a prefix need not be a folder");
    for max in [1, 2, 5] {
        let (mut after, mut found) = (String::new(), Vec::new());
        loop {
            let some = shared.list(&prefix, &after, max).expect("a list");
            assert!(some.len() <= max);
            let Some(last) = some.last() else { break };
            after.clone_from(last);
            found.extend(some);
        }
        assert_eq!(found, keys, "{max} at a time");
    }
    let between = format!("{prefix}a/a");
    let behind: Vec<&String> = keys.iter().filter(|key| **key > between).collect();
    let listed = shared.list(&prefix, &between, 100).expect("a list");
    assert_eq!(listed.iter().collect::<Vec<_>>(), behind, "behind a key that is not there");
    for key in keys.iter().chain([&beside]) {
        shared.remove(key).expect("a removal");
    }
    assert_eq!(shared.list(&prefix, "", 100).expect("a list"), Vec::<String>::new());
}

/// Rows are created once, read back as they are, and the last of them is found wherever it is.
pub fn rows(shared: &dyn Shared, folder: &str) {
    let journal = format!("{folder}/rows");
    let row = |seq: u64| format!("row {seq}").into_bytes();
    assert_eq!(shared.last(&journal, None).expect("the end"), None);
    assert_eq!(shared.row(&journal, Seq(0)).expect("a read"), None);
    assert_eq!(shared.rows(&journal, Seq(0), 10).expect("a read"), Vec::<Vec<u8>>::new());
    for seq in 0..40 {
        assert_eq!(shared.create(&journal, Seq(seq), &row(seq)).expect("a creation"), Created::Done);
        let again = shared.create(&journal, Seq(seq), b"another").expect("a creation");
        assert_eq!(again, Created::Taken(row(seq)), "the first stays");
        for known in [None, Some(Seq(0)), Some(Seq(seq / 2)), Some(Seq(seq))] {
            assert_eq!(shared.last(&journal, known).expect("the end"), Some((Seq(seq), row(seq))), "from {known:?} on");
        }
    }
    assert_eq!(shared.row(&journal, Seq(17)).expect("a read"), Some(row(17)));
    assert_eq!(shared.row(&journal, Seq(40)).expect("a read"), None);
    assert_eq!(shared.rows(&journal, Seq(30), 5).expect("a read"), (30..35).map(row).collect::<Vec<_>>());
    assert_eq!(shared.rows(&journal, Seq(38), 100).expect("a read"), (38..40).map(row).collect::<Vec<_>>());
    let longest = vec![0x5a; MAX_ROW_LEN];
    assert_eq!(shared.create(&journal, Seq(40), &longest).expect("a creation"), Created::Done);
    assert_eq!(shared.row(&journal, Seq(40)).expect("a read"), Some(longest));
    // Journals do not see each other, whatever their names have in common.
    assert_eq!(shared.last(&format!("{journal}/0"), None).expect("the end"), None);
}

/// A name has the value that was given last by who knew the one before.
pub fn names(shared: &dyn Shared, folder: &str) {
    let name = format!("{folder}/names/0");
    assert_eq!(shared.value(&name).expect("a read"), None);
    assert_eq!(shared.swap(&name, Some(b"a"), b"b").expect("a swap"), Swapped::Differs, "it has no value yet");
    assert_eq!(shared.swap(&name, None, b"a").expect("a swap"), Swapped::Done);
    assert_eq!(shared.swap(&name, None, b"b").expect("a swap"), Swapped::Differs, "it has one by now");
    assert_eq!(shared.swap(&name, Some(b"x"), b"b").expect("a swap"), Swapped::Differs, "it has another");
    assert_eq!(shared.value(&name).expect("a read"), Some(b"a".to_vec()));
    let longest = vec![0xa5; MAX_VALUE_LEN];
    assert_eq!(shared.swap(&name, Some(b"a"), &longest).expect("a swap"), Swapped::Done);
    assert_eq!(shared.value(&name).expect("a read"), Some(longest));
}

/// Of several writers of one row exactly one has it, and the others are told whose it is.
pub fn races_for_a_row(shared: &Arc<dyn Shared>, folder: &str) {
    let journal = format!("{folder}/races");
    for seq in (0..RACES).map(Seq) {
        let winners = race(|writer| {
            let row = format!("row {seq} of writer {writer}").into_bytes();
            match settle::append(&**shared, &journal, seq, &row).expect("an append") {
                Created::Done => Some(row),
                Created::Taken(other) => {
                    assert_ne!(other, row, "its own row");
                    None
                }
            }
        });
        let [winner] = &winners[..] else { panic!("row {seq} has {} writers", winners.len()) };
        assert_eq!(shared.row(&journal, seq).expect("a read").as_ref(), Some(winner));
    }
}

/// Of several that want to replace one value exactly one does.
pub fn races_for_a_name(shared: &Arc<dyn Shared>, folder: &str) {
    let name = format!("{folder}/races/name");
    let mut old: Option<Vec<u8>> = None;
    for round in 0..RACES {
        let winners = race(|writer| {
            let new = format!("value {round} of writer {writer}").into_bytes();
            let swapped = settle::swap(&**shared, &name, old.as_deref(), &new).expect("a swap");
            (swapped == Swapped::Done).then_some(new)
        });
        let [winner] = &winners[..] else { panic!("round {round} has {} winners", winners.len()) };
        assert_eq!(shared.value(&name).expect("a read").as_ref(), Some(winner));
        old = Some(winner.clone());
    }
}

/// What each writer brings back of those that start at once.
fn race<T: Send>(run: impl Fn(usize) -> Option<T> + Sync) -> Vec<T> {
    let start = Barrier::new(WRITERS);
    thread::scope(|scope| {
        let writer = |writer| {
            let (run, start) = (&run, &start);
            scope.spawn(move || {
                start.wait();
                run(writer)
            })
        };
        let writers: Vec<_> = (0..WRITERS).map(writer).collect();
        writers.into_iter().filter_map(|writer| writer.join().expect("a writer")).collect()
    })
}

/// What each node said last is there, until it is forgotten, and again when it says something.
pub fn beats(shared: &dyn Shared, folder: &str) {
    let node = |number: u8| format!("{}-{number}", folder.replace('/', "-"));
    for (number, beat) in [(0, "1"), (1, "7"), (0, "2")] {
        shared.beat(&node(number), beat.as_bytes()).expect("a beat");
    }
    let beats = shared.beats().expect("the beats");
    let of = |number| beats.iter().find(|(name, _)| *name == node(number)).map(|(_, beat)| beat.as_slice());
    assert_eq!((of(0), of(1), of(2)), (Some(&b"2"[..]), Some(&b"7"[..]), None));
    assert!(beats.is_sorted(), "in the order of their names");
    let is_there = || shared.beats().expect("the beats").iter().any(|(name, _)| *name == node(0));
    for _ in 0..2 {
        shared.forget(&node(0)).expect("it may be forgotten twice");
        assert!(!is_there());
    }
    shared.beat(&node(0), b"3").expect("a beat");
    assert!(is_there());
}

/// Appends and swaps whose answers are lost, or which were never made, come to the right end, by the back end's own reads.
pub fn unknown(shared: &Arc<dyn Shared>, folder: &str) {
    let journal = format!("{folder}/unknown");
    let net = Net::new(shared.clone());
    let faults = FaultRates { lost: 250, unanswered: 250, ..FaultRates::default() };
    let link = net.link(faults, Seed::new(11), None);
    let (unknowns, mut value) = (AtomicUsize::new(0), None::<Vec<u8>>);
    let again = |settled: &dyn Fn() -> bool| {
        while !settled() {
            unknowns.fetch_add(1, Ordering::Relaxed);
        }
    };
    for seq in (0..25).map(Seq) {
        let row = format!("row {seq}").into_bytes();
        again(&|| match settle::append(&*link, &journal, seq, &row) {
            Ok(created) => created == Created::Done || panic!("row {seq} was taken by somebody: {created:?}"),
            Err(error) => !error.is_unknown() && panic!("{error}"),
        });
        assert_eq!(shared.row(&journal, seq).expect("a read"), Some(row.clone()));
        let other = settle::append(&**shared, &journal, seq, b"another").expect("an append");
        assert_eq!(other, Created::Taken(row.clone()));
        again(&|| match settle::swap(&*link, &journal, value.as_deref(), &row) {
            Ok(swapped) => swapped == Swapped::Done || panic!("value {seq} was given by somebody"),
            Err(error) => !error.is_unknown() && panic!("{error}"),
        });
        assert_eq!(shared.value(&journal).expect("a read").as_ref(), Some(&row));
        value = Some(row);
    }
    assert!(unknowns.into_inner() > 0, "no outcome was unknown for longer than all attempts of one call");
}

/// A node whose log has ten frames of one byte, and one segment.
struct TestDisk;

impl Local for TestDisk {
    fn log(&self, from: u64, _max: usize) -> io::Result<Option<LogRun>> {
        let bytes = (from..10).map(|frame| frame as u8).collect();
        let frames = Frames { first: from, end: 10 };
        Ok((from < 10).then_some(LogRun { frames, file: 1, at: from, bytes }))
    }

    fn segment(&self, key: &str) -> io::Result<Box<dyn Read + '_>> {
        assert_eq!(key, "2026-W47/000000000001.seg");
        Ok(Box::new(io::repeat(7).take(600_000)))
    }
}

/// A shard that nobody ever had is taken, written, and taken from its owner, which learns of it.
pub fn ownership(shared: &Arc<dyn Shared>, shard: &Shard) {
    let take = |node| Owner::take(shared.clone(), shard.clone(), node, 1, 0, Settings::default()).expect("a takeover");
    let mut first = take("node-1");
    first.advance(Duration::ZERO, &TestDisk).expect("a commit");
    assert_eq!(first.durable(), 10);
    let segments = vec!["2026-W47/000000000001.seg".to_owned()];
    first.change(Plan { segments, flushed: vec![(Epoch(1), 6)], catalogue: vec![1; 100_000], ..Plan::default() });
    first.advance(Duration::from_secs(1), &TestDisk).expect("a flush");

    let mut second = take("node-2");
    assert_eq!(second.epoch(), Epoch(2));
    let image = second.read_image(&mut ()).expect("the journal").clone();
    let position = &image.positions()[&Epoch(1)];
    assert_eq!(position.tail(), Some(Frames { first: 6, end: 10 }));
    let run = read_whole(&**shared, shard, &position.runs[0].object).expect("the log");
    assert_eq!(run, (0..10).collect::<Vec<u8>>());
    let segment = image.segments().values().next().expect("a segment");
    assert_eq!(read_whole(&**shared, shard, segment).expect("the segment"), vec![7; 600_000]);
    let mut part = [0; 2];
    read_at(&**shared, shard, segment, 262_143, &mut part).expect("bytes of two pieces");
    assert_eq!(part, [7, 7]);

    first.change(Plan::default());
    let error = first.advance(Duration::from_secs(2), &TestDisk).expect_err("it has a successor");
    assert!(matches!(error, Error::Taken { epoch: Epoch(2), .. }), "{error}");
    assert_eq!(Image::read(&**shared, shard, &mut ()).expect("the journal"), image);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::Memory;

    #[test]
    fn the_twin_keeps_every_promise() {
        let shared: Arc<dyn Shared> = Arc::new(Memory::default());
        all(&shared, "conformance/0");
        all(&shared, "conformance/1");
        ownership(&shared, &Shard::new(4, 'a').expect("a shard"));
    }

    /// A store whose creation looks and then writes, as one without conditions would.
    #[derive(Debug, Default)]
    struct Careless(Memory, std::sync::Mutex<std::collections::BTreeMap<u64, Vec<u8>>>);

    impl Shared for Careless {
        fn create(&self, _journal: &str, seq: Seq, row: &[u8]) -> crate::Result<Created> {
            let found = self.1.lock().expect("a lock").get(&seq.0).cloned();
            thread::sleep(Duration::from_millis(2));
            if let Some(found) = found {
                return Ok(Created::Taken(found));
            }
            self.1.lock().expect("a lock").insert(seq.0, row.to_vec());
            Ok(Created::Done)
        }

        fn row(&self, _journal: &str, seq: Seq) -> crate::Result<Option<Vec<u8>>> {
            Ok(self.1.lock().expect("a lock").get(&seq.0).cloned())
        }

        fn put(&self, key: &str, bytes: &[u8]) -> crate::Result<()> {
            self.0.put(key, bytes)
        }
        fn get(&self, key: &str, range: std::ops::Range<u64>) -> crate::Result<Option<Vec<u8>>> {
            self.0.get(key, range)
        }
        fn len(&self, key: &str) -> crate::Result<Option<u64>> {
            self.0.len(key)
        }
        fn remove(&self, key: &str) -> crate::Result<()> {
            self.0.remove(key)
        }
        fn list(&self, prefix: &str, after: &str, max: usize) -> crate::Result<Vec<String>> {
            self.0.list(prefix, after, max)
        }
        fn value(&self, name: &str) -> crate::Result<Option<Vec<u8>>> {
            self.0.value(name)
        }
        fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> crate::Result<Swapped> {
            self.0.swap(name, old, new)
        }
        fn beat(&self, node: &str, beat: &[u8]) -> crate::Result<()> {
            self.0.beat(node, beat)
        }
        fn forget(&self, node: &str) -> crate::Result<()> {
            self.0.forget(node)
        }
        fn beats(&self) -> crate::Result<Vec<(String, Vec<u8>)>> {
            self.0.beats()
        }
    }

    #[test]
    #[should_panic(expected = "writers")]
    fn a_store_without_conditions_is_found_out() {
        let shared: Arc<dyn Shared> = Arc::new(Careless::default());
        races_for_a_row(&shared, "conformance/2");
    }
}
