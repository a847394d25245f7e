//! Imports: samples of the past, part by part. A part that is known by its name is not taken again, and none of a part counts if a row
//! of it is refused. What many PVs bring is read back from the store and compared sample by sample.

use std::collections::{BTreeMap, HashMap, HashSet};

use archive::{
    AddRequest, DataFate, DirectoryError, Fault, FieldName, GapScope, ImportedPart, Intake, NotTaken, PvEntry, PvId,
    PvName, PvState, Record, Right,
};
use query::{Before, Request};
use sample::{Batch, Metadata, Sample, TimeRange, Timestamp};

use crate::{
    ask::Ask,
    clock::now,
    refusal::{Code, Refusal, Untaken, first_few, shortened},
};

/// An import hands over up to this many rows of one PV together,
const GATHERED_ROWS: usize = 1024;
/// and a row with more bytes than this alone.
const GATHERED_BYTES: usize = 1024;
/// A refusal names at most this many PVs in its sentence.
const NAMED_MAX: usize = 5;
/// What a sample takes besides its value while it is compared.
const SAMPLE_BYTES: usize = 128;

/// A part of an import that is about to be taken.
pub struct Import {
    ask: Ask,
    import: Box<dyn Intake>,
    part: String,
    known: Option<ImportedPart>,
}

/// A row that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// Its number, as whoever sends it counts.
    pub number: usize,
    /// Why not.
    pub why: String,
}

impl From<RefusedRow> for Refusal {
    fn from(RefusedRow { number, why }: RefusedRow) -> Refusal {
        Refusal::new(Code::BadRequest, format!("line {number}: {why}"))
    }
}

/// What an import brings of one PV.
pub trait Brought: Sized {
    /// The name of the PV.
    fn name(&self) -> &str;
    /// Its samples.
    fn batches(&self) -> &[Batch];
    /// What its samples carry of a field of its record, as a PV of its own; none if they carry nothing of it.
    fn field(&self, name: &FieldName) -> Option<Self>;
    /// What is to be entered of it besides samples, where so much is known of the PV at the time of its first one.
    fn facts(&self, first: Timestamp, known: Option<Metadata>) -> Vec<Record>;
}

/// What became of what many PVs brought.
#[derive(Clone, Debug)]
pub struct Taken {
    /// What was entered.
    pub part: ImportedPart,
    /// How many samples came.
    pub received: usize,
    /// How many of them the store gives now.
    pub verified: u64,
    /// How many it does not.
    pub missing: u64,
    /// The first of these, as its PV and time.
    pub first_missing: Option<String>,
    /// Names that no PV can have, and why.
    pub names_refused: Vec<String>,
}

/// A PV that is taken over from another archiver with its settings.
#[derive(Clone, Debug)]
pub struct TakenOver {
    /// How it is to be archived.
    pub request: AddRequest,
    /// Whether it was archived there.
    pub state: PvState,
    /// What is known of its values.
    pub metadata: Metadata,
}

impl Ask {
    /// A part of an import of many PVs, known by its name, or by another one that an older program gave it.
    ///
    /// Whoever may not operate all PVs has names of parts for themselves: nobody makes others believe that what they bring was taken before.
    pub fn import(&self, name: &str, part: &str, known_as: Option<&str>) -> Result<Import, Refusal> {
        if self.may_with_all(Right::Operate) {
            return self.import_known(name, part, known_as);
        }
        let own = |part: &str| format!("{part} by {}", self.established());
        self.import_known(name, &own(part), known_as.map(own).as_deref())
    }

    fn import_known(&self, name: &str, part: &str, known_as: Option<&str>) -> Result<Import, Refusal> {
        let ask = self.at_once();
        let import = ask.listed().behind.curator.import(name, &ask.by())?;
        let known = match (import.part(part)?, known_as) {
            (None, Some(other)) => import.part(other)?,
            (found, _) => found,
        };
        Ok(Import { ask, import, part: part.to_owned(), known })
    }

    /// The same of one PV: the same name means another part for another PV.
    pub fn import_of_pv(
        &self,
        entry: &PvEntry,
        name: &str,
        part: &str,
        known_as: Option<&str>,
    ) -> Result<Import, Refusal> {
        self.needs(Right::Operate, entry.id)?;
        let of_this_pv = |part: &str| format!("{part} of PV {}", entry.id.0);
        self.import_known(name, &of_this_pv(part), known_as.map(of_this_pv).as_deref())
    }

    /// Puts the samples of one PV to those of another, whose alias it becomes; gives how many they were. What was recorded of the first
    /// one is kept where it is until it is purged.
    pub fn append_pv(&self, older: &PvEntry, newer: &PvEntry) -> Result<u64, Refusal> {
        let curator = self.ordered(Right::Administer, &[older.id, newer.id])?.curator;
        curator.may_be_alias(newer.id, &older.name).map_err(|error| self.failed(error))?;
        let name = format!("append {} to {}", older.name, newer.name);
        // Each time anew: the older PV may have come back and recorded more; what is there already is dropped as a repeat.
        let mut import = self.import(&name, &now().to_string(), None)?;
        for (since, metadata) in self.metadata(older.id, TimeRange::ALL)? {
            import.enter(newer.id, Record::Metadata(since, metadata.into()))?;
        }
        for (scope, gap) in self.own_gaps(older.id, TimeRange::ALL)? {
            if scope == GapScope::Pv && gap.to.is_some() {
                import.enter(newer.id, Record::Gap(gap))?;
            }
        }
        let request = Request { series: older.id.into(), range: TimeRange::ALL, before: Before::None };
        for batch in self.samples(&request)? {
            import.enter(newer.id, Record::Samples(batch?))?;
        }
        let samples = import.import.finish_part(&import.part)?.samples;
        import.ask.remove(&[older.id], DataFate::Keep)?;
        import.ask.add_alias(newer.id, &older.name)?;
        Ok(samples)
    }
}

impl Import {
    /// What the part brought if it was taken before.
    pub fn known(&self) -> Option<&ImportedPart> {
        self.known.as_ref()
    }

    /// Enters something of a PV.
    fn enter(&mut self, pv: PvId, record: Record) -> Result<(), Refusal> {
        self.ask.needs(Right::Operate, pv)?;
        Ok(self.import.append(&[(pv, record)])?)
    }

    /// Takes samples of a PV, up to the first row that is refused.
    pub fn take_samples(
        mut self,
        entry: &PvEntry,
        rows: impl Iterator<Item = Result<Sample, RefusedRow>>,
    ) -> Result<ImportedPart, Refusal> {
        if let Some(NotTaken { why, .. }) = self.import.not_taken(&[entry.id]).pop() {
            let mut untaken = Untaken { pv: entry.name.to_string(), samples: 0, times: None };
            rows.flatten().for_each(|sample| count(&mut untaken, sample.time));
            return Err(untaken_now(why, vec![untaken]));
        }
        let mut gathered: Option<Batch> = None;
        for row in rows {
            let one = Batch::of(&row?);
            let is_large = one.byte_size() > GATHERED_BYTES;
            let fits = |batch: &mut Batch| !is_large && batch.len() < GATHERED_ROWS && batch.extend_from(&one, 0..1);
            if gathered.as_mut().is_some_and(fits) {
                continue;
            }
            if let Some(batch) = gathered.take() {
                self.enter(entry.id, Record::Samples(batch))?;
            }
            if is_large {
                self.enter(entry.id, Record::Samples(one))?;
            } else {
                gathered = Some(one);
            }
        }
        if let Some(batch) = gathered {
            self.enter(entry.id, Record::Samples(batch))?;
        }
        Ok(self.import.finish_part(&self.part)?)
    }

    /// Takes what many PVs bring. Those that are not in the list yet are entered, paused, and so are fields that come with them.
    pub fn take<B: Brought>(mut self, mut brought: Vec<B>) -> Result<Taken, Refusal> {
        let (mut pvs, names_refused) = self.enter_pvs(&brought)?;
        self.needs_takers(&brought, &pvs)?;
        let fields = self.enter_fields(&brought, &mut pvs)?;
        brought.extend(fields);
        for of in &brought {
            if let Some(pv) = pvs.get(of.name()) {
                // A part of many PVs is refused for one of them: which.
                self.enter_all(*pv, of).map_err(|refusal| refusal.within(of.name()))?;
            }
        }
        // Only what was found again is known by its name: anything else may come again.
        let part = self.import.finish_part_unverified(&self.part)?;
        let compared = self.compare(&brought, &pvs)?;
        if compared.missing == 0 {
            self.import.verified(&self.part)?;
        }
        let received = brought.iter().flat_map(B::batches).map(Batch::len).sum();
        let Compared { verified, missing, first_missing } = compared;
        Ok(Taken { part, received, verified, missing, first_missing, names_refused })
    }

    /// Takes PVs over, paused; gives how many are new, and those that are to be archived from now on if somebody says so.
    pub fn take_over(mut self, infos: &[TakenOver]) -> Result<(usize, Vec<PvId>), Refusal> {
        // Paused at first, so that their fields come with the samples that carry them, or when they are archived.
        let news = self.ask.enter_paused(infos.iter().map(|info| info.request.name.clone()).collect())?;
        let added = self.ask.add(infos.iter().map(|info| info.request.clone()).collect())?;
        let mut wanted = Vec::new();
        for (info, (entry, _)) in infos.iter().zip(&added) {
            let is_new = self.ask.own_metadata(entry.id, TimeRange::ALL)?.is_empty();
            if is_new && info.metadata != Metadata::default() {
                // It says what nothing else says: whatever the files say, of whatever time, stands behind it.
                self.enter(entry.id, Record::Metadata(Timestamp::default(), info.metadata.clone().into()))?;
            }
            wanted.extend((info.state == PvState::Active).then_some(entry.id));
        }
        self.import.finish_part(&self.part)?;
        Ok((news, wanted))
    }

    /// The numbers of all PVs named; those that are not in the list yet are entered, paused. Names that cannot be are told.
    fn enter_pvs<B: Brought>(&self, brought: &[B]) -> Result<(HashMap<String, PvId>, Vec<String>), Refusal> {
        let (mut names, mut refused) = (BTreeMap::new(), Vec::new());
        for name in brought.iter().map(B::name) {
            match PvName::new(name) {
                Ok(valid) => _ = names.insert(name.to_owned(), valid),
                Err(error) => refused.push(format!("{name:?}: {error}")),
            }
        }
        refused.dedup();
        if let Err(refusal) = self.ask.enter_paused(names.values().cloned().collect()) {
            let is_new = |name: &str| names.contains_key(name) && self.ask.find(name).is_none();
            return Err(refusal.not_taken(untaken_of(brought, is_new)));
        }
        let found = names.into_keys().map(|name| Ok((name.clone(), self.entered(&name)?)));
        Ok((found.collect::<Result<_, Refusal>>()?, refused))
    }

    /// An error that says which PVs of the part nobody takes at present, and how many samples of each; nothing of the part is taken then.
    fn needs_takers<B: Brought>(&mut self, brought: &[B], pvs: &HashMap<String, PvId>) -> Result<(), Refusal> {
        for (name, pv) in pvs {
            self.ask.needs(Right::Operate, *pv).map_err(|refusal| refusal.within(name))?;
        }
        let wanted: Vec<PvId> = brought.iter().filter_map(|of| pvs.get(of.name())).copied().collect();
        let mut lacking = self.import.not_taken(&wanted);
        // What no waiting helps with is told first.
        lacking.sort_by_key(|of| of.why.fault == Fault::NotNow);
        let pvs_lacking: HashSet<PvId> = lacking.iter().flat_map(|of| of.pvs.iter().copied()).collect();
        let is_lacking = |name: &str| pvs.get(name).is_some_and(|pv| pvs_lacking.contains(pv));
        match lacking.into_iter().next() {
            Some(first) => Err(untaken_now(first.why, untaken_of(brought, is_lacking))),
            None => Ok(()),
        }
    }

    /// The number of a PV that was entered just now. A list may be behind, as that of a shard which another node of a cluster has: what the
    /// part brings of the PV would then be left out, and the part pass for taken.
    fn entered(&self, name: &str) -> Result<PvId, Refusal> {
        if let Some(entry) = self.ask.find(name) {
            return Ok(entry.id);
        }
        let name = shortened(name);
        let message =
            format!("{name} was entered, and the list of PVs does not show it yet: nothing of this part is taken");
        Err(Refusal::new(Code::StoreRefused, message).hint("send the part again"))
    }

    /// What samples carry of the fields that are archived with their PVs, each as a PV of its own. Fields that no sample carries are not
    /// entered.
    fn enter_fields<B: Brought>(&self, brought: &[B], pvs: &mut HashMap<String, PvId>) -> Result<Vec<B>, Refusal> {
        let (mut found, mut owners) = (Vec::<B>::new(), Vec::new());
        for of in brought {
            let owner = pvs.get(of.name()).and_then(|pv| self.ask.entry(*pv));
            let Some(owner) = owner else { continue };
            for field in &owner.settings.rules().fields {
                let Some(of_field) = of.field(field) else { continue };
                // A PV of that name which the other archiver, or somebody here, archived for itself has samples of its own.
                let known = self.ask.find(of_field.name());
                if known.is_some_and(|known| !known.settings.rules().is_field) {
                    continue;
                }
                self.ask.lease.grow_by(of_field.batches().iter().map(Batch::len).sum(), SAMPLE_BYTES)?;
                found.push(of_field);
                owners.push((owner.clone(), field.clone()));
            }
        }
        let of_fields: Vec<PvId> = owners.iter().map(|(owner, _)| owner.id).collect();
        self.ask.ordered(Right::Operate, &of_fields)?.orders.enter_fields(&owners, &self.ask.by())?;
        let names = found.iter().map(|of| of.name().to_owned());
        for name in names {
            let pv = self.entered(&name)?;
            pvs.insert(name, pv);
        }
        Ok(found)
    }

    fn enter_all(&mut self, pv: PvId, of: &impl Brought) -> Result<(), Refusal> {
        let Some(first) = of.batches().first().and_then(|batch| batch.times().iter().min().copied()) else {
            return Ok(());
        };
        let known = self.ask.own_metadata(pv, TimeRange { t0: first, t1: next(first) })?.pop();
        for record in of.facts(first, known.map(|(_, metadata)| metadata)) {
            self.enter(pv, record)?;
        }
        for batch in of.batches() {
            self.enter(pv, Record::Samples(batch.clone()))?;
        }
        Ok(())
    }

    /// Looks for every sample that came among those that the store gives now.
    fn compare<B: Brought>(&self, brought: &[B], pvs: &HashMap<String, PvId>) -> Result<Compared, Refusal> {
        let mut by_pv: BTreeMap<&str, Vec<&Batch>> = BTreeMap::new();
        for of in brought {
            by_pv.entry(of.name()).or_default().extend(of.batches());
        }
        let mut compared = Compared::default();
        for (name, batches) in by_pv {
            let Some(pv) = pvs.get(name) else { continue };
            let mut came: Vec<(Timestamp, usize, usize)> = Vec::new();
            for (index, batch) in batches.iter().enumerate() {
                came.extend(batch.times().iter().enumerate().map(|(row, time)| (*time, index, row)));
            }
            came.sort_unstable();
            let (Some((t0, ..)), Some((t1, ..))) = (came.first(), came.last()) else { continue };
            let mut stored = Stored::new(self.ask.own_samples(*pv, TimeRange { t0: *t0, t1: next(*t1) })?);
            for (time, index, row) in came {
                let Some(batch) = batches.get(index) else { continue };
                if stored.has(&batch.get(row))? {
                    compared.verified += 1;
                } else {
                    compared.missing += 1;
                    compared.first_missing.get_or_insert_with(|| format!("{name} {time}"));
                }
            }
        }
        Ok(compared)
    }
}

/// What a part has of the PVs that are meant, by name.
fn untaken_of<B: Brought>(brought: &[B], is_meant: impl Fn(&str) -> bool) -> Vec<Untaken> {
    let mut untaken: BTreeMap<&str, Untaken> = BTreeMap::new();
    for of in brought.iter().filter(|of| is_meant(of.name())) {
        let row = Untaken { pv: of.name().to_owned(), samples: 0, times: None };
        let row = untaken.entry(of.name()).or_insert(row);
        of.batches().iter().flat_map(Batch::times).for_each(|time| count(row, *time));
    }
    untaken.into_values().collect()
}

fn count(untaken: &mut Untaken, time: Timestamp) {
    untaken.samples += 1;
    let (first, last) = untaken.times.unwrap_or((time, time));
    untaken.times = Some((first.min(time), last.max(time)));
}

/// That nothing of a part is taken, for want of whoever takes these.
fn untaken_now(why: DirectoryError, untaken: Vec<Untaken>) -> Refusal {
    let one = |of: &Untaken| format!("{} ({})", of.pv, of.samples);
    let named = first_few(untaken.iter().map(one), NAMED_MAX, ", ");
    let DirectoryError { fault, message } = why;
    let message = format!("{message}; nothing of this part is entered, which has samples of {named} that wait for it");
    Refusal::from(DirectoryError { fault, message }).not_taken(untaken)
}

fn next(time: Timestamp) -> Timestamp {
    Timestamp::from_nanos(time.nanos().saturating_add(1))
}

/// What reading back found.
#[derive(Default)]
struct Compared {
    verified: u64,
    missing: u64,
    first_missing: Option<String>,
}

/// The samples of the store, to be looked through in order of time.
struct Stored {
    samples: query::Samples,
    batch: Option<(Batch, usize)>,
    /// Those of the time that was looked at last.
    group: Vec<Sample>,
}

impl Stored {
    fn new(samples: query::Samples) -> Stored {
        Stored { samples, batch: None, group: Vec::new() }
    }

    /// Whether a sample is there, to the last bit. Samples must be asked for in order of time.
    fn has(&mut self, sample: &Sample) -> Result<bool, Refusal> {
        if self.group.first().is_none_or(|one| one.time != sample.time) {
            self.group.clear();
            while let Some(time) = self.time()?.filter(|time| *time <= sample.time) {
                let Some((batch, row)) = &mut self.batch else { break };
                if time == sample.time {
                    self.group.push(batch.get(*row));
                }
                *row += 1;
            }
        }
        Ok(self.group.iter().any(|one| one.identical(sample)))
    }

    /// The time of the next one.
    fn time(&mut self) -> Result<Option<Timestamp>, Refusal> {
        loop {
            if let Some((batch, row)) = &self.batch
                && let Some(time) = batch.times().get(*row)
            {
                return Ok(Some(*time));
            }
            match self.samples.next().transpose()? {
                Some(batch) => self.batch = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}
