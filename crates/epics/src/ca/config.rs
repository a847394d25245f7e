//! Where a client searches and how patient it is.

use std::{net::SocketAddr, time::Duration};

use crate::addr::{AddrError, Variables};

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
