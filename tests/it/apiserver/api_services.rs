//! APIServices of other API servers. None can be reached here, so their paths answer as those of `kube-aggregator` do while a server is
//! unavailable.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, ReplyBody, Request};
use windtunnel_core::{Identity, Resource, Write};

use super::kinds::{answer, ask, get};
use super::requests::{define, definition, now, server};

const API_SERVICES: Resource = Resource::cluster("apiregistration.k8s.io", "v1", "APIService", "apiservices");

fn register(server: &mut ApiServer, group: &str, version: &str) {
    let service = json!({ "metadata": { "name": format!("{version}.{group}") }, "spec": {
        "group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100,
        "insecureSkipTLSVerify": true, "service": { "namespace": "kube-system", "name": "metrics-server" } } });
    server.write(&Write::create(&API_SERVICES, service), &Identity::admin(), now()).unwrap();
}

/// The names of the groups in a list, with their versions.
fn groups(list: &Value) -> Vec<String> {
    let group = |group: &Value| {
        let versions = group["versions"].as_array().unwrap().iter();
        let versions: Vec<&str> = versions.map(|version| version["version"].as_str().unwrap()).collect();
        let name = group["name"].as_str().or(group["metadata"]["name"].as_str()).unwrap();
        format!("{name} {}", versions.join(" "))
    };
    list["groups"].as_array().or(list["items"].as_array()).unwrap().iter().map(group).collect()
}

#[test]
fn the_paths_of_a_server_that_cannot_be_reached_answer_503() {
    let mut server = server(36);
    let root = "/apis/metrics.k8s.io/v1beta1";
    assert_eq!(answer(&mut server, Method::Get, root, &Value::Null).0, 404);
    register(&mut server, "metrics.k8s.io", "v1beta1");
    for (method, below) in [
        (Method::Get, ""),
        (Method::Get, "/nodes"),
        (Method::Get, "/namespaces/default/pods/a"),
        (Method::Post, "/nodes"),
        (Method::Get, "/nodes?watch=true"),
    ] {
        let reply = ask(&mut server, method, &format!("{root}{below}"), &Value::Null);
        let ReplyBody::Bytes { content_type, bytes } = &reply.body else { panic!("{below}: {reply:?}") };
        let text = String::from_utf8_lossy(bytes);
        let expected = (503, "text/plain; charset=utf-8", "service unavailable\n");
        assert_eq!((reply.code, *content_type, &*text), expected, "{below}");
    }
    assert_eq!(answer(&mut server, Method::Get, "/apis/metrics.k8s.io/v1", &Value::Null).0, 404);
    let nobody = Identity::new("nobody", &[]);
    let request = Request::new(Method::Get, "/apis/metrics.k8s.io/v1beta1/nodes", &nobody);
    assert_eq!(server.handle(&request, now()).code, 403, "access is checked before");
    server
        .write(&Write::delete(&API_SERVICES, "", "v1beta1.metrics.k8s.io"), &Identity::admin(), now())
        .unwrap();
    assert_eq!(answer(&mut server, Method::Get, root, &Value::Null).0, 404);
}

#[test]
fn discovery_lists_the_groups_of_other_servers() {
    let mut server = server(36);
    let aggregated = |server: &mut ApiServer| {
        let admin = Identity::admin();
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        server.handle(&Request::new(Method::Get, "/apis", &admin).with_accept(accept), now()).json().unwrap()
    };
    let before = groups(&get(&mut server, "/apis"));
    assert_eq!(groups(&aggregated(&mut server)), before);
    register(&mut server, "metrics.k8s.io", "v1beta1");
    let after = groups(&get(&mut server, "/apis"));
    assert_eq!(after, [before.as_slice(), &["metrics.k8s.io v1beta1".to_owned()]].concat());
    assert_eq!(get(&mut server, "/apis/metrics.k8s.io")["preferredVersion"]["version"], "v1beta1");
    let list = aggregated(&mut server);
    assert_eq!(groups(&list), after);
    let last = list["items"].as_array().unwrap().last().unwrap();
    assert_eq!(last["versions"], json!([{ "version": "v1beta1", "freshness": "Stale" }]));
}

#[test]
fn a_group_and_version_that_this_server_has_stays_its_own() {
    let mut server = server(36);
    register(&mut server, "example.io", "v1");
    let path = "/apis/example.io/v1/versions";
    assert_eq!(answer(&mut server, Method::Get, path, &Value::Null).0, 503);
    define(&mut server, definition(&[], false));
    assert_eq!(answer(&mut server, Method::Get, path, &Value::Null).0, 200);
}
