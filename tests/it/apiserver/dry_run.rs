//! Dry runs of writes.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Reply, Request};
use windtunnel_core::{Identity, Write, resources};

use super::requests::{VERSIONS, ask, define, definition, now, server};

fn send(server: &mut ApiServer, method: Method, path: &str, body: &Value) -> Reply {
    let admin = Identity::admin();
    let request = Request::new(method, path, &admin);
    let request = if body.is_null() { request } else { request.with_body(body) };
    server.handle(&request, now())
}

#[test]
fn a_dry_run_update_is_answered_in_the_requested_version() {
    let mut server = server(36);
    let mut definition = definition(&["a"], false);
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    definition["spec"]["versions"].as_array_mut().unwrap().push(second);
    define(&mut server, definition);
    let object =
        json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" } });
    let mut object = ask(&mut server, &Write::create(&VERSIONS, object)).unwrap().to_value();
    object["apiVersion"] = json!("example.io/v2");
    object["spec"] = json!({ "channel": "y" });
    let path = "/apis/example.io/v2/versions/version?dryRun=All";
    let reply = send(&mut server, Method::Put, path, &object);
    assert_eq!((reply.code, reply.json().unwrap()["apiVersion"].clone()), (200, json!("example.io/v2")));
    assert!(server.object(&VERSIONS, "", "version").unwrap().to_value().get("spec").is_none());
}

#[test]
fn a_dry_run_deletecollection_is_not_logged() {
    let mut server = server(36);
    let map = json!({ "metadata": { "name": "a", "namespace": "default" } });
    ask(&mut server, &Write::create(&resources::CONFIG_MAPS, map)).unwrap();
    server.keep_log(10);
    let path = "/api/v1/namespaces/default/configmaps";
    for (path, body) in
        [(path.to_owned(), json!({ "dryRun": ["All"] })), (format!("{path}?dryRun=All"), Value::Null)]
    {
        assert_eq!(send(&mut server, Method::Delete, &path, &body).code, 200);
        assert!(server.take_log().is_empty(), "{path}");
    }
    assert_eq!(send(&mut server, Method::Delete, path, &json!({})).code, 200);
    assert_eq!(server.take_log().len(), 1);
}
