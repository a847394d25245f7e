//! How a PV fares, and what was counted of it, as nodes write it.

use std::net::SocketAddr;

use archive::{
    Brief, Connection, Status,
    ledger::{Account, COUNT},
};
use minicbor::{Decode, Encode};
use sample::Timestamp;

use super::codes::place;

/// How a PV fares. What a list says of it is a part of that.
#[derive(Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct StatusRow {
    #[n(0)]
    connection: u8,
    #[n(1)]
    since: i64,
    #[n(2)]
    first_connected: Option<i64>,
    #[n(3)]
    last_connected: Option<i64>,
    #[n(4)]
    reconnects: u64,
    #[n(5)]
    counters: Vec<u64>,
    #[n(6)]
    last_sample: Option<i64>,
    #[n(7)]
    server: Option<String>,
    #[n(8)]
    refusal: Option<String>,
    #[n(9)]
    is_disabled: bool,
    #[n(10)]
    deadband_at_server: Option<bool>,
    #[n(11)]
    lacking: Vec<String>,
    #[n(12)]
    received: u64,
    #[n(13)]
    dropped: u64,
}

const CONNECTIONS: [Connection; 4] =
    [Connection::Searching, Connection::Connected, Connection::Disconnected, Connection::Paused];

fn nanos(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::nanos)
}

fn time(nanos: Option<i64>) -> Option<Timestamp> {
    nanos.map(Timestamp::from_nanos)
}

pub(crate) fn account_row(account: &Account) -> Vec<u64> {
    account.counts().to_vec()
}

pub(crate) fn account(counts: &[u64]) -> Option<Account> {
    <[u64; COUNT]>::try_from(counts).ok().map(Account::of_counts)
}

impl From<&Brief> for StatusRow {
    fn from(brief: &Brief) -> StatusRow {
        StatusRow {
            connection: place(&CONNECTIONS, &brief.connection),
            since: brief.since.nanos(),
            first_connected: nanos(brief.first_connected),
            last_connected: nanos(brief.last_connected),
            reconnects: brief.reconnects,
            last_sample: nanos(brief.last_sample),
            server: brief.server.map(|server| server.to_string()),
            received: brief.received,
            dropped: brief.dropped,
            ..StatusRow::default()
        }
    }
}

impl From<&Status> for StatusRow {
    fn from(status: &Status) -> StatusRow {
        StatusRow {
            connection: place(&CONNECTIONS, &status.connection),
            since: status.since.nanos(),
            first_connected: nanos(status.first_connected),
            last_connected: nanos(status.last_connected),
            reconnects: status.reconnects,
            counters: account_row(&status.counters),
            last_sample: nanos(status.last_sample),
            server: status.server.map(|server| server.to_string()),
            refusal: status.refusal.clone(),
            is_disabled: status.disabled,
            deadband_at_server: status.deadband_at_server,
            lacking: status.lacking.iter().map(|path| path.as_str().to_owned()).collect(),
            ..StatusRow::default()
        }
    }
}

impl StatusRow {
    fn connection(&self) -> Option<Connection> {
        CONNECTIONS.get(usize::from(self.connection)).copied()
    }

    fn server(&self) -> Option<SocketAddr> {
        self.server.as_deref().and_then(|server| server.parse().ok())
    }

    pub(crate) fn brief(&self) -> Option<Brief> {
        Some(Brief {
            connection: self.connection()?,
            since: Timestamp::from_nanos(self.since),
            first_connected: time(self.first_connected),
            last_connected: time(self.last_connected),
            reconnects: self.reconnects,
            received: self.received,
            dropped: self.dropped,
            last_sample: time(self.last_sample),
            server: self.server(),
        })
    }

    pub(crate) fn status(&self) -> Option<Status> {
        Some(Status {
            connection: self.connection()?,
            since: Timestamp::from_nanos(self.since),
            first_connected: time(self.first_connected),
            last_connected: time(self.last_connected),
            reconnects: self.reconnects,
            counters: account(&self.counters)?,
            last_sample: time(self.last_sample),
            server: self.server(),
            refusal: self.refusal.clone(),
            disabled: self.is_disabled,
            deadband_at_server: self.deadband_at_server,
            lacking: self.lacking.iter().filter_map(|path| archive::FieldPath::new(path).ok()).collect(),
        })
    }
}
