//! A certificate with its key, and the authorities of clients, read from files and held against each other.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
    version::{TLS12, TLS13},
};
use sample::Timestamp;

use super::shown::{at, not_after, not_before, parsed};
use crate::listener::{ClientCertificate, ClientCertificates, Tls};

/// The only protocol that is spoken in TLS here.
const HTTP: &[u8] = b"http/1.1";

/// No file of certificates, keys or lists is longer: a list of a hundred thousand revoked ones is 4 MB.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// The bytes of all files, as they were read together.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct CertificateFiles {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authorities: Vec<u8>,
    revoked: Vec<u8>,
}

impl CertificateFiles {
    pub(super) fn read(tls: &Tls) -> Result<CertificateFiles, String> {
        let clients = tls.clients.as_ref();
        let of_clients = |path: Option<&PathBuf>| path.map_or(Ok(Vec::new()), |path| read(path));
        Ok(CertificateFiles {
            certificate: read(&tls.certificate)?,
            key: read(&tls.key)?,
            authorities: of_clients(clients.map(|clients| &clients.authorities))?,
            revoked: of_clients(clients.and_then(|clients| clients.revoked.as_ref()))?,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: io::Error| format!("{} cannot be read: {error}", path.display());
    let bytes = fs::metadata(path).map_err(cannot)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(format!("{} has {bytes} bytes, which no certificate has", path.display()));
    }
    fs::read(path).map_err(cannot)
}

/// What a connection is answered with, and until when that holds.
pub(super) struct Usable {
    pub(super) config: Arc<ServerConfig>,
    pub(super) not_after: Timestamp,
    /// When the first of the lists of revoked certificates should have been replaced.
    pub(super) lists_until: Option<Timestamp>,
}

/// Whether a certificate that has expired is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpiryRule {
    /// It is better than none.
    Taken,
    Refused,
}

/// What the files are good for, or what is wrong with them.
pub(super) fn usable(
    tls: &Tls,
    files: &CertificateFiles,
    now: Timestamp,
    expired: ExpiryRule,
) -> Result<Usable, String> {
    let provider = Arc::new(ring::default_provider());
    let path = tls.certificate.display();
    let chain = certificates(&tls.certificate, &files.certificate)?;
    let not_after = checked(&chain, now, expired).map_err(|wrong| format!("{path}: {wrong}"))?;
    let key = PrivateKeyDer::from_pem_slice(&files.key)
        .map_err(|error| format!("{} holds no private key in PEM: {error}", tls.key.display()))?;
    let certified = CertifiedKey::from_der(chain, key, &provider).map_err(|error| {
        format!("{} and {} do not fit each other: {error}", tls.certificate.display(), tls.key.display())
    })?;
    let (verifier, lists_until) = match &tls.clients {
        None => (WebPkiClientVerifier::no_client_auth(), None),
        Some(clients) => verifier(clients, files, &provider)?,
    };
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13, &TLS12]);
    let builder = builder.map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let resolver = Arc::new(SingleCertAndKey::from(certified));
    let mut config = builder.with_client_cert_verifier(verifier).with_cert_resolver(resolver);
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(Usable { config: Arc::new(config), not_after, lists_until })
}

fn certificates(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    match read {
        Ok(certificates) if certificates.is_empty() => Err(format!("{} holds no certificate in PEM", path.display())),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(format!("{} is no file of certificates in PEM: {error}", path.display())),
    }
}

/// Until when a chain holds, if each certificate in it is signed by the next and it is their time.
fn checked(chain: &[CertificateDer<'_>], now: Timestamp, expired: ExpiryRule) -> Result<Timestamp, String> {
    let parsed: Option<Vec<_>> = chain.iter().map(|certificate| parsed(certificate)).collect();
    let parsed = parsed.ok_or("a certificate cannot be read")?;
    for (certificate, issuer) in parsed.iter().zip(parsed.iter().skip(1)) {
        if certificate.verify_signature(Some(issuer.public_key())).is_err() {
            let (subject, issuer) = (certificate.subject(), issuer.subject());
            return Err(format!(
                "the certificates are no chain: {issuer}, which stands behind {subject}, has not signed it"
            ));
        }
    }
    let until = parsed.iter().map(not_after).min().ok_or("there is no certificate")?;
    if let Some(early) = parsed.iter().map(not_before).find(|from| *from > now) {
        return Err(format!("it does not hold before {early}"));
    }
    if until <= now && expired == ExpiryRule::Refused {
        return Err(format!("it has expired at {until}"));
    }
    Ok(until)
}

type Verifier = (Arc<dyn ClientCertVerifier>, Option<Timestamp>);

/// What decides upon certificates of clients, and until when its lists hold.
fn verifier(
    clients: &ClientCertificates,
    files: &CertificateFiles,
    provider: &Arc<CryptoProvider>,
) -> Result<Verifier, String> {
    let path = clients.authorities.display();
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&clients.authorities, &files.authorities)? {
        roots.add(certificate).map_err(|error| format!("{path} holds what is no authority: {error}"))?;
    }
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let mut until = None;
    if let Some(path) = &clients.revoked {
        let wrong = |what: &dyn std::fmt::Display| {
            format!("{} is no list of revoked certificates in PEM: {what}", path.display())
        };
        let lists: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(&files.revoked).collect();
        let lists = lists.map_err(|error| wrong(&error))?;
        if lists.is_empty() {
            return Err(wrong(&"it is empty"));
        }
        for list in &lists {
            let (_, list) = x509_parser::parse_x509_crl(list).map_err(|error| wrong(&error))?;
            let next = list.next_update().map(|time| at(time.timestamp()));
            until = until.into_iter().chain(next).min();
        }
        builder = builder.with_crls(lists);
    }
    if clients.certificate == ClientCertificate::Optional {
        builder = builder.allow_unauthenticated();
    }
    let verifier = builder.build().map_err(|error| format!("{path} cannot be used: {error}"))?;
    Ok((verifier, until))
}
