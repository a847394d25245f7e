//! Shares between two nodes on loopback, of which the one that takes them does what it should not.

use std::{
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};

use archive::{KeyedBy, Role};
use sample::{Alarm, Column, Sample, Timestamp, Value};
use store::{Config, Store};
use tokio::runtime::Runtime;

use super::*;
use crate::{Key, Listener, ListenerConfig, Offered, Remote, RemoteConfig};

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    TakeAll,
    /// It says why not at the first piece, while the others come.
    Refuse,
    /// It takes the first piece and no other,
    HangInBetween,
    /// or all of them, and does not come to an end with them.
    HangAtTheEnd,
}

/// Who takes shares at the other node.
struct Taker {
    does: Does,
    /// The samples that came by shares that ended, and the names of these.
    samples: Mutex<u64>,
    parts: Mutex<Vec<String>>,
    /// Whoever hangs may go.
    is_over: Arc<AtomicBool>,
    broke_off: AtomicBool,
}

impl Taker {
    fn hang(&self) {
        while !self.is_over.load(Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Cluster for Taker {
    fn lacks(&self, _: PvId) -> Option<String> {
        None
    }

    fn answer(&self, _: &[u8]) -> Result<Vec<u8>, String> {
        Err("it is not asked".to_owned())
    }

    fn take(&self, question: &[u8], pieces: &mut dyn Iterator<Item = Result<Sent, String>>) -> Result<Vec<u8>, String> {
        assert_eq!(question, b"a question");
        let mut samples = 0;
        for piece in pieces {
            match piece.inspect_err(|_| self.broke_off.store(true, Relaxed))? {
                Sent::Record(_, record) => samples += record.samples() as u64,
                Sent::Part(part) => {
                    *self.samples.lock().expect("nobody panics") += samples;
                    self.parts.lock().expect("nobody panics").push(part);
                    if self.does == Does::HangAtTheEnd {
                        self.hang();
                    }
                }
            }
            match self.does {
                Does::Refuse => return Err("its disk is full".to_owned()),
                Does::HangInBetween => self.hang(),
                Does::TakeAll | Does::HangAtTheEnd => {}
            }
        }
        Ok(b"entered".to_vec())
    }
}

struct Nodes {
    taker: Arc<Taker>,
    remote: Remote,
    is_over: Arc<AtomicBool>,
    _listener: Listener,
    _runtime: Runtime,
    _store: Store,
    _folder: tempfile::TempDir,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

fn nodes(does: Does) -> Nodes {
    let folder = tempfile::tempdir().expect("there is room");
    let store = Store::open(Config::new(folder.path().join("data")), Timestamp::MIN).expect("it opens");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let is_over = Arc::new(AtomicBool::new(false));
    let taker = Arc::new(Taker {
        does,
        samples: Mutex::default(),
        parts: Mutex::default(),
        is_over: is_over.clone(),
        broke_off: AtomicBool::new(false),
    });
    let key = Key::of(KEY).expect("it is a key");
    let listener = {
        let _tasks_run_here = runtime.enter();
        let (address, program) = (SocketAddr::from(([127, 0, 0, 1], 0)), "test".to_owned());
        let config = ListenerConfig { address, key: key.clone(), run: 1, program };
        let cluster: Arc<dyn Cluster> = taker.clone();
        let reader = Arc::new(store.reader());
        Listener::start(config, Offered { source: reader.clone(), directory: reader, cluster: Some(cluster) })
            .expect("it listens")
    };
    let config = RemoteConfig {
        name: "node b".to_owned(),
        address: listener.address().to_string(),
        key,
        own_run: 0,
        keyed_by: KeyedBy::Number,
        role: Role::Other,
        pvs: None,
    };
    let remote = Remote::new(config).expect("a thread");
    let begun = Instant::now();
    while let Some(why) = archive::Source::away(&remote) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{why}");
        thread::sleep(Duration::from_millis(20));
    }
    Nodes { taker, remote, is_over, _listener: listener, _runtime: runtime, _store: store, _folder: folder }
}

/// A megabyte that nothing packs.
fn large(number: u64) -> Record {
    let mut state = number + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as i64
    };
    let array = Column::I64((0..1 << 17).map(|_| next()).collect());
    let time = Timestamp::from_nanos(number as i64);
    Record::Sample(Sample { time, value: Value::Array(array), alarm: Alarm::default(), pulse: 0, stamp: None })
}

impl Nodes {
    /// Sends so many megabytes, and gives the answer or what went wrong first.
    fn send(&self, megabytes: u64) -> Result<Vec<u8>, SourceError> {
        let mut share = self.remote.begin_share(b"a question".to_vec())?;
        for number in 0..megabytes {
            share.put(PvId(number as u32 % 3), &large(number))?;
        }
        share.end("part 1")?;
        share.answer()
    }
}

#[test]
fn a_share_is_taken_whole_and_its_answer_comes_behind_it() {
    let nodes = nodes(Does::TakeAll);
    assert_eq!(nodes.send(40).expect("it is taken"), b"entered");
    assert_eq!(*nodes.taker.samples.lock().expect("nobody panics"), 40);
    assert_eq!(*nodes.taker.parts.lock().expect("nobody panics"), ["part 1"]);
    // One that holds nothing is one too.
    assert_eq!(nodes.send(0).expect("it is taken"), b"entered");
}

#[test]
fn a_share_without_its_end_counts_for_nothing() {
    let nodes = nodes(Does::TakeAll);
    let mut share = nodes.remote.begin_share(b"a question".to_vec()).expect("it is there");
    share.put(PvId(1), &large(1)).expect("it takes it");
    drop(share);
    let begun = Instant::now();
    while !nodes.taker.broke_off.load(Relaxed) {
        assert!(begun.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(10));
    }
    assert!(nodes.taker.parts.lock().expect("nobody panics").is_empty());
}

#[test]
fn a_refusal_comes_in_words_however_much_was_on_its_way() {
    let error = nodes(Does::Refuse).send(40).expect_err("it refuses");
    assert_eq!(error.message, "its disk is full");
}

#[test]
fn a_node_that_hangs_is_given_up_after_a_while() {
    for does in [Does::HangInBetween, Does::HangAtTheEnd] {
        let nodes = nodes(does);
        let begun = Instant::now();
        let error = nodes.send(40).expect_err("it hangs");
        assert!(error.message.contains("does not answer in time"), "{does:?}: {error:?}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{does:?} took {:?}", begun.elapsed());
    }
}

#[test]
fn some_shares_are_taken_at_a_time_and_no_more() {
    let nodes = nodes(Does::HangAtTheEnd);
    let mut held = Vec::new();
    for _ in 0..SHARES_MAX {
        let mut share = nodes.remote.begin_share(b"a question".to_vec()).expect("it is there");
        share.end("part 1").expect("it takes it");
        held.push(share);
    }
    let begun = Instant::now();
    while nodes.taker.parts.lock().expect("nobody panics").len() < SHARES_MAX {
        assert!(begun.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(10));
    }
    let error = nodes.send(1).expect_err("it has enough to do");
    assert!(error.message.contains("too many imports"), "{error:?}");
}
