//! Clients that may write, and whose objects are as large as a body can be.

use serde_json::{Value, json};
use windtunnel_conformance::player::Server;

/// The most elements of a list: those of a body of 3 MB.
const MOST: usize = 100_000;
/// Makes the element of a list with a number.
type Element = fn(usize) -> Value;

/// Lists and maps of built-in kinds: the path of the kind, where the list is, and its elements.
const LISTS: [(&str, &str, Element); 8] = [
    ("pods", "/spec/containers", |number| json!({ "name": format!("c{number}"), "image": "i" })),
    ("pods", "/spec/containers", |number| json!({ "name": format!("c{number}") })),
    ("pods", "/spec/volumes", |number| json!({ "name": format!("v{number}") })),
    ("pods", "/spec/tolerations", |number| json!({ "key": format!("k{number}"), "operator": "Exists" })),
    (
        "services",
        "/spec/ports",
        |number| json!({ "name": format!("p{number}"), "port": number % 65_535 + 1 }),
    ),
    (
        "endpoints",
        "/subsets",
        |number| json!({ "addresses": [{ "ip": format!("10.0.0.{}", number % 256) }] }),
    ),
    ("configmaps", "/metadata/finalizers", |number| json!(format!("f{number}"))),
    (
        "configmaps",
        "/metadata/ownerReferences",
        |number| json!({ "apiVersion": "v1", "kind": "Pod", "name": format!("p{number}"), "uid": format!("u{number}") }),
    ),
];

/// Sends a large object, which the server does not keep.
pub(super) async fn run(server: &Server, draws: &mut fastrand::Rng) {
    let (plural, pointer, element) = LISTS[draws.usize(..LISTS.len())];
    let list: Value = (0..draws.usize(..MOST)).map(element).collect();
    let mut object = json!({ "metadata": { "name": "large" }, "spec": {} });
    let (parent, field) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(parent) = object.pointer_mut(parent) {
        parent[field] = list;
    }
    let path = format!("/api/v1/namespaces/default/{plural}?dryRun=All");
    server.connect().ask(&json!({ "method": "POST", "path": path, "body": object })).await;
}
