//! What can be ordered of a farm.

use std::{net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};
use epics::ca::server::Depth;

use super::{
    ca::Behaviour,
    chaos::{Chaos, ChaosPauses},
    group::Group,
    plan::Plan,
    presets,
};
use crate::measure::Form;

#[derive(Args)]
pub(crate) struct Options {
    /// PVs by the name of a farm; --list-presets shows them.
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// The presets, and what each is.
    #[arg(long)]
    pub(crate) list_presets: bool,
    /// PVs by their properties, as name=W,count=100,type=i32,length=1000,rate=14,payload=noise; may be given several times.
    ///
    /// type: f64 f32 i32 i16 u8 enum string. length: of an array. payload: ess (only element 0 changes), smooth, noise.
    /// alarms=N: another alarm after N updates. active=A,rest=R: A updates, then R periods of nothing. slices=N: not all at
    /// once, but in N parts. clock=JUMP@TIME;...: from then on stamps are wrong by so many seconds, or "never" set.
    /// By pvAccess, shape: plain table image statistic multi names mixture. breach=WORD/N: one message in N is garbage,
    /// truncated, oversize, wrong-request, introspection, lost-segment, framing, monster or silence.
    #[arg(long, value_name = "PROPERTIES", verbatim_doc_comment)]
    group: Vec<String>,
    /// The names of the PVs, one a line, as `pvark add -` takes them.
    #[arg(long)]
    pub(crate) list_pvs: bool,
    /// By which protocol the PVs are served.
    #[arg(long, value_enum, default_value_t = FarmProtocol::Ca)]
    pub(crate) protocol: FarmProtocol,
    /// The port of the first pvAccess server, for searches and circuits, as --port is for Channel Access.
    #[arg(long, default_value_t = 0)]
    pub(crate) pva_port: u16,
    /// The port of the first server, on loopback; others take the ports that follow. Any free ports if 0.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Servers among which the PVs are divided.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) servers: u32,
    /// Threads among which the servers are divided.
    #[arg(long, default_value_t = 1)]
    threads: u32,
    /// One more server that has all the PVs too.
    #[arg(long)]
    pub(crate) duplicate: bool,
    /// End after so many seconds; else on Ctrl-C.
    #[arg(long)]
    pub(crate) seconds: Option<f64>,
    /// Places in the queue of a subscription before a newer update takes the last one, as in an IOC, which has 4; 0 for a queue
    /// without end, which loses nothing. By pvAccess the client says how many places there are, and 0 lets the PVs wait for
    /// it.
    #[arg(long, default_value_t = 4)]
    queue: usize,
    /// At the end, time to send what still waits, in seconds.
    #[arg(long, default_value_t = 0.0)]
    drain: f64,
    /// Milliseconds before the servers answer anything.
    #[arg(long, default_value_t = 0)]
    delay: u64,
    /// Where beacons go.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    beacons: Vec<SocketAddr>,
    /// Seconds between two storms, in which all circuits are lost.
    #[arg(long, default_value_t = 0.0)]
    storm: f64,
    /// Seconds between two restarts at other ports; searches still come to the old ones.
    #[arg(long, default_value_t = 0.0)]
    restart: f64,
    /// Seconds between two beacons that count from 0 again.
    #[arg(long, default_value_t = 0.0)]
    false_beacon: f64,
    /// Seconds between two pieces of nonsense on every circuit.
    #[arg(long, default_value_t = 0.0)]
    nonsense: f64,
    /// The seed of the nonsense.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

/// By which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FarmProtocol {
    /// Channel Access.
    Ca,
    /// pvAccess.
    Pva,
    /// Both, by threads of their own.
    Both,
}

impl FarmProtocol {
    pub(crate) fn has_ca(self) -> bool {
        self != FarmProtocol::Pva
    }

    pub(crate) fn has_pva(self) -> bool {
        self != FarmProtocol::Ca
    }
}

impl Options {
    /// The PVs, whose first updates are made at `start`.
    pub(crate) fn plan(&self, start: i64) -> Result<Plan, String> {
        let mut groups = self.preset.as_deref().map_or(Ok(Vec::new()), presets::groups)?;
        for spec in &self.group {
            groups.push(spec.parse::<Group>()?);
        }
        if groups.is_empty() {
            return Err("there are no PVs to serve; give --preset or --group".to_owned());
        }
        Ok(Plan::new(groups, start))
    }

    /// What the results are called.
    pub(crate) fn case(&self) -> &str {
        self.preset.as_deref().unwrap_or("groups")
    }

    pub(crate) fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Table }
    }

    /// Never more than servers.
    pub(crate) fn threads(&self) -> u32 {
        self.threads.clamp(1, self.servers)
    }

    pub(crate) fn drain(&self) -> Duration {
        seconds(self.drain)
    }

    pub(crate) fn behaviour(&self) -> Behaviour {
        let pauses = ChaosPauses {
            storms: seconds(self.storm),
            restarts: seconds(self.restart),
            beacons: seconds(self.false_beacon),
            nonsense: seconds(self.nonsense),
        };
        Behaviour {
            depth: if self.queue == 0 { Depth::Lossless } else { Depth::Places(self.queue) },
            delay: Duration::from_millis(self.delay),
            beacons: self.beacons.clone(),
            chaos: Chaos::new(pauses, self.seed),
        }
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
