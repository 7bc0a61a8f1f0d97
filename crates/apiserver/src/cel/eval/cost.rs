//! Run-time costs of calls (cel-go's `runtimecost.go`, and `CallCost` of `k8s.io/apiserver/pkg/cel/library`).

use super::{LIST_COST, MESSAGE_COST};
use crate::cel::library::Overload;
use crate::cel::types::Type;
use crate::cel::value::opaque::Opaque;
use crate::cel::value::{List, Map, Value};

/// Cost of reading one character.
pub(in crate::cel) const PER_CHARACTER: f64 = 0.1;
/// Cost of one character of a regular expression, multiplied by the cost of the text.
pub(in crate::cel) const PER_PATTERN_CHARACTER: f64 = 0.25;

/// The cost of a call without its arguments.
pub(super) fn call_cost(
    name: &str,
    overload: &Overload,
    args: &[Value<'_>],
    result: Option<&Value<'_>>,
) -> u64 {
    let size = |index: usize| args.get(index).map_or(1, size);
    let read = |index: usize, times: u32| factor(size(index), PER_CHARACTER * f64::from(times));
    let first = overload.params.first();
    match (name, first) {
        ("check", _) => 350_000,
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", _) => {
            args.first().map_or(0, traversal)
        }
        (
            "url"
            | "jsonpatch.escapeKey"
            | "strings.quote"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver"
            | "startsWith"
            | "endsWith"
            | "format",
            _,
        )
        | ("ip" | "bytes", Some(Type::String))
        | ("string", Some(Type::Bytes)) => read(0, 1),
        ("replace" | "split" | "ip.isCanonical", _) => read(0, 2),
        ("join", _) => factor(result.map_or(1, self::size), 2.0 * PER_CHARACTER),
        ("matches", _) if !overload.member => 1,
        ("matches" | "find" | "findAll", _) => {
            let text = factor(size(0).saturating_add(1), PER_CHARACTER);
            text.saturating_mul(factor(size(1), PER_PATTERN_CHARACTER))
        }
        ("containsIP" | "containsCIDR", _) => contains(name, overload, size(0), size(1)),
        ("validate", _) => {
            let text = factor(size(1).saturating_add(1), PER_CHARACTER);
            text.saturating_mul(factor(args.first().map_or(0, pattern), PER_PATTERN_CHARACTER))
        }
        ("fieldSelector" | "labelSelector", _) => selector(size(1)),
        ("sets.contains" | "sets.intersects", _) => size(0).saturating_mul(size(1)).saturating_add(1),
        ("sets.equivalent", _) => size(0).saturating_mul(size(1)).saturating_mul(2).saturating_add(1),
        ("slice" | "reverse" | "lists.range", _) => new_list(result.map_or(1, self::size)),
        ("flatten", _) => new_list(size(0).saturating_mul(args.get(1).map_or(1, depth))),
        ("distinct" | "sort", _) => args.first().map_or(0, all_pairs),
        ("@in", _) if matches!(args.get(1), Some(Value::List(_))) => size(1),
        ("contains", _) => read(0, 1).saturating_mul(read(1, 1)),
        ("_+_", Some(Type::String | Type::Bytes)) => factor(size(0).saturating_add(size(1)), PER_CHARACTER),
        ("_==_" | "_!=_", _) | ("_<_" | "_<=_" | "_>_" | "_>=_", Some(Type::String | Type::Bytes)) => {
            factor(size(0).min(size(1)), PER_CHARACTER)
        }
        _ => 1,
    }
}

fn contains(name: &str, overload: &Overload, network: u64, other: u64) -> u64 {
    let mut cost = factor(network.saturating_mul(2), PER_CHARACTER);
    if name == "containsCIDR" {
        cost += factor(network, PER_CHARACTER) + 1;
    }
    if matches!(overload.params.get(1), Some(Type::String)) {
        cost += factor(other, PER_CHARACTER);
    }
    cost
}

/// The cost of parsing a selector of this size. Each requirement takes at least two characters.
fn selector(size: u64) -> u64 {
    let requirements = factor(size, 0.5).saturating_mul(LIST_COST + MESSAGE_COST);
    requirements.saturating_add(factor(size, PER_CHARACTER)).saturating_add(LIST_COST)
}

/// Length of the pattern that the server assumes for a named format, in characters.
fn pattern(format: &Value<'_>) -> u64 {
    let Value::Opaque(opaque) = format else { return 0 };
    let Opaque::Format(name) = **opaque else { return 0 };
    match name {
        "dns1123Label" | "dns1123LabelPrefix" | "dns1035Label" | "dns1035LabelPrefix" => 30,
        "labelValue" => 40,
        "dns1123Subdomain" | "dns1123SubdomainPrefix" | "qualifiedName" => 60,
        "uuid" => 70,
        "byte" => 84,
        "uri" => 1103,
        _ => 71,
    }
}

/// The cost of a call that creates a list.
fn new_list(elements: u64) -> u64 {
    elements.saturating_add(1 + LIST_COST)
}

fn depth(levels: &Value<'_>) -> u64 {
    match levels {
        Value::Int(levels) => u64::try_from(*levels).unwrap_or(0),
        _ => 1,
    }
}

/// The cost of comparing every pair of elements.
pub(super) fn all_pairs(list: &Value<'_>) -> u64 {
    let count = size(list);
    let first = match list {
        Value::List(list) => list.get(0).and_then(Result::ok),
        _ => None,
    };
    let pairs = count.saturating_mul(count).saturating_mul(2);
    let texts = match first {
        Some(Value::String(_) | Value::Bytes(_)) => count.saturating_mul(count) / 10,
        _ => 0,
    };
    new_list(pairs.saturating_add(texts))
}

fn size(value: &Value<'_>) -> u64 {
    value.size().map_or(1, |size| size as u64)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are rounded, and casts saturate"
)]
fn factor(size: u64, by: f64) -> u64 {
    (size as f64 * by).ceil() as u64
}

/// The cost of traversing a value.
fn traversal(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 10,
        Value::Bytes(bytes) => bytes.len() as u64 / 10,
        Value::List(list) => list_traversal(list),
        Value::Map(map) => map_traversal(map),
        _ => 1,
    }
}

fn list_traversal(list: &List<'_>) -> u64 {
    list.iter().flatten().map(|item| traversal(&item)).sum()
}

fn map_traversal(map: &Map<'_>) -> u64 {
    let entry_cost = |key: &Value<'_>| {
        traversal(key) + map.get(key).and_then(Result::ok).map_or(0, |value| traversal(&value))
    };
    map.keys().iter().map(entry_cost).sum()
}
