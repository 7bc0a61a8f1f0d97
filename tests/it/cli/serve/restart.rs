//! A server with a data folder, killed at work: everything that it acknowledged is there after a restart.

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

/// Creates ConfigMaps until the server is gone. Returns names, uids and resource versions of the acknowledged
/// ones.
async fn create_until_killed(site: &Site, served: &Served) -> Vec<(String, String, String)> {
    let maps = site.maps();
    let answered = AtomicUsize::new(0);
    let creates = stream::iter(0..100_000).map(|number| {
        let (maps, answered) = (maps.clone(), &answered);
        async move {
            let map = object(&site.map, &format!("m{number}"), json!({ "data": { "k": "v" } }));
            let acknowledged = maps.create(&PostParams::default(), &map).await.ok()?;
            if answered.fetch_add(1, Ordering::Relaxed) == 200 {
                served.signal("-KILL");
            }
            Some((
                acknowledged.metadata.name?,
                acknowledged.metadata.uid?,
                acknowledged.metadata.resource_version?,
            ))
        }
    });
    creates
        .buffer_unordered(16)
        .take_while(|acknowledged| std::future::ready(acknowledged.is_some()))
        .filter_map(std::future::ready)
        .collect()
        .await
}

/// A client with its kinds.
struct Site {
    client: kube::Client,
    map: ApiResource,
    widget: ApiResource,
}

impl Site {
    async fn new(config: &str) -> Self {
        let client = client(config).await;
        Self { client, map: resource("", "ConfigMap"), widget: resource("example.io", "Widget") }
    }

    fn maps(&self) -> Api<DynamicObject> {
        Api::default_namespaced_with(self.client.clone(), &self.map)
    }

    fn widgets(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &self.widget)
    }

    async fn create(&self, api: Api<DynamicObject>, object: DynamicObject) -> DynamicObject {
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    /// Creates a CRD with an object, another object that is deleted again, and a PriorityClass.
    async fn fill(&self) -> DynamicObject {
        let crds = resource("apiextensions.k8s.io", "CustomResourceDefinition");
        let definitions = Api::all_with(self.client.clone(), &crds);
        self.create(definitions, object(&crds, "widgets.example.io", widgets())).await;
        let kept = object(&self.widget, "w", json!({ "spec": { "size": 1 } }));
        let kept = self.create(self.widgets(), kept).await;
        self.create(self.widgets(), object(&self.widget, "gone", json!({}))).await;
        self.widgets().delete("gone", &DeleteParams::default()).await.unwrap();
        let classes = resource("scheduling.k8s.io", "PriorityClass");
        let classes = ApiResource { plural: "priorityclasses".to_owned(), ..classes };
        let api = Api::all_with(self.client.clone(), &classes);
        self.create(api, object(&classes, "urgent", json!({ "value": 7 }))).await;
        kept
    }

    /// Checks that every acknowledged object exists unchanged.
    async fn check_maps(&self, acknowledged: &[(String, String, String)]) {
        let found = self.maps().list(&ListParams::default()).await.unwrap();
        for (name, uid, version) in acknowledged {
            let map = found.items.iter().find(|map| map.metadata.name.as_ref() == Some(name));
            let meta = &map.unwrap_or_else(|| panic!("{name} is lost")).metadata;
            assert_eq!((meta.uid.as_ref(), meta.resource_version.as_ref()), (Some(uid), Some(version)));
        }
    }

    /// Checks that custom resources can be read in all versions, and that the server has its other state
    /// again.
    async fn check_kinds(&self, kept: &DynamicObject) {
        assert_eq!(self.widgets().get("w").await.unwrap(), *kept);
        assert_eq!(self.widgets().list(&ListParams::default()).await.unwrap().items.len(), 1);
        let (version, api_version) = ("v2".to_owned(), "example.io/v2".to_owned());
        let second = ApiResource { version, api_version, ..self.widget.clone() };
        let second: Api<DynamicObject> = Api::all_with(self.client.clone(), &second);
        assert_eq!(second.get("w").await.unwrap().types.unwrap().api_version, "example.io/v2");
        let pod = resource("", "Pod");
        let spec = json!({ "spec": { "priorityClassName": "urgent", "containers": [{ "name": "c", "image": "i" }] } });
        let pods = Api::default_namespaced_with(self.client.clone(), &pod);
        let created = self.create(pods, object(&pod, "p", spec)).await;
        assert_eq!(created.data["spec"]["priority"], 7);
    }

    /// Checks that uids are new, revisions continue, and a watch from before the restart gets an error.
    async fn check_continuity(&self, acknowledged: &[(String, String, String)]) {
        let last = acknowledged.iter().map(|(.., version)| version.parse::<u64>().unwrap()).max().unwrap();
        let after = self.create(self.maps(), object(&self.map, "after", json!({}))).await.metadata;
        assert!(after.resource_version.unwrap().parse::<u64>().unwrap() > last);
        assert!(acknowledged.iter().all(|(_, uid, _)| Some(uid) != after.uid.as_ref()));
        let mut watch = self.maps().watch(&WatchParams::default(), &last.to_string()).await.unwrap().boxed();
        match watch.next().await.unwrap() {
            Ok(WatchEvent::Error(error)) => assert_eq!(error.code, 410),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let environment = TestEnvironment::new();
    let arguments = ["--data-dir", "data", "--kubeconfig", "config"];
    let served = Served::start(&environment, &arguments);
    let config = environment.read("config");
    let (acknowledged, kept) = run(async {
        let site = Site::new(&config).await;
        let kept = site.fill().await;
        (create_until_killed(&site, &served).await, kept)
    });
    assert!(acknowledged.len() > 200, "{}", acknowledged.len());
    drop(served);
    // With the same token and CA, the old kubeconfig only needs the new port.
    let served = Served::start(&environment, &["--data-dir", "data"]);
    let line = config.lines().find(|line| line.contains("server: ")).unwrap();
    let config = config.replace(line, &format!("    server: \"{}\"", served.url));
    run(async {
        let site = Site::new(&config).await;
        site.check_maps(&acknowledged).await;
        site.check_kinds(&kept).await;
        site.check_continuity(&acknowledged).await;
    });
    let second = environment.run(&["serve", "--port", "0", "--data-dir", "data"]);
    assert_eq!((second.code, second.stderr.as_str()), (Some(2), "error: data: another process uses it\n"));
    served.signal("-TERM");
    assert!(served.end().0.success());
}
