//! The messages that a server sends; the client's side of `message` draws their layout.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::net::{Ipv4Addr, SocketAddr};

use super::request::{Searched, command, step};
use crate::pva::{
    message::Guid,
    types::Type,
    wire::{Order, Writer, put_server_message},
};

/// The ways to say who one is that this server takes; clients prefer the last.
const METHODS: [&str; 2] = ["anonymous", "ca"];

/// What the server says about its own buffer and memory for types.
const RECEIVE_BUFFER: u32 = 1 << 20;
const TYPES_MAX: u16 = 0x7fff;

/// The first messages on a circuit: the byte order that both sides are to write in, and the question who the client is.
pub(super) fn greeting(w: &mut Writer) {
    let order = if w.order() == Order::Big { 0x80 } else { 0 };
    w.put(&[0xca, 2, 0x41 | order, 2, 0, 0, 0, 0]);
    put_server_message(w, command::VALIDATION, |w| {
        w.u32(RECEIVE_BUFFER);
        w.u16(TYPES_MAX);
        w.size(Some(METHODS.len()));
        METHODS.iter().for_each(|method| w.string(method));
    });
}

pub(super) fn validated(w: &mut Writer, refusal: Option<&str>) {
    put_server_message(w, command::VALIDATED, |w| status(w, refusal));
}

/// A status: fine, or an error with words.
pub(super) fn status(w: &mut Writer, refusal: Option<&str>) {
    match refusal {
        None => w.u8(0xff),
        Some(words) => {
            w.u8(2);
            w.string(words);
            w.string("");
        }
    }
}

pub(super) fn created(w: &mut Writer, cid: u32, sid: Result<u32, &str>) {
    put_server_message(w, command::CREATE_CHANNEL, |w| {
        w.u32(cid);
        w.u32(sid.unwrap_or(u32::MAX));
        status(w, sid.err());
    });
}

pub(super) fn destroyed(w: &mut Writer, sid: u32, cid: u32) {
    put_server_message(w, command::DESTROY_CHANNEL, |w| {
        w.u32(sid);
        w.u32(cid);
    });
}

pub(super) fn echo(w: &mut Writer, payload: &[u8]) {
    put_server_message(w, command::ECHO, |w| w.put(payload));
}

/// The answer to a request that fails.
pub(super) fn refused(w: &mut Writer, command: u8, ioid: u32, step: u8, words: &str) {
    put_server_message(w, command, |w| {
        w.u32(ioid);
        if command != command::GET_FIELD {
            w.u8(step & !step::PIPELINE);
        }
        status(w, Some(words));
    });
}

/// The answer to the beginning of a request: a type, written by `ty`.
pub(super) fn ready(w: &mut Writer, command: u8, ioid: u32, ty: impl FnOnce(&mut Writer)) {
    put_server_message(w, command, |w| {
        w.u32(ioid);
        if command != command::GET_FIELD {
            w.u8(step::INIT);
        }
        status(w, None);
        ty(w);
    });
}

/// Says which of the names are here; `port` is that of the circuits.
pub(super) fn search_reply(w: &mut Writer, guid: Guid, searched: &Searched, port: u16, found: &[u32]) {
    put_server_message(w, command::SEARCH_REPLY, |w| {
        w.put(&guid);
        w.u32(searched.sequence);
        w.put(&Ipv4Addr::UNSPECIFIED.to_ipv6_mapped().octets());
        w.u16(port);
        w.string("tcp");
        w.u8(u8::from(!found.is_empty() || searched.names.is_empty()));
        w.u16(found.len() as u16);
        found.iter().for_each(|id| w.u32(*id));
    });
}

/// Tells that the server lives.
pub(super) fn beacon(w: &mut Writer, guid: Guid, sequence: u8, changes: u16, server: SocketAddr) {
    put_server_message(w, command::BEACON, |w| {
        w.put(&guid);
        w.u8(0);
        w.u8(sequence);
        w.u16(changes);
        let ip = match server {
            SocketAddr::V4(v4) => v4.ip().to_ipv6_mapped(),
            SocketAddr::V6(v6) => *v6.ip(),
        };
        w.put(&ip.octets());
        w.u16(server.port());
        w.string("tcp");
        Type::encode_nothing(w);
    });
}
