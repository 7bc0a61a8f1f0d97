//! Values of library types.

use std::net::IpAddr;

use super::Row;
use crate::cel::library::kubernetes::net::Cidr;
use crate::cel::library::kubernetes::quantity::CelQuantity;
use crate::cel::library::kubernetes::semver::Semver;
use crate::gotext::url::Url;

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

/// Empty: each library defines the functions of its own type.
pub(super) const ROWS: &[Row] = &[];
