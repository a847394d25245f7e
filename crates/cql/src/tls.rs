//! TLS to the nodes of the database: whom to believe, by which name, and what this node shows of itself.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        ResolvesClientCert, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring::default_provider},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    sign::CertifiedKey,
};

/// Files in PEM, and a name.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The authorities, one of which has signed the certificate of each node of the database.
    pub authorities: PathBuf,
    /// The name that these certificates have in common. Without it each must be for the address at which its node is reached.
    pub name: Option<String>,
    /// A certificate and its key, for a database that asks for one. They may be replaced while the node runs.
    pub client: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// What connections are made by; or what is wrong, and with which file.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let provider = Arc::new(default_provider());
        let wrong = |path: &Path, why: String| format!("{}: {why}", path.display());
        let roots = roots(&self.authorities).map_err(|why| wrong(&self.authorities, why))?;
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let verifier = verifier.map_err(|error| wrong(&self.authorities, error.to_string()))?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = match &self.name {
            None => builder.with_webpki_verifier(verifier),
            Some(name) => {
                let given = ServerName::try_from(name.clone());
                let name = given.map_err(|_| format!("{name:?} cannot be the name in a certificate"))?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(OfOneName { name, verifier }))
            }
        };
        Ok(Arc::new(match &self.client {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let own = own(&provider, certificate, key)?;
                let newest = Mutex::new(Arc::new(own));
                let files = (certificate.clone(), key.clone());
                builder.with_client_cert_resolver(Arc::new(Shown { provider, files, newest }))
            }
        }))
    }
}

fn roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("it has no certificate in PEM".to_owned());
    }
    Ok(roots)
}

fn own(provider: &CryptoProvider, certificate: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let read = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain: Vec<CertificateDer<'static>> = read.map_err(|error| format!("{}: {error}", certificate.display()))?;
    let read = PrivateKeyDer::from_pem_file(key).map_err(|error| format!("{}: {error}", key.display()))?;
    CertifiedKey::from_der(chain, read, provider)
        .map_err(|error| format!("{} and {}: {error}", certificate.display(), key.display()))
}

/// Believes certificates that are for one name, whatever the address is at which who shows them is reached: the driver knows nodes by
/// their addresses alone, and few certificates are for these.
#[derive(Debug)]
struct OfOneName {
    name: ServerName<'static>,
    verifier: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for OfOneName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _address: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier.verify_server_cert(end_entity, intermediates, &self.name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Shows the certificate that lies in its file when a connection is made.
#[derive(Debug)]
struct Shown {
    provider: Arc<CryptoProvider>,
    files: (PathBuf, PathBuf),
    /// The newest pair that could be read. It is shown while the files cannot be read, or do not fit together because they are being replaced.
    newest: Mutex<Arc<CertifiedKey>>,
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(read) = own(&self.provider, &self.files.0, &self.files.1) {
            *newest = Arc::new(read);
        }
        Some(Arc::clone(&newest))
    }

    fn has_certs(&self) -> bool {
        true
    }
}
