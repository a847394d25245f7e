//! A node: it takes the shard, records, ships, flushes, merges, hands over, dies and starts again, as a seed says.

use std::{
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

use shared::{
    Catalogue, Epoch, Error, Frames, Image, Orphans, Owner, OwnerStanding, Part, Plan, Seq, Settings, Shared, Wanted,
    read_whole,
    twin::{FaultRates, Link, Seed},
};

use crate::sim::{
    World,
    disk::{Disk, Frame, Log, Seen},
    oracle::{Violation, walk},
};

/// How often a node does something.
const ROUNDS: u64 = 40;

/// Small enough that bodies lie apart, objects have several pieces, and checkpoints come.
const SETTINGS: Settings = Settings {
    piece: 64,
    inline: 300,
    run: 120,
    commit_every: Duration::ZERO,
    changes_per_checkpoint: 4,
    rows_per_checkpoint: 12,
    keep_unnamed: Duration::ZERO,
};

/// The transactions that a catalogue has taken.
#[derive(Clone, Debug, Default)]
struct Changes(Vec<(Epoch, u64)>);

impl Changes {
    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|(epoch, number)| change(*epoch, *number)).collect()
    }
}

fn change(epoch: Epoch, number: u64) -> Vec<u8> {
    [epoch.0.to_le_bytes(), number.to_le_bytes()].concat()
}

impl Catalogue for Changes {
    fn restore(&mut self, copy: Option<&mut dyn Read>) -> io::Result<()> {
        self.0.clear();
        let mut bytes = Vec::new();
        if let Some(copy) = copy {
            copy.read_to_end(&mut bytes)?;
        }
        bytes.chunks(16).try_for_each(|change| self.apply(Seq(0), change))
    }

    fn apply(&mut self, _seq: Seq, change: &[u8]) -> io::Result<()> {
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).map_err(io::Error::other);
        let (epoch, behind) = change.split_at_checked(8).ok_or(io::ErrorKind::InvalidData)?;
        self.0.push((Epoch(number(epoch)?), number(behind)?));
        Ok(())
    }
}

/// What a node has beside its owner, which goes with it when it dies.
struct Reign {
    owner: Owner,
    catalogue: Changes,
    /// Transactions that were given to the owner, and of these how many the catalogue has.
    given: u64,
    applied: u64,
    /// Own frames below are in segments of this node.
    flushed: u64,
    segments: u64,
}

pub(crate) struct Node {
    number: usize,
    seed: Seed,
    incarnation: u64,
    now: Duration,
    disk: Disk,
    link: Arc<Link>,
    shared: Arc<dyn Shared>,
    reign: Option<Reign>,
    orphans: Orphans,
}

impl Node {
    pub(crate) fn new(number: usize, world: &World, mut seed: Seed) -> Node {
        let link = world.net.link(FaultRates::default(), Seed::new(seed.number()), None);
        let shared = world.seen_through(link.clone());
        let (disk, now) = (Disk::default(), Duration::from_secs(seed.below(1000)));
        let orphans = Orphans::default();
        Node { number, seed, incarnation: 0, now, disk, link, shared, reign: None, orphans }
    }

    /// Starts, with a link of its own.
    pub(crate) fn begin_with(&mut self, world: &World, faults: FaultRates) {
        self.incarnation += 1;
        let turn = (self.number < super::NODES).then(|| world.turns.turn(self.number));
        self.link = world.net.link(faults, Seed::new(self.seed.number()), turn);
        self.shared = world.seen_through(self.link.clone());
        self.reign = None;
        self.orphans = Orphans::default();
    }

    /// What goes wrong in a life: in some of them much, in some nothing.
    fn faults(&mut self) -> FaultRates {
        let mut often = |most: u64| self.seed.below(most + 1) as u32;
        match often(3) {
            0 => FaultRates { dies: 5, ..FaultRates::default() },
            1 => FaultRates { cut: often(40), cut_len: 40, dies: often(5), ..FaultRates::default() },
            _ => FaultRates {
                lost: often(80),
                unanswered: often(80),
                late: often(80),
                cut: often(10),
                cut_len: 25,
                dies: often(6),
            },
        }
    }

    /// The life of the node in a schedule.
    pub(crate) fn run(&mut self, world: &World) -> Result<(), Violation> {
        let _leave = world.turns.join(self.number);
        let faults = self.faults();
        self.begin_with(world, faults);
        for _ in 0..ROUNDS {
            let result = self.round(world);
            self.tell(world);
            if self.link.is_dead() {
                self.die(world);
            }
            result?;
        }
        // What is left is told by its disk, as if it died here.
        self.disk.crash();
        Ok(())
    }

    fn die(&mut self, world: &World) {
        self.disk.crash();
        world.oracle().counts.deaths += 1;
        if self.seed.happens(150) {
            self.disk = Disk::default();
            world.oracle().counts.lost_disks += 1;
        }
        let faults = self.faults();
        self.begin_with(world, faults);
    }

    fn round(&mut self, world: &World) -> Result<(), Violation> {
        let most = if self.seed.happens(100) { 100_000 } else { 10 };
        self.now += Duration::from_secs(self.seed.below(most));
        let choice = self.seed.below(100);
        if self.reign.is_none() {
            return match choice {
                0..20 => self.take(world),
                20..60 => self.offer_old_logs(world),
                60..80 => self.read(world),
                _ => self.pass_a_call(),
            };
        }
        self.record(world);
        match choice {
            0..45 => self.advance(world),
            45..58 => self.flush(world),
            58..66 => self.replay(world),
            66..74 => self.take_part(world),
            74..82 => self.merge(world),
            82..90 => self.checkpoint(world),
            90..94 => self.sweep(world),
            94..97 => self.read(world),
            _ => self.take(world), // a node that has forgotten that it owns the shard
        }
    }

    /// A call of no consequence, so that others have their turn.
    fn pass_a_call(&mut self) -> Result<(), Violation> {
        let node = format!("node-{}", self.number);
        harmless(self.shared.beat(&node, &self.incarnation.to_le_bytes())).map(drop)
    }

    fn take(&mut self, world: &World) -> Result<(), Violation> {
        let first = self.seed.below(5) * 100;
        let node = format!("node-{}", self.number);
        let taken = Owner::take(self.shared.clone(), world.shard.clone(), &node, self.incarnation, first, SETTINGS);
        if let Err(Error::Taken { .. }) = &taken {
            world.oracle().counts.contended += 1;
        }
        let Some(owner) = harmless(taken)? else { return Ok(()) };
        self.leave(world);
        world.oracle().begins(owner.epoch(), first);
        self.disk.logs.insert(owner.epoch(), Log::new(first));
        let catalogue = Changes::default();
        self.reign = Some(Reign { owner, catalogue, given: 0, applied: 0, flushed: first, segments: 0 });
        Ok(())
    }

    /// Appends some frames to the log, and syncs some.
    fn record(&mut self, world: &World) {
        let Some(Reign { owner, .. }) = &self.reign else { return };
        let log = self.disk.logs.get_mut(&owner.epoch()).expect("the log of the epoch");
        if matches!(owner.standing(), OwnerStanding::Taken { .. }) {
            return;
        }
        for _ in 0..self.seed.below(4) {
            let frame = world.oracle().record(owner.epoch(), log.end());
            log.push(frame);
        }
        if self.seed.happens(600) {
            log.synced = log.end();
        }
        if self.seed.happens(100) {
            log.begin_file();
        }
    }

    fn advance(&mut self, world: &World) -> Result<(), Violation> {
        let Some(reign) = &mut self.reign else { return Ok(()) };
        let before = reign.owner.standing();
        let epoch = reign.owner.epoch();
        let result = reign.owner.advance(self.now, &Seen { disk: &self.disk, epoch });
        let detached = |standing| matches!(standing, OwnerStanding::Detached { .. });
        let after = reign.owner.standing();
        world.oracle().counts.detached += u64::from(!detached(before) && detached(after));
        world.oracle().counts.shipped += u64::from(detached(before) && after == OwnerStanding::Owning);
        harmless(result).map(drop)
    }

    /// Takes note of what the owner knows, whatever it did: what is durable, what is journalled, and whether it is replaced.
    fn tell(&mut self, world: &World) {
        let Some(reign) = &mut self.reign else { return };
        let epoch = reign.owner.epoch();
        if self.link.is_dead() {
            return; // who is dead tells nothing
        }
        world.oracle().durable(epoch, reign.owner.durable());
        let known = reign.given - reign.owner.waiting() as u64;
        world.oracle().journalled(epoch, known);
        if reign.owner.image().is_some() {
            reign.catalogue.0.extend((reign.applied..known).map(|number| (epoch, number)));
            reign.applied = known;
        }
        // The log keeps what no row covers, and what is to be flushed from it.
        let kept = reign.owner.durable().min(reign.flushed);
        self.disk.logs.get_mut(&epoch).expect("the log of the epoch").forget(kept);
        if matches!(reign.owner.standing(), OwnerStanding::Taken { .. }) {
            world.oracle().counts.fenced += 1;
            self.leave(world);
        }
    }

    /// Ends to own the shard, and offers what no row covers.
    fn leave(&mut self, world: &World) {
        let Some(Reign { owner, .. }) = self.reign.take() else { return };
        let log = &self.disk.logs[&owner.epoch()];
        if let Some(part) = owner.left_over(log.end()) {
            let frames = log.frames(part.frames);
            world.oracle().offer(part, frames);
        }
    }

    /// A node that was started again offers what lies on its disk of epochs that are over.
    fn offer_old_logs(&mut self, world: &World) -> Result<(), Violation> {
        let Some(image) = self.image(world)? else { return Ok(()) };
        for (epoch, log) in self.disk.logs.iter().filter(|(epoch, _)| **epoch < image.epoch()) {
            let part = Part::of_old_log(&image, &world.shard, *epoch, log.end()).map_err(|error| error.to_string())?;
            if let Some(part) = part {
                let frames = log.frames(part.frames);
                world.oracle().offer(part, frames);
            }
        }
        Ok(())
    }

    /// The journal as it is now, if it can be read: what it names may be gone when it is asked for, as others go on meanwhile.
    fn image(&mut self, world: &World) -> Result<Option<Image>, Violation> {
        for _ in 0..20 {
            match Image::read(&*self.shared, &world.shard, &mut ()) {
                Err(Error::Damaged { .. }) => {}
                other => return harmless(other),
            }
        }
        Ok(None)
    }

    /// Reads all that is durable, as a node that owns nothing would for a client.
    fn read(&mut self, world: &World) -> Result<(), Violation> {
        let promised = world.oracle().promised();
        for _ in 0..20 {
            let Some(image) = self.image(world)? else { return Ok(()) };
            match self.read_all(world, &image) {
                // Others have merged, flushed or removed what this image still names.
                Err(Error::Damaged { .. }) => {}
                Err(_) => return Ok(()),
                Ok(frames) => {
                    world.oracle().counts.readings += 1;
                    return world.oracle().judge(&frames, &promised);
                }
            }
        }
        Ok(())
    }

    fn read_all(&self, world: &World, image: &Image) -> shared::Result<Vec<Frame>> {
        let mut all = Vec::new();
        for object in image.segments().values() {
            let frames = Frame::all(&read_whole(&*self.shared, &world.shard, object)?);
            assert!(frames.is_sorted_by_key(|frame| (frame.epoch, frame.number)), "a segment is in order");
            all.extend(frames);
        }
        for position in image.positions().values() {
            for run in &position.runs {
                let bytes = read_whole(&*self.shared, &world.shard, &run.object)?;
                all.extend(Frame::all(&bytes).into_iter().filter(|frame| frame.number >= position.flushed));
            }
        }
        all.sort_by_key(|frame| (frame.epoch, frame.number));
        Ok(all)
    }

    fn flush(&mut self, world: &World) -> Result<(), Violation> {
        let Some(reign) = &mut self.reign else { return Ok(()) };
        let epoch = reign.owner.epoch();
        let log = &self.disk.logs[&epoch];
        let from = reign.flushed;
        if from < log.synced {
            let frames = log.frames(Frames { first: from, end: log.synced });
            reign.flushed = log.synced;
            reign.plan(&mut self.disk, &frames, vec![(epoch, reign.flushed)], Vec::new());
            world.oracle().counts.flushes += 1;
        }
        self.advance(world)
    }

    /// Reads the journal if that was not done yet, and brings what was committed by owners before into segments.
    fn replay(&mut self, world: &World) -> Result<(), Violation> {
        self.advance(world)?;
        let Some(reign) = &mut self.reign else { return Ok(()) };
        if reign.owner.image().is_none() {
            reign.applied = reign.given - reign.owner.waiting() as u64;
            let read = reign.owner.read_image(&mut reign.catalogue).map(drop);
            return unless_replaced(world, reign.owner.epoch(), read);
        }
        if !reign.owner.is_quiet() {
            return Ok(());
        }
        let image = reign.owner.image().expect("it was read").clone();
        let old = image.positions().range(..reign.owner.epoch());
        let Some((epoch, position, tail)) = old.filter_map(|(epoch, p)| Some((*epoch, p, p.tail()?))).next() else {
            return Ok(());
        };
        let mut frames = Vec::new();
        for run in &position.runs {
            match read_whole(&*self.shared, &world.shard, &run.object) {
                Ok(bytes) => frames.extend(Frame::all(&bytes).into_iter().filter(|frame| frame.number >= tail.first)),
                Err(error) => return unless_replaced(world, reign.owner.epoch(), Err(error)),
            }
        }
        reign.plan(&mut self.disk, &frames, vec![(epoch, tail.end)], Vec::new());
        world.oracle().counts.replayed += 1;
        self.advance(world)
    }

    /// Takes a part that some node offers.
    fn take_part(&mut self, world: &World) -> Result<(), Violation> {
        let Some(reign) = &mut self.reign else { return Ok(()) };
        if let Some((part, wanted)) = wanted_part(world, &reign.owner)? {
            let frames = world.oracle().parts[&part].clone();
            let frames: Vec<Frame> = frames.into_iter().filter(|frame| frame.number >= wanted.first).collect();
            reign.plan(&mut self.disk, &frames, vec![(part.epoch, wanted.end)], Vec::new());
            world.oracle().counts.taken += 1;
        }
        self.advance(world)
    }

    /// Makes one segment of two.
    fn merge(&mut self, world: &World) -> Result<(), Violation> {
        let Some(reign) = &mut self.reign else { return Ok(()) };
        let Some(image) = reign.owner.image().filter(|_| reign.owner.is_quiet()) else { return Ok(()) };
        let pair: Vec<_> = image.segments().values().take(2).cloned().collect();
        let mut frames = Vec::new();
        for object in &pair {
            match read_whole(&*self.shared, &world.shard, object) {
                Ok(bytes) => frames.extend(Frame::all(&bytes)),
                Err(error) => return unless_replaced(world, reign.owner.epoch(), Err(error)),
            }
        }
        if pair.len() == 2 {
            frames.sort_by_key(|frame| (frame.epoch, frame.number));
            let removed = pair.into_iter().map(|object| object.key).collect();
            reign.plan(&mut self.disk, &frames, Vec::new(), removed);
            world.oracle().counts.merges += 1;
        }
        self.advance(world)
    }

    fn checkpoint(&mut self, world: &World) -> Result<(), Violation> {
        self.advance(world)?;
        self.tell(world);
        let Some(reign) = &mut self.reign else { return Ok(()) };
        if !reign.owner.checkpoint_is_due() {
            return Ok(());
        }
        let copy = reign.catalogue.bytes();
        let written = harmless(reign.owner.checkpoint(self.now, Some(&mut &copy[..])))?;
        world.oracle().counts.checkpoints += u64::from(written.is_some());
        Ok(())
    }

    fn sweep(&mut self, world: &World) -> Result<(), Violation> {
        let Some(reign) = &self.reign else { return Ok(()) };
        let Some(inventory) = reign.owner.inventory() else { return Ok(()) };
        let swept = harmless(self.orphans.sweep(&inventory, self.now, &|_| false, &|| true))?;
        world.oracle().counts.orphans += swept.map_or(0, |swept| swept.removed);
        Ok(())
    }

    /// When all is over: takes the shard and every part, and reads all of it.
    pub(crate) fn finish(&mut self, world: &World, others: &[Node]) -> Result<(), Violation> {
        self.take(world)?;
        for node in others {
            let again = Node::new(node.number, world, Seed::new(0));
            Node { disk: node.disk.clone(), ..again }.offer_old_logs(world)?;
        }
        // Every frame that is missing comes by one of these, in whatever order they are found.
        self.replay(world)?;
        while !self.idle(world)? {
            let before = world.oracle().counts.clone();
            self.replay(world)?;
            self.take_part(world)?;
            self.tell(world);
            let after = &world.oracle().counts;
            if (before.replayed, before.taken) == (after.replayed, after.taken) {
                return Err("the last owner neither replays nor takes what is left".into());
            }
        }
        self.merge(world)?;
        self.tell(world);
        let reign = self.reign.as_ref().ok_or("the last owner was replaced")?;
        let image = Image::read(&*self.shared, &world.shard, &mut ()).map_err(|error| error.to_string())?;
        if Some(&image) != reign.owner.image() {
            return Err("the image of the owner is not what the journal says".into());
        }
        let frames = self.read_all(world, &image).map_err(|error| error.to_string())?;
        let apart =
            world.memory.list(&format!("{}/body/", world.shard), "", 1000).map_err(|error| error.to_string())?;
        world.oracle().counts.apart += apart.len() as u64;
        let disks: Vec<&Disk> = others.iter().map(|node| &node.disk).collect();
        let oracle = world.oracle();
        oracle.judge(&frames, &oracle.due(&disks))?;
        oracle.judge_catalogue(&reign.catalogue.0)?;
        drop(oracle);
        walk(world)
    }

    /// Whether no part is wanted and no tail is left.
    fn idle(&self, world: &World) -> Result<bool, Violation> {
        let Some(Reign { owner, .. }) = &self.reign else { return Ok(true) };
        let tails = owner.image().into_iter().flat_map(|image| image.positions().values()).any(|p| p.tail().is_some());
        Ok(!tails && wanted_part(world, owner)?.is_none())
    }
}

impl Reign {
    /// Writes frames into a segment on the disk, and gives the owner a transaction with it.
    fn plan(&mut self, disk: &mut Disk, frames: &[Frame], flushed: Vec<(Epoch, u64)>, removed: Vec<String>) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.put(&mut bytes));
        let key = format!("2026-W47/{:012}.seg", self.segments);
        self.segments += 1;
        disk.segments.insert(key.clone(), bytes);
        let catalogue = change(self.owner.epoch(), self.given);
        self.given += 1;
        self.owner.change(Plan { segments: vec![key], removed, flushed, catalogue });
    }
}

/// The first part on offer of which an owner wants frames.
fn wanted_part(world: &World, owner: &Owner) -> Result<Option<(Part, Frames)>, Violation> {
    for part in world.oracle().parts.keys().filter(|part| part.epoch < owner.epoch()) {
        match owner.wanted(part) {
            Ok(Wanted::Frames(frames)) => return Ok(Some((part.clone(), frames))),
            Ok(Wanted::Nothing | Wanted::NotYet(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(None)
}

/// What a node may meet at any time is no violation: no answer, and a successor.
fn harmless<T>(result: shared::Result<T>) -> Result<Option<T>, Violation> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Unknown { .. } | Error::Taken { .. }) => Ok(None),
        Err(other) => Err(other.to_string()),
    }
}

/// What an owner reads may be gone if it has a successor that it does not know of yet; else it has to be there.
fn unless_replaced(world: &World, epoch: Epoch, result: shared::Result<()>) -> Result<(), Violation> {
    match result {
        Err(Error::Damaged { .. } | Error::Local { .. }) => {
            let now = Image::read(&*world.seen_through(world.memory.clone()), &world.shard, &mut ());
            let now = now.map_err(|error| error.to_string())?;
            if now.epoch() > epoch { Ok(()) } else { harmless(result).map(drop) }
        }
        other => harmless(other).map(drop),
    }
}
