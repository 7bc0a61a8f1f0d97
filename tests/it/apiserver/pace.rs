//! Delays until CRDs take effect, for clients that want to see them.

use std::time::Duration;

use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::json;
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{ApiServer, Builder, DefinitionPace, Method, Request};
use windtunnel_core::clock::{Clock, Time, VirtualClock};
use windtunnel_core::{Identity, Write, resources};

use super::requests::{define, definition, now};

const SLOW: DefinitionPace =
    DefinitionPace { storage: Duration::from_millis(300), first_creates_wait: false };
const PAUSE: DefinitionPace = DefinitionPace { storage: Duration::ZERO, first_creates_wait: true };

fn server(minor: u32) -> Builder {
    ApiServer::builder().kubernetes(minor)
}

fn later(milliseconds: i64) -> Time {
    now() + jiff::SignedDuration::from_millis(milliseconds)
}

fn get(server: &mut ApiServer, query: &str, at: Time) -> (u16, Option<u32>, String) {
    let path = format!("/apis/example.io/v1/versions{query}");
    let admin = Identity::admin();
    let reply = server.handle(&Request::new(Method::Get, &path, &admin), at);
    let text = reply.json().unwrap_or_default()["message"].as_str().unwrap_or_default().to_owned();
    (reply.code, reply.retry_after, text)
}

#[test]
fn since_1_31_lists_and_watches_are_rejected_while_storage_is_reinitialized() {
    let mut server = server(31).definition_pace(SLOW).build(now());
    define(&mut server, definition(&["a"], false));
    let rejected = (429, Some(1), "storage is (re)initializing".to_owned());
    for query in ["", "?watch=true", "?limit=500&labelSelector=a", "?watch=true&limit=500"] {
        assert_eq!(get(&mut server, query, later(299)), rejected, "{query}");
    }
    // Pages of everything and single objects come from etcd.
    assert_eq!(get(&mut server, "?limit=500", later(299)).0, 200);
    assert_eq!(get(&mut server, "/none", later(299)).0, 404);
    assert_eq!(get(&mut server, "", later(300)).0, 200);
    // A label does not change the storage.
    let kind = &resources::CUSTOM_RESOURCE_DEFINITIONS;
    let label = json!({ "metadata": { "labels": { "x": "y" } } });
    let write = Write::merge_patch(kind, "", "versions.example.io", label);
    server.write(&write, &Identity::admin(), later(1000)).unwrap();
    assert_eq!(get(&mut server, "", later(1001)).0, 200);
}

#[test]
fn crds_take_effect_at_once_by_default() {
    let mut server = server(36).build(now());
    define(&mut server, definition(&["a"], false));
    assert_eq!(get(&mut server, "", now()).0, 200);
}

/// The result of a client's request, and how long it takes in virtual time.
fn taken<F: Future>(minor: u32, pace: DefinitionPace, ask: impl Fn(Client) -> F) -> (F::Output, Duration) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let clock = VirtualClock::starting_at(now());
        let mut server = server(minor).definition_pace(pace).build(now());
        define(&mut server, definition(&["a"], false));
        let shared = Shared::new(server, clock.clone());
        let started = clock.now();
        let answer = ask(shared.client(&Identity::admin())).await;
        (answer, clock.now().duration_since(started).try_into().unwrap())
    })
}

fn versions(client: Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("example.io", "v1", "Version");
    Api::all_with(client, &ApiResource::from_gvk_with_plural(&kind, "versions"))
}

async fn list(client: Client) -> usize {
    versions(client).list(&ListParams::default()).await.unwrap().items.len()
}

#[test]
fn up_to_1_30_a_list_waits_for_the_storage() {
    let (count, span) = taken(30, SLOW, list);
    assert_eq!(count, 0);
    assert!((300..400).contains(&span.as_millis()), "{span:?}");
    assert!(taken(30, DefinitionPace::default(), list).1.as_millis() < 10);
}

async fn create(client: Client) -> Option<String> {
    let kind = GroupVersionKind::gvk("example.io", "v1", "Version");
    let object = DynamicObject::new("v", &ApiResource::from_gvk_with_plural(&kind, "versions"));
    versions(client).create(&PostParams::default(), &object).await.unwrap().metadata.name
}

async fn create_later(client: Client) -> Option<String> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    create(client).await
}

#[test]
fn the_first_create_of_a_kind_takes_two_seconds() {
    let (name, span) = taken(36, PAUSE, create);
    assert_eq!(name.as_deref(), Some("v"));
    assert!((2000..2100).contains(&span.as_millis()), "{span:?}");
    // A client that comes two seconds later does not wait.
    assert!((2000..2100).contains(&taken(36, PAUSE, create_later).1.as_millis()));
    assert!(taken(36, DefinitionPace::default(), create).1.as_millis() < 10);
}
