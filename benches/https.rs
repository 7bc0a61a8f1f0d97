//! The API server over HTTPS, side by side with another one where `--against URL --token TOKEN` names it: the same
//! requests, by the same client, on the same machine.

use std::sync::Arc;
use std::time::Duration;

use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _, stream};
use http_body_util::BodyExt as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use windtunnel::apiserver::ApiServer;
use windtunnel::apiserver::https::{self, Serving, Settings};
use windtunnel::apiserver::service::Shared;
use windtunnel::base::clock::{Clock as _, WallClock};

use crate::measure::{Table, rate};

/// Requests of a round.
const COUNT: usize = 1_000;
/// Objects of the list.
const LISTED: usize = 10_000;
/// Requests at the same time.
const AT_ONCE: usize = 16;
/// Watchers that all see each of some writes.
const WATCHERS: usize = 100;
const WATCHED: usize = 50;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Makes the body of a request.
type Body<'a> = &'a dyn Fn(usize) -> String;

/// Another server to compare with.
#[derive(Debug, Clone)]
pub(crate) struct Against {
    pub(crate) url: String,
    pub(crate) token: String,
}

pub(crate) fn measure(table: &mut Table) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let first = table.time(
        || (),
        |()| {
            runtime.block_on(async {
                let (serving, client) = ours().await?;
                ask(&client, "GET", "/version", String::new()).await?;
                serving.stop().await;
                Ok(())
            })
        },
    )?;
    table.row("from nothing to the first HTTPS answer", first, String::new(), "under 100 ms");
    let (serving, client) = runtime.block_on(ours())?;
    compare(table, &runtime, "windtunnel", &client)?;
    runtime.block_on(serving.stop());
    if let Some(against) = table.against.clone() {
        let client = runtime.block_on(async { theirs(&against) })?;
        compare(table, &runtime, &against.url, &client)?;
    }
    Ok(())
}

async fn ours() -> Result<(Serving, Client), String> {
    let shared = Shared::new(ApiServer::builder().build(WallClock.now()), Arc::new(WallClock));
    let serving = https::serve(shared, Settings::default()).await.map_err(|error| error.to_string())?;
    let config = Kubeconfig::from_yaml(&serving.kubeconfig()).map_err(|error| error.to_string())?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
    let client = Client::try_from(config.map_err(|error| error.to_string())?);
    Ok((serving, client.map_err(|error| error.to_string())?))
}

fn theirs(against: &Against) -> Result<Client, String> {
    let url = against.url.parse().map_err(|error| format!("{}: {error}", against.url))?;
    let mut config = Config::new(url);
    config.accept_invalid_certs = true;
    config.auth_info.token = Some(against.token.clone().into());
    Client::try_from(config).map_err(|error| error.to_string())
}

async fn ask(client: &Client, method: &str, path: &str, body: String) -> Result<usize, String> {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", kind);
    let request = request.body(body.into_bytes().into()).map_err(|error| error.to_string())?;
    let answer = client.send(request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    if status.is_success() {
        return Ok(body.len());
    }
    Err(format!("{method} {path}: {status} {}", String::from_utf8_lossy(&body)))
}

fn map(number: usize, round: &str) -> String {
    let name = format!("bench-{number}");
    json!({ "metadata": { "name": name, "labels": { "bench": "yes" } }, "data": { "round": round, "text": "x".repeat(500) } })
        .to_string()
}

/// Some requests at the same time.
async fn many(
    client: &Client,
    count: usize,
    request: impl Fn(usize) -> (&'static str, String, String),
) -> Result<(), String> {
    let requests = (0..count).map(|number| {
        let (method, path, body) = request(number);
        async move { ask(client, method, &path, body).await }
    });
    stream::iter(requests).buffer_unordered(AT_ONCE).try_for_each(|_| std::future::ready(Ok(()))).await
}

async fn clear(client: &Client) -> Result<(), String> {
    ask(client, "DELETE", &format!("{MAPS}?labelSelector=bench%3Dyes"), String::new()).await.map(|_| ())
}

fn compare(
    table: &mut Table,
    runtime: &tokio::runtime::Runtime,
    who: &str,
    client: &Client,
) -> Result<(), String> {
    let one = |number: usize| format!("{MAPS}/bench-{number}");
    let prepare = || runtime.block_on(clear(client)).unwrap_or_default();
    let create =
        |()| runtime.block_on(many(client, COUNT, |number| ("POST", MAPS.to_owned(), map(number, "0"))));
    let timing = table.time(prepare, create)?;
    table.row(&format!("{who}: create"), timing, rate(COUNT, timing.median), "10 times the real one's");
    let patch = |_| json!({ "data": { "patched": "x" } }).to_string();
    let work: [(&str, &'static str, Body<'_>); 3] = [
        ("get", "GET", &|_| String::new()),
        ("update", "PUT", &|number| map(number, "1")),
        ("patch", "PATCH", &patch),
    ];
    for (what, method, body) in work {
        let run = |()| runtime.block_on(many(client, COUNT, |number| (method, one(number), body(number))));
        let timing = table.time(|| (), run)?;
        table.row(&format!("{who}: {what}"), timing, rate(COUNT, timing.median), "");
    }
    let more = |number: usize| ("POST", MAPS.to_owned(), map(COUNT + number, "0"));
    runtime.block_on(many(client, LISTED - COUNT, more))?;
    let list = |()| runtime.block_on(ask(client, "GET", MAPS, String::new()));
    let timing = table.time(|| (), list)?;
    table.row(&format!("{who}: list of {LISTED}"), timing, rate(1, timing.median), "");
    let watch = |()| runtime.block_on(watched(client));
    let timing = table.time(|| (), watch)?;
    let seen = rate(WATCHERS * WATCHED, timing.median);
    table.row(&format!("{who}: {WATCHED} patches seen by {WATCHERS} watchers"), timing, seen, "");
    runtime.block_on(clear(client))
}

/// Begins watches, patches, and waits until each of them has seen everything.
async fn watched(client: &Client) -> Result<(), String> {
    let watch = || async {
        let path = format!("{MAPS}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dbench-0");
        let request = http::Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
        let lines = client.request_stream(request).await.map_err(|error| error.to_string())?.lines();
        Ok::<_, String>(Box::pin(lines))
    };
    let mut watches = Vec::new();
    for _ in 0..WATCHERS {
        let mut lines = watch().await?;
        lines.next().await.ok_or("the watch ended")?.map_err(|error| error.to_string())?;
        watches.push(lines);
    }
    let readers = watches.into_iter().map(|lines| async move { lines.take(WATCHED).count().await });
    let patches = async {
        for number in 0..WATCHED {
            let body = json!({ "data": { "seen": number.to_string() } }).to_string();
            ask(client, "PATCH", &format!("{MAPS}/bench-0"), body).await?;
        }
        Ok::<_, String>(())
    };
    let all = futures::future::join(futures::future::join_all(readers), patches);
    let limit = Duration::from_secs(60);
    let (counts, patched) = tokio::time::timeout(limit, all).await.map_err(|_| "watchers miss something")?;
    patched?;
    if counts.iter().any(|count| *count != WATCHED) { Err("a watch ended".to_owned()) } else { Ok(()) }
}
