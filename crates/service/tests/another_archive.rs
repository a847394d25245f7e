//! Another archive behind the service: lists in memory, without a store and without acquisition. What is asked is answered from them, what
//! is ordered is done to them, and what somebody may not see stays unseen.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use archive::{
    Action, AddRequest, Added, AuditRecord, Brief, By, Change, Connection, Cost, Curator, DataFate, Deletion,
    Directory, DirectoryError, Extent, Fault, FieldName, Group, GroupStatus, Health, ImportedPart, Intake, Key,
    KeyedBy, LookAtMemo, Manual, Memo, MemoKind, MemoText, Method, NameKind, Named, Names, Numbered, OldName, Orders,
    Partition, Plan, Policies, Principal, Protocol, Purge, Purged, PvEntry, PvId, PvName, PvSettings, PvSize, PvState,
    Record, Right, RuleName, Rulebook, SampleStream, Source, SourceError, Standing, Status, Storage, Totals,
    Unanswered, Watermark,
    ledger::{Account, Trouble},
};
use query::{Before, Query, Request};
use sample::{Alarm, Batch, Metadata, Sample, TimeRange, Timestamp, Value};
use service::{
    Ask, AuditWanted, Behind, Brought, Budget, Code, Meant, Pattern, PolicySource, PvsWanted, Rights, Service, Short,
};

/// What the archive has.
#[derive(Debug, Default)]
struct Shelf {
    entries: BTreeMap<PvId, PvEntry>,
    aliases: BTreeMap<PvName, PvId>,
    /// A number a second from the beginning of 1970.
    samples: BTreeMap<PvId, Vec<f64>>,
    audit: Vec<AuditRecord>,
    /// For these nobody answers.
    silent: BTreeSet<PvId>,
    /// By number from 0 on; of the last ones another node has taken that are not known here before it is looked for them.
    memos: Vec<Memo>,
    unread: Vec<Memo>,
}

/// The archive, and how often it was asked for PVs one by one and in pages.
#[derive(Clone, Debug, Default)]
struct Shelves {
    shelf: Arc<Mutex<Shelf>>,
    single: Arc<AtomicUsize>,
    pages: Arc<AtomicUsize>,
}

fn at(seconds: usize) -> Timestamp {
    Timestamp::from_seconds(seconds as i64, 0)
}

fn name(text: &str) -> PvName {
    PvName::new(text).expect("it is a name")
}

impl Shelves {
    /// With PVs of these names, which have as many samples as their names have letters.
    fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Shelves {
        let shelves = Shelves::default();
        names.into_iter().for_each(|text| _ = shelves.enter(name(text)));
        shelves
    }

    fn enter(&self, name: PvName) -> PvEntry {
        let mut shelf = self.shelf.lock().expect("nobody panics");
        let id = PvId(shelf.entries.len() as u32);
        let settings = PvSettings::plain(Protocol::Pva, Method::Monitor, PvState::Active);
        shelf.samples.insert(id, (0..name.as_str().len()).map(|number| number as f64).collect());
        let entry = PvEntry { id, name, settings, added: at(0) };
        shelf.entries.insert(id, entry.clone());
        entry
    }

    /// From now on nobody answers for the PV of that name, or somebody does again.
    fn silence(&self, name: &str, is_silent: bool) {
        let pv = self.find(name).expect("it is there").id;
        let mut shelf = self.shelf.lock().expect("nobody panics");
        _ = if is_silent { shelf.silent.insert(pv) } else { shelf.silent.remove(&pv) };
    }

    fn read<T>(&self, read: impl FnOnce(&Shelf) -> T) -> T {
        read(&self.shelf.lock().expect("nobody panics"))
    }

    fn set_state(&self, pvs: &[PvId], state: PvState, action: Action, by: &By) -> Vec<Change> {
        let mut shelf = self.shelf.lock().expect("nobody panics");
        let mut set = |pv: &PvId| {
            let Some(entry) = shelf.entries.get_mut(pv) else { return Change::Unknown };
            entry.settings.state = state;
            let line = AuditRecord::of_pv(action, by, entry, "");
            let number = shelf.audit.len() as u64;
            shelf.audit.push(AuditRecord { number, ..line });
            Change::Done
        };
        pvs.iter().map(&mut set).collect()
    }

    /// The service over it.
    fn service(&self) -> Arc<Service> {
        let behind = Behind::new(Query::over(self.clone()), self.clone(), self.clone(), self.clone());
        Service::new(behind, PolicySource::default(), "shelves".to_owned())
    }

    /// Somebody who asks, and may do that.
    fn asked_with(&self, rights: Rights) -> Ask {
        let lease = Arc::new(Budget::new(64 << 20).lease());
        Ask::new(self.service(), Principal::here("a librarian"), lease, || false).with_rights(rights)
    }

    fn asked(&self) -> Ask {
        self.asked_with(Rights::everywhere(Some(Right::Administer)))
    }
}

/// What it cannot do.
fn unable<T>() -> Result<T, DirectoryError> {
    Err(DirectoryError { fault: Fault::NotNow, message: "lists in memory do not do that".to_owned() })
}

impl Source for Shelves {
    fn name(&self) -> &str {
        "lists in memory"
    }

    fn keyed_by(&self) -> KeyedBy {
        KeyedBy::Number
    }

    fn samples(&self, key: Key<'_>, range: TimeRange) -> SampleStream {
        let numbers = self.read(|shelf| shelf.samples.get(&key.number()?).cloned()).unwrap_or_default();
        let all = numbers.iter().enumerate().map(|(second, number)| sample(second, *number));
        let batch = all.filter(|sample| range.contains(sample.time)).map(|sample| Ok(Batch::of(&sample)));
        Box::new(batch.collect::<Vec<_>>().into_iter())
    }

    fn last_before(&self, key: Key<'_>, time: Timestamp) -> Result<Option<Sample>, SourceError> {
        if key.number().is_some_and(|pv| self.read(|shelf| shelf.silent.contains(&pv))) {
            return Err(SourceError { cost: Cost::UntilBack, message: "nobody has that shelf".to_owned() });
        }
        let all = TimeRange { t0: Timestamp::MIN, t1: Timestamp::MAX };
        let batches = self.samples(key, all).collect::<Result<Vec<Batch>, _>>()?;
        Ok(batches.iter().map(|batch| batch.get(0)).rfind(|sample| sample.time <= time))
    }

    fn extent(&self, key: Key<'_>) -> Result<Option<Extent>, SourceError> {
        let count = self.read(|shelf| Some(shelf.samples.get(&key.number()?)?.len())).filter(|count| *count > 0);
        Ok(count.map(|count| Extent { first: at(0), last: at(count - 1), samples: count as u64 }))
    }

    fn pvs(&self, found: &mut dyn FnMut(PvName) -> ControlFlow<()>) -> Result<(), SourceError> {
        let names: Vec<PvName> = self.read(|shelf| shelf.entries.values().map(|entry| entry.name.clone()).collect());
        _ = names.into_iter().try_for_each(found);
        Ok(())
    }
}

fn sample(second: usize, number: f64) -> Sample {
    Sample { time: at(second), value: Value::F64(number), alarm: Alarm::default(), pulse: 0, stamp: None }
}

impl Directory for Shelves {
    fn find(&self, name: &str) -> Option<PvEntry> {
        self.read(|shelf| {
            let own = shelf.entries.values().find(|entry| entry.name.as_str() == name);
            let alias = || shelf.aliases.iter().find(|(alias, _)| alias.as_str() == name);
            own.or_else(|| shelf.entries.get(alias()?.1)).cloned()
        })
    }

    fn entry(&self, pv: PvId) -> Option<PvEntry> {
        self.single.fetch_add(1, Relaxed);
        self.read(|shelf| shelf.entries.get(&pv).cloned())
    }

    fn entries_of(&self, pvs: &[Option<PvId>]) -> Vec<Option<PvEntry>> {
        self.pages.fetch_add(1, Relaxed);
        self.read(|shelf| pvs.iter().map(|pv| shelf.entries.get(&(*pv)?).cloned()).collect())
    }

    fn names(&self) -> Names {
        self.read(|shelf| {
            let named = |name: &PvName, pv: PvId, kind: NameKind| Named { name: name.clone(), pv, kind };
            let own = shelf.entries.values().map(|entry| named(&entry.name, entry.id, NameKind::Own));
            let aliases = shelf.aliases.iter().map(|(alias, pv)| named(alias, *pv, NameKind::Alias));
            Names::of(own.chain(aliases).collect())
        })
    }

    fn aliases_of(&self, pv: PvId) -> Vec<PvName> {
        self.read(|shelf| shelf.aliases.iter().filter(|(_, of)| **of == pv).map(|(alias, _)| alias.clone()).collect())
    }

    fn audit(&self, before: u64, limit: usize) -> Result<Vec<AuditRecord>, DirectoryError> {
        let lines =
            |shelf: &Shelf| shelf.audit.iter().rev().filter(|line| line.number < before).take(limit).cloned().collect();
        Ok(self.read(lines))
    }

    fn memos(&self, before: u64, look: &mut LookAtMemo<'_>) -> Result<(), DirectoryError> {
        let found = self.read(|shelf| shelf.memos.clone());
        _ = found.into_iter().rev().filter(|memo| memo.number < before).all(look);
        Ok(())
    }

    fn look_again(&self, at: Numbered) -> Result<(), DirectoryError> {
        assert_eq!(at, Numbered::Memo);
        let mut shelf = self.shelf.lock().expect("nobody panics");
        let unread = std::mem::take(&mut shelf.unread);
        shelf.memos.retain(|memo| unread.iter().all(|news| news.number != memo.number));
        shelf.memos.extend(unread);
        Ok(())
    }
}

impl Storage for Shelves {
    fn health(&self) -> Health {
        Health::default()
    }

    fn watermark(&self) -> Watermark {
        let appended = self.read(|shelf| shelf.samples.values().map(Vec::len).sum::<usize>() as u64);
        Watermark { appended, durable: 0 }
    }

    fn partitions(&self) -> Vec<Partition> {
        Vec::new()
    }

    fn sizes(&self) -> HashMap<PvId, PvSize> {
        HashMap::new()
    }
}

impl Curator for Shelves {
    fn decide_upon(&self, _: &[PvId], _: DataFate, _: &By) -> Result<(), DirectoryError> {
        unable()
    }

    fn add_aliases(
        &self,
        wanted: &[(PvId, PvName)],
        _: &By,
    ) -> Result<Vec<Result<(), DirectoryError>>, DirectoryError> {
        let add = |(pv, alias): &(PvId, PvName)| {
            if self.find(alias.as_str()).is_some() {
                return Err(DirectoryError { fault: Fault::NameTaken, message: format!("{alias} is taken") });
            }
            self.shelf.lock().expect("nobody panics").aliases.insert(alias.clone(), *pv);
            Ok(())
        };
        Ok(wanted.iter().map(add).collect())
    }

    fn remove_alias(&self, _: PvId, _: &PvName, _: &By) -> Result<(), DirectoryError> {
        unable()
    }

    fn delete_range(&self, _: PvId, _: TimeRange, _: &By) -> Result<Deletion, DirectoryError> {
        unable()
    }

    fn restore_range(&self, _: u64, _: &By) -> Result<Deletion, DirectoryError> {
        unable()
    }

    fn purgeable(&self, _: Purge) -> Result<Purged, DirectoryError> {
        Ok(Purged::default())
    }

    fn purge(&self, _: Purge, _: &By) -> Result<Purged, DirectoryError> {
        Ok(Purged::default())
    }

    fn put_memos(&self, memos: &[(Option<Memo>, MemoText)], by: &By) -> Result<Vec<Memo>, DirectoryError> {
        let newest = |former: &Memo| {
            let is_it = |memo: &&Memo| memo.number == former.number;
            self.read(|shelf| shelf.unread.iter().chain(&shelf.memos).find(is_it) == Some(former))
        };
        let now = |(former, text): &(Option<Memo>, MemoText)| {
            let known = former.as_ref().filter(|former| newest(former));
            let changed = || DirectoryError { fault: Fault::InTheWay, message: "it changed".to_owned() };
            let known = known.ok_or_else(changed)?;
            Ok(Memo { text: text.clone(), changed: Some(by.clone()), ..known.clone() })
        };
        memos.iter().map(now).collect()
    }

    fn note(&self, _: Action, _: &str, _: &By) -> Result<(), DirectoryError> {
        unable()
    }

    fn import(&self, name: &str, _: &By) -> Result<Box<dyn Intake>, DirectoryError> {
        if name == "late" { Ok(Box::new(NothingEntered)) } else { unable() }
    }
}

/// An import that nothing may be entered into.
struct NothingEntered;

impl Intake for NothingEntered {
    fn part(&self, _: &str) -> Result<Option<ImportedPart>, DirectoryError> {
        Ok(None)
    }

    fn append(&mut self, _: &[(PvId, Record)]) -> Result<(), DirectoryError> {
        unable()
    }

    fn finish_part(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        panic!("{part} passes for taken")
    }

    fn finish_part_unverified(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        panic!("{part} passes for taken")
    }

    fn verified(&self, part: &str) -> Result<(), DirectoryError> {
        panic!("{part} passes for taken")
    }
}

/// What an import brings.
struct Lines(Batch);

impl Brought for Lines {
    fn name(&self) -> &'static str {
        "A:late"
    }

    fn batches(&self) -> &[Batch] {
        std::slice::from_ref(&self.0)
    }

    fn field(&self, _: &FieldName) -> Option<Lines> {
        None
    }

    fn facts(&self, _: Timestamp, _: Option<Metadata>) -> Vec<Record> {
        Vec::new()
    }
}

impl Orders for Shelves {
    fn add(&self, requests: Vec<AddRequest>, _: &By) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
        Ok(requests.into_iter().map(|request| (self.enter(request.name), Added::New)).collect())
    }

    fn foresee(&self, _: Vec<AddRequest>) -> Result<Vec<Added>, DirectoryError> {
        unable()
    }

    /// They are entered, and the list does not show them yet.
    fn enter_paused(&self, names: Vec<PvName>, _: &By) -> Result<usize, DirectoryError> {
        Ok(names.len())
    }

    fn enter_fields(&self, _: &[(PvEntry, FieldName)], _: &By) -> Result<(), DirectoryError> {
        unable()
    }

    fn pause(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError> {
        Ok(self.set_state(pvs, PvState::Paused, Action::Paused, by))
    }

    fn resume(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError> {
        Ok(self.set_state(pvs, PvState::Active, Action::Resumed, by))
    }

    fn remove(&self, _: &[PvId], _: DataFate, _: &By) -> Result<Vec<Change>, DirectoryError> {
        unable()
    }

    fn rename(&self, _: PvId, _: &PvName, _: OldName, _: &By) -> Result<PvEntry, DirectoryError> {
        unable()
    }

    fn restore_all(
        &self,
        _: &[(PvId, Option<PvName>)],
        _: &By,
    ) -> Result<Vec<Result<PvEntry, DirectoryError>>, DirectoryError> {
        Ok(Vec::new()) // as nobody should answer: with no row for the PV that was asked for
    }
}

impl Rulebook for Shelves {
    fn policies(&self) -> Policies {
        Policies::default()
    }

    fn plan(&self, _: &Policies, _: Manual) -> Plan {
        Plan::default()
    }

    fn apply(&self, _: &Policies, _: Manual, _: &By) -> Result<Plan, DirectoryError> {
        unable()
    }

    fn groups(&self) -> Vec<GroupStatus> {
        Vec::new()
    }

    fn group(&self, _: &RuleName) -> Option<GroupStatus> {
        None
    }

    fn groups_that_differ(&self, _: &[Group]) -> Vec<RuleName> {
        Vec::new()
    }

    fn apply_groups(&self, _: &[Group]) -> Vec<RuleName> {
        Vec::new()
    }

    fn set_group(&self, _: &Group, _: &By) -> Result<Option<()>, DirectoryError> {
        unable()
    }

    fn make_groups(&self, _: Vec<Group>, _: &By) -> Result<(), DirectoryError> {
        unable()
    }

    fn remove_group(&self, _: &RuleName, _: &By) -> Result<Option<Change>, DirectoryError> {
        unable()
    }
}

impl Standing for Shelves {
    fn status(&self, _: PvId) -> Option<Status> {
        None
    }

    fn briefs(&self, pvs: &[PvId]) -> Vec<Option<Brief>> {
        vec![None; pvs.len()]
    }

    fn unanswered(&self) -> Vec<Unanswered> {
        let silent: Vec<PvId> = self.read(|shelf| shelf.silent.iter().copied().collect());
        silent.into_iter().filter_map(|pv| self.unanswered_of(pv)).collect()
    }

    fn unanswered_of(&self, pv: PvId) -> Option<Unanswered> {
        let part = || format!("shelf {}", pv.0);
        self.read(|shelf| shelf.silent.contains(&pv)).then(|| Unanswered {
            part: part(),
            names: Some(1),
            why: "nobody has that shelf".to_owned(),
        })
    }

    fn totals(&self) -> Totals {
        Totals { searching: self.read(|shelf| shelf.entries.len() as u64), ..Totals::default() }
    }

    fn description(&self, _: PvId, _: Timestamp) -> Option<String> {
        None
    }

    fn open_account(&self, _: PvId) -> Option<(Timestamp, Account)> {
        None
    }

    fn trouble(&self, _: Timestamp) -> Trouble {
        Trouble::default()
    }

    fn recall(&self, _: Timestamp, _: Trouble) {}
}

/// The names that a list shows of the PVs that a glob fits.
fn listed(ask: &Ask, glob: &str, state: Option<Connection>) -> Vec<String> {
    let pattern = Pattern::glob(glob, &ask.lease).expect("it is a glob");
    let page = ask.pvs(&PvsWanted { pattern, state, offset: 0, limit: 100 }).expect("it is listed");
    page.map(|row| row.expect("it is answered").name.to_string()).collect()
}

fn all_names(ask: &Ask) -> Vec<String> {
    ask.all_names().map(|name| name.to_string()).collect()
}

#[test]
fn lists_details_and_samples_come_from_whatever_stands_behind() {
    let ask = Shelves::of(["B:2", "A:1", "A:10"]).asked();
    assert_eq!(all_names(&ask), ["A:1", "A:10", "B:2"]);
    assert_eq!(listed(&ask, "A:*", None), ["A:1", "A:10"]);
    let entry = ask.pv("A:10").expect("it is there");
    let details = ask.details(&entry).expect("it is there");
    assert_eq!(details.row.last, Some(sample(3, 3.0)));
    assert_eq!(details.extent, Some(Extent { first: at(0), last: at(3), samples: 4 }));
    let request = Request { series: entry.id.into(), range: TimeRange::ALL, before: Before::None };
    let rows: usize =
        ask.samples(&request).expect("they may be seen").map(|batch| batch.expect("it is there").len()).sum();
    assert_eq!(rows, 4);
    let status = ask.status();
    assert_eq!((status.watermark.appended, status.totals.pvs()), (10, 3));
    assert_eq!(ask.pv("A:11").expect_err("it is not there").code(), Code::UnknownPv);
}

#[test]
fn orders_are_carried_out_behind_it_under_the_name_of_who_gives_them() {
    let shelves = Shelves::of(["A:1", "A:2"]);
    let ask = shelves.asked();
    let pv = ask.pv("A:2").expect("it is there").id;
    assert_eq!(ask.pause(&[pv]).expect("it may be paused"), [Change::Done]);
    assert_eq!(listed(&ask, "*", Some(Connection::Paused)), ["A:2"]);
    let audit = ask.audit(&AuditWanted::newest(10)).expect("it may be read").lines;
    let told: Vec<_> = audit.iter().map(|line| (line.action, line.name.as_str(), line.by.who.established())).collect();
    assert_eq!(told, [(Action::Paused, "A:2", "a librarian")]);
    ask.add_alias(pv, &name("SECOND")).expect("the name is free");
    assert_eq!(ask.find("SECOND").map(|entry| entry.id), Some(pv));
    assert_eq!(listed(&ask, "SEC*", None), ["SECOND"]);
    ask.add(vec![AddRequest::new(name("A:3"))]).expect("it may be added");
    assert_eq!(all_names(&ask), ["A:1", "A:2", "A:3", "SECOND"]);
}

#[test]
fn what_stands_behind_refuses_in_its_own_words() {
    let ask = Shelves::of(["A:1", "A:2"]).asked();
    let pv = ask.pv("A:1").expect("it is there").id;
    let taken = ask.add_alias(pv, &name("A:2")).expect_err("the name is taken");
    assert_eq!((taken.code(), taken.message()), (Code::Conflict, "A:2 is taken"));
    let unable = ask.remove(&[pv], DataFate::Keep).expect_err("lists remove nothing");
    assert_eq!((unable.code(), unable.message()), (Code::StoreRefused, "lists in memory do not do that"));
    let unable = ask.import("old", "part 1", None).err().expect("lists import nothing");
    assert_eq!(unable.code(), Code::StoreRefused);
    let untold = ask.restore(pv, None).expect_err("nobody says what became of it");
    assert_eq!(untold.code(), Code::Internal);
}

#[test]
fn a_part_of_an_import_does_not_pass_for_taken_where_the_list_does_not_show_its_pvs_yet() {
    let shelves = Shelves::of(["A:1", "A:2"]);
    let bring =
        || shelves.asked().import("late", "part 1", None).unwrap().take(vec![Lines(Batch::of(&sample(1, 2.0)))]);
    let refusal = bring().map(|_| ()).unwrap_err();
    assert_eq!(refusal.code(), Code::StoreRefused);
    assert!(refusal.message().contains("A:late was entered"), "{refusal}");
}

#[test]
fn who_may_see_some_pvs_hears_of_no_others() {
    let shelves = Shelves::of(["A:1", "A:2", "B:1"]);
    let of_a = |name: &str| name.starts_with("A:").then_some(Right::Read);
    let ask = shelves.asked_with(Rights::everywhere(None).or_by_name(of_a));
    assert_eq!(all_names(&ask), ["A:1", "A:2"]);
    assert_eq!(listed(&ask, "*", None), ["A:1", "A:2"]);
    assert_eq!(ask.all_pvs().count(), 2);
    let (hidden, absent) = (ask.pv("B:1").expect_err("it is not seen"), ask.pv("B:2").expect_err("it is not there"));
    assert_eq!((hidden.code(), hidden.message().replace("B:1", "B:2")), (absent.code(), absent.message().to_owned()));
    let number = |text: &str| shelves.find(text).expect("it is there").id;
    let codes = ["A:1", "B:1"].map(|text| ask.pause(&[number(text)]).expect_err("it may not").code());
    assert_eq!(codes, [Code::RightMissing, Code::UnknownPv]);
    assert!(shelves.read(|shelf| shelf.audit.is_empty()), "nothing was done");
}

#[test]
fn long_lists_are_asked_for_a_page_at_a_time() {
    let names: Vec<String> = (0..5000).map(|number| format!("PV:{number:04}")).collect();
    let shelves = Shelves::of(names.iter().map(String::as_str));
    let ask = shelves.asked();
    assert_eq!(ask.all_pvs().map(|entry| entry.name.to_string()).collect::<Vec<_>>(), names);
    let pages = Directory::names(&shelves).chunks().len();
    assert_eq!((shelves.pages.load(Relaxed), shelves.single.load(Relaxed)), (pages, 0));
    assert!(pages < 20, "{pages} pages");
    let some = Rights::everywhere(None).or_by_name(|name| name.ends_with('7').then_some(Right::Read));
    assert_eq!(shelves.asked_with(some).all_pvs().count(), 500);
    assert_eq!((shelves.pages.load(Relaxed), shelves.single.load(Relaxed)), (2 * pages, 0));
}

fn names(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn where_nobody_answers_for_some_pvs_the_others_are_told_and_the_answer_says_of_which_nothing_is() {
    let shelves = Shelves::of(["A:1", "A:2", "A:3"]);
    shelves.silence("A:2", true);
    let (ask, asked_for) = (shelves.asked(), names(&["A:1", "A:2", "A:4"]));
    let meant = ask.meant(&asked_for, Short::Said).expect("the others are told");
    assert!(matches!(&meant[0], Meant::Series(entry, _) if entry.name.as_str() == "A:1"), "{meant:?}");
    assert!(matches!(&meant[1], Meant::Untold(why) if why == "nobody has that shelf"), "{meant:?}");
    assert!(matches!(meant[2], Meant::Nothing), "{meant:?}");
    assert_eq!(ask.noted().len(), 1);
    assert_eq!(ask.made_without(), ["without shelf 1 (1 names): nobody has that shelf"]);

    let ask = shelves.asked();
    let refusal = ask.meant(&asked_for, Short::Refused).expect_err("all are wanted, or nothing");
    let told = "1 of the 3 PVs cannot be told, A:2: shelf 1: nobody has that shelf";
    assert_eq!((refusal.code(), refusal.message()), (Code::StoreRefused, told));
    assert_eq!(ask.made_without(), Vec::<String>::new());
}

#[test]
fn a_pv_whose_node_is_back_in_a_moment_is_not_missing() {
    let shelves = Shelves::of(["A:1", "A:2"]);
    shelves.silence("A:2", true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            shelves.silence("A:2", false);
        });
        let ask = shelves.asked();
        let meant = ask.meant(&names(&["A:1", "A:2"]), Short::Said).expect("they are there");
        assert!(meant.iter().all(|meant| matches!(meant, Meant::Series(..))), "{meant:?}");
        assert_eq!(ask.noted(), []);
    });
}

#[test]
fn a_pv_that_is_lost_while_an_answer_is_made_is_left_out_until_the_answer_has_said_what_it_is_made_without() {
    let shelves = Shelves::of(["A:1", "A:2"]);
    let ask = shelves.asked();
    let value = |text: &str| {
        let entry = ask.pv(text).expect("it is there");
        ask.told(&entry, || ask.last_before(&entry.id.into(), Timestamp::MAX))
    };
    assert_eq!(value("A:1").expect("it is told"), Ok(Some(sample(2, 2.0))));
    shelves.silence("A:1", true);
    assert_eq!(value("A:1").expect("the answer can say so"), Err("nobody has that shelf".to_owned()));
    assert_eq!(ask.made_without().len(), 1);
    assert_eq!(value("A:1").expect("it was said"), Err("nobody has that shelf".to_owned()));
    shelves.silence("A:2", true);
    assert_eq!(value("A:2").expect_err("it would stay unsaid").code(), Code::StoreRefused);
}

#[test]
fn a_note_that_another_node_wrote_a_moment_ago_is_there_and_is_changed_as_it_is_now() {
    let shelves = Shelves::default();
    let by = By::new(Principal::here("somebody else"), at(0));
    let memo = |number: u64, text: &str| {
        let text = MemoText {
            kind: MemoKind::Note,
            name: String::new(),
            text: text.to_owned(),
            query: String::new(),
            pvs: Vec::new(),
            from: None,
            to: None,
            origin: String::new(),
        };
        Memo { number, text, made: by.clone(), changed: None }
    };
    let learn = |memo: Memo| shelves.shelf.lock().expect("nobody panics").unread.push(memo);
    let ask = shelves.asked();
    learn(memo(0, "first"));
    assert_eq!(ask.memo(MemoKind::Note, 0).expect("it is there").text.text, "first");
    let unknown = ask.memo(MemoKind::Note, 1).expect_err("nobody wrote it");
    assert_eq!(unknown.code(), Code::UnknownPv);
    learn(memo(0, "written over elsewhere"));
    let changed = ask.change_memo(0, memo(0, "here").text).expect("of the one that is there now");
    assert_eq!((changed.text.text.as_str(), changed.changed.is_some()), ("here", true));
}
