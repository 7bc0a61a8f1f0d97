//! Parses signatures: `string: indexOf(string, int) -> int` is a method of strings, `size(list(T)) -> int` a
//! function.
//!
//! `list(#): min() -> # for int uint` represents one signature for each of the named types.

use super::{Overload, Row};
use crate::cel::types::Type;

const OPAQUE: [&str; 11] = [
    "kubernetes.URL",
    "net.IP",
    "net.CIDR",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.NamedFormat",
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
];

/// Returns the overloads of a row, each with the name of its function.
pub(super) fn parse_row((since, signature, run): &Row) -> Vec<(String, Overload)> {
    let (pattern, types) = signature.split_once(" for ").unwrap_or((signature, "#"));
    types
        .split_whitespace()
        .filter_map(|type_name| {
            let (name, member, params, result) = parse(&pattern.replace('#', type_name))?;
            let open = params.iter().chain([&result]).map(open_types).max().unwrap_or(0);
            Some((name, Overload { member, params, result, open, since: *since, run: *run }))
        })
        .collect()
}

fn parse(signature: &str) -> Option<(String, bool, Vec<Type>, Type)> {
    let (call, result) = signature.rsplit_once(" -> ")?;
    let (target, call) = match call.split_once(": ") {
        Some((target, call)) => (Some(parse_type(target)), call),
        None => (None, call),
    };
    let (name, params) = call.strip_suffix(')')?.split_once('(')?;
    let member = target.is_some();
    let params = target.into_iter().chain(split(params).into_iter().map(parse_type)).collect();
    Some((name.to_owned(), member, params, parse_type(result)))
}

/// Splits at the commas of the outermost level.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn parse_type(text: &str) -> Type {
    if let Some((name, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let mut params = split(inner).into_iter().map(parse_type);
        let mut next = || params.next().unwrap_or(Type::Dyn);
        return match name {
            "list" => Type::list(next()),
            "map" => {
                let keys = next();
                Type::map(keys, next())
            }
            "optional" => Type::optional(next()),
            _ => Type::Type(Some(std::sync::Arc::new(next()))),
        };
    }
    match text {
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "T" => Type::Param(0),
        "U" => Type::Param(1),
        other => OPAQUE
            .iter()
            .find(|name| **name == other)
            .map_or(Type::Dyn, |name| Type::Opaque(name, Vec::new())),
    }
}

/// The number of type parameters up to the highest one that a type mentions.
fn open_types(ty: &Type) -> u32 {
    match ty {
        Type::Param(number) => number + 1,
        other => other.parameters().into_iter().map(open_types).max().unwrap_or(0),
    }
}
