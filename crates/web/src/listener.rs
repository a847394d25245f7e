//! Where the server listens, as the configuration says it: an address or a socket, who may do what there at most, and TLS.

use std::{fmt, net::SocketAddr, path::PathBuf};

use archive::Right;

use crate::host::{Authority, HostName};

/// Where clients come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Over the network. Port 0 takes any free one; `Serve::address` tells which.
    Address(SocketAddr),
    /// By a file that is a socket, which only the user of the archiver may open.
    Socket(PathBuf),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Address(address) => address.fmt(f),
            At::Socket(path) => path.display().fmt(f),
        }
    }
}

/// A site whose pages may read what is recorded, with what the browser has to show who its user is: `https://viewer.lab.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site(String);

impl Site {
    /// The site that the text is, as browsers write it; none if it has a path or is none.
    pub fn new(text: &str) -> Option<Site> {
        let text = text.to_ascii_lowercase();
        let (scheme, authority) = text.split_once("://")?;
        let usual = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => return None,
        };
        Authority::parse(authority)?;
        let authority = authority.strip_suffix(usual).or_else(|| authority.strip_suffix(':')).unwrap_or(authority);
        Some(Site(format!("{scheme}://{authority}")))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether clients show certificates of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificate {
    /// They need not: who has none is known otherwise, or not at all.
    #[default]
    Optional,
    /// Without one there is no connection.
    Required,
}

/// Which name of a client's certificate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientName {
    /// The common name of its subject.
    #[default]
    Common,
    /// The first of its alternative names.
    Alternative,
}

/// The certificates that clients are to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificates {
    /// The authorities that give them out, in PEM.
    pub authorities: PathBuf,
    /// Which of them do not hold any more, in PEM; each authority has a list there.
    pub revoked: Option<PathBuf>,
    /// Whether they must have one.
    pub certificate: ClientCertificate,
    /// By which of its names they are known.
    pub name: ClientName,
}

/// TLS, with files in PEM that may be replaced while the server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate, and behind it those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// What clients are to show. None: they are not asked.
    pub clients: Option<ClientCertificates>,
}

/// One place at which the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where.
    pub at: At,
    /// The most that anybody may do there.
    pub rights: Right,
    /// By which names clients come, besides addresses, `localhost` and the names of the machine.
    pub hosts: Vec<HostName>,
    /// Sites whose pages may read.
    pub sites: Vec<Site>,
    /// None: without TLS.
    pub tls: Option<Tls>,
}

impl Listener {
    /// One at which everything may be done, without TLS.
    pub fn new(at: At) -> Listener {
        Listener { at, rights: Right::Administer, hosts: Vec::new(), sites: Vec::new(), tls: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_written_as_browsers_write_them() {
        let site = |text: &str| Site::new(text).map(|site| site.0);
        for (text, as_sent) in [
            ("https://Viewer.lab.example", "https://viewer.lab.example"),
            ("https://viewer.lab.example:443", "https://viewer.lab.example"),
            ("http://viewer:80", "http://viewer"),
            ("http://viewer:8080", "http://viewer:8080"),
            ("https://[::1]:7", "https://[::1]:7"),
        ] {
            assert_eq!(site(text).as_deref(), Some(as_sent));
        }
        for other in
            ["viewer", "null", "*", "https://", "https://viewer/", "https://a@b", "ftp://viewer", "https://viewer:x"]
        {
            assert_eq!(site(other), None, "{other}");
        }
    }
}
