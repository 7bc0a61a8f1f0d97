//! Requests to the API server.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use tower::ServiceExt as _;
use windtunnel_apiserver::Method;
use windtunnel_core::Identity;

use super::cluster::{self, send};
use super::{Reader, examples};

/// An HTTP request as text: a line with method and path, headers, an empty line, and the body.
pub(super) const HTTP_REQUEST: Reader =
    Reader { name: "http_request", read: read_request, examples: request_examples };

/// A query: selectors, options of lists, watches and writes.
pub(super) const SELECTOR: Reader =
    Reader { name: "selector", read: read_selector, examples: selector_examples };

/// An object to create or to replace, in YAML or JSON.
pub(super) const OBJECT: Reader = Reader { name: "object", read: read_object, examples: object_examples };

/// An object in protobuf.
pub(super) const PROTOBUF: Reader =
    Reader { name: "protobuf", read: read_protobuf, examples: protobuf_examples };

fn read_request(bytes: &[u8]) {
    let Some(request) = parse(bytes) else { return };
    cluster::with_clients(cluster::server(), async |shared, _| {
        let service = shared.service(&Identity::admin());
        if let Ok(response) = service.oneshot(request).await {
            let _ = response.into_body().collect().await;
        }
    });
}

/// Returns the request in a text, if it can be a request at all.
fn parse(bytes: &[u8]) -> Option<http::Request<Full<Bytes>>> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len());
    let (head, body) = (&bytes[..end], bytes.get(end + 2..).unwrap_or_default());
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = String::from_utf8_lossy(lines.next()?).into_owned();
    let (method, path) = first.split_once(' ')?;
    let mut request = http::Request::builder().method(method).uri(path);
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            request = request.header(name, value);
        }
    }
    request.body(Full::from(body.to_vec())).ok()
}

fn request_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        "GET /api/v1/namespaces/default/pods?labelSelector=app%3Da&limit=1\nAccept: application/json;as=Table;v=v1;\
         g=meta.k8s.io, application/json\nUser-Agent: kubectl/v1.31.0 (linux/amd64)\n\n",
        "POST /api/v1/namespaces/default/configmaps?dryRun=All&fieldValidation=Strict&pretty=true\nContent-Type: \
         application/json\nImpersonate-User: jane\nImpersonate-Group: system:masters\nImpersonate-Extra-a%2Fb: c\n\n\
         {\"metadata\": {\"generateName\": \"b-\"}, \"data\": {\"k\": \"v\"}}",
        "GET /api/v1/configmaps?watch=1&resourceVersion=1&timeoutSeconds=3&allowWatchBookmarks=true&sendInitialEvents=true\
         &resourceVersionMatch=NotOlderThan\n\n",
        "PATCH /apis/apps/v1/namespaces/default/deployments/a/scale?fieldManager=f\nContent-Type: \
         application/merge-patch+json\n\n{\"spec\": {\"replicas\": 3}}",
        "DELETE /api/v1/namespaces/default/pods?fieldSelector=metadata.name!=b\nContent-Type: application/json\n\n\
         {\"gracePeriodSeconds\": 0, \"preconditions\": {\"uid\": \"x\"}, \"propagationPolicy\": \"Foreground\"}",
        "GET /openapi/v3/apis/apps/v1\nIf-None-Match: \"a\"\nAccept: application/json\n\n",
        "GET /apis\nAccept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\n\n",
        "POST /api/v1/namespaces/default/serviceaccounts/default/token\n\n{\"spec\": {\"audiences\": [\"a\"]}}",
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews\nContent-Type: application/yaml\n\nspec: {user: a, \
         resourceAttributes: {verb: get, resource: pods}}\n",
        "PUT /apis/example.io/v1/namespaces/default/widgets/a\nContent-Type: application/yaml\n\napiVersion: example.io/v1\n\
         kind: Widget\nmetadata: {name: a}\nspec: {size: 2}\n",
        "GET /api/v1/namespaces/default/pods/a/log?container=c&tailLines=3&sinceTime=2024-01-01T00:00:00Z\n\n",
        "GET /version\nConnection: Upgrade\nUpgrade: websocket\n\n",
    ])
}

fn read_selector(bytes: &[u8]) {
    let query = String::from_utf8_lossy(bytes);
    let mut server = cluster::server();
    for collection in ["/api/v1/namespaces/default/pods", "/apis/example.io/v1/widgets", "/api/v1/events"] {
        send(&mut server, Method::Get, &format!("{collection}?{query}"), "", Vec::new());
    }
    let path = format!("/api/v1/namespaces/default/pods?{query}");
    send(&mut server, Method::Get, &format!("{path}&watch=1&resourceVersion=1"), "", Vec::new());
    send(&mut server, Method::Delete, &path, "", Vec::new());
    let created = br#"{"metadata": {"name": "b"}}"#.to_vec();
    send(&mut server, Method::Post, &format!("/api/v1/namespaces/default/configmaps?{query}"), "", created);
}

fn selector_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        "labelSelector=app=a,tier!=b,!x,y",
        "labelSelector=app%20in%20(a,b),tier%20notin%20(c)",
        "labelSelector=n>1,m<5",
        "fieldSelector=metadata.name=a,spec.nodeName!=,status.phase=Running",
        "fieldSelector=involvedObject.name=a,type%3D%3DWarning",
        "limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NCwic3RhcnQiOiJhXHUwMDAwIn0",
        "resourceVersion=3&resourceVersionMatch=Exact&timeoutSeconds=1",
        "dryRun=All&fieldValidation=Warn&fieldManager=m&force=true&pretty=1",
        "gracePeriodSeconds=0&propagationPolicy=Orphan&orphanDependents=true",
    ])
}

fn read_object(bytes: &[u8]) {
    let collections = [
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/pods",
        "/apis/apps/v1/namespaces/default/deployments",
        cluster::WIDGETS,
        "/api/v1/namespaces/default/services",
    ];
    let mut server = cluster::server();
    for collection in collections {
        for media in ["application/yaml", "application/json", ""] {
            send(&mut server, Method::Post, collection, media, bytes.to_vec());
            send(&mut server, Method::Put, &format!("{collection}/a"), media, bytes.to_vec());
        }
    }
}

fn object_examples() -> Vec<Vec<u8>> {
    let mut found = examples::texts(&[
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {a: \"1\"}}\ndata:\n  k: |\n    text\n  n: !!str 1\n  \
         o: *l\n  ? x\n  : y\n",
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "finalizers": ["a.b/c"],
            "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}]}, "spec": {"containers":
            [{"name": "c",
            "image": "i", "resources": {"limits": {"cpu": "1500m", "memory": "1.5Gi"}}, "livenessProbe":
            {"httpGet":
            {"port": "web"}}}], "tolerations": [{"operator": "Exists"}], "nodeSelector": {"a": "b"}}}"#,
        r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "b"}, "spec": {"strategy":
            {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}, "selector": {"matchExpressions":
            [{"key": "app",
            "operator": "In", "values": ["a"]}]}, "template": {"metadata": {"labels": {"app": "a"}}, "spec":
            {"containers":
            [{"name": "c", "image": "i"}]}}}}"#,
        "apiVersion: example.io/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 0x1F, list: [1.5e3, ~, .inf]}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {clusterIP: 10.0.0.9, ports: [{port: 80, targetPort: web, \
         nodePort: 30001}], selector: {a: b}}\n",
    ]);
    found.extend(examples::files(&[
        "scenarios/update/payload-4.18.6/0000_20_beacon-operator_07_deployment.yaml",
    ]));
    found
}

fn read_protobuf(bytes: &[u8]) {
    const MEDIA: &str = "application/vnd.kubernetes.protobuf";
    let mut server = cluster::server();
    for collection in ["/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/pods"] {
        send(&mut server, Method::Post, collection, MEDIA, bytes.to_vec());
        send(&mut server, Method::Put, &format!("{collection}/a"), MEDIA, bytes.to_vec());
        send(&mut server, Method::Delete, &format!("{collection}/a"), MEDIA, bytes.to_vec());
    }
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    send(&mut server, Method::Post, deployments, MEDIA, bytes.to_vec());
}

/// Returns a field of a protobuf message that has a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap_or_default());
    bytes.extend_from_slice(content);
    bytes
}

/// Returns an object in the envelope of Kubernetes (`k8s.io/apimachinery/pkg/runtime/generated.proto`, `Unknown`).
fn envelope(version: &str, kind: &str, object: &[Vec<u8>]) -> Vec<u8> {
    let kind = [field(1, version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &kind), field(2, &object.concat())].concat()
}

fn protobuf_examples() -> Vec<Vec<u8>> {
    let metadata = |name: &str| {
        field(1, &[field(1, name.as_bytes()), field(11, &[field(1, b"l"), field(2, b"m")].concat())].concat())
    };
    let entry = [field(1, b"k"), field(2, b"v")].concat();
    let container = [field(1, b"c"), field(2, b"i"), field(6, &[0x18, 0x50])].concat();
    vec![
        envelope("v1", "ConfigMap", &[metadata("b"), field(2, &entry)]),
        envelope("v1", "Pod", &[metadata("b"), field(2, &field(2, &container))]),
        envelope("v1", "DeleteOptions", &[vec![0x08, 0x00], field(4, b"Background")]),
        envelope("apps/v1", "Deployment", &[metadata("b"), field(2, &[0x08, 0x03])]),
    ]
}
