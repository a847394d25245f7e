//! Descriptions of records (`DESC`), which Channel Access does not bring with values: read when a client asks for one, and remembered for
//! a while.
//!
//! Nothing is asked of an IOC that no client wants to know: a second search for each of 100,000 PVs would double what they cost when they
//! connect. A server that did not answer once, as one of no records, is left alone for a while.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use archive::PvId;
use epics::{Event, Value};
use sample::Timestamp;

use crate::lock::lock;

/// How long a client waits for a description: an IOC answers within a few milliseconds.
const PATIENCE: Duration = Duration::from_millis(500);
/// How many are read at once. A client does not wait for more.
const ASKED_MAX: usize = 16;
/// How long a description is remembered, and how long a server that did not answer is left alone.
const HOLDS: Duration = Duration::from_secs(600);
const SILENCE: Duration = Duration::from_secs(60);
/// What is remembered is forgotten when it is so many.
const KNOWN_MAX: usize = 100_000;

/// The descriptions that are remembered, and those that are being read.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next_number: u32,
    asked: HashSet<u32>,
    answers: HashMap<u32, String>,
    known: HashMap<PvId, (String, Timestamp)>,
    silent: HashMap<SocketAddr, Timestamp>,
}

/// What there is to do for a description.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It is known.
    Known(String),
    /// It is to be read, under this number.
    Read(u32),
    /// It is not to be had now.
    Nothing,
}

impl Descriptions {
    /// Begins to read that of a PV of a server, unless it is known.
    pub(crate) fn begin(&self, pv: PvId, server: SocketAddr, now: Timestamp) -> Begun {
        let mut state = lock(&self.state);
        if let Some((text, _)) = state.known.get(&pv).filter(|(_, until)| *until > now) {
            return Begun::Known(text.clone());
        }
        let is_silent = state.silent.get(&server).is_some_and(|until| *until > now);
        if is_silent || state.asked.len() >= ASKED_MAX {
            return Begun::Nothing;
        }
        let number = state.next_number;
        state.next_number = number.wrapping_add(1);
        state.asked.insert(number);
        Begun::Read(number)
    }

    /// Takes in what the client reports of a subscription.
    pub(crate) fn hear(&self, number: u32, event: Event) {
        let Event::Updated(reading) = event else { return };
        let mut state = lock(&self.state);
        if let (true, Value::String(text)) = (state.asked.contains(&number), reading.value) {
            state.answers.insert(number, text);
            self.answered.notify_all();
        }
    }

    /// Waits for the answer, and ends the reading.
    pub(crate) fn wait(&self, number: u32, pv: PvId, server: SocketAddr, now: Timestamp) -> Option<String> {
        let is_awaited = |state: &mut State| !state.answers.contains_key(&number);
        let waited = self.answered.wait_timeout_while(lock(&self.state), PATIENCE, is_awaited);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.asked.remove(&number);
        let answer = state.answers.remove(&number);
        match &answer {
            Some(text) => {
                if state.known.len() >= KNOWN_MAX {
                    state.known.clear();
                }
                state.known.insert(pv, (text.clone(), now.saturating_add(HOLDS)));
            }
            None => _ = state.silent.insert(server, now.saturating_add(SILENCE)),
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use epics::Reading;

    use super::*;

    const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 5064);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000 + seconds, 0)
    }

    fn says(text: &str) -> Event {
        let (value, message) = (Value::String(text.to_owned()), None);
        Event::Updated(Reading {
            value,
            seconds: 0,
            nanos: 0,
            severity: 0,
            status: 0,
            message,
            user_tag: 0,
            overrun: false,
        })
    }

    #[test]
    fn a_description_is_read_once_in_a_while() {
        let descriptions = Descriptions::default();
        assert_eq!(descriptions.begin(PvId(1), SERVER, at(0)), Begun::Read(0));
        descriptions.hear(0, says("beam current"));
        assert_eq!(descriptions.wait(0, PvId(1), SERVER, at(0)).as_deref(), Some("beam current"));
        assert_eq!(descriptions.begin(PvId(1), SERVER, at(599)), Begun::Known("beam current".to_owned()));
        assert_eq!(descriptions.begin(PvId(1), SERVER, at(600)), Begun::Read(1));
        descriptions.hear(0, says("too late"));
        assert!(lock(&descriptions.state).answers.is_empty());
    }

    #[test]
    fn who_does_not_answer_is_left_alone_and_few_are_asked_at_once() {
        let descriptions = Descriptions::default();
        let Begun::Read(number) = descriptions.begin(PvId(1), SERVER, at(0)) else { panic!("it is not known") };
        assert_eq!(descriptions.wait(number, PvId(1), SERVER, at(0)), None);
        assert_eq!(descriptions.begin(PvId(2), SERVER, at(59)), Begun::Nothing);
        let other = SocketAddr::new(SERVER.ip(), 5065);
        for number in 1..=ASKED_MAX {
            assert_eq!(descriptions.begin(PvId(9), other, at(59)), Begun::Read(u32::try_from(number).unwrap()));
        }
        assert_eq!(descriptions.begin(PvId(9), other, at(59)), Begun::Nothing);
        assert_eq!(lock(&descriptions.state).asked.len(), ASKED_MAX);
    }
}
