//! Plays the conversations in `testdata/wire-pva` byte for byte. The steps of a case:
//!
//! ```text
//!   open NAME                 a PV is subscribed to           hello           the server accepts the client
//!   close NUMBER              it is no longer wanted          channel NAME    hello, open, and the channel is there
//!   search NAME               a name is searched for          wait SECONDS    time passes
//!   = little|big bytes        a type description and a value, which are read and written again
//!   > bytes   # comment       must be sent, exactly           < bytes   # comment       arrives
//! ```
//!
//! Whatever is sent must be listed, except after `hello` and `channel`.

use crate::golden;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use epics::{
    Event, Key, Reading, Value,
    pva::{
        Account, Data, Monitor, Tree, Type, TypeRegistry,
        circuit::Circuit,
        decode_structure,
        message::{self, Message},
        search::Search,
        value::read,
        wire::{HEADER_BYTES, Header, Order, Reader, Writer, put_message},
    },
};
use golden::{Step, assert_sent, check, hexadecimal, parse_bytes};

#[test]
fn circuits_talk_as_recorded() {
    check("wire-pva/circuit.txt", play);
}

#[test]
fn updates_are_understood_as_recorded() {
    check("wire-pva/normative.txt", play);
}

#[test]
fn values_of_every_type_are_read_and_written_as_recorded() {
    check("wire-pva/values.txt", play);
}

#[test]
fn searches_look_as_recorded() {
    check("wire-pva/search.txt", play);
}

fn play(sentence: &str, steps: &[Step]) -> Vec<String> {
    let mut stage = Stage::new(sentence);
    for Step { verb, rest } in steps {
        match *verb {
            ">" => stage.expect(&parse_bytes(rest)),
            "<" => stage.arrive(&parse_bytes(rest)),
            "=" => {
                let (order, bytes) = match rest.split_once(' ') {
                    Some(("little", bytes)) => (Order::Little, bytes),
                    Some(("big", bytes)) => (Order::Big, bytes),
                    _ => panic!("no byte order: {rest}"),
                };
                stage.read(&parse_bytes(bytes), order);
            }
            _ => stage.act(verb, rest),
        }
    }
    stage.expect(&[]);
    stage.count();
    stage.told
}

struct Stage {
    sentence: String,
    now: Instant,
    circuit: Circuit,
    search: Search,
    opened: u32,
    sent: Vec<u8>,
    told: Vec<String>,
}

impl Stage {
    fn new(sentence: &str) -> Stage {
        let now = Instant::now();
        let account = Account { user: "operator".to_owned(), host: "console7".to_owned() };
        Stage {
            sentence: sentence.to_owned(),
            now,
            circuit: Circuit::new(server(), account, Duration::from_secs(30), now),
            search: Search::default(),
            opened: 0,
            sent: Vec::new(),
            told: Vec::new(),
        }
    }

    fn act(&mut self, verb: &str, rest: &str) {
        match verb {
            "open" => self.open(rest),
            "hello" => self.hello(),
            "channel" => {
                if !self.circuit.is_open() {
                    self.hello();
                }
                self.open(rest);
                self.create();
            }
            "close" => self.circuit.unsubscribe(Key(rest.parse().expect("a number of a PV")), self.now),
            "search" => {
                self.search.add(Key(u64::from(self.opened)), rest.into(), self.now, Duration::ZERO);
                self.opened += 1;
            }
            "wait" => {
                self.now += Duration::from_secs_f64(rest.parse().expect("seconds"));
                let told = &mut self.told;
                let mut tell = |key: Key, event| told.push(format!("{} {}", key.0, describe(&event)));
                if let Err(error) = self.circuit.tick(self.now, &mut tell) {
                    self.told.push(format!("the circuit ends: {error}"));
                }
            }
            _ => panic!("no such step: {verb} {rest}"),
        }
    }

    fn open(&mut self, name: &str) {
        self.circuit.subscribe(Key(u64::from(self.opened)), name.into(), Monitor::default(), self.now);
        self.opened += 1;
    }

    fn hello(&mut self) {
        self.arrive(&parse_bytes("ca 02 40 01 0a 00 00 00  00 00 01 00  ff 7f  01 02 \"ca\""));
        self.arrive(&parse_bytes("ca 02 40 09 01 00 00 00  ff"));
        self.circuit.transmit();
    }

    /// What the server says to a new channel; its number there is 256 more than here.
    fn create(&mut self) {
        let mut writer = Writer::new(Order::Little);
        put_message(&mut writer, 7, |w| {
            w.u32(self.opened - 1);
            w.u32(self.opened + 255);
            w.u8(0xff);
        });
        self.arrive(&writer.into_bytes());
        self.circuit.transmit();
    }

    fn arrive(&mut self, bytes: &[u8]) {
        if self.sentence.contains("datagram") {
            return self.arrive_datagram(bytes);
        }
        let told = &mut self.told;
        let mut tell = |key: Key, event| told.push(format!("{} {}", key.0, describe(&event)));
        if let Err(error) = self.circuit.receive(bytes, self.now, &mut tell) {
            self.told.push(format!("the circuit ends: {error}"));
        }
        let returned = self.circuit.take_returned();
        self.told.extend(returned.iter().map(|r| format!("{} is to be searched for after {:?}", r.key.0, r.pause)));
        let replies = self.circuit.take_replies();
        self.told.extend(replies.iter().map(|reply| format!("{reply:?}")));
    }

    /// Takes one or more datagrams of one message each.
    fn arrive_datagram(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_at(HEADER_BYTES);
            let header = Header::decode(head).expect("a header");
            let (payload, rest) = rest.split_at(header.payload_bytes());
            bytes = rest;
            self.told.push(match Message::decode(header, payload, &mut TypeRegistry::default()) {
                Ok(Message::SearchReply(reply)) => match self.search.reply(&reply, server().ip(), self.now) {
                    Some(found) => format!("{:?} served by {}", found.keys, found.server),
                    None => "nothing new".to_owned(),
                },
                other => format!("{other:?}"),
            });
        }
    }

    /// Compares all that was sent since the last time.
    fn expect(&mut self, bytes: &[u8]) {
        while let Some(request) = self.search.poll(self.now) {
            let mut writer = Writer::new(Order::Little);
            message::search(&mut writer, request.sequence, 5099, &request.names);
            self.sent.append(&mut writer.into_bytes());
        }
        self.sent.append(&mut self.circuit.transmit());
        assert_sent(&self.sentence, &self.sent, bytes);
        self.sent.clear();
    }

    fn count(&mut self) {
        let counters = self.circuit.take_counters();
        for (what, count) in
            [("overruns", counters.overruns), ("refusals", counters.refusals), ("nonsense", counters.protocol_errors)]
        {
            if count > 0 {
                self.told.push(format!("counted {what}: {count}"));
            }
        }
    }

    /// Reads a value; what has no short forms in it must come out again as the same bytes.
    fn read(&mut self, bytes: &[u8], order: Order) {
        let mut reader = Reader::new(bytes, order);
        match read(&mut reader, &mut TypeRegistry::default()) {
            Ok(data) => {
                self.told.push(format!("{} = {}", data.ty, show(&data.ty, &data.value)));
                let mut writer = Writer::new(order);
                data.encode(&mut writer).expect("what was read can be written");
                if !self.sentence.contains("short form") {
                    let taken = &bytes[..bytes.len() - reader.rest().len()];
                    assert_eq!(hexadecimal(&writer.into_bytes()), hexadecimal(taken), "{}", self.sentence);
                }
            }
            Err(error) => self.told.push(format!("refused: {error}")),
        }
        if !reader.rest().is_empty() {
            self.told.push(format!("{} bytes are left", reader.rest().len()));
        }
    }
}

fn server() -> SocketAddr {
    "192.0.2.1:5075".parse().expect("an address")
}

fn describe(event: &Event) -> String {
    match event {
        Event::Updated(reading) => format!(
            "Updated {} at {} s {} ns, severity {}, status {}, message {:?}, user tag {}{}",
            value(reading),
            reading.seconds,
            reading.nanos,
            reading.severity,
            reading.status,
            reading.message,
            reading.user_tag,
            if reading.overrun { ", overrun" } else { "" }
        ),
        Event::Described(description) => format!("Described {description:?}"),
        other => format!("{other:?}"),
    }
}

fn value(reading: &Reading) -> String {
    match &reading.value {
        Value::Structure(bytes) => {
            let Data { ty, value } = decode_structure(bytes).expect("what the client made is whole");
            format!("structure {}", show(&ty, &value))
        }
        value => format!("{value:?}"),
    }
}

/// A value with the names of its fields.
fn show(ty: &Type, value: &Tree) -> String {
    let list = |all: Vec<String>| format!("[{}]", all.join(", "));
    let nothing = || "nothing".to_owned();
    match (ty, value) {
        (Type::Structure(s), Tree::Structure(trees)) => {
            let fields = s.fields().iter().zip(trees);
            let fields: Vec<String> = fields.map(|(f, t)| format!("{}: {}", f.name, show(&f.ty, t))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        (Type::Union(s), Tree::Union(Some(selected))) => {
            let field = &s.fields()[selected.member];
            format!("{}({})", field.name, show(&field.ty, &selected.value))
        }
        (Type::StructureArray(s, _), Tree::Structures(all)) => list(
            all.iter()
                .map(|t| {
                    let one = |t: &Vec<Tree>| show(&Type::Structure(s.clone()), &Tree::Structure(t.clone()));
                    t.as_ref().map_or_else(nothing, one)
                })
                .collect(),
        ),
        (Type::UnionArray(s, _), Tree::Unions(all)) => {
            list(all.iter().map(|t| t.as_ref().map_or_else(nothing, |t| show(&Type::Union(s.clone()), t))).collect())
        }
        (_, Tree::Anys(all)) => {
            list(all.iter().map(|d| d.as_ref().map_or_else(nothing, |d| show(&d.ty, &d.value))).collect())
        }
        (_, Tree::Any(Some(data))) => format!("{} {}", data.ty, show(&data.ty, &data.value)),
        (_, Tree::Any(None) | Tree::Union(None)) => nothing(),
        (_, other) => format!("{other:?}"),
    }
}
