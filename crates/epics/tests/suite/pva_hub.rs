//! Our pvAccess server, message by message: what it refuses, what it answers, and any bytes from a client.

use crate::pva_hub_begin;

use std::time::{Duration, Instant};

use epics::pva::{
    Monitor, Tree, TypeRegistry,
    message::{self, Message},
    server::{CircuitId, Hub, ServerPv, Settings},
    wire::{BitSet, HEADER_BYTES, Header, put_message},
};
use proptest::{collection::vec, prelude::*};
use pva_hub_begin::{PORT, begin, bytes, hub, sent};

/// The messages that the server sends, as commands with their payloads.
fn messages(mut stream: &[u8]) -> Vec<(Header, Vec<u8>)> {
    let mut found = Vec::new();
    while !stream.is_empty() {
        let (head, rest) = stream.split_at(HEADER_BYTES);
        let header = Header::decode(head).expect("a header");
        let (payload, rest) = rest.split_at(header.payload_bytes());
        found.push((header, payload.to_vec()));
        stream = rest;
    }
    found
}

fn say(hub: &mut Hub, circuit: CircuitId, what: &[u8]) -> Vec<(Header, Vec<u8>)> {
    hub.receive(circuit, what, PORT, Instant::now()).expect("this is pvAccess");
    messages(&sent(hub, circuit))
}

/// A server whose client has a channel to each of three PVs; their numbers are 1 to 3.
fn open() -> (Hub, [ServerPv; 3], CircuitId) {
    let (mut hub, pvs, circuit) = hub(Instant::now());
    let commands: Vec<u8> = say(&mut hub, circuit, &begin()).iter().map(|(header, _)| header.command).collect();
    assert_eq!(commands, [2, 1, 9, 7, 7, 7], "order of bytes, question, answer, channels");
    assert_eq!(hub.user(circuit).as_deref(), Some("u"));
    (hub, pvs, circuit)
}

fn count_to(hub: &mut Hub, pv: ServerPv, number: i32) {
    let place = hub.place(pv, "value").expect("a field");
    let changed: BitSet = std::iter::once(place.number).collect();
    hub.post(pv, &changed, |tree| place.set(tree, Tree::I32(number)));
}

#[test]
fn nothing_can_be_changed() {
    let (mut hub, _, circuit) = open();
    for command in [11, 12, 14, 16, 20] {
        let answer =
            say(&mut hub, circuit, &bytes(|w| put_message(w, command, |w| w.put(&[1, 0, 0, 0, 9, 0, 0, 0, 8]))));
        let [(header, payload)] = &answer[..] else { panic!("{answer:?}") };
        assert_eq!((header.command, &payload[..6]), (command, &[9, 0, 0, 0, 8, 2][..]), "an error");
    }
}

#[test]
fn a_name_that_is_not_here_and_a_client_that_says_not_who_it_is_are_refused() {
    let (mut hub, _, circuit) = open();
    let create = |name: &'static str| bytes(|w| message::create_channel(w, 7, name));
    let failed = |answer: Vec<(Header, Vec<u8>)>| {
        let (header, payload) = answer.last().expect("an answer").clone();
        match Message::decode(header, &payload, &mut TypeRegistry::default()) {
            Ok(Message::ChannelCreated { cid: 7, status, .. }) => status.failed,
            other => panic!("{other:?}"),
        }
    };
    assert!(failed(say(&mut hub, circuit, &create("NOBODY"))));
    assert!(!failed(say(&mut hub, circuit, &create("A"))));
    let stranger = hub.open(Instant::now());
    assert!(failed(say(&mut hub, stranger, &create("A"))));
}

#[test]
fn the_type_of_a_field_is_told_by_its_name() {
    let (mut hub, _, circuit) = open();
    let mut ask = |field: &str| {
        let question = bytes(|w| {
            put_message(w, 17, |w| {
                w.put(&[2, 0, 0, 0, 5, 0, 0, 0]);
                w.string(field);
            });
        });
        say(&mut hub, circuit, &question).remove(0).1
    };
    assert_eq!(ask("inner.deep.x"), [5, 0, 0, 0, 0xff, 0x43]);
    assert_eq!(ask("inner.none")[..5], [5, 0, 0, 0, 2]);
    assert_eq!(ask("")[..8], [5, 0, 0, 0, 0xff, 0xfd, 1, 0], "the whole type is numbered");
    assert_eq!(ask(""), [5, 0, 0, 0, 0xff, 0xfe, 1, 0], "and described but once");
}

#[test]
fn no_more_is_sent_than_the_window_of_a_pipeline_allows() {
    let (mut hub, [a, ..], circuit) = open();
    let monitor = Monitor { queue_size: 3, pipeline: true, ..Monitor::default() };
    let updates = |answer: Vec<(Header, Vec<u8>)>| answer.iter().filter(|(_, payload)| payload[4] == 0).count();
    say(&mut hub, circuit, &bytes(|w| message::monitor_init(w, 1, 9, monitor)));
    assert_eq!(updates(say(&mut hub, circuit, &bytes(|w| message::monitor_start(w, 1, 9)))), 1);
    (1..=10).for_each(|number| count_to(&mut hub, a, number));
    assert_eq!(updates(messages(&sent(&mut hub, circuit))), 2, "three with the first");
    assert!(!hub.has_room(a));
    assert_eq!((hub.waiting(), hub.squashed(a)), (3, 5));
    assert_eq!(updates(say(&mut hub, circuit, &bytes(|w| message::monitor_acknowledge(w, 1, 9, 2)))), 2);
    assert_eq!(updates(say(&mut hub, circuit, &bytes(|w| message::monitor_acknowledge(w, 1, 9, 5)))), 1);
    count_to(&mut hub, a, 11);
    assert_eq!(updates(messages(&sent(&mut hub, circuit))), 1, "what is left of the window");
}

#[test]
fn a_monitor_that_is_stopped_begins_again_with_everything() {
    let (mut hub, [a, ..], circuit) = open();
    let command = |step: u8| bytes(|w| put_message(w, 13, |w| w.put(&[1, 0, 0, 0, 9, 0, 0, 0, step])));
    say(&mut hub, circuit, &bytes(|w| message::monitor_init(w, 1, 9, Monitor::default())));
    assert_eq!(say(&mut hub, circuit, &command(0x44)).len(), 1);
    assert_eq!(say(&mut hub, circuit, &command(0x04)).len(), 0);
    count_to(&mut hub, a, 5);
    assert_eq!((messages(&sent(&mut hub, circuit)).len(), hub.waiting()), (0, 0));
    let again = say(&mut hub, circuit, &command(0x44));
    assert_eq!(again[0].1[5..11], [1, 1, 5, 0, 0, 0], "all fields, of which the first is 5");
    say(&mut hub, circuit, &bytes(|w| message::destroy_request(w, 1, 9)));
    count_to(&mut hub, a, 6);
    assert_eq!(messages(&sent(&mut hub, circuit)).len(), 0);
}

#[test]
fn echoes_come_back_and_silent_clients_are_noticed() {
    let now = Instant::now();
    let (mut hub, _, circuit) = open();
    let answer = say(&mut hub, circuit, &bytes(|w| put_message(w, 2, |w| w.put(b"ping"))));
    assert_eq!((answer[0].0.command, answer[0].1.as_slice()), (2, &b"ping"[..]));
    assert!(!hub.is_silent(circuit, now));
    assert!(hub.is_silent(circuit, Instant::now() + Settings::default().silence_max + Duration::from_secs(1)));
}

/// Messages of known kinds with payloads of any bytes, and a request that may be known.
fn chance() -> impl Strategy<Value = Vec<u8>> {
    let command = prop_oneof![Just(13_u8), Just(10), Just(7), Just(8), Just(3), Just(17), Just(15), any::<u8>()];
    let message = (command, 0_u32..4, 0_u32..3, any::<u8>(), vec(any::<u8>(), 0..60));
    vec(message, 0..12).prop_map(|messages| {
        bytes(|w| {
            for (command, sid, ioid, step, payload) in messages {
                put_message(w, command, |w| {
                    w.u32(sid);
                    w.u32(ioid);
                    w.u8(step);
                    w.put(&payload);
                });
            }
        })
    })
}

proptest! {
    #[test]
    fn any_bytes_of_a_client_are_answered_or_refused(chance in chance(), raw in vec(any::<u8>(), 0..100)) {
        let (mut hub, [a, m, _], circuit) = open();
        say(&mut hub, circuit, &bytes(|w| message::monitor_init(w, 2, 1, Monitor::default())));
        for piece in [&chance, &raw] {
            // refused bytes are an answer, too: what must not happen is a panic
            let _ = hub.receive(circuit, piece, PORT, Instant::now());
            count_to(&mut hub, a, 1);
            hub.post(m, &std::iter::once(0).collect(), |_| {});
            sent(&mut hub, circuit);
        }
        let _ = hub.search(&raw, PORT);
        hub.close(circuit);
        prop_assert_eq!((hub.listeners(a), hub.listeners(m)), (0, 0));
    }
}
