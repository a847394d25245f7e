//! Two nodes on loopback: what one asks of the other is what the other's own store answers, to the last bit; and whatever goes wrong is an
//! error, never a short answer.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use archive::{
    By, Fits, Key as PvKey, KeyedBy, Method, Protocol, PvName, PvSettings, PvState, Record, Role, Sink, Source,
};
use remote::{Key, Listener, ListenerConfig, Offered, Remote, RemoteConfig};
use sample::{Alarm, Column, Gap, GapCause, Metadata, Quality, Sample, Severity, Stamp, TimeRange, Timestamp, Value};
use store::{Config, Store};
use tokio::runtime::Runtime;

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_790_000_000 + seconds, 0)
}

fn name(text: &str) -> PvName {
    PvName::new(text).expect("it is a name")
}

struct Node {
    store: Store,
    listener: Option<Listener>,
    runtime: Runtime,
    _folder: tempfile::TempDir,
}

impl Node {
    /// One with samples of every kind.
    fn start(key: &[u8]) -> Node {
        let folder = tempfile::tempdir().expect("there is room");
        let store = Store::open(Config::new(folder.path().join("data")), at(0)).expect("it opens");
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let names = ["N:FAST", "N:TEXT", "N:WAVE", "N:NONE"].map(|text| (name(text), settings.clone()));
        let entries = store.writer().register(&names, &By::new("test", at(0))).expect("they are new");
        let mut records = Vec::new();
        for step in 0..20_000_i64 {
            let severity = if step % 100 == 7 { Severity::Major } else { Severity::None };
            let alarm = Alarm { severity, status: 3, message: None };
            let stamp =
                (step % 1000 == 9).then_some(Stamp { quality: Quality::NeverSet, other: Timestamp::from_nanos(0) });
            let time = at(0).saturating_add(Duration::from_millis(100 * step.unsigned_abs()));
            let sample = Sample { time, value: Value::F64((step as f64).sin()), alarm, pulse: 0, stamp };
            records.push((entries[0].id, Record::Sample(sample)));
        }
        for step in 0..50_i64 {
            let plain = |value| Sample { time: at(step), value, alarm: Alarm::default(), pulse: 7, stamp: None };
            records.push((entries[1].id, Record::Sample(plain(Value::String(format!("text {step}").into())))));
            let wave = Column::F32((0..5000).map(|index| (index * step) as f32).collect());
            records.push((entries[2].id, Record::Sample(plain(Value::Array(wave)))));
        }
        let metadata = Metadata { units: Some("mA".to_owned()), ..Metadata::default() };
        records.push((entries[0].id, Record::Metadata(at(1), metadata.into())));
        let gap = Gap { from: at(5000), to: Some(at(5100)), cause: GapCause::Disconnected, lost: 0 };
        records.push((entries[0].id, Record::Gap(gap)));
        for some in records.chunks(1000) {
            store.writer().append(some, at(6000)).expect("they are taken");
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
        let mut node = Node { store, listener: None, runtime, _folder: folder };
        node.listen(SocketAddr::from(([127, 0, 0, 1], 0)), key);
        node
    }

    fn listen(&mut self, address: SocketAddr, key: &[u8]) {
        static RUN: AtomicU64 = AtomicU64::new(1);
        let _tasks_run_here = self.runtime.enter();
        let config = ListenerConfig {
            address,
            key: Key::of(key).expect("it is a key"),
            run: RUN.fetch_add(1, Relaxed),
            program: "test".to_owned(),
        };
        let offered =
            Offered { source: Arc::new(self.store.reader()), directory: Arc::new(self.store.reader()), cluster: None };
        self.listener = Some(Listener::start(config, offered).expect("it listens"));
    }

    fn address(&self) -> SocketAddr {
        self.listener.as_ref().expect("it listens").address()
    }
}

fn remote(address: impl ToString, key: &[u8]) -> Remote {
    let config = RemoteConfig {
        name: "other".to_owned(),
        address: address.to_string(),
        key: Key::of(key).expect("it is a key"),
        own_run: 0,
        keyed_by: KeyedBy::Name,
        role: Role::Copy,
        pvs: None,
    };
    Remote::new(config).expect("a thread")
}

/// Waits until it is there, or away for a reason that has these words.
fn wait(remote: &Remote, away: Option<&str>) {
    let begun = Instant::now();
    loop {
        let is_so = match (remote.away(), away) {
            (None, None) => true,
            (Some(why), Some(words)) => why.contains(words),
            _ => false,
        };
        if is_so {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?} instead of {away:?}", remote.away());
        thread::sleep(Duration::from_millis(20));
    }
}

fn rows(batches: archive::SampleStream) -> Result<Vec<Sample>, String> {
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch.map_err(|error| error.to_string())?;
        rows.extend((0..batch.len()).map(|row| batch.get(row)));
    }
    Ok(rows)
}

#[test]
fn what_is_asked_of_another_node_is_what_its_store_answers() {
    let node = Node::start(KEY);
    let remote = remote(node.address(), KEY);
    wait(&remote, None);
    let own = node.store.reader();
    let range = TimeRange { t0: at(-10), t1: at(1500) };
    for text in ["N:FAST", "N:TEXT", "N:WAVE", "N:NONE"] {
        let (name, number) = (name(text), own.find(text).expect("it is there").id);
        let (there, here) = (PvKey::Name(&name), PvKey::Number(number));
        let (told, expected) = (rows(remote.samples(there, range)), rows(Source::samples(&own, here, range)));
        assert_eq!(told, expected, "{text}");
        assert!(told.is_ok_and(|rows| rows.is_empty() == (text == "N:NONE")));
        assert_eq!(remote.extent(there), Source::extent(&own, here));
        assert_eq!(remote.last_before(there, at(20)), Source::last_before(&own, here, at(20)));
        assert_eq!(remote.metadata(there, range), Source::metadata(&own, here, range));
        assert_eq!(remote.gaps(there, None, TimeRange::ALL), Source::gaps(&own, here, None, TimeRange::ALL));
        let edges: Arc<[Timestamp]> = (0..16).map(|step| at(100 * step)).collect();
        let all = |stretches: archive::StretchStream| stretches.collect::<Result<Vec<_>, _>>();
        let told = remote.stretches(there, None, range, &edges).expect("it is there").map(all);
        assert_eq!(told, Source::stretches(&own, here, None, range, &edges).expect("it is there").map(all), "{text}");
    }
    let fast = name("N:FAST");
    let lacks = remote.lacks(PvKey::Name(&fast), None, TimeRange::ALL).expect("it is there").expect("it has it");
    let before = |(_, gap): &&(_, Gap)| gap.cause == GapCause::NotArchived && gap.to == Some(at(0));
    assert!(lacks.iter().any(|gap| before(&gap)), "{lacks:?}");
    let missing = name("N:MISSING");
    assert_eq!(remote.lacks(PvKey::Name(&missing), None, TimeRange::ALL), Ok(None));
    assert_eq!(rows(remote.samples(PvKey::Name(&missing), range)), Ok(Vec::new()));
    let mut names = Vec::new();
    let mut found = |name: PvName| {
        names.push(name.to_string());
        ControlFlow::Continue(())
    };
    remote.pvs(&mut found).expect("it is there");
    names.sort();
    assert_eq!(names, ["N:FAST", "N:NONE", "N:TEXT", "N:WAVE"]);
}

#[test]
fn numbers_are_asked_for_where_nodes_share_them_and_patterns_keep_others_out() {
    let node = Node::start(KEY);
    let of = |keyed_by, pvs: Option<&str>| {
        let pvs = pvs.map(|pattern| vec![Fits::parse(pattern).expect("a pattern")]);
        let key = Key::of(KEY).expect("it is a key");
        let (name, address) = ("other".to_owned(), node.address().to_string());
        let role = Role::Other;
        let remote =
            Remote::new(RemoteConfig { name, address, key, own_run: 0, keyed_by, role, pvs }).expect("a thread");
        wait(&remote, None);
        remote
    };
    let number = node.store.reader().find("N:TEXT").expect("it is there").id;
    let by_number = of(KeyedBy::Number, None);
    assert_eq!(rows(by_number.samples(PvKey::Number(number), TimeRange::ALL)).map(|rows| rows.len()), Ok(50));
    assert_eq!(by_number.may_have_samples(&[number, archive::PvId(99)]), [true, false]);
    let some = of(KeyedBy::Name, Some("N:W*"));
    assert_eq!(rows(some.samples(PvKey::Name(&name("N:TEXT")), TimeRange::ALL)).map(|rows| rows.len()), Ok(0));
    assert_eq!(rows(some.samples(PvKey::Name(&name("N:WAVE")), TimeRange::ALL)).map(|rows| rows.len()), Ok(50));
}

#[test]
fn who_has_another_key_is_told_nothing_and_who_is_no_node_is_named() {
    let node = Node::start(KEY);
    let stranger = remote(node.address(), b"fedcba9876543210fedcba9876543210");
    wait(&stranger, Some("another key file"));
    let error = rows(stranger.samples(PvKey::Name(&name("N:FAST")), TimeRange::ALL)).expect_err("it has no key");
    assert!(error.contains("another key file"), "{error}");

    // Without any key, and without TLS at all.
    let mut plain = TcpStream::connect(node.address()).expect("it listens");
    plain.write_all(b"POST /internal/v1/names HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").expect("it is sent");
    let mut told = Vec::new();
    let _ = plain.read_to_end(&mut told); // it may be reset
    assert!(!told.windows(4).any(|four| four == b"N:FA" || four == b"HTTP"), "{told:?}");

    let web = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = web.local_addr().expect("it has one");
    thread::spawn(move || {
        for stream in web.incoming().flatten() {
            let _ = (&stream).write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"); // whoever it is
        }
    });
    wait(&remote(address, KEY), Some("[nodes] listener"));
    wait(&remote("127.0.0.1:1", KEY), Some("nobody answers"));
    wait(&remote("no.such.host.invalid:1", KEY), Some("address is not found"));
}

#[test]
fn a_node_that_goes_away_in_the_middle_is_an_error_and_is_found_again() {
    let mut node = Node::start(KEY);
    let address = node.address();
    let remote = remote(address, KEY);
    wait(&remote, None);
    let wave = name("N:WAVE");
    let mut samples = remote.samples(PvKey::Name(&wave), TimeRange::ALL);
    samples.next().expect("there are some").expect("it is there");
    // All connections end with it.
    node.listener = None;
    let mut told = Vec::new();
    for batch in samples {
        told.push(batch.map(|batch| batch.len()));
    }
    // What had been sent may still come; the end of it must be an error.
    assert!(told.last().is_some_and(Result::is_err) || told.iter().flatten().sum::<usize>() >= 49, "{told:?}");
    wait(&remote, Some(""));
    let begun = Instant::now();
    assert!(rows(remote.samples(PvKey::Name(&wave), TimeRange::ALL)).is_err());
    assert!(begun.elapsed() < Duration::from_millis(500), "who is known to be away is not waited for");
    node.listen(address, KEY);
    wait(&remote, None);
    assert_eq!(rows(remote.samples(PvKey::Name(&wave), TimeRange::ALL)).map(|rows| rows.len()), Ok(50));
}

/// A way to a node that lets so many bytes of its answers through, and then is silent or hangs up.
fn way(to: SocketAddr, bytes: Arc<AtomicU64>, then_silent: bool) -> SocketAddr {
    let door = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = door.local_addr().expect("it has one");
    thread::spawn(move || {
        for client in door.incoming().flatten() {
            let Ok(node) = TcpStream::connect(to) else { continue };
            let (mut client_in, mut node_in) =
                (client.try_clone().expect("a socket"), node.try_clone().expect("a socket"));
            thread::spawn(move || std::io::copy(&mut client_in, &mut &node));
            let bytes = Arc::clone(&bytes);
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(size @ 1..) = node_in.read(&mut buffer) {
                    if bytes.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(size as u64)).is_err() {
                        while then_silent && bytes.load(Relaxed) < 4096 {
                            thread::sleep(Duration::from_millis(10));
                        }
                        let _ = client.shutdown(std::net::Shutdown::Both); // it may have gone
                        return;
                    }
                    if (&client).write_all(&buffer[..size]).is_err() {
                        return;
                    }
                }
                let _ = client.shutdown(std::net::Shutdown::Both); // it may have gone
            });
        }
    });
    address
}

#[test]
fn an_answer_that_is_cut_off_or_falls_silent_is_never_a_short_one() {
    let node = Node::start(KEY);
    let wave = name("N:WAVE");
    for then_silent in [false, true] {
        let bytes = Arc::new(AtomicU64::new(u64::MAX / 2));
        let remote = remote(way(node.address(), Arc::clone(&bytes), then_silent), KEY);
        let mut broken = 0;
        for cut in if then_silent { vec![100_000] } else { (0..12).map(|step| step * 40_000).collect() } {
            bytes.store(u64::MAX / 2, Relaxed);
            wait(&remote, None);
            bytes.store(cut, Relaxed);
            let begun = Instant::now();
            let told = rows(remote.samples(PvKey::Name(&wave), TimeRange::ALL));
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
            match told {
                Ok(rows) => assert_eq!(rows.len(), 50),
                Err(_) => broken += 1,
            }
        }
        bytes.store(u64::MAX / 2, Relaxed);
        assert!(broken > 0, "no answer was cut");
    }
}
