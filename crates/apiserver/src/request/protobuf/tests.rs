//! Tests of bodies as Go clients write them, encoded field by field with prost.

use proptest::prelude::*;
use prost::encoding;
use serde_json::json;

use super::*;
use crate::facts::{EMBEDDED, FieldKind, Scalar};

/// A message under construction.
#[derive(Default, Clone)]
struct Message(Vec<u8>);

impl Message {
    fn text(mut self, number: u32, text: &str) -> Self {
        encoding::string::encode(number, &text.to_owned(), &mut self.0);
        self
    }

    fn int(mut self, number: u32, value: i64) -> Self {
        encoding::int64::encode(number, &value, &mut self.0);
        self
    }

    fn flag(self, number: u32, flag: bool) -> Self {
        self.int(number, i64::from(flag))
    }

    fn double(mut self, number: u32, value: f64) -> Self {
        encoding::double::encode(number, &value, &mut self.0);
        self
    }

    fn bytes(mut self, number: u32, bytes: &[u8]) -> Self {
        encoding::bytes::encode(number, &bytes.to_vec(), &mut self.0);
        self
    }

    #[expect(clippy::needless_pass_by_value, reason = "reads better where messages nest")]
    fn message(self, number: u32, inner: Self) -> Self {
        self.bytes(number, &inner.0)
    }

    fn entry(self, number: u32, key: &str, value: Self) -> Self {
        self.message(number, Self::default().text(1, key).message(2, value))
    }

    fn body(self, api_version: &str, kind: &str) -> Vec<u8> {
        let meta = Message::default().text(1, api_version).text(2, kind);
        // Go writes the empty content encoding and content type as well.
        let unknown = Message::default().message(1, meta).message(2, self).text(3, "").text(4, "");
        [MAGIC, &unknown.0].concat()
    }
}

fn message() -> Message {
    Message::default()
}

fn decoded(body: &[u8]) -> Value {
    decode(body, ("", "")).unwrap()
}

#[test]
fn decodes_a_deployment_like_that_of_kubectl() {
    // Go writes strings, numbers and structs that are not pointers even if they are empty.
    let container = message()
        .text(1, "c")
        .text(2, "image:1")
        .text(5, "")
        .message(6, message().text(1, "http").int(2, 0).int(3, 8080).text(4, "").text(5, ""))
        .message(8, message().entry(1, "cpu", message().text(1, "250m")))
        .text(13, "")
        .flag(16, false)
        .message(15, message().flag(2, false).int(4, 0).flag(6, false));
    let template_meta = message().text(1, "").entry(11, "app", message()).message(8, message());
    let pod =
        message().message(2, container).text(3, "").int(4, 0).text(6, "").flag(11, false).flag(21, false);
    let spec = message()
        .int(1, 0)
        .message(2, message().entry(1, "app", message()))
        .message(3, message().message(1, template_meta).message(2, pod))
        .message(
            4,
            message().text(1, "RollingUpdate").message(
                2,
                message()
                    .message(1, message().int(1, 1).int(2, 0).text(3, "25%"))
                    .message(2, message().int(1, 0).int(2, 1).text(3, "")),
            ),
        )
        .int(5, 0)
        .flag(7, false);
    let meta = message().text(1, "d").text(3, "").int(7, 0).message(8, message());
    let status = message().int(1, 0).int(2, 0);
    let body = message().message(1, meta).message(2, spec).message(3, status).body("apps/v1", "Deployment");
    assert_eq!(
        decoded(&body),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": "d" },
            "spec": {
                "replicas": 0,
                "selector": { "matchLabels": { "app": "" } },
                "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "25%", "maxSurge": 1 } },
                "template": {
                    "metadata": { "labels": { "app": "" } },
                    "spec": {
                        "terminationGracePeriodSeconds": 0,
                        "automountServiceAccountToken": false,
                        "containers": [{
                            "name": "c",
                            "image": "image:1",
                            "ports": [{ "name": "http", "containerPort": 8080 }],
                            "resources": { "limits": { "cpu": "250m" } },
                            "securityContext": { "privileged": false, "runAsUser": 0, "readOnlyRootFilesystem": false },
                        }],
                    },
                },
            },
            "status": {},
        })
    );
}

#[test]
fn decodes_messages_that_are_scalars_in_json() {
    let time = message().int(1, 1_704_164_645).int(2, 678_901_000);
    let lease = message()
        .message(2, message().text(1, "").int(2, 1).message(3, time.clone()).message(4, message()).int(5, 0));
    let expected = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {
        "holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": "2024-01-02T03:04:05.678901Z",
        "leaseTransitions": 0 } });
    assert_eq!(decoded(&lease.body("coordination.k8s.io/v1", "Lease")), expected);
    let meta = message()
        .text(1, "s")
        .message(8, time)
        .message(17, message().text(1, "m").message(7, message().bytes(1, b"{\"f:data\":{}}")));
    let secret = message().message(1, meta).entry(2, "key", message().text(15, "x")).text(3, "Opaque");
    let expected = json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": { "key": "egF4" }, "metadata": {
        "name": "s", "creationTimestamp": "2024-01-02T03:04:05Z",
        "managedFields": [{ "manager": "m", "fieldsV1": { "f:data": {} } }] } });
    assert_eq!(decoded(&secret.body("v1", "Secret")), expected);
    let review = message().message(
        2,
        message().message(1, message().text(2, "get")).text(3, "jane").entry(
            5,
            "scopes",
            message().text(1, "a").text(1, "b"),
        ),
    );
    let expected = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
        "resourceAttributes": { "verb": "get" }, "user": "jane", "extra": { "scopes": ["a", "b"] } } });
    assert_eq!(decoded(&review.body("authorization.k8s.io/v1", "SubjectAccessReview")), expected);
    let groups = message().message(2, message().message(14, message().bytes(4, &[0, 0xe8, 7]).int(4, 5)));
    let context = &decoded(&groups.body("v1", "Pod"))["spec"]["securityContext"];
    assert_eq!(*context, json!({ "supplementalGroups": [0, 1000, 5] }));
}

#[test]
fn decodes_all_union_types_of_a_custom_resource_definition() {
    let text = || message().text(5, "string");
    let schema = message()
        .text(5, "object")
        .message(8, message().bytes(1, b"{\"a\":1}"))
        .double(9, 0.0)
        .double(11, -1.5)
        .int(14, 0)
        .message(20, message().bytes(1, b"null"))
        .message(20, message().bytes(1, b"\"x\""))
        .message(24, message().message(1, text()))
        .entry(29, "any", message().message(30, message().flag(1, true)).flag(40, false).flag(38, true))
        .entry(29, "none", message().message(30, message().flag(1, false)))
        .entry(29, "texts", message().message(30, message().flag(1, true).message(2, text())))
        .entry(29, "tuple", message().message(24, message().message(2, text()).message(2, message())))
        .entry(32, "needs", message().text(2, "a").text(2, "b"))
        .message(44, message().text(1, "self.a > 0").text(2, ""));
    let version =
        message().text(1, "v1").flag(2, true).flag(3, false).message(4, message().message(1, schema));
    let crd = message()
        .message(2, message().text(1, "e.io").text(4, "Cluster").message(7, version).flag(10, false));
    let spec = &decoded(&crd.body("apiextensions.k8s.io/v1", "CustomResourceDefinition"))["spec"];
    let version = &spec["versions"][0];
    assert_eq!((&version["served"], &version["storage"]), (&json!(true), &json!(false)));
    assert!(spec.get("preserveUnknownFields").is_none());
    let string = json!({ "type": "string" });
    assert_eq!(
        version["schema"]["openAPIV3Schema"],
        json!({
            "type": "object", "default": { "a": 1 }, "maximum": 0, "minimum": -1.5, "minLength": 0,
            "enum": [null, "x"], "items": string,
            "properties": {
                "any": { "additionalProperties": true, "x-kubernetes-preserve-unknown-fields": true },
                "none": { "additionalProperties": false },
                "texts": { "additionalProperties": string },
                "tuple": { "items": [string, {}] },
            },
            "dependencies": { "needs": ["a", "b"] },
            "x-kubernetes-validations": [{ "rule": "self.a > 0" }],
        })
    );
}

#[test]
fn options_exist_in_every_group_and_an_envelope_may_omit_its_type() {
    let options = message().int(1, 0).message(2, message().text(1, "u")).text(4, "Foreground");
    let expected = json!({ "gracePeriodSeconds": 0, "preconditions": { "uid": "u" }, "propagationPolicy": "Foreground" });
    for group in ["v1", "apps/v1", "policy/v1", "meta.k8s.io/v1", "example.io/v1"] {
        let mut found = decoded(&options.clone().body(group, "DeleteOptions"));
        assert_eq!(found["apiVersion"], group);
        found.as_object_mut().unwrap().retain(|key, _| key != "apiVersion" && key != "kind");
        assert_eq!(found, expected);
    }
    let map = decode(&message().body("", ""), ("v1", "ConfigMap")).unwrap();
    assert_eq!(map, json!({ "apiVersion": "v1", "kind": "ConfigMap" }));
}

#[test]
fn rejects_malformed_bodies_with_gos_messages() {
    let check = |body: &[u8], is: Option<&str>, why: &str| {
        let error = decode(body, ("v1", "Pod")).unwrap_err();
        assert_eq!((error.is.as_ref().map(|is| is.0.as_str()), error.why.as_str()), (is, why), "{body:?}");
    };
    check(b"", None, "empty data");
    check(b"k8s\0", None, "empty body");
    let why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    check(b"{}", None, why);
    check(b"k8s\0\x0a\x7f", None, "unexpected EOF");
    check(b"k8s\0\x0c", None, "proto: Unknown: wiretype end group for non-group");
    check(b"k8s\0\x00", None, "proto: Unknown: illegal tag 0 (wire type 0)");
    check(b"k8s\0\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None, "proto: integer overflow");
    let pod = |inner: Message| inner.body("v1", "Pod");
    check(&pod(message().int(1, 5)), Some("Pod"), "proto: wrong wireType = 0 for field ObjectMeta");
    check(
        &pod(message().message(2, message().text(21, ""))),
        Some("Pod"),
        "proto: wrong wireType = 2 for field AutomountServiceAccountToken",
    );
    check(&pod(Message(vec![0x9f, 0x06])), Some("Pod"), "proto: illegal wireType 7");
    let why =
        "no kind \"Pood\" is registered for version \"v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"";
    check(&message().body("v1", "Pood"), Some("Pood"), why);
    check(&message().body("v1", "PodSpec"), Some("PodSpec"), &why.replace("Pood", "PodSpec"));
    let custom = decode(&message().body("apps.example.io/v1", "Deployment"), ("", "")).unwrap_err();
    assert!(custom.why.starts_with("object *unstructured.Unstructured does not implement"), "{}", custom.why);
}

#[test]
fn unknown_fields_and_groups_are_skipped() {
    let group = Message(vec![0xa3, 0x06, 0x08, 0x01, 0x0b, 0x0c, 0xa4, 0x06]);
    let pod = message().message(1, message().text(1, "p").int(99, 1)).double(98, 1.0);
    let body = Message([pod.0, group.0].concat()).body("v1", "Pod");
    assert_eq!(decoded(&body)["metadata"], json!({ "name": "p" }));
}

#[test]
fn deeply_nested_schemas_are_rejected_before_the_stack_overflows() {
    let mut schema = message();
    for _ in 0..5_000 {
        schema = message().message(28, schema);
    }
    let version = message().message(4, message().message(1, schema));
    let crd = message().message(2, message().message(7, version));
    let error =
        decode(&crd.body("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("", "")).unwrap_err();
    assert_eq!(error.why, "proto: messages nest deeper than 100");
}

/// An example of every field of a type up to a depth, with its JSON.
fn example(id: TypeId, depth: usize) -> (Message, Map<String, Value>) {
    let (mut out, mut object) = (message(), Map::new());
    for field in &facts::types().get(id).fields {
        if field.number == 0 {
            continue;
        }
        if let (FieldKind::Struct(lender), EMBEDDED) = (&field.kind, field.name) {
            let (inner, fields) = example(*lender, depth);
            out = out.message(field.number, inner);
            object.extend(fields);
        } else if let Some((written, value)) = of_kind(field.number, &field.kind, depth) {
            out = Message([out.0, written.0].concat());
            object.insert(field.name.to_owned(), value);
        }
    }
    (out, object)
}

fn of_kind(number: u32, kind: &FieldKind, depth: usize) -> Option<(Message, Value)> {
    match kind {
        FieldKind::Scalar(kind) => Some(of_scalar(*kind, number)),
        FieldKind::Struct(_) if depth == 0 => None,
        FieldKind::Struct(id) => {
            let (inner, object) = example(*id, depth - 1);
            Some((message().message(number, inner), Value::Object(object)))
        }
        FieldKind::List(kind) => {
            let (written, value) = of_kind(number, kind, depth)?;
            Some((Message([written.0.clone(), written.0].concat()), json!([value, value])))
        }
        FieldKind::Map(kind) => {
            let (written, value) = match &**kind {
                // A list within a map is a message of its own.
                FieldKind::List(items) => {
                    let (written, value) = of_kind(1, items, depth)?;
                    (message().message(2, written), json!([value]))
                }
                kind => of_kind(2, kind, depth)?,
            };
            let entry = Message([message().text(1, "key").0, written.0].concat());
            Some((message().message(number, entry), json!({ "key": value })))
        }
    }
}

fn of_scalar(kind: Scalar, number: u32) -> (Message, Value) {
    let wrapped = |inner: Message, value: Value| (message().message(number, inner), value);
    match kind {
        Scalar::String => (message().text(number, "text"), json!("text")),
        Scalar::Bool => (message().flag(number, true), json!(true)),
        Scalar::Int32 => (message().int(number, -7), json!(-7)),
        Scalar::Int64 => (message().int(number, i64::MIN), json!(i64::MIN)),
        Scalar::Double => (message().double(number, 2.5), json!(2.5)),
        Scalar::Bytes => (message().bytes(number, b"\0\xff"), json!("AP8=")),
        Scalar::Quantity => wrapped(message().text(1, "1Gi"), json!("1Gi")),
        Scalar::IntOrString => wrapped(message().int(1, 0).int(2, 8080).text(3, ""), json!(8080)),
        Scalar::Time => wrapped(message().int(1, 0).int(2, 0), Value::Null),
        Scalar::MicroTime => wrapped(message().int(1, 1).int(2, 5_000), json!("1970-01-01T00:00:01.000005Z")),
        Scalar::Duration => wrapped(message().int(1, 90_000_000_000), json!("1m30s")),
        Scalar::Object => wrapped(message().bytes(1, b"{\"a\":[]}"), json!({ "a": [] })),
        Scalar::Json => wrapped(message().bytes(1, b"[1.5]"), json!([1.5])),
        Scalar::SchemaOrBool => wrapped(message().flag(1, true), json!(true)),
        Scalar::SchemaOrArray => {
            wrapped(message().message(1, message().text(4, "d")), json!({ "description": "d" }))
        }
        Scalar::SchemaOrStrings => wrapped(message().text(2, "p"), json!(["p"])),
    }
}

#[test]
fn every_field_of_every_kind_is_decoded() {
    let mut kinds = 0;
    for (group, version, id) in facts::types().kinds() {
        let (body, mut object) = example(id, 4);
        let name = facts::types().get(id).name;
        let api_version = if group == "core" { version.to_owned() } else { format!("{group}/{version}") };
        object.insert("apiVersion".to_owned(), json!(api_version));
        object.insert("kind".to_owned(), json!(name));
        let mut expected = Value::Object(object);
        fill_times(&mut expected);
        assert_eq!(decoded(&body.body(&api_version, name)), expected, "{name}");
        kinds += 1;
    }
    assert!(kinds > 60, "{kinds}");
}

/// Replaces the nulls of an example, which represent times, by their JSON.
fn fill_times(value: &mut Value) {
    match value {
        Value::Null => *value = json!("1970-01-01T00:00:00Z"),
        Value::Array(items) => items.iter_mut().for_each(fill_times),
        Value::Object(map) => map.values_mut().for_each(fill_times),
        _ => {}
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&[MAGIC, &bytes].concat(), ("v1", "Pod"));
    }

    #[test]
    fn damaged_bodies_never_panic(
        kind in 0_usize..1000,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let kinds: Vec<_> = facts::types().kinds().collect();
        let (group, version, id) = kinds[kind % kinds.len()];
        let api_version = if group == "core" { version.to_owned() } else { format!("{group}/{version}") };
        let mut body = example(id, 2).0.body(&api_version, facts::types().get(id).name);
        for (place, byte) in damage {
            let at = place.index(body.len());
            body[at] = byte;
        }
        body.truncate(cut.index(body.len()) + 1);
        let _ = decode(&body, ("v1", "Pod"));
    }
}
