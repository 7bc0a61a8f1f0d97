//! Paths, methods, media types, headers and bodies that are unusual.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::values::pick;

/// Without `/logs`, which lists files of the machine, and `/readyz`, which has no etcd checks in OpenShift's server.
const PATHS: &[&str] = &[
    "/api/v1/namespaces/${ns}/configmaps",
    "/api/v1/namespaces/${ns}/configmaps/x",
    "/api/v1/namespaces/${ns}/pods/x/status",
    "/api/v1/namespaces/${ns}",
    "/api/v1/namespaces/${ns}/",
    "/api/v1/configmaps/x",
    "/api/v1/namespaces/${ns}/nodes",
    "/api/v1/nodes/none/x",
    "/api/v1/namespaces//configmaps",
    "/api/v1/namespaces/${ns}/configmaps/",
    "/api/v1//namespaces",
    "/api/v1/namespaces/${ns}/configmaps/x/y",
    "/api/v1/namespaces/${ns}/configmaps/x/y/z",
    "/api/v1/namespaces/${ns}/none",
    "/api/v2/namespaces",
    "/apis/none/v1/things",
    "/apis/apps/v9/deployments",
    "/apis/apps/v1/namespaces/${ns}/deployments",
    "/apis/apps/v1/namespaces/${ns}/deployments/x/scale",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apps",
    "/apis/apps/v1",
    "/api/",
    "/apis/",
    "/version",
    "/version/",
    "/healthz",
    "/livez",
    "/healthz/ping",
    "/livez/none",
    "/readyz/informer-sync",
    "/livez/etcd",
    "/x",
    "/api/x",
    "/api/v1/watch/namespaces/${ns}/configmaps/x",
    "/api/v1/proxy/x",
    "/api/v1/namespaces/${ns}/pods/x/log",
    "/api/v1/namespaces/${ns}/pods/x/exec",
    "/api/v1/namespaces/${ns}/pods/x/binding",
    "/api/v1/namespaces/${ns}/services/x/proxy",
    "/api/v1/namespaces/${ns}/serviceaccounts/x/token",
    "/api/v1/componentstatuses/x",
    "/api/v1/namespaces/${ns}/configmaps/A",
    "/api/v1/namespaces/${ns}/configmaps/%2e%2e",
    "/api/v1/namespaces/${ns}/configmaps/a%2Fb",
    "/api/v1/namespaces/NS/configmaps",
    "/api/v1/namespaces/${ns}/CONFIGMAPS",
    "/API/v1/namespaces",
    "/api/v1/namespaces/${ns}/configmaps/x%20y",
    "/api/v1/namespaces/${ns}/configmaps/%C3%A9",
    "/openapi/v3/none",
    "/openapi/v2/x",
    "/.well-known/openid-configuration/x",
    "/metrics/x",
    "/ui",
    "/swagger.json",
    "/apis/apps/v1/deployments/x",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews/x",
    "/api/v1/bindings",
    "/api/v1/namespaces/${ns}/bindings",
    "/apis/apps/v1beta1",
    "/apis/extensions/v1beta1",
];

const METHODS: &[&str] = &[
    "GET", "GET", "GET", "POST", "POST", "PUT", "PUT", "PATCH", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO",
    "get",
];

const TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/x-yaml",
    "text/plain",
    "application/json; charset=utf-8",
    "application/json;x",
    "APPLICATION/JSON",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "",
    "x",
    "application/x-www-form-urlencoded",
    "application/merge-patch+json; charset=utf-8",
    "*/*",
];

const ACCEPTS: &[&str] = &[
    "application/json",
    "*/*",
    "application/*",
    "text/html",
    "application/yaml",
    "",
    "x",
    "application/json;q=0.5,application/yaml",
    "application/xml",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=Table",
    "application/json;v=v1",
    "text/plain",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1, application/json",
    "application/json;pretty=1",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/json;stream=watch",
];

const BODIES: &[&str] = &[
    "",
    "{}",
    "[]",
    "null",
    "1",
    "\"x\"",
    "{",
    "{\"metadata\": {\"name\": \"x\"}}",
    "{\"metadata\": {\"name\": \"x\"}, \"metadata\": {\"name\": \"y\"}}",
    "{\"kind\": \"ConfigMap\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"y\"}}",
    "{\"kind\": \"Pod\"}",
    "{\"kind\": \"ConfigMap\", \"apiVersion\": \"v2\", \"metadata\": {\"name\": \"y\"}}",
    "{\"kind\": \"Status\", \"apiVersion\": \"v1\"}",
    "metadata:\n  name: y\n",
    "metadata: {name: y}\ndata:\n  a: b\n  a: c\n",
    "a: b: c",
    "\t",
    "{\"a\": 1e999}",
    "{\"metadata\": {\"name\": \"x\",}}",
    "{} {}",
    "{\"DATA\": {\"a\": \"b\"}, \"metadata\": {\"name\": \"x\"}}",
    "[{\"op\": \"add\", \"path\": \"/data\", \"value\": {\"k\": \"v\"}}]",
    "[{\"op\": \"test\", \"path\": \"/data/k\", \"value\": \"w\"}]",
    "[{\"op\": \"remove\", \"path\": \"/none\"}]",
    "[{\"op\": \"x\", \"path\": \"/data\"}]",
    "[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"z\"}]",
    "[{\"op\": \"copy\", \"from\": \"/metadata\", \"path\": \"/data\"}]",
    "[{\"op\": \"move\", \"from\": \"/data/k\", \"path\": \"/data/l\"}]",
    "[{\"op\": \"add\", \"path\": \"data\", \"value\": 1}]",
    "[{}]",
    "[1]",
    "{\"data\": null}",
    "{\"data\": {\"k\": null, \"$patch\": \"replace\"}}",
    "{\"data\": {\"$patch\": \"delete\"}}",
    "{\"$patch\": \"replace\", \"metadata\": {\"name\": \"x\"}}",
    "{\"metadata\": {\"$retainKeys\": [\"name\"], \"name\": \"x\"}}",
    "{\"metadata\": {\"finalizers\": [\"a/b\"], \"$setElementOrder/finalizers\": [\"a/b\"]}}",
    "{\"metadata\": {\"$deleteFromPrimitiveList/finalizers\": [\"a/b\"]}}",
    "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"x\", \"managedFields\": []}, \"data\": {\"k\": \"w\"}}",
    "k8s\u{0}\u{1}",
    "\u{feff}{}",
    "{\"gracePeriodSeconds\": -1}",
    "{\"propagationPolicy\": \"x\"}",
    "{\"kind\": \"DeleteOptions\", \"apiVersion\": \"v1\", \"dryRun\": [\"All\"]}",
    "{\"kind\": \"DeleteOptions\", \"apiVersion\": \"apps/v1\", \"dryRun\": [\"All\"]}",
    "{\"unknown\": 1}",
];

const QUERIES: &[(&str, &[&str])] = &[
    ("dryRun", &["All", "", "x", "all"]),
    ("fieldManager", &["m", "", "${a*130}", "a\u{7}b"]),
    ("force", &["true", "false", "x", "1", ""]),
    ("fieldValidation", &["Strict", "Warn", "Ignore", "x", ""]),
    ("pretty", &["true", "1", "x", ""]),
    ("timeout", &["1s", "x", "1", "0s", "-1s", "100h"]),
    ("resourceVersion", &["0", "x", "1"]),
    ("labelSelector", &["a=b", "a in"]),
    ("gracePeriodSeconds", &["0", "x"]),
    ("propagationPolicy", &["Orphan", "x"]),
    ("orphanDependents", &["true", "x"]),
    ("unknown", &["x"]),
    ("exclude", &["etcd", "none"]),
    ("verbose", &["x"]),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", &["true", "false"]),
];

const HEADERS: [&str; 8] = [
    "Content-Type",
    "Allow",
    "Accept-Patch",
    "Accept-Post",
    "Location",
    "Cache-Control",
    "Vary",
    "X-Content-Type-Options",
];

/// The parts of an answer that differ between servers that behave alike: their build and address, and all their objects.
fn ignored(path: &str) -> &'static [&'static str] {
    match path.trim_matches('/') {
        "version" => &["/buildDate", "/gitCommit", "/gitTreeState", "/gitVersion", "/goVersion"],
        "api" => &["/serverAddressByClientCIDRs/*/serverAddress"],
        "api/v1/namespaces//configmaps" => &["/items", "/rows", "/metadata"],
        _ => &["/metadata/resourceVersion"],
    }
}

pub(super) fn case(rng: &mut Rng) -> Value {
    let create = json!({"metadata": {"name": "x"}, "data": {"k": "v"}});
    let mut steps = vec![json!({"request": {"method": "POST", "path": PATHS[0], "body": create}})];
    for _ in 0..20 {
        let request = request(rng);
        let ignored = ignored(request["path"].as_str().unwrap_or_default());
        steps.push(json!({"request": request, "headers": HEADERS, "ignore": ignored}));
    }
    json!({"http": true, "stateful": true, "steps": steps})
}

fn request(rng: &mut Rng) -> Value {
    let method = *pick(rng, METHODS);
    let path = if rng.bool() { PATHS[rng.usize(..2)] } else { *pick(rng, PATHS) };
    let mut request = json!({"method": method, "path": path});
    if !matches!(method, "GET" | "get" | "OPTIONS" | "TRACE") && (method != "DELETE" || rng.u8(..3) == 0) {
        request["body"] = json!(*pick(rng, BODIES));
        request["type"] = json!(media_type(rng, method));
    }
    if rng.u8(..3) == 0 {
        request["accept"] = json!(*pick(rng, ACCEPTS));
    }
    for _ in 0..rng.usize(..3) {
        let (name, values) = *pick(rng, QUERIES);
        request["query"][name] = json!(*pick(rng, values));
    }
    request
}

fn media_type(rng: &mut Rng, method: &str) -> &'static str {
    let types = match method {
        "PATCH" if rng.u8(..4) > 0 => &TYPES[7..11],
        _ if rng.u8(..3) > 0 => &TYPES[..2],
        _ => TYPES,
    };
    types[rng.usize(..types.len())]
}
