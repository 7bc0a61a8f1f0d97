//! Collection deletions, and dependents of deletions without a policy.

use serde_json::{Value, json};
use windtunnel_apiserver::Method;

use super::kinds::{answer, ask, get};
use super::requests::server;

/// The verbs that discovery lists of a resource.
fn verbs(list: &Value, plural: &str) -> String {
    let resources = list["resources"].as_array().unwrap();
    let found = resources.iter().find(|one| one["name"] == plural).unwrap();
    let verbs = found["verbs"].as_array().unwrap().iter();
    verbs.map(|verb| verb.as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn namespaces_do_not_support_deletecollection() {
    let mut server = server(36);
    let rejected = "the server does not allow this method on the requested resource";
    let all = "/api/v1/namespaces";
    assert_eq!(answer(&mut server, Method::Delete, all, &Value::Null), (405, rejected.to_owned()));
    assert_eq!(get(&mut server, &format!("{all}/default"))["status"]["phase"], "Active");
    let list = get(&mut server, "/api/v1");
    assert_eq!(verbs(&list, "namespaces"), "create delete get list patch update watch");
    assert_eq!(verbs(&list, "nodes"), "create delete deletecollection get list patch update watch");
}

#[test]
fn component_statuses_are_read_only() {
    let mut server = server(36);
    let path = "/api/v1/componentstatuses";
    assert_eq!(verbs(&get(&mut server, "/api/v1"), "componentstatuses"), "get list");
    let status = json!({ "apiVersion": "v1", "kind": "ComponentStatus", "metadata": { "name": "a" } });
    assert_eq!(answer(&mut server, Method::Post, path, &status).0, 405);
    assert_eq!(answer(&mut server, Method::Delete, path, &Value::Null).0, 405);
    assert_eq!(answer(&mut server, Method::Get, path, &Value::Null).0, 200);
}

/// A pod template.
fn template() -> Value {
    let spec = json!({ "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] });
    json!({ "metadata": { "labels": { "a": "b" } }, "spec": spec })
}

#[test]
fn jobs_and_replication_controllers_orphan_their_pods_by_default() {
    let mut server = server(36);
    let batch = "/apis/batch/v1/namespaces/default/jobs";
    let core = "/api/v1/namespaces/default/replicationcontrollers";
    let apps = "/apis/apps/v1/namespaces/default/replicasets";
    let job = json!({ "template": template() });
    let mut always = template();
    always["spec"]["restartPolicy"] = json!("Always");
    let set = json!({ "selector": { "matchLabels": { "a": "b" } }, "template": always });
    let controller = json!({ "selector": { "a": "b" }, "template": always });
    let warning = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
                   remove them or set propagationPolicy=Orphan to suppress this warning";
    for (path, spec, options, finalizers, warnings) in [
        (batch, &job, Value::Null, json!(["orphan"]), vec![warning.to_owned()]),
        (batch, &job, json!({ "propagationPolicy": "Background" }), Value::Null, vec![]),
        (batch, &job, json!({ "orphanDependents": false }), Value::Null, vec![]),
        (batch, &job, json!({ "propagationPolicy": "Foreground" }), json!(["foregroundDeletion"]), vec![]),
        (core, &controller, Value::Null, json!(["orphan"]), vec![]),
        (apps, &set, Value::Null, Value::Null, vec![]),
    ] {
        let object = json!({ "metadata": { "name": "x" }, "spec": spec });
        assert_eq!(ask(&mut server, Method::Post, path, &object).code, 201);
        let object_path = format!("{path}/x");
        let reply = ask(&mut server, Method::Delete, &object_path, &options);
        assert_eq!((reply.code, &reply.warnings), (200, &warnings), "{path} {options}");
        assert_eq!(get(&mut server, &object_path)["metadata"]["finalizers"], finalizers, "{path} {options}");
        ask(&mut server, Method::Patch, &object_path, &json!({ "metadata": { "finalizers": null } }));
    }
}

#[test]
fn finalizers_of_a_job_override_its_default_policy() {
    let mut server = server(36);
    let path = "/apis/batch/v1/namespaces/default/jobs";
    let metadata = json!({ "name": "x", "finalizers": ["foregroundDeletion"] });
    let job = json!({ "metadata": metadata, "spec": { "template": template() } });
    assert_eq!(ask(&mut server, Method::Post, path, &job).code, 201);
    ask(&mut server, Method::Delete, path, &Value::Null);
    assert_eq!(
        get(&mut server, &format!("{path}/x"))["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
}

#[test]
fn events_ignore_the_propagation_policy() {
    let mut server = server(36);
    let path = "/api/v1/namespaces/default/events";
    let event = json!({ "metadata": { "name": "x" }, "involvedObject": { "namespace": "default" } });
    assert_eq!(ask(&mut server, Method::Post, path, &event).code, 201);
    let orphan = json!({ "propagationPolicy": "Orphan" });
    assert_eq!(ask(&mut server, Method::Delete, &format!("{path}/x"), &orphan).code, 200);
    assert_eq!(answer(&mut server, Method::Get, &format!("{path}/x"), &Value::Null).0, 404);
}

/// The resources for which a real kube-apiserver 1.36 lists fewer than all verbs, without subresources.
const FEWER: [(&str, &str); 9] = [
    ("bindings", "create"),
    ("componentstatuses", "get list"),
    ("localsubjectaccessreviews", "create"),
    ("namespaces", "create delete get list patch update watch"),
    ("selfsubjectaccessreviews", "create"),
    ("selfsubjectreviews", "create"),
    ("selfsubjectrulesreviews", "create"),
    ("subjectaccessreviews", "create"),
    ("tokenreviews", "create"),
];

#[test]
fn discovery_lists_the_verbs_of_a_real_server() {
    let mut server = server(36);
    let groups = get(&mut server, "/apis")["groups"].as_array().unwrap().clone();
    let versions = groups.iter().flat_map(|group| group["versions"].as_array().unwrap());
    let paths = versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
    let (mut fewer, mut all) = (Vec::new(), 0);
    for path in std::iter::once("/api/v1".to_owned()).chain(paths) {
        let list = get(&mut server, &path);
        let names = list["resources"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
        for name in names.filter(|name| !name.contains('/')) {
            match verbs(&list, name) {
                found if found == "create delete deletecollection get list patch update watch" => all += 1,
                found => fewer.push((name.to_owned(), found)),
            }
        }
    }
    fewer.sort();
    assert_eq!(fewer, FEWER.map(|(name, verbs)| (name.to_owned(), verbs.to_owned())));
    assert_eq!(all, 59);
}
