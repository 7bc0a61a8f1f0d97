//! The same test bodies against this server and a real one: in process, over HTTPS, and, if the environment
//! variable `WINDTUNNEL_KUBECONFIG` names a kubeconfig, against its cluster.
//!
//! A body gets a client and the name of its own namespace. Its expectations must hold on every supported
//! Kubernetes version.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Config};
use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::Identity;
use windtunnel_core::clock::{Clock as _, WallClock};

type Outcome = Result<(), Box<dyn Error>>;
type Body = fn(Client, String) -> BoxFuture<'static, Outcome>;

/// The tests that must pass on every server.
const BODIES: [(&str, Body); 5] = [
    ("a stale update is rejected", |client, space| stale_update(client, space).boxed()),
    ("a watcher sees every change in order", |client, space| watched(client, space).boxed()),
    ("all pages of a list have one revision", |client, space| paged(client, space).boxed()),
    ("an apply without force takes no field from another manager", |client, space| {
        applied(client, space).boxed()
    }),
    ("a CRD adds defaults, prunes fields and rejects objects", |client, space| {
        defined(client, space).boxed()
    }),
];

async fn stale_update(client: Client, space: String) -> Outcome {
    let maps: Api<ConfigMap> = Api::namespaced(client, &space);
    let first = maps.create(&PostParams::default(), &map("a", "1")).await?;
    let mut second = first.clone();
    second.data = map("a", "2").data;
    let second = maps.replace("a", &PostParams::default(), &second).await?;
    assert_ne!(first.metadata.resource_version, second.metadata.resource_version);
    let rejected = maps.replace("a", &PostParams::default(), &first).await;
    assert_eq!(
        message(rejected),
        (
            409,
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your \
             changes to the latest version and try again"
                .to_owned()
        )
    );
    let duplicate = maps.create(&PostParams::default(), &map("a", "3")).await;
    assert_eq!(message(duplicate), (409, "configmaps \"a\" already exists".to_owned()));
    Ok(())
}

async fn watched(client: Client, space: String) -> Outcome {
    let maps: Api<ConfigMap> = Api::namespaced(client, &space);
    let config = watcher::Config::default().fields("metadata.name=a");
    let mut events = watcher(maps.clone(), config).boxed();
    while !matches!(events.try_next().await?, Some(Event::InitDone)) {}
    maps.create(&PostParams::default(), &map("a", "1")).await?;
    let patch = Patch::Merge(json!({ "data": { "v": "2" } }));
    maps.patch("a", &PatchParams::default(), &patch).await?;
    maps.create(&PostParams::default(), &map("b", "1")).await?;
    maps.delete("a", &DeleteParams::default()).await?;
    let value = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("v")).cloned();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        match events.try_next().await? {
            Some(Event::Apply(map)) => seen.push(("applied", value(&map))),
            Some(Event::Delete(map)) => seen.push(("deleted", value(&map))),
            _ => {}
        }
    }
    let two = || Some("2".to_owned());
    assert_eq!(seen, [("applied", Some("1".to_owned())), ("applied", two()), ("deleted", two())]);
    Ok(())
}

async fn paged(client: Client, space: String) -> Outcome {
    let maps: Api<ConfigMap> = Api::namespaced(client, &space);
    for name in ["a", "b", "c", "d", "e"] {
        maps.create(&PostParams::default(), &map(name, "paged")).await?;
    }
    // A cluster may create its own ConfigMaps in each namespace.
    let labelled = ListParams::default().labels("test=parity").limit(2);
    let (mut names, mut versions, mut next) = (Vec::new(), Vec::new(), None::<String>);
    loop {
        let page = match &next {
            Some(token) => labelled.clone().continue_token(token),
            None => labelled.clone(),
        };
        let page = maps.list(&page).await?;
        names.extend(page.items.into_iter().filter_map(|map| map.metadata.name));
        versions.extend(page.metadata.resource_version);
        maps.create(&PostParams::default(), &map(&format!("x{}", names.len()), "later")).await?;
        next = page.metadata.continue_.filter(|token| !token.is_empty());
        if next.is_none() {
            break;
        }
    }
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    versions.dedup();
    assert_eq!(versions.len(), 1, "all pages are of one revision");
    Ok(())
}

async fn applied(client: Client, space: String) -> Outcome {
    let maps: Api<ConfigMap> = Api::namespaced(client, &space);
    let apply = |manager: &str, data: Value, force: bool| {
        let (maps, manager) = (maps.clone(), manager.to_owned());
        async move {
            let object =
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
            let parameters = PatchParams { force, ..PatchParams::apply(&manager) };
            maps.patch("a", &parameters, &Patch::Apply(object)).await
        }
    };
    apply("one", json!({ "k": "1", "own": "1" }), false).await?;
    let rejected = apply("two", json!({ "k": "2" }), false).await;
    let text = "Apply failed with 1 conflict: conflict with \"one\": .data.k";
    assert_eq!(message(rejected), (409, text.to_owned()));
    let taken = apply("two", json!({ "k": "2" }), true).await?;
    assert_eq!(json!(taken.data), json!({ "k": "2", "own": "1" }));
    let released = apply("one", json!({}), false).await?;
    assert_eq!(json!(released.data), json!({ "k": "2" }), "the field of only one manager is removed");
    Ok(())
}

async fn defined(client: Client, space: String) -> Outcome {
    let group = format!("{space}.example.com");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = serde_json::from_value(definition(&group))?;
    definitions.create(&PostParams::default(), &definition).await?;
    let name = format!("gadgets.{group}");
    let established = await_condition(definitions.clone(), &name, conditions::is_crd_established());
    tokio::time::timeout(Duration::from_secs(30), established).await??;

    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Gadget"));
    let gadgets: Api<DynamicObject> = Api::namespaced_with(client, &space, &kind);
    let gadget = |name: &str, spec: Value| DynamicObject::new(name, &kind).data(json!({ "spec": spec }));
    let created =
        gadgets.create(&PostParams::default(), &gadget("a", json!({ "size": 3, "odd": 1 }))).await?;
    assert_eq!(created.data["spec"], json!({ "size": 3, "colour": "blue" }));
    let rejected = gadgets.create(&PostParams::default(), &gadget("b", json!({ "size": 30 }))).await;
    let text = format!(
        "Gadget.{group} \"b\" is invalid: spec.size: Invalid value: 30: spec.size in body should be less than or equal to 9"
    );
    assert_eq!(message(rejected), (422, text));
    definitions.delete(&name, &DeleteParams::default()).await?;
    Ok(())
}

fn definition(group: &str) -> Value {
    let spec = json!({ "type": "object", "properties": {
        "size": { "type": "integer", "maximum": 9 }, "colour": { "type": "string", "default": "blue" } } });
    json!({ "metadata": { "name": format!("gadgets.{group}") }, "spec": {
        "group": group, "scope": "Namespaced", "names": { "plural": "gadgets", "kind": "Gadget" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema":
            { "type": "object", "properties": { "spec": spec } } } }] } })
}

fn map(name: &str, value: &str) -> ConfigMap {
    let map = json!({ "metadata": { "name": name, "labels": { "test": "parity" } }, "data": { "v": value } });
    serde_json::from_value(map).unwrap()
}

/// Code and message of a rejection.
fn message<T: std::fmt::Debug>(result: kube::Result<T>) -> (u16, String) {
    match result {
        Err(kube::Error::Api(status)) => (status.code, status.message),
        other => panic!("expected a rejection, got {other:?}"),
    }
}

/// Runs all bodies, each in a namespace that is deleted afterwards.
async fn run(client: Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for (number, (what, body)) in BODIES.iter().enumerate() {
        let space = json!({ "metadata": { "generateName": format!("parity-{number}-") } });
        let space = serde_json::from_value(space).unwrap();
        let space = namespaces.create(&PostParams::default(), &space).await.unwrap();
        let space = space.metadata.name.unwrap();
        let outcome =
            tokio::time::timeout(Duration::from_secs(60), body(client.clone(), space.clone())).await;
        assert!(matches!(outcome, Ok(Ok(()))), "{what}: {outcome:?}");
        namespaces.delete(&space, &DeleteParams::default()).await.unwrap();
    }
}

fn server() -> Shared {
    Shared::new(ApiServer::builder().build(WallClock.now()), Arc::new(WallClock))
}

#[tokio::test]
async fn in_process() {
    run(server().client(&Identity::admin())).await;
}

#[cfg(feature = "serve")]
#[tokio::test(flavor = "multi_thread")]
async fn over_https() {
    use windtunnel_apiserver::https::{Settings, serve};
    let serving = serve(server(), Settings::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, serving.kubeconfig()).unwrap();
    run(client(&path).await).await;
    serving.stop().await;
}

#[tokio::test]
async fn against_the_cluster_of_a_kubeconfig() {
    #[expect(clippy::disallowed_methods, reason = "the user chooses the cluster")]
    let Ok(path) = std::env::var("WINDTUNNEL_KUBECONFIG") else {
        crate::skipped::skipped("kubeconfig in WINDTUNNEL_KUBECONFIG");
        return;
    };
    run(client(Path::new(&path)).await).await;
}

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let config =
        Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await;
    Client::try_from(config.unwrap()).unwrap()
}
