//! Validation of services, endpoints, ingresses, network policies and the addresses of services.

mod allocation;
pub(super) mod endpoints;
pub(super) mod ingress;
pub(crate) mod ip;
pub(super) mod load_balancer;
pub(super) mod network_policy;
pub(crate) mod service;
pub(super) mod warnings;

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::{Errors, Path, text};
use crate::names;

pub(super) use allocation::{ip_address, service_cidr};

pub(super) const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";

/// Requires the number of a port (`IsValidPortNum`).
fn port_number(number: i64, at: Path<'_>, errors: &mut Errors<'_>) {
    if !(1..=65535).contains(&number) {
        errors.invalid(at, number, PORT_RANGE);
    }
}

/// Validates the number or the name of a port, if there is one (`ValidatePortNumOrName`).
pub(super) fn port(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match value {
        Value::Number(number) => port_number(number.as_i64().unwrap_or(0), at, errors),
        Value::String(name) => errors.each(at, name, names::port_name(name)),
        _ => {}
    }
}

/// Validates a map of labels (`ValidateLabels`).
pub(super) fn label_map(labels: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.each(at, key, names::labels::label_key(key));
        errors.each(at, text(value), names::labels::label_value(text(value)));
    }
}

/// Validates the protocol of the application behind a port, which is a qualified name.
fn application_protocol(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(protocol) = value.as_str() {
        errors.each(at, protocol, names::labels::label_key(protocol));
    }
}
