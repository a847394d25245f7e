//! One circuit: the conversation with one server, from the handshake to the last channel, without a socket.
//!
//! The circuit never tells a server to hold back updates: servers that are told so replace queued values silently.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    mem,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

pub use super::channels::Tally;
use super::{
    channels::Channels,
    monitor::Monitor,
    search::Answer,
    wire::{self, Malformed, Message, command},
};
use crate::{Event, Key};

/// How long an echo may take.
pub const ECHO_TIMEOUT: Duration = Duration::from_secs(5);

/// Searches wait for a slow name server only up to here; they are repeated anyway.
const SEARCH_BACKLOG_BYTES: usize = 1 << 20;

/// Who the client is, for the server's access security.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's name.
    pub user: String,
    /// The host's name.
    pub host: String,
}

/// The state of one circuit.
pub struct Circuit {
    // fixed after start
    silence_max: Duration,
    // the conversation
    last_heard: Instant,
    echo_sent: Option<Instant>,
    channels: Channels,
    // for the link to take
    answers: Vec<Answer>,
    #[cfg(feature = "put")]
    puts: Vec<(u32, u32)>,
}

impl Circuit {
    /// Begins a conversation: the handshake waits to be transmitted. `server_version` is what the search reply said.
    pub fn new(
        server: SocketAddr,
        server_version: u16,
        identity: &Identity,
        silence_max: Duration,
        now: Instant,
    ) -> Circuit {
        let mut channels = Channels::new(server, server_version);
        wire::version(&mut channels.out);
        wire::host_name(&mut channels.out, &identity.host);
        wire::client_name(&mut channels.out, &identity.user);
        Circuit {
            silence_max,
            last_heard: now,
            echo_sent: None,
            channels,
            answers: Vec::new(),
            #[cfg(feature = "put")]
            puts: Vec::new(),
        }
    }

    /// Asks for a channel and its subscriptions.
    pub fn open(&mut self, key: Key, name: Arc<str>, monitor: Monitor) {
        self.channels.open(key, name, monitor);
    }

    /// Ends a channel; no event follows.
    pub fn close(&mut self, key: Key) {
        self.channels.close(key);
    }

    /// Sends searches to a name server on this circuit.
    pub fn search(&mut self, messages: &[u8]) {
        if self.channels.out.len() < SEARCH_BACKLOG_BYTES {
            self.channels.out.extend_from_slice(messages);
        }
    }

    /// Takes what has arrived, tells the user, and returns how many bytes were whole messages; the rest must be offered again,
    /// with more behind it. After an error the circuit is useless.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        now: Instant,
        tell: &mut impl FnMut(Key, Event),
    ) -> Result<usize, Malformed> {
        self.last_heard = now;
        self.echo_sent = None;
        let mut rest = bytes;
        while let Some((message, after)) =
            wire::next_message(rest).inspect_err(|_| self.channels.tally.protocol_errors += 1)?
        {
            self.channels.tally.messages += 1;
            self.take(&message, tell);
            rest = after;
        }
        self.channels.ask_for_descriptions(now);
        Ok(bytes.len() - rest.len())
    }

    /// What waits to be sent; the link (`net::ca`) removes what it has sent.
    pub fn transmit(&mut self) -> &mut Vec<u8> {
        &mut self.channels.out
    }

    /// Tests the silence of the server: when to be called again, or none if it is dead.
    pub fn poll(&mut self, now: Instant) -> Option<Instant> {
        if let Some(sent) = self.echo_sent {
            let deadline = sent + ECHO_TIMEOUT;
            return (now < deadline).then_some(deadline);
        }
        let due = self.last_heard + self.silence_max;
        if now < due {
            return Some(due);
        }
        wire::echo(&mut self.channels.out);
        self.echo_sent = Some(now);
        Some(now + ECHO_TIMEOUT)
    }

    /// Ends the circuit for `reason`: every channel is told.
    pub fn abandon(&mut self, reason: &str, tell: &mut impl FnMut(Key, Event)) {
        self.channels.abandon(reason, tell);
    }

    /// Tells every open channel that the server may have had no room to send.
    pub fn crowded(&self, duration: Duration, tell: &mut impl FnMut(Key, Event)) {
        self.channels.crowded(duration, tell);
    }

    /// Channels that the server has given up, to be searched for again.
    pub fn take_orphans(&mut self) -> Vec<Key> {
        self.channels.take_orphans()
    }

    /// Replies to searches that were sent on this circuit.
    pub fn take_answers(&mut self) -> Vec<Answer> {
        mem::take(&mut self.answers)
    }

    /// What was seen since the last call.
    pub fn take_tally(&mut self) -> Tally {
        mem::take(&mut self.channels.tally)
    }

    fn take(&mut self, message: &Message<'_>, tell: &mut impl FnMut(Key, Event)) {
        let header = message.header;
        match header.command {
            command::EVENT_ADD => self.channels.take_value(message, tell),
            command::READ_NOTIFY => self.channels.take_description(message, tell),
            command::CREATE_CHANNEL => self.channels.take_created(&header, tell),
            command::ACCESS_RIGHTS => self.channels.take_rights(&header, tell),
            command::VERSION => self.channels.server_version = u16::try_from(header.count).unwrap_or(u16::MAX),
            command::CLEAR_CHANNEL => self.channels.take_cleared(header.parameter2),
            command::CREATE_CHANNEL_FAILED => {
                let message = format!("{} knows the PV but would not open a channel", self.channels.server);
                self.channels.orphan(header.parameter1, Event::Refused { message }, tell);
            }
            command::SERVER_DISCONNECT => {
                let reason = format!("{} no longer serves the PV", self.channels.server);
                self.channels.orphan(header.parameter1, Event::Disconnected { reason }, tell);
            }
            command::ERROR => self.channels.take_error(message, tell),
            command::SEARCH => self.answers.extend(Answer::read(message, self.channels.server)),
            command::ECHO | command::NOT_FOUND => {}
            #[cfg(feature = "put")]
            _ if super::put::answer(&header).is_some() => self.puts.extend(super::put::answer(&header)),
            _ => self.channels.tally.protocol_errors += 1,
        }
    }
}

#[cfg(feature = "put")]
impl Circuit {
    /// Writes to a channel; the answer will bear `number`.
    pub fn put(&mut self, key: Key, value: &super::put::PutValue, number: u32) -> Result<(), super::put::PutError> {
        self.channels.put(key, value, number)
    }

    /// Answers to writes: their numbers and statuses.
    pub fn take_puts(&mut self) -> Vec<(u32, u32)> {
        mem::take(&mut self.puts)
    }
}
