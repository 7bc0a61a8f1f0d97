//! The API server over HTTPS, as kube clients see it; with `--against URL`, another server under the same load.
//!
//! `cargo bench --bench speed -- https --against https://127.0.0.1:6443 --token TOKEN` prints both and the ratio. The other
//! server's certificate is not verified; everything happens in a namespace of its own, which is deleted at the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Config};
use serde_json::json;
use windtunnel::apiserver::ApiServer;
use windtunnel::apiserver::https::{self, Serving, Settings};
use windtunnel::apiserver::service::Shared;
use windtunnel::base::clock::{Clock as _, WallClock};

use crate::measure::{Table, Timing, rate};

const NAMESPACE: &str = "windtunnel-bench";
const OBJECTS: usize = 10_000;
/// Requests that are under way at once.
const AT_ONCE: usize = 32;
const WATCHERS: usize = 100;
const WATCHED: usize = 50;

/// One server under load.
struct Arm {
    client: Client,
    maps: Api<ConfigMap>,
}

pub(crate) fn measure(table: &mut Table, arguments: &[String]) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(text)?;
    runtime.block_on(async {
        let serving = serve().await?;
        let ours = load(table, &serving.url(), serving.token(), "").await?;
        serving.stop().await;
        let Some(url) = after(arguments, "--against") else { return Ok(()) };
        let token = after(arguments, "--token").unwrap_or_default();
        let theirs = load(table, url, token, "there: ").await?;
        for (what, our) in &ours {
            let ratio = theirs[what].median.as_secs_f64() / our.median.as_secs_f64();
            table.note(
                &format!("{what}: there by here"),
                format!("{ratio:.1} times"),
                "10 times for creates",
            );
        }
        Ok(())
    })
}

fn after<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|argument| argument == flag)?;
    arguments.get(at + 1).map(String::as_str)
}

async fn serve() -> Result<Serving, String> {
    let server = ApiServer::builder().build(WallClock.now());
    let settings = Settings { token: "bench".to_owned(), ..Settings::default() };
    https::serve(Shared::new(server, Arc::new(WallClock)), settings).await.map_err(text)
}

/// Measures a server; each row's name begins with `prefix`.
async fn load(
    table: &mut Table,
    url: &str,
    token: &str,
    prefix: &str,
) -> Result<BTreeMap<&'static str, Timing>, String> {
    let arm = Arm::new(url, token).await?;
    let mut timings = BTreeMap::new();
    let mut row = |what: &'static str, timing: Timing, count: usize| {
        table.row(&format!("{prefix}{what}"), timing, rate(count, timing.median), "");
        timings.insert(what, timing);
    };
    row("10,000 creates, 32 at once", clocked(arm.each(Arm::create)).await?, OBJECTS);
    row("10,000 gets, 32 at once", clocked(arm.each(Arm::get)).await?, OBJECTS);
    row("10,000 updates, 32 at once", clocked(arm.each(Arm::update)).await?, OBJECTS);
    row("10,000 merge patches, 32 at once", clocked(arm.each(Arm::patch)).await?, OBJECTS);
    row("a list of 10,000", clocked(arm.list()).await?, OBJECTS);
    row("50 creates, seen by 100 watchers", arm.fan_out().await?, WATCHERS * WATCHED);
    arm.clear().await?;
    Ok(timings)
}

impl Arm {
    async fn new(url: &str, token: &str) -> Result<Self, String> {
        let mut config = Config::new(url.parse().map_err(text)?);
        config.accept_invalid_certs = true;
        config.auth_info.token = Some(token.to_owned().into());
        let client = Client::try_from(config).map_err(text)?;
        let namespace = json!({ "metadata": { "name": NAMESPACE } });
        let namespace: Namespace = serde_json::from_value(namespace).map_err(text)?;
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.map_err(text)?;
        Ok(Self { maps: Api::namespaced(client.clone(), NAMESPACE), client })
    }

    async fn each<'a, F: Future<Output = kube::Result<()>>>(
        &'a self,
        ask: impl Fn(&'a Self, usize) -> F,
    ) -> Result<(), String> {
        let asked = stream::iter(0..OBJECTS).map(|number| ask(self, number)).buffer_unordered(AT_ONCE);
        asked.try_collect().await.map_err(text)
    }

    async fn create(&self, number: usize) -> kube::Result<()> {
        self.maps.create(&PostParams::default(), &map(number, "created")).await.map(drop)
    }

    async fn get(&self, number: usize) -> kube::Result<()> {
        self.maps.get(&name(number)).await.map(drop)
    }

    async fn update(&self, number: usize) -> kube::Result<()> {
        self.maps.replace(&name(number), &PostParams::default(), &map(number, "updated")).await.map(drop)
    }

    async fn patch(&self, number: usize) -> kube::Result<()> {
        let patch = Patch::Merge(json!({ "data": { "state": "patched" } }));
        self.maps.patch(&name(number), &PatchParams::default(), &patch).await.map(drop)
    }

    async fn list(&self) -> Result<(), String> {
        self.maps.list(&ListParams::default()).await.map(drop).map_err(text)
    }

    /// Creates objects that many watch. The watches begin at a known version, so that none misses an object.
    async fn fan_out(&self) -> Result<Timing, String> {
        let list = self.maps.list(&ListParams::default().limit(1)).await.map_err(text)?;
        let version = list.metadata.resource_version.unwrap_or_default();
        let watches = (0..WATCHERS).map(|_| {
            let (maps, version) = (self.maps.clone(), version.clone());
            tokio::spawn(async move {
                let mut events = maps.watch(&WatchParams::default(), &version).await?.boxed();
                let mut seen = 0;
                while seen < WATCHED {
                    match events.try_next().await? {
                        Some(WatchEvent::Added(_)) => seen += 1,
                        Some(_) => {}
                        None => break,
                    }
                }
                Ok::<usize, kube::Error>(seen)
            })
        });
        let watches: Vec<tokio::task::JoinHandle<kube::Result<usize>>> = watches.collect();
        clocked(async {
            for number in OBJECTS..OBJECTS + WATCHED {
                self.create(number).await.map_err(text)?;
            }
            for watch in watches {
                let seen = watch.await.map_err(text)?.map_err(text)?;
                if seen < WATCHED {
                    return Err(format!("a watch ended after {seen} objects"));
                }
            }
            Ok(())
        })
        .await
    }

    async fn clear(&self) -> Result<(), String> {
        let parameters = DeleteParams::default();
        self.maps.delete_collection(&parameters, &ListParams::default()).await.map_err(text)?;
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.delete(NAMESPACE, &parameters).await.map(drop).map_err(text)
    }
}

/// Every round but the first would find the objects of the round before, so there is one.
#[expect(clippy::disallowed_methods, reason = "wall time is what is measured")]
async fn clocked(work: impl Future<Output = Result<(), String>>) -> Result<Timing, String> {
    let start = std::time::Instant::now();
    work.await?;
    let time: Duration = start.elapsed();
    Ok(Timing { median: time, fastest: time })
}

fn map(number: usize, state: &str) -> ConfigMap {
    ConfigMap {
        metadata: kube::core::ObjectMeta { name: Some(name(number)), ..Default::default() },
        data: Some(BTreeMap::from([("state".to_owned(), state.to_owned())])),
        ..Default::default()
    }
}

fn name(number: usize) -> String {
    format!("bench-{number:05}")
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
