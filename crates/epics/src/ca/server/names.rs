//! Searches and beacons: which names are here, and that the server lives.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{Source, pvs::Pvs};
use crate::ca::wire::{self, Header, MINOR_VERSION, Message, command};

/// "Answer even if the name is unknown."
const DO_REPLY: u16 = 10;

/// What every client ever written takes.
const DATAGRAM_BYTES: usize = 1400;

/// Answers a datagram of searches with datagrams; none if nothing in it is here.
pub(crate) fn datagram(pvs: &mut Pvs<impl Source>, datagram: &[u8], port: u16) -> Vec<Vec<u8>> {
    let (mut rest, mut version, mut answers) = (datagram, Vec::new(), Vec::new());
    let mut answer = Vec::new();
    while let Ok(Some((message, after))) = wire::next_message(rest) {
        rest = after;
        match message.header.command {
            command::VERSION => {
                version.clear();
                wire::datagram_version(&mut version, message.header.parameter1);
            }
            command::SEARCH => {
                if answer.is_empty() {
                    answer.extend_from_slice(&version);
                }
                search(pvs, &message, port, &mut answer);
                if answer.len() > DATAGRAM_BYTES - 24 {
                    answers.push(std::mem::take(&mut answer));
                }
            }
            _ => {}
        }
    }
    if !rest.is_empty() {
        pvs.counters.errors += 1;
    }
    if answer.len() > version.len() {
        answers.push(answer);
    }
    answers
}

/// Answers one search.
pub(super) fn search(pvs: &mut Pvs<impl Source>, message: &Message<'_>, port: u16, out: &mut Vec<u8>) {
    let header = message.header;
    pvs.counters.searches += 1;
    if pvs.source.find(&wire::text(message.payload)).is_some() {
        pvs.counters.search_replies += 1;
        let reply = Header {
            command: command::SEARCH,
            data_type: port,
            parameter1: u32::MAX, // "at the address that this comes from"
            parameter2: header.parameter1,
            ..Header::default()
        };
        wire::put_message(out, reply, &MINOR_VERSION.to_be_bytes());
    } else if header.data_type == DO_REPLY {
        let reply = Header { command: command::NOT_FOUND, ..header };
        wire::put_message(out, reply, &[]);
    }
}

/// A beacon.
pub(crate) fn beacon(port: u16, number: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let header = Header {
        command: command::BEACON,
        data_type: MINOR_VERSION,
        count: u32::from(port),
        parameter1: number,
        ..Header::default()
    };
    wire::put_message(&mut out, header, &[]);
    out
}
