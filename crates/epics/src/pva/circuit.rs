//! One TCP connection to a server, without the connection: bytes in, events and bytes out.
//!
//! ```text
//!   Greeting ─validation─► Validating ─validated─► Open ─► channels, searches of a name server, echoes
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    channels::{Channels, Returned},
    counters::Counters,
    frames::{Frames, Unfinished},
    keep::Keep,
    message::{self, Account, Guid, Message, SearchReply, Wanted},
    monitor::Monitor,
    wire::{Error, Header},
};
use crate::{Event, Key};

/// Echoes are sent whether or not the server is heard: PVXS closes a circuit on which the client is silent for 40 s.
const ECHO_EVERY: Duration = Duration::from_secs(15);

/// The state of one circuit. It owns no socket: bytes are passed to [`Circuit::receive`] and fetched from
/// [`Circuit::transmit`], and time comes as an argument.
#[derive(Debug)]
pub struct Circuit {
    frames: Frames,
    talk: Talk,
}

/// Everything but the bytes of a message that is not whole yet.
#[derive(Debug)]
struct Talk {
    // fixed after start
    server: SocketAddr,
    account: Account,
    silence_max: Duration,
    echo_every: Duration,

    phase: Phase,
    channels: Channels,
    replies: Vec<SearchReply>,
    heard: Instant,
    echoed: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    Validating,
    Open,
}

impl Circuit {
    /// A circuit that has just been connected.
    pub fn new(server: SocketAddr, account: Account, silence_max: Duration, now: Instant) -> Circuit {
        let talk = Talk {
            server,
            account,
            silence_max,
            echo_every: ECHO_EVERY.min(silence_max / 2),
            phase: Phase::Greeting,
            channels: Channels::new(server),
            replies: Vec::new(),
            heard: now,
            echoed: now,
        };
        Circuit { frames: Frames::default(), talk }
    }

    /// The server has said in its answer to a search which run of it this is.
    pub fn identify(&mut self, run: Guid) {
        self.talk.channels.run = Some(run);
    }

    /// What its monitors keep of last values counts with those of other circuits.
    pub fn share(&mut self, keep: Keep) {
        self.talk.channels.keep = keep;
    }

    /// The message that is on its way.
    pub fn unfinished(&self) -> Option<Unfinished> {
        self.frames.unfinished()
    }

    /// There is memory for the message that is on its way.
    pub fn make_room(&mut self) {
        self.frames.make_room();
    }

    /// Asks for a PV and for all its updates.
    pub fn subscribe(&mut self, key: Key, name: Arc<str>, monitor: Monitor, now: Instant) {
        self.talk.channels.subscribe(key, name, monitor);
        self.talk.pump(now);
    }

    /// Gives a PV up.
    pub fn unsubscribe(&mut self, key: Key, now: Instant) {
        self.talk.channels.unsubscribe(key);
        self.talk.pump(now);
    }

    /// Asks a name server for names; before the circuit is open nothing is sent, as the names will come again.
    pub fn search(&mut self, sequence: u32, names: &[Wanted]) {
        if self.talk.phase == Phase::Open {
            message::search(&mut self.talk.channels.out, sequence, 0, names);
        }
    }

    /// Takes bytes from the server. An error ends the circuit.
    pub fn receive(&mut self, bytes: &[u8], now: Instant, emit: &mut impl FnMut(Key, Event)) -> Result<(), Error> {
        let talk = &mut self.talk;
        talk.heard = now;
        talk.channels.counters.bytes_received += bytes.len() as u64;
        self.frames.feed(bytes, |header, payload| talk.take(header, payload, now, emit))?;
        talk.pump(now);
        Ok(())
    }

    /// Does what is due at this time. An error ends the circuit.
    pub fn tick(&mut self, now: Instant, emit: &mut impl FnMut(Key, Event)) -> Result<(), Error> {
        let talk = &mut self.talk;
        if now.saturating_duration_since(talk.heard) >= talk.silence_max {
            return Err(Error::Silent);
        }
        if talk.phase != Phase::Open {
            return Ok(());
        }
        if now.saturating_duration_since(talk.echoed) >= talk.echo_every {
            talk.echoed = now;
            message::echo(&mut talk.channels.out);
        }
        talk.channels.tick(now, emit);
        Ok(())
    }

    /// When [`Circuit::tick`] has something to do.
    pub fn deadline(&self) -> Instant {
        let talk = &self.talk;
        let silent = talk.heard + talk.silence_max;
        if talk.phase != Phase::Open {
            return silent;
        }
        let echo = talk.echoed + talk.echo_every;
        talk.channels.deadline().into_iter().chain([silent, echo]).min().unwrap_or(silent)
    }

    /// The bytes to send; none if empty.
    pub fn transmit(&mut self) -> Vec<u8> {
        self.talk.channels.out.take()
    }

    /// What a name server answered since the last call.
    pub fn take_replies(&mut self) -> Vec<SearchReply> {
        std::mem::take(&mut self.talk.replies)
    }

    /// The subscriptions that the server refused or no longer has, since the last call.
    pub fn take_returned(&mut self) -> Vec<Returned> {
        self.talk.channels.take_returned()
    }

    /// What was counted since the last call.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.talk.channels.counters)
    }

    /// Whether it serves no subscription.
    pub fn is_idle(&self) -> bool {
        self.talk.channels.len() == 0
    }

    /// Whether the server has accepted the client.
    pub fn is_open(&self) -> bool {
        self.talk.phase == Phase::Open
    }

    /// Tells of each connected PV that the server may have had no room to send.
    pub fn crowded(&self, duration: Duration, emit: &mut impl FnMut(Key, Event)) {
        self.talk.channels.crowded(duration, emit);
    }

    /// Ends the circuit: tells of each connected PV that it is no longer, and returns all subscriptions.
    pub fn close(&mut self, reason: &str, emit: &mut impl FnMut(Key, Event)) -> Vec<Key> {
        self.talk.channels.close(reason, emit)
    }
}

#[cfg(feature = "put")]
impl Circuit {
    /// Writes to a PV; what becomes of it is told by [`Circuit::take_outcomes`] with this number.
    pub(crate) fn put(&mut self, key: Key, value: super::put::PutValue, number: u32) {
        self.talk.channels.put(key, value, number);
    }

    /// What became of writes since the last call.
    pub(crate) fn take_outcomes(&mut self) -> Vec<super::put::Outcome> {
        self.talk.channels.take_outcomes()
    }
}

impl Talk {
    fn pump(&mut self, now: Instant) {
        if self.phase == Phase::Open {
            self.channels.pump(now);
        }
    }

    /// A message that cannot be read is counted and skipped, or ends the one monitor that it is about: the others go on.
    fn take(
        &mut self,
        header: Header,
        payload: &[u8],
        now: Instant,
        emit: &mut impl FnMut(Key, Event),
    ) -> Result<(), Error> {
        self.channels.counters.messages += 1;
        let message = Message::decode(header, payload, &mut self.channels.registry);
        #[cfg(feature = "put")]
        let message = self.channels.take_put(header, payload).and(message);
        match message {
            Ok(message) => self.answer(message, now, emit),
            Err(error) => {
                self.channels.counters.protocol_errors += 1;
                tracing::debug!(server = %self.server, command = header.command, %error, "unreadable message");
                if let Some(ioid) = message::monitor_of(header, payload) {
                    self.channels.fail(ioid, &error, now, emit);
                }
                Ok(())
            }
        }
    }

    fn answer(&mut self, message: Message<'_>, now: Instant, emit: &mut impl FnMut(Key, Event)) -> Result<(), Error> {
        match message {
            Message::MonitorUpdate { ioid, changes } => self.channels.update(ioid, changes, now, emit),
            Message::MonitorReady { ioid, status, ty } => self.channels.ready(ioid, &status, ty, now, emit),
            Message::MonitorEnded { ioid, status, changes } => {
                self.channels.ended((ioid, &status), changes, now, emit);
            }
            Message::ChannelCreated { cid, sid, status } => self.channels.created((cid, sid), &status, now, emit),
            Message::ChannelDestroyed { cid, .. } => self.channels.destroyed(cid, emit),
            Message::SetOrder(order) => self.channels.out.set_order(order),
            Message::Validation { methods } => {
                message::validation_reply(&mut self.channels.out, &methods, &self.account);
                self.phase = Phase::Validating;
            }
            Message::Validated(status) if status.failed => return Err(Error::Refused { message: status.message }),
            Message::Validated(_) => {
                self.phase = Phase::Open;
                self.echoed = now;
            }
            Message::SearchReply(reply) => self.replies.push(reply),
            Message::Words { text, .. } => tracing::info!(server = %self.server, "the server says: {text}"),
            Message::Echo | Message::Beacon(_) | Message::Other { .. } => {}
        }
        Ok(())
    }
}
