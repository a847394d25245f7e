//! The search under load: how much it sends, how soon, and whom it lets wait. Time is passed in.

use std::{
    collections::HashMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use epics::{
    Key,
    ca::{
        search::{Answer, Search},
        wire,
    },
};

const MAX_PERIOD: Duration = Duration::from_secs(300);

fn server() -> SocketAddr {
    "192.0.2.1:5064".parse().expect("an address")
}

/// Searches with a clock of its own.
struct Net {
    search: Search,
    start: Instant,
    now: Instant,
}

impl Net {
    fn new() -> Net {
        let now = Instant::now();
        Net { search: Search::new(MAX_PERIOD, now), start: now, now }
    }

    fn add(&mut self, keys: std::ops::Range<u64>) {
        for key in keys {
            self.search.add(Key(key), format!("LAB:PV{key}").into(), self.now);
        }
    }

    /// Lets time pass and returns when each search was sent, with the number and name it bore.
    fn run(&mut self, span: Duration) -> Vec<(Duration, u32, String)> {
        let end = self.now + span;
        let mut sent = Vec::new();
        let mut datagram = Vec::new();
        loop {
            while self.search.poll(self.now, &mut datagram) {
                assert!(datagram.len() <= 1024, "a datagram has {} bytes", datagram.len());
                let mut rest = &datagram[16..];
                while let Some((message, after)) = wire::next_message(rest).expect("own messages are well formed") {
                    let name = wire::text(message.payload);
                    sent.push((self.now - self.start, message.header.parameter1, name));
                    rest = after;
                }
            }
            match self.search.deadline() {
                Some(deadline) if deadline <= end => self.now = deadline.max(self.now + Duration::from_micros(10)),
                _ => break,
            }
        }
        self.now = end;
        sent
    }

    fn answer(&mut self, cid: u32) -> Vec<u64> {
        let mut found = Vec::new();
        let answer = Answer { cid, server: server(), version: 13 };
        self.search.answered(answer, self.now, &mut |key, _| found.push(key.0));
        found
    }
}

#[test]
fn waits_double_up_to_the_longest_period() {
    let mut net = Net::new();
    net.add(0..1);
    let times: Vec<f64> = net.run(Duration::from_secs(1500)).iter().map(|(time, ..)| time.as_secs_f64()).collect();
    let waits: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let expected = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 300.0, 300.0, 300.0];
    assert_eq!(waits.len(), expected.len(), "{waits:?}");
    for (wait, expected) in waits.iter().zip(expected) {
        assert!((wait - expected).abs() < 0.01, "{waits:?}");
    }
}

#[test]
fn twenty_five_thousand_names_are_all_asked_for_within_a_third_of_a_second() {
    let mut net = Net::new();
    net.add(0..25_000);
    let sent = net.run(Duration::from_millis(333));
    let mut names: Vec<&str> = sent.iter().map(|(.., name)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 25_000);
}

/// Names of any length that are added at once go out evenly: what comes in 40 ms fits an IOC's receive buffer of 200 kB. While each
/// name counted the same, long ones came five times as fast as it can hold.
#[test]
fn names_that_are_added_at_once_fit_the_receive_buffer_of_an_ioc() {
    for (length, most_seconds) in [(8, 0.3), (60, 0.5), (250, 1.4)] {
        let mut net = Net::new();
        for key in 0..20_000 {
            net.search.add(Key(key), format!("{key:0length$}").into(), net.now);
        }
        let sent = net.run(Duration::from_secs(3));
        let mut asked = std::collections::HashSet::new();
        let fresh: Vec<_> = sent.iter().filter(|(_, _, name)| asked.insert(name.clone())).collect();
        assert_eq!(fresh.len(), 20_000);
        let mut by_time = std::collections::BTreeMap::<u128, usize>::new();
        for (at, _, name) in &fresh {
            *by_time.entry(at.as_millis() / 40).or_default() += 16 + (name.len() + 1).next_multiple_of(8);
        }
        let most = *by_time.values().max().expect("some were sent");
        let last = fresh.iter().map(|(at, ..)| at.as_secs_f64()).fold(0.0, f64::max);
        assert!(most < 300_000 && last < most_seconds, "{length}: {most} bytes in 40 ms, the last after {last} s");
    }
}

#[test]
fn a_hundred_thousand_names_that_nobody_serves_are_no_storm() {
    let mut net = Net::new();
    net.add(0..100_000);
    net.run(Duration::from_secs(2));
    let per_second = |sent: &[(Duration, u32, String)], seconds: f64| sent.len() as f64 / seconds;
    let busy = per_second(&net.run(Duration::from_secs(60)), 60.0);
    assert!(busy < 5_100.0, "{busy} searches a second");
    net.run(Duration::from_secs(900));
    let calm = per_second(&net.run(Duration::from_secs(600)), 600.0);
    assert!(calm < 350.0, "{calm} searches a second");
}

#[test]
fn a_new_name_does_not_wait_for_those_that_nobody_serves() {
    let mut net = Net::new();
    net.add(0..100_000);
    net.run(Duration::from_secs(5));
    let added = net.now - net.start;
    net.add(100_000..100_001);
    let sent = net.run(Duration::from_millis(20));
    let (time, ..) = sent.iter().find(|(.., name)| name == "LAB:PV100000").expect("it is asked for");
    assert!(*time - added <= Duration::from_millis(5), "after {:?}", *time - added);
}

/// With more names than the allowance serves, the back-off must not favour any of them.
#[test]
fn all_names_have_their_turn() {
    let mut net = Net::new();
    net.add(0..50_000);
    let mut turns: HashMap<String, u32> = HashMap::new();
    for (.., name) in net.run(Duration::from_secs(120)) {
        *turns.entry(name).or_default() += 1;
    }
    let (least, most) = (turns.values().min().expect("some"), turns.values().max().expect("some"));
    assert_eq!(turns.len(), 50_000);
    assert!(most - least <= 1, "from {least} to {most} turns");
}

#[test]
fn the_first_reply_of_a_lost_server_brings_forward_all_its_names() {
    let mut net = Net::new();
    for key in 0..2_000 {
        net.search.add_again(Key(key), format!("LAB:PV{key}").into(), server(), 0, net.now);
    }
    // The server is away for an hour: its names wait five minutes each, but one is asked for every few seconds.
    net.run(Duration::from_secs(3600));
    let (time, cid, _) = net.run(Duration::from_millis(3300)).first().cloned().expect("the scout is asked for");
    assert_eq!(net.answer(cid).len(), 1);
    let sent = net.run(Duration::from_millis(100));
    assert!(sent.len() >= 1_999, "{} searches after the reply to that of {time:?}", sent.len());
}

#[test]
fn a_server_that_comes_up_may_have_any_name_but_does_not_start_a_storm() {
    let mut net = Net::new();
    net.add(0..20_000);
    net.run(Duration::from_secs(3600));
    for _ in 0..100 {
        net.search.hurry_all(net.now);
        net.run(Duration::from_millis(10));
    }
    let sent = net.run(Duration::from_secs(5));
    assert!(sent.len() > 20_000, "all are asked for: {}", sent.len());
    assert!(sent.len() < 26_000, "at the pace of repeats: {}", sent.len());
}

#[test]
fn a_server_that_comes_up_every_second_does_not_keep_the_search_awake() {
    let mut net = Net::new();
    net.add(0..100);
    net.run(Duration::from_secs(3600));
    let mut sent = 0;
    for _ in 0..60 {
        net.search.hurry_all(net.now);
        sent += net.run(Duration::from_secs(1)).len();
    }
    assert!(sent < 5_000, "{sent} searches in a minute");
}

#[test]
fn a_forgotten_name_is_not_asked_for_and_a_reply_to_it_finds_nobody() {
    let mut net = Net::new();
    net.add(0..1);
    let (_, cid, _) = net.run(Duration::from_millis(1)).first().cloned().expect("one search");
    net.search.remove(Key(0));
    assert!(net.run(Duration::from_secs(600)).is_empty());
    assert!(net.answer(cid).is_empty());
    assert_eq!(net.search.take_tally().late_replies, 1);
    assert_eq!(net.search.deadline(), None);
}
