//! The Channel Access server, as clients see it: ours, and libca as the referee where it is installed.

use std::{
    collections::HashMap,
    env,
    io::Write,
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use epics::{
    Array, Description, Event, Key, Limits, Value,
    ca::{
        Client, Config, Monitor,
        dbr::FieldType,
        server::{Counters, Depth, Reactor, ServerId, Settings, Source, Stamp},
    },
};

/// What the referee exits with where it has nothing to compare with.
const SKIPPED: i32 = 77;
const PATIENCE: Duration = Duration::from_secs(20);

/// PVs whose value is the same at each update, and whose time is the update's number in seconds.
struct Types(Vec<(String, FieldType, Value)>);

impl Types {
    fn new() -> Types {
        let scalars = [
            (FieldType::String, Value::String("42".into())),
            (FieldType::Short, Value::I16(-7)),
            (FieldType::Float, Value::F32(1.5)),
            (FieldType::Enum, Value::Enum(2)),
            (FieldType::Char, Value::U8(200)),
            (FieldType::Long, Value::I32(70_001)),
            (FieldType::Double, Value::F64(-0.25)),
        ];
        let arrays = [
            (FieldType::Short, Array::I16((0..5).collect())),
            (FieldType::Float, Array::F32(vec![0.5; 300])),
            (FieldType::Char, Array::U8((0..=255).collect())),
            (FieldType::Long, Array::I32((0..20_000).collect())),
            (FieldType::Double, Array::F64((0..70_000).map(f64::from).collect())),
            (FieldType::String, Array::String(["1", "22", "333"].map(str::to_owned).into())),
        ];
        let scalars = scalars.into_iter().map(|(field, value)| (format!("S:{}", field as u16), field, value));
        let arrays =
            arrays.into_iter().map(|(field, array)| (format!("A:{}", field as u16), field, Value::Array(array)));
        Types(scalars.chain(arrays).collect())
    }

    fn json(&self) -> String {
        let pvs = self.0.iter().map(|(name, field, value)| {
            let elements = match value {
                Value::Array(Array::I16(all)) => format!("{all:?}"),
                Value::Array(Array::F32(all)) => format!("{all:?}"),
                Value::Array(Array::U8(all)) => format!("{all:?}"),
                Value::Array(Array::I32(all)) => format!("{all:?}"),
                Value::Array(Array::F64(all)) => format!("{all:?}"),
                Value::Array(Array::String(all)) => format!("{all:?}"),
                Value::String(text) => format!("[{text:?}]"),
                Value::I16(n) => format!("[{n}]"),
                Value::F32(n) => format!("[{n}]"),
                Value::U8(n) => format!("[{n}]"),
                Value::I32(n) | Value::Enum(n) => format!("[{n}]"),
                Value::F64(n) => format!("[{n}]"),
                other => panic!("{other:?} is not among the types"),
            };
            format!(r#"{{"name": "{name}", "type": {}, "elements": {elements}}}"#, *field as u16)
        });
        format!("[{}]", pvs.collect::<Vec<_>>().join(", "))
    }
}

impl Source for Types {
    fn find(&self, name: &str) -> Option<u32> {
        self.0.iter().position(|(known, ..)| known == name).map(|place| place as u32)
    }

    fn len(&self) -> u32 {
        self.0.len() as u32
    }

    fn channel(&self, pv: u32) -> (FieldType, u32) {
        let (_, field, value) = &self.0[pv as usize];
        let count = match value {
            Value::Array(Array::I16(all)) => all.len(),
            Value::Array(Array::F32(all)) => all.len(),
            Value::Array(Array::U8(all)) => all.len(),
            Value::Array(Array::I32(all)) => all.len(),
            Value::Array(Array::F64(all)) => all.len(),
            Value::Array(Array::String(all)) => all.len(),
            _ => 1,
        };
        (*field, count as u32)
    }

    fn description(&self, _: u32) -> Description {
        let limits = |limit: f64| Some(Limits { low: -limit, high: limit });
        Description {
            units: Some("mm".into()),
            precision: Some(2),
            display: limits(100.0),
            control: limits(90.0),
            warning: limits(50.0),
            alarm: limits(80.0),
            labels: ["off", "on", "unknown"].map(str::to_owned).into(),
            ..Description::default()
        }
    }

    fn stamp(&self, _: u32, number: u64) -> Stamp {
        // The alarm changes with every tenth update.
        let severity = 1 + (number / 10 % 2) as i32;
        Stamp { seconds: 1_700_000_000 + number as i64, nanos: 123_456_789, severity, status: 4 }
    }

    fn value(&self, pv: u32, _: u64) -> Value {
        self.0[pv as usize].2.clone()
    }
}

type Order = Box<dyn FnOnce(&mut Reactor<Types>, ServerId) + Send>;

/// A server on a thread of its own, which does what it is told between two turns.
struct Served {
    address: SocketAddr,
    orders: mpsc::Sender<Order>,
}

impl Served {
    fn start(settings: Settings) -> Served {
        let (told, address) = mpsc::channel();
        let (orders, queue) = mpsc::channel::<Order>();
        thread::spawn(move || {
            let mut reactor = Reactor::new().expect("a reactor");
            let loopback = "127.0.0.1:0".parse().expect("an address");
            let server = reactor.listen(loopback, Types::new(), settings).expect("a port");
            told.send(reactor.address(server).expect("it is there")).expect("somebody waits");
            loop {
                match queue.try_recv() {
                    Ok(order) => order(&mut reactor, server),
                    Err(mpsc::TryRecvError::Empty) => {}
                    Err(mpsc::TryRecvError::Disconnected) => return,
                }
                reactor.turn(Instant::now() + Duration::from_millis(2)).expect("the network works");
            }
        });
        Served { address: address.recv().expect("it starts"), orders }
    }

    fn tell(&self, order: impl FnOnce(&mut Reactor<Types>, ServerId) + Send + 'static) {
        self.orders.send(Box::new(order)).expect("it lives");
    }

    fn ask<T: Send + 'static>(&self, question: impl FnOnce(&mut Reactor<Types>, ServerId) -> T + Send + 'static) -> T {
        let (answer, answered) = mpsc::channel();
        self.tell(move |reactor, server| answer.send(question(reactor, server)).expect("somebody waits"));
        answered.recv_timeout(PATIENCE).expect("it answers")
    }

    fn counters(&self) -> Counters {
        self.ask(|reactor, server| reactor.counters(server))
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(&Counters) -> bool) -> Counters {
        let end = Instant::now() + PATIENCE;
        loop {
            let counters = self.counters();
            if is_so(&counters) {
                return counters;
            }
            assert!(Instant::now() < end, "in vain: {what}: {counters:?}");
        }
    }
}

fn config(server: &Served) -> Config {
    Config { addresses: vec![server.address], auto_addresses: false, repeater_port: 1, ..Config::default() }
}

#[test]
fn our_client_reads_every_type_with_its_description_and_each_update() {
    let server = Served::start(Settings { depth: Depth::Lossless, ..Settings::default() });
    let types = Types::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("tokio");
    let _entered = runtime.enter();
    let (tell, told) = mpsc::channel();
    let client = Client::start(config(&server), move |key, event| drop(tell.send((key, event)))).expect("a client");
    for (number, (name, ..)) in types.0.iter().enumerate() {
        client.subscribe(Key(number as u64), name, Monitor::default());
    }
    let subscriptions = 2 * u64::from(types.len());
    server.wait_for("all subscriptions", |counters| counters.subscriptions == subscriptions);
    let count = types.len();
    server.tell(move |reactor, server| (1..=50).for_each(|number| reactor.post(server, 0..count, number)));
    let (mut seconds, mut described) = (HashMap::<Key, Vec<i64>>::new(), HashMap::new());
    while seconds.values().map(Vec::len).sum::<usize>() < 51 * count as usize || described.len() < count as usize {
        match told.recv_timeout(PATIENCE).expect("more is heard") {
            (key, Event::Updated(reading)) => {
                assert_eq!(reading.value, types.value(key.0 as u32, 0), "PV {key:?}");
                seconds.entry(key).or_default().push(reading.seconds - 1_700_000_000);
            }
            (key, Event::Described(description)) => drop(described.insert(key, description)),
            (_, Event::Connected { .. }) => {}
            (key, other) => panic!("{key:?}: {other:?}"),
        }
    }
    assert!(seconds.values().all(|heard| heard.iter().copied().eq(0..=50)), "every update once, in order");
    assert_eq!(described[&Key(3)].labels, ["off", "on", "unknown"]);
    assert_eq!(described[&Key(6)].warning, Some(Limits { low: -50.0, high: 50.0 }));
    // The subscriptions to properties hear of no value.
    let counters = server.counters();
    assert_eq!((counters.posted, counters.sent), (50 * u64::from(count), 50 * u64::from(count)));
}

#[test]
fn what_a_slow_client_misses_is_counted_and_comes_in_order() {
    let server = Served::start(Settings { depth: Depth::Places(4), ..Settings::default() });
    let (name, pv) = ("A:6", Types::new().find("A:6").expect("it is there"));
    let mut circuit = std::net::TcpStream::connect(server.address).expect("it listens");
    let mut requests = Vec::new();
    epics::ca::wire::create_channel(&mut requests, 1, name);
    let wanted = epics::ca::wire::Wanted { sid: 0, id: 9, data_type: FieldType::Double.time(), count: 0 };
    epics::ca::wire::event_add(&mut requests, wanted, 3);
    circuit.write_all(&requests).expect("it takes requests");
    server.wait_for("the subscription", |counters| counters.subscriptions == 1);
    // Half a megabyte each: the network takes some of them, the queue four, and the rest finds no place.
    for number in 1..=100 {
        server.ask(move |reactor, server| reactor.post(server, pv..pv + 1, number));
    }
    let counters = server.counters();
    let waiting = server.ask(|reactor, server| reactor.waiting(server));
    assert!(counters.replaced > 0 && waiting <= 4, "{counters:?}, {waiting}");
    assert_eq!(counters.posted, counters.sent + counters.replaced + waiting);
    let heard = read_updates(&mut circuit, 9, 1 + (counters.sent + waiting) as usize);
    assert!(heard.is_sorted_by(|one, next| one < next), "{heard:?}");
    assert_eq!(heard.last(), Some(&100), "the newest is never the one that is left out");
    drop(circuit);
    let counters = server.wait_for("the end of the circuit", |counters| counters.circuits_ended == 1);
    assert_eq!((counters.posted, counters.abandoned), (counters.sent + counters.replaced, 0));
}

#[test]
fn a_client_that_asks_to_hold_back_is_heeded_and_told_the_newest_afterwards() {
    let server = Served::start(Settings::default());
    let pv = Types::new().find("S:5").expect("it is there");
    let mut circuit = std::net::TcpStream::connect(server.address).expect("it listens");
    let mut requests = Vec::new();
    epics::ca::wire::create_channel(&mut requests, 1, "S:5");
    let wanted = epics::ca::wire::Wanted { sid: 0, id: 4, data_type: FieldType::Long.time(), count: 1 };
    epics::ca::wire::event_add(&mut requests, wanted, 3);
    let alarms = epics::ca::wire::Wanted { id: 5, ..wanted };
    epics::ca::wire::event_add(&mut requests, alarms, 4);
    let bare = |command| epics::ca::wire::Header { command, ..Default::default() };
    epics::ca::wire::put_message(&mut requests, bare(8), &[]);
    circuit.write_all(&requests).expect("it takes requests");
    server.wait_for("the subscriptions", |counters| counters.subscriptions == 2);
    server.ask(move |reactor, server| (1..=25).for_each(|number| reactor.post(server, pv..pv + 1, number)));
    // 25 for one, and for the other the two changes of the alarm.
    let counters = server.counters();
    assert_eq!((counters.posted, counters.sent, counters.held_back, counters.replaced), (27, 0, 25, 0));
    let mut requests = Vec::new();
    epics::ca::wire::put_message(&mut requests, bare(9), &[]);
    // A write is refused, an unknown channel named.
    epics::ca::wire::put_message(
        &mut requests,
        epics::ca::wire::Header { command: 4, data_type: 5, count: 1, ..Default::default() },
        &[0, 0, 0, 1],
    );
    epics::ca::wire::read_notify(&mut requests, epics::ca::wire::Wanted { sid: 77, ..wanted });
    circuit.write_all(&requests).expect("it takes requests");
    assert_eq!(read_updates(&mut circuit, 4, 2), [0, 25]);
    assert_eq!(server.wait_for("two refusals", |counters| counters.errors == 2).sent, 2);
}

/// The numbers of the updates of a subscription, by their times, until there are so many.
fn read_updates(circuit: &mut std::net::TcpStream, id: u32, count: usize) -> Vec<u32> {
    use std::io::Read;
    circuit.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let (mut bytes, mut found, mut chunk) = (Vec::new(), Vec::new(), vec![0; 1 << 20]);
    while found.len() < count {
        let mut rest = bytes.as_slice();
        while let Some((message, after)) = epics::ca::wire::next_message(rest).expect("messages") {
            rest = after;
            if message.header.command == 1 && message.header.parameter2 == id {
                found.push(epics::ca::wire::u32_at(message.payload, 4) - (1_700_000_000 - 631_152_000));
            }
        }
        let taken = bytes.len() - rest.len();
        bytes.drain(..taken);
        if found.len() < count {
            let size = circuit.read(&mut chunk).expect("more comes");
            assert!(size > 0, "the server ended the circuit after {found:?}");
            bytes.extend_from_slice(&chunk[..size]);
        }
    }
    found
}

#[test]
fn libca_reads_every_type_and_hears_every_update() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = here.join("../../.venv/bin/python");
    let python = env::var_os("PVARK_PYTHON").unwrap_or_else(|| match own.exists() {
        true => own.into(),
        false => "python3".into(),
    });
    let server = Served::start(Settings { depth: Depth::Lossless, ..Settings::default() });
    let (types, count) = (Types::new(), Types::new().len());
    server.ask(move |reactor, server| reactor.post(server, 0..count, 7));
    let repeater = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let order = format!(
        r#"{{"port": {}, "repeater": {}, "updates": 30, "pvs": {}}}"#,
        server.address.port(),
        repeater.port(),
        types.json()
    );
    let mut command = Command::new(&python);
    command.arg(here.join("tests/ca_served.py")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut referee = match command.spawn() {
        Ok(referee) => referee,
        Err(error) => return eprintln!("skipped: {} cannot be run ({error})", python.display()),
    };
    let mut stdin = referee.stdin.take().expect("it was ordered");
    stdin.write_all(order.as_bytes()).expect("it reads");
    drop(stdin);
    let waiter = thread::spawn(move || referee.wait_with_output().expect("it ends"));
    while !waiter.is_finished() && server.counters().subscriptions < u64::from(count) {
        thread::yield_now();
    }
    server.tell(move |reactor, server| (8..=37).for_each(|number| reactor.post(server, 0..count, number)));
    let output = waiter.join().expect("no panic");
    let (words, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(0) => eprintln!("{words}"),
        Some(SKIPPED) => eprintln!("skipped: {} has no EPICS libraries ({})", python.display(), words.trim()),
        _ => panic!("{words}{errors}"),
    }
}
