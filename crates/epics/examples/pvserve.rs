//! Serves counters by pvAccess for measurements: `pvserve NAME COUNT LENGTH RATE [SEARCH-PORT]` has the PVs NAME0, NAME1, …
//!
//! LENGTH 0 makes 32-bit counters, otherwise waveforms of so many integers whose element 0 counts. Each PV is updated RATE
//! times a second, a part of them in each of 20 slices of a period. One thread does it all.

use std::time::{Duration, Instant};

use epics::{
    Array,
    pva::{
        Scalar, Tree,
        server::{Listen, Place, Server, ServerPv, Settings, nt},
        wire::BitSet,
    },
};

const SLICES: usize = 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, count, length, rate, more @ ..] = &arguments[..] else { return Err("see the first lines".into()) };
    let (count, length, rate) = (count.parse::<usize>()?, length.parse::<usize>()?, rate.parse::<f64>()?);
    let port: u16 = more.first().map_or(Ok(0), |port| port.parse())?;
    let listen = Listen { searches: ([127, 0, 0, 1], port).into(), ..Listen::default() };
    let server = Server::start(listen, Settings { room_bytes: 4 << 20, ..Settings::default() }).await?;
    let ty = if length == 0 { nt::scalar(Scalar::I32) } else { nt::scalar_array(Scalar::I32) };
    let place = Place::of(&ty, "value").ok_or("a field")?;
    let stamp = Place::of(&ty, "timeStamp.userTag").ok_or("a field")?;
    let changed: BitSet = [place.number, stamp.number].into_iter().collect();
    let mut first = Tree::default_of(&ty);
    if length > 0 {
        place.set(&mut first, Tree::Array(Array::I32((0..length as i32).collect())));
    }
    let pvs: Vec<ServerPv> = (0..count)
        .map(|at| server.with(|hub| hub.add(&format!("{name}{at}"), &ty, first.clone())))
        .collect::<Result<_, _>>()?;
    eprintln!("EPICS_PVA_AUTO_ADDR_LIST=NO EPICS_PVA_ADDR_LIST={}", server.searches());
    let begin = Instant::now();
    let mut told = begin;
    for slice in 1.. {
        let due = begin + Duration::from_secs_f64(slice as f64 / (rate.max(1e-3) * SLICES as f64));
        tokio::time::sleep_until(due.into()).await;
        let part = slice % SLICES;
        for some in pvs[count * part / SLICES..count * (part + 1) / SLICES].chunks(64) {
            server.with(|hub| {
                for pv in some {
                    hub.post(*pv, &changed, |tree| {
                        if let Some(Tree::I32(tag)) = stamp.within(tree) {
                            *tag += 1;
                        }
                        match place.within(tree) {
                            Some(Tree::I32(number)) => *number += 1,
                            Some(Tree::Array(Array::I32(all))) => all[0] += 1,
                            _ => {}
                        }
                    });
                }
            });
            // the circuits have their turn
            tokio::task::yield_now().await;
        }
        if told.elapsed() > Duration::from_secs(5) {
            told = Instant::now();
            eprintln!(
                "late by {:?}: {:?}",
                Instant::now().saturating_duration_since(due),
                server.with(|hub| hub.counts())
            );
        }
    }
    Ok(())
}
