//! The pvAccess half of a farm: one thread with its servers, and what disturbs them.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use epics::{
    ca::server::Depth,
    pva::server::{Counts, Hub, Listen, Server, ServerPv, Settings},
};
use tokio::runtime::{Builder, Runtime};

use super::{
    ca::{Behaviour, FLUSH},
    chaos::{Chaos, Disturbance},
    pacer::Pacer,
    plan::Plan,
    shape::Form,
};
use crate::store_bench::Outcome;

/// PVs that are posted before the circuits have their turn.
const AT_ONCE: u32 = 64;

/// Bytes that may wait for a circuit before updates wait in queues.
const ROOM_BYTES: usize = 4 << 20;

/// Nobody waits longer for the end of a farm.
const PATIENCE: Duration = Duration::from_millis(50);

/// One thread of servers.
pub(crate) struct PvaFarm {
    plan: Arc<Plan>,
    runtime: Runtime,
    /// By group.
    forms: Arc<[Form]>,
    served: Vec<FarmServer>,
    lossless: bool,
}

/// A server with its share of the PVs.
struct FarmServer {
    server: Server,
    pvs: Range<u32>,
    ids: Vec<ServerPv>,
}

/// What a thread has done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    /// Updates of all PVs of the farm, without those that were there from the beginning.
    pub(crate) produced: u64,
    /// Updates still in queues.
    pub(crate) waiting: u64,
    /// By how much the latest update was posted too late.
    pub(crate) late: Duration,
}

impl PvaFarm {
    pub(crate) fn new(plan: Arc<Plan>) -> Outcome<PvaFarm> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let forms = plan.groups.iter().map(Form::new).collect::<Result<_, _>>()?;
        Ok(PvaFarm { plan, runtime, forms, served: Vec::new(), lossless: false })
    }

    /// Adds a server of these PVs at a port of loopback, any if 0, and returns where it is searched.
    pub(crate) fn serve(
        &mut self,
        port: u16,
        pvs: Range<u32>,
        behaviour: &Behaviour,
        seed: u64,
    ) -> Outcome<SocketAddr> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let (beacons, delay) = (behaviour.beacons.clone(), behaviour.delay);
        let listen = Listen { circuits: address, searches: address, beacons, delay, ..Listen::default() };
        let settings = Settings { room_bytes: ROOM_BYTES, seed, ..Settings::default() };
        let server = self.runtime.block_on(Server::start(listen, settings))?;
        let mut ids = Vec::new();
        for pv in pvs.clone() {
            let form = &self.forms[self.plan.group_number(pv)];
            let first = form.first(&self.plan, pv);
            let id = server.with(|hub| -> Result<ServerPv, epics::pva::Error> {
                let id = hub.add(&self.plan.name(pv), &form.ty, first)?;
                if let Some((breach, one_in)) = self.plan.group(pv).breach {
                    hub.set_breach(id, Some(breach), one_in);
                }
                Ok(id)
            })?;
            ids.push(id);
        }
        let address = server.searches();
        self.lossless = matches!(behaviour.depth, Depth::Lossless);
        self.served.push(FarmServer { server, pvs, ids });
        Ok(address)
    }

    /// Serves until `stop` is set; then, for up to `drain`, sends what still waits.
    pub(crate) fn run(self, start: Instant, mut chaos: Chaos, stop: &AtomicBool, drain: Duration) -> io::Result<Tally> {
        let PvaFarm { plan, runtime, forms, mut served, lossless } = self;
        runtime.block_on(async {
            let mut pacer = Pacer::new(&plan);
            let mut tally = Tally::default();
            let mut due = Vec::new();
            while !stop.load(Relaxed) {
                let elapsed = start.elapsed();
                let late = pacer.advance(&plan, elapsed, |pvs, number| due.push((pvs, number)));
                tally.late = tally.late.max(late);
                for (pvs, number) in due.drain(..) {
                    let update = Update { plan: &plan, forms: &forms, number, stop: lossless.then_some(stop) };
                    for one in &served {
                        one.post(&pvs, &update).await;
                    }
                }
                while let Some(disturbance) = chaos.due(elapsed) {
                    for one in &mut served {
                        one.disturb(&disturbance).await?;
                    }
                }
                let next = pacer.next(&plan).min(chaos.next()).min(start.elapsed() + PATIENCE);
                tokio::time::sleep_until((start + next).into()).await;
            }
            tally.produced = pacer.produced(&plan);
            let end = Instant::now() + drain;
            while Instant::now() < end && waiting(&served) > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            // What has left the queues is counted as sent, and goes with its circuit if the system has not taken it.
            let end = Instant::now() + FLUSH;
            while Instant::now() < end && unsent(&served) > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tally.waiting = waiting(&served);
            served.iter().for_each(|one| tally.counts += one.server.with(|hub| hub.counts()));
            Ok(tally)
        })
    }
}

fn waiting(served: &[FarmServer]) -> u64 {
    served.iter().map(|one| one.server.with(|hub| hub.waiting())).sum()
}

fn unsent(served: &[FarmServer]) -> usize {
    served.iter().map(|one| one.server.with(|hub| hub.unsent())).sum()
}

/// One update of some PVs.
struct Update<'a> {
    plan: &'a Plan,
    forms: &'a [Form],
    number: u64,
    /// Where nothing may be lost: what ends the wait for room.
    stop: Option<&'a AtomicBool>,
}

impl FarmServer {
    /// Posts an update of those of the PVs that are here.
    async fn post(&self, pvs: &Range<u32>, update: &Update<'_>) {
        let both = pvs.start.max(self.pvs.start)..pvs.end.min(self.pvs.end);
        for begin in both.clone().step_by(AT_ONCE as usize) {
            let some = begin..both.end.min(begin + AT_ONCE);
            if let Some(stop) = update.stop {
                self.wait_for_room(some.clone(), stop).await;
            }
            self.server.with(|hub| some.for_each(|pv| self.post_one(hub, pv, update)));
            tokio::task::yield_now().await;
        }
    }

    fn post_one(&self, hub: &mut Hub, pv: u32, update: &Update) {
        let form = &update.forms[update.plan.group_number(pv)];
        hub.post(self.id(pv), &form.changed, |tree| form.update(update.plan, pv, update.number, tree));
    }

    fn id(&self, pv: u32) -> ServerPv {
        self.ids[(pv - self.pvs.start) as usize]
    }

    async fn wait_for_room(&self, pvs: Range<u32>, stop: &AtomicBool) {
        while !stop.load(Relaxed) && !self.server.with(|hub| pvs.clone().all(|pv| hub.has_room(self.id(pv)))) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn disturb(&mut self, disturbance: &Disturbance) -> io::Result<()> {
        match disturbance {
            Disturbance::DropCircuits => self.server.disconnect_all(),
            Disturbance::Restart => self.server.restart_elsewhere().await?,
            Disturbance::Beacon(_) => self.server.beacon().await,
            Disturbance::Nonsense { bytes, and_end } => self.server.with(|hub| {
                hub.inject(bytes);
                if *and_end {
                    hub.close_all();
                }
            }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, thread};

    use epics::{
        Event, Key, Value,
        pva::{Client, Config, Monitor, decode_structure},
    };
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::farm::{chaos::ChaosPauses, presets, shape::Shape};

    const UPDATES: usize = 4;

    fn behaviour() -> Behaviour {
        let chaos = Chaos::new(ChaosPauses::default(), 1);
        Behaviour { depth: Depth::Places(4), delay: Duration::ZERO, beacons: Vec::new(), chaos }
    }

    /// Reads until each PV has had some updates, or none for those that have but one.
    async fn check(plan: &Plan, forms: &[Form], config: Config) {
        let (sender, mut events) = unbounded_channel();
        let client = Client::start(config, move |key, event| drop(sender.send((key, event)))).expect("sockets");
        (0..plan.len()).for_each(|pv| client.subscribe(Key(pv.into()), &plan.name(pv), Monitor::default()));
        let mut found: HashMap<u32, Vec<i32>> = HashMap::new();
        let wanted = |pv: u32| if plan.group(pv).rate() > 0.0 { UPDATES } else { 1 };
        while (0..plan.len()).any(|pv| found.get(&pv).map_or(0, Vec::len) < wanted(pv)) {
            let next = tokio::time::timeout(Duration::from_secs(20), events.recv()).await.expect("updates in time");
            let (key, Event::Updated(reading)) = next.expect("the client lives") else { continue };
            let (pv, number) = (key.0 as u32, reading.user_tag as u64);
            let form = &forms[plan.group_number(pv)];
            match &reading.value {
                Value::Structure(bytes) => {
                    let mut expected = form.first(plan, pv);
                    form.update(plan, pv, number, &mut expected);
                    let value = decode_structure(bytes).expect("what the client made is whole").value;
                    assert_eq!(value, expected, "{} at {number}", plan.name(pv));
                }
                value => assert_eq!(*value, plan.value(pv, number), "{} at {number}", plan.name(pv)),
            }
            let stamp = plan.stamp(pv, number);
            assert_eq!((reading.seconds, reading.nanos), (stamp.seconds, stamp.nanos), "{}", plan.name(pv));
            if plan.group(pv).shape != Shape::Mixture {
                assert_eq!(reading.severity, stamp.severity, "{}", plan.name(pv));
            }
            found.entry(pv).or_default().push(reading.user_tag);
        }
        for (pv, numbers) in found {
            assert!(numbers.is_sorted_by(|a, b| a < b), "{}: {numbers:?}", plan.name(pv));
        }
    }

    #[test]
    fn what_a_farm_sends_is_what_its_plan_says() {
        let groups = ["types", "structures"].map(|preset| presets::groups(preset).expect("a preset"));
        let plan = Arc::new(Plan::new(groups.into_iter().flatten().collect(), 1_700_000_000_000_000_000));
        let mut farm = PvaFarm::new(Arc::clone(&plan)).expect("a farm");
        let half = plan.len() / 2;
        let shares = [0..half, half..plan.len()];
        let addresses = shares.map(|pvs| farm.serve(0, pvs, &behaviour(), 1).expect("a server")).into();
        let forms = Arc::clone(&farm.forms);
        let config = Config { addresses, auto_addresses: false, ..Config::default() };
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let farm =
                scope.spawn(|| farm.run(Instant::now(), behaviour().chaos, &stop, Duration::ZERO).expect("a run"));
            let checked = scope.spawn(|| {
                let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(check(&plan, &forms, config));
            });
            let checked = checked.join();
            stop.store(true, Relaxed);
            let tally = farm.join().expect("the farm ends");
            checked.expect("every update is as planned");
            assert!(tally.counts.updates >= u64::from(plan.len()), "{:?}", tally.counts);
            assert_eq!(tally.counts.monitors, u64::from(plan.len()));
        });
    }
}
