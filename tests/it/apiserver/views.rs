//! Representations of objects: Tables in lists and watches, media types, and documents about the API.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Poll, Query, Reply, ReplyBody, Request, Watch};
use windtunnel_core::{Identity, Write, resources};

use super::requests::{ask, now, server};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

fn get(server: &mut ApiServer, path: &str, accept: &str) -> Reply {
    let admin = Identity::admin();
    server.handle(&Request::new(Method::Get, path, &admin).with_accept(accept), now())
}

fn write_map(server: &mut ApiServer, name: &str) {
    let map = json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "k": "v" } });
    ask(server, &Write::create(&resources::CONFIG_MAPS, map)).unwrap();
}

fn watch(server: &mut ApiServer, query: &str, accept: &str) -> Watch {
    let path = format!("/api/v1/configmaps?watch=true&{query}");
    match get(server, &path, accept).body {
        ReplyBody::Watch(watch) => *watch,
        other => panic!("{other:?}"),
    }
}

fn lines(server: &mut ApiServer, watch: &mut Watch) -> Vec<Value> {
    match server.poll(watch, now()) {
        Poll::Lines(lines) => lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_watch_of_tables_names_the_columns_once() {
    let mut server = server(36);
    write_map(&mut server, "a");
    let mut watch = watch(&mut server, "", TABLE);
    let first = lines(&mut server, &mut watch);
    assert_eq!(first[0]["type"], "ADDED");
    assert_eq!(first[0]["object"]["columnDefinitions"][1]["name"], "Data");
    write_map(&mut server, "b");
    let second = lines(&mut server, &mut watch);
    assert_eq!(second[0]["object"]["columnDefinitions"], Value::Null);
    assert_eq!(second[0]["object"]["rows"][0]["cells"], json!(["b", 1, "0s"]));
    assert_eq!(second[0]["object"]["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

#[test]
fn a_table_of_a_page_has_a_continue_token() {
    let mut server = server(36);
    for name in ["a", "b", "c"] {
        write_map(&mut server, name);
    }
    let table = get(&mut server, "/api/v1/namespaces/default/configmaps?limit=1", TABLE).json().unwrap();
    assert_eq!(table["rows"].as_array().unwrap().len(), 1);
    assert_eq!(table["metadata"]["remainingItemCount"], 2);
    assert!(table["metadata"]["continue"].is_string());
}

#[test]
fn watchers_share_the_bytes_of_an_event_in_each_view() {
    let mut server = server(36);
    for accept in ["", TABLE, METADATA] {
        let from = format!("resourceVersion={}", server.revision());
        let mut watches: Vec<Watch> = (0..1000).map(|_| watch(&mut server, &from, accept)).collect();
        let name = format!("m{}", accept.len());
        write_map(&mut server, &format!("{name}-first"));
        for watch in &mut watches {
            assert_eq!(lines(&mut server, watch).len(), 1);
        }
        write_map(&mut server, &name);
        let places: BTreeSet<usize> = watches
            .iter_mut()
            .map(|watch| match server.poll(watch, now()) {
                Poll::Lines(lines) => lines[0].as_ptr() as usize,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(places.len(), 1, "{accept}");
    }
}

#[test]
fn watches_without_a_timeout_last_30_to_60_minutes() {
    let mut server = server(36);
    let mut ends = BTreeSet::new();
    for _ in 0..20 {
        let from = format!("resourceVersion={}", server.revision());
        let mut watch = watch(&mut server, &from, "");
        let Poll::PendingUntil(end) = server.poll(&mut watch, now()) else { panic!("something to send") };
        let seconds = end.duration_since(now()).as_secs();
        assert!((1800..=3600).contains(&seconds), "{seconds}");
        ends.insert(end);
    }
    assert!(ends.len() > 10);
}

#[test]
fn aggregated_discovery_has_the_version_of_the_minor() {
    let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    let both = format!("{v2},{beta},application/json");
    for (minor, version) in [(26, None), (27, Some(beta)), (30, Some(v2)), (36, Some(v2))] {
        let mut server = server(minor);
        let reply = get(&mut server, "/apis", &both);
        assert_eq!(reply.encode().unwrap().0, version.unwrap_or("application/json"), "1.{minor}");
        let kind = if version.is_some() { "APIGroupDiscoveryList" } else { "APIGroupList" };
        assert_eq!(reply.json().unwrap()["kind"], kind);
    }
}

#[test]
fn a_matching_etag_gets_304_until_the_document_changes() {
    let mut server = server(36);
    let admin = Identity::admin();
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let header = |reply: &Reply, name: &str| {
        reply.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let first = get(&mut server, "/apis", accept);
    let tag = header(&first, "etag");
    assert_eq!((header(&first, "vary"), header(&first, "cache-control")), ("Accept".into(), "public".into()));
    let mut conditional = Request::new(Method::Get, "/apis", &admin).with_accept(accept);
    conditional.if_none_match = tag.clone().into();
    assert_eq!(server.handle(&conditional, now()).code, 304);
    let crd = super::requests::definition(&["a"], false);
    ask(&mut server, &Write::create(&resources::CUSTOM_RESOURCE_DEFINITIONS, crd)).unwrap();
    let changed = server.handle(&conditional, now());
    assert_eq!(changed.code, 200);
    assert_ne!(header(&changed, "etag"), tag);
}

#[test]
fn an_openapi_document_requested_by_its_hash_is_immutable() {
    let mut server = server(36);
    let index = get(&mut server, "/openapi/v3", "").json().unwrap();
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let document = get(&mut server, &url, "application/json");
    assert!(document.headers.contains(&("cache-control", "public, immutable".to_owned())));
    let patch = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    let document = document.json().unwrap();
    let patch = &document["paths"][patch]["patch"];
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeployment");
    assert!(
        patch["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .any(|parameter| parameter["name"] == "fieldValidation")
    );
    let schemas = &document["components"]["schemas"];
    let containers = &schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    let other = get(&mut server, "/openapi/v3/apis/apps/v1?hash=00", "");
    assert_eq!((other.code, &other.headers[0]), (301, &("location", url)));
}

#[test]
fn every_reference_of_an_openapi_document_resolves() {
    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let mut server = server(36);
    let document = get(&mut server, "/openapi/v2", "application/json").json().unwrap();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 100);
    for reference in found {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn curl_gets_indented_json() {
    let mut server = server(36);
    let admin = Identity::admin();
    let mut request = Request::new(Method::Get, "/api/v1/namespaces/default", &admin);
    let text = |reply: Reply| String::from_utf8(reply.encode().unwrap().1.to_vec()).unwrap();
    assert!(text(server.handle(&request, now())).starts_with("{\"kind\""));
    request.user_agent = "curl/8.5".into();
    assert!(text(server.handle(&request, now())).starts_with("{\n  \"kind\""));
    request.query = Query::parse("pretty=false");
    assert!(text(server.handle(&request, now())).starts_with("{\"kind\""));
}

#[test]
fn the_git_version_can_be_set() {
    let mut server = ApiServer::builder().kubernetes(31).git_version("v1.31.4+abc").build(now());
    let version = get(&mut server, "/version", "").json().unwrap();
    assert_eq!((&version["minor"], &version["gitVersion"]), (&json!("31"), &json!("v1.31.4+abc")));
}

#[test]
fn openapi_documents_describe_types_and_fields() {
    let mut server = server(36);
    let own = |what: &str| json!({ "type": "string", "description": what });
    let mut crd = super::requests::definition(&[], false);
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({ "x": own("A text of the definition.") });
    super::requests::define(&mut server, crd);
    let mut text = |path: &str, pointer: &str| {
        let document = get(&mut server, path, "application/json").json().unwrap();
        document.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (v3, v2) = ("/openapi/v3/apis/apps/v1", "/openapi/v2");
    for (path, schemas) in [(v3, "/components/schemas"), (v2, "/definitions")] {
        let deployment = format!("{schemas}/io.k8s.api.apps.v1.Deployment");
        for (field, start) in [
            ("/description", "A Deployment keeps a number of identical pods running."),
            ("/properties/kind/description", "The kind of this object."),
            ("/properties/metadata/description", "Standard object's metadata"),
            ("/properties/spec/description", "The desired state of this Deployment."),
            ("/properties/status/description", "The observed state of this Deployment."),
        ] {
            let found = text(path, &format!("{deployment}{field}"));
            assert!(found.starts_with(start), "{path} {field}: {found}");
        }
    }
    let custom = "/openapi/v3/apis/example.io/v1";
    let version = "/components/schemas/io.example.v1.Version/properties";
    assert_eq!(
        text(custom, &format!("{version}/spec/properties/x/description")),
        "A text of the definition."
    );
    assert!(
        text(custom, &format!("{version}/metadata/description")).starts_with("Standard object's metadata")
    );
}
