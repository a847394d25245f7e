//! IOCs: how the PVs of each fare, out of the table of all PVs, and what the archiver knows of the connection to it.

use std::{collections::BTreeMap, net::SocketAddr};

use archive::{Connection, Ioc, Protocol};

use crate::{ask::Ask, refusal::Refusal};

/// Which IOCs are told of.
#[derive(Clone, Debug, Default)]
pub struct IocsWanted {
    /// A part of the address; any without it.
    pub address: Option<String>,
    /// Those alone of which PVs are lost.
    pub lossy: bool,
}

/// An IOC. Its PVs are those that it serves, or served last.
#[derive(Clone, Debug, Default)]
pub struct IocRow {
    /// Its address.
    pub address: String,
    /// By which protocols its PVs are archived.
    pub protocols: Vec<Protocol>,
    /// Its PVs.
    pub pvs: u64,
    /// Those that are connected.
    pub connected: u64,
    /// Those whose connection was lost.
    pub disconnected: u64,
    /// Those that are looked for since the archiver started, or since they were added or taken up again.
    pub searching: u64,
    /// Those that are paused.
    pub paused: u64,
    /// Those for which nobody answers.
    pub unknown: u64,
    /// Updates a second of all of them, over this run.
    pub rate: f64,
    /// The connection to it; none if this run had none, or another node has it.
    pub connection: Option<Ioc>,
}

impl IocRow {
    fn new(address: &str) -> IocRow {
        IocRow { address: address.to_owned(), ..IocRow::default() }
    }

    fn of(&mut self, protocol: Protocol) {
        if !self.protocols.contains(&protocol) {
            self.protocols.push(protocol);
        }
    }
}

impl Ask {
    /// The IOCs whose PVs are seen, those with the most lost PVs first. Whoever sees all PVs is also told of IOCs that serve none at present.
    pub fn iocs(&self, wanted: &IocsWanted) -> Result<Vec<IocRow>, Refusal> {
        let table = self.table_now(false)?;
        let mut rows: Vec<IocRow> = table.words.iocs.texts().iter().map(|address| IocRow::new(address)).collect();
        for chunk in &table.chunks {
            self.go_on()?;
            let present: Vec<usize> = (0..chunk.len()).filter(|row| chunk.pv(*row).is_some()).collect();
            for row in self.those_seen(present, |row| chunk.pv(*row)) {
                let ioc = &mut rows[chunk.fares.ioc[row] as usize];
                ioc.of(chunk.known.protocol[row]);
                ioc.pvs += 1;
                match chunk.fares.state[row] {
                    Connection::Connected => ioc.connected += 1,
                    Connection::Disconnected => ioc.disconnected += 1,
                    Connection::Searching => ioc.searching += 1,
                    Connection::Paused => ioc.paused += 1,
                    Connection::Unknown => ioc.unknown += 1,
                }
                let rate = chunk.fares.rate[row];
                ioc.rate += if rate.is_finite() { rate } else { 0.0 };
            }
        }
        rows.retain(|row| row.pvs > 0 && !row.address.is_empty());
        let mut by_address: BTreeMap<String, IocRow> = rows.into_iter().map(|row| (row.address.clone(), row)).collect();
        for (address, connection) in together(self.listed().behind.standing.iocs()) {
            let address = address.to_string();
            let row = match by_address.get_mut(&address) {
                Some(row) => row,
                None if self.sees_all() => by_address.entry(address.clone()).or_insert_with(|| IocRow::new(&address)),
                None => continue,
            };
            row.of(connection.protocol);
            row.connection = Some(connection);
        }
        let is_wanted = |row: &IocRow| {
            wanted.address.as_ref().is_none_or(|part| row.address.contains(part.as_str()))
                && (!wanted.lossy || row.disconnected > 0)
        };
        let mut rows: Vec<IocRow> = by_address.into_values().filter(is_wanted).collect();
        rows.sort_by(|a, b| b.disconnected.cmp(&a.disconnected).then_with(|| a.address.cmp(&b.address)));
        Ok(rows)
    }
}

/// One for each address, where several clients of this archiver know of it.
fn together(all: Vec<Ioc>) -> BTreeMap<SocketAddr, Ioc> {
    let mut by_address: BTreeMap<SocketAddr, Ioc> = BTreeMap::new();
    for of in all {
        let sum = by_address.entry(of.address).or_insert_with(|| Ioc { circuits: 0, opened: 0, lost: 0, ..of.clone() });
        sum.circuits += of.circuits;
        sum.opened += of.opened;
        sum.lost += of.lost;
        sum.since = sum.since.min(of.since);
        sum.restarts = sum.restarts.max(of.restarts);
        sum.restarted = sum.restarted.max(of.restarted);
        sum.last_beacon = sum.last_beacon.max(of.last_beacon);
    }
    by_address
}
