//! The Channel Access half of a farm: one thread with its servers, and what disturbs them.

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
    Description, Value,
    ca::{
        dbr::FieldType,
        server::{Counters, Depth, Reactor, ServerId, Settings, Source, Stamp},
    },
};

use super::{
    chaos::{Chaos, Disturbance},
    kind::Kind,
    pacer::Pacer,
    plan::Plan,
};

/// Nobody waits longer for the end of a farm.
const PATIENCE: Duration = Duration::from_millis(50);

/// What was made into messages is sent at the end, in so much time.
pub(super) const FLUSH: Duration = Duration::from_secs(5);

/// A part of the PVs of a farm, as one server serves them.
struct Part {
    plan: Arc<Plan>,
    first: u32,
    count: u32,
}

/// One thread of servers.
pub(crate) struct CaFarm {
    plan: Arc<Plan>,
    reactor: Reactor<Part>,
    servers: Vec<(ServerId, Range<u32>)>,
}

/// How the servers of a farm behave.
#[derive(Clone)]
pub(crate) struct Behaviour {
    pub(crate) depth: Depth,
    pub(crate) delay: Duration,
    pub(crate) beacons: Vec<SocketAddr>,
    pub(crate) chaos: Chaos,
}

/// What a thread has done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) counters: Counters,
    /// Updates of all PVs of the farm, without those that were there from the beginning.
    pub(crate) produced: u64,
    /// Updates still in queues.
    pub(crate) waiting: u64,
    /// By how much the latest update was posted too late.
    pub(crate) late: Duration,
}

impl CaFarm {
    pub(crate) fn new(plan: Arc<Plan>) -> io::Result<CaFarm> {
        Ok(CaFarm { plan, reactor: Reactor::new()?, servers: Vec::new() })
    }

    /// Adds a server of these PVs at a port of loopback, any if 0, and returns where it is.
    pub(crate) fn serve(&mut self, port: u16, pvs: Range<u32>, behaviour: &Behaviour) -> io::Result<SocketAddr> {
        let part = Part { plan: Arc::clone(&self.plan), first: pvs.start, count: pvs.end - pvs.start };
        let Behaviour { depth, delay, beacons, .. } = behaviour.clone();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = self.reactor.listen(address, part, Settings { depth, delay, beacons })?;
        self.servers.push((server, pvs));
        Ok(self.reactor.address(server).unwrap_or(address))
    }

    /// Serves until `stop` is set; then, for up to `drain`, sends what still waits.
    pub(crate) fn run(
        mut self,
        start: Instant,
        mut chaos: Chaos,
        stop: &AtomicBool,
        drain: Duration,
    ) -> io::Result<Tally> {
        let mut pacer = Pacer::new(&self.plan);
        let mut tally = Tally::default();
        while !stop.load(Relaxed) {
            let elapsed = start.elapsed();
            let (reactor, servers) = (&mut self.reactor, &self.servers);
            let late = pacer.advance(&self.plan, elapsed, |pvs, number| {
                for (server, served) in servers {
                    let both = pvs.start.max(served.start)..pvs.end.min(served.end);
                    if !both.is_empty() {
                        reactor.post(*server, both.start - served.start..both.end - served.start, number);
                    }
                }
            });
            tally.late = tally.late.max(late);
            while let Some(disturbance) = chaos.due(elapsed) {
                self.disturb(&disturbance)?;
            }
            let next = pacer.next(&self.plan).min(chaos.next()).min(elapsed + PATIENCE);
            self.reactor.turn(start + next)?;
        }
        tally.produced = pacer.produced(&self.plan);
        let end = Instant::now() + drain;
        while Instant::now() < end && self.waiting() > 0 {
            self.reactor.turn(Instant::now() + Duration::from_millis(5))?;
        }
        self.reactor.finish(Instant::now() + FLUSH)?;
        tally.waiting = self.waiting();
        for (server, _) in &self.servers {
            tally.counters += self.reactor.counters(*server);
        }
        Ok(tally)
    }

    fn waiting(&self) -> u64 {
        self.servers.iter().map(|(server, _)| self.reactor.waiting(*server)).sum()
    }

    fn disturb(&mut self, disturbance: &Disturbance) -> io::Result<()> {
        for (server, _) in &self.servers {
            match disturbance {
                Disturbance::DropCircuits => self.reactor.drop_circuits(*server),
                Disturbance::Restart => self.reactor.restart_elsewhere(*server)?,
                Disturbance::Beacon(number) => self.reactor.beacon(*server, *number),
                Disturbance::Nonsense { bytes, and_end } => self.reactor.inject(*server, bytes, *and_end),
            }
        }
        Ok(())
    }
}

impl Source for Part {
    fn find(&self, name: &str) -> Option<u32> {
        self.plan.find(name)?.checked_sub(self.first).filter(|pv| *pv < self.count)
    }

    fn len(&self) -> u32 {
        self.count
    }

    fn channel(&self, pv: u32) -> (FieldType, u32) {
        let group = self.plan.group(self.first + pv);
        let field = match group.kind {
            Kind::U8 => FieldType::Char,
            Kind::I16 => FieldType::Short,
            Kind::I32 => FieldType::Long,
            Kind::F32 => FieldType::Float,
            Kind::F64 => FieldType::Double,
            Kind::Enum => FieldType::Enum,
            Kind::String => FieldType::String,
        };
        (field, group.elements())
    }

    fn description(&self, pv: u32) -> Description {
        self.plan.description(self.first + pv)
    }

    fn stamp(&self, pv: u32, number: u64) -> Stamp {
        let super::plan::Stamp { seconds, nanos, severity, status } = self.plan.stamp(self.first + pv, number);
        Stamp { seconds, nanos, severity, status }
    }

    fn value(&self, pv: u32, number: u64) -> Value {
        self.plan.value(self.first + pv, number)
    }

    fn elements(&self, pv: u32, number: u64, out: &mut Vec<u8>) -> u32 {
        self.plan.elements(self.first + pv, number, true, out)
    }
}
