//! A client of one protocol or the other, as far as the bench needs one.

use std::net::SocketAddr;

use epics::{Event, Key, ca, pva};

use crate::{farm::FarmProtocol, store_bench::Outcome};

/// A client.
pub(super) enum Either {
    Ca(ca::Client),
    Pva(pva::Client),
}

impl Either {
    /// One that searches at these addresses only.
    pub(super) fn start(
        protocol: FarmProtocol,
        addresses: Vec<SocketAddr>,
        receive: impl Fn(Key, Event) + Clone + Send + Sync + 'static,
    ) -> Outcome<Either> {
        let auto_addresses = false;
        Ok(if protocol == FarmProtocol::Pva {
            let config = pva::Config { addresses, auto_addresses, broadcast_port: 50_998, ..pva::Config::default() };
            Either::Pva(pva::Client::start(config, receive)?)
        } else {
            let config = ca::Config { addresses, auto_addresses, repeater_port: 50_999, ..ca::Config::default() };
            Either::Ca(ca::Client::start(config, receive)?)
        })
    }

    pub(super) fn subscribe(&self, key: Key, name: &str) {
        match self {
            Either::Ca(client) => client.subscribe(key, name, ca::Monitor::default()),
            Either::Pva(client) => client.subscribe(key, name, pva::Monitor::default()),
        }
    }

    /// How often a name was asked for.
    pub(super) fn searches(&self) -> u64 {
        match self {
            Either::Ca(client) => client.counters().searches,
            Either::Pva(client) => client.counters().names_searched,
        }
    }
}
