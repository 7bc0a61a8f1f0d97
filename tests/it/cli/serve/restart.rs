//! A server with a data folder, killed in the middle of its work: what it had answered is there again.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{StreamExt as _, stream};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::{Served, TestEnvironment, client, run};

fn resource(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

fn object(resource: &ApiResource, name: &str, more: Value) -> DynamicObject {
    let mut object = DynamicObject::new(name, resource);
    object.data = more;
    object
}

fn widgets() -> Value {
    let version = |name: &str, storage: bool| {
        json!({ "name": name, "served": true, "storage": storage, "subresources": { "status": {} }, "schema": { "openAPIV3Schema": {
            "type": "object", "properties": { "spec": { "type": "object", "properties": {
                "size": { "type": "integer" }, "color": { "type": "string", "default": "red" } } } } } } })
    };
    json!({ "spec": { "group": "example.io", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
        "versions": [version("v1", true), version("v2", false)] } })
}

/// Creates config maps until the server is gone; the names, uids and resource versions of those that were answered.
async fn create_until_killed(client: kube::Client, served: &Served) -> Vec<(String, String, String)> {
    let maps: Api<DynamicObject> = Api::default_namespaced_with(client, &resource("", "ConfigMap"));
    let answered = AtomicUsize::new(0);
    let creates = stream::iter(0..100_000).map(|number| {
        let (maps, answered) = (maps.clone(), &answered);
        async move {
            let map =
                object(&resource("", "ConfigMap"), &format!("m{number}"), json!({ "data": { "k": "v" } }));
            let made = maps.create(&PostParams::default(), &map).await.ok()?;
            if answered.fetch_add(1, Ordering::Relaxed) == 200 {
                served.signal("-KILL");
            }
            Some((made.metadata.name?, made.metadata.uid?, made.metadata.resource_version?))
        }
    });
    creates
        .buffer_unordered(16)
        .take_while(|made| std::future::ready(made.is_some()))
        .filter_map(std::future::ready)
        .collect()
        .await
}

#[test]
fn what_was_answered_before_a_kill_is_there_after_a_restart() {
    let environment = TestEnvironment::new();
    let arguments = ["--data-dir", "data", "--kubeconfig", "config"];
    let served = Served::start(&environment, &arguments);
    let (crds, widget) =
        (resource("apiextensions.k8s.io", "CustomResourceDefinition"), resource("example.io", "Widget"));
    let config = environment.read("config");
    let (made, before, last) = run(async {
        let client = client(&config).await;
        let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &crds);
        let definition = object(&crds, "widgets.example.io", widgets());
        definitions.create(&PostParams::default(), &definition).await.unwrap();
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &widget);
        let before = api
            .create(&PostParams::default(), &object(&widget, "w", json!({ "spec": { "size": 1 } })))
            .await
            .unwrap();
        api.create(&PostParams::default(), &object(&widget, "gone", json!({}))).await.unwrap();
        api.delete("gone", &DeleteParams::default()).await.unwrap();
        let classes = resource("scheduling.k8s.io", "PriorityClass");
        let urgent = object(&classes, "urgent", json!({ "value": 7 }));
        let classes = ApiResource { plural: "priorityclasses".to_owned(), ..classes };
        let classes: Api<DynamicObject> = Api::all_with(client.clone(), &classes);
        classes.create(&PostParams::default(), &urgent).await.unwrap();
        let made = create_until_killed(client.clone(), &served).await;
        let last = made.iter().map(|(.., version)| version.parse::<u64>().unwrap()).max().unwrap();
        (made, before, last)
    });
    assert!(made.len() > 200, "{}", made.len());
    drop(served);
    // The same token and the same authority: the old kubeconfig is good but for the port.
    let served = Served::start(&environment, &["--data-dir", "data"]);
    let line = config.lines().find(|line| line.contains("server: ")).unwrap();
    let config = config.replace(line, &format!("    server: \"{}\"", served.url));
    run(async {
        let client = client(&config).await;
        let maps: Api<DynamicObject> =
            Api::default_namespaced_with(client.clone(), &resource("", "ConfigMap"));
        let found = maps.list(&ListParams::default()).await.unwrap();
        for (name, uid, version) in &made {
            let map = found
                .items
                .iter()
                .find(|map| map.metadata.name.as_deref() == Some(name))
                .unwrap_or_else(|| panic!("{name} is lost"));
            assert_eq!(
                (map.metadata.uid.as_ref(), map.metadata.resource_version.as_ref()),
                (Some(uid), Some(version))
            );
        }
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &widget);
        assert_eq!(api.get("w").await.unwrap(), before);
        assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
        let second = ApiResource {
            version: "v2".to_owned(),
            api_version: "example.io/v2".to_owned(),
            ..widget.clone()
        };
        let second: Api<DynamicObject> = Api::all_with(client.clone(), &second);
        assert_eq!(second.get("w").await.unwrap().types.unwrap().api_version, "example.io/v2");
        // What the server keeps beside the objects is made again: a pod's priority is that of its class.
        let pods: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource("", "Pod"));
        let spec = json!({ "spec": { "priorityClassName": "urgent", "containers": [{ "name": "c", "image": "i" }] } });
        let pod =
            pods.create(&PostParams::default(), &object(&resource("", "Pod"), "p", spec)).await.unwrap();
        assert_eq!(pod.data["spec"]["priority"], 7);
        // Uids are new, revisions go on, and a watch from before is told that it missed something.
        let after = maps
            .create(&PostParams::default(), &object(&resource("", "ConfigMap"), "after", json!({})))
            .await
            .unwrap();
        assert!(after.metadata.resource_version.unwrap().parse::<u64>().unwrap() > last);
        assert!(made.iter().all(|(_, uid, _)| Some(uid) != after.metadata.uid.as_ref()));
        let mut watch = maps.watch(&WatchParams::default(), &last.to_string()).await.unwrap().boxed();
        match watch.next().await.unwrap() {
            Ok(WatchEvent::Error(error)) => assert_eq!(error.code, 410),
            other => panic!("{other:?}"),
        }
    });
    let second = environment.run(&["serve", "--port", "0", "--data-dir", "data"]);
    assert_eq!((second.code, second.stderr.as_str()), (Some(2), "error: data: another process uses it\n"));
    served.signal("-TERM");
    assert!(served.end().0.success());
}
