//! Validation of the addresses of pods and of their hosts.

use std::net::IpAddr;

use serde_json::Value;

use crate::kinds::validation::pods::names::{address, parse_address};
use crate::kinds::validation::{Errors, Path, items, text};

/// Validates the addresses of a pod (`validatePodIPs`).
pub(super) fn pod_addresses(status: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    addresses(&status["podIPs"], &old["podIPs"], at.child("podIPs"), errors);
}

/// Validates the addresses of the host; the first one is `hostIP` (`validateHostIPs`).
pub(super) fn host_addresses(status: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("hostIPs");
    let Some(first) = items(&status["hostIPs"]).first() else { return };
    let first = text(&first["ip"]);
    if text(&status["hostIP"]) != first {
        errors.invalid(at.index(0).child("ip"), first, "must be equal to `hostIP`");
    }
    addresses(&status["hostIPs"], &old["hostIPs"], at, errors);
}

/// Requires valid addresses, at most one of each family.
fn addresses(list: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let known: Vec<&str> = items(old).iter().map(|one| text(&one["ip"])).collect();
    for (index, one) in items(list).iter().enumerate() {
        address(text(&one["ip"]), &known, at.index(index), errors);
    }
    let count = items(list).len();
    if count < 2 {
        return;
    }
    let parsed: Vec<Option<IpAddr>> = items(list).iter().map(|one| parse_address(text(&one["ip"]))).collect();
    if let Some(index) = parsed.iter().position(Option::is_none) {
        let given = text(&items(list)[index]["ip"]);
        let why = format!("failed to check for dual stack with error:invalid IP[{index}]: {given}");
        errors.internal(at, why);
    }
    let has = |v4: bool| parsed.iter().flatten().any(|address| address.is_ipv4() == v4);
    let is_dual = parsed.iter().all(Option::is_some) && has(true) && has(false);
    if !is_dual || count > 2 {
        let shown: Vec<String> =
            items(list).iter().map(|one| format!("{{\"IP\":{}}}", Value::from(text(&one["ip"])))).collect();
        let shown = format!("[{}]", shown.join(","));
        errors.invalid_shown(at, shown.clone(), shown, "may specify no more than one IP for each IP family");
    }
}
