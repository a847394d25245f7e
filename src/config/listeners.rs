//! `listen`, `[[listener]]` and what `[access]` says of anonymous clients: where the archiver listens, and who may do what there at most.

use std::{net::SocketAddr, path::PathBuf};

use archive::Right;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::Spanned;

use super::{Host, policies::Mistake};

/// The listeners as they are written, each with its place in the file.
pub(crate) type ListenerTables = Vec<Spanned<ListenerFile>>;

checked_text!(Address(SocketAddr), "ADDR:PORT like \"0.0.0.0:17665\"", |text| text.parse().ok());
checked_text!(RightName(Right), "\"read\", \"operate\" or \"administer\"", Right::from_name);
checked_text!(SiteName(serve::Site), "a site like \"https://viewer.lab.example\", without a path", serve::Site::new);

/// A listener as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListenerFile {
    /// Where it listens; this or `socket`.
    address: Option<Address>,
    /// A file that is to be a socket, which only the archiver's user may open; this or `address`.
    socket: Option<PathBuf>,
    /// The most that anybody may do there.
    #[serde(default = "everything")]
    rights: RightName,
    /// By which names clients come, besides addresses, `localhost` and the names of this machine.
    #[serde(default)]
    hosts: Vec<Host>,
    /// Sites whose pages may read, with what shows who their users are.
    #[serde(default)]
    origins: Vec<SiteName>,
    /// TLS; without it everything is sent as it is.
    tls: Option<TlsFile>,
}

fn everything() -> RightName {
    RightName(Right::Administer)
}

/// TLS as it is written: files in PEM, which may be replaced while the archiver runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsFile {
    /// The certificate, and behind it those that lead to its authority.
    certificate: PathBuf,
    /// Its private key.
    key: PathBuf,
    /// The authorities whose certificates clients may show.
    client_ca: Option<PathBuf>,
    /// Whether clients must show one.
    client_certificate: Option<ClientCertificate>,
    /// Lists of certificates that were revoked, one of each of those authorities.
    crl: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ClientCertificate {
    Optional,
    Required,
}

/// What may be done by whom.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessFile {
    /// What clients may do who have not shown who they are.
    anonymous: RightName,
}

/// Why the archiver does not listen as it is told.
pub(super) enum Wrong {
    /// It would be open to the network, and nothing says what clients may do.
    Open(SocketAddr),
    /// There is `listen`, and there are listeners.
    Both,
}

/// Where to listen: at the address of the command line or of `listen`, or where the listeners say.
pub(super) fn listeners(
    listen: Option<SocketAddr>,
    hosts: Vec<Host>,
    listeners: Vec<serve::Listener>,
    access: Option<&AccessFile>,
) -> Result<Vec<serve::Listener>, Wrong> {
    let mut listeners = match listen {
        Some(_) if !listeners.is_empty() => return Err(Wrong::Both),
        None if !listeners.is_empty() => listeners,
        address => vec![serve::Listener::new(serve::At::Address(address.unwrap_or(super::LISTEN)))],
    };
    let hosts: Vec<_> = hosts.into_iter().map(|host| host.0).collect();
    for listener in &mut listeners {
        listener.hosts.extend(hosts.iter().cloned());
        let serve::At::Address(address) = listener.at else { continue };
        match access {
            None if !address.ip().is_loopback() => return Err(Wrong::Open(address)),
            None => {}
            // Nobody can show who he is yet, so this is what all may do.
            Some(AccessFile { anonymous }) => listener.rights = listener.rights.min(anonymous.0),
        }
    }
    Ok(listeners)
}

/// The listeners of the file.
pub(super) fn all(tables: ListenerTables) -> Result<Vec<serve::Listener>, Mistake> {
    let first = tables.first().map(|table| table.span().start);
    let listeners = tables.into_iter().map(listener).collect::<Result<Vec<_>, _>>()?;
    let has_address = listeners.iter().any(|listener| matches!(listener.at, serve::At::Address(_)));
    match first {
        Some(offset) if !has_address => {
            Err(Mistake { offset, wrong: "one [[listener]] must have an address".to_owned() })
        }
        _ => Ok(listeners),
    }
}

fn listener(table: Spanned<ListenerFile>) -> Result<serve::Listener, Mistake> {
    let offset = table.span().start;
    let wrong = |wrong: &str| Mistake { offset, wrong: format!("this [[listener]] is not right: {wrong}") };
    let ListenerFile { address, socket, rights, hosts, origins, tls } = table.into_inner();
    let at = match (address, socket) {
        (Some(address), None) => serve::At::Address(address.0),
        (None, Some(_)) if tls.is_some() => return Err(wrong("a socket of this machine has no TLS")),
        (None, Some(socket)) => serve::At::Socket(socket),
        (Some(_), Some(_)) => return Err(wrong("it has an address and a socket; make two of it")),
        (None, None) => return Err(wrong("it has neither an address nor a socket")),
    };
    let tls = tls.map(|tls| tls.checked()).transpose().map_err(wrong)?;
    let hosts = hosts.into_iter().map(|host| host.0).collect();
    Ok(serve::Listener { at, rights: rights.0, hosts, sites: origins.into_iter().map(|site| site.0).collect(), tls })
}

impl TlsFile {
    fn checked(self) -> Result<serve::Tls, &'static str> {
        let TlsFile { certificate, key, client_ca, client_certificate, crl } = self;
        let clients = match client_ca {
            Some(authorities) => {
                let certificate = match client_certificate {
                    Some(ClientCertificate::Required) => serve::ClientCertificate::Required,
                    Some(ClientCertificate::Optional) | None => serve::ClientCertificate::Optional,
                };
                Some(serve::Clients { authorities, revoked: crl, certificate })
            }
            None if client_certificate.is_some() || crl.is_some() => {
                return Err("client_certificate and crl need client_ca, which says whose certificates are meant");
            }
            None => None,
        };
        Ok(serve::Tls { certificate, key, clients })
    }
}
