//! JWT: tokens that an OpenID provider has signed. Which of them are for this archiver, and what they say of somebody.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{sync::Arc, time::Duration};

use archive::How;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sample::Timestamp;
use serde_json::{Map, Value};

use crate::{
    config::{Algorithm, Oidc},
    presented::CREDENTIAL_BYTES_MAX,
    provider::{NoKey, Provider},
    who::{NAME_BYTES_MAX, Who},
};

/// So far apart the clocks of a provider and of this machine may be.
const LEEWAY: Duration = Duration::from_secs(60);
/// A user has no more groups.
const GROUPS_MAX: usize = 1000;

/// Why a token does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenFault {
    /// For whom it is, or what it is: a sentence that does not hold any of it.
    Token(&'static str),
    /// The provider cannot be asked.
    Away,
}

impl From<NoKey> for TokenFault {
    fn from(why: NoKey) -> TokenFault {
        match why {
            NoKey::Unknown => TokenFault::Token("the token is signed by no key of the provider"),
            NoKey::Away => TokenFault::Away,
        }
    }
}

/// What a token says, after its signature and its times were found to be right.
#[derive(Clone, Debug)]
pub(crate) struct TokenClaims {
    header: Map<String, Value>,
    claims: Map<String, Value>,
    /// From when on it does not hold any more.
    until: Timestamp,
}

/// Somebody, as a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) who: Who,
    pub(crate) groups: Arc<[Box<str>]>,
    /// From when on the token does not hold any more.
    pub(crate) until: Timestamp,
}

impl Provider {
    /// Somebody whom an access token names. An ID token is none: it tells a client who has logged in there, and is not meant to be
    /// shown elsewhere.
    pub(crate) fn access_token(&self, token: &str, now: Timestamp) -> Result<Said, TokenFault> {
        let claims = self.claims(token, now)?;
        claims.is_access_token()?;
        claims.is_for(&self.config.audience)?;
        let who = claims.who(&self.config).ok_or(TokenFault::Token("the token does not say who it is for"))?;
        let groups = claims.groups(&self.config).unwrap_or_default().into();
        Ok(Said { who, groups, until: claims.until })
    }

    /// What a token says, if this provider has signed it and it holds now.
    pub(crate) fn claims(&self, token: &str, now: Timestamp) -> Result<TokenClaims, TokenFault> {
        if token.len() > CREDENTIAL_BYTES_MAX {
            return Err(TokenFault::Token("the token is longer than 16 KiB"));
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenFault::Token("this is no token"))?;
        let (header, payload) = message.split_once('.').ok_or(TokenFault::Token("this is no token"))?;
        let header = object(header).ok_or(TokenFault::Token("the header of the token cannot be read"))?;
        if header.contains_key("crit") {
            return Err(TokenFault::Token("the token needs something that is not known here"));
        }
        let named = |algorithm: &&Algorithm| header.get("alg").and_then(Value::as_str) == Some(algorithm.name());
        let algorithm = self.config.algorithms.iter().find(named);
        let algorithm = *algorithm.ok_or(TokenFault::Token("the token is signed in a way that is not taken here"))?;
        let id = match header.get("kid") {
            None => None,
            Some(id) => Some(id.as_str().ok_or(TokenFault::Token("the id of the token's key is no text"))?),
        };
        let signer = self.key(id, algorithm, now)?;
        let holds = jsonwebtoken::crypto::verify(signature, message.as_bytes(), signer.key(), signed_by(algorithm));
        if !matches!(holds, Ok(true)) {
            return Err(TokenFault::Token("the signature of the token is wrong"));
        }
        let claims = object(payload).ok_or(TokenFault::Token("what the token says cannot be read"))?;
        self.checked(header, claims, now)
    }

    /// Who has issued it, and from when until when it holds.
    fn checked(
        &self,
        header: Map<String, Value>,
        claims: Map<String, Value>,
        now: Timestamp,
    ) -> Result<TokenClaims, TokenFault> {
        if claims.get("iss").and_then(Value::as_str) != Some(&self.config.issuer) {
            return Err(TokenFault::Token("the token is of another issuer"));
        }
        let expires = time(&claims, "exp")?.ok_or(TokenFault::Token("the token never expires"))?;
        let until = expires.saturating_add(LEEWAY);
        if now >= until {
            return Err(TokenFault::Token("the token has expired"));
        }
        for claim in ["nbf", "iat"] {
            if time(&claims, claim)?.is_some_and(|from| from > now.saturating_add(LEEWAY)) {
                return Err(TokenFault::Token("the token does not hold yet"));
            }
        }
        Ok(TokenClaims { header, claims, until })
    }
}

impl TokenClaims {
    /// A claim that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name).and_then(Value::as_str)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.claims.get(name)
    }

    /// Fills what is missing here from claims of another source that is trusted as much.
    pub(crate) fn completed(mut self, more: Map<String, Value>) -> TokenClaims {
        for (name, value) in more {
            self.claims.entry(name).or_insert(value);
        }
        self
    }

    /// Whether its header says that it is of a kind, or does not say.
    fn is_of_kind(&self, kinds: &[&str]) -> bool {
        match self.header.get("typ") {
            None => true,
            Some(Value::String(kind)) => kinds.iter().any(|known| known.eq_ignore_ascii_case(kind)),
            Some(_) => false,
        }
    }

    fn is_access_token(&self) -> Result<(), TokenFault> {
        let bearer = self.claims.get("typ").is_none_or(|kind| kind.as_str().is_some_and(|kind| kind == "Bearer"));
        let of_a_login = ["nonce", "at_hash", "c_hash", "events"].iter().any(|claim| self.claims.contains_key(*claim));
        if !bearer || of_a_login || !self.is_of_kind(&["JWT", "at+jwt", "application/at+jwt"]) {
            return Err(TokenFault::Token("this is no access token"));
        }
        Ok(())
    }

    /// Whether its header is one of an ID token or of a logout.
    pub(crate) fn is_for_client(&self) -> bool {
        self.is_of_kind(&["JWT", "logout+jwt"])
    }

    /// Whether it is for one of these.
    pub(crate) fn is_for(&self, audience: &[String]) -> Result<(), TokenFault> {
        let is_ours = |name: &Value| name.as_str().is_some_and(|name| audience.iter().any(|ours| ours == name));
        let fits = match self.claims.get("aud") {
            Some(Value::Array(names)) => names.iter().any(is_ours),
            Some(name) => is_ours(name),
            None => false,
        };
        if fits { Ok(()) } else { Err(TokenFault::Token("the token is for somebody else")) }
    }

    /// Who it names.
    pub(crate) fn who(&self, config: &Oidc) -> Option<Who> {
        Who::new(How::Oidc, found(&self.claims, &config.user_claim)?.as_str()?)
    }

    /// The groups that it names; none if it does not say. One group may be a text.
    pub(crate) fn groups(&self, config: &Oidc) -> Option<Vec<Box<str>>> {
        let texts = match found(&self.claims, &config.groups_claim)? {
            Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
            Value::String(text) => vec![text.as_str()],
            _ => return None,
        };
        let fits = |text: &&str| !text.is_empty() && text.len() <= NAME_BYTES_MAX;
        Some(texts.into_iter().filter(fits).take(GROUPS_MAX).map(Into::into).collect())
    }
}

/// A claim, or one within claims: `realm_access.roles`.
fn found<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    claims.get(path).or_else(|| {
        let (first, rest) = path.split_once('.')?;
        found(claims.get(first)?.as_object()?, rest)
    })
}

/// A part of a token.
fn object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// A time in seconds, which may have a fraction.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<Timestamp>, TokenFault> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| (0.0..1e11).contains(seconds));
    let seconds = seconds.ok_or(TokenFault::Token("a time in the token is none"))?;
    Ok(Some(Timestamp::from_seconds(seconds as i64, 0)))
}

fn signed_by(algorithm: Algorithm) -> jsonwebtoken::Algorithm {
    match algorithm {
        Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
        Algorithm::Rs384 => jsonwebtoken::Algorithm::RS384,
        Algorithm::Rs512 => jsonwebtoken::Algorithm::RS512,
        Algorithm::Ps256 => jsonwebtoken::Algorithm::PS256,
        Algorithm::Ps384 => jsonwebtoken::Algorithm::PS384,
        Algorithm::Ps512 => jsonwebtoken::Algorithm::PS512,
        Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
        Algorithm::Es384 => jsonwebtoken::Algorithm::ES384,
        Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
    }
}

#[cfg(test)]
mod tests;
