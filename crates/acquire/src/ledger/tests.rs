//! The ledger against losses that are made on purpose: each is in the rows, under its cause, and every update is accounted for.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use archive::{LEDGER_SHARES, Method, PvId, Record, ledger_share};
use epics::{Event, Key, Reading};
use sample::{Timestamp, Value};

use super::{Account, Occasion, Origin, RowHead, account_in, bytes};
use crate::{
    Acquire,
    acquire::now,
    lock::lock,
    tests::{ListSink, OWN, add, remove, start, wait_until},
};

/// What is injected of each cause.
const LOSSES: u64 = 100_000;

/// An update as an IOC sends it now, or so many seconds from now.
fn update(seconds: i64, overrun: bool) -> Event {
    let (seconds, nanos) = match seconds {
        i64::MIN => (631_152_000, 0),
        ahead => now().saturating_add(Duration::from_secs(ahead.max(0).cast_unsigned())).seconds_and_nanos(),
    };
    let value = epics::Value::F64(1.0);
    Event::Updated(Reading { value, seconds, nanos, severity: 0, status: 0, message: None, user_tag: 0, overrun })
}

const NEVER_SET: i64 = i64::MIN;

/// An event for a PV that was added once: the subscriptions are numbered as the PVs are.
fn send(acquire: &Acquire<ListSink>, pv: PvId, event: Event) {
    acquire.shared().receive(Key(u64::from(pv.0) << 32 | u64::from(pv.0)), event);
}

/// Sends updates until so many are lost as are to be.
fn lose(acquire: &Acquire<ListSink>, pv: PvId, lost: impl Fn() -> u64) {
    let mut sent = 0;
    while lost() < LOSSES {
        send(acquire, pv, update(0, false));
        sent += 1;
        assert!(sent < 2 * LOSSES, "only {} of {sent} updates were lost", lost());
    }
}

/// Each row that tells of a PV's share, in the order in which they were written.
fn rows(sink: &ListSink, scale: usize, pv: PvId) -> Vec<(Timestamp, RowHead, Option<Account>)> {
    let own = PvId(OWN + (scale * LEDGER_SHARES + ledger_share(pv)) as u32);
    let records = lock(&sink.records);
    let rows = records.iter().filter_map(|(id, record)| match record {
        Record::LedgerRow(row) if *id == own => {
            let (head, account) = account_in(bytes(row).unwrap(), row.time, pv).unwrap();
            Some((row.time, head, account))
        }
        _ => None,
    });
    rows.collect()
}

fn total(sink: &ListSink, scale: usize, pv: PvId) -> Account {
    let mut total = Account::default();
    for (_, _, account) in rows(sink, scale, pv) {
        let account = account.unwrap_or_default();
        assert!(account.adds_up(), "{account:?}");
        total += account;
    }
    total
}

#[tokio::test]
async fn a_hundred_thousand_losses_of_every_cause_are_in_the_rows() {
    let sink = ListSink::default();
    let acquire = start(&sink, 50_000);
    let control = acquire.control();
    let pvs: BTreeMap<&str, PvId> = ["queue", "store", "overrun", "never", "ahead", "backward"]
        .into_iter()
        .map(|name| (name, add(&control, name, None).0))
        .collect();
    wait_until("the gaps of the start are stored", || !sink.gaps(pvs["backward"]).is_empty());
    let counters = |name: &str| control.status(pvs[name]).unwrap().counters;
    // A full queue, while the writer has not been refused yet and cannot go on.
    let blocked = lock(&sink.records);
    lose(&acquire, pvs["queue"], || counters("queue").queue_full);
    drop(blocked);
    wait_until("the queue is empty", || acquire.shared().buffer.fill().0 == 0);
    sink.refuses.store(true, Ordering::SeqCst);
    send(&acquire, pvs["store"], update(0, false));
    wait_until("the writer was refused", || acquire.shared().buffer.is_refused());
    lose(&acquire, pvs["store"], || counters("store").store_refused);
    sink.refuses.store(false, Ordering::SeqCst);
    wait_until("the queue is empty", || acquire.shared().buffer.fill().0 == 0);
    send(&acquire, pvs["backward"], update(500, false));
    for n in 0..LOSSES {
        // Stamps are counted whether or not their samples find room.
        send(&acquire, pvs["overrun"], update(0, true));
        send(&acquire, pvs["never"], update(NEVER_SET, false));
        send(&acquire, pvs["ahead"], update(86_400, false));
        send(&acquire, pvs["backward"], update(0, false));
        send(&acquire, pvs["backward"], update(500, false));
        if n % 1000 == 0 {
            acquire.shared().keep_ledger(now(), Occasion::End); // as at the end of a minute
        }
    }
    acquire.finish();
    let is = |name: &str, expected: fn(&Account) -> u64| {
        let account = total(&sink, 0, pvs[name]);
        assert_eq!(account, total(&sink, 1, pvs[name]), "hours and minutes say the same of {name}");
        assert_eq!(account.received, counters(name).received, "{name}");
        assert_eq!(account.stored, stored(&sink, pvs[name]), "{name}");
        expected(&account)
    };
    assert_eq!(is("queue", |account| account.queue_full), LOSSES);
    assert_eq!(is("store", |account| account.store_refused), LOSSES);
    assert_eq!(is("overrun", |account| account.overruns), LOSSES);
    assert_eq!(is("never", |account| account.never_set), LOSSES);
    assert_eq!(is("ahead", |account| account.ahead), LOSSES);
    assert_eq!(is("backward", |account| account.backward), LOSSES);
    let told = control.trouble(now());
    let sums = pvs.values().map(|pv| total(&sink, 0, *pv)).fold(Account::default(), |mut sum, of| {
        sum += of;
        sum
    });
    let expected = (sums.queue_full, sums.store_refused, sums.overruns, 0);
    assert_eq!((told.of.queue_full, told.of.store_refused, told.of.overruns, told.of.rate_capped), expected);
    assert!(told.lossy_pvs > 0 && told.suspected_pvs == 0, "{told:?}");
}

/// A log that is replayed after a kill has the samples, but nothing of those that were lost.
#[tokio::test]
async fn losses_are_in_a_row_soon_after_they_are_over() {
    let sink = ListSink::default();
    let acquire = start(&sink, 50_000);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    wait_until("the gap of the start is stored", || !sink.gaps(pv).is_empty());
    for lost in [LOSSES, 2 * LOSSES] {
        let counted = || control.status(pv).unwrap().counters.queue_full;
        let blocked = lock(&sink.records);
        while counted() < lost {
            send(&acquire, pv, update(0, false));
        }
        drop(blocked);
        wait_until("the losses are in rows", || total(&sink, 0, pv).queue_full == lost);
        assert_eq!(total(&sink, 0, pv).stored, stored(&sink, pv), "and what was stored before them");
    }
    acquire.finish();
}

#[tokio::test]
async fn what_is_open_and_the_rows_before_it_tell_of_every_update_while_minutes_end() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..1000 {
                acquire.shared().keep_ledger(now(), Occasion::End);
                std::thread::sleep(Duration::from_micros(700));
            }
        });
        for sent in 1..200 {
            send(&acquire, pv, update(0, false));
            let (since, open) = control.open_account(pv).expect("it is acquired");
            let before = rows(&sink, 0, pv).into_iter().filter(|(_, head, _)| head.until <= since);
            let told: u64 = before.filter_map(|(_, _, account)| account).map(|account| account.received).sum();
            assert_eq!(told + open.received, sent);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    assert!(rows(&sink, 0, pv).len() > 20, "minutes have ended");
    acquire.finish();
}

#[tokio::test]
async fn an_update_that_waits_for_its_period_is_told_as_waiting_until_it_is_stored_or_passed_over() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let (pv, _) = add(&acquire.control(), "A", Some(Method::Scan { period: Duration::from_secs(3600) }));
    let page = || acquire.shared().keep_ledger(now(), Occasion::End);
    for events in [3, 2, 0] {
        (0..events).for_each(|_| send(&acquire, pv, update(0, false)));
        page();
    }
    acquire.finish();
    let told: Vec<(u64, u64, u64, i64)> = rows(&sink, 0, pv)
        .into_iter()
        .filter_map(|(_, _, account)| account)
        .map(|account| (account.received, account.stored, account.skipped, account.waiting))
        .collect();
    assert_eq!(told, [(3, 1, 1, 1), (2, 0, 2, 0), (0, 1, 0, -1)]);
    assert_eq!(total(&sink, 1, pv), Account { received: 5, stored: 2, skipped: 3, ..Account::default() });
}

#[tokio::test]
async fn what_a_pv_counted_that_left_the_archive_is_told_and_also_when_it_came_back_at_once() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let control = acquire.control();
    let (pv, _) = add(&control, "A", None);
    let generation = |times: u64| Key(times << 32 | u64::from(pv.0));
    acquire.shared().receive(generation(0), update(0, false));
    remove(&control, pv);
    add(&control, "A", None);
    acquire.shared().receive(generation(1), update(0, false));
    acquire.finish();
    assert_eq!(total(&sink, 0, pv), Account::usual(2));
    assert_eq!(total(&sink, 1, pv), Account::usual(2));
}

#[tokio::test]
async fn rows_follow_each_other_without_a_break() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 20);
    let (pv, _) = add(&acquire.control(), "A", None);
    for minute in 1..=3 {
        send(&acquire, pv, update(0, false));
        acquire.shared().keep_ledger(now(), Occasion::End); // as at the end of a minute
        wait_until("there is a row", || rows(&sink, 0, pv).len() >= minute);
    }
    let stopped = acquire.finish();
    let rows = rows(&sink, 0, pv);
    assert!(rows.windows(2).all(|pair| pair[0].1.until == pair[1].0), "{rows:?}");
    assert_eq!(rows.last().unwrap().1, RowHead { until: stopped, origin: Origin::Counted });
    let samples = || -> Vec<bool> {
        let records = lock(&sink.records);
        records
            .iter()
            .filter(|(id, record)| *id == pv || matches!(record, Record::LedgerRow(_)))
            .map(|(id, _)| *id == pv)
            .collect()
    };
    assert!(samples().contains(&true) && !samples().last().unwrap(), "rows come behind the samples that they count");
}

/// After a kill the samples behind the last row are counted anew, so what lies before a row must be what it counts: no more, no less.
#[tokio::test]
async fn a_row_counts_what_lies_before_it_also_while_samples_come_from_all_sides() {
    let sink = ListSink::default();
    let acquire = start(&sink, 1 << 30);
    let control = acquire.control();
    let pvs: Vec<PvId> = (0..256).map(|n| add(&control, &format!("P{n}"), None).0).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for share in pvs.chunks(128) {
            let (acquire, is_over) = (&acquire, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    share.iter().for_each(|pv| send(acquire, *pv, update(0, false)));
                }
            });
        }
        (0..500).for_each(|_| acquire.shared().keep_ledger(now(), Occasion::End));
        is_over.store(true, Ordering::SeqCst);
    });
    acquire.finish();
    let mut behind: BTreeMap<PvId, u64> = BTreeMap::new();
    let mut compared = 0;
    for (id, record) in lock(&sink.records).iter() {
        let Record::LedgerRow(row) = record else {
            *behind.entry(*id).or_default() += record.samples() as u64;
            continue;
        };
        let share = (id.0 - OWN) as usize;
        for pv in pvs.iter().filter(|pv| ledger_share(**pv) == share) {
            let told = account_in(bytes(row).unwrap(), row.time, *pv).unwrap().1.map_or(0, |account| account.stored);
            assert_eq!(told, behind.remove(pv).unwrap_or_default(), "of {pv:?} at {}", row.time);
            compared += told;
        }
    }
    assert!(compared > 0 && behind.values().all(|samples| *samples == 0), "{compared} compared, left are {behind:?}");
}

#[test]
fn what_the_log_had_behind_the_last_row_becomes_a_row() {
    let at = Timestamp::from_nanos;
    let (pv, other) = (PvId(5), PvId(5 + LEDGER_SHARES as u32));
    let samples = BTreeMap::from([(pv, 7), (other, 9)]);
    let row = |fact: super::Fact| match fact {
        super::Fact::LedgerRow(row) => {
            let (head, account) = account_in(bytes(&row).unwrap(), row.time, other).unwrap();
            (row.time, head.until, head.origin, account)
        }
        other => panic!("{other:?}"),
    };
    let last = super::row(RowHead { until: at(1000), origin: Origin::Counted }, at(500), &[]);
    let super::Fact::LedgerRow(last) = last else { panic!("a row is what it is") };
    assert!(matches!(last.value, Value::Array(_)));
    let share = |last: Option<&sample::Sample>, is_whole| archive::UnfinishedShare {
        last_row: last.cloned(),
        is_whole,
        samples: samples.clone(),
    };
    let told = Some(Account::usual(9));
    let unfinished = |began| archive::Unfinished { began: Some(at(began)), ..Default::default() };
    let of = |share: &archive::UnfinishedShare| super::rebuilt(share, &unfinished(300), at(1500)).map(row);
    assert_eq!(of(&share(Some(&last), true)), Some((at(1000), at(1500), Origin::Rebuilt, told)));
    let part = Some((at(1000), at(1500), Origin::RebuiltInPart, told));
    assert_eq!(of(&share(Some(&last), false)), part, "some were not counted");
    assert_eq!(of(&share(None, true)), Some((at(300), at(1500), Origin::Rebuilt, told)), "there never was a row");
    let started = super::rebuilt(&share(Some(&last), true), &unfinished(1200), at(1500)).map(row);
    assert_eq!(started, Some((at(1200), at(1500), Origin::Rebuilt, told)), "it was started after the last row");
    // An orderly end leaves nothing to tell.
    let nothing = archive::UnfinishedShare { samples: BTreeMap::new(), ..share(Some(&last), true) };
    assert!(super::rebuilt(&nothing, &unfinished(300), at(1000)).is_none());
    assert!(super::rebuilt(&nothing, &unfinished(300), at(1500)).is_some(), "a silent minute is told of too");
}

fn stored(sink: &ListSink, pv: PvId) -> u64 {
    let records = lock(&sink.records);
    records.iter().filter(|(id, _)| *id == pv).map(|(_, record)| record.samples() as u64).sum()
}
