//! What a client's certificate says: for whom it is, and from when until when.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::net::{Ipv4Addr, Ipv6Addr};

use access::Certificate;
use rustls::pki_types::CertificateDer;
use sample::Timestamp;
use x509_parser::{extensions::GeneralName, prelude::X509Certificate};

use crate::listener::ClientName;

/// The most names of a certificate that are looked at.
const NAMES_MAX: usize = 100;

/// The certificate that a client has shown, of an authority that is trusted; none if it cannot be read. One without the name that
/// counts is nobody's.
pub(crate) fn read(certificate: &CertificateDer<'_>, counts: ClientName) -> Option<Certificate> {
    let certificate = parsed(certificate)?;
    let common_name = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
    let alternatives = certificate.subject_alternative_name().ok()?;
    let names = alternatives.map_or(&[][..], |names| &names.value.general_names);
    let alternative = || names.iter().take(NAMES_MAX).find_map(name);
    let counting = match counts {
        ClientName::Common => common_name.map(Box::from),
        ClientName::Alternative => alternative(),
    };
    Some(Certificate {
        name: counting.unwrap_or_default(),
        not_before: not_before(&certificate),
        not_after: not_after(&certificate),
    })
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
