//! The key file that nodes share, and how two of them prove to each other that they have it: TLS 1.3 in which either side shows the public
//! half of one Ed25519 key, made of the file, as a raw public key (RFC 7250), and signs with the private half.
//!
//! Nothing here is of our own making but the derivation: TLS keeps what is said secret and whole, gives each connection keys of its own,
//! and lets nobody play it back. There are no names, authorities and dates that an operator would have to look after.

use std::{
    fmt, fs,
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use ring::{
    hkdf,
    rand::{SecureRandom, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair},
};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
    client::{
        AlwaysResolvesClientRawPublicKeys,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring as provider, verify_tls13_signature_with_raw_key},
    pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime},
    server::{
        AlwaysResolvesServerRawPublicKeys,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
    sign::CertifiedKey,
    version::TLS13,
};

/// So many bytes a key has at least: whoever connects learns the public half, and could try short keys one by one.
const BYTES_MIN: usize = 32;
/// And at most: it is no log file that was named by mistake.
const BYTES_MAX: u64 = 4096;
/// So many different bytes it has at least: less is a word, or a line of zeros.
const DIFFERENT_MIN: usize = 8;
/// Nobody but its owner may read it.
const OTHERS: u32 = 0o077;

/// What both formats of an Ed25519 key begin with (RFC 8410).
const PRIVATE_HEAD: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const PUBLIC_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// The key of nodes that belong together.
#[derive(Clone)]
pub struct Key {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
}

/// Why a key file cannot be used.
#[derive(Debug)]
pub struct KeyError {
    file: PathBuf,
    why: String,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key file {} cannot be used: {}", self.file.display(), self.why)
    }
}

impl std::error::Error for KeyError {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Reads the file. White space around the key does not count.
    pub fn read(file: &Path) -> Result<Key, KeyError> {
        let wrong = |why: String| KeyError { file: file.to_owned(), why };
        let io = |error: io::Error| wrong(error.to_string());
        let opened = fs::File::open(file).map_err(io)?;
        if opened.metadata().map_err(io)?.permissions().mode() & OTHERS != 0 {
            return Err(wrong("others than its owner may read it; chmod 600 it".to_owned()));
        }
        let mut bytes = Vec::new();
        opened.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(wrong(format!("it has more than {BYTES_MAX} bytes")));
        }
        Key::of(&bytes).map_err(wrong)
    }

    /// The key that these bytes stand for.
    pub fn of(bytes: &[u8]) -> Result<Key, String> {
        let bytes = bytes.trim_ascii();
        let mut different = bytes.to_vec();
        different.sort_unstable();
        different.dedup();
        if bytes.len() < BYTES_MIN || different.len() < DIFFERENT_MIN {
            return Err(format!(
                "a key has at least {BYTES_MIN} characters that nobody can guess; `openssl rand -hex 32` makes one"
            ));
        }
        Key::derived(bytes).ok_or_else(|| "no key could be made of it".to_owned())
    }

    fn derived(bytes: &[u8]) -> Option<Key> {
        let mut seed = [0; 32];
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"pvark nodes");
        salt.extract(bytes).expand(&[b"ed25519 1"], hkdf::HKDF_SHA256).ok()?.fill(&mut seed).ok()?;
        let public = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?.public_key().as_ref().to_vec();
        let public: Vec<u8> = PUBLIC_HEAD.into_iter().chain(public).collect();
        let private: Vec<u8> = PRIVATE_HEAD.into_iter().chain(seed).collect();
        let private = provider::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(private)).ok()?;
        let shown = Arc::new(CertifiedKey::new(vec![CertificateDer::from(public.clone())], private));
        let crypto = Arc::new(provider::default_provider());
        let same = Arc::new(Same { public, crypto: Arc::clone(&crypto) });
        let client = ClientConfig::builder_with_provider(Arc::clone(&crypto))
            .with_protocol_versions(&[&TLS13])
            .ok()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&same) as Arc<dyn ServerCertVerifier>)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&shown))));
        let server = ServerConfig::builder_with_provider(crypto)
            .with_protocol_versions(&[&TLS13])
            .ok()?
            .with_client_cert_verifier(same)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(shown)));
        Some(Key { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// A number for a run of the program, by which a node that was told to ask itself notices it; none on a machine without random numbers.
pub fn new_run() -> Option<u64> {
    let mut run = [0; 8];
    SystemRandom::new().fill(&mut run).ok()?;
    Some(u64::from_le_bytes(run))
}

/// Lets in who shows the same public key and has signed the handshake with its private half.
#[derive(Debug)]
struct Same {
    public: Vec<u8>,
    crypto: Arc<CryptoProvider>,
}

impl Same {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        if shown.as_ref() == self.public {
            return Ok(());
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn signed(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check(shown)?;
        let public = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &public, signature, &self.crypto.signature_verification_algorithms)
    }

    /// TLS 1.2 is not spoken.
    fn never() -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken between nodes".to_owned()))
    }
}

impl ServerCertVerifier for Same {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Same::never()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Same {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Same::never()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_can_be_guessed_or_read_by_others_is_refused() {
        for weak in ["", "secret", &"0".repeat(64), &"01".repeat(32)] {
            assert!(Key::of(weak.as_bytes()).is_err_and(|why| why.contains("openssl rand -hex 32")), "{weak:?}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        fs::write(&file, "  0123456789abcdef0123456789abcdef\n").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("its owner may");
        let error = Key::read(&file).expect_err("others may read it").to_string();
        assert!(error.contains("chmod 600") && error.contains("key"), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its owner may");
        Key::read(&file).expect("it is a key");
        fs::write(&file, "x".repeat(5000)).expect("a file");
        assert!(Key::read(&file).expect_err("it is too long").to_string().contains("more than 4096"));
        let missing = Key::read(&folder.path().join("none")).expect_err("there is none").to_string();
        assert!(missing.contains("none cannot be used"), "{missing}");
    }
}
