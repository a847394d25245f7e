//! Keeping the table: it is made when the first list is asked for, renewed with each list by what changed, and given up when none was for a
//! while.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use archive::{Action, AuditRecord, Named, PvEntry, PvId, PvName, Touched};
use sample::{Metadata, TimeRange, Timestamp};

use super::{Asked, CHUNK_ROWS, Chunk, ROW_BYTES, Row, Table, Words};
use crate::{budget::Lease, clock::now, refusal::Refusal};

/// How many PVs one question is about: each question takes a lock.
const AT_ONCE: usize = 512;
/// How PVs fare is looked at again when it is as old as this, in some chunks with each list; rates are of the whole run, and what comes to stand elsewhere is
/// known at once.
const WALK_AFTER: Duration = Duration::from_millis(200);
const WALK_CHUNKS: usize = 8;
/// And all of it that is older than this.
const STALE: Duration = Duration::from_secs(30);
/// What takes longer to do anew is not done anew before so many times as long has passed.
const QUICK: Duration = Duration::from_millis(20);
const PATIENCE: u32 = 50;
/// For so long descriptions are read while a table is made, and with each list after that; those that are left are read with the next ones.
const DESCRIBE_AT_FIRST: Duration = Duration::from_secs(2);
const DESCRIBE: Duration = Duration::from_millis(20);
/// How many lines of the audit are read at once, of new ones first, of which there are few; and for how long older ones with each list.
const NEW_LINES: usize = 64;
const AUDIT_LINES: usize = 2048;
const AWAITED_MAX: usize = 100_000;
const READ_AUDIT: Duration = Duration::from_millis(20);
/// Sizes may have to be read from a disk.
const SIZES_AFTER: Duration = Duration::from_secs(60);
/// Tables whose pages may still be turned: so many of them, so long.
const PINS_MAX: usize = 4;
const PIN_FOR: Duration = Duration::from_secs(300);
/// A table is given up when no list was asked for so long, which is looked at so often.
const IDLE: Duration = Duration::from_secs(600);
const IDLE_LOOK: Duration = Duration::from_secs(30);

/// The table of an archive.
#[derive(Default)]
pub(crate) struct Tables(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    kept: Option<Kept>,
    /// The number of the next table.
    next: u64,
    /// Whether a thread looks after the table.
    is_looked_after: bool,
}

/// The newest table, and what is known of how new it is.
struct Kept {
    table: Table,
    /// The copy that readers share.
    shown: Arc<Table>,
    /// Where the row of a PV is.
    places: HashMap<PvId, u32>,
    /// Rows of PVs that are gone.
    gone: usize,
    /// PVs whose metadata is still to be read.
    undescribed: Vec<PvId>,
    /// Which lines of the audit are still to be read for who has added PVs.
    audit: AuditRead,
    /// Who has added PVs that are not here yet.
    awaited: HashMap<PvId, u32>,
    built: Instant,
    /// How long that took.
    cost: Duration,
    /// The list of PVs may have changed in any way since.
    is_outdated: bool,
    /// When it was last looked how the PVs of each chunk fare.
    walked: Vec<Instant>,
    /// The chunk whose turn it is, and how long one takes.
    turn: usize,
    walk_cost: Duration,
    /// When sizes were read, and how long that took.
    sized: Option<(Instant, Duration)>,
    /// What it takes of the budget.
    room: Lease,
    pins: VecDeque<(Instant, Arc<Table>)>,
    used: Instant,
}

/// Which lines of the audit were read for who has added PVs: those from `from` up to `until`.
#[derive(Clone, Copy, Default)]
struct AuditRead {
    from: u64,
    until: u64,
}

impl AuditRead {
    fn is_unread(self) -> bool {
        self.from > 0
    }
}

/// Whether a line of the audit is newer than the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsNew {
    Yes,
    No,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tables {
    /// The table as PVs stand now, with sizes if they are wanted.
    pub(crate) fn now(&self, of: &Asked<'_>, with_sizes: bool, lease: &Lease) -> Result<Arc<Table>, Refusal> {
        let mut state = lock(&self.0);
        let State { kept, next, is_looked_after } = &mut *state;
        let is_fresh = kept.as_mut().is_some_and(|kept| kept.renew(of));
        if !is_fresh {
            // The old one goes first, so that there are never two.
            *kept = None;
            let made = Kept::make(of, lease)?;
            *kept = Some(made);
            if !*is_looked_after {
                *is_looked_after = self.give_up_when_idle();
            }
        }
        let kept = kept.as_mut().expect("it was made above if it was not there");
        if with_sizes {
            kept.size(of);
        }
        kept.used = Instant::now();
        Ok(kept.show(next))
    }

    /// The table of that number, if its pages can still be turned.
    pub(crate) fn pinned(&self, number: u64) -> Option<Arc<Table>> {
        let mut state = lock(&self.0);
        let kept = state.kept.as_mut()?;
        kept.used = Instant::now();
        let pin = kept.pins.iter_mut().find(|(_, table)| table.number == number)?;
        pin.0 = Instant::now();
        Some(pin.1.clone())
    }

    /// Keeps a table for who turns its pages.
    pub(crate) fn pin(&self, table: &Arc<Table>) {
        let mut state = lock(&self.0);
        let Some(kept) = state.kept.as_mut() else { return };
        kept.pins.retain(|(used, pinned)| used.elapsed() < PIN_FOR && pinned.number != table.number);
        kept.pins.push_back((Instant::now(), table.clone()));
        if kept.pins.len() > PINS_MAX {
            kept.pins.pop_front();
        }
    }

    /// A thread that takes the table away when nobody has asked for a while, and ends; whether it could be had.
    fn give_up_when_idle(&self) -> bool {
        let state: Weak<Mutex<State>> = Arc::downgrade(&self.0);
        let look = move || {
            loop {
                thread::sleep(IDLE_LOOK);
                let Some(state) = state.upgrade() else { return };
                let mut state = lock(&state);
                if state.kept.as_ref().is_none_or(|kept| kept.used.elapsed() > IDLE) {
                    (state.kept, state.is_looked_after) = (None, false);
                    return;
                }
            }
        };
        // Without it the table stays, which costs memory that was granted.
        let spawned = thread::Builder::new().name("lists".to_owned()).spawn(look);
        spawned.inspect_err(|error| tracing::warn!("no thread looks after the table of lists: {error}")).is_ok()
    }
}

impl Kept {
    fn make(of: &Asked<'_>, lease: &Lease) -> Result<Kept, Refusal> {
        let begun = Instant::now();
        // Before all of it is read, so that what changes meanwhile is looked at again.
        of.directory.touched();
        of.standing.moved();
        let names = of.directory.names();
        let room = lease.beside();
        room.grow_by(names.len(), ROW_BYTES)?;
        let mut aliases: HashMap<PvId, Vec<PvName>> = HashMap::new();
        for (alias, entry) in of.directory.aliases() {
            aliases.entry(entry.id).or_default().push(alias);
        }
        let mut words = Words::default();
        let table = Table {
            number: 0,
            at: now(),
            undescribed: 0,
            is_audit_unread: true,
            chunks: Vec::new(),
            words: Arc::default(),
        };
        let shown = Arc::new(table.clone());
        let mut kept = Kept {
            table,
            shown,
            places: HashMap::with_capacity(names.len()),
            gone: 0,
            undescribed: Vec::new(),
            audit: AuditRead::default(),
            awaited: HashMap::new(),
            built: begun,
            cost: Duration::ZERO,
            is_outdated: false,
            walked: Vec::new(),
            turn: 0,
            walk_cost: Duration::ZERO,
            sized: None,
            room,
            pins: VecDeque::new(),
            used: begun,
        };
        let mut text_bytes = 0;
        for names in names.chunks() {
            let is_own = |(named, entry): (&Named, Option<PvEntry>)| entry.filter(|entry| entry.name == named.name);
            let pvs: Vec<Option<PvId>> = names.rows().iter().map(|named| Some(named.pv)).collect();
            let entries = of.directory.entries_of(&pvs);
            let entries: Vec<PvEntry> = names.rows().iter().zip(entries).filter_map(is_own).collect();
            let is_time = begun.elapsed() < DESCRIBE_AT_FIRST;
            let bytes = kept.add(of, &mut words, &entries, is_time, |pv| aliases.remove(&pv).unwrap_or_default());
            kept.room.grow(bytes)?;
            text_bytes += bytes;
        }
        kept.table.words = Arc::new(words);
        kept.learn_adders(of);
        kept.cost = begun.elapsed();
        let (rows, cost) = (kept.places.len(), kept.cost);
        tracing::debug!("the table of lists has {rows} PVs and {text_bytes} bytes of texts, made in {cost:?}");
        Ok(kept)
    }

    /// Puts PVs behind the others; gives the bytes of their texts.
    fn add(
        &mut self,
        of: &Asked<'_>,
        words: &mut Words,
        entries: &[PvEntry],
        is_time: bool,
        mut aliases: impl FnMut(PvId) -> Vec<PvName>,
    ) -> usize {
        let pvs: Vec<PvId> = entries.iter().map(|entry| entry.id).collect();
        let metadata = if is_time { described(of, &pvs) } else { self.described_later(of, &pvs) };
        let (briefs, now) = (of.standing.briefs(&pvs), now());
        let mut bytes = 0;
        for ((entry, metadata), brief) in entries.iter().zip(metadata).zip(briefs) {
            if self.table.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK_ROWS) {
                self.table.chunks.push(Arc::default());
                self.walked.push(Instant::now());
            }
            let place = (self.table.chunks.len() - 1) * CHUNK_ROWS;
            let chunk = Arc::make_mut(self.table.chunks.last_mut().expect("there is one by now"));
            let row = Row::of(words, entry, &aliases(entry.id), metadata.as_ref());
            self.places.insert(entry.id, (place + chunk.len()) as u32);
            bytes += row.text.len();
            chunk.push(row, brief, words, now);
            if let Some(adder) = self.awaited.remove(&entry.id) {
                chunk.added_by(chunk.len() - 1, adder);
            }
        }
        bytes
    }

    /// Takes in what changed; false if the table has to be made anew.
    fn renew(&mut self, of: &Asked<'_>) -> bool {
        let patience = |cost: Duration| if cost < QUICK { Duration::ZERO } else { cost * PATIENCE };
        let (touched, moved) = (of.directory.touched(), of.standing.moved());
        self.is_outdated |= touched == Touched::All || self.gone > self.places.len() / 2 + CHUNK_ROWS;
        if self.is_outdated && self.built.elapsed() >= patience(self.cost) {
            return false;
        }
        let mut changed = false;
        let again = if let Touched::These(pvs) = touched { pvs } else { Vec::new() };
        let begun = Instant::now();
        while !self.undescribed.is_empty() && begun.elapsed() < DESCRIBE {
            let some = self.undescribed.split_off(self.undescribed.len().saturating_sub(AT_ONCE));
            self.read_again(of, some);
            changed = true;
        }
        let are_new = !again.is_empty();
        if are_new {
            changed = true;
            self.read_again(of, again);
        }
        if are_new || self.audit.is_unread() {
            changed |= self.learn_adders(of);
        }
        let all = patience(self.walk_cost * self.walked.len() as u32);
        let mut fare = match moved {
            Touched::These(pvs) => pvs,
            Touched::All if self.walked.iter().all(|walked| walked.elapsed() >= all) => {
                self.places.keys().copied().collect()
            }
            Touched::All => Vec::new(),
        };
        fare.sort_unstable();
        fare.dedup();
        changed |= !fare.is_empty();
        for some in fare.chunks(AT_ONCE) {
            self.look_at(of, some);
        }
        changed |= self.walk(of);
        if changed {
            self.table.number = 0;
        }
        true
    }

    /// Reads the audit for who has added PVs: what is new there, then older lines for a short time. Whether any said so.
    fn learn_adders(&mut self, of: &Asked<'_>) -> bool {
        let (begun, was_unread) = (Instant::now(), self.audit.is_unread());
        let mut words = Words::clone(&self.table.words);
        let mut is_told = false;
        let lines_before = |before: u64, limit: usize| match of.directory.audit(before, limit) {
            Ok(lines) => Some(lines),
            // The list goes without what cannot be read; with the next one it is tried again.
            Err(error) => {
                tracing::debug!("the audit does not say who has added PVs: {error}");
                None
            }
        };
        let (mut before, mut limit, end) = (u64::MAX, NEW_LINES, self.audit.until);
        while let Some(lines) = lines_before(before, limit) {
            if let Some(newest) = lines.first().map(|line| line.number + 1) {
                self.audit.until = self.audit.until.max(newest);
            }
            if end == 0 {
                self.audit.from = self.audit.until;
                break;
            }
            let Some(last) = lines.last().map(|line| line.number) else { break };
            // Lines of another shard of a cluster may be new and have lower numbers: what was taken already changes nothing.
            for line in &lines {
                is_told |= self.take_adder(&mut words, line, IsNew::Yes);
            }
            if last <= end {
                break;
            }
            (before, limit) = (last, AUDIT_LINES);
        }
        while self.audit.from > 0 && begun.elapsed() < READ_AUDIT {
            let Some(lines) = lines_before(self.audit.from, AUDIT_LINES) else { break };
            self.audit.from = lines.last().map_or(0, |line| line.number);
            for line in &lines {
                is_told |= self.take_adder(&mut words, line, IsNew::No);
            }
        }
        self.table.words = Arc::new(words);
        is_told || was_unread != self.audit.is_unread()
    }

    /// Whether a line says of a PV that is here who has added it.
    fn take_adder(&mut self, words: &mut Words, line: &AuditRecord, is_new: IsNew) -> bool {
        if line.action != Action::Added {
            return false;
        }
        let adder = words.adders.number(Some(line.by.who.established()));
        let mut is_here = false;
        for pv in line.each_pv() {
            match self.places.get(&pv).map(|place| *place as usize) {
                Some(place) => {
                    self.chunk(place).added_by(place % CHUNK_ROWS, adder);
                    is_here = true;
                }
                // It may have been added since the list was looked at.
                None if is_new == IsNew::Yes && self.awaited.len() < AWAITED_MAX => _ = self.awaited.insert(pv, adder),
                None => {}
            }
        }
        is_here
    }

    /// Reads PVs again that were added, removed, changed or described.
    fn read_again(&mut self, of: &Asked<'_>, mut pvs: Vec<PvId>) {
        pvs.sort_unstable();
        pvs.dedup();
        let mut words = Words::clone(&self.table.words);
        for some in pvs.chunks(AT_ONCE) {
            let wanted: Vec<Option<PvId>> = some.iter().map(|pv| Some(*pv)).collect();
            let (entries, metadata) = (of.directory.entries_of(&wanted), described(of, some));
            let mut news = Vec::new();
            for ((pv, entry), metadata) in some.iter().zip(entries).zip(metadata) {
                match (self.places.get(pv).map(|place| *place as usize), entry) {
                    (Some(place), None) => {
                        self.places.remove(pv);
                        self.gone += 1;
                        self.chunk(place).put(place % CHUNK_ROWS, None);
                    }
                    (Some(place), Some(entry)) => {
                        let aliases = of.directory.aliases_of(*pv);
                        let row = Row::of(&mut words, &entry, &aliases, metadata.as_ref());
                        self.chunk(place).put(place % CHUNK_ROWS, Some(row));
                    }
                    (None, Some(entry)) => news.push(entry),
                    (None, None) => {}
                }
            }
            let bytes = self.add(of, &mut words, &news, true, |pv| of.directory.aliases_of(pv));
            self.room.note(bytes + news.len() * ROW_BYTES);
        }
        self.table.words = Arc::new(words);
        for some in pvs.chunks(AT_ONCE) {
            self.look_at(of, some);
        }
    }

    /// Puts off reading the metadata of those that may have any.
    fn described_later(&mut self, of: &Asked<'_>, pvs: &[PvId]) -> Vec<Option<Metadata>> {
        let may_have = of.query.may_have_metadata(pvs).unwrap_or_else(|_| vec![true; pvs.len()]);
        self.undescribed.extend(pvs.iter().zip(may_have).filter(|(_, may_have)| *may_have).map(|(pv, _)| *pv));
        vec![None; pvs.len()]
    }

    fn chunk(&mut self, place: usize) -> &mut Chunk {
        Arc::make_mut(&mut self.table.chunks[place / CHUNK_ROWS])
    }

    /// Looks at how these PVs fare.
    fn look_at(&mut self, of: &Asked<'_>, pvs: &[PvId]) {
        let (briefs, now) = (of.standing.briefs(pvs), now());
        let words = Arc::make_mut(&mut self.table.words);
        for (pv, brief) in pvs.iter().zip(briefs) {
            if let Some(place) = self.places.get(pv).map(|place| *place as usize) {
                let chunk = Arc::make_mut(&mut self.table.chunks[place / CHUNK_ROWS]);
                chunk.fare(place % CHUNK_ROWS, brief, words, now);
            }
        }
    }

    /// Looks again at how the PVs of some chunks fare, first of those that were looked at longest ago. Says whether it was time for any.
    fn walk(&mut self, of: &Asked<'_>) -> bool {
        let (begun, mut walked) = (Instant::now(), 0);
        while walked < self.walked.len() {
            self.turn %= self.walked.len();
            let age = self.walked[self.turn].elapsed();
            if age < WALK_AFTER || (age < STALE && walked >= WALK_CHUNKS) {
                break;
            }
            let present = self.table.chunks[self.turn].present();
            let chunk = Arc::make_mut(&mut self.table.chunks[self.turn]);
            for some in present.chunks(AT_ONCE) {
                let pvs: Vec<PvId> = some.iter().map(|(_, pv)| *pv).collect();
                let (briefs, now) = (of.standing.briefs(&pvs), now());
                let words = Arc::make_mut(&mut self.table.words);
                some.iter().zip(briefs).for_each(|((row, _), brief)| chunk.fare(*row, brief, words, now));
            }
            self.walked[self.turn] = begun;
            self.turn += 1;
            walked += 1;
        }
        if walked > 0 {
            self.walk_cost = begun.elapsed() / walked as u32;
        }
        walked > 0
    }

    /// Reads what PVs take on disk, unless that is known well enough.
    fn size(&mut self, of: &Asked<'_>) {
        let is_old = |(read, cost): (Instant, Duration)| read.elapsed() >= SIZES_AFTER.max(cost * PATIENCE);
        if self.sized.is_some_and(|sized| !is_old(sized)) {
            return;
        }
        let begun = Instant::now();
        let sizes = of.storage.sizes();
        for chunk in &mut self.table.chunks {
            let chunk = Arc::make_mut(chunk);
            let of_chunk = Arc::make_mut(&mut chunk.sizes);
            for (row, pv) in chunk.known.pvs.iter().enumerate() {
                of_chunk.put(row, sizes.get(pv));
            }
        }
        self.sized = Some((begun, begun.elapsed()));
        self.table.number = 0;
    }

    /// The table for those who read it, with a number of its own if it is another one.
    fn show(&mut self, next: &mut u64) -> Arc<Table> {
        if self.table.number == 0 {
            // Those of another run of the archiver were others.
            *next = (*next + 1).max(now().nanos() as u64);
            (self.table.number, self.table.at, self.table.undescribed) = (*next, now(), self.undescribed.len());
            self.table.is_audit_unread = self.audit.is_unread();
            self.shown = Arc::new(self.table.clone());
        }
        self.shown.clone()
    }
}

/// The metadata of each of some PVs. What cannot be read is left out: it stands in the details of its PV why.
fn described(of: &Asked<'_>, pvs: &[PvId]) -> Vec<Option<Metadata>> {
    let may_have = of.query.may_have_metadata(pvs).unwrap_or_else(|_| vec![true; pvs.len()]);
    let newest = TimeRange { t0: now(), t1: Timestamp::MAX };
    let of_one = |(pv, may_have): (&PvId, bool)| {
        let found = may_have.then(|| of.query.metadata(*pv, newest).ok()).flatten();
        found.and_then(|mut found| found.pop()).map(|(_, metadata)| metadata)
    };
    pvs.iter().zip(may_have).map(of_one).collect()
}
