//! `listen`, `[[listener]]` and the socket of `[access]`: where the archiver listens, and what anybody may do there at most.

use std::{net::SocketAddr, path::PathBuf};

use archive::Right;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::Spanned;

use super::{Host, policies::Mistake};

/// The listeners as they are written, each with its place in the file.
pub(crate) type ListenerTables = Vec<Spanned<ListenerFile>>;

checked_text!(Address(SocketAddr), "ADDR:PORT like \"0.0.0.0:17665\"", |text| text.parse().ok());
checked_text!(RightName(Right), "\"read\", \"operate\" or \"administer\"", Right::from_name);
checked_text!(SiteName(web::Site), "a site like \"https://viewer.lab.example\", without a path", web::Site::new);

/// A listener as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListenerFile {
    /// Where it listens.
    address: Address,
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
    client_certificate: Option<CertificateWish>,
    /// Which of the names in them counts.
    client_name: Option<CertificateName>,
    /// Lists of certificates that were revoked, one of each of those authorities.
    crl: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum CertificateName {
    #[serde(rename = "CN")]
    Common,
    #[serde(rename = "SAN")]
    Alternative,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CertificateWish {
    Optional,
    Required,
}

/// Why the archiver does not listen as it is told.
pub(super) enum Wrong {
    /// It would be open to the network, and nothing says what clients may do.
    Open(SocketAddr),
    /// There is `listen`, and there are listeners.
    Both,
}

/// Where to listen: at the address of the command line or of `listen`, or where the listeners say; and at the socket of who administers
/// the machine.
pub(super) fn listeners(
    listen: Option<SocketAddr>,
    hosts: Vec<Host>,
    listeners: Vec<web::Listener>,
    access: Option<&access::Config>,
) -> Result<Vec<web::Listener>, Wrong> {
    let mut listeners = match listen {
        Some(_) if !listeners.is_empty() => return Err(Wrong::Both),
        None if !listeners.is_empty() => listeners,
        address => vec![web::Listener::new(web::At::Address(address.unwrap_or(super::LISTEN)))],
    };
    let hosts: Vec<_> = hosts.into_iter().map(|host| host.0).collect();
    for listener in &mut listeners {
        listener.hosts.extend(hosts.iter().cloned());
        let web::At::Address(address) = listener.at else { continue };
        if access.is_none() && !address.ip().is_loopback() {
            return Err(Wrong::Open(address));
        }
    }
    let socket = access.and_then(|access| access.socket.clone());
    listeners.extend(socket.map(|socket| web::Listener::new(web::At::Socket(socket))));
    Ok(listeners)
}

/// The listeners of the file.
pub(super) fn all(tables: ListenerTables) -> Result<Vec<web::Listener>, Mistake> {
    tables.into_iter().map(listener).collect()
}

fn listener(table: Spanned<ListenerFile>) -> Result<web::Listener, Mistake> {
    let offset = table.span().start;
    let wrong = |wrong: &str| Mistake { offset, wrong: format!("this [[listener]] is not right: {wrong}") };
    let ListenerFile { address, rights, hosts, origins, tls } = table.into_inner();
    let at = web::At::Address(address.0);
    let tls = tls.map(|tls| tls.checked()).transpose().map_err(wrong)?;
    let hosts = hosts.into_iter().map(|host| host.0).collect();
    Ok(web::Listener { at, rights: rights.0, hosts, sites: origins.into_iter().map(|site| site.0).collect(), tls })
}

impl TlsFile {
    fn checked(self) -> Result<web::Tls, &'static str> {
        let TlsFile { certificate, key, client_ca, client_certificate, client_name, crl } = self;
        let clients = match client_ca {
            Some(authorities) => {
                let certificate = match client_certificate {
                    Some(CertificateWish::Required) => web::ClientCertificate::Required,
                    Some(CertificateWish::Optional) | None => web::ClientCertificate::Optional,
                };
                let name = match client_name {
                    Some(CertificateName::Alternative) => web::ClientName::Alternative,
                    Some(CertificateName::Common) | None => web::ClientName::Common,
                };
                Some(web::ClientCertificates { authorities, revoked: crl, certificate, name })
            }
            None if client_certificate.is_some() || client_name.is_some() || crl.is_some() => {
                return Err(
                    "client_certificate, client_name and crl need client_ca, which says whose certificates are meant",
                );
            }
            None => None,
        };
        Ok(web::Tls { certificate, key, clients })
    }
}
