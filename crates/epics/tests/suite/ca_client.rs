//! The client against a small server that misbehaves on command: lost, nonsensical and silent circuits, name servers, ends.
//!
//! The server listens on ports of its own on loopback. Nothing here waits for luck: every wait is for something that must happen, and fails
//! after a deadline.

use crate::peers;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use epics::{
    Event, Key, Value,
    ca::{
        Client, Config, Monitor,
        filter::FilterBand,
        wire::{self, Header, command, next_message, put_message},
    },
};
use peers::{answer_searches, expect_end, soon};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const EVENT_CANCEL: u16 = 2;
const ALARM: u16 = 4;

/// Answers every search by UDP; circuits are accepted and served by the test, step by step.
struct Ioc {
    search: SocketAddr,
    circuits: TcpListener,
}

impl Ioc {
    async fn start() -> Ioc {
        let circuits = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = circuits.local_addr().expect("an address").port();
        let search = answer_searches(move |datagram| {
            let mut rest = datagram;
            let mut reply = Vec::new();
            while let Ok(Some((message, after))) = next_message(rest) {
                reply.extend(search_reply(&message.header, port));
                rest = after;
            }
            reply
        })
        .await;
        Ioc { search, circuits }
    }

    async fn accept(&self) -> Session {
        let (stream, _) = soon("a circuit", self.circuits.accept()).await.expect("a circuit");
        Session { stream, input: Vec::new() }
    }
}

fn search_reply(search: &Header, port: u16) -> Vec<u8> {
    let mut reply = Vec::new();
    if search.command == command::SEARCH {
        let header = Header {
            command: command::SEARCH,
            data_type: port,
            parameter1: u32::MAX,
            parameter2: search.parameter2,
            ..Header::default()
        };
        put_message(&mut reply, header, &13_u16.to_be_bytes());
    }
    reply
}

struct Session {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Session {
    /// The next message of the kind, with its payload; what comes before is passed over.
    async fn expect(&mut self, command: u16) -> (Header, Vec<u8>) {
        loop {
            while let Some((message, rest)) = next_message(&self.input).expect("the client is well-behaved") {
                let (header, payload) = (message.header, message.payload.to_vec());
                self.input = rest.to_vec();
                if header.command == command {
                    return (header, payload);
                }
            }
            let size = soon("a message", self.stream.read_buf(&mut self.input)).await.expect("the circuit lives");
            assert!(size > 0, "the client closed the circuit before message {command}");
        }
    }

    async fn send(&mut self, header: Header, payload: &[u8]) {
        let mut bytes = Vec::new();
        put_message(&mut bytes, header, payload);
        self.stream.write_all(&bytes).await.expect("the circuit lives");
    }

    /// Creates the next channel that is asked for as a scalar double; returns its subscription.
    async fn create(&mut self) -> (String, u32) {
        let (request, name) = self.expect(command::CREATE_CHANNEL).await;
        let cid = request.parameter1;
        let header = Header {
            command: command::CREATE_CHANNEL,
            data_type: 6,
            count: 1,
            parameter1: cid,
            parameter2: cid + 100,
            ..Header::default()
        };
        self.send(header, &[]).await;
        let (request, _) = self.expect(command::EVENT_ADD).await;
        (wire::text(&name), request.parameter2)
    }

    /// The next subscription to values that is asked for, and its mask.
    async fn subscription(&mut self) -> (u32, u16) {
        loop {
            let (request, payload) = self.expect(command::EVENT_ADD).await;
            if request.parameter2 & 1 == 0 {
                return (request.parameter2, u16::from_be_bytes([payload[12], payload[13]]));
            }
        }
    }

    /// Refuses a subscription, as servers do: with the header of the request.
    async fn refuse(&mut self, subscription: u32) {
        let request = Header { command: command::EVENT_ADD, parameter2: subscription, ..Header::default() };
        let mut payload = Vec::new();
        put_message(&mut payload, request, &[]);
        payload.extend_from_slice(b"no more of these\0");
        let header =
            Header { command: command::ERROR, parameter1: subscription >> 1, parameter2: 48, ..Header::default() };
        self.send(header, &payload).await;
    }

    async fn update(&mut self, subscription: u32, value: f64) {
        let mut payload = [0; 24];
        payload[16..].copy_from_slice(&value.to_be_bytes());
        let header = Header {
            command: command::EVENT_ADD,
            data_type: 20,
            count: 1,
            parameter1: wire::ECA_NORMAL,
            parameter2: subscription,
            ..Header::default()
        };
        self.send(header, &payload).await;
    }
}

type User = peers::User<Client>;

fn start(config: Config) -> User {
    let repeater_port = 1; // nobody's: these tests need no beacons
    let config = Config { auto_addresses: false, repeater_port, ..config };
    User::with(|events| Client::start(config, move |key, event| drop(events.send((key, event)))).expect("sockets"))
}

impl User {
    async fn expect_value(&mut self, key: u64, value: f64) {
        match self.next().await {
            (found, Event::Updated(reading)) => assert_eq!((found, reading.value), (key, Value::F64(value))),
            other => panic!("{other:?}"),
        }
    }
}

fn searching(ioc: &Ioc) -> Config {
    Config { addresses: vec![ioc.search], ..Config::default() }
}

/// A user whose PV 1 the IOC has, the circuit, and the number of the PV's subscription there.
async fn connected(ioc: &Ioc) -> (User, Session, u32) {
    let mut user = start(searching(ioc));
    user.client.subscribe(Key(1), "A", Monitor::default());
    let mut session = ioc.accept().await;
    let (_, subscription) = session.create().await;
    user.expect_connected(1).await;
    (user, session, subscription)
}

#[tokio::test]
async fn a_lost_server_is_told_at_once_and_found_again() {
    let ioc = Ioc::start().await;
    let mut user = start(searching(&ioc));
    user.client.subscribe(Key(7), "LAB:TEMP", Monitor::default());
    for value in [1.0, 2.0] {
        let mut session = ioc.accept().await;
        let (name, subscription) = session.create().await;
        assert_eq!(name, "LAB:TEMP");
        session.update(subscription, value).await;
        user.expect_connected(7).await;
        user.expect_value(7, value).await;
        assert_eq!(user.client.servers()[0].circuits, 1);
        drop(session);
        let lost = Instant::now();
        let reason = user.expect_disconnected(7).await;
        assert!(reason.starts_with("circuit to 127.0.0.1:"), "{reason}");
        assert!(lost.elapsed() < Duration::from_secs(1));
    }
    let counters = user.client.counters();
    assert_eq!((counters.circuits_opened, counters.circuits_lost, counters.updates), (2, 2, 2));
    let [server] = user.client.servers()[..] else { panic!("one server") };
    assert_eq!((server.circuits, server.opened, server.lost, server.restarts), (0, 2, 2, 0));
    assert_eq!(server.address, ioc.circuits.local_addr().expect("an address"));
}

#[tokio::test]
async fn a_circuit_with_nonsense_ends_and_the_others_live_on() {
    let (sane, broken) = (Ioc::start().await, Ioc::start().await);
    let (mut user, mut sane_session, subscription) = connected(&sane).await;
    let (mut other, mut session, _) = connected(&broken).await;
    session.stream.write_all(&[0, 1, 0xFF, 0xFF, 0, 20, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await.expect("a circuit");
    session.stream.write_all(&[0xFF; 8]).await.expect("a circuit");
    let reason = other.expect_disconnected(1).await;
    assert!(reason.contains("announces 4294967295 bytes"), "{reason}");
    assert_eq!(other.client.counters().protocol_errors, 1);
    broken.accept().await.create().await;
    other.expect_connected(1).await;
    sane_session.update(subscription, 3.0).await;
    user.expect_value(1, 3.0).await;
}

/// Requests of several megabytes to a server that sends and does not read: values must still arrive.
#[tokio::test]
async fn a_server_that_does_not_read_can_still_send() {
    let ioc = Ioc::start().await;
    let (mut user, mut session, subscription) = connected(&ioc).await;
    let long = "X".repeat(900);
    for key in 2..20_001 {
        user.client.subscribe(Key(key), &format!("{long}{key}"), Monitor::default());
    }
    for value in 0..1_000 {
        session.update(subscription, f64::from(value)).await;
        user.expect_value(1, f64::from(value)).await;
    }
    // Now it reads, and finds all requests whole.
    for _ in 1..20_000 {
        session.expect(command::CREATE_CHANNEL).await;
    }
}

#[tokio::test]
async fn the_last_channel_takes_the_circuit_with_it() {
    let ioc = Ioc::start().await;
    let (mut user, mut session, _) = connected(&ioc).await;
    user.client.subscribe(Key(2), "B", Monitor::default());
    session.create().await;
    user.expect_connected(2).await;
    user.client.unsubscribe(Key(1));
    session.expect(command::CLEAR_CHANNEL).await;
    user.client.unsubscribe(Key(2));
    expect_end(&mut session.stream).await;
}

#[tokio::test]
async fn a_dropped_client_ends_its_circuits() {
    let ioc = Ioc::start().await;
    let (user, mut session, _) = connected(&ioc).await;
    drop(user.client);
    expect_end(&mut session.stream).await;
}

/// The circuit to a name server is also that of the channels that it serves itself.
#[tokio::test]
async fn a_name_server_is_asked_by_tcp() {
    let ioc = Ioc::start().await;
    let address = ioc.circuits.local_addr().expect("an address");
    let mut user = start(Config { name_servers: vec![address], ..Config::default() });
    user.client.subscribe(Key(5), "LAB:TEMP", Monitor::default());
    let mut session = ioc.accept().await;
    let (search, name) = session.expect(command::SEARCH).await;
    assert_eq!(wire::text(&name), "LAB:TEMP");
    session.stream.write_all(&search_reply(&search, address.port())).await.expect("the circuit lives");
    let (_, subscription) = session.create().await;
    session.update(subscription, 4.0).await;
    user.expect_connected(5).await;
    user.expect_value(5, 4.0).await;
}

#[tokio::test]
async fn a_name_that_cannot_be_one_is_refused() {
    let mut user = start(Config::default());
    for name in ["", "A\0B"] {
        user.client.subscribe(Key(1), name, Monitor::default());
        let refused = user.next().await;
        assert!(matches!(&refused, (1, Event::Refused { message }) if message.contains("cannot be")), "{refused:?}");
    }
}

/// A server that answers searches and refuses connections is told of, with the address to look at.
/// Which of the two subscriptions of a PV with a dead band is refused once there are both.
#[derive(Clone, Copy, PartialEq)]
enum Late {
    Filter,
    Alarms,
}

#[tokio::test]
async fn a_filter_that_is_refused_late_leaves_all_updates_to_the_plain_channel() {
    for late in [Late::Filter, Late::Alarms] {
        let ioc = Ioc::start().await;
        let mut user = start(searching(&ioc));
        let monitor = Monitor { deadband: Some(FilterBand::Absolute(1.0)), ..Monitor::default() };
        user.client.subscribe(Key(1), "A", monitor);
        let mut session = ioc.accept().await;
        let (_, plain) = session.create().await;
        user.expect_connected(1).await;
        let (name, filtered) = session.create().await;
        assert_eq!(name, r#"A.{"dbnd":{"abs":1.0}}"#);
        assert_eq!(user.next().await, (1, Event::Filtered));
        let alarms = session.subscription().await;
        assert_eq!(alarms, (plain, ALARM));
        session.refuse(if late == Late::Filter { filtered } else { plain }).await;
        assert_eq!(user.next().await, (1, Event::Unfiltered));
        if late == Late::Filter {
            let (cancel, _) = session.expect(EVENT_CANCEL).await;
            assert_eq!(cancel.parameter2, plain, "what is there with another mask ends first");
        }
        assert_eq!(session.subscription().await, (plain, Monitor::default().mask.bits()));
        let (cleared, _) = session.expect(command::CLEAR_CHANNEL).await;
        assert_eq!(cleared.parameter2, filtered >> 1);
        session.update(plain, 5.0).await;
        user.expect_value(1, 5.0).await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_connected_is_named() {
    let ioc = Ioc::start().await;
    let port = ioc.circuits.local_addr().expect("an address").port();
    let config = searching(&ioc);
    drop(ioc);
    let mut user = start(config);
    user.client.subscribe(Key(1), "A", Monitor::default());
    let refused = user.next().await;
    let expected = format!("cannot connect to 127.0.0.1:{port}");
    assert!(matches!(&refused, (1, Event::Refused { message }) if message.contains(&expected)), "{refused:?}");
}

#[cfg(feature = "put")]
#[tokio::test]
async fn a_put_waits_for_the_record() {
    use epics::ca::put::{PutError, PutValue};
    let ioc = Ioc::start().await;
    let mut user = start(searching(&ioc));
    assert_eq!(user.client.put(Key(1), PutValue::Long(1)).await, Err(PutError::NotConnected));
    user.client.subscribe(Key(1), "A", Monitor::default());
    let mut session = ioc.accept().await;
    session.create().await;
    user.expect_connected(1).await;
    for (status, expected) in [(1, Ok(())), (376, Err("write access denied".to_owned()))] {
        let serve = async {
            let (request, payload) = session.expect(19).await;
            assert_eq!((request.data_type, request.count, payload), (6, 1, 2.5_f64.to_be_bytes().to_vec()));
            let header = Header { parameter1: status, ..request };
            session.send(header, &[]).await;
        };
        let (result, ()) = tokio::join!(user.client.put(Key(1), PutValue::Double(2.5)), serve);
        assert_eq!(result, expected.map_err(|message| PutError::Refused { message }));
    }
}
