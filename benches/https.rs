//! The API server over HTTPS, compared with another one if `--against URL --token TOKEN` names it: the same
//! requests, by the same client, on the same machine.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{join, join_all};
use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _};
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::ConfigExt as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::task::JoinSet;
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::https::{self, Serving, Settings};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Clock as _, WallClock};

use crate::measure::{Table, rate};

/// Requests per round.
const COUNT: usize = 1_000;
/// Objects in the list.
const LISTED: usize = 10_000;
/// Concurrent requests.
const CONCURRENCY: usize = 16;
/// The number of watchers, and of the writes that each of them sees.
const WATCHERS: usize = 100;
const WATCHED: usize = 50;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Creates the body of a request.
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
    table.row("start a server, get the first HTTPS answer", first, String::new(), "under 100 ms");
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
    let client = Client::new(&config.map_err(|error| error.to_string())?, serving.token())?;
    Ok((serving, client))
}

fn theirs(against: &Against) -> Result<Client, String> {
    let url = against.url.parse().map_err(|error| format!("{}: {error}", against.url))?;
    let mut config = Config::new(url);
    config.accept_invalid_certs = true;
    Client::new(&config, &against.token)
}

/// A client with nothing but HTTP over TLS, because it shares the machine with the measured server.
#[derive(Clone)]
struct Client {
    http: legacy::Client<hyper_rustls::HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
    token: String,
}

impl Client {
    fn new(config: &Config, token: &str) -> Result<Self, String> {
        let connector = config.rustls_https_connector().map_err(|error| error.to_string())?;
        let http = legacy::Client::builder(TokioExecutor::new()).build(connector);
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        Ok(Self { http, url, token: format!("Bearer {token}") })
    }

    async fn send(&self, method: &str, path: &str, body: String) -> Result<Response<Incoming>, String> {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        let request = request.header(header::CONTENT_TYPE, kind).header(header::AUTHORIZATION, &self.token);
        let request = request.body(Full::from(body)).map_err(|error| error.to_string())?;
        self.http.request(request).await.map_err(|error| error.to_string())
    }
}

async fn ask(client: &Client, method: &str, path: &str, body: String) -> Result<usize, String> {
    let answer = client.send(method, path, body).await?;
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

/// Makes requests concurrently, each connection in its own task.
async fn many(client: &Client, requests: Vec<(&'static str, String, String)>) -> Result<(), String> {
    let size = requests.len().div_ceil(CONCURRENCY);
    let mut requests = requests.into_iter();
    let mut tasks = JoinSet::new();
    loop {
        let some: Vec<_> = requests.by_ref().take(size).collect();
        if some.is_empty() {
            break;
        }
        let client = client.clone();
        tasks.spawn(async move {
            for (method, path, body) in some {
                ask(&client, method, &path, body).await?;
            }
            Ok(())
        });
    }
    tasks.join_all().await.into_iter().collect()
}

async fn clear(client: &Client) -> Result<(), String> {
    ask(client, "DELETE", &format!("{MAPS}?labelSelector=bench%3Dyes"), String::new()).await.map(|_| ())
}

fn compare(
    table: &mut Table,
    runtime: &tokio::runtime::Runtime,
    server: &str,
    client: &Client,
) -> Result<(), String> {
    let one = |number: usize| format!("{MAPS}/bench-{number}");
    let creates = |numbers: Range<usize>| -> Vec<_> {
        numbers.map(|number| ("POST", MAPS.to_owned(), map(number, "0"))).collect()
    };
    let prepare = || {
        runtime.block_on(clear(client)).unwrap_or_default();
        creates(0..COUNT)
    };
    let create = |requests| runtime.block_on(many(client, requests));
    let timing = table.time(prepare, create)?;
    table.row(&format!("{server}: create"), timing, rate(COUNT, timing.median), "10 times kube-apiserver's");
    let patch = |_| json!({ "data": { "patched": "x" } }).to_string();
    let work: [(&str, &'static str, Body<'_>); 3] = [
        ("get", "GET", &|_| String::new()),
        ("update", "PUT", &|number| map(number, "1")),
        ("patch", "PATCH", &patch),
    ];
    for (what, method, body) in work {
        let prepare = || (0..COUNT).map(|number| (method, one(number), body(number))).collect();
        let timing = table.time(prepare, |requests| runtime.block_on(many(client, requests)))?;
        table.row(&format!("{server}: {what}"), timing, rate(COUNT, timing.median), "");
    }
    runtime.block_on(many(client, creates(COUNT..LISTED)))?;
    let list = |()| runtime.block_on(ask(client, "GET", MAPS, String::new()));
    let timing = table.time(|| (), list)?;
    table.row(&format!("{server}: list of {LISTED}"), timing, rate(1, timing.median), "");
    let watch = |()| runtime.block_on(watched(client));
    let timing = table.time(|| (), watch)?;
    let seen = rate(WATCHERS * WATCHED, timing.median);
    table.row(&format!("{server}: {WATCHED} patches seen by {WATCHERS} watchers"), timing, seen, "");
    runtime.block_on(clear(client))
}

/// Opens watches, patches, and waits until each watch has seen everything.
async fn watched(client: &Client) -> Result<(), String> {
    let path = format!("{MAPS}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dbench-0");
    let mut watches = Vec::new();
    for _ in 0..WATCHERS {
        let answer = client.send("GET", &path, String::new()).await?;
        let body = answer.into_body().into_data_stream().map_err(std::io::Error::other);
        let mut lines = Box::pin(body.into_async_read().lines());
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
    let all = join(join_all(readers), patches);
    let limit = Duration::from_secs(60);
    let (counts, patched) = tokio::time::timeout(limit, all).await.map_err(|_| "watchers miss something")?;
    patched?;
    if counts.iter().any(|count| *count != WATCHED) { Err("a watch ended".to_owned()) } else { Ok(()) }
}
