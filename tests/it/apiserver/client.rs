//! kube's client and watcher against the server, in paused time.

use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use serde_json::json;
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Clock, VirtualClock};
use windtunnel_core::{Identity, Write, resources};

use super::requests::now;

fn shared(history: usize) -> (Shared, Arc<VirtualClock>) {
    let clock = VirtualClock::starting_at(now());
    let server = ApiServer::builder().history(history).build(now());
    (Shared::new(server, clock.clone()), clock)
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test)
}

fn create(shared: &Shared, name: &str) {
    let map = json!({ "metadata": { "name": name, "namespace": "default" } });
    shared.write(&Write::create(&resources::CONFIG_MAPS, map), &Identity::admin(), now()).unwrap();
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
}

/// The next event as a short text.
async fn next(
    stream: &mut (impl futures::Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin),
) -> String {
    match stream.next().await.unwrap() {
        Ok(Event::Init) => "init".into(),
        Ok(Event::InitApply(map)) => format!("has {}", map.metadata.name.unwrap()),
        Ok(Event::InitDone) => "done".into(),
        Ok(Event::Apply(map)) => format!("apply {}", map.metadata.name.unwrap()),
        Ok(Event::Delete(map)) => format!("delete {}", map.metadata.name.unwrap()),
        Err(error) => {
            format!("error {}", if error.to_string().contains("too old") { "too old" } else { "other" })
        }
    }
}

#[test]
fn a_client_creates_reads_patches_lists_and_deletes() {
    run(async {
        let (shared, _clock) = shared(100);
        let maps: Api<ConfigMap> = Api::default_namespaced(shared.client(&Identity::admin()));
        maps.create(&PostParams::default(), &config_map("a")).await.unwrap();
        let patch = Patch::Merge(json!({ "data": { "k": "v" } }));
        let patched = maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
        assert_eq!(patched.data.unwrap()["k"], "v");
        assert_eq!(maps.list(&ListParams::default()).await.unwrap().items.len(), 1);
        maps.delete("a", &DeleteParams::default()).await.unwrap();
        let error = maps.get("a").await.unwrap_err();
        assert!(error.to_string().contains("configmaps \"a\" not found"), "{error}");
    });
}

#[test]
fn a_watcher_sees_writes_of_clients_and_direct_writes() {
    run(async {
        let (shared, clock) = shared(100);
        create(&shared, "a");
        let maps: Api<ConfigMap> = Api::default_namespaced(shared.client(&Identity::admin()));
        for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
            let mut stream = Box::pin(watch(maps.clone(), config));
            assert_eq!(
                [next(&mut stream).await, next(&mut stream).await, next(&mut stream).await],
                ["init", "has a", "done"]
            );
            create(&shared, "b");
            assert_eq!(next(&mut stream).await, "apply b");
            maps.delete("b", &DeleteParams::default()).await.unwrap();
            assert_eq!(next(&mut stream).await, "delete b");
        }
        assert!(clock.now() > now(), "requests take virtual time");
    });
}

#[test]
fn a_watcher_of_an_idle_cluster_survives_a_virtual_day() {
    run(async {
        let (shared, _clock) = shared(100);
        let maps: Api<ConfigMap> = Api::default_namespaced(shared.client(&Identity::admin()));
        let mut stream = Box::pin(watch(maps, watcher::Config::default()).default_backoff());
        assert_eq!([next(&mut stream).await, next(&mut stream).await], ["init", "done"]);
        let day = std::time::Duration::from_secs(24 * 3600);
        assert!(tokio::time::timeout(day, stream.next()).await.is_err(), "nothing happened");
        create(&shared, "a");
        assert_eq!(next(&mut stream).await, "apply a");
    });
}

#[test]
fn a_watcher_that_fell_behind_lists_again() {
    run(async {
        let (shared, _clock) = shared(3);
        let maps: Api<ConfigMap> = Api::default_namespaced(shared.client(&Identity::admin()));
        let mut stream = Box::pin(watch(maps, watcher::Config::default()).default_backoff());
        assert_eq!([next(&mut stream).await, next(&mut stream).await], ["init", "done"]);
        // The watch is open once its first event has arrived.
        create(&shared, "a");
        assert_eq!(next(&mut stream).await, "apply a");
        for name in ["b", "c", "d", "e", "f"] {
            create(&shared, name);
        }
        assert_eq!(next(&mut stream).await, "error too old");
        let relisted = [next(&mut stream).await, next(&mut stream).await, next(&mut stream).await];
        assert_eq!(relisted, ["init", "has a", "has b"]);
    });
}

#[test]
fn ten_thousand_creates_reach_a_watcher() {
    run(async {
        let (shared, _clock) = shared(20_000);
        let maps: Api<ConfigMap> = Api::default_namespaced(shared.client(&Identity::admin()));
        let mut stream = Box::pin(watch(maps, watcher::Config::default()));
        assert_eq!([next(&mut stream).await, next(&mut stream).await], ["init", "done"]);
        (0..10_000).for_each(|number| create(&shared, &format!("m{number:05}")));
        for number in 0..10_000 {
            assert_eq!(next(&mut stream).await, format!("apply m{number:05}"));
        }
    });
}

#[test]
fn a_client_write_notifies_subscribers_and_is_logged_with_its_user() {
    run(async {
        let (shared, _clock) = shared(100);
        shared.with(|server| server.keep_log(10));
        let mut changes = shared.subscribe();
        let robot = Identity::new("system:serviceaccount:ns:robot", &["system:masters"]);
        let maps: Api<ConfigMap> = Api::default_namespaced(shared.client(&robot));
        let writer = tokio::spawn(async move { maps.create(&PostParams::default(), &config_map("a")).await });
        changes.changed().await.unwrap();
        writer.await.unwrap().unwrap();
        let log = shared.with(ApiServer::take_log);
        assert_eq!(
            (log[0].user.as_str(), log[0].key.to_string().as_str()),
            ("system:serviceaccount:ns:robot", "configmaps/default/a")
        );
    });
}

#[test]
fn a_client_can_get_only_metadata_in_reads_lists_and_watches() {
    run(async {
        let (shared, _clock) = shared(100);
        create(&shared, "a");
        let client = shared.client(&Identity::admin());
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client);
        assert_eq!(maps.get("a").await.unwrap().types.unwrap().kind, "PartialObjectMetadata");
        let listed = maps.list(&ListParams::default()).await.unwrap();
        assert_eq!(listed.items[0].metadata.name.as_deref(), Some("a"));
        let mut stream = Box::pin(watch(maps, watcher::Config::default()));
        let mut names = Vec::new();
        while names.len() < 2 {
            match stream.next().await.unwrap().unwrap() {
                Event::InitApply(object) | Event::Apply(object) => names.push(object.metadata.name.unwrap()),
                Event::InitDone => create(&shared, "b"),
                Event::Init | Event::Delete(_) => {}
            }
        }
        assert_eq!(names, ["a", "b"]);
    });
}
