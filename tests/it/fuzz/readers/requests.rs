//! Requests to the API server.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use tower::ServiceExt as _;
use windtunnel_apiserver::{ApiServer, Method};
use windtunnel_core::Identity;

use super::{read_damaged, texts, with_clients};
use crate::apiserver::apply::define;
use crate::fuzz::checked_server::{ask, server};
use crate::fuzz::patches;

#[test]
fn damaged_requests() {
    let valid = texts(&[
        "GET /api/v1/namespaces/default/pods?labelSelector=a%3Db&limit=1\nAccept: application/json;as=Table;v=v1;\
         g=meta.k8s.io, application/json\nUser-Agent: kubectl/v1.31.0 (linux/amd64)\n\n",
        "POST /api/v1/namespaces/default/configmaps?dryRun=All&fieldValidation=Strict&pretty=true\nContent-Type: \
         application/json\nImpersonate-User: jane\nImpersonate-Group: system:masters\nImpersonate-Extra-a%2Fb: c\n\n\
         {\"metadata\": {\"generateName\": \"b-\"}, \"data\": {\"k\": \"v\"}}",
        "GET /api/v1/configmaps?watch=1&resourceVersion=1&timeoutSeconds=3&allowWatchBookmarks=true&sendInitialEvents=true\
         &resourceVersionMatch=NotOlderThan\n\n",
        "PATCH /apis/apps/v1/namespaces/default/deployments/o/scale?fieldManager=f\nContent-Type: \
         application/merge-patch+json\n\n{\"spec\": {\"replicas\": 3}}",
        "DELETE /api/v1/namespaces/default/pods?fieldSelector=metadata.name!=b\nContent-Type: application/json\n\n\
         {\"gracePeriodSeconds\": 0, \"preconditions\": {\"uid\": \"x\"}, \"propagationPolicy\": \"Foreground\"}",
        "GET /openapi/v3/apis/apps/v1\nIf-None-Match: \"a\"\nAccept: application/json\n\n",
        "GET /apis\nAccept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\n\n",
        "POST /api/v1/namespaces/default/serviceaccounts/default/token\n\n{\"spec\": {\"audiences\": [\"a\"]}}",
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews\nContent-Type: application/yaml\n\nspec: {user: a, \
         resourceAttributes: {verb: get, resource: pods}}\n",
        "PUT /apis/example.io/v1/widgets/o\nContent-Type: application/yaml\n\napiVersion: example.io/v1\n\
         kind: Widget\nmetadata: {name: o}\nspec: {s: y}\n",
        "GET /api/v1/namespaces/default/pods/o/log?container=c&tailLines=3&sinceTime=2024-01-01T00:00:00Z\n\n",
        "GET /version\nConnection: Upgrade\nUpgrade: websocket\n\n",
    ]);
    let server = filled();
    read_damaged("readers::requests::damaged_requests", &valid, |bytes| read_request(&server, bytes));
}

/// A server with an object of several kinds.
fn filled() -> ApiServer {
    let mut server = server(34);
    define(&mut server, &["v1"]);
    for (collection, object) in patches::objects() {
        ask(&mut server, Method::Post, collection, "", &object).unwrap();
    }
    server
}

/// An HTTP request as text: a line with method and path, headers, an empty line, and the body.
fn read_request(server: &ApiServer, bytes: &[u8]) {
    let Some(request) = parse(bytes) else { return };
    with_clients(server.clone(), async |shared, _| {
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
