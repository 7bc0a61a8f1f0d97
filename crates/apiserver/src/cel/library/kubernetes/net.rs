//! IP addresses and CIDR ranges.

use std::net::IpAddr;

use super::address;
use crate::cel::library::{Row, text};
use crate::cel::value::cidr::Cidr;
use crate::cel::value::opaque::Opaque;
use crate::cel::value::{EvalError, Outcome, Value};
use crate::gotext::quote;

/// First minor in which OpenShift's API servers have these functions (openshift/kubernetes#1911). Upstream
/// API servers have them from 1.30.
pub(in crate::cel::library) const OPENSHIFT: u32 = 27;

pub(in crate::cel::library) const ROWS: &[Row] = &[
    (OPENSHIFT, "ip(string) -> net.IP", ip),
    (OPENSHIFT, "isIP(string) -> bool", is_ip),
    (OPENSHIFT, "ip.isCanonical(string) -> bool", is_canonical),
    (OPENSHIFT, "net.IP: family() -> int", family),
    (OPENSHIFT, "net.IP: isUnspecified() -> bool", is_unspecified),
    (OPENSHIFT, "net.IP: isLoopback() -> bool", is_loopback),
    (OPENSHIFT, "net.IP: isLinkLocalMulticast() -> bool", is_link_local_multicast),
    (OPENSHIFT, "net.IP: isLinkLocalUnicast() -> bool", is_link_local_unicast),
    (OPENSHIFT, "net.IP: isGlobalUnicast() -> bool", is_global_unicast),
    (OPENSHIFT, "cidr(string) -> net.CIDR", cidr),
    (OPENSHIFT, "isCIDR(string) -> bool", is_cidr),
    (OPENSHIFT, "net.CIDR: containsIP(string) -> bool", contains_ip),
    (OPENSHIFT, "net.CIDR: containsIP(net.IP) -> bool", contains_ip),
    (OPENSHIFT, "net.CIDR: containsCIDR(string) -> bool", contains_cidr),
    (OPENSHIFT, "net.CIDR: containsCIDR(net.CIDR) -> bool", contains_cidr),
    (OPENSHIFT, "net.CIDR: ip() -> net.IP", cidr_ip),
    (OPENSHIFT, "net.CIDR: prefixLength() -> int", prefix_length),
    (OPENSHIFT, "net.CIDR: masked() -> net.CIDR", masked),
];

fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let shown = quote(text);
    let plain = text.split('%').next().unwrap_or_default();
    let address: IpAddr = plain.parse().map_err(|_| {
        let why = address::error_message(text);
        format!("IP Address {shown} parse error during conversion from string: {why}")
    })?;
    if plain.len() < text.len() {
        return Err(format!("IP address {shown} with zone value is not allowed"));
    }
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {shown} is not allowed"))
        }
        other => Ok(other),
    }
}

fn parse_cidr(text: &str) -> Result<Cidr, String> {
    const FAILED: &str = "network address parse error during conversion from string";
    parse_prefix(text).map_err(|why| format!("{FAILED}: {why}"))
}

/// Parses an address and the length of its prefix (`parseCIDR`).
fn parse_prefix(text: &str) -> Result<Cidr, String> {
    const FAILED: &str = "network address parse error during conversion from string";
    let shown = quote(text);
    let error = |why: &str| format!("{FAILED}: netip.ParsePrefix({shown}): {why}");
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| error("no '/'"))?;
    let plain = address.split('%').next().unwrap_or_default();
    let parsed: IpAddr = plain.parse().map_err(|_| error(&address::error_message(address)))?;
    if plain.len() < address.len() {
        return Err(error("IPv6 zones cannot be present in a prefix"));
    }
    let has_form = bits.len() == 1 || !bits.starts_with(['0', '+', '-']);
    let length = bits.parse::<u32>().ok().filter(|_| has_form);
    let length = length.ok_or_else(|| error(&format!("bad bits after slash: {}", quote(bits))))?;
    let most = if parsed.is_ipv4() { 32 } else { 128 };
    let prefix = u8::try_from(length).ok().filter(|prefix| *prefix <= most);
    let prefix = prefix.ok_or_else(|| error("prefix length out of range"))?;
    match parsed {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {shown} is not allowed"))
        }
        address => Ok(Cidr { address, prefix }),
    }
}

fn ip<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    parse_ip(text(args, 0)).map(|address| Value::opaque(Opaque::Ip(address))).map_err(EvalError::new)
}

fn cidr<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    parse_cidr(text(args, 0)).map(|cidr| Value::opaque(Opaque::Cidr(cidr))).map_err(EvalError::new)
}

fn is_ip<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(parse_ip(text(args, 0)).is_ok()))
}

fn is_cidr<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(parse_cidr(text(args, 0)).is_ok()))
}

fn is_canonical<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let address = parse_ip(text(args, 0)).map_err(EvalError::new)?;
    Ok(Value::Bool(address.to_string() == text(args, 0)))
}

fn address_argument(args: &[Value<'_>], index: usize) -> Result<IpAddr, EvalError> {
    match args.get(index) {
        Some(Value::String(text)) => parse_ip(text).map_err(EvalError::new),
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Ip(address) => Ok(*address),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn network(args: &[Value<'_>], index: usize) -> Result<Cidr, EvalError> {
    match args.get(index) {
        Some(Value::String(text)) => parse_cidr(text).map_err(EvalError::new),
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Cidr(cidr) => Ok(*cidr),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn family<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(if address_argument(args, 0)?.is_ipv4() { 4 } else { 6 }))
}

fn is_unspecified<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(address_argument(args, 0)?.is_unspecified()))
}

fn is_loopback<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(address_argument(args, 0)?.is_loopback()))
}

fn is_link_local_multicast<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(match address_argument(args, 0)? {
        IpAddr::V4(v4) => matches!(v4.octets(), [224, 0, 0, _]),
        IpAddr::V6(v6) => v6.octets()[0] == 0xff && v6.octets()[1] & 0x0f == 2,
    }))
}

fn link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn is_link_local_unicast<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(link_local(address_argument(args, 0)?)))
}

fn is_global_unicast<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let address = address_argument(args, 0)?;
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    let other = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    Ok(Value::Bool(!broadcast && !other && !link_local(address)))
}

fn contains_ip<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    if let Some(Value::String(text)) = args.get(1)
        && parse_ip(text).is_err()
    {
        return Err(EvalError::no_overload());
    }
    Ok(Value::Bool(network(args, 0)?.contains(address_argument(args, 1)?)))
}

fn contains_cidr<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (outer, inner) = (network(args, 0)?, network(args, 1)?);
    Ok(Value::Bool(outer.prefix <= inner.prefix && outer.contains(inner.address)))
}

fn cidr_ip<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::opaque(Opaque::Ip(network(args, 0)?.address)))
}

fn prefix_length<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(network(args, 0)?.prefix)))
}

fn masked<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::opaque(Opaque::Cidr(network(args, 0)?.masked())))
}
