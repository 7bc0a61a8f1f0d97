//! The network from which services get their addresses.

use std::net::Ipv4Addr;
use std::str::FromStr;

/// The addresses of services (`--service-cluster-ip-range`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceNetwork {
    first: u32,
    size: u32,
}

impl Default for ServiceNetwork {
    /// That of a kube-apiserver without the flag: 10.0.0.0/24.
    fn default() -> Self {
        Self { first: u32::from(Ipv4Addr::new(10, 0, 0, 0)), size: 1 << 8 }
    }
}

impl ServiceNetwork {
    /// The network of `address` with this prefix; `None` where it has room for no service, or for more than a kube-apiserver takes
    /// (`/12`).
    pub fn new(address: Ipv4Addr, prefix: u8) -> Option<Self> {
        if !(12..=30).contains(&prefix) {
            return None;
        }
        let size = 1_u32 << (32 - u32::from(prefix));
        Some(Self { first: u32::from(address) & !(size - 1), size })
    }

    /// The network as a flag or a ServiceCIDR has it.
    pub(crate) fn range(self) -> String {
        format!("{}/{}", Ipv4Addr::from(self.first), self.size.leading_zeros() + 1)
    }

    /// The address of the API server itself: the first of the network.
    pub(crate) fn first_address(self) -> Ipv4Addr {
        Ipv4Addr::from(self.first + 1)
    }

    /// Size of the band of addresses for services that request a certain address. Other services get these last
    /// (`calculateRangeOffset`).
    fn static_band(self) -> u32 {
        if self.size < 16 { 0 } else { (self.size / 16).clamp(16, 256) }
    }

    /// All addresses in the order in which services get them.
    pub(crate) fn addresses(self) -> impl Iterator<Item = Ipv4Addr> {
        let band = self.static_band().max(1);
        (band..self.size - 1).chain(1..band).map(move |place| Ipv4Addr::from(self.first + place))
    }

    pub(super) fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address).checked_sub(self.first).is_some_and(|place| place < self.size)
    }
}

impl FromStr for ServiceNetwork {
    type Err = String;

    /// Reads a range such as `10.96.0.0/16`.
    fn from_str(text: &str) -> Result<Self, String> {
        let network = text
            .split_once('/')
            .and_then(|(address, prefix)| Self::new(address.parse().ok()?, prefix.parse().ok()?));
        network.ok_or_else(|| format!("expected an IPv4 range such as 10.96.0.0/16, found `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_gives_the_addresses_above_the_static_band_first() {
        let network: ServiceNetwork = "10.96.0.7/24".parse().unwrap();
        assert_eq!(network.first_address().to_string(), "10.96.0.1");
        let addresses: Vec<String> = network.addresses().map(|one| one.to_string()).collect();
        assert_eq!((addresses.len(), &*addresses[0], &*addresses[238]), (254, "10.96.0.16", "10.96.0.254"));
        assert_eq!(addresses[239], "10.96.0.1");
        assert!(
            network.contains(Ipv4Addr::new(10, 96, 0, 255)) && !network.contains(Ipv4Addr::new(10, 96, 1, 0))
        );
    }

    #[test]
    fn ranges_without_room_are_rejected() {
        for text in ["10.0.0.0", "10.0.0.0/31", "10.0.0.0/8", "fd00::/112", "x/24"] {
            assert!(text.parse::<ServiceNetwork>().is_err(), "{text}");
        }
    }
}
