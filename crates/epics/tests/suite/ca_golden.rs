//! Plays the conversations in `testdata/wire-ca` byte for byte. The steps of a case:
//!
//! ```text
//!   open NAME                 a channel is asked for          channel TYPE COUNT NAME   the same, and it is there
//!   close NUMBER              it is no longer wanted          chars text|bytes          how the next channels deliver CHAR arrays
//!   search NAME               a name is searched for          wait SECONDS              time passes
//!   > bytes   # comment       must be sent, exactly           < bytes   # comment       arrives
//! ```
//!
//! Whatever is sent must be listed, except after `channel`.

use crate::golden;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use epics::{
    Event, Key,
    ca::{
        CharArrays, Monitor,
        circuit::{Circuit, Identity},
        dbr::FieldType,
        search::Search,
        wire::{Header, put_message},
    },
};
use golden::{Step, assert_sent, check, parse_bytes};

#[test]
fn circuits_talk_as_recorded() {
    check("wire-ca/circuit.txt", play);
}

#[test]
fn values_of_every_type_are_read_as_recorded() {
    check("wire-ca/values.txt", play);
}

#[test]
fn searches_look_as_recorded() {
    check("wire-ca/search.txt", play);
}

fn play(sentence: &str, steps: &[Step]) -> Vec<String> {
    let mut stage = Stage::new(sentence);
    for Step { verb, rest } in steps {
        match *verb {
            ">" => stage.expect(&parse_bytes(rest)),
            "<" => stage.arrive(&parse_bytes(rest)),
            _ => stage.act(verb, rest),
        }
    }
    stage.expect(&[]);
    stage.told
}

struct Stage {
    sentence: String,
    now: Instant,
    circuit: Circuit,
    search: Search,
    chars: CharArrays,
    opened: u32,
    sent: Vec<u8>,
    told: Vec<String>,
}

impl Stage {
    fn new(sentence: &str) -> Stage {
        let now = Instant::now();
        let identity = Identity { user: "operator".to_owned(), host: "console7".to_owned() };
        let mut circuit = Circuit::new(server(), 13, &identity, Duration::from_secs(30), now);
        if !sentence.contains("handshake") {
            circuit.transmit().clear();
        }
        Stage {
            sentence: sentence.to_owned(),
            now,
            circuit,
            search: Search::new(Duration::from_secs(300), now),
            chars: CharArrays::ByName,
            opened: 0,
            sent: Vec::new(),
            told: Vec::new(),
        }
    }

    fn act(&mut self, verb: &str, rest: &str) {
        match verb {
            "open" => self.open(rest),
            "channel" => {
                let [field, count, name] = rest.split(' ').collect::<Vec<_>>()[..] else { panic!("{rest}") };
                self.open(name);
                self.create(field, count.parse().expect("a number of elements"));
            }
            "close" => self.circuit.close(Key(rest.parse().expect("a number of a channel"))),
            "chars" if rest == "text" => self.chars = CharArrays::Text,
            "chars" => self.chars = CharArrays::Bytes,
            "search" => {
                self.search.add(Key(u64::from(self.opened)), rest.into(), self.now);
                self.opened += 1;
            }
            "wait" => {
                self.now += Duration::from_secs_f64(rest.parse().expect("seconds"));
                if self.circuit.poll(self.now).is_none() {
                    self.told.push("the server is dead".to_owned());
                }
            }
            _ => panic!("no such step: {verb} {rest}"),
        }
    }

    fn open(&mut self, name: &str) {
        let monitor = Monitor { char_arrays: self.chars, ..Monitor::default() };
        self.circuit.open(Key(u64::from(self.opened)), name.into(), monitor);
        self.opened += 1;
    }

    /// What the server says to a new channel; its number there is 256 more than here.
    fn create(&mut self, field: &str, count: u32) {
        use FieldType::{Char, Double, Enum, Float, Long, Short, String};
        let fields = [String, Short, Float, Enum, Char, Long, Double];
        let field = fields.into_iter().find(|found| format!("{found:?}") == field).expect("a type");
        let header = Header {
            command: 18,
            data_type: field as u16,
            count,
            parameter1: self.opened - 1,
            parameter2: self.opened + 255,
            ..Header::default()
        };
        let mut bytes = Vec::new();
        put_message(&mut bytes, header, &[]);
        self.arrive(&bytes);
        self.told.clear();
        self.circuit.transmit().clear();
    }

    fn arrive(&mut self, bytes: &[u8]) {
        let told = &mut self.told;
        if self.sentence.contains("datagram") {
            self.search.receive(bytes, server(), self.now, &mut |key, answer| {
                told.push(format!("{} is served by {} (4.{})", key.0, answer.server, answer.version));
            });
            return;
        }
        let mut tell = |key: Key, event| told.push(format!("{} {}", key.0, describe(&event)));
        match self.circuit.receive(bytes, self.now, &mut tell) {
            Ok(taken) if taken == bytes.len() => {}
            Ok(taken) => self.told.push(format!("{} bytes are left", bytes.len() - taken)),
            Err(error) => self.told.push(format!("the circuit ends: {error}")),
        }
        self.told.extend(self.circuit.take_orphans().iter().map(|key| format!("{} is to be searched for", key.0)));
        let answers = self.circuit.take_answers();
        self.told.extend(answers.iter().map(|answer| format!("search {} found {}", answer.cid, answer.server)));
    }

    /// Compares all that was sent since the last time.
    fn expect(&mut self, bytes: &[u8]) {
        let mut datagram = Vec::new();
        while self.search.poll(self.now, &mut datagram) {
            self.sent.append(&mut datagram);
        }
        self.sent.append(self.circuit.transmit());
        assert_sent(&self.sentence, &self.sent, bytes);
        self.sent.clear();
    }
}

fn server() -> SocketAddr {
    "192.0.2.1:5064".parse().expect("an address")
}

fn describe(event: &Event) -> String {
    match event {
        Event::Updated(reading) => format!(
            "Updated {:?} at {} s {} ns, severity {}, status {}",
            reading.value, reading.seconds, reading.nanos, reading.severity, reading.status
        ),
        Event::Described(description) => format!("Described {description:?}"),
        other => format!("{other:?}"),
    }
}
