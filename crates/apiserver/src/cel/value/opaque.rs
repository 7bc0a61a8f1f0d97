//! Values of library types.

use std::net::IpAddr;

use super::cidr::Cidr;
use super::quantity::CelQuantity;
use crate::gotext::url::Url;

/// A semantic version. Comparisons ignore the build metadata.
#[derive(Debug, Clone)]
pub(crate) struct Semver(pub(crate) semver::Version);

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.0.cmp_precedence(&other.0).is_eq()
    }
}

/// A value of a library type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Opaque {
    Url(Url),
    Ip(IpAddr),
    Cidr(Cidr),
    Quantity(CelQuantity),
    Semver(Semver),
    /// A named format.
    Format(&'static str),
}

impl Opaque {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// The length of an address in bytes, because costs depend on it.
    pub(crate) fn size(&self) -> Option<usize> {
        let byte_count = |address: &IpAddr| if address.is_ipv4() { 4 } else { 16 };
        match self {
            Self::Ip(address) => Some(byte_count(address)),
            Self::Cidr(cidr) => Some(byte_count(&cidr.address)),
            _ => None,
        }
    }
}
