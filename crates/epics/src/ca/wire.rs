//! Channel Access messages: headers, framing, and every request that a reading client sends.
//!
//! ```text
//!   message  := header payload[size]                     all numbers big-endian, payload padded with zeros to 8 bytes
//!   header   := command:u16 size:u16 type:u16 count:u16 parameter1:u32 parameter2:u32                          16 bytes
//!   extended := command:u16 0xFFFF   type:u16 0         parameter1:u32 parameter2:u32 size:u32 count:u32       24 bytes
//! ```
//!
//! The extended form carries payloads of 65535 bytes and more, or more than 65535 elements. Requests that change an IOC are
//! not here: they exist only with the feature `put`.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fmt;

/// The protocol revision that this client speaks: 4.13, the first that lets an IOC choose the length of an array.
pub const MINOR_VERSION: u16 = 13;

/// The largest message that is taken: an array of 33 million doubles.
pub const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// The status of a request that went well.
pub const ECA_NORMAL: u32 = 1;

/// The numbers of the messages that a reading client sends or understands.
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub mod command {
    pub const VERSION: u16 = 0;
    pub const EVENT_ADD: u16 = 1;
    pub const EVENT_CANCEL: u16 = 2;
    pub const SEARCH: u16 = 6;
    pub const ERROR: u16 = 11;
    pub const CLEAR_CHANNEL: u16 = 12;
    pub const BEACON: u16 = 13;
    pub const NOT_FOUND: u16 = 14;
    pub const READ_NOTIFY: u16 = 15;
    pub const REPEATER_CONFIRM: u16 = 17;
    pub const CREATE_CHANNEL: u16 = 18;
    pub const CLIENT_NAME: u16 = 20;
    pub const HOST_NAME: u16 = 21;
    pub const ACCESS_RIGHTS: u16 = 22;
    pub const ECHO: u16 = 23;
    pub const REPEATER_REGISTER: u16 = 24;
    pub const CREATE_CHANNEL_FAILED: u16 = 26;
    pub const SERVER_DISCONNECT: u16 = 27;
}

/// Bytes that are no Channel Access message, or one that does not hold what it announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A header that announces more than is taken.
    TooLarge {
        /// The announced payload.
        size: u64,
    },
    /// A payload shorter than its type and element count demand.
    ShortPayload {
        /// The command.
        command: u16,
        /// What it needs.
        needed: u64,
        /// What it has.
        found: usize,
    },
    /// A data type that the message cannot have.
    UnknownType {
        /// The command.
        command: u16,
        /// The number of the type.
        data_type: u16,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::TooLarge { size } => {
                write!(f, "a message announces {size} bytes, more than the {MESSAGE_BYTES_MAX} that are taken")
            }
            Malformed::ShortPayload { command, needed, found } => {
                write!(f, "message {command} has a payload of {found} bytes where its type and count need {needed}")
            }
            Malformed::UnknownType { command, data_type } => {
                write!(f, "message {command} has the data type {data_type}, which it cannot have")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// The fixed part of a message, from either form of header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// What the message is: see [`command`].
    pub command: u16,
    /// Bytes of payload, padding included.
    pub size: u32,
    /// The DBR type; other messages use the field for other things.
    pub data_type: u16,
    /// Number of elements; other messages use the field for other things.
    pub count: u32,
    /// The first parameter.
    pub parameter1: u32,
    /// The second parameter.
    pub parameter2: u32,
}

/// A message in the bytes it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The fixed part.
    pub header: Header,
    /// The rest, padding included.
    pub payload: &'a [u8],
}

/// Takes the first message off `bytes` and returns it with what follows; none if it has not arrived whole.
pub fn next_message(bytes: &[u8]) -> Result<Option<(Message<'_>, &[u8])>, Malformed> {
    let Some((header, rest)) = whole_header(bytes) else { return Ok(None) };
    let size = header.size as usize;
    if size > MESSAGE_BYTES_MAX {
        return Err(Malformed::TooLarge { size: u64::from(header.size) });
    }
    Ok(rest.split_at_checked(size).map(|(payload, rest)| (Message { header, payload }, rest)))
}

/// What the message at the front of `bytes` takes when it has arrived whole, as its header says; none if that has not arrived.
pub fn announced(bytes: &[u8]) -> Option<usize> {
    let (header, rest) = whole_header(bytes)?;
    Some(bytes.len() - rest.len() + header.size as usize)
}

/// The header in either form, and what follows it.
fn whole_header(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let (mut header, rest) = short_header(bytes)?;
    if header.size != 0xFFFF || header.count != 0 {
        return Some((header, rest));
    }
    let (extension, rest) = rest.split_first_chunk::<8>()?;
    header.size = u32_at(extension, 0);
    header.count = u32_at(extension, 4);
    Some((header, rest))
}

fn short_header(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<16>()?;
    let [c0, c1, s0, s1, t0, t1, n0, n1, ..] = *head;
    let header = Header {
        command: u16::from_be_bytes([c0, c1]),
        size: u32::from(u16::from_be_bytes([s0, s1])),
        data_type: u16::from_be_bytes([t0, t1]),
        count: u32::from(u16::from_be_bytes([n0, n1])),
        parameter1: u32_at(head, 8),
        parameter2: u32_at(head, 12),
    };
    Some((header, rest))
}

/// The number at `offset`, 0 beyond the end: messages of older servers are shorter.
pub fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let found = bytes.get(offset..).and_then(|rest| rest.first_chunk::<4>());
    found.map_or(0, |number| u32::from_be_bytes(*number))
}

/// The number at `offset`, 0 beyond the end.
pub fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    let found = bytes.get(offset..).and_then(|rest| rest.first_chunk::<2>());
    found.map_or(0, |number| u16::from_be_bytes(*number))
}

/// Text up to the first zero byte: UTF-8, or Latin-1 as older IOCs send it (degree signs in units).
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let bytes = bytes.get(..end).unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Appends a message; the size comes from the payload, the extended header is used where the short one does not reach.
pub fn put_message(out: &mut Vec<u8>, header: Header, payload: &[u8]) {
    let size = payload.len().next_multiple_of(8);
    let short = u16::try_from(size).ok().filter(|size| *size < 0xFFFF).zip(u16::try_from(header.count).ok());
    let (size16, count16) = short.unwrap_or((0xFFFF, 0));
    out.extend_from_slice(&header.command.to_be_bytes());
    out.extend_from_slice(&size16.to_be_bytes());
    out.extend_from_slice(&header.data_type.to_be_bytes());
    out.extend_from_slice(&count16.to_be_bytes());
    out.extend_from_slice(&header.parameter1.to_be_bytes());
    out.extend_from_slice(&header.parameter2.to_be_bytes());
    if short.is_none() {
        out.extend_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(&header.count.to_be_bytes());
    }
    out.extend_from_slice(payload);
    out.resize(out.len() + size - payload.len(), 0);
}

/// Writes a header into its place, in the short form if the place has 16 bytes and in the extended one if it has 24.
#[cfg(feature = "server")]
pub(crate) fn fill_header(place: &mut [u8], header: &Header) {
    let is_short = place.len() < 24;
    let (size, count) = if is_short { (header.size as u16, header.count as u16) } else { (0xFFFF, 0) };
    let [a, b] = header.command.to_be_bytes();
    let [c, d] = size.to_be_bytes();
    let [e, f] = header.data_type.to_be_bytes();
    let [g, h] = count.to_be_bytes();
    let parameters = [header.parameter1.to_be_bytes(), header.parameter2.to_be_bytes()];
    let extension = [header.size.to_be_bytes(), header.count.to_be_bytes()];
    let bytes = [a, b, c, d, e, f, g, h].into_iter().chain(parameters.into_iter().chain(extension).flatten());
    place.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
}

fn put_text(out: &mut Vec<u8>, header: Header, text: &str) {
    let mut payload = Vec::with_capacity(text.len() + 8);
    payload.extend_from_slice(text.as_bytes());
    payload.push(0);
    put_message(out, header, &payload);
}

/// Opens a circuit: the client's revision and priority (0, the lowest: an archiver gives way to operators).
pub fn version(out: &mut Vec<u8>) {
    put_message(out, Header { command: command::VERSION, count: u32::from(MINOR_VERSION), ..Header::default() }, &[]);
}

/// Opens a datagram of searches; servers return the sequence number.
pub fn datagram_version(out: &mut Vec<u8>, sequence: u32) {
    let header = Header {
        command: command::VERSION,
        data_type: 1, // "the sequence number is valid"
        count: u32::from(MINOR_VERSION),
        parameter1: sequence,
        ..Header::default()
    };
    put_message(out, header, &[]);
}

/// Asks who serves `name`; those who do not, keep silent.
pub fn search(out: &mut Vec<u8>, cid: u32, name: &str) {
    let header = Header {
        command: command::SEARCH,
        data_type: 5, // "do not answer if the name is unknown"
        count: u32::from(MINOR_VERSION),
        parameter1: cid,
        parameter2: cid,
        ..Header::default()
    };
    put_text(out, header, name);
}

/// Names the client's user, for access security.
pub fn client_name(out: &mut Vec<u8>, user: &str) {
    put_text(out, Header { command: command::CLIENT_NAME, ..Header::default() }, user);
}

/// Names the client's host, for access security.
pub fn host_name(out: &mut Vec<u8>, host: &str) {
    put_text(out, Header { command: command::HOST_NAME, ..Header::default() }, host);
}

/// Asks for a channel to `name`; replies bear `cid`.
pub fn create_channel(out: &mut Vec<u8>, cid: u32, name: &str) {
    let header = Header {
        command: command::CREATE_CHANNEL,
        parameter1: cid,
        parameter2: u32::from(MINOR_VERSION),
        ..Header::default()
    };
    put_text(out, header, name);
}

/// What a subscription asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The server's number of the channel.
    pub sid: u32,
    /// The client's number of the subscription or read request; replies bear it.
    pub id: u32,
    /// The DBR type of the values.
    pub data_type: u16,
    /// How many elements; 0 is "as many as there are".
    pub count: u32,
}

/// Subscribes; `mask` says to what changes.
pub fn event_add(out: &mut Vec<u8>, wanted: Wanted, mask: u16) {
    let [high, low] = mask.to_be_bytes();
    // Three floats of a dead band that no server ever used, the mask, padding.
    put_message(out, wanted.header(command::EVENT_ADD), &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, high, low, 0, 0]);
}

/// Ends a subscription; the server answers with an update without content.
pub fn event_cancel(out: &mut Vec<u8>, wanted: Wanted) {
    put_message(out, wanted.header(command::EVENT_CANCEL), &[]);
}

/// Reads once.
pub fn read_notify(out: &mut Vec<u8>, wanted: Wanted) {
    put_message(out, wanted.header(command::READ_NOTIFY), &[]);
}

impl Wanted {
    fn header(self, command: u16) -> Header {
        let Wanted { sid, id, data_type, count } = self;
        Header { command, size: 0, data_type, count, parameter1: sid, parameter2: id }
    }
}

/// Ends a channel and its subscriptions; the server answers with the same message as its last word on the channel.
pub fn clear_channel(out: &mut Vec<u8>, sid: u32, cid: u32) {
    let header = Header { command: command::CLEAR_CHANNEL, parameter1: sid, parameter2: cid, ..Header::default() };
    put_message(out, header, &[]);
}

/// Asks the server for a sign of life: it returns the message.
pub fn echo(out: &mut Vec<u8>) {
    put_message(out, Header { command: command::ECHO, ..Header::default() }, &[]);
}

/// Asks the repeater of this host to pass on beacons.
pub fn repeater_register(out: &mut Vec<u8>, own_address: u32) {
    let header = Header { command: command::REPEATER_REGISTER, parameter2: own_address, ..Header::default() };
    put_message(out, header, &[]);
}

/// What a status code of the protocol means, for the codes that a reading client meets.
pub fn status_text(status: u32) -> &'static str {
    match status {
        1 => "normal",
        48 => "the server has no memory left",
        72 => "the value is larger than the server may send (EPICS_CA_MAX_ARRAY_BYTES)",
        114 => "the data type is invalid",
        140 => "internal failure of the server",
        152 => "the server cannot read the value",
        176 => "the element count is invalid",
        192 => "the channel is disconnected",
        330 => "the server does not know this kind of subscription",
        368 => "read access denied",
        376 => "write access denied",
        410 => "the server does not know the channel",
        _ => "a failure of the server",
    }
}
