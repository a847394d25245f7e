//! The OpenID provider: what it says of itself, and the keys by which it signs, as far as they were fetched.
//!
//! Nothing is fetched before it is needed, so that the archiver starts while the provider is away; and what was fetched is good for
//! a day, so that what it signed goes on being believed.

use std::{
    fmt,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use jsonwebtoken::{
    DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse},
};
use sample::Timestamp;
use serde::Deserialize;

use crate::{
    config::{Algorithm, Oidc, is_safe_url},
    http::Http,
};

/// Keys are fetched anew after this, so that one that was withdrawn is not believed for ever.
const FRESH_FOR: Duration = Duration::from_secs(3600);
/// Keys that cannot be fetched anew are believed so long.
const GOOD_FOR: Duration = Duration::from_secs(24 * 3600);
/// Nobody makes us fetch more often, whatever they send.
const FETCHES_APART: Duration = Duration::from_secs(30);
/// More threads than this do not wait for one fetch.
const WAITING_MAX: usize = 8;
/// A provider has a handful of keys.
const KEYS_MAX: usize = 100;

/// What a provider says of itself.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Discovery {
    issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) userinfo_endpoint: Option<String>,
    jwks_uri: String,
    /// Whether it says in a callback who it is.
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

#[derive(Deserialize)]
struct Keys {
    keys: Vec<serde_json::Value>,
}

/// A key that signs.
pub(crate) struct Key {
    id: Option<String>,
    /// What it says that it is for.
    algorithm: Option<String>,
    kind: Kind,
    pub(crate) key: DecodingKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl Key {
    /// None of one that signs nothing, or nothing that is checked here.
    fn of(value: serde_json::Value) -> Option<Key> {
        let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
        let kind = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => Kind::Rsa,
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Kind::P256,
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => Kind::P384,
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Kind::Ed25519,
            _ => return None,
        };
        let verifies = |operations: &Vec<KeyOperations>| operations.contains(&KeyOperations::Verify);
        let signs = match &jwk.common.public_key_use {
            Some(usage) => *usage == PublicKeyUse::Signature,
            None => jwk.common.key_operations.as_ref().is_none_or(verifies),
        };
        if !signs {
            return None;
        }
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        let algorithm = value.get("alg").and_then(|name| name.as_str()).map(str::to_owned);
        Some(Key { id: jwk.common.key_id, algorithm, kind, key })
    }

    /// Whether it may have signed in a way.
    fn is_for(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        let kind = match algorithm {
            Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512 => Kind::Rsa,
            Es256 => Kind::P256,
            Es384 => Kind::P384,
            EdDsa => Kind::Ed25519,
        };
        kind == self.kind && self.algorithm.as_deref().is_none_or(|name| name == algorithm.name())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.id, self.kind)
    }
}

/// What was fetched.
#[derive(Debug)]
struct Known {
    discovery: Arc<Discovery>,
    keys: Arc<[Key]>,
    at: Timestamp,
}

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// The provider has none of that id, or none that signs so.
    Unknown,
    /// The provider cannot be asked.
    Away,
}

/// The provider.
#[derive(Debug)]
pub(crate) struct Provider {
    // fixed after start
    pub(crate) config: Oidc,
    pub(crate) http: Http,
    /// The secret of the client, if it has one.
    pub(crate) secret: Option<Secret>,
    // each guarded by its lock
    known: RwLock<Option<Known>>,
    /// When somebody last tried to fetch; held by whoever does.
    fetched: Mutex<Option<Timestamp>>,
    waiting: AtomicUsize,
}

/// What nobody sees in a log.
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret")
    }
}

impl Provider {
    /// Reads the files that the config names. Nothing is asked yet.
    pub(crate) fn new(config: Oidc) -> Result<Provider, String> {
        let http = Http::new(config.ca.as_deref()).map_err(|error| format!("[access.oidc] {error}"))?;
        let read = |path: &std::path::PathBuf| {
            let text = std::fs::read_to_string(path);
            let wrong = |error| format!("[access.oidc] client_secret_file = {path:?} cannot be read: {error}");
            text.map(|text| Secret(text.trim().to_owned())).map_err(wrong)
        };
        let secret = config.client_secret_file.as_ref().map(read).transpose()?;
        let (known, fetched, waiting) = (RwLock::default(), Mutex::default(), AtomicUsize::new(0));
        Ok(Provider { config, http, secret, known, fetched, waiting })
    }

    /// What the provider says of itself.
    pub(crate) fn discovery(&self, now: Timestamp) -> Result<Arc<Discovery>, NoKey> {
        let find = |known: &Known| Some(Arc::clone(&known.discovery));
        self.find(now, find)
    }

    /// The keys, as they are known or can be fetched, and which of them may have signed.
    pub(crate) fn key(&self, id: Option<&str>, algorithm: Algorithm, now: Timestamp) -> Result<Signer, NoKey> {
        self.find(now, |known| {
            let fits = |key: &&Key| key.is_for(algorithm) && (id.is_none() || key.id.as_deref() == id);
            let mut fitting = known.keys.iter().enumerate().filter(|(_, key)| fits(key));
            match (fitting.next(), fitting.next()) {
                (Some((index, _)), None) => Some(Signer { keys: Arc::clone(&known.keys), index }),
                _ => None, // of several without an id nobody knows which
            }
        })
    }

    /// Finds something in what is known, after a fetch if that is old or does not have it, and if there was none just before.
    fn find<T>(&self, now: Timestamp, find: impl Fn(&Known) -> Option<T>) -> Result<T, NoKey> {
        let look = |for_long: Duration| {
            let known = self.known.read().expect("no holder of this lock panics");
            known.as_ref().filter(|known| now < known.at.saturating_add(for_long)).and_then(&find)
        };
        if let Some(found) = look(FRESH_FOR) {
            return Ok(found);
        }
        let last = self.fetch(now)?;
        let known = self.known.read().expect("no holder of this lock panics");
        // If the last fetch came to nothing, nobody knows what there is by now.
        let is_told = known.as_ref().is_some_and(|known| known.at >= last);
        drop(known);
        look(GOOD_FOR).ok_or(if is_told { NoKey::Unknown } else { NoKey::Away })
    }

    /// Fetches once, for all who wait for it. Gives when somebody last tried.
    fn fetch(&self, now: Timestamp) -> Result<Timestamp, NoKey> {
        let _one = Waiting::new(&self.waiting).ok_or(NoKey::Away)?;
        let mut fetched = self.fetched.lock().expect("no holder of this lock panics");
        // A clock that was set back is no reason to wait for it.
        let is_new = |last: Timestamp| last <= now && now < last.saturating_add(FETCHES_APART);
        if let Some(last) = fetched.filter(|last| is_new(*last)) {
            return Ok(last);
        }
        *fetched = Some(now);
        match self.fetch_now() {
            Ok((discovery, keys)) => {
                let known = Known { discovery: Arc::new(discovery), keys: keys.into(), at: now };
                *self.known.write().expect("no holder of this lock panics") = Some(known);
            }
            Err(error) => tracing::warn!("the OpenID provider {} cannot be asked: {error}", self.config.issuer),
        }
        Ok(now)
    }

    fn fetch_now(&self) -> Result<(Discovery, Vec<Key>), String> {
        let issuer = &self.config.issuer;
        let body =
            self.http.get(&format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')), None)?;
        let discovery: Discovery = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        if discovery.issuer != *issuer {
            return Err(format!("it calls itself {:?}, and issuer in the config is {issuer:?}", discovery.issuer));
        }
        let endpoints = [&discovery.authorization_endpoint, &discovery.token_endpoint, &discovery.userinfo_endpoint];
        for url in endpoints.into_iter().flatten().chain([&discovery.jwks_uri]) {
            is_safe_url(url).map_err(|()| format!("its URL {url:?} could be overheard"))?;
        }
        let keys: Keys =
            serde_json::from_slice(&self.http.get(&discovery.jwks_uri, None)?).map_err(|error| error.to_string())?;
        if keys.keys.len() > KEYS_MAX {
            return Err(format!("it has {} keys, at most {KEYS_MAX} are possible", keys.keys.len()));
        }
        Ok((discovery, keys.keys.into_iter().filter_map(Key::of).collect()))
    }
}

/// A key among those that were known when it was found.
#[derive(Debug)]
pub(crate) struct Signer {
    keys: Arc<[Key]>,
    index: usize,
}

impl Signer {
    pub(crate) fn key(&self) -> &DecodingKey {
        &self.keys[self.index].key
    }
}

/// One of those who wait.
struct Waiting<'a>(&'a AtomicUsize);

impl Waiting<'_> {
    /// None if too many do.
    fn new(waiting: &AtomicUsize) -> Option<Waiting<'_>> {
        let one = Waiting(waiting);
        (waiting.fetch_add(1, SeqCst) < WAITING_MAX).then_some(one)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
