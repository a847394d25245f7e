//! Networks: addresses with how many of their first bits count.

use std::{fmt, net::IpAddr};

use serde::Deserialize;

/// A network like `10.1.0.0/16`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// The network that a text says; none if bits are set beyond those that count.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => {
                let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
                (address.parse().ok()?, Some(bits).filter(|_| is_number)?.parse().ok()?)
            }
            None => {
                let address: IpAddr = text.parse().ok()?;
                (address, if address.is_ipv4() { 32 } else { 128 })
            }
        };
        let network = Network { address, bits };
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most && network.first(address) == number(address)).then_some(network)
    }

    /// Whether an address is in it. One of version 4 that came as one of version 6 is what it was.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && self.first(address) == number(self.address)
    }

    fn first(&self, address: IpAddr) -> u128 {
        let width = if self.address.is_ipv4() { 32 } else { 128 };
        let dropped = width - u32::from(self.bits).min(width);
        number(address).checked_shr(dropped).unwrap_or(0).checked_shl(dropped).unwrap_or(0)
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Network, String> {
        Network::parse(&text).ok_or_else(|| {
            format!("found {text:?}, expected an address or a network like \"127.0.0.1/32\" or \"10.1.0.0/16\"")
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_share_its_bits() {
        let has = |network: &str, address: &str| Network::parse(network).unwrap().contains(address.parse().unwrap());
        for (network, address) in [
            ("127.0.0.1/32", "127.0.0.1"),
            ("127.0.0.1", "::ffff:127.0.0.1"),
            ("10.1.0.0/16", "10.1.255.255"),
            ("0.0.0.0/0", "255.1.2.3"),
            ("::1", "::1"),
            ("2001:db8::/32", "2001:db8:ffff::1"),
            ("::/0", "1::"),
        ] {
            assert!(has(network, address), "{network} {address}");
        }
        for (network, address) in [
            ("127.0.0.1/32", "127.0.0.2"),
            ("10.1.0.0/16", "10.2.0.0"),
            ("0.0.0.0/0", "::1"),
            ("2001:db8::/32", "2001:db9::"),
        ] {
            assert!(!has(network, address), "{network} {address}");
        }
        for wrong in
            ["", "localhost", "10.1.0.0/33", "10.1.0.1/16", "10.0.0.0/+8", "10.0.0.0/", "::/129", "10.0.0.0/8/8"]
        {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
    }
}
