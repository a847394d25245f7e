//! Identity: somebody at one listener, with what they may do there.

use std::{net::IpAddr, sync::Arc};

use archive::{ARCHIVER, How, Principal, Right};
use sample::Timestamp;

use crate::{
    limits::Key,
    refused::{BEARER, Kind, Reason, Refused},
    rights::Rights,
    sessions,
    who::Who,
};

/// Somebody who asks. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Who it is.
    pub who: Who,
    /// In which groups.
    pub groups: Arc<[Box<str>]>,
    /// What they may do.
    pub rights: Rights,
    /// From where they ask, if over a network.
    pub from: Option<IpAddr>,
    pub(crate) ceiling: Right,
    pub(crate) proof: Proof,
    /// When what was shown expires, if it says so itself.
    pub(crate) expires: Option<Timestamp>,
}

/// How long an identity is established.
#[derive(Clone, Debug, Default)]
pub(crate) enum Proof {
    /// While the connection lasts.
    #[default]
    Held,
    /// Until a time that stands in what was shown.
    Until(Timestamp),
    /// While a token is not revoked and has not expired.
    Token(Box<str>),
    /// While a session lasts.
    Session(sessions::Key),
}

/// Why something may not be done to a PV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The PV may not be seen: the answer is that of a PV that does not exist.
    Hidden,
    /// A right is missing.
    Refused(Refused),
}

impl Identity {
    /// Somebody who may do everything: the program itself, and tests.
    pub fn of_program() -> Identity {
        Identity {
            who: Who::anonymous(),
            groups: Arc::default(),
            rights: Rights::open(),
            from: None,
            ceiling: Right::Administer,
            proof: Proof::Held,
            expires: None,
        }
    }

    /// As the audit keeps it, to which whoever has the request adds the way by which it came.
    pub fn principal(&self) -> Principal {
        match (self.who.how, self.from) {
            (How::Anonymous, Some(address)) => Principal::at(address),
            (How::Anonymous, None) => Principal::here(ARCHIVER),
            (how, _) => Principal::shown(how, &self.who.name),
        }
    }

    /// Whose requests are counted together with these.
    pub fn limit_key(&self) -> Key {
        Key::of(&self.who, self.from)
    }

    /// Until when it is established at most, if that is known beforehand.
    pub fn until(&self) -> Option<Timestamp> {
        match self.proof {
            Proof::Until(end) => Some(end),
            _ => self.expires,
        }
    }

    /// Whether it is held by a session, which can be ended.
    pub fn has_session(&self) -> bool {
        matches!(self.proof, Proof::Session(_))
    }

    /// Whether a right is there to anything at all: before a request is looked at.
    pub fn need(&self, right: Right) -> Result<(), Refused> {
        if self.rights.most() >= Some(right) { Ok(()) } else { Err(self.missing(right, "anything")) }
    }

    /// Whether a right to everything is there: for what concerns no PV, or all.
    pub fn need_all(&self, right: Right) -> Result<(), Refused> {
        if self.rights.may_all(right) { Ok(()) } else { Err(self.missing(right, "all PVs")) }
    }

    /// Whether a right to a PV is there, by each of its names: its own, and the one by which it was asked for.
    pub fn need_for(&self, right: Right, names: &[&str]) -> Result<(), Denied> {
        let may = |right| self.rights.may_each(right, names.iter().copied());
        match (may(right), may(Right::Read)) {
            (true, _) => Ok(()),
            (false, false) => Err(Denied::Hidden),
            (false, true) => Err(Denied::Refused(self.missing(right, names.last().copied().unwrap_or_default()))),
        }
    }

    /// A refusal for a right that is missing, in the words of whoever has found it so. Whoever has shown nothing is asked to.
    pub fn refused(&self, message: impl Into<String>) -> Refused {
        let message = message.into();
        match self.who.how {
            How::Anonymous => {
                Refused { kind: Kind::Unproved { challenge: BEARER.to_owned() }, reason: Reason::Anonymous, message }
            }
            _ => Refused::forbidden(self.ceiling, Reason::Right, message),
        }
    }

    /// The refusal that names a right that is missing. Whoever has shown nothing is asked to, unless nobody may do it here.
    pub fn missing(&self, right: Right, to: &str) -> Refused {
        if !self.rights.is_below_ceiling(right) {
            let message = format!("nobody has the right {right} at this listener, which allows {}", self.ceiling);
            return Refused::forbidden(right, Reason::Listener, message);
        }
        if self.who.how == How::Anonymous {
            return self.refused(format!("this needs the right {right} to {to}, which anonymous clients do not have"));
        }
        let message = format!("this needs the right {right} to {to}, which {} does not have", self.who);
        Refused::forbidden(right, Reason::Right, message)
    }
}
