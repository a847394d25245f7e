//! A small pvAccess server for tests: it answers every search; its circuits are served by the test, message by message.
//!
//! It listens on ports of its own on loopback. Every wait is for something that must happen, and fails after a deadline.

use std::net::SocketAddr;

use epics::{
    Event, Value,
    pva::{
        Client, Config,
        wire::{HEADER_BYTES, Header, Order, Reader, Writer, put_message},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::peers::{self, answer_searches, soon};

pub(crate) mod command {
    //! The messages that the tests speak of.
    pub(crate) const VALIDATION: u8 = 1;
    pub(crate) const ECHO: u8 = 2;
    pub(crate) const SEARCH: u8 = 3;
    pub(crate) const SEARCH_REPLY: u8 = 4;
    pub(crate) const CREATE_CHANNEL: u8 = 7;
    pub(crate) const DESTROY_CHANNEL: u8 = 8;
    pub(crate) const VALIDATED: u8 = 9;
    pub(crate) const MONITOR: u8 = 13;
}

/// A structure whose field `value` is a short.
pub(crate) const TYPE: [u8; 10] = [0x80, 0, 1, 5, b'v', b'a', b'l', b'u', b'e', 0x21];

pub(crate) fn message(command: u8, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    put_message(&mut writer, command, write);
    writer.into_bytes()
}

pub(crate) struct Server {
    pub(crate) search: SocketAddr,
    pub(crate) circuits: TcpListener,
}

impl Server {
    pub(crate) async fn start() -> Server {
        let circuits = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = circuits.local_addr().expect("an address").port();
        let search = answer_searches(move |datagram| search_reply(&datagram[HEADER_BYTES..], port)).await;
        Server { search, circuits }
    }

    pub(crate) fn config(&self) -> Config {
        Config { addresses: vec![self.search], auto_addresses: false, ..Config::default() }
    }

    /// The next circuit, on which the client has been accepted.
    pub(crate) async fn accept(&self) -> Session {
        let (stream, _) = soon("a circuit", self.circuits.accept()).await.expect("a circuit");
        let mut session = Session { stream };
        session.send(command::VALIDATION, |w| w.put(&[0, 0, 1, 0, 0xff, 0x7f, 1, 2, b'c', b'a'])).await;
        session.expect(command::VALIDATION).await;
        session.send(command::VALIDATED, |w| w.u8(0xff)).await;
        session
    }
}

/// Every name that is asked for is here.
pub(crate) fn search_reply(search: &[u8], port: u16) -> Vec<u8> {
    let mut r = Reader::new(search, Order::Little);
    let sequence = r.u32("search").expect("a number");
    r.take(22, "search").expect("flags and an address");
    for _ in 0..r.size("search").expect("protocols").expect("some") {
        r.string("search").expect("a protocol");
    }
    let count = r.u16("search").expect("a count");
    message(command::SEARCH_REPLY, |w| {
        w.put(&[7; 12]);
        w.u32(sequence);
        w.put(&[0; 16]);
        w.u16(port);
        w.string("tcp");
        w.u8(1);
        w.u16(count);
        for _ in 0..count {
            w.u32(r.u32("search").expect("a number"));
            r.string("search").expect("a name");
        }
    })
}

pub(crate) struct Session {
    pub(crate) stream: TcpStream,
}

impl Session {
    /// The next message of the kind; what comes before is passed over.
    pub(crate) async fn expect(&mut self, command: u8) -> Vec<u8> {
        loop {
            let mut head = [0; HEADER_BYTES];
            soon("a message", self.stream.read_exact(&mut head)).await.expect("the circuit lives");
            let header = Header::decode(&head).expect("a header");
            let mut payload = vec![0; header.payload_bytes()];
            soon("its payload", self.stream.read_exact(&mut payload)).await.expect("the circuit lives");
            if header.command == command {
                return payload;
            }
        }
    }

    pub(crate) async fn send(&mut self, command: u8, write: impl FnOnce(&mut Writer)) {
        self.stream.write_all(&message(command, write)).await.expect("the circuit lives");
    }

    /// Makes the next channel that is asked for, and its monitor; returns its name and the number of the monitor.
    pub(crate) async fn create(&mut self) -> (String, u32) {
        let request = self.expect(command::CREATE_CHANNEL).await;
        let mut r = Reader::new(&request[2..], Order::Little);
        let (cid, name) = (r.u32("create").expect("a number"), r.string("create").expect("a name"));
        self.send(command::CREATE_CHANNEL, |w| {
            w.u32(cid);
            w.u32(cid + 100);
            w.u8(0xff);
        })
        .await;
        let request = self.expect(command::MONITOR).await;
        let ioid = Reader::new(&request[4..], Order::Little).u32("monitor").expect("a number");
        self.send(command::MONITOR, |w| {
            w.u32(ioid);
            w.put(&[0x08, 0xff]);
            w.put(&TYPE);
        })
        .await;
        self.expect(command::MONITOR).await;
        (name, ioid)
    }

    pub(crate) async fn update(&mut self, ioid: u32, value: i16) {
        self.send(command::MONITOR, |w| {
            w.u32(ioid);
            w.put(&[0, 1, 2]);
            w.u16(value as u16);
            w.u8(0);
        })
        .await;
    }
}

pub(crate) type User = peers::User<Client>;

pub(crate) fn start(config: Config) -> User {
    User::with(|events| Client::start(config, move |key, event| drop(events.send((key, event)))).expect("sockets"))
}

impl User {
    /// A value; before the first one comes the description.
    pub(crate) async fn expect_value(&mut self, key: u64, value: i16) {
        let mut next = self.next().await;
        if let (_, Event::Described(_)) = next {
            next = self.next().await;
        }
        match next {
            (found, Event::Updated(reading)) => assert_eq!((found, reading.value), (key, Value::I16(value))),
            other => panic!("{other:?}"),
        }
    }
}
