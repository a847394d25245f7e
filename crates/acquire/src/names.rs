//! The records' own names: an IOC may serve a record by an alias, and is asked whether it does, so that nothing is recorded twice.
//!
//! Each PV that was added while the archiver ran is asked for its field `NAME` once it is connected. If that is another name,
//! the PV of this name is asked, too: only if the same server gives it the same `NAME` is it believed, as there are servers that
//! use `NAME` for something else. A server that does not answer is left alone.

use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use archive::{Protocol, PvId, PvName};
use epics::{Event, Value};
use sample::Timestamp;

/// So many are asked at once: no burden for an IOC, and 25,000 in a minute.
const ASKED_MAX: usize = 500;

/// A server that has not answered by then does not know the field.
const PATIENCE: Duration = Duration::from_secs(10);

/// A PV that is one record with another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The PV, as it is archived.
    pub pv: PvId,
    /// The name that it is archived by.
    pub name: PvName,
    /// The record's own name.
    pub record: PvName,
}

/// A subscription to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asking {
    pub(crate) number: u32,
    pub(crate) field: String,
    pub(crate) protocol: Protocol,
}

#[derive(Debug)]
struct Question {
    pv: PvId,
    name: PvName,
    protocol: Protocol,
    /// The record's name as the PV said it, and the server that said it, once that is to be confirmed.
    said: Option<(PvName, SocketAddr)>,
}

#[derive(Debug)]
struct Asked {
    question: Question,
    server: Option<SocketAddr>,
    until: Timestamp,
}

/// All that are asked, are to be asked, or have answered.
#[derive(Debug, Default)]
pub(crate) struct Names {
    waiting: VecDeque<Question>,
    asked: HashMap<u32, Asked>,
    next_number: u32,
    answered: Vec<u32>,
    found: Vec<Alias>,
}

impl Names {
    /// Whether a PV can be an alias: fields and filters of records have a dot.
    pub(crate) fn may_be_alias(name: &PvName) -> bool {
        !name.as_str().contains('.')
    }

    /// Asks a PV in its turn.
    pub(crate) fn ask(&mut self, pv: PvId, name: PvName, protocol: Protocol) {
        self.waiting.push_back(Question { pv, name, protocol, said: None });
    }

    /// Takes in what the client reports of a subscription.
    pub(crate) fn hear(&mut self, number: u32, event: Event) {
        let Some(asked) = self.asked.get_mut(&number) else { return };
        let said = match event {
            Event::Connected { server } => return asked.server = Some(server),
            Event::Updated(reading) => reading.value,
            _ => return,
        };
        let Some(Asked { question, server, .. }) = self.asked.remove(&number) else { return };
        self.answered.push(number);
        let (Value::String(said), Some(server)) = (said, server) else { return };
        let Question { pv, name, protocol, said: former } = question;
        let Ok(record) = PvName::new(&said) else { return };
        match former {
            Some(former) if former == (record.clone(), server) => self.found.push(Alias { pv, name, record }),
            None if record != name && Names::may_be_alias(&record) => {
                self.waiting.push_front(Question { pv, name, protocol, said: Some((record, server)) });
            }
            _ => {}
        }
    }

    /// Goes on: gives those to be subscribed to, and the numbers of those that are not needed any more.
    pub(crate) fn tick(&mut self, now: Timestamp) -> (Vec<Asking>, Vec<u32>) {
        let mut gone = std::mem::take(&mut self.answered);
        let late: Vec<u32> = self.asked.iter().filter(|(_, asked)| asked.until < now).map(|(n, _)| *n).collect();
        for number in late {
            self.asked.remove(&number);
            gone.push(number);
        }
        let mut new = Vec::new();
        while self.asked.len() < ASKED_MAX
            && let Some(question) = self.waiting.pop_front()
        {
            let number = self.next_number;
            self.next_number = self.next_number.wrapping_add(1);
            let Question { name, protocol, said, .. } = &question;
            let record = said.as_ref().map_or(name, |(record, _)| record);
            // As a text it would be cut after 39 letters by Channel Access.
            let long = if *protocol == Protocol::Ca { "$" } else { "" };
            new.push(Asking { number, field: format!("{record}.NAME{long}"), protocol: *protocol });
            let until = now.saturating_add(PATIENCE);
            self.asked.insert(number, Asked { question, server: None, until });
        }
        (new, gone)
    }

    /// The aliases that were found since this was last asked.
    pub(crate) fn take_found(&mut self) -> Vec<Alias> {
        std::mem::take(&mut self.found)
    }
}

#[cfg(test)]
mod tests {
    use epics::Reading;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000 + seconds, 0)
    }

    fn name(text: &str) -> PvName {
        PvName::new(text).unwrap()
    }

    fn says(names: &mut Names, number: u32, port: u16, text: &str) {
        names.hear(number, Event::Connected { server: SocketAddr::from(([127, 0, 0, 1], port)) });
        let value = Value::String(text.to_owned());
        let (message, overrun) = (None, false);
        let reading = Reading { value, seconds: 0, nanos: 0, severity: 0, status: 0, message, user_tag: 0, overrun };
        names.hear(number, Event::Updated(reading));
    }

    /// What is asked for after the PV `A` said something, and what is found after the second answer.
    fn found(first: &str, then: (u16, &str)) -> (Vec<String>, Vec<Alias>) {
        let mut names = Names::default();
        names.ask(PvId(7), name("A"), Protocol::Ca);
        assert_eq!(names.tick(at(0)).0[0].field, "A.NAME$");
        says(&mut names, 0, 5064, first);
        let (asking, gone) = names.tick(at(1));
        assert_eq!(gone, [0]);
        for asking in &asking {
            says(&mut names, asking.number, then.0, then.1);
        }
        (asking.into_iter().map(|asking| asking.field).collect(), names.take_found())
    }

    #[test]
    fn a_name_is_believed_when_its_record_says_the_same_at_the_same_server() {
        let alias = Alias { pv: PvId(7), name: name("A"), record: name("R") };
        assert_eq!(found("R", (5064, "R")), (vec!["R.NAME$".to_owned()], vec![alias]));
        assert_eq!(found("R", (5065, "R")).1, [], "another server");
        assert_eq!(found("R", (5064, "S")).1, [], "it says something else");
        for is_no_alias in ["A", "", "R.VAL", "two words"] {
            assert_eq!(found(is_no_alias, (5064, "R")), (vec![], vec![]), "{is_no_alias}");
        }
    }

    #[test]
    fn who_does_not_answer_is_given_up_and_makes_room() {
        let mut names = Names::default();
        for number in 0..600 {
            names.ask(PvId(number), name(&format!("A{number}")), Protocol::Pva);
        }
        let (new, gone) = names.tick(at(0));
        assert_eq!((new.len(), new[0].field.as_str(), gone.len()), (500, "A0.NAME", 0));
        assert_eq!(names.tick(at(5)), (vec![], vec![]));
        let (new, gone) = names.tick(at(11));
        assert_eq!((new.len(), gone.len()), (100, 500));
        says(&mut names, 3, 5064, "R");
        assert_eq!(names.tick(at(12)), (vec![], vec![]), "too late");
    }
}
