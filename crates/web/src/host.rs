//! By which names the archiver may be asked for. What `Host` says is compared with them before anything else is done.
//!
//! An attacker who owns a name can let it lead to the archiver's address (DNS rebinding). For a browser the attacker's page and the
//! archiver are then one site, and only `Host` still says by whose name the request came. An address cannot be abused like that, and
//! nobody else owns the names of this machine.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    collections::{BTreeSet, HashSet},
    fmt, fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Mutex,
};

use axum::http::{HeaderMap, Uri, Version, header};

use crate::refusal::{Code, Refusal};

/// The longest name that there is in DNS.
const NAME_BYTES_MAX: usize = 253;

/// So many names that were refused are told of in the log, each once.
const TOLD_MAX: usize = 64;

/// A name by which clients reach the archiver, without scheme and port, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    /// The name that the text is; none if it has a port, a scheme or anything else around it.
    pub fn new(text: &str) -> Option<HostName> {
        let name = text.strip_suffix('.').unwrap_or(text);
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name = !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(fits);
        is_name.then(|| HostName(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Address(IpAddr),
    Name(HostName),
}

/// By which protocol a URL leads to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// A host with its port, as `Host`, `Origin` and `Referer` say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    host: Host,
    port: Option<u16>,
    /// None: by either, as before one that speaks plainly there may be a proxy with TLS.
    scheme: Option<Scheme>,
}

impl Authority {
    /// None of what is no host, with or without a port. A user before it, which nobody sends, is no part of a host.
    pub(crate) fn parse(text: &str) -> Option<Authority> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                let address = address.split_once('%').map_or(address, |(address, _zone)| address);
                (Host::Address(address.parse::<Ipv6Addr>().ok()?.into()), rest)
            }
            None => {
                let (name, port) = text.find(':').map_or((text, ""), |colon| text.split_at(colon));
                let name = HostName::new(name)?;
                (
                    name.0
                        .parse::<Ipv4Addr>()
                        .map_or_else(|_| Host::Name(name), |address| Host::Address(address.into())),
                    port,
                )
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            None => return None,
            Some("") => None,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
        };
        Some(Authority { host, port, scheme: None })
    }

    /// The same, to which URLs of that scheme alone lead.
    pub(crate) fn by(self, scheme: Option<Scheme>) -> Authority {
        Authority { scheme, ..self }
    }

    /// Whether a URL, such as `Origin` and `Referer` hold, leads here.
    pub(crate) fn is_that_of(&self, url: &str) -> bool {
        let (scheme, usual, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, 80, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, 443, rest),
            _ => return false,
        };
        if self.scheme.is_some_and(|own| own != scheme) {
            return false;
        }
        let authority = rest.split(['/', '?', '#']).next().and_then(Authority::parse);
        authority
            .is_some_and(|other| other.host == self.host && other.port.unwrap_or(usual) == self.port.unwrap_or(usual))
    }
}

/// The names of this archiver.
pub(crate) struct Hosts {
    names: HashSet<HostName>,
    /// Others by which somebody came, of which the log has told.
    told: Mutex<BTreeSet<HostName>>,
}

impl Hosts {
    /// `localhost`, the machine's own names as its files have them now, and those of the configuration. DNS is not asked: it may be
    /// away when the archiver starts.
    pub(crate) fn new(own: &[HostName], url: Option<&str>) -> Hosts {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let machine = text("/proc/sys/kernel/hostname");
        let mut names = machine_names(machine.trim(), &text("/etc/hosts"), &text("/etc/resolv.conf"));
        names.extend(HostName::new("localhost"));
        names.extend(own.iter().cloned());
        // By this URL clients are told to come.
        let url = url.and_then(|url| url.split_once("://")?.1.split('/').next());
        if let Some(Authority { host: Host::Name(name), .. }) = url.and_then(Authority::parse) {
            names.insert(name);
        }
        Hosts { names, told: Mutex::default() }
    }

    /// Where a request came, unless that is no name of this archiver; nothing if it is of a time before there was `Host`, when
    /// there were none of today's browsers either.
    pub(crate) fn check(&self, version: Version, uri: &Uri, headers: &HeaderMap) -> Result<Option<Authority>, Refusal> {
        let mut given = headers.get_all(header::HOST).iter();
        let host = match (given.next(), given.next()) {
            (Some(host), None) => Some(self.own(host.to_str().unwrap_or_default())?),
            (None, _) if version < Version::HTTP_11 => None,
            (None, _) => return Err(no_host("there is no Host in the request")),
            (Some(_), Some(_)) => return Err(no_host("there is more than one Host in the request")),
        };
        // A whole URL in the first line goes before Host.
        uri.authority().map(|authority| self.own(authority.as_str())).transpose().map(|target| target.or(host))
    }

    fn own(&self, text: &str) -> Result<Authority, Refusal> {
        let Some(authority) = Authority::parse(text) else {
            return Err(no_host(format!("{text:?} is no host with or without a port")));
        };
        match &authority.host {
            Host::Name(name) if !self.names.contains(name) => Err(self.stranger(name)),
            _ => Ok(authority),
        }
    }

    fn stranger(&self, name: &HostName) -> Refusal {
        let what_to_do = format!(
            "if that is its name, put hosts = [\"{name}\"] into its config file and start it again; \
             until then it answers at its IP address and at the machine's own name"
        );
        let message = format!("this archiver is not known as {name}");
        let mut told = self.told.lock().expect("no holder of this lock panics");
        if told.len() < TOLD_MAX && told.insert(name.clone()) {
            tracing::warn!("a client is refused: {message}; {what_to_do}");
        }
        Refusal::new(Code::UnknownHost, message).hint(what_to_do)
    }
}

fn no_host(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::BadRequest, message)
}

/// A machine's name, with and without its domain: with those in which it looks for other names, and as its table of hosts has it.
fn machine_names(machine: &str, table: &str, resolver: &str) -> HashSet<HostName> {
    let Some(machine) = HostName::new(machine) else { return HashSet::new() };
    let short = machine.0.split('.').next().unwrap_or_default().to_owned();
    let mut names: HashSet<HostName> = HostName::new(&short).into_iter().collect();
    let words = |line: &str| -> Vec<String> {
        line.split('#').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    for line in table.lines().map(words) {
        let of_line: Vec<HostName> = line.iter().skip(1).filter_map(|name| HostName::new(name)).collect();
        if of_line.iter().any(|name| *name == machine || names.contains(name)) {
            names.extend(of_line);
        }
    }
    for line in resolver.lines().map(words) {
        if let Some((_, domains)) = line.split_first().filter(|(key, _)| ["search", "domain"].contains(&key.as_str())) {
            names.extend(domains.iter().filter_map(|domain| HostName::new(&format!("{short}.{domain}"))));
        }
    }
    names.insert(machine);
    names
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;

    fn hosts(names: &[&str]) -> Hosts {
        let own: Vec<HostName> = names.iter().filter_map(|name| HostName::new(name)).collect();
        Hosts::new(&own, None)
    }

    fn asked(hosts: &Hosts, version: Version, target: &str, given: &[&str]) -> Result<Option<Authority>, String> {
        let mut headers = HeaderMap::new();
        for host in given {
            headers.append(header::HOST, host.parse().unwrap());
        }
        hosts.check(version, &target.parse().unwrap(), &headers).map_err(|refusal| refusal.message().to_owned())
    }

    #[test]
    fn addresses_and_own_names_are_answered_however_they_are_written_and_others_are_not() {
        let hosts = hosts(&["archiver.lab.example"]);
        let ask = |host: &str| asked(&hosts, Version::HTTP_11, "/", &[host]);
        for own in [
            "127.0.0.1:17665",
            "10.1.2.3",
            "10.1.2.3.",
            "[::1]:17665",
            "[fe80::1%25eth0]",
            "localhost",
            "LocalHost:1",
            "archiver.lab.example",
            "ARCHIVER.lab.Example.:17665",
            "localhost:",
        ] {
            assert!(ask(own).is_ok(), "{own}");
        }
        for foreign in [
            "evil.example",
            "evil.example:17665",
            "archiver.lab.example.evil.example",
            "evil-localhost",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1.nip.io",
            "lab.example",
            "2130706433",
            "127.1",
        ] {
            let refused = ask(foreign).unwrap_err();
            assert!(refused.contains("is not known as"), "{foreign}: {refused}");
        }
        for broken in [
            "",
            ".",
            ":17665",
            "user@localhost",
            "localhost:17665@evil.example",
            "localhost/evil.example",
            "localhost, evil.example",
            "[::1",
            "[::1]x",
            "[evil.example]",
            "::1",
            "localhost:-1",
            "localhost:+1",
            "localhost:65536",
            "http://localhost",
        ] {
            let refused = ask(broken).unwrap_err();
            assert!(refused.contains("is no host"), "{broken}: {refused}");
        }
    }

    #[test]
    fn there_is_one_host_and_a_whole_url_goes_before_it() {
        let hosts = hosts(&[]);
        assert_eq!(asked(&hosts, Version::HTTP_10, "/", &[]), Ok(None));
        asked(&hosts, Version::HTTP_11, "/", &[]).unwrap_err();
        asked(&hosts, Version::HTTP_11, "/", &["localhost", "localhost"]).unwrap_err();
        asked(&hosts, Version::HTTP_10, "/", &["evil.example"]).unwrap_err();
        asked(&hosts, Version::HTTP_11, "http://evil.example/", &["localhost"]).unwrap_err();
        asked(&hosts, Version::HTTP_11, "http://localhost/", &["evil.example"]).unwrap_err();
        asked(&hosts, Version::HTTP_11, "http://me@evil.example/", &["localhost"]).unwrap_err();
        let target = asked(&hosts, Version::HTTP_11, "http://127.0.0.1:7/", &["localhost"]).unwrap().unwrap();
        assert!(target.is_that_of("http://127.0.0.1:7") && !target.is_that_of("http://localhost"));
    }

    #[test]
    fn urls_of_the_same_host_and_port_are_ours_and_no_others() {
        let ours = Authority::parse("archiver.lab.example:17665").unwrap();
        for url in [
            "http://archiver.lab.example:17665",
            "http://ARCHIVER.lab.example.:17665/x?y#z",
            "https://archiver.lab.example:17665",
        ] {
            assert!(ours.is_that_of(url), "{url}");
        }
        for url in [
            "null",
            "",
            "http://",
            "http://archiver.lab.example",
            "http://archiver.lab.example:17666/",
            "http://evil.example/archiver.lab.example:17665",
            "http://archiver.lab.example:17665@evil.example/",
            "http://archiver.lab.example:17665.evil.example/",
            "http://evil.example#archiver.lab.example:17665",
            "http://evil.example\\archiver.lab.example:17665",
            "ftp://archiver.lab.example:17665",
            "//archiver.lab.example:17665",
        ] {
            assert!(!ours.is_that_of(url), "{url}");
        }
        let plain = Authority::parse("archiver").unwrap();
        assert!(plain.is_that_of("http://archiver:80/") && plain.is_that_of("https://archiver:443/"));
        assert!(!plain.is_that_of("https://archiver:80/"));
        let sealed = plain.by(Some(Scheme::Https));
        assert!(sealed.is_that_of("https://archiver/") && !sealed.is_that_of("http://archiver/"));
        assert!(Authority::parse("[::1]:7").unwrap().is_that_of("http://[0::1]:7/"));
    }

    #[test]
    fn the_names_of_a_machine_are_those_of_its_files() {
        let table = "127.0.0.1 localhost ads.evil.example\n127.0.1.1\tarch1.lab.example arch1 archiver # as Debian has it\n10.0.0.9 ioc1\n";
        let names = |machine| {
            let mut names: Vec<_> =
                machine_names(machine, table, "# x\nsearch ctl.example\nnameserver 1.2.3.4\n").into_iter().collect();
            names.sort();
            names.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let all = ["arch1", "arch1.ctl.example", "arch1.lab.example", "archiver"];
        assert_eq!(names("arch1"), all);
        assert_eq!(names("arch1.lab.example"), all);
        assert_eq!(names("ARCH2"), ["arch2", "arch2.ctl.example"]);
        assert!(names("(none)").is_empty());
    }
}
