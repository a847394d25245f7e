//! The config of access: `[access]` of the config file, read and checked, so that each mistake names its key and what to write.

mod grant;
mod logins;
mod network;

use std::path::PathBuf;

use archive::Right;
use serde::{Deserialize, Deserializer, de::Error as _};

pub(crate) use grant::patterns;
pub use grant::{Grant, Subject};
pub(crate) use logins::is_safe_url;
pub use logins::{Algorithm, Ldap, LdapGroups, Oidc, Proxy};
pub use network::Network;

/// `[access]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What everybody may do, whoever they are; `none` if it is not given.
    #[serde(default)]
    pub anonymous: Anonymous,
    /// The socket by which users of this machine administer the archive.
    pub socket: Option<PathBuf>,
    /// How much each principal may ask; without it as much as they like.
    pub limits: Option<Limits>,
    /// Who may do what besides.
    #[serde(default, rename = "grant")]
    pub grants: Vec<Grant>,
    /// A proxy that says who asks.
    pub proxy: Option<Proxy>,
    /// An OpenID provider.
    pub oidc: Option<Oidc>,
    /// An LDAP server.
    pub ldap: Option<Ldap>,
}

impl Config {
    /// What holds without `[access]`: everybody may do what the listener allows.
    pub fn open() -> Config {
        Config { anonymous: Anonymous(Some(Right::Administer)), ..Config::default() }
    }
}

/// A right as it is written: `read`, `operate` or `administer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct RightName(pub Right);

impl TryFrom<String> for RightName {
    type Error = String;

    fn try_from(text: String) -> Result<RightName, String> {
        let right = Right::from_name(&text).map(RightName);
        right.ok_or_else(|| format!("found {text:?}, expected \"read\", \"operate\" or \"administer\""))
    }
}

/// What everybody may do: a right, or `none`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Anonymous(pub Option<Right>);

impl TryFrom<String> for Anonymous {
    type Error = String;

    fn try_from(text: String) -> Result<Anonymous, String> {
        match (text.as_str(), Right::from_name(&text)) {
            ("none", _) => Ok(Anonymous(None)),
            (_, Some(right)) => Ok(Anonymous(Some(right))),
            _ => Err(format!("found {text:?}, expected \"none\", \"read\", \"operate\" or \"administer\"")),
        }
    }
}

/// How much each principal may ask. Anonymous clients count by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests that may come for long.
    #[serde(deserialize_with = "rate")]
    pub requests_per_second: f64,
    /// Requests that may come at once.
    #[serde(deserialize_with = "at_least_one")]
    pub burst: u32,
    /// Long answers that may be under way at once.
    #[serde(deserialize_with = "at_least_one")]
    pub long_answers: u32,
    /// Megabytes that the answers of each principal may take together; as much as all answers may, if it is not given.
    #[serde(default)]
    pub answers_megabytes: Option<Megabytes>,
}

/// Megabytes, from 1 to a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Megabytes(#[serde(deserialize_with = "at_least_one")] pub u32);

impl Megabytes {
    /// In bytes.
    pub fn bytes(self) -> usize {
        (self.0 as usize) << 20
    }
}

fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    let fits = (0.001..=1e6).contains(&number);
    let wrong = || D::Error::custom(format!("found {number}, expected a number of requests from 0.001 to 1000000"));
    fits.then_some(number).ok_or_else(wrong)
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(deserializer)?;
    let fits = u32::try_from(number).ok().filter(|number| (1..=1_000_000).contains(number));
    fits.ok_or_else(|| D::Error::custom(format!("found {number}, expected a whole number from 1 to 1000000")))
}

/// One text, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(crate) fn into_list(self) -> Vec<String> {
        match self {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

#[cfg(test)]
mod tests;
