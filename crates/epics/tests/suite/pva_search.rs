//! How hard the client searches: new names at once, unknown names without a storm, and everybody gets a turn.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use epics::{
    Key,
    pva::{
        message::SearchReply,
        search::{Request, Search},
    },
};

/// Runs the search for a while as its driver does, and returns what it sent when.
fn run(search: &mut Search, begin: Instant, duration: Duration) -> Vec<(Duration, Request)> {
    let mut sent = Vec::new();
    let mut now = begin;
    while now <= begin + duration {
        while let Some(request) = search.poll(now) {
            sent.push((now - begin, request));
        }
        let next = search.deadline(now).expect("names are wanted");
        assert!(next > now, "the driver would spin");
        now = next;
    }
    sent
}

fn add(search: &mut Search, keys: std::ops::Range<u64>, now: Instant) {
    for key in keys {
        search.add(Key(key), format!("SECTOR:{key:06}:VALUE").into(), now, Duration::ZERO);
    }
}

fn times_of(name: &str, sent: &[(Duration, Request)]) -> Vec<f64> {
    let holds = |request: &Request| request.names.iter().any(|wanted| &*wanted.name == name);
    sent.iter().filter(|(_, request)| holds(request)).map(|(at, _)| at.as_secs_f64()).collect()
}

#[test]
fn one_name_is_asked_for_at_once_and_then_more_and_more_rarely() {
    let (mut search, now) = (Search::default(), Instant::now());
    add(&mut search, 0..1, now);
    let times = times_of("SECTOR:000000:VALUE", &run(&mut search, now, Duration::from_secs(130)));
    assert_eq!(times, [0.0, 0.25, 0.75, 1.75, 3.75, 7.75, 15.75, 31.75, 61.75, 91.75, 121.75]);
}

#[test]
fn twenty_five_thousand_names_go_out_within_two_seconds() {
    let (mut search, now) = (Search::default(), Instant::now());
    add(&mut search, 0..25_000, now);
    let mut first = HashMap::new();
    for (at, request) in run(&mut search, now, Duration::from_secs(2)) {
        assert!(request.names.iter().map(|wanted| wanted.name.len() + 5).sum::<usize>() < 1400);
        for wanted in request.names {
            first.entry(wanted.name).or_insert(at);
        }
    }
    assert_eq!(first.len(), 25_000);
}

#[test]
fn a_hundred_thousand_unknown_names_are_no_storm_and_each_gets_its_turn() {
    let (mut search, now) = (Search::default(), Instant::now());
    add(&mut search, 0..100_000, now);
    // after half a minute all of them are old
    run(&mut search, now, Duration::from_secs(30));
    let later = now + Duration::from_secs(30);
    let sent = run(&mut search, later, Duration::from_secs(120));
    assert!(sent.len() <= 120 * 20 + 5, "{} datagrams in two minutes", sent.len());
    let names = sent.iter().flat_map(|(_, request)| &request.names).map(|wanted| &wanted.name);
    assert_eq!(names.collect::<std::collections::HashSet<_>>().len(), 100_000);
}

#[test]
fn a_new_name_does_not_wait_behind_a_hundred_thousand_unknown_ones() {
    let (mut search, now) = (Search::default(), Instant::now());
    add(&mut search, 0..100_000, now);
    run(&mut search, now, Duration::from_secs(30));
    let later = now + Duration::from_secs(30);
    search.add(Key(999_999), "NEW".into(), later, Duration::ZERO);
    let times = times_of("NEW", &run(&mut search, later, Duration::from_secs(1)));
    assert!(times[0] < 0.01, "{times:?}");
}

#[test]
fn a_name_that_is_found_or_given_up_is_not_asked_for_again() {
    let (mut search, now) = (Search::default(), Instant::now());
    add(&mut search, 0..3, now);
    let request = search.poll(now).expect("three names");
    let server = "0.0.0.0:5075".parse().expect("an address");
    let reply = SearchReply { guid: [1; 12], sequence: 1, server, found: true, ids: vec![request.names[1].id] };
    let sender = "192.0.2.7".parse().expect("an address");
    let found = search.reply(&reply, sender, now).expect("a wanted name");
    assert_eq!((found.keys, found.server), (vec![Key(1)], "192.0.2.7:5075".parse().expect("an address")));
    assert_eq!(search.reply(&reply, sender, now), None);
    search.remove(Key(2));
    let sent = run(&mut search, now, Duration::from_secs(60));
    assert!(
        sent.iter().all(|(_, request)| request.names.len() == 1 && &*request.names[0].name == "SECTOR:000000:VALUE")
    );
}

#[test]
fn a_server_that_was_started_makes_old_names_fresh_once() {
    let (mut search, now) = (Search::default(), Instant::now());
    add(&mut search, 0..1, now);
    run(&mut search, now, Duration::from_secs(100));
    let later = now + Duration::from_secs(100);
    search.beacon([1; 12], 0, later);
    let again = later + Duration::from_secs(1);
    // the same beacon comes every 15 s and says nothing new
    search.beacon([1; 12], 0, again);
    let times = times_of("SECTOR:000000:VALUE", &run(&mut search, later, Duration::from_secs(10)));
    assert_eq!(times, [0.0, 1.0, 3.0, 7.0]);
}

#[test]
fn a_reply_of_a_server_that_was_started_again_makes_its_other_names_fresh() {
    let (mut search, now) = (Search::default(), Instant::now());
    add(&mut search, 0..2, now);
    let sent = run(&mut search, now, Duration::from_secs(100));
    let later = now + Duration::from_secs(100);
    let server = "0.0.0.0:5075".parse().expect("an address");
    let ids = vec![sent[0].1.names[0].id];
    let reply = SearchReply { guid: [1; 12], sequence: 1, server, found: true, ids };
    assert!(search.reply(&reply, "192.0.2.7".parse().expect("an address"), later).is_some());
    let times = times_of("SECTOR:000001:VALUE", &run(&mut search, later, Duration::from_secs(5)));
    assert_eq!(times, [0.0, 1.0, 3.0]);
}
