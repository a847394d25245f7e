//! TLS of an LDAP server: by which cryptography, and whom to trust if the machine does not know it.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Lets TLS be spoken by ring where a library asks for no provider in particular: where another crate brings a second one, it could not
/// choose, and would panic. Whoever has chosen before is left alone.
pub(crate) fn choose_provider() {
    drop(default_provider().install_default());
}

/// Trusts whoever is signed by the certificates of a file, and nobody else.
pub(crate) fn trusting(path: &Path) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("it has no certificate in PEM".to_owned());
    }
    let config =
        ClientConfig::builder_with_provider(Arc::new(default_provider())).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
