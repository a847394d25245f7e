//! A cell: so many clients that ask one question of a server for some time, and what came of it.

use std::{
    io::Cursor,
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use crate::{
    http::{Answer, Connection},
    measure::{Stopwatch, memory_mib},
    store_bench::Outcome,
    trial::Usage,
};

/// Lines of an answer that are none of samples: heads and ends.
const OTHER_LINES_MAX: u64 = 16;
/// A client needs little more than what it reads into.
const STACK_BYTES: usize = 128 << 10;
const LOOK: Duration = Duration::from_millis(10);

/// Whom to ask, and as which process the system knows it.
pub(super) struct Server {
    pub(super) bench: &'static str,
    address: SocketAddr,
    process: Option<u32>,
    /// The folder of its archive, which goes with it.
    _scratch: Option<tempfile::TempDir>,
}

impl Server {
    pub(super) fn at(
        bench: &'static str,
        address: SocketAddr,
        own: Option<(u32, Option<tempfile::TempDir>)>,
    ) -> Outcome<Server> {
        let (process, scratch) = own.unzip();
        Ok(Server { bench, address, process, _scratch: scratch.flatten() })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    fn usage(&self) -> Option<Usage> {
        self.process.map(Usage::watch)
    }
}

/// What all clients together saw.
#[derive(Default)]
pub(super) struct CellResult {
    pub(super) wall: f64,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) first_byte: Vec<f64>,
    pub(super) whole: Vec<f64>,
    /// Of the server, where it is a process of this machine.
    pub(super) usage: Option<Usage>,
    /// Seconds of processor that the clients took, and their memory.
    pub(super) client_cpu: f64,
    pub(super) client_gb: f64,
}

impl CellResult {
    pub(super) fn answers(&self) -> f64 {
        self.whole.len() as f64
    }
}

/// Asks once, and looks whether that is an answer with so many samples. Gives how many there are.
pub(super) fn checked(server: &Server, path: &str, samples: Option<u64>) -> Outcome<u64> {
    let mut body = Vec::new();
    let keeps = path.contains("format=arrow");
    let answer = Connection::open(server.address)?.get(path, |piece| {
        if keeps || body.len() < 300 {
            body.extend_from_slice(piece);
        }
    })?;
    if answer.status != 200 {
        return Err(format!("{path} was answered with {}: {}", answer.status, String::from_utf8_lossy(&body)).into());
    }
    match samples {
        _ if keeps => rows_in(&body),
        None => Ok(answer.lines.saturating_sub(1)),
        Some(samples) if answer.lines.abs_diff(samples) <= OTHER_LINES_MAX => Ok(samples),
        Some(samples) => Err(format!("{path} gave {} lines in place of {samples}", answer.lines).into()),
    }
}

/// The rows of Arrow streams that follow each other.
fn rows_in(streams: &[u8]) -> Outcome<u64> {
    let (mut rows, mut at) = (0, Cursor::new(streams));
    while at.position() < streams.len() as u64 {
        for batch in arrow_ipc::reader::StreamReader::try_new(&mut at, None)? {
            rows += batch?.num_rows() as u64;
        }
    }
    Ok(rows)
}

/// Each client asks, and asks again until the time is over.
pub(super) fn answers(server: &Server, path: &str, clients: usize, seconds: f64) -> Outcome<CellResult> {
    let mut connections = (0..clients).map(|_| Connection::open(server.address)).collect::<Outcome<Vec<_>>>()?;
    let (mut usage, clock, running) = (server.usage(), Stopwatch::start(), AtomicUsize::new(clients));
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let mut cell = CellResult::default();
    let all: Result<Vec<Vec<Answer>>, String> = thread::scope(|scope| {
        let threads: Vec<_> = connections
            .iter_mut()
            .map(|connection| {
                let running = &running;
                let client = move || {
                    let answers = ask_until(connection, path, until).map_err(|error| error.to_string());
                    running.fetch_sub(1, Relaxed);
                    answers
                };
                thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, client)
            })
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())?;
        while running.load(Relaxed) > 0 {
            usage.iter_mut().for_each(Usage::look);
            thread::sleep(LOOK);
        }
        usage.iter_mut().for_each(Usage::look);
        (cell.wall, cell.client_cpu) = (clock.passed().wall, clock.passed().cpu);
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a client failed")?).collect()
    });
    for answer in all?.into_iter().flatten() {
        if answer.status != 200 {
            return Err(format!("{path} was answered with {}", answer.status).into());
        }
        cell.bytes += answer.bytes;
        cell.lines += answer.lines;
        cell.first_byte.push(answer.first_byte);
        cell.whole.push(answer.whole);
    }
    Ok(CellResult { usage, client_gb: memory_mib() * 1024.0 * 1024.0 / 1e9, ..cell })
}

fn ask_until(connection: &mut Connection, path: &str, until: Instant) -> Outcome<Vec<Answer>> {
    let mut answers = Vec::new();
    while answers.is_empty() || Instant::now() < until {
        answers.push(connection.get(path, |_| {})?);
    }
    Ok(answers)
}

/// What the server needs more when so many clients have asked and do not read: bytes for each.
pub(super) fn memory_of_waiting(server: &Server, path: &str, clients: usize) -> Outcome<f64> {
    let process = server.process.ok_or("only the memory of a server that was started here is known")?;
    let memory = || {
        let mut usage = Usage::watch(process);
        usage.look();
        1e9 * usage.memory_gb()
    };
    // What the first answers leave behind is not for these clients.
    Connection::open(server.address)?.get(path, |_| {})?;
    let before = memory();
    let mut waiting = Vec::new();
    for _ in 0..clients {
        let mut connection = Connection::open(server.address)?;
        connection.ask(path)?;
        waiting.push(connection);
    }
    thread::sleep(Duration::from_secs(3));
    Ok((memory() - before) / clients as f64)
}
