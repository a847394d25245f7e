//! The oracle: what was recorded, what its owner was told is durable, and whether a reading is what it has to be.

use std::collections::{BTreeMap, BTreeSet};

use shared::{Entry, Epoch, Part, Row, Seq};

use crate::sim::{
    World,
    disk::{Disk, Frame},
};

/// What went wrong, in words.
pub(crate) type Violation = String;

macro_rules! counts {
    ($($name:ident: $words:literal),* $(,)?) => {
        /// What happened in a schedule, so that a test can see that everything did.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Counts {
            $(pub(crate) $name: u64,)*
        }

        impl Counts {
            pub(crate) fn add(&mut self, other: &Counts) {
                $(self.$name += other.$name;)*
            }

            pub(crate) fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$(($words, self.$name),)*]
            }
        }
    };
}

counts! {
    frames: "frames recorded",
    durable: "frames durable",
    takeovers: "takeovers",
    contended: "takeovers that another node was faster with",
    fenced: "owners that learned of their successor",
    detached: "times that an owner was detached",
    shipped: "times that a detached owner went on by itself",
    deaths: "deaths of nodes",
    lost_disks: "disks lost",
    parts: "parts offered",
    taken: "parts taken",
    replayed: "tails replayed",
    flushes: "flushes",
    merges: "merges",
    checkpoints: "checkpoints",
    apart: "bodies of rows beside the journal",
    orphans: "orphans removed",
    readings: "readings while others wrote",
}

/// What is known of a schedule without asking the shared store.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// Frames as they were recorded.
    recorded: BTreeMap<(Epoch, u64), u64>,
    /// The first frame of each epoch.
    firsts: BTreeMap<Epoch, u64>,
    /// Frames of an epoch below are durable, its owner was told.
    durable: BTreeMap<Epoch, u64>,
    /// What owners that were replaced hold, offered to any other.
    pub(crate) parts: BTreeMap<Part, Vec<Frame>>,
    /// So many transactions of an epoch are journalled, its owner was told.
    journalled: BTreeMap<Epoch, u64>,
    pub(crate) counts: Counts,
    records: u64,
}

impl Oracle {
    pub(crate) fn begins(&mut self, epoch: Epoch, first: u64) {
        self.firsts.insert(epoch, first);
        self.counts.takeovers += 1;
    }

    pub(crate) fn record(&mut self, epoch: Epoch, number: u64) -> Frame {
        self.records += 1;
        self.counts.frames += 1;
        self.recorded.insert((epoch, number), self.records);
        Frame { epoch, number, record: self.records }
    }

    pub(crate) fn durable(&mut self, epoch: Epoch, end: u64) {
        let known = self.durable.entry(epoch).or_insert(self.firsts[&epoch]);
        self.counts.durable += end - *known;
        *known = end;
    }

    /// What is durable by now: what a reading that begins now has to find.
    pub(crate) fn promised(&self) -> BTreeMap<Epoch, u64> {
        self.durable.clone()
    }

    pub(crate) fn journalled(&mut self, epoch: Epoch, changes: u64) {
        self.journalled.insert(epoch, changes);
    }

    /// Whether a catalogue has each epoch's transactions from the first on, in order, and all that are known to be journalled.
    pub(crate) fn judge_catalogue(&self, changes: &[(Epoch, u64)]) -> Result<(), Violation> {
        let mut ends: BTreeMap<Epoch, u64> = BTreeMap::new();
        for (epoch, number) in changes {
            let end = ends.entry(*epoch).or_default();
            if end != number {
                return Err(format!("transaction {number} of epoch {epoch} is in the catalogue where {end} is due"));
            }
            *end += 1;
        }
        let missing = self.journalled.iter().find(|(epoch, known)| ends.get(epoch).unwrap_or(&0) < known);
        missing
            .map_or(Ok(()), |(epoch, known)| Err(format!("of {known} transactions of epoch {epoch} some are missing")))
    }

    pub(crate) fn offer(&mut self, part: Part, frames: Vec<Frame>) {
        self.counts.parts += 1;
        self.parts.insert(part, frames);
    }

    /// Whether frames that were read are each epoch's from its first on, without a gap and each once, up to what was promised at least.
    pub(crate) fn judge(&self, read: &[Frame], promised: &BTreeMap<Epoch, u64>) -> Result<(), Violation> {
        let mut ends: BTreeMap<Epoch, u64> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for frame in read {
            let Frame { epoch, number, record } = *frame;
            if !seen.insert(record) {
                return Err(format!("record {record} (frame {number} of epoch {epoch}) is read twice"));
            }
            if self.recorded.get(&(epoch, number)) != Some(&record) {
                return Err(format!("frame {number} of epoch {epoch} is read as record {record}, which it is not"));
            }
            let first = self.firsts.get(&epoch).copied().ok_or(format!("epoch {epoch} never began"))?;
            let end = ends.entry(epoch).or_insert(first);
            if *end != number {
                return Err(format!("frame {number} of epoch {epoch} is read where frame {end} is due"));
            }
            *end += 1;
        }
        for (epoch, end) in promised {
            let read = ends.get(epoch).copied().unwrap_or(self.firsts[epoch]);
            if read < *end {
                return Err(format!("frames {read} to {} of epoch {epoch} are durable and not read", end - 1));
            }
        }
        Ok(())
    }

    /// What has to be there when all is over: what is durable, and what is on any disk.
    pub(crate) fn due(&self, disks: &[&Disk]) -> BTreeMap<Epoch, u64> {
        let mut due = self.promised();
        for (epoch, log) in disks.iter().flat_map(|disk| &disk.logs) {
            let end = due.entry(*epoch).or_insert(self.firsts[epoch]);
            *end = log.end().max(*end);
        }
        due
    }
}

/// Walks through the whole journal: epochs rise by seals, no row of an older one lies behind, no segment is listed twice, and no row is
/// there twice.
pub(crate) fn walk(world: &World) -> Result<(), Violation> {
    let (mut epoch, mut ids, mut listed) = (Epoch(0), BTreeSet::new(), BTreeSet::new());
    for (at, (seq, bytes)) in world.memory.journal(world.shard.journal()).into_iter().enumerate() {
        let seq = Seq(seq);
        if seq != Seq(at as u64) {
            return Err(format!("the journal has row {seq} and none before it"));
        }
        let row = Row::decode(&world.shard, seq, &bytes).map_err(|error| error.to_string())?;
        if !ids.insert((row.epoch, row.id)) {
            return Err(format!("row {seq} is there twice"));
        }
        // The bodies of rows before a checkpoint may be gone; those of the others were needed for the image.
        let Ok(entry) = row.open(&*world.memory, &world.shard, seq) else { continue };
        match &entry {
            Entry::Seal(_) if row.epoch <= epoch => return Err(format!("row {seq} seals an epoch that has begun")),
            Entry::Seal(_) => epoch = row.epoch,
            _ if row.epoch != epoch => {
                return Err(format!("row {seq} of epoch {} lies behind the seal of {epoch}", row.epoch));
            }
            Entry::Change(change) => {
                let twice = change.added.iter().find(|object| !listed.insert(object.key.clone()));
                if let Some(object) = twice {
                    return Err(format!("row {seq} lists segment {} once more", object.key));
                }
            }
            Entry::Commit(_) | Entry::Checkpoint(_) => {}
        }
    }
    Ok(())
}
