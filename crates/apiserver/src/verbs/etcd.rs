//! The size limits of the etcd behind a real server: etcd accepts requests up to 1.5 MiB, and its client sends requests up
//! to 2 MiB. Bodies may be longer than that, and patches can enlarge objects.

use serde_json::Value;
use windtunnel_core::Key;

use crate::kinds::Kind;
use crate::rejection::{BoxedRejection, Outcome};
use crate::store::{FieldOwners, joined};

/// The longest request that etcd accepts (`--max-request-bytes`), in bytes.
const MAX_REQUEST: usize = 3 << 19;
/// The longest message that etcd's client sends, in bytes.
const MAX_MESSAGE: usize = 2 << 20;
/// The bytes that etcd adds to a request before it measures it: an id, and the header of the transaction.
const HEADER: usize = 16;
/// The most bytes that a byte of a string takes in JSON.
const MAX_ESCAPED: usize = 6;

/// The groups of API servers that kube-apiserver embeds. Only their keys contain the group.
const OWN_SERVERS: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];
/// An upper bound of the weight of the names `metadata` and `managedFields`.
const NAMES: usize = 48;

/// The fields that are maps from strings. Protobuf stores their keys, but not the names of other fields.
const MAPS: [&str; 12] = [
    "allocatable",
    "annotations",
    "binaryData",
    "capacity",
    "data",
    "hard",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "requests",
    "used",
];

/// Rejects an object that is too long for etcd with its key and the owners of its fields.
///
/// # Errors
/// The unchanged error of etcd or of its client, as an internal error without a reason.
pub(crate) fn check(kind: &Kind, key: &Key, object: &Value, owners: &FieldOwners) -> Outcome<()> {
    let entries = owners.entries.as_deref();
    let owners_weight = owners.known.map_or_else(|| entries.map_or(0, weight), |known| known.weight);
    if weight(object) + owners_weight + NAMES < MAX_REQUEST / MAX_ESCAPED {
        return Ok(());
    }
    // Custom resources are stored as JSON with a newline, other kinds in protobuf with a short header.
    let value = match &kind.custom {
        Some(_) => joined(object, entries).to_string().len() + 1,
        None => protobuf_length(&joined(object, entries), "") + 32,
    };
    let request = transaction_length(path(kind, key).len(), value);
    if request > MAX_MESSAGE {
        let why = format!("trying to send message larger than max ({request} vs. {MAX_MESSAGE})");
        return Err(BoxedRejection::internal(format!("rpc error: code = ResourceExhausted desc = {why}")));
    }
    if request + HEADER > MAX_REQUEST {
        return Err(BoxedRejection::internal("etcdserver: request is too large"));
    }
    Ok(())
}

/// The key of an object in etcd.
pub(super) fn path(kind: &Kind, key: &Key) -> String {
    let (group, plural) = (&*kind.resource.group, &*kind.resource.plural);
    let prefix = match (group, plural) {
        ("", "replicationcontrollers") => "controllers".to_owned(),
        ("", "endpoints") => "services/endpoints".to_owned(),
        ("", "nodes") => "minions".to_owned(),
        ("", "services") => "services/specs".to_owned(),
        ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
        _ if kind.custom.is_some() || OWN_SERVERS.contains(&group) => format!("{group}/{plural}"),
        _ => plural.to_owned(),
    };
    let namespace = if key.namespace.is_empty() { String::new() } else { format!("{}/", key.namespace) };
    format!("/registry/{prefix}/{namespace}{}", key.name)
}

/// The length of a transaction that puts a value if its key has an expected revision (`TxnRequest`).
fn transaction_length(key: usize, value: usize) -> usize {
    let condition = field_length(field_length(key) + 4);
    let put = field_length(field_length(field_length(key) + field_length(value)));
    condition + put
}

/// The length of a protobuf field with its tag and length prefix.
fn field_length(length: usize) -> usize {
    let digits = (usize::BITS - length.leading_zeros()).div_ceil(7).max(1) as usize;
    1 + digits + length
}

/// Estimates the length of a value: the lengths of its strings, and a constant for everything else. Fast to compute; at most
/// `MAX_ESCAPED` times too low.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 4,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 4,
        Value::Object(map) => map.iter().map(weight_of_field).sum::<usize>() + 4,
        _ => 8,
    }
}

fn weight_of_field((name, value): (&String, &Value)) -> usize {
    name.len() + 4 + weight(value)
}

/// The approximate length of a value in protobuf, without its tag.
fn protobuf_length(value: &Value, name: &str) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(number) => {
            number.as_u64().map_or(10, |number| field_length(number.try_into().unwrap_or(0)).min(10))
        }
        // JSON encodes bytes in base64, protobuf does not.
        Value::String(text) if name == "binaryData" => text.len() / 4 * 3,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| field_length(protobuf_length(item, name))).sum(),
        Value::Object(_) if name == "fieldsV1" => field_length(value.to_string().len()),
        Value::Object(map) if MAPS.contains(&name) => {
            let entry =
                |key: &str, value| field_length(key.len()) + field_length(protobuf_length(value, name));
            map.iter().map(|(key, value)| field_length(entry(key, value))).sum()
        }
        Value::Object(map) => {
            map.iter().map(|(name, value)| field_length(protobuf_length(value, name))).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn protobuf_length_counts_keys_but_no_field_names() {
        assert_eq!(protobuf_length(&json!({ "a_long_name": "abc" }), ""), 5);
        assert_eq!(protobuf_length(&json!({ "labels": { "key": "abc" } }), ""), 2 + 2 + 5 + 5);
        assert_eq!(protobuf_length(&json!({ "binaryData": { "k": "YWJj" } }), ""), 2 + 2 + 3 + 5);
    }

    #[test]
    fn weight_is_at_most_six_times_too_low() {
        let object = json!({ "spec": { "list": ["\u{1}".repeat(1000), null, 1.5, true] } });
        assert!(weight(&object) * MAX_ESCAPED >= object.to_string().len());
    }
}
