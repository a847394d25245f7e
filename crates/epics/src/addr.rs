//! Where to search: the EPICS address lists, from the environment or from a config file.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs},
    ops::RangeBounds,
    time::Duration,
};

/// Why an address list or a switch could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddrError {
    /// The variable or key.
    pub key: String,
    /// What was found.
    pub text: String,
    /// What is allowed.
    pub expected: &'static str,
}

impl fmt::Display for AddrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {:?}, expected {}", self.key, self.text, self.expected)
    }
}

impl std::error::Error for AddrError {}

/// Reads `host`, `host:port` and numbers, separated by blanks or commas. Names are looked up once, now.
pub fn parse_list(key: &str, text: &str, default_port: u16) -> Result<Vec<SocketAddr>, AddrError> {
    text.split([' ', ',', '\t'])
        .filter(|entry| !entry.is_empty())
        .map(|entry| parse_one(key, entry, default_port))
        .collect()
}

fn parse_one(key: &str, entry: &str, default_port: u16) -> Result<SocketAddr, AddrError> {
    let refused = || AddrError {
        key: key.to_owned(),
        text: entry.to_owned(),
        expected: "HOST or HOST:PORT, several separated by blanks",
    };
    if let Ok(address) = entry.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(ip) = entry.parse::<Ipv4Addr>() {
        return Ok(SocketAddr::V4(SocketAddrV4::new(ip, default_port)));
    }
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| refused())?),
        None => (entry, default_port),
    };
    let mut found = (host, port).to_socket_addrs().map_err(|_| refused())?;
    found.find(SocketAddr::is_ipv4).ok_or_else(refused)
}

/// Reads `YES` and `NO` as EPICS does, in any case; also `true`, `false`, `1` and `0`.
pub fn parse_switch(key: &str, text: &str) -> Result<bool, AddrError> {
    match text.trim().to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" => Ok(true),
        "no" | "false" | "0" => Ok(false),
        _ => Err(AddrError { key: key.to_owned(), text: text.to_owned(), expected: "YES or NO" }),
    }
}

/// Reads a port number.
pub fn parse_port(key: &str, text: &str) -> Result<u16, AddrError> {
    let refused =
        || AddrError { key: key.to_owned(), text: text.to_owned(), expected: "a port number from 1 to 65535" };
    text.trim().parse().ok().filter(|port| *port > 0).ok_or_else(refused)
}

fn parse_seconds(
    key: &str,
    text: &str,
    range: &impl RangeBounds<f64>,
    expected: &'static str,
) -> Result<Duration, AddrError> {
    let seconds = text.trim().parse().ok().filter(|seconds| range.contains(seconds));
    let refused = || AddrError { key: key.to_owned(), text: text.to_owned(), expected };
    seconds.map(Duration::from_secs_f64).ok_or_else(refused)
}

/// The variables of an environment. What is not set, or blank, leaves the place of a value as it is.
pub(crate) struct Variables<G>(pub(crate) G);

impl<G: Fn(&str) -> Option<String>> Variables<G> {
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        (self.0)(key).filter(|text| !text.trim().is_empty())
    }

    pub(crate) fn port(&self, key: &str, place: &mut u16) -> Result<(), AddrError> {
        self.read(key, place, |text| parse_port(key, text))
    }

    pub(crate) fn switch(&self, key: &str, place: &mut bool) -> Result<(), AddrError> {
        self.read(key, place, |text| parse_switch(key, text))
    }

    pub(crate) fn list(&self, key: &str, default_port: u16, place: &mut Vec<SocketAddr>) -> Result<(), AddrError> {
        self.read(key, place, |text| parse_list(key, text, default_port))
    }

    /// Seconds within `range`, which `expected` describes.
    pub(crate) fn seconds(
        &self,
        key: &str,
        range: &impl RangeBounds<f64>,
        expected: &'static str,
        place: &mut Duration,
    ) -> Result<(), AddrError> {
        self.read(key, place, |text| parse_seconds(key, text, range, expected))
    }

    fn read<T>(
        &self,
        key: &str,
        place: &mut T,
        parse: impl FnOnce(&str) -> Result<T, AddrError>,
    ) -> Result<(), AddrError> {
        if let Some(text) = self.text(key) {
            *place = parse(&text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_take_blanks_commas_names_and_ports() {
        let list = parse_list("EPICS_CA_ADDR_LIST", " 127.0.0.1 127.0.0.1:23164,localhost:5 ", 5064).unwrap();
        assert_eq!(list, ["127.0.0.1:5064", "127.0.0.1:23164", "127.0.0.1:5"].map(|a| a.parse().unwrap()));
        assert_eq!(parse_list("X", "", 1).unwrap(), []);
    }

    #[test]
    fn a_bad_entry_is_named_with_its_key() {
        let error = parse_list("EPICS_CA_ADDR_LIST", "127.0.0.1:x", 5064).unwrap_err();
        assert_eq!(
            error.to_string(),
            "EPICS_CA_ADDR_LIST is \"127.0.0.1:x\", expected HOST or HOST:PORT, several separated by blanks"
        );
        assert!(parse_switch("K", "maybe").is_err());
        assert!(parse_port("K", "0").is_err());
    }
}
