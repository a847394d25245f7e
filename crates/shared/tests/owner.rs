//! What an owner does in single cases: cut off and back, replaced in its sleep, with frames longer than pieces, and what becomes of what
//! it put for nothing.

use std::{
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

use shared::{
    Epoch, Error, Frames, Image, Local, LogRun, Orphans, Owner, OwnerStanding, Part, Plan, Settings, Shard, Shared,
    Wanted, read_whole,
    twin::{FaultRates, Link, Memory, Net, Seed},
};

/// A log of frames of 1000 bytes, of which so many are synced, and a segment of any key.
struct Disk {
    frames: u64,
}

impl Local for Disk {
    fn log(&self, from: u64, _max: usize) -> io::Result<Option<LogRun>> {
        let bytes = (from..self.frames).flat_map(|frame| [frame as u8; 1000]).collect();
        let frames = Frames { first: from, end: self.frames };
        Ok((from < self.frames).then_some(LogRun { frames, file: 1, at: from * 1000, bytes }))
    }

    fn segment(&self, key: &str) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(io::Cursor::new(key.as_bytes().to_vec())))
    }
}

struct Cluster {
    memory: Arc<Memory>,
    net: Arc<Net>,
    shard: Shard,
}

impl Cluster {
    fn new() -> Cluster {
        let memory = Arc::new(Memory::default());
        Cluster { net: Net::new(memory.clone()), memory, shard: Shard::new(3, 'a').unwrap() }
    }

    /// A new owner, and its link.
    fn owner(&self, settings: Settings) -> (Owner, Arc<Link>) {
        let link = self.net.link(FaultRates::default(), Seed::new(0), None);
        let owner = Owner::take(link.clone(), self.shard.clone(), "node", 1, 0, settings).unwrap();
        (owner, link)
    }

    fn keys(&self, kind: &str) -> Vec<String> {
        self.memory.list(&format!("{}/{kind}/", self.shard), "", 1000).unwrap()
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_owner_that_is_cut_off_says_since_when_and_ships_in_order_when_it_is_back() {
    let cluster = Cluster::new();
    let (mut owner, link) = cluster.owner(Settings::default());
    owner.read_image(&mut ()).unwrap();
    owner.advance(SECOND, &Disk { frames: 3 }).unwrap();
    assert_eq!(owner.durable(), 3);

    link.cut(1000);
    for (second, key) in [(10, "first.seg"), (11, "second.seg")] {
        let flushed = vec![(Epoch(1), second - 5)];
        owner.change(Plan { segments: vec![key.into()], flushed, ..Plan::default() });
        let error = owner.advance(SECOND * second as u32, &Disk { frames: 9 }).unwrap_err();
        assert!(error.is_unknown(), "{error}");
        assert_eq!(owner.standing(), OwnerStanding::Detached { since: SECOND * 10 });
    }
    assert_eq!((owner.durable(), owner.waiting()), (3, 2), "nothing passed");

    link.set(FaultRates::default());
    owner.advance(SECOND * 20, &Disk { frames: 9 }).unwrap();
    assert_eq!((owner.standing(), owner.durable(), owner.waiting()), (OwnerStanding::Owning, 9, 0));
    let image = Image::read(&*cluster.memory, &cluster.shard, &mut ()).unwrap();
    assert_eq!(Some(&image), owner.image());
    let keys: Vec<&str> = image.segments().keys().map(String::as_str).collect();
    assert_eq!(keys, ["seg/0000000000000001/first.seg", "seg/0000000000000001/second.seg"]);
    assert_eq!(image.positions()[&Epoch(1)].tail(), Some(Frames { first: 6, end: 9 }));
}

#[test]
fn a_commit_comes_once_a_second_and_has_all_that_was_synced_by_then() {
    let cluster = Cluster::new();
    let (mut owner, _) = cluster.owner(Settings::default());
    let rows = || cluster.memory.journal(cluster.shard.journal()).len();
    let mut commits = Vec::new();
    for step in 0..20u32 {
        let before = rows();
        owner.advance(SECOND * step / 4, &Disk { frames: u64::from(step) + 1 }).unwrap();
        commits.extend((rows() > before).then_some((step, owner.durable())));
    }
    assert_eq!(commits, [(0, 1), (4, 5), (8, 9), (12, 13), (16, 17)]);
}

#[test]
fn an_owner_that_slept_through_its_replacement_hands_over_what_no_row_covers_once() {
    let cluster = Cluster::new();
    let (mut sleeper, _) = cluster.owner(Settings::default());
    sleeper.advance(SECOND, &Disk { frames: 3 }).unwrap();

    let (mut next, _) = cluster.owner(Settings::default());
    next.read_image(&mut ()).unwrap();
    let error = sleeper.advance(SECOND * 60, &Disk { frames: 8 }).unwrap_err();
    assert!(matches!(error, Error::Taken { epoch: Epoch(2), .. }), "{error}");
    let error = sleeper.advance(SECOND * 61, &Disk { frames: 8 }).unwrap_err();
    assert!(matches!(error, Error::Taken { epoch: Epoch(2), .. }), "it stays so: {error}");
    let part = sleeper.left_over(8).unwrap();
    assert_eq!((part.name(), sleeper.left_over(3)), ("3.a/1/3..8".into(), None));

    assert_eq!(next.wanted(&part).unwrap(), Wanted::NotYet(0), "what was committed comes first");
    let taken = |end| Plan { segments: vec![format!("{end}.seg")], flushed: vec![(Epoch(1), end)], ..Plan::default() };
    next.change(taken(3));
    next.advance(SECOND, &Disk { frames: 0 }).unwrap();
    assert_eq!(next.wanted(&part).unwrap(), Wanted::Frames(Frames { first: 3, end: 8 }));
    next.change(taken(8));
    assert_eq!(next.wanted(&part).unwrap(), Wanted::NotYet(3), "while it is on its way");
    next.advance(SECOND, &Disk { frames: 0 }).unwrap();
    assert_eq!(next.wanted(&part).unwrap(), Wanted::Nothing);
    let more = Part { frames: Frames { first: 3, end: 9 }, ..part };
    assert_eq!(next.wanted(&more).unwrap(), Wanted::Frames(Frames { first: 8, end: 9 }), "only what is new");
    assert!(next.wanted(&Part { epoch: Epoch(2), ..more }).is_err(), "of an epoch that has not ended");
}

#[test]
fn frames_longer_than_a_piece_and_bodies_longer_than_a_row_lie_in_pieces() {
    let cluster = Cluster::new();
    let (mut owner, _) = cluster.owner(Settings { piece: 400, ..Settings::default() });
    owner.read_image(&mut ()).unwrap();
    owner.advance(SECOND, &Disk { frames: 2 }).unwrap();
    assert_eq!(cluster.keys("log").len(), 5, "2000 bytes in pieces of 400");
    owner.change(Plan { catalogue: vec![7; 40_000], ..Plan::default() });
    owner.change(Plan { catalogue: vec![8; 30_000], ..Plan::default() });
    owner.advance(SECOND, &Disk { frames: 2 }).unwrap();
    assert_eq!(cluster.keys("body").len(), 101, "40,000 bytes and some beside the journal, 30,000 within");
    let image = Image::read(&*cluster.memory, &cluster.shard, &mut ()).unwrap();
    let run = &image.positions()[&Epoch(1)].runs[0];
    let bytes = read_whole(&*cluster.memory, &cluster.shard, &run.object).unwrap();
    assert_eq!(bytes, [[0; 1000], [1; 1000]].concat());
}

#[test]
fn log_that_is_in_segments_and_segments_that_were_merged_are_removed_behind_the_row() {
    let cluster = Cluster::new();
    let (mut owner, _) = cluster.owner(Settings::default());
    owner.read_image(&mut ()).unwrap();
    owner.advance(SECOND, &Disk { frames: 2 }).unwrap();
    assert_eq!(cluster.keys("log").len(), 1);
    for (key, end) in [("a.seg", 1), ("b.seg", 2)] {
        owner.change(Plan { segments: vec![key.into()], flushed: vec![(Epoch(1), end)], ..Plan::default() });
        owner.advance(SECOND, &Disk { frames: 2 }).unwrap();
    }
    assert_eq!((cluster.keys("log").len(), cluster.keys("seg").len()), (0, 2));
    let removed = owner.image().unwrap().segments().keys().cloned().collect();
    owner.change(Plan { segments: vec!["ab.seg".into()], removed, ..Plan::default() });
    owner.advance(SECOND, &Disk { frames: 2 }).unwrap();
    assert_eq!(cluster.keys("seg"), ["3.a/seg/0000000000000001/ab.seg/000000"]);
}

#[test]
fn a_segment_of_an_epoch_before_that_was_merged_stays_for_answers_that_read_it() {
    struct Reading {
        is_on: std::cell::Cell<bool>,
    }
    impl Local for Reading {
        fn log(&self, _: u64, _: usize) -> io::Result<Option<LogRun>> {
            Ok(None)
        }

        fn segment(&self, key: &str) -> io::Result<Box<dyn Read + '_>> {
            Ok(Box::new(io::Cursor::new(key.as_bytes().to_vec())))
        }

        fn is_read(&self, key: &str) -> bool {
            self.is_on.get() && key == "seg/0000000000000001/a.seg"
        }
    }
    let (cluster, local) = (Cluster::new(), Reading { is_on: true.into() });
    let (mut first, _) = cluster.owner(Settings::default());
    first.read_image(&mut ()).unwrap();
    first.change(Plan { segments: vec!["a.seg".into(), "b.seg".into()], ..Plan::default() });
    first.advance(SECOND, &local).unwrap();

    let (mut second, link) = cluster.owner(Settings::default());
    second.read_image(&mut ()).unwrap();
    let removed = second.image().unwrap().segments().keys().cloned().collect();
    second.change(Plan { segments: vec!["ab.seg".into()], removed, ..Plan::default() });
    second.advance(SECOND, &local).unwrap();
    assert_eq!(cluster.keys("seg").len(), 3, "whoever owned the shard before may read them");
    second.advance(600 * SECOND, &local).unwrap();
    assert_eq!(cluster.keys("seg").len(), 3);
    link.cut(1000);
    second.advance(601 * SECOND, &local).unwrap();
    assert_eq!(cluster.keys("seg").len(), 3, "no answer came");
    link.set(FaultRates::default());
    second.advance(602 * SECOND, &local).unwrap();
    let ours = "3.a/seg/0000000000000002/ab.seg/000000";
    assert_eq!(cluster.keys("seg"), ["3.a/seg/0000000000000001/a.seg/000000", ours], "one is read here");
    local.is_on.set(false);
    second.advance(603 * SECOND, &local).unwrap();
    assert_eq!(cluster.keys("seg"), [ours]);
}

#[test]
fn copies_of_the_catalogue_and_bodies_before_a_checkpoint_go_after_a_while() {
    let cluster = Cluster::new();
    let (mut owner, _) = cluster.owner(Settings { inline: 100, ..Settings::default() });
    owner.read_image(&mut ()).unwrap();
    for minute in 0..20 {
        let now = 60 * SECOND * minute;
        owner.change(Plan { catalogue: vec![minute as u8; 1000], ..Plan::default() });
        owner.advance(now, &Disk { frames: 0 }).unwrap();
        owner.checkpoint(now, Some(&mut &[minute as u8; 2000][..])).unwrap();
        let image = Image::read(&*cluster.memory, &cluster.shard, &mut Catalogue(minute as u8)).unwrap();
        assert_eq!(image.changes(), 0);
    }
    // The last copy is named; what the last ten minutes have replaced waits, from the turn on that came behind its checkpoint.
    assert_eq!((cluster.keys("image").len(), cluster.keys("body").len()), (12, 11));
    for now in [1200 * SECOND, 1800 * SECOND] {
        owner.advance(now, &Disk { frames: 0 }).unwrap();
    }
    assert_eq!((cluster.keys("image").len(), cluster.keys("body").len()), (1, 0));
}

/// Expects a copy of these bytes.
struct Catalogue(u8);

impl shared::Catalogue for Catalogue {
    fn restore(&mut self, copy: Option<&mut dyn Read>) -> io::Result<()> {
        let mut bytes = Vec::new();
        copy.expect("a copy").read_to_end(&mut bytes)?;
        assert_eq!(bytes, [self.0; 2000]);
        Ok(())
    }

    fn apply(&mut self, _: shared::Seq, _: &[u8]) -> io::Result<()> {
        unreachable!("the copy has all changes")
    }
}

#[test]
fn orphans_of_older_epochs_go_after_a_day_and_all_else_stays() {
    let cluster = Cluster::new();
    let (mut first, link) = cluster.owner(Settings::default());
    first.read_image(&mut ()).unwrap();
    first.advance(SECOND, &Disk { frames: 2 }).unwrap();
    // It puts more of its log, and dies before the commit.
    assert!(first.advance(SECOND + SECOND / 2, &Disk { frames: 5 }).is_ok());
    link.kill();
    assert_eq!(cluster.keys("log").len(), 2);

    let (mut second, _) = cluster.owner(Settings::default());
    second.read_image(&mut ()).unwrap();
    second.advance(SECOND, &Disk { frames: 1 }).unwrap();
    // Put, and not committed yet.
    second.advance(SECOND + SECOND / 2, &Disk { frames: 3 }).unwrap();
    let day = Duration::from_secs(24 * 3600);
    let mut orphans = Orphans::default();
    let mut sweep = |now| {
        let swept = orphans.sweep(&second.inventory().unwrap(), now, &|_| false, &|| true).unwrap();
        (swept.kept, swept.waiting, swept.removed)
    };
    assert_eq!(sweep(Duration::ZERO), (3, 1, 0));
    assert_eq!(sweep(day - SECOND), (3, 1, 0));
    assert_eq!(sweep(day), (3, 0, 1));
    assert_eq!(sweep(day * 2), (3, 0, 0));
    second.advance(day * 2, &Disk { frames: 3 }).unwrap();
    let image = Image::read(&*cluster.memory, &cluster.shard, &mut ()).unwrap();
    for run in image.positions().values().flat_map(|position| &position.runs) {
        read_whole(&*cluster.memory, &cluster.shard, &run.object).expect("what is named is there");
    }
    assert_eq!(image.positions()[&Epoch(2)].durable(), 3);
}

#[test]
fn a_taker_reads_from_the_newest_checkpoint_on() {
    let cluster = Cluster::new();
    let (mut owner, _) = cluster.owner(Settings { changes_per_checkpoint: 10, ..Settings::default() });
    owner.read_image(&mut ()).unwrap();
    let mut checkpoints = 0;
    for change in 0..55u64 {
        owner.change(Plan { catalogue: change.to_le_bytes().to_vec(), ..Plan::default() });
        owner.advance(SECOND, &Disk { frames: 0 }).unwrap();
        if owner.checkpoint_is_due() {
            owner.checkpoint(SECOND, Some(&mut format!("{change}").as_bytes())).unwrap();
            checkpoints += 1;
        }
    }
    assert_eq!(checkpoints, 5);

    struct Taken(String, u64);
    impl shared::Catalogue for Taken {
        fn restore(&mut self, copy: Option<&mut dyn Read>) -> io::Result<()> {
            copy.expect("a copy").read_to_string(&mut self.0).map(drop)
        }
        fn apply(&mut self, _seq: shared::Seq, _change: &[u8]) -> io::Result<()> {
            self.1 += 1;
            Ok(())
        }
    }
    let mut taken = Taken(String::new(), 0);
    let image = Image::read(&*cluster.memory, &cluster.shard, &mut taken).unwrap();
    assert_eq!((taken.0.as_str(), taken.1), ("49", 5), "the copy of the 50th change, and the five behind it");
    assert_eq!(Some(&image), owner.image());
}

#[test]
fn a_lease_that_was_lost_does_not_let_an_epoch_begin_twice() {
    let cluster = Cluster::new();
    for epoch in 1..4 {
        assert_eq!(cluster.owner(Settings::default()).0.epoch(), Epoch(epoch));
    }
    // The same journal behind a store of names that was emptied.
    let emptied = Arc::new(Memory::default());
    let journal = cluster.memory.journal(cluster.shard.journal());
    for (seq, row) in journal {
        emptied.create(cluster.shard.journal(), shared::Seq(seq), &row).unwrap();
    }
    let owner = Owner::take(emptied, cluster.shard.clone(), "node", 1, 0, Settings::default()).unwrap();
    assert_eq!(owner.epoch(), Epoch(4));
}

#[test]
fn an_owner_with_a_change_that_no_taker_could_take_gives_up_before_it_is_in_the_journal() {
    let wrong = [
        Plan { removed: vec!["seg/not-there.seg".into()], ..Plan::default() },
        Plan { removed: vec!["../elsewhere".into()], ..Plan::default() },
        Plan { flushed: vec![(Epoch(7), 1)], ..Plan::default() },
    ];
    for plan in wrong {
        let cluster = Cluster::new();
        let (mut owner, _) = cluster.owner(Settings::default());
        owner.read_image(&mut ()).unwrap();
        let words = format!("{plan:?}");
        owner.change(plan);
        let error = owner.advance(SECOND, &Disk { frames: 0 }).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{words}: {error}");
        assert!(owner.refused().is_some(), "{words}");
        assert_eq!(owner.waiting(), 1, "{words}: no journal has it");
        // What comes behind it was made of a catalogue that has it: nothing of that is journalled.
        owner.change(Plan { segments: vec!["a.seg".into()], ..Plan::default() });
        let error = owner.advance(SECOND, &Disk { frames: 3 }).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{words}: {error}");
        let image = Image::read(&*cluster.memory, &cluster.shard, &mut ()).unwrap();
        assert_eq!((image.next(), image.segments().len()), (shared::Seq(1), 0), "the seal alone");
        assert!(owner.left_over(3).is_some(), "what is in its log is handed over");
    }
}
