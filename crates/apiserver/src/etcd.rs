//! What the database behind a real server refuses: etcd takes requests of 1.5 MiB at most, and its client sends none of
//! more than 2 MiB. Bodies may be longer than that, and patches make objects grow.

use serde_json::Value;
use windtunnel_core::Key;

use super::kinds::Kind;
use super::status::{Outcome, Refused};
use super::store::{Owned, joined};

/// The longest request that etcd takes (`--max-request-bytes`), in bytes.
const TAKEN: usize = 3 << 19;
/// The longest message that etcd's client sends, in bytes.
const SENT: usize = 2 << 20;
/// What etcd adds to a request before it measures it: a number, and the head of the transaction.
const HEADER: usize = 16;
/// Bytes that one byte of text takes at most in JSON.
const WORST: usize = 6;

/// More than what the names `metadata` and `managedFields` weigh.
const NAMES: usize = 48;

/// Fields that are maps of texts; of all others the names are not stored in protobuf.
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

/// Refuses an object that is too long to be stored under its key with these owners of its fields.
///
/// # Errors
/// The error of etcd, or of its client, passed on as it is: an internal error without a reason.
pub(crate) fn check(kind: &Kind, key: &Key, object: &Value, owners: &Owned) -> Outcome<()> {
    let entries = owners.entries.as_deref();
    let beside = owners.known.map_or_else(|| entries.map_or(0, weight), |known| known.weight);
    if weight(object) + beside + NAMES < TAKEN / WORST {
        return Ok(());
    }
    // Custom resources are stored as JSON with a line's end, others in protobuf with a short head.
    let value = match &kind.custom {
        Some(_) => joined(object, entries).to_string().len() + 1,
        None => message(&joined(object, entries), "") + 32,
    };
    let request = transaction(path(kind, key).len(), value);
    if request > SENT {
        let why = format!("trying to send message larger than max ({request} vs. {SENT})");
        return Err(Refused::internal(format!("rpc error: code = ResourceExhausted desc = {why}")));
    }
    if request + HEADER > TAKEN {
        return Err(Refused::internal("etcdserver: request is too large"));
    }
    Ok(())
}

fn path(kind: &Kind, key: &Key) -> String {
    let group = if kind.custom.is_some() { format!("{}/", kind.resource.group) } else { String::new() };
    format!("/registry/{group}{}/{}/{}", kind.resource.plural, key.namespace, key.name)
}

/// The length of a transaction that puts a value if its key is at an expected revision (`TxnRequest`).
fn transaction(key: usize, value: usize) -> usize {
    let condition = field(field(key) + 4);
    let put = field(field(field(key) + field(value)));
    condition + put
}

/// A field of a number of bytes, with its tag and length.
fn field(length: usize) -> usize {
    let digits = (usize::BITS - length.leading_zeros()).div_ceil(7).max(1) as usize;
    1 + digits + length
}

/// All texts of an object, and a little for everything else: quickly counted, and not much less than its length.
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

/// About the length of a value in protobuf, without its own tag.
fn message(value: &Value, name: &str) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(number) => {
            number.as_u64().map_or(10, |number| field(number.try_into().unwrap_or(0)).min(10))
        }
        // Bytes are in base64 in JSON alone.
        Value::String(text) if name == "binaryData" => text.len() / 4 * 3,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| field(message(item, name))).sum(),
        Value::Object(_) if name == "fieldsV1" => field(value.to_string().len()),
        Value::Object(map) if MAPS.contains(&name) => {
            map.iter().map(|(key, value)| field(field(key.len()) + field(message(value, name)))).sum()
        }
        Value::Object(map) => map.iter().map(|(name, value)| field(message(value, name))).sum(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_fields_do_not_count_in_protobuf_and_keys_do() {
        assert_eq!(message(&json!({ "a_long_name": "abc" }), ""), 5);
        assert_eq!(message(&json!({ "labels": { "key": "abc" } }), ""), 2 + 2 + 5 + 5);
        assert_eq!(message(&json!({ "binaryData": { "k": "YWJj" } }), ""), 2 + 2 + 3 + 5);
    }

    #[test]
    fn the_quick_count_is_never_so_low_that_a_long_object_passes_unseen() {
        let object = json!({ "spec": { "list": ["\u{1}".repeat(1000), null, 1.5, true] } });
        assert!(weight(&object) * WORST >= object.to_string().len());
    }
}
