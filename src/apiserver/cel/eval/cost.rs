//! What a call costs when it runs (cel-go's `runtimecost.go`, and `CallCost` of `k8s.io/apiserver/pkg/cel/library`).

use crate::apiserver::cel::library::Overload;
use crate::apiserver::cel::types::Type;
use crate::apiserver::cel::value::{List, Map, Value};

/// Cost of reading one character.
pub(in crate::apiserver::cel) const PER_CHARACTER: f64 = 0.1;
/// Cost of one character of a pattern, for each character that it is tried on.
pub(in crate::apiserver::cel) const PER_PATTERN_CHARACTER: f64 = 0.25;

/// The cost of a call beyond that of its arguments.
pub(super) fn call(name: &str, overload: &Overload, args: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
    let size = |index: usize| args.get(index).map_or(1, size);
    let read = |index: usize, times: u32| factor(size(index), PER_CHARACTER * f64::from(times));
    let first = overload.params.first();
    match (name, first) {
        ("check", _) => 350_000,
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", _) => {
            args.first().map_or(0, traversal)
        }
        (
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
            | "quantity" | "isQuantity" | "semver" | "isSemver" | "startsWith" | "endsWith" | "format",
            _,
        )
        | ("ip" | "bytes", Some(Type::String))
        | ("string", Some(Type::Bytes)) => read(0, 1),
        ("replace" | "split" | "ip.isCanonical", _) => read(0, 2),
        ("join", _) => factor(result.map_or(1, self::size), 2.0 * PER_CHARACTER),
        ("matches" | "find" | "findAll", _) => {
            let text = factor(size(0).saturating_add(1), PER_CHARACTER);
            text.saturating_mul(factor(size(1), PER_PATTERN_CHARACTER))
        }
        ("containsIP" | "containsCIDR", _) => contains(name, overload, size(0), size(1)),
        ("validate", _) => {
            let text = factor(size(1).saturating_add(1), PER_CHARACTER);
            text.saturating_mul(factor(256, PER_PATTERN_CHARACTER))
        }
        ("sets.contains" | "sets.intersects", _) => size(0).saturating_mul(size(1)),
        ("sets.equivalent", _) => size(0).saturating_mul(size(1)).saturating_mul(2),
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

/// The cost of walking through a value.
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
    let of = |key: &Value<'_>| {
        traversal(key) + map.get(key).and_then(Result::ok).map_or(0, |value| traversal(&value))
    };
    map.keys().iter().map(of).sum()
}
