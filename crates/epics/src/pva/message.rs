//! The messages of pvAccess that a client sends and gets, each with its layout.
//!
//! ```text
//!   status := 0xFF | kind:u8 message:string trace:string      kind: 0 ok, 1 warning, 2 error, 3 fatal
//!   from the client                                           from the server
//!    1 validation  buffer:u32 types:u16 qos:u16 method any     buffer:u32 types:u16 methods:string[]
//!    2 echo        (nothing)                                   (nothing)
//!    3 search      sequence:u32 flags:u8 pad*3 address*16 port:u16 protocols:string[] count:u16 (id:u32 name)*
//!    4 search reply                                            guid*12 sequence:u32 address*16 port:u16 protocol found:u8
//!                                                              count:u16 id:u32*
//!    7 create      count:u16 (cid:u32 name)*                   cid:u32 sid:u32 status
//!    8 destroy     sid:u32 cid:u32                             sid:u32 cid:u32
//!    9 validated                                               status
//!   13 monitor     sid:u32 ioid:u32 0x08 type value            ioid:u32 0x08 status type
//!                  sid:u32 ioid:u32 0x88 type value window:u32          (with the pipeline)
//!                  sid:u32 ioid:u32 0x80 acknowledged:u32              (with the pipeline)
//!                  sid:u32 ioid:u32 0x44 (start)               ioid:u32 0x00 changed:bitset value* overrun:bitset
//!                                                              ioid:u32 0x10 status …      (the last one)
//!   15 destroy request  sid:u32 ioid:u32
//!   18 message                                                 ioid:u32 kind:u8 text
//!    0 beacon                                                  guid*12 flags:u8 sequence:u8 changes:u16 address*16 port:u16
//!                                                              protocol any
//!   control 2, set byte order: flags of its header
//! ```
//!
//! Nothing here can change a PV: the encoders for that are in `put`, which is compiled in only on request.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use pvdata::TypeRegistry;

use super::{
    Monitor,
    types::Type,
    wire::{Error, Header, Order, Reader, Writer, put_message},
};

const BEACON: u8 = 0;
const VALIDATION: u8 = 1;
const ECHO: u8 = 2;
const SEARCH: u8 = 3;
const SEARCH_REPLY: u8 = 4;
const CREATE_CHANNEL: u8 = 7;
const DESTROY_CHANNEL: u8 = 8;
const VALIDATED: u8 = 9;
const MONITOR: u8 = 13;
const DESTROY_REQUEST: u8 = 15;
const MESSAGE: u8 = 18;
const CONTROL_SET_ORDER: u8 = 2;

const MONITOR_INIT: u8 = 0x08;
const MONITOR_END: u8 = 0x10;
const MONITOR_START: u8 = 0x44;
const MONITOR_PIPELINE: u8 = 0x80;

/// The largest receive buffer and number of remembered types that this client admits to.
const RECEIVE_BUFFER: u32 = 1 << 20;
const TYPES_MAX: u16 = 0x7fff;

/// Where in a search datagram its flags stand, and the flag that a unicast needs: a host with several servers on one port
/// passes such a datagram on to the others.
pub const SEARCH_FLAGS_AT: usize = 12;
/// See [`SEARCH_FLAGS_AT`].
pub const SEARCH_UNICAST: u8 = 0x80;

/// How a request went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whether it failed; warnings do not count.
    pub failed: bool,
    /// The server's words, often empty.
    pub message: String,
}

/// Who a server is, as long as it runs.
pub type Guid = [u8; 12];

/// A server tells that it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// Who.
    pub guid: Guid,
    /// Changes when its set of channels changes.
    pub changes: u16,
    /// Where; the unspecified address stands for the sender's.
    pub server: SocketAddr,
}

/// A server tells which of the names asked for it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchReply {
    /// Who.
    pub guid: Guid,
    /// The number that the search had.
    pub sequence: u32,
    /// Where to connect to; the unspecified address stands for the sender's.
    pub server: SocketAddr,
    /// Whether it has them.
    pub found: bool,
    /// The names, by the numbers that the search gave them.
    pub ids: Vec<u32>,
}

/// A message from a server.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of the drawing above")]
pub enum Message<'a> {
    /// From now on write in this byte order.
    SetOrder(Order),
    Beacon(Beacon),
    SearchReply(SearchReply),
    /// The first message on a circuit: which ways to say who one is.
    Validation {
        methods: Vec<String>,
    },
    /// The circuit may be used.
    Validated(Status),
    Echo,
    ChannelCreated {
        cid: u32,
        sid: u32,
        status: Status,
    },
    ChannelDestroyed {
        sid: u32,
        cid: u32,
    },
    /// A monitor may be started; its updates are of this type.
    MonitorReady {
        ioid: u32,
        status: Status,
        ty: Option<Type>,
    },
    /// Changes, to be read with the type of the monitor.
    MonitorUpdate {
        ioid: u32,
        changes: Reader<'a>,
    },
    /// The monitor sends nothing more, but perhaps these changes.
    MonitorEnded {
        ioid: u32,
        status: Status,
        changes: Reader<'a>,
    },
    /// Words about a request.
    Words {
        ioid: u32,
        text: String,
    },
    /// A message that this client has no use for.
    Other {
        command: u8,
    },
}

impl<'a> Message<'a> {
    /// Reads a whole message. Types that the server asks to remember go into `registry`.
    pub fn decode(header: Header, payload: &'a [u8], registry: &mut TypeRegistry) -> Result<Message<'a>, Error> {
        if header.control {
            return Ok(match header.command {
                CONTROL_SET_ORDER => Message::SetOrder(header.order),
                command => Message::Other { command },
            });
        }
        let mut r = Reader::new(payload, header.order);
        match header.command {
            MONITOR => monitor(&mut r, registry),
            BEACON => beacon(&mut r).map(Message::Beacon),
            VALIDATION => validation(&mut r),
            ECHO => Ok(Message::Echo),
            SEARCH_REPLY => search_reply(&mut r).map(Message::SearchReply),
            CREATE_CHANNEL => {
                let (cid, sid) = (r.u32("a channel id")?, r.u32("a channel id")?);
                Ok(Message::ChannelCreated { cid, sid, status: Status::decode(&mut r)? })
            }
            DESTROY_CHANNEL => {
                let (sid, cid) = (r.u32("a channel id")?, r.u32("a channel id")?);
                Ok(Message::ChannelDestroyed { sid, cid })
            }
            VALIDATED => Status::decode(&mut r).map(Message::Validated),
            MESSAGE => {
                let ioid = r.u32("a request id")?;
                let _severity = r.u8("the severity of a message")?;
                Ok(Message::Words { ioid, text: r.string("a message")? })
            }
            command => Ok(Message::Other { command }),
        }
    }
}

impl Status {
    /// Reads a status.
    pub fn decode(r: &mut Reader) -> Result<Status, Error> {
        let what = "a status";
        match r.u8(what)? {
            0xff => Ok(Status { failed: false, message: String::new() }),
            kind => {
                let message = r.string(what)?;
                let _trace = r.string_bytes(what)?;
                Ok(Status { failed: kind >= 2, message })
            }
        }
    }
}

fn monitor<'a>(r: &mut Reader<'a>, registry: &mut TypeRegistry) -> Result<Message<'a>, Error> {
    let ioid = r.u32("a request id")?;
    let step = r.u8("a monitor message")?;
    if step & MONITOR_INIT != 0 {
        let status = Status::decode(r)?;
        let ty = if status.failed { None } else { registry.decode(r)? };
        Ok(Message::MonitorReady { ioid, status, ty })
    } else if step & MONITOR_END != 0 {
        Ok(Message::MonitorEnded { ioid, status: Status::decode(r)?, changes: *r })
    } else {
        Ok(Message::MonitorUpdate { ioid, changes: *r })
    }
}

/// The request that a message of a monitor is about, even if the rest of it cannot be read.
pub(crate) fn monitor_of(header: Header, payload: &[u8]) -> Option<u32> {
    let is_monitor = header.command == MONITOR && !header.control;
    is_monitor.then(|| Reader::new(payload, header.order).u32("a request id").ok()).flatten()
}

fn validation<'a>(r: &mut Reader) -> Result<Message<'a>, Error> {
    let what = "a validation request";
    r.take(6, what)?;
    let count = r.count(what)?;
    let methods = (0..count).map(|_| r.string(what)).collect::<Result<_, _>>()?;
    Ok(Message::Validation { methods })
}

fn beacon(r: &mut Reader) -> Result<Beacon, Error> {
    let what = "a beacon";
    let guid = r.array(what)?;
    r.take(2, what)?;
    let changes = r.u16(what)?;
    Ok(Beacon { guid, changes, server: address(r)? })
}

fn search_reply(r: &mut Reader) -> Result<SearchReply, Error> {
    let what = "a search reply";
    let (guid, sequence, server) = (r.array(what)?, r.u32(what)?, address(r)?);
    let protocol = r.string_bytes(what)?;
    let found = r.u8(what)? != 0 && protocol.eq_ignore_ascii_case(b"tcp");
    let count = r.u16(what)?;
    let ids = (0..count).map(|_| r.u32(what)).collect::<Result<_, _>>()?;
    Ok(SearchReply { guid, sequence, server, found, ids })
}

fn address(r: &mut Reader) -> Result<SocketAddr, Error> {
    let ip = Ipv6Addr::from(r.array::<16>("an address")?);
    let ip = match ip.to_ipv4_mapped() {
        Some(v4) => IpAddr::V4(v4),
        None if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        None => IpAddr::V6(ip),
    };
    Ok(SocketAddr::new(ip, r.u16("an address")?))
}

/// A name that is searched, with the number by which the reply will name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The number.
    pub id: u32,
    /// The name.
    pub name: Arc<str>,
}

/// Asks which server has these names (at most 65,535); replies go to `reply_port` of the sender.
pub fn search(w: &mut Writer, sequence: u32, reply_port: u16, names: &[Wanted]) {
    put_message(w, SEARCH, |w| {
        w.u32(sequence);
        w.put(&[0; 4]);
        w.put(&Ipv4Addr::UNSPECIFIED.to_ipv6_mapped().octets());
        w.u16(reply_port);
        w.size(Some(1));
        w.string("tcp");
        w.u16(names.len() as u16);
        for Wanted { id, name } in names {
            w.u32(*id);
            w.string(name);
        }
    });
}

/// Who the client says it is. Servers believe it or not; access rules of IOCs use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's name.
    pub user: String,
    /// The host's name.
    pub host: String,
}

/// Answers the server's validation request: with the `ca` method if the server takes it, else anonymously.
pub fn validation_reply(w: &mut Writer, methods: &[String], account: &Account) {
    put_message(w, VALIDATION, |w| {
        w.u32(RECEIVE_BUFFER);
        w.u16(TYPES_MAX);
        w.u16(0);
        if methods.iter().any(|method| method == "ca") {
            w.string("ca");
            w.put(&[0x80, 0, 2]);
            for field in ["user", "host"] {
                w.string(field);
                w.u8(0x60);
            }
            w.string(&account.user);
            w.string(&account.host);
        } else {
            w.string("anonymous");
            Type::encode_nothing(w);
        }
    });
}

/// Asks for a sign of life.
pub fn echo(w: &mut Writer) {
    put_message(w, ECHO, |_| {});
}

/// Asks for a channel to the PV.
pub fn create_channel(w: &mut Writer, cid: u32, name: &str) {
    put_message(w, CREATE_CHANNEL, |w| {
        w.u16(1);
        w.u32(cid);
        w.string(name);
    });
}

/// Gives a channel up.
pub fn destroy_channel(w: &mut Writer, sid: u32, cid: u32) {
    put_message(w, DESTROY_CHANNEL, |w| {
        w.u32(sid);
        w.u32(cid);
    });
}

/// Asks for a monitor of all fields.
pub fn monitor_init(w: &mut Writer, sid: u32, ioid: u32, monitor: Monitor) {
    let Monitor { queue_size, pipeline, changes } = monitor;
    put_message(w, MONITOR, |w| {
        w.u32(sid);
        w.u32(ioid);
        w.u8(MONITOR_INIT | if pipeline { MONITOR_PIPELINE } else { 0 });
        // structure { structure field {}, structure record { structure _options { int queueSize, boolean pipeline, int DBE } } }
        w.put(&[0x80, 0, 2]);
        w.string("field");
        w.put(&[0x80, 0, 0]);
        w.string("record");
        w.put(&[0x80, 0, 1]);
        w.string("_options");
        w.put(&[0x80, 0, 1 + u8::from(pipeline) + u8::from(changes.is_some())]);
        w.string("queueSize");
        w.u8(0x22);
        if pipeline {
            w.string("pipeline");
            w.u8(0x00);
        }
        if changes.is_some() {
            w.string("DBE");
            w.u8(0x22);
        }
        w.u32(queue_size);
        if pipeline {
            w.u8(1);
        }
        if let Some(changes) = changes {
            w.u32(u32::from(changes.bits()));
        }
        if pipeline {
            w.u32(queue_size);
        }
    });
}

/// Tells a server with a pipeline that so many updates have been taken.
pub fn monitor_acknowledge(w: &mut Writer, sid: u32, ioid: u32, count: u32) {
    put_message(w, MONITOR, |w| {
        w.u32(sid);
        w.u32(ioid);
        w.u8(MONITOR_PIPELINE);
        w.u32(count);
    });
}

/// Lets a monitor send.
pub fn monitor_start(w: &mut Writer, sid: u32, ioid: u32) {
    put_message(w, MONITOR, |w| {
        w.u32(sid);
        w.u32(ioid);
        w.u8(MONITOR_START);
    });
}

/// Gives a monitor up.
pub fn destroy_request(w: &mut Writer, sid: u32, ioid: u32) {
    put_message(w, DESTROY_REQUEST, |w| {
        w.u32(sid);
        w.u32(ioid);
    });
}
