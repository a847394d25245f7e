//! What a client's certificate says: for whom it is, and until when.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::net::{Ipv4Addr, Ipv6Addr};

use rustls::pki_types::CertificateDer;
use sample::Timestamp;
use x509_parser::{extensions::GeneralName, prelude::X509Certificate};

/// The most names of a certificate that are kept.
const NAMES_MAX: usize = 100;

/// A certificate that a client has shown, of an authority that is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// For whom it is; none if it has names alone.
    pub(crate) common_name: Option<Box<str>>,
    /// Its other names: of hosts, mail and URIs as they stand there, and addresses.
    pub(crate) names: Vec<Box<str>>,
    /// From then on it does not hold.
    pub(crate) not_after: Timestamp,
}

impl Shown {
    /// None if it cannot be read.
    pub(crate) fn read(certificate: &CertificateDer<'_>) -> Option<Shown> {
        let certificate = parsed(certificate)?;
        let common_name = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
        let alternatives = certificate.subject_alternative_name().ok()?;
        let names = alternatives.map_or(&[][..], |names| &names.value.general_names);
        Some(Shown {
            common_name: common_name.map(Box::from),
            names: names.iter().filter_map(name).take(NAMES_MAX).collect(),
            not_after: not_after(&certificate),
        })
    }

    /// What it is called in the log.
    pub(crate) fn name(&self) -> &str {
        self.common_name.as_deref().or(self.names.first().map(|name| &**name)).unwrap_or("a certificate without a name")
    }
}

fn name(name: &GeneralName<'_>) -> Option<Box<str>> {
    match name {
        GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => Some((*name).into()),
        GeneralName::IPAddress(bytes) => match **bytes {
            [a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d).to_string().into()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| Ipv6Addr::from(bytes).to_string().into()),
        },
        _ => None,
    }
}

/// A certificate, if all of the bytes are one.
pub(super) fn parsed<'a>(bytes: &'a [u8]) -> Option<X509Certificate<'a>> {
    let (rest, certificate) = x509_parser::parse_x509_certificate(bytes).ok()?;
    rest.is_empty().then_some(certificate)
}

pub(super) fn not_before(certificate: &X509Certificate<'_>) -> Timestamp {
    at(certificate.validity().not_before.timestamp())
}

pub(super) fn not_after(certificate: &X509Certificate<'_>) -> Timestamp {
    at(certificate.validity().not_after.timestamp())
}

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds.saturating_mul(1_000_000_000))
}
