//! Message headers, and the alphabet of pvData in which messages are written.
//!
//! ```text
//!   header := 0xCA version flags command u32      the last is the payload's length, or the datum of a control message
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

pub use pvdata::{
    BitSet,
    wire::{Order, Reader, Writer, text},
};

pub use super::error::Error;

/// Length of a message header.
pub const HEADER_BYTES: usize = 8;

/// First byte of every message.
const MAGIC: u8 = 0xca;
/// The protocol version that this client speaks.
const VERSION: u8 = 2;

const FLAG_CONTROL: u8 = 0x01;
const FLAG_SEGMENTS: u8 = 0x30;
#[cfg(feature = "server")]
const FLAG_SERVER: u8 = 0x40;
const FLAG_BIG: u8 = 0x80;

/// Which part of a segmented message this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Segment {
    Whole,
    First,
    Middle,
    Last,
}

/// What stands before every message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// A control message has no payload; its `size` is its datum.
    pub control: bool,
    /// Whether more messages belong to this one.
    pub segment: Segment,
    /// The byte order of header and payload.
    pub order: Order,
    /// What the message is.
    pub command: u8,
    /// Length of the payload in bytes, or the datum of a control message.
    pub size: u32,
}

impl Header {
    /// Reads the eight bytes of a header.
    pub fn decode(bytes: &[u8]) -> Result<Header, Error> {
        let mut reader = Reader::new(bytes, Order::Little);
        let [magic, _version, flags, command] = reader.array("a message header")?;
        if magic != MAGIC {
            return Err(Error::NotPva { byte: magic });
        }
        reader.set_order(if flags & FLAG_BIG == 0 { Order::Little } else { Order::Big });
        let segment = match flags & FLAG_SEGMENTS {
            0x10 => Segment::First,
            0x20 => Segment::Last,
            0x30 => Segment::Middle,
            _ => Segment::Whole,
        };
        let control = flags & FLAG_CONTROL != 0;
        Ok(Header { control, segment, order: reader.order(), command, size: reader.u32("a message header")? })
    }

    /// How many bytes of payload follow.
    pub fn payload_bytes(self) -> usize {
        if self.control { 0 } else { self.size as usize }
    }
}

/// Writes a message of the client: header, then what `payload` writes.
pub fn put_message(w: &mut Writer, command: u8, payload: impl FnOnce(&mut Writer)) {
    put(w, 0, command, payload);
}

/// Writes a message of a server.
#[cfg(feature = "server")]
pub(crate) fn put_server_message(w: &mut Writer, command: u8, payload: impl FnOnce(&mut Writer)) {
    put(w, FLAG_SERVER, command, payload);
}

fn put(w: &mut Writer, flags: u8, command: u8, payload: impl FnOnce(&mut Writer)) {
    let flags = flags | if w.order() == Order::Big { FLAG_BIG } else { 0 };
    w.put(&[MAGIC, VERSION, flags, command]);
    let at = w.len();
    w.u32(0);
    payload(w);
    w.overwrite_u32(at, (w.len() - at - 4) as u32);
}
