//! Where identities come from: a proxy, an OpenID provider, an LDAP server, as they are written.

use std::{net::IpAddr, path::PathBuf};

use serde::Deserialize;

use super::{Network, OneOrMore};

/// `[access.proxy]`: a proxy that has found out who asks. What it says is believed without a proof, so that it must come from there.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ProxyFile")]
pub struct Proxy {
    /// From where its requests come.
    pub from: Vec<Network>,
    /// The header with the name, which the proxy sets in every request, also when it is empty.
    pub user: Box<str>,
    /// The header with groups, divided by commas.
    pub groups: Option<Box<str>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProxyFile {
    from: Vec<Network>,
    user: String,
    groups: Option<String>,
}

impl TryFrom<ProxyFile> for Proxy {
    type Error = String;

    fn try_from(file: ProxyFile) -> Result<Proxy, String> {
        if file.from.is_empty() {
            return Err("from is empty, expected the proxy's address like \"127.0.0.1/32\"".to_owned());
        }
        let (user, groups) = (header("user", file.user)?, file.groups.map(|name| header("groups", name)).transpose()?);
        if groups.as_deref().is_some_and(|groups| groups.eq_ignore_ascii_case(&user)) {
            return Err("user and groups are the same header, expected two".to_owned());
        }
        Ok(Proxy { from: file.from, user, groups })
    }
}

/// Headers that mean something else already.
const TAKEN: [&str; 6] = ["authorization", "cookie", "x-api-key", "host", "origin", "content-length"];

fn header(key: &str, name: String) -> Result<Box<str>, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_name = !name.is_empty() && name.len() <= 64 && name.bytes().all(fits);
    if !is_name || TAKEN.iter().any(|taken| taken.eq_ignore_ascii_case(&name)) {
        return Err(format!("{key} = {name:?} is no header for this, expected one like \"X-Forwarded-User\""));
    }
    Ok(name.into())
}

/// How a token may be signed. Signatures by a shared secret are not among them, and neither is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[expect(missing_docs, reason = "the names of RFC 7518 say it")]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 9] = [
        Algorithm::Rs256,
        Algorithm::Rs384,
        Algorithm::Rs512,
        Algorithm::Ps256,
        Algorithm::Ps384,
        Algorithm::Ps512,
        Algorithm::Es256,
        Algorithm::Es384,
        Algorithm::EdDsa,
    ];

    /// The name in headers of tokens.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Rs384 => "RS384",
            Algorithm::Rs512 => "RS512",
            Algorithm::Ps256 => "PS256",
            Algorithm::Ps384 => "PS384",
            Algorithm::Ps512 => "PS512",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::EdDsa => "EdDSA",
        }
    }
}

impl TryFrom<String> for Algorithm {
    type Error = String;

    fn try_from(text: String) -> Result<Algorithm, String> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == text).ok_or_else(|| {
            let names = Algorithm::ALL.map(Algorithm::name).join(", ");
            format!("algorithms: {text:?} is none that proves anything here, expected some of {names}")
        })
    }
}

/// `[access.oidc]`: an OpenID provider, for logins of the page and for tokens that it gives to programs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "OidcFile")]
pub struct Oidc {
    /// Its URL, to the byte as its tokens say it.
    pub issuer: String,
    /// What it calls us.
    pub client: String,
    /// A file with the secret of the client, if it has one.
    pub client_secret_file: Option<PathBuf>,
    /// Which audiences of its tokens are ours.
    pub audience: Vec<String>,
    /// The claim with the name.
    pub user_claim: String,
    /// The claim with the groups.
    pub groups_claim: String,
    /// What is asked for at a login.
    pub scopes: Vec<String>,
    /// Which signatures are taken.
    pub algorithms: Vec<Algorithm>,
    /// A file with the certificate of who signed the provider's, if the machine does not know it.
    pub ca: Option<PathBuf>,
    /// Where the provider sends people back to, if that is not the name under which they came: behind a proxy with TLS it is not.
    pub callback: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OidcFile {
    issuer: String,
    client: String,
    client_secret_file: Option<PathBuf>,
    audience: OneOrMore,
    user_claim: Option<String>,
    groups_claim: Option<String>,
    scopes: Option<Vec<String>>,
    algorithms: Option<Vec<Algorithm>>,
    ca: Option<PathBuf>,
    callback: Option<String>,
}

impl TryFrom<OidcFile> for Oidc {
    type Error = String;

    fn try_from(file: OidcFile) -> Result<Oidc, String> {
        is_safe("issuer", &file.issuer, "https", "http")?;
        if file.issuer.contains(['?', '#']) {
            return Err(format!("issuer = {:?} has a query, expected a URL without one", file.issuer));
        }
        if let Some(callback) = &file.callback {
            is_safe("callback", callback, "https", "http")?;
            if !callback.ends_with("/api/v1/login/callback") {
                return Err(format!(
                    "callback = {callback:?} leads elsewhere, expected a URL that ends with /api/v1/login/callback"
                ));
            }
        }
        let audience = file.audience.into_list();
        if audience.is_empty() || audience.iter().any(String::is_empty) {
            return Err(
                "audience is empty, expected what the provider's tokens for us say, like [\"pvark\"]".to_owned()
            );
        }
        if file.client.is_empty() {
            return Err("client is empty, expected what the provider calls this archiver, like \"pvark\"".to_owned());
        }
        let usual = || vec![Algorithm::Rs256, Algorithm::Es256, Algorithm::Ps256, Algorithm::EdDsa];
        let algorithms = file.algorithms.unwrap_or_else(usual);
        if algorithms.is_empty() {
            return Err("algorithms is empty, expected some like [\"RS256\", \"ES256\"]".to_owned());
        }
        let mut scopes = file.scopes.unwrap_or_else(|| vec!["openid".to_owned(), "profile".to_owned()]);
        if scopes.iter().any(|scope| scope.is_empty() || scope.contains(|c: char| c.is_whitespace() || c.is_control()))
        {
            return Err(
                "scopes has an empty one or one with a blank, expected some like [\"openid\", \"groups\"]".to_owned()
            );
        }
        if !scopes.iter().any(|scope| scope == "openid") {
            scopes.insert(0, "openid".to_owned());
        }
        Ok(Oidc {
            issuer: file.issuer,
            client: file.client,
            client_secret_file: file.client_secret_file,
            audience,
            user_claim: file.user_claim.unwrap_or_else(|| "sub".to_owned()),
            groups_claim: file.groups_claim.unwrap_or_else(|| "groups".to_owned()),
            scopes,
            algorithms,
            ca: file.ca,
            callback: file.callback,
        })
    }
}

/// `[access.ldap]`: an LDAP server that knows passwords and groups.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "LdapFile")]
pub struct Ldap {
    /// Its URL.
    pub url: String,
    /// Whether a plain connection is made a safe one before anything is said.
    pub starttls: bool,
    /// The DN of a user, with `{user}` where the name stands.
    pub user_dn: String,
    /// How groups are found.
    pub groups: Option<LdapGroups>,
    /// A file with the certificate of who signed the server's, if the machine does not know it.
    pub ca: Option<PathBuf>,
}

/// How the groups of a user are found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LdapGroups {
    /// Below which entry.
    pub base: String,
    /// Which entries: `{dn}` and `{user}` stand for the user's.
    pub filter: String,
    /// The attribute with the name of a group.
    #[serde(default = "cn")]
    pub name: String,
}

fn cn() -> String {
    "cn".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LdapFile {
    url: String,
    #[serde(default)]
    starttls: bool,
    user_dn: String,
    groups: Option<LdapGroups>,
    ca: Option<PathBuf>,
}

impl TryFrom<LdapFile> for Ldap {
    type Error = String;

    fn try_from(file: LdapFile) -> Result<Ldap, String> {
        if !(file.starttls && file.url.starts_with("ldap://")) {
            is_safe("url", &file.url, "ldaps", "ldap")?;
        }
        if file.starttls && file.url.starts_with("ldaps://") {
            return Err("starttls = true is for ldap://, and url has ldaps://; leave starttls out".to_owned());
        }
        if file.user_dn.matches("{user}").count() != 1 {
            let wrong = format!("user_dn = {:?} must have {{user}} once", file.user_dn);
            return Err(format!("{wrong}, expected one like \"uid={{user}},ou=people,dc=lab,dc=example\""));
        }
        if let Some(groups) = &file.groups
            && !(groups.filter.starts_with('(') && groups.filter.ends_with(')'))
        {
            return Err(format!(
                "groups.filter = {:?} is no filter, expected one like \"(member={{dn}})\"",
                groups.filter
            ));
        }
        if let Some(groups) = &file.groups
            && !groups.filter.contains("{dn}")
            && !groups.filter.contains("{user}")
        {
            let wrong = format!("groups.filter = {:?} finds the same groups for everybody", groups.filter);
            return Err(format!("{wrong}, expected {{dn}} or {{user}} in it, like \"(member={{dn}})\""));
        }
        Ok(Ldap { url: file.url, starttls: file.starttls, user_dn: file.user_dn, groups: file.groups, ca: file.ca })
    }
}

/// Whether nobody overhears what is said to a URL of HTTP.
pub(crate) fn is_safe_url(url: &str) -> Result<(), ()> {
    is_safe("", url, "https", "http").map_err(|_| ())
}

/// Whether a URL has the scheme that nobody overhears, or leads to this machine.
fn is_safe(key: &str, url: &str, safe: &str, plain: &str) -> Result<(), String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_url =
        !host.is_empty() && !authority.contains('@') && !url.contains(|c: char| c.is_whitespace() || c.is_control());
    if is_url && (scheme == safe || scheme == plain && is_here) {
        return Ok(());
    }
    Err(format!("{key} = {url:?} could be overheard or is no URL, expected {safe}:// (or {plain}:// to this machine)"))
}
