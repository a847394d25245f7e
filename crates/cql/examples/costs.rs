//! What each call of the seam takes of a cluster: `PVARK_CQL="127.0.0.1:9042 …" cargo run --release -p cql --example costs -- PID…`, with the
//! processes of its servers, which must run on this machine. Prints the file of costs that `pvark-lab cluster` reads.

#![expect(clippy::print_stdout, reason = "the file of costs is what it prints")]

use std::{
    error::Error,
    fs, process,
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use cql::{Config, Cql};
use shared::{Seq, Shared};

/// So many threads call at a time: a node has as many shards, and more.
const THREADS: u64 = 8;

/// Calls before it is measured: the servers compile what is called often.
const WARM: u64 = 100;

const KIB: usize = 1024;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A call, by its number.
type Call = Box<dyn Fn(&dyn Shared, u64) -> shared::Result<()> + Send + Sync>;

/// Some calls of one kind, told apart by their number.
struct Calls {
    name: &'static str,
    bytes: usize,
    each: u64,
    call: Call,
}

fn main() -> Outcome<()> {
    let servers: Vec<u32> = std::env::args().skip(1).map(|pid| pid.parse()).collect::<Result<_, _>>()?;
    let nodes: Vec<String> = std::env::var("PVARK_CQL")?.split_whitespace().map(str::to_owned).collect();
    if servers.is_empty() || nodes.is_empty() {
        return Err("name the nodes in PVARK_CQL, and the processes of the servers behind the command".into());
    }
    let run = SystemTime::UNIX_EPOCH.elapsed()?.as_millis();
    let replication = nodes.len().min(3) as u32;
    let timeout = Duration::from_secs(20);
    let config = Config {
        nodes,
        keyspace: format!("costs_{run}"),
        replication,
        accepts_unsynced: false,
        user: None,
        tls: None,
        timeout,
    };
    let shared: Arc<dyn Shared> = Cql::open(config)?;
    println!("call,bytes,calls,servers_cpu_ms,client_cpu_ms,p50_ms,p99_ms,servers_written_bytes");
    for calls in all() {
        println!("{}", measured(&shared, &servers, &calls)?);
    }
    Ok(())
}

fn all() -> Vec<Calls> {
    let calls = |name, bytes, each, call| Calls { name, bytes, each, call };
    let put = |name: &'static str, kib: usize, each| {
        calls(
            name,
            kib * KIB,
            each,
            Box::new(move |shared: &dyn Shared, number| shared.put(&key(kib, number), &noise(number, kib * KIB))),
        )
    };
    vec![
        calls(
            "create",
            200,
            100,
            Box::new(|shared, number| {
                shared.create(&format!("{}.a", number % THREADS), Seq(number / THREADS), &noise(number, 200)).map(drop)
            }),
        ),
        calls(
            "row",
            200,
            100,
            Box::new(|shared, number| shared.row(&format!("{}.a", number % THREADS), Seq(number / THREADS)).map(drop)),
        ),
        calls(
            "swap",
            100,
            100,
            Box::new(|shared, number| shared.swap(&format!("lease/{number}"), None, &noise(number, 100)).map(drop)),
        ),
        put("put", 4, 200),
        put("put", 256, 60),
        calls(
            "get",
            256 * KIB,
            60,
            Box::new(|shared, number| shared.get(&key(256, number), 0..(256 * KIB) as u64).map(drop)),
        ),
        calls(
            "beat",
            100,
            200,
            Box::new(|shared, number| shared.beat(&format!("node{}", number % 64), &noise(number, 100))),
        ),
        calls("beats of 64", 6400, 100, Box::new(|shared, _| shared.beats().map(drop))),
    ]
}

fn key(kib: usize, number: u64) -> String {
    format!("{}.a/seg/{:016x}/{kib}/{:06}", number % THREADS, number / 64, number % 64)
}

/// Bytes that nobody can compress.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// A line of the file.
fn measured(shared: &Arc<dyn Shared>, servers: &[u32], calls: &Calls) -> Outcome<String> {
    in_parallel(shared, calls, 0..WARM)?;
    let before = (cpu_ms(servers)?, cpu_ms(&[process::id()])?, written(servers)?);
    let mut took = in_parallel(shared, calls, WARM..WARM + calls.each * THREADS)?;
    took.sort();
    let count = took.len() as f64;
    let at = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    Ok(format!(
        "{},{},{},{:.3},{:.3},{:.2},{:.2},{:.0}",
        calls.name,
        calls.bytes,
        took.len(),
        (cpu_ms(servers)? - before.0) / count,
        (cpu_ms(&[process::id()])? - before.1) / count,
        at(50),
        at(99),
        (written(servers)? - before.2) / count,
    ))
}

fn in_parallel(shared: &Arc<dyn Shared>, calls: &Calls, numbers: std::ops::Range<u64>) -> Outcome<Vec<Duration>> {
    let took: Vec<shared::Result<Vec<Duration>>> = thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            let numbers = numbers.clone().filter(move |number| number % THREADS == thread);
            scope.spawn(move || {
                numbers
                    .map(|number| {
                        let begun = Instant::now();
                        (calls.call)(&**shared, number).map(|()| begun.elapsed())
                    })
                    .collect()
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    Ok(took.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

/// User and system time of processes.
fn cpu_ms(pids: &[u32]) -> Outcome<f64> {
    let mut ticks = 0;
    for pid in pids {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let fields = stat.rsplit_once(')').ok_or("a stat without a name")?.1;
        let times = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
        ticks += times.sum::<Result<u64, _>>()?;
    }
    Ok(ticks as f64 * 10.0)
}

/// Bytes that processes had written to disks.
fn written(pids: &[u32]) -> Outcome<f64> {
    let mut bytes = 0;
    for pid in pids {
        let io = fs::read_to_string(format!("/proc/{pid}/io"))?;
        let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).ok_or("an io without write_bytes")?;
        bytes += line.trim().parse::<u64>()?;
    }
    Ok(bytes as f64)
}
