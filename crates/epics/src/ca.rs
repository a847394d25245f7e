//! Channel Access: the client, its messages and its values.
//!
//! [`Client`] is what most users want. The parts below it own no socket and no clock, for tests and other runtimes:
//! [`wire`] has the messages, [`dbr`] the values, [`search`] finds servers, [`beacon`] hears new ones, [`circuit`]
//! talks with one server.

use std::{net::SocketAddr, ops::BitOr, time::Duration};

use crate::addr::{AddrError, Variables};

pub mod beacon;
pub mod circuit;
pub mod dbr;
pub mod filter;
#[cfg(feature = "put")]
pub mod put;
pub(crate) mod restarts;
pub mod search;
#[cfg(feature = "server")]
pub mod server;
pub mod wire;

pub use crate::net::ca::Client;

/// Where to search and how patient to be. The names in parentheses are those of EPICS' environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Servers, gateways and broadcast addresses to search (`EPICS_CA_ADDR_LIST`).
    pub addresses: Vec<SocketAddr>,
    /// Search the broadcast addresses of this host's interfaces too (`EPICS_CA_AUTO_ADDR_LIST`, default yes).
    pub auto_addresses: bool,
    /// The port of servers where the address list names none (`EPICS_CA_SERVER_PORT`, default 5064).
    pub server_port: u16,
    /// The port of the repeater that passes on beacons (`EPICS_CA_REPEATER_PORT`, default 5065).
    pub repeater_port: u16,
    /// Servers to search by TCP (`EPICS_CA_NAME_SERVERS`).
    pub name_servers: Vec<SocketAddr>,
    /// How long a server may be silent before it is asked for a sign of life (`EPICS_CA_CONN_TMO`, default 30 s); it is given up 5 s later.
    pub silence_max: Duration,
    /// The longest wait between two searches for a name (`EPICS_CA_MAX_SEARCH_PERIOD`, default 300 s,
    /// at least 60 s).
    pub search_period_max: Duration,
    /// What large messages of all servers may take while they arrive and are taken apart: twice the largest there can be.
    pub messages_bytes_max: usize,
    /// Who the client says it is, for access security (`USER`).
    pub user: String,
    /// The host the client says it runs on, for access security (`HOSTNAME`).
    pub host: String,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            addresses: Vec::new(),
            auto_addresses: true,
            server_port: 5064,
            repeater_port: 5065,
            name_servers: Vec::new(),
            silence_max: Duration::from_secs(30),
            search_period_max: Duration::from_secs(300),
            messages_bytes_max: 512 << 20,
            user: "pvark".to_owned(),
            host: "localhost".to_owned(),
        }
    }
}

impl Config {
    /// Reads the variables that every Channel Access client reads; `get` looks one up.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Config, AddrError> {
        let variables = Variables(get);
        let mut config = Config::default();
        variables.port("EPICS_CA_SERVER_PORT", &mut config.server_port)?;
        variables.port("EPICS_CA_REPEATER_PORT", &mut config.repeater_port)?;
        variables.switch("EPICS_CA_AUTO_ADDR_LIST", &mut config.auto_addresses)?;
        variables.list("EPICS_CA_ADDR_LIST", config.server_port, &mut config.addresses)?;
        variables.list("EPICS_CA_NAME_SERVERS", config.server_port, &mut config.name_servers)?;
        let expected = "a number of seconds from 0.1 to 1e6";
        variables.seconds("EPICS_CA_CONN_TMO", &(0.1..1e6), expected, &mut config.silence_max)?;
        variables.seconds("EPICS_CA_MAX_SEARCH_PERIOD", &(0.1..1e6), expected, &mut config.search_period_max)?;
        config.search_period_max = config.search_period_max.max(SEARCH_PERIOD_LEAST);
        config.user = variables.text("USER").unwrap_or(config.user);
        config.host = variables.text("HOSTNAME").unwrap_or(config.host);
        Ok(config)
    }
}

/// EPICS raises shorter search periods to this, so that many clients together remain no burden.
const SEARCH_PERIOD_LEAST: Duration = Duration::from_secs(60);

/// What is subscribed to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Monitor {
    /// Which changes of the value are sent. Changes of units, limits and labels always are.
    pub mask: Mask,
    /// How far a number must move, if the IOC can apply that; `Event::Filtered` says that it does. Changes of alarm are sent
    /// all the same. Some updates come twice.
    pub deadband: Option<filter::Deadband>,
    /// How arrays of characters are delivered.
    pub char_arrays: CharArrays,
}

/// Kinds of change, joined with `|`.
///
/// The default is `ARCHIVE | ALARM`. `ARCHIVE` follows the dead band that the IOC's engineer set for archiving (`ADEL`, by
/// default none), `ALARM` adds changes of severity within it. `VALUE` would follow the dead band for displays (`MDEL`)
/// instead, so what is stored would depend on how smooth a display should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(u16);

impl Mask {
    /// Changes beyond the dead band for displays (`MDEL`).
    pub const VALUE: Mask = Mask(1);
    /// Changes beyond the dead band for archives (`ADEL`).
    pub const ARCHIVE: Mask = Mask(2);
    /// Changes of alarm severity or status.
    pub const ALARM: Mask = Mask(4);
    /// Changes of units, limits and labels, as updates of the value.
    pub const PROPERTY: Mask = Mask(8);

    /// The bits on the wire.
    pub fn bits(self) -> u16 {
        self.0
    }
}

impl Default for Mask {
    fn default() -> Mask {
        Mask::ARCHIVE | Mask::ALARM
    }
}

impl BitOr for Mask {
    type Output = Mask;

    fn bitor(self, other: Mask) -> Mask {
        Mask(self.0 | other.0)
    }
}

/// How arrays of characters are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CharArrays {
    /// As text where the name ends with `$` (`X.DESC$`: "long string"), else as bytes.
    #[default]
    ByName,
    /// As text: for records that keep text in a waveform of characters.
    Text,
    /// As bytes.
    Bytes,
}

/// What a client has done since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Names that no server has been found for.
    pub searching: u64,
    /// Names asked for, each time.
    pub searches: u64,
    /// Datagrams they went in, before they were sent to each address.
    pub search_datagrams: u64,
    /// Replies that led to a connection.
    pub search_replies: u64,
    /// Replies for names that another server had claimed first, or that were no longer wanted.
    pub late_replies: u64,
    /// Beacons of servers that are new or were restarted.
    pub beacon_anomalies: u64,
    /// Circuits that are connected now.
    pub circuits: u64,
    /// Circuits that were connected, ever.
    pub circuits_opened: u64,
    /// Circuits that were lost or could not be connected.
    pub circuits_lost: u64,
    /// Bytes received on circuits.
    pub bytes: u64,
    /// Messages received on circuits.
    pub messages: u64,
    /// Values received.
    pub updates: u64,
    /// Messages that held nonsense.
    pub protocol_errors: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_read_as_other_clients_read_it() {
        let config = Config::from_env(|key| {
            let text = match key {
                "EPICS_CA_ADDR_LIST" => "10.0.0.255 10.1.0.7:5164",
                "EPICS_CA_AUTO_ADDR_LIST" => "no",
                "EPICS_CA_SERVER_PORT" => "6064",
                "EPICS_CA_NAME_SERVERS" => "10.2.0.1",
                "EPICS_CA_CONN_TMO" => "15.5",
                "EPICS_CA_MAX_SEARCH_PERIOD" => "5",
                _ => return None,
            };
            Some(text.to_owned())
        });
        let expected = Config {
            addresses: vec!["10.0.0.255:6064".parse().unwrap(), "10.1.0.7:5164".parse().unwrap()],
            auto_addresses: false,
            server_port: 6064,
            name_servers: vec!["10.2.0.1:6064".parse().unwrap()],
            silence_max: Duration::from_millis(15_500),
            search_period_max: Duration::from_secs(60),
            ..Config::default()
        };
        assert_eq!(config, Ok(expected));
    }

    #[test]
    fn nonsense_in_the_environment_is_named() {
        let refused = |key: &'static str, text: &'static str| {
            Config::from_env(|asked| (asked == key).then(|| text.to_owned())).unwrap_err().to_string()
        };
        assert_eq!(
            refused("EPICS_CA_CONN_TMO", "soon"),
            "EPICS_CA_CONN_TMO is \"soon\", expected a number of seconds from 0.1 to 1e6"
        );
        assert!(refused("EPICS_CA_CONN_TMO", "inf").contains("EPICS_CA_CONN_TMO"));
    }
}
