//! The API server alone: its first response, and its speed of writes, reads, lists and watches.

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{ApiServer, Body, Method, ReplyBody, Request};
use windtunnel_core::clock::{Time, VirtualClock};
use windtunnel_core::{Identity, Resource, Write, resources};

use crate::measure::{Table, rate, resident_kb};

const COUNT: usize = 10_000;
const PODS: usize = 100_000;
/// Statuses to write in turn: few enough to stay in the cache, like those of a controller that writes objects
/// it has just created.
const STATUSES: usize = 64;
const CONDITIONS: usize = 12;
const FIRST_ANSWER: &str = "under 5 ms";
const WATCHED: &str = "under 500 ms";
const GADGETS: Resource = Resource::namespaced("example.io", "v1", "Gadget", "gadgets");

pub(crate) fn measure(table: &mut Table) -> Result<(), String> {
    first_answer(table)?;
    let written = table.time(|| (), |()| paused(watched(false))?)?;
    table.row("10,000 direct creates, seen by a kube watcher", written, rate(COUNT, written.median), WATCHED);
    let by_client = table.time(|| (), |()| paused(watched(true))?)?;
    table.row(
        "10,000 creates by a kube client, seen by a watcher",
        by_client,
        rate(COUNT, by_client.median),
        WATCHED,
    );
    direct(table)?;
    large(table)
}

fn first_answer(table: &mut Table) -> Result<(), String> {
    let admin = Identity::admin();
    for path in ["/version", "/api/v1/namespaces"] {
        let ask = |()| ask(&mut server(), &Request::new(Method::Get, path, &admin));
        let timing = table.time(|| (), ask)?;
        table.row(&format!("build a server, GET {path}"), timing, String::new(), FIRST_ANSWER);
    }
    let list = || async {
        let namespaces: Api<Namespace> = Api::all(shared().client(&Identity::admin()));
        let found = namespaces.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        Ok(found.items.len())
    };
    let timing = table.time(|| (), |()| paused(list())?)?;
    table.row("build a runtime, a server, a kube client; list", timing, String::new(), FIRST_ANSWER);
    Ok(())
}

/// Creates ConfigMaps and waits until a watcher has seen all of them.
async fn watched(by_client: bool) -> Result<(), String> {
    let (shared, admin) = (shared(), Identity::admin());
    let config_maps: Api<ConfigMap> = Api::default_namespaced(shared.client(&admin));
    let mut events = Box::pin(watcher(config_maps.clone(), watcher::Config::default()));
    while !matches!(next(&mut events).await?, Event::InitDone) {}
    for number in 0..COUNT {
        let object = config_map(number);
        if by_client {
            let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
            config_maps.create(&PostParams::default(), &object).await.map_err(|error| error.to_string())?;
        } else {
            let write = Write::create(&resources::CONFIG_MAPS, object);
            shared.write(&write, &admin, now()).map_err(|rejection| rejection.message)?;
        }
    }
    let mut seen = 0;
    while seen < COUNT {
        seen += usize::from(matches!(next(&mut events).await?, Event::Apply(_)));
    }
    Ok(())
}

async fn next<K>(
    events: &mut (impl futures::Stream<Item = watcher::Result<Event<K>>> + Unpin),
) -> Result<Event<K>, String> {
    events.next().await.ok_or("the watch ended")?.map_err(|error| error.to_string())
}

/// Requests through [`ApiServer::handle`] for a small custom resource with a schema and a status.
fn direct(table: &mut Table) -> Result<(), String> {
    let writes: Vec<Write> = (0..COUNT).map(|number| Write::create(&GADGETS, gadget(number))).collect();
    let fill = |server: Result<ApiServer, String>| {
        let mut server = server?;
        write_all(&mut server, &writes)?;
        Ok(server)
    };
    let created = table.time(defined, fill)?;
    table.row("10,000 creates of a custom resource", created, rate(COUNT, created.median), "");

    let mut filled = fill(defined())?;
    let mut round = 0;
    let patches = || {
        round += 1;
        (0..COUNT).map(|number| status_patch(number, round)).collect::<Vec<_>>()
    };
    let patched = table.time(patches, |patches| write_all(&mut filled, &patches))?;
    table.row("10,000 merge patches of its status", patched, rate(COUNT, patched.median), "");

    let admin = Identity::admin();
    let paths: Vec<String> = (0..COUNT).map(|number| format!("{}/{}", collection(), name(number))).collect();
    let get =
        |()| paths.iter().try_for_each(|path| ask(&mut filled, &Request::new(Method::Get, path, &admin)));
    let got = table.time(|| (), get)?;
    table.row("10,000 reads of it", got, rate(COUNT, got.median), "");

    let list = |()| ask(&mut filled, &Request::new(Method::Get, collection(), &admin));
    let listed = table.time(|| (), list)?;
    table.row("a list of all 10,000", listed, format!("{} objects", rate(COUNT, listed.median)), "");
    Ok(())
}

/// Writes of an object of 5 kB, most of it conditions. One of them changes, as when an operator reports
/// progress, or all do; also without managed fields, as in the servers of simulations. On a busy machine, the
/// cost of a write is the number of instructions of [`update_all`], as `docs/performance.md` explains.
fn large(table: &mut Table) -> Result<(), String> {
    const WANTED: &str = "50,000/s";
    for (what, changing, owners, wanted) in [
        ("a condition changes", 1, true, WANTED),
        ("all conditions change", CONDITIONS, true, ""),
        ("a condition changes, without managed fields", 1, false, WANTED),
        ("all conditions change, without managed fields", CONDITIONS, false, WANTED),
    ] {
        // With the default history of a server.
        let mut server = serving(ApiServer::builder().managed_fields(owners).build(now()))?;
        write_all(&mut server, &[Write::create(&GADGETS, gadget(0))])?;
        let mut statuses: Vec<Value> = (0..STATUSES).map(|round| full_status(round, changing)).collect();
        let updated = table.time(|| (), |()| update_all(&mut server, &mut statuses))?;
        let label = format!("10,000 updates of 5 kB: {what}");
        table.row(&label, updated, rate(COUNT, updated.median), wanted);
    }
    Ok(())
}

/// The memory of a large cluster. Measured first: later, freed memory would be reused.
pub(crate) fn memory(table: &mut Table) -> Result<(), String> {
    let before = resident_kb("VmRSS:");
    let mut server = ApiServer::builder().build(now());
    (0..PODS)
        .try_for_each(|number| write_all(&mut server, &[Write::create(&resources::PODS, pod(number))]))?;
    let taken = resident_kb("VmRSS:").saturating_sub(before) / 1024;
    table.note("100,000 pods of 2 kB", &format!("{taken} MB"), "under 600 MB");
    Ok(())
}

/// Writes one status after the other, each over the version of the last one.
#[inline(never)] // so that profilers see it
fn update_all(server: &mut ApiServer, statuses: &mut [Value]) -> Result<(), String> {
    let admin = Identity::admin();
    let path = format!("{}/{}/status", collection(), name(0));
    let stored = server.object(&GADGETS, "default", &name(0)).ok_or("the gadget is gone")?;
    let mut version = stored.resource_version().to_owned();
    for round in 0..COUNT {
        let object = &mut statuses[round % STATUSES];
        object["metadata"]["resourceVersion"] = json!(version);
        let mut request = Request::new(Method::Put, &path, &admin);
        request.body = Body::Value(object);
        match server.handle(&request, now()).body {
            ReplyBody::Object(written) if written["metadata"]["resourceVersion"] != version => {
                written["metadata"]["resourceVersion"].as_str().unwrap_or_default().clone_into(&mut version);
            }
            other => return Err(format!("answered with {other:?}")),
        }
    }
    Ok(())
}

/// Conditions and a history like those of a ClusterVersion, 5 kB of text. The first conditions contain the
/// round.
fn full_status(round: usize, changing: usize) -> Value {
    let condition = |number: usize| {
        let round = if number < changing { round } else { 0 };
        let message =
            format!("Working towards 4.14.8: {round} of 863 done, waiting on etcd, kube-apiserver, {number}");
        json!({ "type": format!("Type{number}"), "status": "True", "reason": "ClusterOperatorsUpdating",
            "message": message, "lastTransitionTime": "2024-01-01T00:00:00Z" })
    };
    let entry = |number: usize| {
        json!({ "state": "Completed", "startedTime": "2024-01-01T00:00:00Z", "version": format!("4.14.{number}"),
            "completionTime": "2024-01-01T01:15:00Z", "verified": true,
            "image": format!("quay.example.io/release@sha256:{}", "0123456789abcdef".repeat(4)) })
    };
    let conditions: Vec<_> = (0..CONDITIONS).map(condition).collect();
    let mut object = gadget(0);
    object["status"] = json!({ "conditions": conditions, "history": (0..10).map(entry).collect::<Vec<_>>() });
    object
}

fn pod(number: usize) -> Value {
    let variable =
        |number: usize| json!({ "name": format!("VARIABLE_{number}"), "value": "a value of usual length" });
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.io/team/{name}@sha256:{}", "0123456789abcdef".repeat(4)),
            "env": (0..6).map(variable).collect::<Vec<_>>(),
            "resources": { "requests": { "cpu": "10m", "memory": "64Mi" } },
            "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": format!("pod-{number:06}"), "namespace": "default", "labels": { "app": "bench", "tier": "back" } },
        "spec": { "containers": [container("main"), container("side")], "volumes": [{ "name": "data", "emptyDir": {} }] },
    })
}

fn ask(server: &mut ApiServer, request: &Request<'_>) -> Result<(), String> {
    match server.handle(request, now()).code {
        200 => Ok(()),
        code => Err(format!("answered with {code}")),
    }
}

fn write_all(server: &mut ApiServer, writes: &[Write]) -> Result<(), String> {
    let admin = Identity::admin();
    for write in writes {
        server.write(write, &admin, now()).map_err(|rejection| rejection.message)?;
    }
    Ok(())
}

/// Runs a future on a new runtime in paused time, as simulations do.
fn paused<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().map_err(|error| error.to_string())?;
    Ok(runtime.block_on(work))
}

fn now() -> Time {
    Time::UNIX_EPOCH
}

fn server() -> ApiServer {
    ApiServer::builder().history(2 * COUNT).build(now())
}

fn shared() -> Shared {
    Shared::new(server(), VirtualClock::starting_at(now()))
}

/// A server that serves gadgets.
fn defined() -> Result<ApiServer, String> {
    serving(server())
}

fn serving(mut server: ApiServer) -> Result<ApiServer, String> {
    let write = Write::create(&resources::CUSTOM_RESOURCE_DEFINITIONS, definition());
    write_all(&mut server, &[write])?;
    Ok(server)
}

fn definition() -> Value {
    let text = json!({ "type": "string", "maxLength": 64 });
    let time = json!({ "type": "string", "format": "date-time" });
    let condition = json!({ "type": "object", "required": ["type", "status"], "properties": {
        "type": text, "status": { "type": "string", "enum": ["True", "False", "Unknown"] }, "reason": text,
        "message": { "type": "string" }, "lastTransitionTime": time } });
    let entry = json!({ "type": "object", "required": ["state", "startedTime", "image"], "properties": {
        "state": text, "startedTime": time, "completionTime": time, "version": text,
        "image": { "type": "string" }, "verified": { "type": "boolean" } } });
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "required": ["size"], "properties": {
            "size": { "type": "integer", "minimum": 0, "maximum": 100_000 },
            "colour": { "type": "string", "default": "blue" },
            "labels": { "type": "object", "additionalProperties": text } } },
        "status": { "type": "object", "properties": { "conditions": {
            "type": "array", "items": condition,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] },
            "history": { "type": "array", "items": entry, "x-kubernetes-list-type": "atomic" } } } } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.example.io" },
        "spec": {
            "group": "example.io", "scope": "Namespaced", "names": { "plural": "gadgets", "kind": "Gadget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

fn gadget(number: usize) -> Value {
    json!({
        "apiVersion": "example.io/v1", "kind": "Gadget",
        "metadata": { "name": name(number), "namespace": "default", "labels": { "app": "bench" } },
        "spec": { "size": number, "labels": { "a": "1", "b": "2" } },
    })
}

/// Changes the status in each round, because a write without a change costs less.
fn status_patch(number: usize, round: usize) -> Write {
    let condition =
        |kind: &str| json!({ "type": kind, "status": "True", "message": format!("round {round}") });
    let status = json!({ "conditions": [condition("Ready"), condition("Progressing")] });
    Write::merge_patch_status(&GADGETS, "default", &name(number), json!({ "status": status }))
}

fn config_map(number: usize) -> Value {
    json!({ "metadata": { "name": name(number), "namespace": "default" }, "data": { "number": number.to_string() } })
}

fn name(number: usize) -> String {
    format!("bench-{number:05}")
}

fn collection() -> &'static str {
    "/apis/example.io/v1/namespaces/default/gadgets"
}
