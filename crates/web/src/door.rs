//! A door: a listener while the server runs, with what it lets in.

use std::{fmt, sync::Arc};

use archive::Right;
use axum::http::HeaderValue;
use sample::Timestamp;

use crate::{
    host::{Hosts, Scheme},
    listener::{ClientName, Listener, Site, Tls},
    tls::{certificates::Certificates, handshakes::Handshakes},
};

/// TLS of a door.
pub(crate) struct Lock {
    pub(crate) certificates: Certificates,
    pub(crate) handshakes: Handshakes,
    /// By which of the names in their certificates clients are known.
    pub(crate) counts: ClientName,
}

/// A listener while the server runs.
pub(crate) struct Door {
    /// Where it is, as the audit and the log say it.
    pub(crate) name: Box<str>,
    /// The most that anybody may do there.
    pub(crate) rights: Right,
    /// By which names it may be asked for.
    pub(crate) hosts: Hosts,
    pub(crate) lock: Option<Lock>,
    sites: Vec<Site>,
}

impl Door {
    /// `name` is where it listens indeed, `url` that by which clients of the Appliance are told to come.
    pub(crate) fn new(listener: Listener, name: String, url: Option<&str>, now: Timestamp) -> Door {
        let lock = |tls: Tls| Lock {
            counts: tls.clients.as_ref().map(|clients| clients.name).unwrap_or_default(),
            certificates: Certificates::new(tls, now),
            handshakes: Handshakes::new(),
        };
        Door {
            name: name.into(),
            rights: listener.rights,
            hosts: Hosts::new(&listener.hosts, url),
            lock: listener.tls.map(lock),
            sites: listener.sites,
        }
    }

    /// By which scheme the URLs of its own pages begin, as far as that is known: before one without TLS there may be a proxy with it.
    pub(crate) fn scheme(&self) -> Option<Scheme> {
        self.lock.as_ref().map(|_| Scheme::Https)
    }

    /// The site of a page that asks, if it may read here.
    pub(crate) fn site(&self, origin: Option<&HeaderValue>) -> Option<HeaderValue> {
        let origin = origin?;
        let text = origin.to_str().ok()?;
        self.sites.iter().any(|site| site.as_str() == text).then(|| origin.clone())
    }

    /// Whether answers depend on the site of the page that asks.
    pub(crate) fn has_sites(&self) -> bool {
        !self.sites.is_empty()
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Door({} for {})", self.name, self.rights)
    }
}

/// All doors.
#[derive(Debug)]
pub(crate) struct Doors(pub(crate) Vec<Arc<Door>>);

impl Doors {
    fn locks(&self) -> impl Iterator<Item = &Lock> {
        self.0.iter().filter_map(|door| door.lock.as_ref())
    }

    /// What is wrong with them, in sentences for an operator.
    pub(crate) fn problems(&self, now: Timestamp) -> Vec<String> {
        self.locks().flat_map(|lock| lock.certificates.problems(now)).collect()
    }

    /// Looks at the files of their certificates. Reads files. Whether that is done, and not left to others who look at some of them already.
    pub(crate) fn look(&self, now: Timestamp) -> bool {
        self.locks().filter(|lock| !lock.certificates.look(now)).count() == 0
    }

    /// The files of certificates, and until when what is used of each holds.
    pub(crate) fn certificates(&self) -> Vec<(String, Option<Timestamp>)> {
        self.locks().map(|lock| lock.certificates.holds_until()).collect()
    }
}
