//! Crowds and hostile clients, while PVs are being recorded: how long a question takes, what memory they cost, and whether a sample
//! was lost.

use std::{
    io::Write,
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    OURS, Report,
    archive::{self, FEW},
    time,
};
use crate::{
    farm::Plan,
    farm_process::FarmProcess,
    http::{Connection, address},
    measure::percentile,
    store_bench::Outcome,
    trial::{self, Archiver, Setup, Usage},
    workload::START,
};

/// What is recorded meanwhile.
const RECORDED: &str = "name=Q:,count=500,rate=10,slices=20";
const CONNECT_PATIENCE: Duration = Duration::from_secs(60);
const STACK_BYTES: usize = 128 << 10;
const CROWD_SECONDS: f64 = 10.0;
const HOSTILE_SECONDS: f64 = 20.0;
/// The most bytes that the server may need for each hostile client.
const HOSTILE_BYTES_MAX: f64 = 256e3;

/// A farm, an archiver that records it, and an archive of one PV more.
struct Recording {
    farm: FarmProcess,
    plan: Arc<Plan>,
    archiver: Archiver,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Recording {
    fn start(setup: &Setup) -> Outcome<Recording> {
        let folder = setup.scratch()?;
        archive::make(folder.path(), &[&FEW], &[])?;
        let farm = setup.farm(&[RECORDED.to_owned()], &["--drain", "2", "--queue", "0"])?;
        let plan = Arc::new(Plan::new(vec![RECORDED.parse()?], farm.start));
        let mut archiver = setup.archiver(folder.path(), &farm.ca)?;
        archiver.add((0..plan.len()).map(|pv| plan.name(pv)))?;
        let all = u64::from(plan.len());
        archiver.wait_for("all PVs to connect", CONNECT_PATIENCE, |status| status["pvs"]["connected"] == all)?;
        thread::sleep(Duration::from_secs(1));
        let address = address(archiver.url())?;
        Ok(Recording { farm, plan, archiver, address, folder })
    }

    /// Ends all, and gives how many updates are missing or not as they were sent.
    fn end(mut self) -> Outcome<u64> {
        self.farm.end()?;
        self.archiver.wait_for("the end of all circuits", CONNECT_PATIENCE, |status| {
            status["pvs"]["connected"] == 0 && status["queue"]["bytes"] == 0
        })?;
        self.archiver.end()?;
        let frames = trial::check(&self.plan, &self.folder.path().join("data"), f64::MAX)?;
        Ok(frames.missing + frames.wrong)
    }
}

/// The questions of a crowd: an hour as lines, ten minutes for a viewer, bins, and how the archiver fares.
fn question(client: usize) -> String {
    let range = |seconds: i64| format!("from={}&to={}", time(START), time(START + seconds * archive::SECOND));
    match client % 4 {
        0 => format!("/retrieval/data/getData.csv?pv={}&{}", FEW.name, range(3600)),
        1 => format!("/retrieval/data/getData.raw?pv={}&{}", FEW.name, range(600)),
        2 => format!("/retrieval/data/getData.json?pv=mean_600({})&{}", FEW.name, range(36_000)),
        _ => "/api/v1/status".to_owned(),
    }
}

/// So many clients at once, each of which asks again when it has its answer. Gives what was not as it must be.
pub(super) fn crowd(clients: usize, setup: &Setup, report: &mut Report) -> Outcome<Vec<String>> {
    let recording = Recording::start(setup)?;
    let mut usage = Usage::watch(recording.archiver.id());
    let mut connections = (0..clients).map(|_| Connection::open(recording.address)).collect::<Outcome<Vec<_>>>()?;
    let until = Instant::now() + Duration::from_secs_f64(CROWD_SECONDS);
    let (mut first, mut failed, mut bytes, mut fewest) = (Vec::new(), 0u64, 0u64, usize::MAX);
    thread::scope(|scope| -> Outcome<()> {
        let mut threads = Vec::new();
        for (client, connection) in connections.iter_mut().enumerate() {
            let ask = move || {
                let (mut first, mut failed, mut bytes) = (Vec::new(), 0u64, 0u64);
                let path = question(client);
                while Instant::now() < until {
                    match connection.get(&path, |_| {}) {
                        Ok(answer) if answer.status == 200 => {
                            first.push(answer.first_byte);
                            bytes += answer.bytes;
                        }
                        _ => {
                            failed += 1;
                            break;
                        }
                    }
                }
                (first, failed, bytes)
            };
            threads.push(thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, ask)?);
        }
        while Instant::now() < until {
            usage.look();
            thread::sleep(Duration::from_millis(100));
        }
        for thread in threads {
            let (more, broken, taken) = thread.join().map_err(|_| "a client failed")?;
            fewest = fewest.min(more.len());
            first.extend(more);
            failed += broken;
            bytes += taken;
        }
        Ok(())
    })?;
    drop(connections);
    let lost = recording.end()?;
    let case = format!("crowd x{clients}");
    let answers = first.len() as f64;
    let slow = 1e3 * percentile(&mut first, 99);
    report.tell(OURS, &case, "answers", answers / CROWD_SECONDS, "/s");
    report.tell(OURS, &case, "the fewest of a client", fewest as f64, "");
    report.tell(OURS, &case, "rate", bytes as f64 / 1e6 / CROWD_SECONDS, "MB/s");
    report.tell(OURS, &case, "first byte, half within", 1e3 * percentile(&mut first, 50), "ms");
    report.tell(OURS, &case, "first byte, 99 % within", slow, "ms");
    report.tell(OURS, &case, "without an answer", failed as f64, "");
    report.tell(OURS, &case, "most memory", 1e3 * usage.memory_gb(), "MB");
    report.tell(OURS, &case, "samples lost meanwhile", lost as f64, "");
    let faults = [(failed > 0, format!("{failed} clients of a crowd had no answer")), lost_any(lost)];
    Ok(faults.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect())
}

fn lost_any(lost: u64) -> (bool, String) {
    (lost > 0, format!("{lost} samples were lost"))
}

/// So many clients, of which most say nothing, some say it a byte at a time and some never read; and one that means well.
pub(super) fn hostile(clients: usize, setup: &Setup, report: &mut Report) -> Outcome<Vec<String>> {
    let recording = Recording::start(setup)?;
    let (mut usage, mut before) = (Usage::watch(recording.archiver.id()), Usage::watch(recording.archiver.id()));
    before.look();
    let (address, slow, deaf) = (recording.address, clients / 20, clients / 50);
    let connect = |count: usize| (0..count).map(|_| Ok(TcpStream::connect(address)?)).collect::<Outcome<Vec<_>>>();
    let silent = connect(clients - slow - deaf)?;
    let mut slow_ones = connect(slow)?;
    let deaf_ones = connect(deaf)?;
    let all = format!(
        "GET /retrieval/data/getData.csv?pv={}&from={}&to={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        FEW.name,
        time(START),
        time(FEW.end())
    );
    for mut deaf in &deaf_ones {
        deaf.write_all(all.as_bytes())?;
    }
    let over = AtomicBool::new(false);
    let mut taken: Vec<f64> = Vec::new();
    let mut failed = 0u64;
    thread::scope(|scope| {
        scope.spawn(|| {
            for byte in b"GET /api/v1/status HTTP/1.1\r\nHost: ".iter().chain(std::iter::repeat(&b'x')) {
                if over.load(Relaxed) {
                    break;
                }
                // Those whom the server has sent away are what is wanted.
                slow_ones.retain_mut(|slow| slow.write_all(&[*byte]).is_ok());
                thread::sleep(Duration::from_millis(500));
            }
        });
        let until = Instant::now() + Duration::from_secs_f64(HOSTILE_SECONDS);
        while Instant::now() < until {
            let begun = Instant::now();
            let answer = Connection::open(address).and_then(|mut polite| polite.get(&question(1), |_| {}));
            match answer {
                Ok(answer) if answer.status == 200 => taken.push(begun.elapsed().as_secs_f64()),
                _ => failed += 1,
            }
            usage.look();
            thread::sleep(Duration::from_millis(20));
        }
        over.store(true, Relaxed);
    });
    drop((silent, slow_ones, deaf_ones));
    let lost = recording.end()?;
    let case = format!("hostile x{clients}");
    let bytes = 1e9 * (usage.memory_gb() - before.memory_gb()) / clients as f64;
    report.tell(OURS, &case, "an honest client, half within", 1e3 * percentile(&mut taken, 50), "ms");
    report.tell(OURS, &case, "an honest client, 99 % within", 1e3 * percentile(&mut taken, 99), "ms");
    report.tell(OURS, &case, "honest questions without an answer", failed as f64, "");
    report.tell(OURS, &case, "memory of a hostile client", bytes / 1e3, "kB");
    report.tell(OURS, &case, "samples lost meanwhile", lost as f64, "");
    let faults = [
        (failed > 0, format!("{failed} honest questions had no answer")),
        (bytes > HOSTILE_BYTES_MAX, format!("a hostile client took {bytes} bytes of memory")),
        lost_any(lost),
    ];
    Ok(faults.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect())
}
