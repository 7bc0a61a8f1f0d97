//! Patches of the four types, for objects of built-in and of custom kinds.

use windtunnel_apiserver::Method;

use super::cluster::{self, send};
use super::{Reader, examples};

/// The objects that patches change.
const OBJECTS: [&str; 4] = [
    "/api/v1/namespaces/default/configmaps/a",
    "/apis/apps/v1/namespaces/default/deployments/a",
    "/api/v1/namespaces/default/pods/a",
    "/apis/example.io/v1/namespaces/default/widgets/a",
];

/// A JSON patch.
pub(super) const JSON_PATCH: Reader =
    Reader { name: "json_patch", read: read_json_patch, examples: json_patch_examples };

/// A merge patch.
pub(super) const MERGE_PATCH: Reader =
    Reader { name: "merge_patch", read: read_merge_patch, examples: merge_patch_examples };

/// A strategic merge patch.
pub(super) const STRATEGIC_PATCH: Reader =
    Reader { name: "strategic_patch", read: read_strategic_patch, examples: strategic_patch_examples };

/// A server-side apply.
pub(super) const APPLY_PATCH: Reader =
    Reader { name: "apply_patch", read: read_apply_patch, examples: apply_patch_examples };

/// Sends a patch twice: the second one finds the effects of the first one.
fn patch(media: &str, query: &str, bytes: &[u8]) {
    let mut server = cluster::server();
    for object in OBJECTS {
        for _ in 0..2 {
            send(&mut server, Method::Patch, &format!("{object}?{query}"), media, bytes.to_vec());
        }
    }
}

fn read_json_patch(bytes: &[u8]) {
    patch("application/json-patch+json", "", bytes);
}

fn json_patch_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        r#"[{"op": "add", "path": "/data/c", "value": "3"}, {"op": "replace", "path": "/data/k",
            "value": "9"},
            {"op": "test", "path": "/data/k", "value": "9"}]"#,
        r#"[{"op": "move", "from": "/data/k", "path": "/data/z"}, {"op": "copy", "from": "/data/z",
            "path": "/data/~1a~0"},
            {"op": "remove", "path": "/data/n"}]"#,
        r#"[{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "d", "image": "j"}},
            {"op": "remove", "path": "/spec/template/spec/containers/0"}]"#,
        r#"[{"op": "replace", "path": "/spec/list/0", "value": null}, {"op": "add", "path": "", "value":
            {}}]"#,
        r#"[{"op": "copy", "from": "/spec", "path": "/spec/template"}, {"op": "copy", "from": "",
            "path": "/spec/x"}]"#,
    ])
}

fn read_merge_patch(bytes: &[u8]) {
    patch("application/merge-patch+json", "fieldManager=m", bytes);
}

fn merge_patch_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        r#"{"metadata": {"labels": {"l": null, "x": "y"}, "annotations": {"a": "b"}}, "data": {"k": "w",
            "n": null}}"#,
        r#"{"spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}"#,
        r#"{"spec": {"size": 1.5, "list": [{"name": "y"}, [1, -2e3]], "z": {"a": {"b": {}}}}, "status":
            {"a": 1}}"#,
        r#"{"metadata": {"finalizers": ["a.b/c"], "resourceVersion": "1"}}"#,
    ])
}

fn read_strategic_patch(bytes: &[u8]) {
    patch("application/strategic-merge-patch+json", "", bytes);
}

fn strategic_patch_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        r#"{"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "j"}, {"$patch": "delete",
            "name": "c"}],
            "$setElementOrder/containers": [{"name": "d"}]}}}}"#,
        r#"{"spec": {"containers": [{"name": "c", "env": [{"name": "A", "$patch": "replace", "value": "2"}],
            "$retainKeys": ["name", "image"]}]}}"#,
        r#"{"metadata": {"labels": {"$patch": "replace", "x": "y"}, "$deleteFromPrimitiveList/finalizers":
            ["a.b/c"]}}"#,
        r#"{"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}, "replicas": null}}"#,
    ])
}

fn read_apply_patch(bytes: &[u8]) {
    let media = "application/apply-patch+yaml";
    patch(media, "fieldManager=one&force=true", bytes);
    patch(media, "fieldManager=two", bytes);
}

fn apply_patch_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: y}}\ndata: {k: w, new: z}\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers:\n      - name: \
         c\n        image: j\n        env: [{name: A, value: \"2\"}, {name: B}]\n        ports: [{containerPort: 80, protocol: TCP}]\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, finalizers: [a.b/c]}\nspec: {containers: [{name: c, resources: {requests: \
         {cpu: 0.1}}}]}\n",
        "apiVersion: example.io/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 2, list: [{name: x}, {name: y}]}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  managedFields: [{manager: m, operation: Apply, apiVersion: v1, \
         fieldsType: FieldsV1, fieldsV1: {\"f:data\": {\"f:k\": {}, \"k:{\\\"a\\\":1}\": {}, \"v:1\": {}}}}]\n",
    ])
}
