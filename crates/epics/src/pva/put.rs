//! Writing to a server: the one place that can, and only with the feature `put`.
//!
//! ```text
//!   to the server                                            from the server
//!   11 put   sid:u32 ioid:u32 0x08 type value (request)      ioid:u32 0x08 status type
//!            sid:u32 ioid:u32 0x10 changed:bitset value*     ioid:u32 0x10 status
//!   20 rpc   sid:u32 ioid:u32 0x08 type value (request)      ioid:u32 0x08 status
//!            sid:u32 ioid:u32 0x10 type value (argument)     ioid:u32 0x10 status type value
//! ```
//!
//! Everything else in this crate can at most read. A program built without the feature holds neither these messages nor
//! [`MARKER`], and a test may look for that.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::HashMap, fmt};

use pvdata::TypeRegistry;

use super::{
    message::Status,
    types::{Scalar, Structure, Type},
    value::{Data, Tree},
    wire::{BitSet, Error, Header, Reader, Writer, put_message},
};

/// Text that is in every program that can write, and in no other.
pub const MARKER: &str = "pvark-pva-put-encoder";

const PUT: u8 = 11;
const RPC: u8 = 20;
const INIT: u8 = 0x08;
/// The server forgets the request when it has answered.
const ONCE: u8 = 0x10;

/// A value to write; it is converted to the type of the PV's field `value`, or of its `index` if that is an enum.
#[derive(Clone, Debug, PartialEq)]
pub enum PutValue {
    /// A number.
    Double(f64),
    /// A whole number.
    Long(i64),
    /// A text.
    String(String),
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutError {
    /// There is no channel to write to.
    NotConnected,
    /// The connection was lost before the server answered: it may have written or not.
    Unanswered,
    /// The PV's value has a type that this value cannot be converted to.
    WrongType {
        /// The PV's.
        ty: String,
    },
    /// The server refused.
    Refused {
        /// Its words.
        message: String,
    },
}

impl fmt::Display for PutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PutError::NotConnected => write!(f, "{MARKER}: the PV is not connected, so nothing was written"),
            PutError::Unanswered => write!(f, "{MARKER}: the connection was lost before the server answered"),
            PutError::WrongType { ty } => write!(f, "{MARKER}: the value cannot be converted to {ty}"),
            PutError::Refused { message } => write!(f, "{MARKER}: the server refused the value: {message}"),
        }
    }
}

impl std::error::Error for PutError {}

/// Asks to write the field `value`.
pub fn put_init(w: &mut Writer, sid: u32, ioid: u32) {
    put_message(w, PUT, |w| {
        w.u32(sid);
        w.u32(ioid);
        w.u8(INIT);
        // structure { structure field { structure value {} } }
        w.put(&[0x80, 0, 1]);
        w.string("field");
        w.put(&[0x80, 0, 1]);
        w.string("value");
        w.put(&[0x80, 0, 0]);
    });
}

/// Writes the value into a PV of this type.
pub fn put(w: &mut Writer, sid: u32, ioid: u32, ty: &Type, value: &PutValue) -> Result<(), PutError> {
    let wrong = || PutError::WrongType { ty: ty.to_string() };
    let Type::Structure(s) = ty else { return Err(wrong()) };
    let (number, scalar) = target(s).ok_or_else(wrong)?;
    let tree = convert(value, scalar).ok_or_else(wrong)?;
    let mut written = Ok(());
    put_message(w, PUT, |w| {
        w.u32(sid);
        w.u32(ioid);
        w.u8(ONCE);
        w.bits(&BitSet::from_iter([number]));
        written = tree.encode(&Type::Scalar(scalar), w);
    });
    written.map_err(|_| wrong())
}

/// Asks to call a service.
pub fn rpc_init(w: &mut Writer, sid: u32, ioid: u32) {
    put_message(w, RPC, |w| {
        w.u32(sid);
        w.u32(ioid);
        w.u8(INIT);
        w.put(&[0x80, 0, 0]);
    });
}

/// Calls a service.
pub fn rpc(w: &mut Writer, sid: u32, ioid: u32, argument: &Data) -> Result<(), Error> {
    let mut body = Writer::new(w.order());
    argument.encode(&mut body)?;
    put_message(w, RPC, |w| {
        w.u32(sid);
        w.u32(ioid);
        w.u8(ONCE);
        w.put(&body.into_bytes());
    });
    Ok(())
}

/// The field number and type of what is written: `value`, or `value.index`.
fn target(s: &Structure) -> Option<(usize, Scalar)> {
    let (number, ty) = numbered(s, "value")?;
    match ty {
        Type::Scalar(scalar) => Some((number, *scalar)),
        Type::Structure(within) => match numbered(within, "index")? {
            (inner, Type::Scalar(scalar)) => Some((number + inner, *scalar)),
            _ => None,
        },
        _ => None,
    }
}

fn numbered<'a>(s: &'a Structure, name: &str) -> Option<(usize, &'a Type)> {
    let (place, ty) = s.field(name)?;
    let before: usize = s.fields().iter().take(place).map(|field| field.ty.field_numbers()).sum();
    Some((1 + before, ty))
}

fn convert(value: &PutValue, scalar: Scalar) -> Option<Tree> {
    if let (PutValue::String(text), Scalar::String) = (value, scalar) {
        return Some(Tree::String(text.clone()));
    }
    let (whole, number) = match value {
        PutValue::Long(whole) => (*whole, *whole as f64),
        PutValue::Double(number) => (*number as i64, *number),
        PutValue::String(text) => {
            let number: f64 = text.trim().parse().ok()?;
            (text.trim().parse().unwrap_or(number as i64), number)
        }
    };
    Some(match scalar {
        Scalar::Bool => Tree::Bool(number != 0.0),
        Scalar::I8 => Tree::I8(whole as i8),
        Scalar::I16 => Tree::I16(whole as i16),
        Scalar::I32 => Tree::I32(whole as i32),
        Scalar::I64 => Tree::I64(whole),
        Scalar::U8 => Tree::U8(whole as u8),
        Scalar::U16 => Tree::U16(whole as u16),
        Scalar::U32 => Tree::U32(whole as u32),
        Scalar::U64 => Tree::U64(whole as u64),
        Scalar::F32 => Tree::F32(number as f32),
        Scalar::F64 => Tree::F64(number),
        Scalar::String => Tree::String(if whole as f64 == number { whole.to_string() } else { number.to_string() }),
    })
}

/// What became of a write, by the number that it was given.
pub(crate) type Outcome = (u32, Result<(), PutError>);

/// The writes of one circuit that have not been answered.
#[derive(Debug, Default)]
pub(crate) struct Puts {
    next: u16,
    /// By the number of the request on the wire.
    waiting: HashMap<u32, Waiting>,
    outcomes: Vec<Outcome>,
}

#[derive(Debug)]
struct Waiting {
    number: u32,
    sid: u32,
    value: PutValue,
}

/// Numbers of writes begin where those of monitors never reach.
const IOID_FIRST: u32 = 0x00ff_0000;

impl Puts {
    /// Begins to write to a channel; without one the outcome stands at once.
    pub(crate) fn begin(&mut self, sid: Option<u32>, value: PutValue, number: u32, w: &mut Writer) {
        let Some(sid) = sid else {
            self.outcomes.push((number, Err(PutError::NotConnected)));
            return;
        };
        let ioid = IOID_FIRST | u32::from(self.next);
        self.next = self.next.wrapping_add(1);
        put_init(w, sid, ioid);
        self.waiting.insert(ioid, Waiting { number, sid, value });
    }

    /// Takes a message of the server if it is about a write.
    pub(crate) fn take(
        &mut self,
        header: Header,
        payload: &[u8],
        registry: &mut TypeRegistry,
        w: &mut Writer,
    ) -> Result<(), Error> {
        if header.control || header.command != PUT {
            return Ok(());
        }
        let what = "an answer to a write";
        let mut r = Reader::new(payload, header.order);
        let (ioid, step, status) = (r.u32(what)?, r.u8(what)?, Status::decode(&mut r)?);
        let Some(Waiting { number, sid, value }) = self.waiting.remove(&ioid) else { return Ok(()) };
        if status.failed || step & INIT == 0 {
            let refused = PutError::Refused { message: status.message };
            self.outcomes.push((number, if status.failed { Err(refused) } else { Ok(()) }));
            return Ok(());
        }
        let ty = registry.decode(&mut r)?.ok_or(pvdata::Error::Mismatch { what })?;
        match put(w, sid, ioid, &ty, &value) {
            Ok(()) => drop(self.waiting.insert(ioid, Waiting { number, sid, value })),
            Err(error) => self.outcomes.push((number, Err(error))),
        }
        Ok(())
    }

    /// The writes that were decided since the last call.
    pub(crate) fn take_outcomes(&mut self) -> Vec<Outcome> {
        std::mem::take(&mut self.outcomes)
    }
}
