//! Random bytes as bodies, in every content type.

use prost::encoding;
use serde_json::json;
use windtunnel_apiserver::{Body, Method, Request};
use windtunnel_core::Identity;

use super::campaign::campaign;
use super::checked_server::{APPLY, JSON, MERGE, STRATEGIC, now, send, server};
use super::dice::Dice;
use super::readers::damaged;
use crate::apiserver::requests::{define, definition};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const TYPES: &[&str] = &[
    "",
    "application/json",
    "application/yaml",
    PROTOBUF,
    PROTOBUF,
    "application/cbor",
    "application/apply-patch+cbor",
    "application/json; charset=utf-8",
    "application/vnd.kubernetes.protobuf;stream=watch",
    APPLY,
    JSON,
    MERGE,
    STRATEGIC,
    "text/plain",
    ";",
    "application/json, application/yaml",
    "a/b/c",
];
const TARGETS: &[(Method, &str)] = &[
    (Method::Post, "/api/v1/namespaces/default/configmaps"),
    (Method::Post, "/api/v1/namespaces/default/pods"),
    (Method::Put, "/api/v1/namespaces/default/configmaps/a"),
    (Method::Patch, "/api/v1/namespaces/default/configmaps/a?fieldManager=f"),
    (Method::Patch, "/apis/example.io/v1/versions/version?fieldManager=f"),
    (Method::Post, "/apis/example.io/v1/versions"),
    (Method::Post, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
    (Method::Post, "/api/v1/namespaces/default/services"),
    (Method::Post, "/apis/apps/v1/namespaces/default/deployments"),
    (Method::Post, "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    (Method::Post, "/apis/authentication.k8s.io/v1/tokenreviews"),
    (Method::Post, "/api/v1/namespaces/default/serviceaccounts/default/token"),
    (Method::Post, "/api/v1/namespaces/default/pods/a/eviction"),
    (Method::Post, "/api/v1/namespaces/default/pods/a/binding"),
    (Method::Put, "/apis/apps/v1/namespaces/default/deployments/d/scale"),
    (Method::Put, "/api/v1/namespaces/default/finalize"),
    (Method::Delete, "/api/v1/namespaces/default/configmaps/a"),
    (Method::Delete, "/api/v1/namespaces/default/configmaps"),
];
const YAML: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {a: \"1\"}}\ndata:\n  k: |\n    text\n  \
                    n: !!str 1\n  o: *l\n  ? x\n  : y\n---\na: b\n";

/// Protobuf fields with random numbers and wire types, some of them nested.
fn message(dice: &mut Dice, depth: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..dice.number(0, 4) {
        let field = {
            let most = if dice.one_in(8) { 1 << 20 } else { 12 };
            dice.number(1, most)
        };
        match dice.number(0, if depth == 0 { 3 } else { 6 }) {
            0 => {
                encoding::encode_varint(field << 3, &mut bytes);
                encoding::encode_varint(dice.integer().unsigned_abs(), &mut bytes);
            }
            1 => {
                encoding::encode_varint(field << 3 | dice.number(0, 7), &mut bytes);
                bytes.extend(dice.integer().to_le_bytes());
            }
            kind => {
                let text = ["a", "default", "true", "1", "\u{e9}", "{\"a\":1}"];
                let inner =
                    if kind < 4 { dice.pick(&text).as_bytes().to_vec() } else { message(dice, depth - 1) };
                encoding::encode_varint(field << 3 | 2, &mut bytes);
                encoding::encode_varint(inner.len() as u64, &mut bytes);
                bytes.extend(inner);
            }
        }
    }
    bytes
}

/// Fields in the envelope of Kubernetes (`k8s.io/apimachinery/pkg/runtime/generated.proto`, `Unknown`).
fn envelope(dice: &mut Dice) -> Vec<u8> {
    let kinds =
        [("v1", "ConfigMap"), ("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "DeleteOptions"), ("", "")];
    let (version, kind) = kinds[dice.index(kinds.len())];
    let mut what = Vec::new();
    encoding::string::encode(1, &version.to_owned(), &mut what);
    encoding::string::encode(2, &kind.to_owned(), &mut what);
    let mut bytes = b"k8s\0".to_vec();
    if !dice.one_in(6) {
        encoding::bytes::encode(1, &what, &mut bytes);
    }
    encoding::bytes::encode(2, &message(dice, 5), &mut bytes);
    bytes
}

fn text(dice: &mut Dice) -> Vec<u8> {
    let good = [
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "\u{1f980}\\u0041" } }),
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" },
            "spec": { "containers": [{ "name": "c", "image": "i" }] } }),
        json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" }, "spec": {} }),
        definition(&["a"], true),
        json!([{ "op": "replace", "path": "/data", "value": { "k": "w" } }]),
    ];
    match dice.number(0, 4) {
        0 => YAML.as_bytes().to_vec(),
        1 => {
            let (open, close) = [("[", "]"), ("{\"data\":", "}"), ("- ", ""), ("{a: ", "}")][dice.index(4)];
            let depth = dice.count(1, 3000);
            (open.repeat(depth) + "1" + &close.repeat(depth)).into_bytes()
        }
        _ => good[dice.index(good.len())].to_string().into_bytes(),
    }
}

#[test]
fn unusual_bytes_get_valid_responses() {
    campaign("bodies::unusual_bytes_get_valid_responses", 12, |seed| {
        let mut dice = Dice::new("bodies", seed);
        let mut server = server(dice.minor());
        define(&mut server, definition(&["a", "b"], true));
        let admin = Identity::admin();
        for _ in 0..200 {
            let (method, path) = TARGETS[dice.index(TARGETS.len())];
            let media = dice.pick(TYPES);
            let bytes = if media.starts_with(PROTOBUF) && !dice.one_in(6) {
                envelope(&mut dice)
            } else {
                text(&mut dice)
            };
            let bytes = if dice.one_in(4) { bytes } else { damaged(&mut dice, &[bytes]) };
            let mut request = Request::new(method, path, &admin).with_content_type(media);
            request.body = Body::Bytes(bytes.into());
            send(&mut server, &request)?;
        }
        Ok(())
    });
    // The server does not guess a format that the media type does not name.
    let mut server = server(36);
    let admin = Identity::admin();
    let request = Request::new(Method::Post, TARGETS[0].1, &admin).with_content_type("application/cbor");
    assert_eq!(server.handle(&request, now()).code, 415);
}
