//! The messages that a server gets, each with its layout.
//!
//! ```text
//!    1 validation   buffer:u32 types:u16 qos:u16 method:string any
//!    2 echo         (anything, to be sent back)
//!    3 search       sequence:u32 flags:u8 pad*3 address*16 port:u16 protocols:string[] count:u16 (id:u32 name)*
//!    7 create       count:u16 (cid:u32 name)*
//!    8 destroy      sid:u32 cid:u32
//!   10 get          sid:u32 ioid:u32 0x08 any | sid:u32 ioid:u32 step        any is the request for fields
//!   13 monitor      sid:u32 ioid:u32 0x08 any | … 0x88 any window:u32 | … step | … 0x80 acknowledged:u32
//!   15 destroy request, 21 cancel request            sid:u32 ioid:u32
//!   17 get field    sid:u32 ioid:u32 field:string
//!   11, 12, 14, 16, 20                               sid:u32 ioid:u32 step:u8 …      refused: nothing can be changed here
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use pvdata::{Data, Error, TypeRegistry, value::Decoder, wire::Reader};

use super::super::wire::Header;

/// Commands, by the numbers that both sides know.
pub(super) mod command {
    pub(crate) const BEACON: u8 = 0;
    pub(crate) const VALIDATION: u8 = 1;
    pub(crate) const ECHO: u8 = 2;
    pub(crate) const SEARCH: u8 = 3;
    pub(crate) const SEARCH_REPLY: u8 = 4;
    pub(crate) const CREATE_CHANNEL: u8 = 7;
    pub(crate) const DESTROY_CHANNEL: u8 = 8;
    pub(crate) const VALIDATED: u8 = 9;
    pub(crate) const GET: u8 = 10;
    pub(crate) const PUT: u8 = 11;
    pub(crate) const PUT_GET: u8 = 12;
    pub(crate) const MONITOR: u8 = 13;
    pub(crate) const ARRAY: u8 = 14;
    pub(crate) const DESTROY_REQUEST: u8 = 15;
    pub(crate) const PROCESS: u8 = 16;
    pub(crate) const GET_FIELD: u8 = 17;
    pub(crate) const RPC: u8 = 20;
    pub(crate) const CANCEL_REQUEST: u8 = 21;
}

/// What a step of a request asks for; more than one may be set.
pub(super) mod step {
    pub(crate) const START_STOP: u8 = 0x04;
    pub(crate) const INIT: u8 = 0x08;
    pub(crate) const DESTROY: u8 = 0x10;
    pub(crate) const START: u8 = 0x40;
    pub(crate) const PIPELINE: u8 = 0x80;
}

const REPLY_REQUIRED: u8 = 0x01;

/// A client looks for names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The number of the search, for the reply.
    pub sequence: u32,
    /// Whether a server that has none of them must say so.
    pub reply_required: bool,
    /// Where the reply goes; the unspecified address and port 0 stand for the sender's.
    pub reply_to: SocketAddr,
    /// Whether the client speaks TCP.
    pub tcp: bool,
    /// The names with their numbers.
    pub names: Vec<(u32, String)>,
}

/// A message from a client.
#[derive(Debug)]
pub(super) enum Request<'a> {
    Validation {
        method: String,
        user: Option<String>,
    },
    Echo(&'a [u8]),
    Search(Searched),
    Create(Vec<(u32, String)>),
    DestroyChannel {
        sid: u32,
        cid: u32,
    },
    Get {
        ids: Ids,
        step: u8,
        fields: Option<Data>,
    },
    Monitor {
        ids: Ids,
        step: u8,
        fields: Option<Data>,
        window: u32,
    },
    GetField {
        ids: Ids,
        field: String,
    },
    /// Gives a request up.
    End(Ids),
    /// Something that this server does not do, or that would change a PV.
    Refused {
        command: u8,
        ids: Ids,
        step: u8,
    },
    Other,
}

/// Which request on which channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) sid: u32,
    pub(super) ioid: u32,
}

impl<'a> Request<'a> {
    pub(super) fn decode(header: Header, payload: &'a [u8], registry: &mut TypeRegistry) -> Result<Request<'a>, Error> {
        if header.control {
            return Ok(Request::Other);
        }
        let mut r = Reader::new(payload, header.order);
        match header.command {
            command::VALIDATION => validation(&mut r, registry),
            command::ECHO => Ok(Request::Echo(payload)),
            command::SEARCH => Searched::decode(&mut r).map(Request::Search),
            command::CREATE_CHANNEL => create(&mut r),
            command::DESTROY_CHANNEL => {
                Ok(Request::DestroyChannel { sid: r.u32("a channel id")?, cid: r.u32("a channel id")? })
            }
            command::GET => {
                let (ids, step) = (ids(&mut r)?, r.u8("a step")?);
                let fields = if step & step::INIT == 0 { None } else { any(&mut r, registry)? };
                Ok(Request::Get { ids, step, fields })
            }
            command::MONITOR => monitor(&mut r, registry),
            command::GET_FIELD => Ok(Request::GetField { ids: ids(&mut r)?, field: r.string("a field name")? }),
            command::DESTROY_REQUEST | command::CANCEL_REQUEST => ids(&mut r).map(Request::End),
            command @ (command::PUT | command::PUT_GET | command::ARRAY | command::PROCESS | command::RPC) => {
                Ok(Request::Refused { command, ids: ids(&mut r)?, step: r.u8("a step")? })
            }
            _ => Ok(Request::Other),
        }
    }
}

impl Searched {
    /// Reads the payload of a search, from a datagram or a circuit.
    pub fn decode(r: &mut Reader) -> Result<Searched, Error> {
        let what = "a search";
        let (sequence, flags) = (r.u32(what)?, r.u8(what)?);
        r.take(3, what)?;
        let ip = Ipv6Addr::from(r.array::<16>(what)?);
        let ip = match ip.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            None => IpAddr::V6(ip),
        };
        let reply_to = SocketAddr::new(ip, r.u16(what)?);
        let mut tcp = false;
        for _ in 0..r.count(what)? {
            tcp |= r.string_bytes(what)?.eq_ignore_ascii_case(b"tcp");
        }
        let count = r.u16(what)?;
        let names = (0..count).map(|_| Ok((r.u32(what)?, r.string(what)?))).collect::<Result<_, Error>>()?;
        Ok(Searched { sequence, reply_required: flags & REPLY_REQUIRED != 0, reply_to, tcp, names })
    }
}

fn ids(r: &mut Reader) -> Result<Ids, Error> {
    Ok(Ids { sid: r.u32("a channel id")?, ioid: r.u32("a request id")? })
}

fn any(r: &mut Reader, registry: &mut TypeRegistry) -> Result<Option<Data>, Error> {
    let Some(ty) = registry.decode(r)? else { return Ok(None) };
    let value = Decoder::new(r, registry).tree(&ty)?;
    Ok(Some(Data { ty, value }))
}

fn validation<'a>(r: &mut Reader, registry: &mut TypeRegistry) -> Result<Request<'a>, Error> {
    let what = "a validation";
    r.take(8, what)?;
    let method = r.string(what)?;
    let account = if r.rest().is_empty() { None } else { any(r, registry)? };
    let user = account.and_then(|data| {
        data.fields().find(|(name, ..)| *name == "user").and_then(|(.., tree)| match tree {
            pvdata::Tree::String(user) => Some(user.clone()),
            _ => None,
        })
    });
    Ok(Request::Validation { method, user })
}

fn create<'a>(r: &mut Reader) -> Result<Request<'a>, Error> {
    let what = "a channel";
    let count = r.u16(what)?;
    (0..count).map(|_| Ok((r.u32(what)?, r.string(what)?))).collect::<Result<_, _>>().map(Request::Create)
}

fn monitor<'a>(r: &mut Reader, registry: &mut TypeRegistry) -> Result<Request<'a>, Error> {
    let (ids, step) = (ids(r)?, r.u8("a step")?);
    let fields = if step & step::INIT == 0 { None } else { any(r, registry)? };
    let window = if step & step::PIPELINE == 0 { 0 } else { r.u32("a window")? };
    Ok(Request::Monitor { ids, step, fields, window })
}
