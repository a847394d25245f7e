//! Presented: what a client shows of who it is, taken out of a request. Nothing of it is believed yet.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::net::IpAddr;

use archive::Right;
use base64::{Engine, prelude::BASE64_STANDARD};
use sample::Timestamp;

use crate::{
    config::Proxy,
    refused::{Reason, Refused},
    sessions::{COOKIE, LOGIN_COOKIE, PLAIN_COOKIE, PLAIN_LOGIN_COOKIE, Transport},
};

/// No credential is longer.
pub(crate) const CREDENTIAL_BYTES_MAX: usize = 16 << 10;
/// A user has no more groups.
const GROUPS_MAX: usize = 1000;

/// From where a request comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Over a network, from an address.
    Network(IpAddr),
    /// By the socket, from a user of this machine, as the kernel says.
    Local {
        /// The number of the user.
        uid: u32,
    },
}

/// A client certificate whose signatures were verified when the connection was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The name in it that counts.
    pub name: Box<str>,
    /// From when on it holds.
    pub not_before: Timestamp,
    /// Until when.
    pub not_after: Timestamp,
}

/// What a request shows.
#[derive(Clone, Debug)]
pub struct Presented<'a> {
    /// From where it comes.
    pub from: From,
    /// How it came.
    pub transport: Transport,
    /// The most that anybody may do at the listener.
    pub ceiling: Right,
    /// All headers in their order, those that come twice too. Their names may be written in any case.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The certificate of the connection.
    pub certificate: Option<&'a Certificate>,
}

/// What a client wants to be known by.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Credential<'a> {
    Certificate(&'a Certificate),
    /// A token, ours or one of the provider.
    Bearer(&'a str),
    Basic {
        user: String,
        password: String,
    },
    /// The word of a session.
    Cookie(&'a str),
    Proxy {
        user: &'a str,
        groups: Vec<&'a str>,
    },
    Nothing,
}

impl<'a> Presented<'a> {
    /// The address, if it came over a network.
    pub fn address(&self) -> Option<IpAddr> {
        match self.from {
            From::Network(address) => Some(address.to_canonical()),
            From::Local { .. } => None,
        }
    }

    /// Whether nobody overhears what comes.
    pub fn is_safe(&self) -> bool {
        self.transport == Transport::Tls || self.address().is_none_or(|address| address.is_loopback())
    }

    /// Whether a browser sends it, which would ask a person for a name and a password if it were told to.
    pub(crate) fn is_of_browser(&self) -> bool {
        let is_sign =
            |(name, _): &(&str, &[u8])| name.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("sec-fetch-"));
        self.headers.iter().any(is_sign)
    }

    /// The values of a header. What some servers and proxies take for the same name is the same.
    fn all(&self, wanted: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers.iter().filter(move |(name, _)| is_same(wanted, name)).map(|(_, value)| *value)
    }

    /// The value of a header that may come once.
    fn one(&self, name: &str) -> Result<Option<&'a str>, Refused> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(doubled(format!("there is more than one {name} in the request"))),
            (Some(value), None) if value.len() > CREDENTIAL_BYTES_MAX => Err(Refused::malformed(
                Reason::Malformed,
                format!("{name} is longer than {CREDENTIAL_BYTES_MAX} bytes"),
            )),
            (Some(value), None) => match std::str::from_utf8(value) {
                Ok(text) => Ok(Some(text.trim())),
                Err(_) => Err(Refused::malformed(Reason::Malformed, format!("{name} is no text"))),
            },
        }
    }

    /// What it shows, in the order of what counts first. Headers of the proxy that come from elsewhere are an error, whatever
    /// else is shown.
    pub(crate) fn credential(&self, proxy: Option<&Proxy>) -> Result<Credential<'a>, Refused> {
        let by_proxy = proxy.map(|proxy| self.by_proxy(proxy)).transpose()?.flatten();
        if let Some(certificate) = self.certificate {
            return Ok(Credential::Certificate(certificate));
        }
        match (self.one("authorization")?, self.one("x-api-key")?) {
            (Some(_), Some(_)) => return Err(doubled("there are both Authorization and X-API-Key in the request")),
            (Some(authorization), None) => return read(authorization),
            (None, Some(key)) => return Ok(Credential::Bearer(key)),
            (None, None) => {}
        }
        if let Some(word) = self.cookie()? {
            return Ok(Credential::Cookie(word));
        }
        Ok(by_proxy.unwrap_or(Credential::Nothing))
    }

    /// What the proxy says, if it says anybody.
    fn by_proxy(&self, proxy: &Proxy) -> Result<Option<Credential<'a>>, Refused> {
        let names = || std::iter::once(&proxy.user).chain(&proxy.groups);
        let is_proxy = self.address().is_some_and(|address| proxy.from.iter().any(|network| network.contains(address)));
        if let Some(name) = names().find(|name| !is_proxy && self.all(name).next().is_some()) {
            let message = format!("{name} is for the proxy to say, and this is not its address");
            return Err(Refused::malformed(Reason::ProxyForeign, message));
        }
        // Some servers take `_` for `-`, and a proxy that sets or drops the header itself passes the other spelling on.
        let is_other = |(sent, _): &&(&str, &[u8])| {
            sent.contains('_') && names().any(|name| is_same(name, sent) && !name.eq_ignore_ascii_case(sent))
        };
        if let Some((sent, _)) = self.headers.iter().find(is_other) {
            let message = format!("{sent:?} is another spelling of a header that is for the proxy to say");
            return Err(Refused::malformed(Reason::ProxyForeign, message));
        }
        let one = |name: &str| {
            self.one(name)
                .map_err(|refused| Refused { reason: Reason::ProxyDoubled, ..refused })
                .map(Option::unwrap_or_default)
        };
        let user = one(&proxy.user)?;
        let groups = proxy.groups.as_deref().map(one).transpose()?.unwrap_or_default();
        let wrong = |message| Err(Refused::malformed(Reason::ProxyDoubled, message));
        if user.contains(',') {
            // So a server joins two headers.
            return wrong(format!("{} holds a comma, as if it had come twice", proxy.user));
        }
        if user.is_empty() && !groups.is_empty() {
            return wrong("there are groups of a user in the request, and no user".to_owned());
        }
        let groups: Vec<&str> = groups.split(',').map(str::trim).filter(|group| !group.is_empty()).collect();
        if groups.len() > GROUPS_MAX {
            return wrong(format!(
                "there are {} groups in the request, at most {GROUPS_MAX} are possible",
                groups.len()
            ));
        }
        Ok((!user.is_empty()).then_some(Credential::Proxy { user, groups }))
    }

    /// The word of the session, under the name that counts for how the request came.
    pub(crate) fn cookie(&self) -> Result<Option<&'a str>, Refused> {
        self.cookie_of(if self.transport == Transport::Tls { COOKIE } else { PLAIN_COOKIE })
    }

    /// The cookie of a login that is under way.
    pub(crate) fn login_cookie(&self) -> Result<Option<&'a str>, Refused> {
        self.cookie_of(if self.transport == Transport::Tls { LOGIN_COOKIE } else { PLAIN_LOGIN_COOKIE })
    }

    fn cookie_of(&self, name: &str) -> Result<Option<&'a str>, Refused> {
        let mut found = None;
        for value in self.all("cookie").filter_map(|value| std::str::from_utf8(value).ok()) {
            let pairs = value.split(';').filter_map(|pair| pair.trim().split_once('='));
            for (_, word) in pairs.filter(|(key, _)| *key == name) {
                if found.replace(word).is_some_and(|other| other != word) {
                    return Err(doubled(format!("there is more than one cookie {name} in the request")));
                }
            }
        }
        let is_here = self.address().is_some_and(|address| address.is_loopback());
        Ok(found.filter(|_| self.transport == Transport::Tls || is_here))
    }
}

/// Whether some servers and proxies take one name of a header for the other.
fn is_same(name: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    name.bytes().map(plain).eq(other.bytes().map(plain))
}

fn doubled(message: impl Into<String>) -> Refused {
    Refused::malformed(Reason::Doubled, message)
}

/// What `Authorization` holds.
fn read(authorization: &str) -> Result<Credential<'_>, Refused> {
    let malformed = |message: &str| Refused::malformed(Reason::Malformed, message);
    let (scheme, rest) = authorization.split_once(' ').unwrap_or((authorization, ""));
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") && !rest.is_empty() {
        return Ok(Credential::Bearer(rest));
    }
    if scheme.eq_ignore_ascii_case("basic") {
        let bytes = BASE64_STANDARD.decode(rest).map_err(|_| malformed("the Basic in Authorization is no base64"))?;
        let text = String::from_utf8(bytes).map_err(|_| malformed("the Basic in Authorization is no text"))?;
        let pair = text.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()));
        let (user, password) = pair.ok_or_else(|| malformed("the Basic in Authorization has no colon"))?;
        return Ok(Credential::Basic { user, password });
    }
    Err(malformed("Authorization is neither Bearer nor Basic"))
}

#[cfg(test)]
mod tests;
