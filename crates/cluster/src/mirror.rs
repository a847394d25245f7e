//! Copies follow their shards: the node that has a copy makes its list of PVs what that of the shard is. So an order is given to the shard
//! alone, as any order is, and the copy does what it finds done there; at once where it can be reached, else when it is back.
//!
//! ```text
//!   order ──► shard: list, audit, journal ──► list of the shard, at the node of the copy ──► list of the copy
//!                └─ tells that node to look now ┘
//! ```

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use archive::{
    Action, By, Copies, Deletion, Directory, DirectoryError, Fault, Mirror, Principal, PvEntry, PvId, PvSettings,
    PvState, Unanswered,
};
use sample::Timestamp;

use crate::{
    board::{Board, Seat},
    orders::not_now,
    seams::Open,
    wire::{Answer, Question},
};

/// Who is named where the audit of a copy says something.
const FOLLOWS: &str = "the copy, as its shard says";
/// Lines of the audit of a shard that are looked through at a time, and at most.
const LINES_AT_ONCE: usize = 200;
const LINES_MAX: usize = 5000;

/// How copies follow their shards, as far as this node has to do with it.
#[derive(Debug, Default)]
pub(crate) struct Mirroring {
    /// The shards whose copies have not done yet what was ordered, since when and why.
    lagging: Mutex<BTreeMap<u32, (Instant, String)>>,
    /// One at a time makes a copy follow: with a list that was read before that of another it would take back what that one has done.
    turns: Mutex<BTreeMap<u32, Arc<Mutex<()>>>>,
    /// Deletions that cannot be carried out at the copy, as it has nothing in their ranges, by shard and number there.
    nothing_there: Mutex<HashSet<(u32, u64)>>,
    /// Deletions of copies that stay, as what they hide was purged at the shard, by copy and number there.
    stay: Mutex<HashSet<(u32, u64)>>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mirroring {
    fn turn(&self, copy: u32) -> Arc<Mutex<()>> {
        locked(&self.turns).entry(copy).or_default().clone()
    }

    fn lags(&self, shard: u32, why: String) {
        locked(&self.lagging).entry(shard).or_insert_with(|| (Instant::now(), String::new())).1 = why;
    }

    fn lags_no_more(&self, shard: u32) {
        locked(&self.lagging).remove(&shard);
    }

    /// What an operator must know of it that lasts longer than this.
    pub(crate) fn problems(&self, longer: Duration) -> Vec<String> {
        let lagging = locked(&self.lagging);
        let long = lagging.iter().filter(|(_, (since, _))| since.elapsed() > longer);
        let told = |(shard, (since, why)): (&u32, &(Instant, String))| {
            let so_long = since.elapsed().as_secs();
            format!("the copy of shard {shard} has not done for {so_long} s what was ordered of the shard: {why}")
        };
        long.map(told).collect()
    }

    /// The copies that have not done yet what was ordered.
    pub(crate) fn unreached(&self) -> Vec<Unanswered> {
        let one = |(shard, (_, why)): (&u32, &(Instant, String))| Unanswered {
            part: format!("the copy of shard {shard} of the cluster"),
            names: None,
            why: format!("{why}; it does what was ordered as soon as it can"),
        };
        locked(&self.lagging).iter().map(one).collect()
    }
}

impl Board {
    /// The copies that are open here. Who makes them follow has looked at the lists of their shards since.
    pub fn open_copies(&self) -> Vec<u32> {
        self.open().into_keys().filter(|number| self.pairs().copied(*number).is_some()).collect()
    }

    /// Makes these copies follow their shards, as far as the lists of these are known here. To be called about once a second.
    pub fn mirror(&self, copies: &[u32], now: Timestamp) {
        for copy in copies {
            let (Some(open), Some(shard)) = (self.open_here(*copy), self.pairs().copied(*copy)) else { continue };
            match self.follow_shard(&open, *copy, shard, now) {
                Ok(()) => self.mirroring.lags_no_more(shard),
                Err(error) => self.mirroring.lags(shard, error.message),
            }
        }
        let lagging: Vec<u32> = locked(&self.mirroring.lagging).keys().copied().collect();
        for shard in lagging {
            // Another node has the copy, and has done what was ordered of it meanwhile.
            let Some(copy) = self.pairs().copy_of(shard) else { continue };
            if self.open_here(copy).is_none() && self.knows_list(copy) && self.is_as(shard, copy) {
                self.mirroring.lags_no_more(shard);
            }
        }
    }

    /// Makes a copy that is open here follow its shard, after the shard's journal was read to its end.
    pub(crate) fn mirror_here(&self, copy: u32, now: Timestamp) -> Result<(), String> {
        let away = || format!("{} is not open at node {} any more", self.pairs().called(copy), self.own());
        let (open, shard) = self.open_here(copy).zip(self.pairs().copied(copy)).ok_or_else(away)?;
        if self.open_here(shard).is_none() {
            self.follow_one(shard)?;
        }
        self.follow_shard(&open, copy, shard, now).map_err(|error| error.message)
    }

    /// Sees to it that the copy of a shard does at once what was just ordered of the shard; what it cannot do now it does later.
    pub(crate) fn tell_copy(&self, shard: u32, now: Timestamp) {
        let Some(copy) = self.pairs().copy_of(shard) else { return };
        match self.told_copy(copy, now) {
            Ok(()) => self.mirroring.lags_no_more(shard),
            Err(error) => self.mirroring.lags(shard, error.message),
        }
    }

    /// The same, of which one knows.
    pub(crate) fn told_copy(&self, copy: u32, now: Timestamp) -> Result<(), DirectoryError> {
        match self.seat(copy) {
            Seat::Here(_) => self.mirror_here(copy, now).map_err(not_now),
            Seat::There(node) => match self.ask(&node, &Question::Mirror(copy, now.nanos()))? {
                Answer::Done(true) => Ok(()),
                _ => Err(self.nonsense(&node)),
            },
            Seat::Nowhere => Err(not_now(self.nobody_has(copy))),
        }
    }

    /// Whether the list of a copy is as that of its shard is, for all that is known here.
    fn is_as(&self, shard: u32, copy: u32) -> bool {
        let wanted = self.list(copy, |of_copy| self.list(shard, |list| mirror_of(list, of_copy))).flatten();
        let is_so = |of_copy: &dyn Directory, wanted: &Mirror| {
            let known: HashSet<PvId> = wanted.entries.iter().map(|entry| entry.id).collect();
            let has = |entry: &PvEntry| {
                let own = of_copy.entry(entry.id);
                own.is_some_and(|own| own.name == entry.name && own.settings == entry.settings)
            };
            wanted.entries.iter().all(has) && of_copy.names().iter().all(|named| known.contains(&named.pv))
        };
        wanted.is_some_and(|wanted| self.list(copy, |of_copy| is_so(of_copy, &wanted)).unwrap_or(false))
    }

    /// Makes the list of a copy that is open here what the list of its shard is.
    fn follow_shard(&self, open: &Open, copy: u32, shard: u32, now: Timestamp) -> Result<(), DirectoryError> {
        let turn = self.mirroring.turn(copy);
        let _turn = locked(&turn);
        // A list of one's own counts only while one has the shard: a node that was replaced is the last to know.
        let is_stale = self.open_here(shard).is_some() && !matches!(self.seat(shard), Seat::Here(_));
        if is_stale || !self.knows_list(shard) {
            return Err(not_now(format!("node {} does not know the list of shard {shard} at present", self.own())));
        }
        let Some(list) = self.list(shard, |list| mirror_of(list, &*open.directory)) else { return Ok(()) };
        let by = By::new(Principal::here(FOLLOWS), now);
        let mirrored = open.orders.mirror(&list, &by)?;
        if mirrored.is_change() {
            let (put, out) = (mirrored.put.len(), mirrored.out.len());
            tracing::debug!("the copy of shard {shard} follows it: {put} PVs are as they are there, {out} are out");
        }
        self.hide_as(open, copy, shard)?;
        match (mirrored.refused.first(), mirrored.waiting.is_empty()) {
            (Some(name), _) => {
                Err(failed(format!("{name} cannot be recorded twice: its number has another meaning at the copy")))
            }
            (None, false) => Err(not_now("names change in turn; the next second it is done")),
            (None, true) => Ok(()),
        }
    }

    /// Hides what is hidden there, and shows what was shown again there.
    fn hide_as(&self, open: &Open, copy: u32, shard: u32) -> Result<(), DirectoryError> {
        let there = self.list(shard, |list| list.deletions()).unwrap_or_default();
        let here = open.directory.deletions();
        if there.is_empty() && here.is_empty() {
            return Ok(());
        }
        let is_same = |a: &Deletion, b: &Deletion| {
            a.pv == b.pv && a.by == b.by && a.range.t0 < b.range.t1 && b.range.t0 < a.range.t1
        };
        for deletion in there.iter().filter(|of| !of.is_final && open.directory.entry(of.pv).is_some()) {
            let number = (shard, deletion.number);
            if here.iter().any(|of| is_same(of, deletion)) || locked(&self.mirroring.nothing_there).contains(&number) {
                continue;
            }
            match open.curator.delete_range(deletion.pv, deletion.range, &deletion.by) {
                Err(error) if error.fault == Fault::NothingThere => {
                    locked(&self.mirroring.nothing_there).insert(number);
                }
                done => drop(done?),
            }
        }
        for deletion in here.iter().filter(|of| !of.is_final && !there.iter().any(|other| is_same(of, other))) {
            let number = (copy, deletion.number);
            if locked(&self.mirroring.stay).contains(&number) {
                continue;
            }
            let by = self.list(shard, |list| shown_again(list, deletion)).transpose()?.flatten();
            match by {
                Some(by) => drop(open.curator.restore_range(deletion.number, &by)?),
                None => _ = locked(&self.mirroring.stay).insert(number),
            }
        }
        Ok(())
    }
}

fn failed(message: String) -> DirectoryError {
    DirectoryError { fault: Fault::Failed, message }
}

/// What a copy is to have of the list of its shard: the PVs that are recorded twice, and those that were, which it records no more.
fn mirror_of(list: &dyn Directory, of_copy: &dyn Directory) -> Mirror {
    let is_known = |pv: PvId| of_copy.entry(pv).is_some();
    let mirrored = |entry: PvEntry| match entry.settings.rules().copies {
        Copies::Two => Some(entry),
        Copies::One if is_known(entry.id) => {
            let settings = PvSettings { state: PvState::Paused, ..entry.settings };
            Some(PvEntry { settings, ..entry })
        }
        Copies::One => None,
    };
    let names = list.names();
    let entries = names.iter().filter_map(|named| list.entry(named.pv).filter(|entry| entry.name == named.name));
    let entries: Vec<PvEntry> = entries.filter_map(mirrored).collect();
    let copied: HashSet<PvId> = entries.iter().map(|entry| entry.id).collect();
    let aliases = list.aliases().into_iter().filter(|(_, entry)| copied.contains(&entry.id));
    let removed_here: HashSet<PvId> = of_copy.removed().iter().map(|of| of.entry.id).collect();
    let removed = list.removed().into_iter();
    Mirror {
        aliases: aliases.map(|(alias, entry)| (alias, entry.id)).collect(),
        removed: removed.filter(|of| is_known(of.entry.id) || removed_here.contains(&of.entry.id)).collect(),
        entries,
    }
}

/// Who showed again what a deletion of a copy hides, if somebody did; none if it was purged at the shard instead.
fn shown_again(list: &dyn Directory, deletion: &Deletion) -> Result<Option<By>, DirectoryError> {
    let (mut before, mut seen) = (u64::MAX, 0);
    while seen < LINES_MAX {
        let lines = list.audit(before, LINES_AT_ONCE)?;
        for line in &lines {
            if line.by.at < deletion.by.at {
                return Ok(None);
            }
            let overlaps = line.range.is_some_and(|of| of.t0 < deletion.range.t1 && deletion.range.t0 < of.t1);
            if line.action == Action::RangeRestored && line.is_about(deletion.pv) && overlaps {
                return Ok(Some(line.by.clone()));
            }
        }
        let Some(last) = lines.last() else { break };
        (before, seen) = (last.number, seen + lines.len());
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::RwLock;

    use archive::{Method, NameKind, Named, Names, Orders, Protocol, PvName, Rules};

    use super::*;
    use crate::{
        Beat,
        seams::Follows,
        testing::{board_of, saying},
        whole::Whole,
    };

    /// A list that the test changes.
    #[derive(Clone, Debug, Default)]
    struct Listed(Arc<RwLock<Vec<PvEntry>>>);

    impl Listed {
        fn set(&self, entries: &[PvEntry]) {
            *self.0.write().unwrap() = entries.to_vec();
        }
    }

    impl Directory for Listed {
        fn find(&self, name: &str) -> Option<PvEntry> {
            self.0.read().unwrap().iter().find(|entry| entry.name.as_str() == name).cloned()
        }

        fn entry(&self, pv: PvId) -> Option<PvEntry> {
            self.0.read().unwrap().iter().find(|entry| entry.id == pv).cloned()
        }

        fn names(&self) -> Names {
            let named = |entry: &PvEntry| Named { name: entry.name.clone(), pv: entry.id, kind: NameKind::Own };
            Names::of(self.0.read().unwrap().iter().map(named).collect())
        }
    }

    impl Follows for Listed {
        fn list(&self) -> &dyn Directory {
            self
        }

        fn catch_up(&self) -> Result<(), String> {
            Ok(())
        }
    }

    fn entry(number: u32, copies: Copies, state: PvState) -> PvEntry {
        let rules = Rules { copies, ..Rules::default() };
        let settings = PvSettings { rules: rules.shared(), ..PvSettings::plain(Protocol::Ca, Method::Monitor, state) };
        let name = PvName::new(&format!("PV{number}")).unwrap();
        PvEntry { id: PvId(number), name, settings, added: Timestamp::from_nanos(0) }
    }

    #[test]
    fn a_copy_has_what_is_recorded_twice_and_records_no_more_what_is_not_any_more() {
        let (list, copy) = (Listed::default(), Listed::default());
        list.set(&[
            entry(1, Copies::Two, PvState::Active),
            entry(2, Copies::One, PvState::Active),
            entry(3, Copies::One, PvState::Active),
        ]);
        copy.set(&[entry(3, Copies::Two, PvState::Active), entry(4, Copies::Two, PvState::Active)]);
        let mirror = mirror_of(&list, &copy);
        assert_eq!(mirror.entries, [entry(1, Copies::Two, PvState::Active), entry(3, Copies::One, PvState::Paused)]);
    }

    #[test]
    fn a_copy_that_cannot_be_reached_is_told_until_its_list_is_that_of_its_shard() {
        let lists = [(); 3].map(|()| Listed::default());
        let paused = [entry(1, Copies::Two, PvState::Paused)];
        lists[0].set(&paused);
        lists[2].set(&[entry(1, Copies::Two, PvState::Active)]);
        let peers = saying(vec![None, Some(Answer::Done(true))], None);
        let board = board_of("a", 1, Copies::Two, (lists.to_vec(), peers), &Arc::default());
        let beat = Beat { shards: vec![(0, 3), (2, 3)], ..Beat::default() };
        board.heard(vec![("b".to_owned(), beat, true)], 0);
        assert!(board.follow().is_empty());
        let (whole, now) = (Whole::new(board.clone()), Timestamp::from_nanos(5));
        let told = || whole.unreached().into_iter().map(|of| format!("{}: {}", of.part, of.why)).collect::<Vec<_>>();

        board.tell_copy(0, now);
        let why = "the connection is gone; it does what was ordered as soon as it can";
        assert_eq!(told(), [format!("the copy of shard 0 of the cluster: {why}")]);
        board.mirror(&board.open_copies(), now);
        assert_eq!(told().len(), 1, "the PV is recorded there still");
        lists[2].set(&paused);
        board.mirror(&board.open_copies(), now);
        assert_eq!(told(), Vec::<String>::new());
        board.tell_copy(1, now); // the site has no copy
        board.tell_copy(0, now);
        assert_eq!(told(), Vec::<String>::new(), "it has done it");
    }
}
