//! Login: the page's way to an OpenID provider and back, by a code that only who began it can use (PKCE).
//!
//! ```text
//!   browser ──► begin   a cookie with state, nonce and verifier ; to the provider with state, nonce and the verifier's hash
//!   provider ─► browser ──► finish   state as in the cookie ; iss as in the config
//!                             │ code, verifier
//!                             ▼
//!                          provider ──► an ID token: signed, for this client, with the nonce ──► a session
//! ```
//! Nothing is kept between the two but the cookie, which is signed and holds for ten minutes.

use std::{fmt::Write, time::Duration};

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{digest, hmac, rand::SystemRandom};
use sample::Timestamp;
use serde::Deserialize;

use crate::{
    jwt::{TokenClaims, TokenFault},
    provider::{Discovery, NoKey, Provider},
    random::{self, SECRET_LETTERS},
    sessions::{LOGIN_COOKIE, LoginSession, PLAIN_LOGIN_COOKIE, Transport},
};

/// How long somebody may take to log in.
const LOGIN_MAX: Duration = Duration::from_secs(600);
/// The longest path to come back to.
const RETURN_BYTES_MAX: usize = 2000;

/// What RFC 3986 leaves as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a browser is to go to log in, and which cookie it gets.
#[derive(Debug)]
pub struct Redirect {
    /// For `Location`.
    pub location: String,
    /// For `Set-Cookie`.
    pub set_cookie: String,
}

/// What the provider lets the browser bring back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Callback<'a> {
    /// By which the provider knows the login.
    pub code: Option<&'a str>,
    /// By which we know it.
    pub state: Option<&'a str>,
    /// Who the provider says it is.
    pub issuer: Option<&'a str>,
    /// Why the provider let nobody in.
    pub error: Option<&'a str>,
}

/// Why a login does not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// Something does not hold.
    Wrong(String),
    /// The provider cannot be asked.
    Away,
}

impl From<TokenFault> for Failed {
    fn from(wrong: TokenFault) -> Failed {
        match wrong {
            TokenFault::Token(message) => Failed::Wrong(message.to_owned()),
            TokenFault::Away => Failed::Away,
        }
    }
}

impl From<NoKey> for Failed {
    fn from(why: NoKey) -> Failed {
        Failed::from(TokenFault::from(why))
    }
}

fn wrong<T>(message: impl Into<String>) -> Result<T, Failed> {
    Err(Failed::Wrong(message.into()))
}

/// Whose login came to its end, and where they wanted to go.
#[derive(Debug)]
pub(crate) struct LoginDone {
    pub(crate) logged: LoginSession,
    pub(crate) return_to: String,
}

/// What begins logins and ends them.
pub(crate) struct Logins {
    /// Of this process: after a restart logins begin anew.
    key: hmac::Key,
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}

impl Default for Logins {
    fn default() -> Logins {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Logins { key: key.expect("the kernel gives random bytes once it has started") }
    }
}

/// What is known of a login while the browser is at the provider.
struct Begun<'a> {
    state: &'a str,
    nonce: &'a str,
    verifier: &'a str,
    return_to: String,
}

impl Logins {
    /// Begins a login that comes back to `callback`, and ends at a path of ours.
    pub(crate) fn begin(
        &self,
        provider: &Provider,
        callback: &str,
        return_to: &str,
        transport: Transport,
        now: Timestamp,
    ) -> Result<Redirect, Failed> {
        let discovery = provider.discovery(now)?;
        let Some(endpoint) = &discovery.authorization_endpoint else {
            return wrong("the OpenID provider lets nobody log in by a browser");
        };
        let [state, nonce, verifier] = [(); 3].map(|()| random::letters(SECRET_LETTERS));
        let expires = now.saturating_add(LOGIN_MAX).nanos();
        let return_to = BASE64_URL_SAFE_NO_PAD.encode(own_path(return_to));
        let mut cookie = format!("{state}.{nonce}.{verifier}.{expires}.{return_to}");
        let signature = hmac::sign(&self.key, cookie.as_bytes());
        let _ = write!(cookie, ".{}", BASE64_URL_SAFE_NO_PAD.encode(signature));

        let challenge = digest::digest(&digest::SHA256, verifier.as_bytes());
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(challenge);
        let scope = provider.config.scopes.join(" ");
        let mut location = endpoint.clone();
        location.push(if endpoint.contains('?') { '&' } else { '?' });
        let parameters = [
            ("response_type", "code"),
            ("client_id", &provider.config.client),
            ("redirect_uri", callback),
            ("scope", &scope),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let parameters = parameters.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, ESCAPED)));
        location.push_str(&parameters.join("&"));
        Ok(Redirect { location, set_cookie: set_login_cookie(&cookie, transport) })
    }

    /// Ends a login: whose it is, if everything holds.
    pub(crate) fn finish(
        &self,
        provider: &Provider,
        callback: &str,
        cookie: &str,
        brought: Callback<'_>,
        now: Timestamp,
    ) -> Result<LoginDone, Failed> {
        let begun =
            self.begun(cookie, now).ok_or_else(|| Failed::Wrong("no login is under way; begin anew".to_owned()))?;
        if brought.state != Some(begun.state) {
            return wrong("the answer of the provider belongs to another login; begin anew");
        }
        let discovery = provider.discovery(now)?;
        let issuer = &provider.config.issuer;
        match brought.issuer {
            Some(said) if said != issuer => return wrong("the answer comes from another provider"),
            None if discovery.authorization_response_iss_parameter_supported => {
                return wrong("the answer does not say from which provider it comes");
            }
            _ => {}
        }
        if let Some(error) = brought.error {
            return wrong(format!("the provider lets nobody in: {}", word(error)));
        }
        let code = brought.code.ok_or_else(|| Failed::Wrong("the answer of the provider holds no code".to_owned()))?;
        let tokens = exchange(provider, &discovery, callback, code, begun.verifier)?;
        let claims = provider.id_token(&tokens, begun.nonce, now)?;
        let claims = completed(provider, &discovery, claims, &tokens);
        let Some(who) = claims.who(&provider.config) else {
            return wrong("the provider does not say who has logged in");
        };
        let text = |name| claims.text(name).map(Into::into);
        let groups = claims.groups(&provider.config).unwrap_or_default();
        let logged = LoginSession { who, groups: groups.into(), subject: text("sub"), provider: text("sid") };
        Ok(LoginDone { logged, return_to: begun.return_to })
    }

    /// What a cookie says of a login that is under way.
    fn begun<'a>(&self, cookie: &'a str, now: Timestamp) -> Option<Begun<'a>> {
        let (text, signature) = cookie.rsplit_once('.')?;
        hmac::verify(&self.key, text.as_bytes(), &BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?).ok()?;
        let mut parts = text.split('.');
        let mut part = || parts.next();
        let (state, nonce, verifier, expires, return_to) = (part()?, part()?, part()?, part()?, part()?);
        let expires = Timestamp::from_nanos(expires.parse().ok()?);
        let return_to = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(return_to).ok()?).ok()?;
        (now < expires).then_some(Begun { state, nonce, verifier, return_to })
    }
}

/// What the provider gives for a code.
#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
    access_token: Option<String>,
}

/// Why it gives nothing.
#[derive(Deserialize)]
struct ErrorAnswer {
    error: String,
}

/// An error's word, without what else a browser might bring.
fn word(error: &str) -> String {
    error.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(50).collect()
}

fn exchange(
    provider: &Provider,
    discovery: &Discovery,
    callback: &str,
    code: &str,
    verifier: &str,
) -> Result<TokenAnswer, Failed> {
    let Some(endpoint) = &discovery.token_endpoint else { return wrong("the OpenID provider gives no tokens") };
    let client = &provider.config.client;
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", callback),
        ("client_id", client),
        ("code_verifier", verifier),
    ];
    let authorization = provider.secret.as_ref().map(|secret| {
        let escaped = |text| utf8_percent_encode(text, ESCAPED).to_string();
        format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", escaped(client), escaped(&secret.0))))
    });
    let replied = provider.http.post(endpoint, &form, authorization).map_err(|error| {
        tracing::warn!("the OpenID provider {} cannot be asked for a token: {error}", provider.config.issuer);
        Failed::Away
    })?;
    match replied.status {
        200 => serde_json::from_slice(&replied.body)
            .map_err(|_| Failed::Wrong("the provider's answer to the code cannot be read".to_owned())),
        500.. => Err(Failed::Away),
        status => {
            let error = serde_json::from_slice::<ErrorAnswer>(&replied.body).map(|answer| word(&answer.error));
            let (issuer, error) = (&provider.config.issuer, error.unwrap_or_default());
            tracing::warn!("the OpenID provider {issuer} gives no token for a code: {status} {error}");
            wrong(format!("the provider takes the code for wrong ({status}); begin anew"))
        }
    }
}

/// Where an ID token names nobody or no groups, what the provider says besides to whoever has the access token.
fn completed(provider: &Provider, discovery: &Discovery, claims: TokenClaims, tokens: &TokenAnswer) -> TokenClaims {
    let is_whole = claims.who(&provider.config).is_some() && claims.groups(&provider.config).is_some();
    let (Some(endpoint), Some(token), false) = (&discovery.userinfo_endpoint, &tokens.access_token, is_whole) else {
        return claims;
    };
    let said = provider
        .http
        .get(endpoint, Some(token))
        .and_then(|body| serde_json::from_slice::<serde_json::Map<_, _>>(&body).map_err(|error| error.to_string()));
    match said {
        Ok(said) if said.get("sub") == claims.get("sub") => claims.completed(said),
        Ok(_) => claims, // of somebody else
        Err(error) => {
            tracing::warn!("the OpenID provider {} says nothing of a user: {error}", provider.config.issuer);
            claims
        }
    }
}

impl Provider {
    /// What an ID token says, if it is the one of this login.
    fn id_token(&self, tokens: &TokenAnswer, nonce: &str, now: Timestamp) -> Result<TokenClaims, Failed> {
        let Some(token) = &tokens.id_token else { return wrong("the provider does not say who has logged in") };
        let claims = self.claims(token, now)?;
        claims.is_for(std::slice::from_ref(&self.config.client))?;
        let is_shared = claims.get("aud").and_then(|aud| aud.as_array()).is_some_and(|aud| aud.len() > 1);
        let party = claims.get("azp").map(|party| party.as_str() == Some(self.config.client.as_str()));
        if party == Some(false) || (is_shared && party.is_none()) || !claims.is_for_client() {
            return wrong("the provider's token is for another client");
        }
        if claims.text("nonce") != Some(nonce) {
            return wrong("the provider's token belongs to another login; begin anew");
        }
        if claims.text("sub").is_none() {
            return wrong("the provider does not say who has logged in");
        }
        Ok(claims)
    }

    /// Whose sessions a provider ends by a logout token: of somebody, or one that it calls so.
    pub(crate) fn logout_token(&self, token: &str, now: Timestamp) -> Result<LoggedOut, TokenFault> {
        let claims = self.claims(token, now)?;
        claims.is_for(std::slice::from_ref(&self.config.client))?;
        let event = "http://schemas.openid.net/event/backchannel-logout";
        let is_event = claims.get("events").and_then(|events| events.get(event)).is_some_and(|event| event.is_object());
        if !is_event || claims.get("nonce").is_some() || !claims.is_for_client() {
            return Err(TokenFault::Token("this is no logout token"));
        }
        let text = |name| claims.text(name).map(Into::into);
        let (subject, provider) = (text("sub"), text("sid"));
        if subject.is_none() && provider.is_none() {
            return Err(TokenFault::Token("the logout token does not say whose sessions end"));
        }
        Ok(LoggedOut { subject, provider })
    }
}

/// Whose sessions end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LoggedOut {
    pub(crate) subject: Option<Box<str>>,
    pub(crate) provider: Option<Box<str>>,
}

/// A path of this archiver: whatever else it may be, it leads to the first page.
pub(crate) fn own_path(text: &str) -> &str {
    let mut letters = text.bytes();
    let begins = letters.next() == Some(b'/') && !matches!(letters.next(), Some(b'/' | b'\\'));
    let fits = text.len() <= RETURN_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if begins && fits { text } else { "/" }
}

fn set_login_cookie(value: &str, transport: Transport) -> String {
    let age = LOGIN_MAX.as_secs();
    match transport {
        Transport::Tls => format!("{LOGIN_COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={age}"),
        Transport::Plain => format!("{PLAIN_LOGIN_COOKIE}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}"),
    }
}

/// The header that takes the cookie of a login away.
pub(crate) fn clear_login_cookie(transport: Transport) -> String {
    match transport {
        Transport::Tls => format!("{LOGIN_COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"),
        Transport::Plain => format!("{PLAIN_LOGIN_COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"),
    }
}

#[cfg(test)]
mod tests;
