//! Several requests that change one object: updates, patches, applies by several managers, subresources, deletion.

use fastrand::Rng;
use serde_json::{Value, json};

use super::fields::{ignored, mutation, seeds};
use crate::corpus::edit;
use crate::corpus::edit::merge_patch;
use crate::oracle::{Kind, OracleKinds};
use crate::values::pick;

/// Kinds whose objects change how a server answers other cases.
const GLOBAL: &[&str] = &[
    "apiservices",
    "customresourcedefinitions",
    "flowschemas",
    "ipaddresses",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "prioritylevelconfigurations",
    "priorityclasses",
    "runtimeclasses",
    "servicecidrs",
    "storageclasses",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
];

const STEPS: usize = 10;

const ACCEPTS: &[&str] = &[
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
];

/// One object and its path.
struct Subject<'a> {
    oracle: &'a OracleKinds,
    kind: &'a Kind,
    base: &'a Value,
    path: String,
}

pub(super) fn case(oracle: &OracleKinds, rng: &mut Rng, only: Option<&str>) -> Value {
    let mut seeds = seeds(oracle, only);
    seeds.retain(|(kind, _)| !GLOBAL.contains(&kind.plural.as_str()));
    let Some((kind, base)) = seeds.get(rng.usize(..seeds.len().max(1))).copied() else {
        return json!({"steps": []});
    };
    let name = base["metadata"]["name"].as_str().unwrap_or_default();
    let subject = Subject { oracle, kind, base, path: format!("{}/{name}", kind.path()) };
    let create = json!({"method": "POST", "path": kind.path(), "body": "${base}"});
    let mut steps = vec![subject.step(&create)];
    for _ in 0..STEPS {
        let request = subject.request(rng);
        steps.push(subject.step(&request));
    }
    steps.push(subject.step(&json!({"path": subject.path})));
    let cleanup = json!({"method": "DELETE", "path": subject.path, "query": {"gracePeriodSeconds": "0"}});
    json!({"stateful": true, "defs": {"base": base}, "steps": steps, "cleanup": [cleanup]})
}

impl Subject<'_> {
    fn step(&self, request: &Value) -> Value {
        let mut step = json!({"request": request, "managedFields": true});
        step["capture"] = json!({"rv": "/metadata/resourceVersion", "uid": "/metadata/uid"});
        if !ignored(self.kind).is_empty() {
            step["ignore"] = json!(ignored(self.kind));
        }
        step
    }

    fn request(&self, rng: &mut Rng) -> Value {
        match rng.u8(..16) {
            0 | 1 => json!({"path": self.path, "accept": *pick(rng, ACCEPTS)}),
            2 | 3 => self.put(rng),
            4 | 5 => self.patch(rng),
            6..9 => self.apply(rng),
            9 | 10 => self.status(rng),
            11 | 12 => self.subresource(rng),
            13 => self.delete(rng),
            14 => json!({"method": "POST", "path": self.kind.path(), "body": "${base}"}),
            _ => self.metadata(rng),
        }
    }

    fn edited(&self, rng: &mut Rng, below: &str) -> Value {
        let mut body = self.base.clone();
        let edits = Value::Object(mutation(rng, self.oracle.schema(self.kind), self.base, below));
        edit(&mut body, &edits);
        body
    }

    fn put(&self, rng: &mut Rng) -> Value {
        let mut body = self.edited(rng, "");
        match rng.u8(..6) {
            0 => {}
            1 => set_metadata(&mut body, "resourceVersion", "1"),
            2 => set_metadata(&mut body, "uid", "${uid}"),
            _ => set_metadata(&mut body, "resourceVersion", "${rv}"),
        }
        json!({"method": "PUT", "path": self.path, "query": manager(rng), "body": body})
    }

    fn patch(&self, rng: &mut Rng) -> Value {
        let patch = merge_patch(self.base, &self.edited(rng, ""));
        let media = *pick(rng, &["application/merge-patch+json", "application/strategic-merge-patch+json"]);
        json!({"method": "PATCH", "path": self.path, "type": media, "query": manager(rng), "body": patch})
    }

    /// An apply of a part of the object.
    fn apply(&self, rng: &mut Rng) -> Value {
        let mut body = if rng.bool() { self.base.clone() } else { self.edited(rng, "") };
        if rng.bool() {
            body.as_object_mut().map(|body| body.remove("status"));
        }
        let mut parts = Vec::new();
        leaves(&body, "", &mut parts);
        for _ in 0..rng.usize(..4) {
            if let Some(part) = parts.get(rng.usize(..parts.len().max(1))) {
                crate::corpus::remove(&mut body, part);
            }
        }
        let mut query = json!({"fieldManager": *pick(rng, &["one", "two", "three"])});
        if rng.bool() {
            query["force"] = json!("true");
        }
        json!({"method": "PATCH", "path": self.path, "type": "application/apply-patch+yaml", "query": query, "body": body})
    }

    fn status(&self, rng: &mut Rng) -> Value {
        if !self.kind.has("status") {
            return self.put(rng);
        }
        let path = format!("{}/status", self.path);
        let mut body = self.edited(rng, "/status");
        match rng.u8(..4) {
            0 => json!({"path": path}),
            1 => {
                json!({"method": "PATCH", "path": path, "type": "application/merge-patch+json", "body": {"status": body["status"]}})
            }
            2 => json!({"method": "PATCH", "path": path, "type": "application/apply-patch+yaml",
                "query": {"fieldManager": "one", "force": "true"}, "body": body}),
            _ => {
                set_metadata(&mut body, "resourceVersion", "${rv}");
                json!({"method": "PUT", "path": path, "query": manager(rng), "body": body})
            }
        }
    }

    fn subresource(&self, rng: &mut Rng) -> Value {
        let Some(name) = self.kind.subresources.get(rng.usize(..self.kind.subresources.len().max(1))) else {
            return self.metadata(rng);
        };
        let path = format!("{}/{name}", self.path);
        let meta = json!({"name": self.base["metadata"]["name"]});
        match name.as_str() {
            "scale" => {
                let body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": meta,
                    "spec": {"replicas": *pick(rng, &[0, 1, 5, -1])}});
                match rng.u8(..3) {
                    0 => json!({"path": path}),
                    1 => json!({"method": "PUT", "path": path, "body": body}),
                    _ => {
                        json!({"method": "PATCH", "path": path, "type": "application/merge-patch+json", "body": {"spec": body["spec"]}})
                    }
                }
            }
            "eviction" => json!({"method": "POST", "path": path,
                "body": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta,
                    "deleteOptions": {"dryRun": ["All"], "gracePeriodSeconds": *pick(rng, &[0, 5, -1])}}}),
            "binding" => json!({"method": "POST", "path": path,
                "body": {"apiVersion": "v1", "kind": "Binding", "metadata": meta,
                    "target": {"kind": *pick(rng, &["Node", "Pod", ""]), "name": *pick(rng, &["n", ""])}}}),
            "ephemeralcontainers" => {
                json!({"method": "PATCH", "path": path, "type": "application/strategic-merge-patch+json",
                "body": {"spec": {"ephemeralContainers": [{"name": *pick(rng, &["e", "c", ""]), "image": *pick(rng, &["i", ""]),
                    "targetContainerName": *pick(rng, &["c", "none"])}]}}})
            }
            "resize" => {
                json!({"method": "PATCH", "path": path, "type": "application/strategic-merge-patch+json",
                "body": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": *pick(rng, &["1", "200m", "3", "-1"])}}}]}}})
            }
            "approval" => json!({"method": "PATCH", "path": path, "type": "application/merge-patch+json",
                "body": {"status": {"conditions": [{"type": *pick(rng, &["Approved", "Denied", "X"]), "status": *pick(rng, &["True", "False"]), "reason": "r"}]}}}),
            "finalize" => {
                json!({"method": "PUT", "path": path, "body": {"apiVersion": "v1", "kind": "Namespace", "metadata": meta,
                "spec": {"finalizers": *pick(rng, &[&[][..], &["example.com/x"], &["x"]])}}})
            }
            _ => json!({"path": self.path}),
        }
    }

    fn metadata(&self, rng: &mut Rng) -> Value {
        let metadata = match rng.u8(..6) {
            0 => json!({"finalizers": [*pick(rng, &["example.com/f", "orphan", "foregroundDeletion", "x"])]}),
            1 => json!({"finalizers": null}),
            2 => json!({"labels": {*pick(rng, &["a", "b", "-"]): *pick(rng, &["c", ""])}}),
            3 => json!({"annotations": {"a": null, "n": "é"}}),
            4 => {
                json!({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": *pick(rng, &["u", ""]), "controller": true}]})
            }
            _ => json!({"resourceVersion": *pick(rng, &["${rv}", "1", "x"])}),
        };
        json!({"method": "PATCH", "path": self.path, "type": "application/merge-patch+json", "body": {"metadata": metadata}})
    }

    fn delete(&self, rng: &mut Rng) -> Value {
        let mut request = json!({"method": "DELETE", "path": self.path});
        let policy = *pick(rng, &["Orphan", "Foreground", "Background", "x", ""]);
        match rng.u8(..8) {
            0 => request["query"] = json!({"propagationPolicy": policy}),
            1 => request["query"] = json!({"gracePeriodSeconds": *pick(rng, &["0", "5", "-1", "x"])}),
            2 => request["query"] = json!({"dryRun": *pick(rng, &["All", "x"])}),
            3 => {
                request["body"] =
                    json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy});
            }
            4 => request["body"] = json!({"preconditions": {"resourceVersion": *pick(rng, &["${rv}", "1"])}}),
            5 => request["body"] = json!({"preconditions": {"uid": *pick(rng, &["${uid}", "u"])}}),
            6 => {
                request["body"] =
                    json!({"orphanDependents": rng.bool(), "gracePeriodSeconds": *pick(rng, &[0, 1, -1])});
            }
            _ => {}
        }
        request
    }
}

fn manager(rng: &mut Rng) -> Value {
    match rng.u8(..4) {
        0 => json!({"fieldManager": *pick(rng, &["one", "two", "${a*129}", "a\nb"])}),
        1 => json!({"fieldValidation": *pick(rng, &["Strict", "Warn", "Ignore", "x"])}),
        2 => json!({"fieldManager": "one"}),
        _ => json!({}),
    }
}

/// The pointers below `spec` and the labels and annotations.
fn leaves(value: &Value, pointer: &str, found: &mut Vec<String>) {
    let Value::Object(map) = value else { return };
    for (key, inner) in map {
        let pointer = format!("{pointer}/{}", crate::corpus::pointer::escaped(key));
        if !matches!(&*pointer, "/apiVersion" | "/kind" | "/metadata" | "/metadata/name") {
            found.push(pointer.clone());
        }
        leaves(inner, &pointer, found);
    }
}

/// Sets a field of the metadata, unless a mutation replaced these by something else.
fn set_metadata(body: &mut Value, field: &str, value: &str) {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(field.to_owned(), json!(value));
    }
}
