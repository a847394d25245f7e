//! How the server is set up.

use std::{net::SocketAddr, time::Duration};

use sample::ZoneName;
use service::{ExportsConfig, PolicySource, Separators};

use crate::listener::{At, Listener};

/// What clients of the Archiver Appliance are told of this archiver.
#[derive(Clone, Debug)]
pub struct Appliance {
    /// Under which name it stands where the Appliance names its members. That of its first one: `appliance0`.
    pub identity: String,
    /// Where clients find it, as `http://HOST:PORT`. None: where they came.
    pub url: Option<String>,
    /// What is said of the port of a cluster, as `HOST:PORT`. None: the host and port by which clients find it.
    pub cluster_inetport: Option<String>,
    /// The version that is said. That of the program.
    pub version: String,
    /// On how many ports it listens.
    pub ports: Ports,
}

impl Default for Appliance {
    fn default() -> Appliance {
        Appliance {
            identity: "appliance0".to_owned(),
            url: None,
            cluster_inetport: None,
            version: VERSION.to_owned(),
            ports: Ports::One,
        }
    }
}

/// What stands where clients look for the Appliance's version.
const VERSION: &str = concat!("pvark ", env!("CARGO_PKG_VERSION"));

/// On how many ports the server listens. Each answers all URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// On that of each address.
    One,
    /// On the three behind the first one too, as where the Appliance's parts are servers of their own: management, engine, ETL, retrieval.
    Four,
}

/// How the server is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens: first at an address.
    pub listeners: Vec<Listener>,
    /// How long a connection may take to send the head of its next request before it is closed. 30 s.
    pub head_timeout: Duration,
    /// The longest body of a request. 16 MiB: 100,000 PVs with settings.
    pub body_bytes_max: usize,
    /// The longest path with query. 16 KiB: clients send lists of a hundred PVs.
    pub url_bytes_max: usize,
    /// What all requests and answers together may take of memory, besides what every connection has. 256 MiB.
    pub answers_bytes_max: usize,
    /// How long a client may take nothing of its answer before its connection is closed. 60 s.
    pub write_timeout: Duration,
    /// The most connections at a time, 12,000: one takes some 10 kB while nothing is asked. Where there are so many, those on which
    /// nothing has happened for the longest time make room for new ones.
    pub connections_max: usize,
    /// How long answers may go on when the server is to end. 3 s.
    pub finish_within: Duration,
    /// Where policies are read that are to be applied anew. Nowhere: there are none.
    pub policies: PolicySource,
    /// What clients of the Archiver Appliance are told.
    pub appliance: Appliance,
    /// Where exports lie, and how many. Nowhere: there are none.
    pub exports: ExportsConfig,
    /// The zone in which people of the site read times. None: nothing is said of one.
    pub zone: Option<ZoneName>,
    /// Where names are split for the tree that they make: `:`.
    pub separators: Separators,
}

impl Config {
    /// The defaults, at this address.
    pub fn new(listen: SocketAddr) -> Config {
        Config {
            listeners: vec![Listener::new(At::Address(listen))],
            head_timeout: Duration::from_secs(30),
            body_bytes_max: 16 << 20,
            url_bytes_max: 16 << 10,
            answers_bytes_max: 256 << 20,
            write_timeout: Duration::from_secs(60),
            connections_max: 12_000,
            finish_within: Duration::from_secs(3),
            policies: PolicySource::default(),
            appliance: Appliance::default(),
            exports: ExportsConfig::default(),
            zone: None,
            separators: Separators::default(),
        }
    }
}
