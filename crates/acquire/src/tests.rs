//! Acquisition against a sink that is a list: what is recorded, what is counted, and what the commands do.

use std::{
    iter,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use archive::{
    AddRequest, Added, By, Change, Connection, DataFate, EntriesOr, Group, Method, Mirror, Mirrored, OldName, Policies,
    Protocol, PvEntry, PvId, PvName, PvSettings, Record, Renaming, Roster, RuleName, Sink, UndoPlan, Unfinished,
    Wishes,
};
use epics::{Event, Key, Reading};
use sample::{GapCause, Timestamp};

use crate::{Acquire, Config, Control, acquire::now, lock::lock};

/// Keeps records in a list, and refuses them while told to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListSink {
    entries: Arc<Mutex<Vec<PvEntry>>>,
    groups: Arc<Mutex<Vec<Group>>>,
    pub(crate) records: Arc<Mutex<Vec<(PvId, Record)>>>,
    pub(crate) refuses: Arc<AtomicBool>,
    /// It takes nothing ever again.
    is_over: Arc<AtomicBool>,
    /// How many changes of the list were asked for.
    changes: Arc<AtomicUsize>,
    /// The latest time that came with records.
    alive: Arc<Mutex<Option<Timestamp>>>,
}

/// From here on are the PVs that a sink keeps for itself.
pub(crate) const OWN: u32 = 1 << 20;

/// The only way in which the list fails.
#[derive(Debug)]
pub(crate) struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the list was told to refuse")
    }
}

impl std::error::Error for Refused {}

impl Sink for ListSink {
    type Error = Refused;

    fn append(&self, records: &[(PvId, Record)], now: Timestamp) -> Result<(), Refused> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(Refused);
        }
        lock(&self.records).extend_from_slice(records);
        let mut alive = lock(&self.alive);
        *alive = alive.max(Some(now));
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

impl Roster for ListSink {
    fn find(&self, name: &str) -> Option<PvEntry> {
        lock(&self.entries).iter().find(|entry| entry.name.as_str() == name).cloned()
    }

    fn entries(&self) -> Vec<PvEntry> {
        lock(&self.entries).clone()
    }

    fn register(&self, pvs: &[(PvName, PvSettings)], by: &By) -> Result<Vec<PvEntry>, Refused> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        let mut entries = lock(&self.entries);
        let mut answers = Vec::new();
        for (name, settings) in pvs {
            let known = entries.iter().position(|entry| entry.name == *name);
            let index = known.unwrap_or(entries.len());
            let entry =
                PvEntry { id: PvId(index as u32), name: name.clone(), settings: settings.clone(), added: by.at };
            if known.is_some() {
                entries[index] = entry.clone();
            } else {
                entries.push(entry.clone());
            }
            answers.push(entry);
        }
        Ok(answers)
    }

    fn adopt(&self, pvs: &[(PvName, PvSettings)], by: &By, _: &str) -> Result<Vec<PvEntry>, Refused> {
        self.register(pvs, by)
    }

    fn groups(&self) -> Vec<Group> {
        lock(&self.groups).clone()
    }

    fn set_groups(&self, groups: &[Group], by: &By) -> Result<(), Refused> {
        for group in groups {
            self.remove_group(&group.name, by)?;
            lock(&self.groups).push(group.clone());
        }
        Ok(())
    }

    fn remove_group(&self, name: &RuleName, _: &By) -> Result<bool, Refused> {
        let mut groups = lock(&self.groups);
        let before = groups.len();
        groups.retain(|group| group.name != *name);
        Ok(groups.len() < before)
    }

    fn rename_all(&self, wanted: &[Renaming], _: OldName, _: &By) -> Result<Vec<EntriesOr<Refused>>, Refused> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        let mut entries = lock(&self.entries);
        let mut rename = |pv: PvId, to: &PvName| {
            let entry = &mut entries[pv.0 as usize];
            entry.name = to.clone();
            entry.clone()
        };
        let mut rename_all = |renaming: &Renaming| {
            let own = rename(renaming.pv, &renaming.to);
            iter::once(own).chain(renaming.fields.iter().map(|(field, to)| rename(*field, to))).collect()
        };
        Ok(wanted.iter().map(|renaming| Ok(rename_all(renaming))).collect())
    }

    fn unite(&self, pairs: &[(PvId, PvId)], _: &By) -> Result<Vec<Result<(), Refused>>, Refused> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        Ok(pairs.iter().map(|_| Ok(())).collect())
    }

    /// The list is the other one; it knows no aliases.
    fn mirror(&self, list: &Mirror, _: &By) -> Result<Mirrored, Refused> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        let former = std::mem::replace(&mut *lock(&self.entries), list.entries.clone());
        let out = former.iter().filter(|entry| list.entries.iter().all(|other| other.id != entry.id));
        let put = list.entries.iter().filter(|entry| !former.contains(entry));
        let (put, out) = (put.cloned().collect(), out.map(|entry| entry.id).collect());
        Ok(Mirrored { put, out, ..Mirrored::default() })
    }

    fn undo(&self, _: u64, _: &By) -> Result<UndoPlan, Refused> {
        Err(Refused)
    }

    fn remove(&self, _: &[PvId], _: DataFate, _: &By) -> Result<(), Refused> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        if self.refuses.load(Ordering::SeqCst) { Err(Refused) } else { Ok(()) }
    }

    fn restore_all(&self, wanted: &[(PvId, Option<PvName>)], _: &By) -> Result<Vec<Result<PvEntry, Refused>>, Refused> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        let entries = lock(&self.entries);
        Ok(wanted.iter().map(|(pv, _)| Ok(entries[pv.0 as usize].clone())).collect())
    }

    fn own(&self, names: &[PvName], _: Timestamp) -> Result<Vec<PvId>, Refused> {
        Ok((0..names.len() as u32).map(|n| PvId(OWN + n)).collect())
    }

    fn unfinished(&self) -> Unfinished {
        Unfinished::default()
    }
}

impl ListSink {
    pub(crate) fn samples(&self) -> usize {
        lock(&self.records).iter().map(|(_, record)| record.samples()).sum()
    }

    pub(crate) fn gaps(&self, pv: PvId) -> Vec<(GapCause, bool, u64)> {
        let gap = |(id, record): &(PvId, Record)| match record {
            Record::Gap(gap) if *id == pv => Some((gap.cause, gap.to.is_some(), gap.lost)),
            _ => None,
        };
        lock(&self.records).iter().filter_map(gap).collect()
    }
}

/// Acquisition whose clients have nowhere to search: events come from the test.
pub(crate) fn start(sink: &ListSink, queue_bytes_max: usize) -> Acquire<ListSink> {
    start_on_opened(sink, queue_bytes_max, now())
}

/// The same on a store that was opened at that time.
fn start_on_opened(sink: &ListSink, queue_bytes_max: usize, opened: Timestamp) -> Acquire<ListSink> {
    let ca = epics::ca::Config { auto_addresses: false, repeater_port: 1, ..epics::ca::Config::default() };
    let pva = epics::pva::Config { auto_addresses: false, ..epics::pva::Config::default() };
    let config = Config {
        default_protocol: Protocol::Ca,
        resolve_aliases: false,
        queue_bytes_max,
        policies: Policies::default(),
        groups: Vec::new(),
        ca,
        pva,
    };
    Acquire::start(config, sink.clone(), opened).unwrap()
}

/// Circuits are tasks of the network, which hold what they call.
#[tokio::test]
async fn nothing_holds_the_sink_of_acquisition_that_has_ended() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let (control, records) = (acquire.control(), Arc::downgrade(&sink.records));
    add(&control, "A", None);
    tokio::task::spawn_blocking(move || acquire.finish()).await.unwrap();
    assert!(control.iocs().is_empty(), "who still has the control is told of nothing");
    drop((control, sink));
    tokio::task::spawn_blocking(move || wait_until("the tasks have ended", || records.strong_count() == 0))
        .await
        .unwrap();
}

fn by() -> By {
    By::new("a test", now())
}

pub(crate) fn remove(control: &Control<ListSink>, pv: PvId) -> Change {
    control.remove(&[pv], DataFate::Keep, &by()).unwrap()[0]
}

fn request(name: &str, method: Option<Method>) -> AddRequest {
    let wishes = Wishes { method, ..Wishes::default() };
    AddRequest { wishes, ..AddRequest::new(PvName::new(name).unwrap()) }
}

pub(crate) fn add(control: &Control<ListSink>, name: &str, method: Option<Method>) -> (PvId, Added) {
    let request = request(name, method);
    let (entry, added) = control.add(vec![request], &by()).unwrap().remove(0);
    (entry.id, added)
}

fn update(value: f64) -> Event {
    let value = epics::Value::F64(value);
    Event::Updated(Reading {
        value,
        seconds: 1_700_000_000,
        nanos: 0,
        severity: 0,
        status: 0,
        message: None,
        user_tag: 0,
        overrun: false,
    })
}

pub(crate) fn wait_until(what: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !happened() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[tokio::test]
async fn updates_become_samples_and_every_one_is_counted() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, added) = add(&control, "A", None);
    assert_eq!(added, Added::New);
    for value in 0..1000 {
        acquire.shared().receive(Key(pv.0.into()), update(value.into()));
    }
    wait_until("all are stored", || sink.samples() == 1000);
    acquire.finish();
    let counters = control.status(pv).unwrap().counters;
    assert_eq!((counters.received, counters.stored, counters.queue_full), (1000, 1000, 0));
    assert_eq!(sink.gaps(pv), [(GapCause::NeverConnected, false, 0), (GapCause::NeverConnected, true, 0)]);
}

#[tokio::test]
async fn while_the_store_refuses_samples_wait_and_what_finds_no_room_is_a_gap() {
    let sink = ListSink::default();
    let acquire = start(&sink, 100_000);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    wait_until("the gap of the start is stored", || !sink.gaps(pv).is_empty());
    sink.refuses.store(true, Ordering::SeqCst);
    acquire.shared().receive(Key(pv.0.into()), update(0.0));
    wait_until("the writer was refused", || acquire.shared().buffer.is_refused());
    for value in 1..5000 {
        acquire.shared().receive(Key(pv.0.into()), update(value.into()));
    }
    sink.refuses.store(false, Ordering::SeqCst);
    let counters = || control.status(pv).unwrap().counters;
    wait_until("all are accounted for", || counters().stored + counters().store_refused == 5000);
    assert!(counters().store_refused > 0, "the queue was far too small for all");
    let lost = (GapCause::StoreRefused, true, counters().store_refused);
    wait_until("the loss is recorded", || sink.gaps(pv).contains(&lost));
    acquire.finish();
}

#[tokio::test]
async fn a_store_that_takes_nothing_ever_again_is_not_waited_for_at_the_end() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    wait_until("the gap of the start is stored", || !sink.gaps(pv).is_empty());
    sink.is_over.store(true, Ordering::SeqCst);
    sink.refuses.store(true, Ordering::SeqCst);
    acquire.shared().receive(Key(pv.0.into()), update(0.0));
    wait_until("the writer was refused", || acquire.shared().buffer.is_refused());
    let ending = Instant::now();
    acquire.finish();
    assert!(ending.elapsed() < Duration::from_secs(2), "it is offered the same again and again");
    assert_eq!(control.status(pv).unwrap().counters.store_refused, 1, "what it did not take is counted");
}

#[tokio::test]
async fn commands_done_twice_say_so_and_events_of_a_former_subscription_are_not_heard() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    assert_eq!(add(&control, "A", None), (pv, Added::Already));
    let scan = Some(Method::Scan { period: Duration::from_secs(5) });
    assert_eq!(add(&control, "A", scan), (pv, Added::Changed));
    assert_eq!(add(&control, "A", None), (pv, Added::Already), "what a request leaves open stays as it is");
    let pause = || control.pause(&[pv], &by()).unwrap()[0];
    assert_eq!((pause(), pause()), (Change::Done, Change::Already));
    assert_eq!(control.status(pv).unwrap().connection, Connection::Paused);
    acquire.shared().receive(Key(pv.0.into()), update(1.0));
    assert_eq!(control.status(pv).unwrap().counters.received, 0);
    let resume = || control.resume(&[pv], &by()).unwrap()[0];
    assert_eq!((resume(), resume()), (Change::Done, Change::Already));
    assert_eq!(remove(&control, pv), Change::Done);
    assert_eq!(remove(&control, pv), Change::Unknown);
    assert_eq!((control.status(pv), control.totals().pvs()), (None, 0));
    acquire.finish();
}

#[tokio::test]
async fn a_scanned_pv_is_sampled_when_its_period_is_over_without_a_further_update() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", Some(Method::Scan { period: Duration::from_millis(100) }));
    for value in 0..10 {
        acquire.shared().receive(Key(pv.0.into()), update(value.into()));
    }
    wait_until("the first and the newest are stored", || sink.samples() == 2);
    let newest = lock(&sink.records).iter().rev().find_map(|(_, record)| match record {
        Record::Samples(batch) => batch.values().f64_at(batch.len() - 1),
        Record::Sample(sample) => sample.value.as_f64(),
        _ => None,
    });
    assert_eq!(newest, Some(9.0));
    assert_eq!(control.status(pv).unwrap().counters.skipped, 8);
    acquire.finish();
}

#[tokio::test]
async fn a_pv_named_twice_in_a_request_is_acquired_as_the_store_has_it() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let method = Method::Scan { period: Duration::from_secs(5) };
    let named = |method| request("A", method);
    let added = acquire.control().add(vec![named(None), named(Some(method)), named(Some(method))], &by()).unwrap();
    let kinds: Vec<Added> = added.iter().map(|(_, added)| *added).collect();
    assert_eq!(kinds, [Added::New, Added::Changed, Added::Already]);
    let acquired = acquire.shared().with_channel(added[0].0.id, |channel| channel.entry.settings.clone()).unwrap();
    assert_eq!((acquired.method, acquired), (method, sink.entries()[0].settings.clone()));
    acquire.finish();
}

#[tokio::test]
async fn a_pv_that_cannot_be_removed_goes_on() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    sink.refuses.store(true, Ordering::SeqCst);
    assert!(control.remove(&[pv], DataFate::Keep, &by()).is_err());
    assert!(control.status(pv).is_some(), "the store still lists it");
    sink.refuses.store(false, Ordering::SeqCst);
    acquire.finish();
}

#[tokio::test]
async fn events_of_before_a_removal_are_not_heard_when_the_pv_is_back() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    assert_eq!(remove(&control, pv), Change::Done);
    assert_eq!(add(&control, "A", None), (pv, Added::New));
    acquire.shared().receive(Key(pv.0.into()), update(1.0));
    assert_eq!(control.status(pv).unwrap().counters.received, 0);
    acquire.finish();
}

/// A pattern may stand for a hundred thousand PVs, and each change of the store is synced.
#[tokio::test]
async fn many_pvs_are_paused_and_removed_in_one_change() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let names = ["A", "B", "C"].map(|name| request(name, None));
    let pvs: Vec<PvId> = control.add(names.to_vec(), &by()).unwrap().iter().map(|(entry, _)| entry.id).collect();
    control.pause(&pvs[..1], &by()).unwrap();
    let before = sink.changes.load(Ordering::SeqCst);
    assert_eq!(
        control.pause(&[pvs[0], pvs[1], pvs[2], PvId(99)], &by()).unwrap(),
        [Change::Already, Change::Done, Change::Done, Change::Unknown]
    );
    assert_eq!((control.totals().paused, control.totals().pvs()), (3, 3));
    assert_eq!(control.remove(&pvs, DataFate::Keep, &by()).unwrap(), [Change::Done; 3]);
    assert_eq!(sink.changes.load(Ordering::SeqCst) - before, 2);
    assert_eq!(control.totals().pvs(), 0);
    acquire.finish();
}

/// Ten thousand records may turn out to have other names within a second.
#[tokio::test]
async fn many_pvs_are_renamed_united_and_restored_in_one_change_each() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let names = ["A", "B", "C"].map(|name| request(name, None));
    let pvs: Vec<PvId> = control.add(names.to_vec(), &by()).unwrap().iter().map(|(entry, _)| entry.id).collect();
    let changes = || sink.changes.load(Ordering::SeqCst);
    let before = changes();
    let wanted = [(pvs[0], PvName::new("X").unwrap()), (pvs[1], PvName::new("Y").unwrap())];
    let renamed = control.rename_all(&wanted, OldName::Alias, &by()).unwrap();
    assert_eq!(renamed.iter().map(|entry| entry.as_ref().unwrap().name.as_str()).collect::<Vec<_>>(), ["X", "Y"]);
    assert_eq!(changes() - before, 1);
    control.unite(&[(pvs[1], pvs[0]), (pvs[2], pvs[0])], &by()).unwrap();
    assert_eq!((changes() - before, control.totals().pvs()), (2, 1));
    control.restore_all(&[(pvs[1], None), (pvs[2], None)], &by()).unwrap();
    assert_eq!((changes() - before, control.totals().pvs()), (3, 3));
    acquire.finish();
}

#[tokio::test]
async fn a_renamed_pv_is_searched_by_its_new_name_and_keeps_its_counts() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    acquire.shared().receive(Key(pv.0.into()), update(1.0));
    wait_until("it is stored", || sink.samples() == 1);
    let renamed = control.rename(pv, &PvName::new("B").unwrap(), OldName::Free, &by()).unwrap();
    assert_eq!((renamed.id, renamed.name.as_str()), (pv, "B"));
    assert_eq!(acquire.shared().with_channel(pv, |channel| channel.entry.name.to_string()), Some("B".to_owned()));
    acquire.shared().receive(Key(pv.0.into()), update(2.0));
    assert_eq!(control.status(pv).unwrap().counters.received, 1, "what comes for the old name is not heard");
    acquire.finish();
    assert_eq!(sink.gaps(pv).last(), Some(&(GapCause::NeverConnected, false, 0)), "until the new name answers");
}

/// What is neither before the beginning nor after the end that the store hears of lies in some gap.
#[tokio::test]
async fn no_moment_of_start_and_end_is_without_a_gap() {
    let sink = ListSink::default();
    let former = start(&sink, 1 << 20);
    let (pv, _) = add(&former.control(), "A", None);
    former.finish();
    lock(&sink.records).clear();
    let opened = now().saturating_sub(Duration::from_secs(30));
    let acquire = start_on_opened(&sink, 1 << 20, opened);
    wait_until("the gap of the start is stored", || !sink.gaps(pv).is_empty());
    assert!(matches!(lock(&sink.records)[0].1, Record::Gap(gap) if gap.from == opened));
    sink.refuses.store(true, Ordering::SeqCst);
    acquire.shared().receive(Key(pv.0.into()), update(0.0));
    wait_until("the writer was refused", || acquire.shared().buffer.is_refused());
    sink.refuses.store(false, Ordering::SeqCst); // the writer asks again in half a second, after the end
    let stopped = acquire.finish();
    assert_eq!(sink.samples(), 1, "what had arrived is handed over");
    assert!(*lock(&sink.alive) <= Some(stopped), "and is no sign of life later than the end");
}
