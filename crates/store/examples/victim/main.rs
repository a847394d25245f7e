//! A program to be killed: opens an archive, compares what recovery found with what was promised before, and appends as fast
//! as it may until somebody ends it. `tests/system/kill_loop.py` does, a thousand times.
//!
//! ```text
//!   victim FOLDER cycle=N durable=N tried=N full=0|1 [present=NAME…] [absent=NAME…] [stage=CYCLE:DONE:DOING…]
//! ```
//! It prints `opened N` when everything is as it should be, `trying N` before it appends up to sample N, `durable N` as soon as
//! it knows, `present NAME` when a PV was added, `removing NAME` and `absent NAME` before and after one is removed, `doing CYCLE
//! STEP` and `done CYCLE STEP` before and after a step of changes.rs. What is wrong ends it with code 1 and a sentence. Weeks are
//! sealed and move to FOLDER-far meanwhile.

mod changes;
mod verify;
mod workload;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use archive::{By, DataFate, Method, Protocol, PvId, PvName, PvSettings, PvState, Sink};
use changes::{STEPS, Stage};
use store::{Config, Durable, Error, Place, Store};
use verify::Promised;

type Failure = Box<dyn std::error::Error>;

/// Small, so that heads are flushed and segments merged all the time.
const HEAD_BYTES_MAX: usize = 512 << 10;
/// Between two rounds, so that a thousand cycles fit on a disk.
const PAUSE: Duration = Duration::from_millis(3);
/// So many rounds lie between two steps of changes.
const ROUNDS_PER_STEP: u64 = 8;
/// A victim whose killer has died ends by itself.
const LIFE_MAX: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    match run(env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("victim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<(), Failure> {
    let (folder, words) = arguments.split_first().ok_or("which folder?")?;
    let promised = Promised::parse(words)?;
    let config = Config {
        durable: Durable::Every(Duration::from_millis(5)),
        head_bytes_max: HEAD_BYTES_MAX,
        places: vec![Place {
            name: "far".to_owned(),
            folder: format!("{folder}-far").into(),
            after: Duration::from_secs(86_400),
            megabytes_per_second: None,
            answers_within: Place::ANSWERS_WITHIN,
        }],
        ..Config::new(folder)
    };
    let store = Store::open(config, workload::clock(promised.cycle))?;
    let appended = verify::opened(&store, &promised)?;
    say(&format!("opened {appended}"))?;
    live(&store, &promised, appended)
}

fn live(store: &Store, promised: &Promised, mut appended: u64) -> Result<(), Failure> {
    let names: Vec<String> = (0..workload::PVS).map(workload::name).collect();
    let pvs = register(store, &names)?;
    let own = format!("CYCLE:{}", promised.cycle);
    register(store, std::slice::from_ref(&own))?;
    say(&format!("present {own}"))?;
    if let Some(entry) = store.reader().find(&format!("CYCLE:{}", promised.cycle.saturating_sub(2))) {
        say(&format!("removing {}", entry.name))?;
        store.writer().remove(&[entry.id], DataFate::Keep, &By::new("the victim", workload::clock(promised.cycle)))?;
        say(&format!("absent {}", entry.name))?;
    }
    let mut stages = promised.stages.clone();
    stages.push(Stage::new(promised.cycle));
    let (began, mut durable, mut rounds) = (Instant::now(), 0, 0);
    while began.elapsed() < LIFE_MAX {
        say(&format!("trying {}", appended + workload::ROUND))?;
        let now = workload::clock(promised.cycle).saturating_add(began.elapsed());
        let records = workload::rest_of_round(&pvs, appended);
        match store.writer().append(&records, now) {
            Ok(()) => appended = (appended / workload::ROUND + 1) * workload::ROUND,
            Err(Error::Busy) => {}
            Err(error) => return Err(error.into()),
        }
        store.tick(now);
        let watermark = store.reader().watermark().durable;
        if watermark > durable {
            durable = watermark;
            say(&format!("durable {durable}"))?;
        }
        rounds += 1;
        if rounds % ROUNDS_PER_STEP == 0 {
            let step = rounds / ROUNDS_PER_STEP;
            change(store, &mut stages, promised.cycle + step)?;
        }
        std::thread::sleep(PAUSE);
    }
    Err("nobody has killed it".into())
}

/// The next step of one of the PVs that are changed, chosen by luck.
fn change(store: &Store, stages: &mut [Stage], luck: u64) -> Result<(), Failure> {
    let mut unfinished: Vec<&mut Stage> = stages.iter_mut().filter(|stage| stage.done < STEPS).collect();
    let some = luck.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let chosen = some as usize % unfinished.len().max(1);
    let Some(stage) = unfinished.get_mut(chosen) else { return Ok(()) };
    let step = stage.done + 1;
    say(&format!("doing {} {step}", stage.cycle))?;
    stage.take(store, step)?;
    stage.done = step;
    say(&format!("done {} {step}", stage.cycle))?;
    Ok(())
}

fn register(store: &Store, names: &[String]) -> Result<Vec<PvId>, Failure> {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
    let pvs: Result<Vec<_>, _> =
        names.iter().map(|name| Ok::<_, Failure>((PvName::new(name)?, settings.clone()))).collect();
    let entries = store.writer().register(&pvs?, &By::new("the victim", workload::clock(0)))?;
    Ok(entries.iter().map(|entry| entry.id).collect())
}

/// A line that its killer reads; nothing is promised before it is out.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}
