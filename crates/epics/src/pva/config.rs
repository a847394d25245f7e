//! How a client finds servers and how long it waits for them: `EPICS_PVA_*`, or the same from a config file.

use std::{net::SocketAddr, time::Duration};

use crate::addr::{AddrError, Variables};

/// What a client must be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Hosts and broadcast addresses to which searches go (`EPICS_PVA_ADDR_LIST`).
    pub addresses: Vec<SocketAddr>,
    /// Whether searches also go to the broadcast address of every interface (`EPICS_PVA_AUTO_ADDR_LIST`).
    pub auto_addresses: bool,
    /// The UDP port of searches and beacons (`EPICS_PVA_BROADCAST_PORT`).
    pub broadcast_port: u16,
    /// The TCP port of name servers that are given without one (`EPICS_PVA_SERVER_PORT`).
    pub server_port: u16,
    /// Servers that answer searches by TCP (`EPICS_PVA_NAME_SERVERS`).
    pub name_servers: Vec<SocketAddr>,
    /// How long a server may be silent (`EPICS_PVA_CONN_TMO`).
    pub silence_max: Duration,
    /// What large messages of all servers may take: two thirds of it while they arrive, so that none can be larger, and a third of it
    /// the last values of all monitors.
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
            broadcast_port: 5076,
            server_port: 5075,
            name_servers: Vec::new(),
            silence_max: Duration::from_secs(30),
            messages_bytes_max: 512 << 20,
            user: "pvark".to_owned(),
            host: "localhost".to_owned(),
        }
    }
}

impl Config {
    /// Reads the variables; what is not set has the default of EPICS.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Config, AddrError> {
        let variables = Variables(get);
        let mut config = Config::default();
        variables.port("EPICS_PVA_BROADCAST_PORT", &mut config.broadcast_port)?;
        variables.port("EPICS_PVA_SERVER_PORT", &mut config.server_port)?;
        variables.list("EPICS_PVA_ADDR_LIST", config.broadcast_port, &mut config.addresses)?;
        variables.switch("EPICS_PVA_AUTO_ADDR_LIST", &mut config.auto_addresses)?;
        variables.list("EPICS_PVA_NAME_SERVERS", config.server_port, &mut config.name_servers)?;
        let expected = "seconds from 1 to 86400";
        variables.seconds("EPICS_PVA_CONN_TMO", &(1.0..=86_400.0), expected, &mut config.silence_max)?;
        config.user = variables.text("USER").or_else(|| variables.text("LOGNAME")).unwrap_or(config.user);
        config.host = variables.text("HOSTNAME").unwrap_or(config.host);
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> Result<Config, AddrError> {
        Config::from_env(|key| pairs.iter().find(|(k, _)| *k == key).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn the_ports_are_the_defaults_of_the_lists() {
        let config = from(&[
            ("EPICS_PVA_ADDR_LIST", "127.0.0.1 127.0.0.1:9"),
            ("EPICS_PVA_NAME_SERVERS", "127.0.0.1"),
            ("EPICS_PVA_BROADCAST_PORT", "26076"),
            ("EPICS_PVA_SERVER_PORT", "26075"),
            ("EPICS_PVA_AUTO_ADDR_LIST", "NO"),
            ("EPICS_PVA_CONN_TMO", "5.5"),
        ])
        .unwrap();
        assert_eq!(config.addresses, ["127.0.0.1:26076", "127.0.0.1:9"].map(|a| a.parse().unwrap()));
        assert_eq!(config.name_servers, ["127.0.0.1:26075".parse().unwrap()]);
        assert_eq!((config.auto_addresses, config.silence_max), (false, Duration::from_millis(5500)));
    }

    #[test]
    fn nothing_set_means_the_defaults_of_epics_and_nonsense_is_refused() {
        assert_eq!(from(&[("EPICS_PVA_ADDR_LIST", " ")]).unwrap(), Config::default());
        assert!(from(&[("EPICS_PVA_CONN_TMO", "NaN")]).is_err());
        assert!(from(&[("EPICS_PVA_CONN_TMO", "0")]).is_err());
    }
}
