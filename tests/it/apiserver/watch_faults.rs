//! Faults of watches, as a kube-rs watcher and single requests see them.

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, GetParams, ListParams, VersionMatch};
use kube::runtime::watcher as watch;
use kube::runtime::watcher::{self, Event, ListSemantic};
use serde_json::json;
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::VirtualClock;
use windtunnel_core::requests::faults::{
    FaultEffect, Hits, RandomFaults, RequestFault, RequestFilter, WatchFault,
};
use windtunnel_core::{Identity, Write, resources};

use super::requests::now;

/// A server in paused time, whose ConfigMaps the test writes directly.
struct Cluster(Shared);

/// An event of a watcher.
type Events = Pin<Box<dyn Stream<Item = watcher::Result<Event<ConfigMap>>>>>;

impl Cluster {
    fn new() -> Self {
        Self(Shared::new(ApiServer::builder().build(now()), VirtualClock::starting_at(now())))
    }

    fn now(&self) -> windtunnel_core::clock::Time {
        self.0.now()
    }

    /// Writes a ConfigMap with this value.
    fn put(&self, name: &str, value: &str) {
        let map = json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "k": value } });
        let write = if self.0.with(|server| server.object(&resources::CONFIG_MAPS, "default", name)).is_some()
        {
            Write::merge_patch(&resources::CONFIG_MAPS, "default", name, map)
        } else {
            Write::create(&resources::CONFIG_MAPS, map)
        };
        self.0.write(&write, &Identity::admin(), self.now()).unwrap();
    }

    fn delete(&self, name: &str) {
        let write = Write::delete(&resources::CONFIG_MAPS, "default", name);
        self.0.write(&write, &Identity::admin(), self.now()).unwrap();
    }

    fn maps(&self, user: &str) -> Api<ConfigMap> {
        let user = Identity { user: user.to_owned(), ..Identity::admin() };
        Api::default_namespaced(self.0.client(&user))
    }

    /// A watcher that has seen all current objects.
    async fn watcher(&self, user: &str) -> Events {
        // Without a back-off, whose jitter differs from run to run.
        let mut events: Events = Box::pin(watch(self.maps(user), watcher::Config::default()));
        while next(&mut events).await != "done" {}
        // The watch is open once an event has arrived.
        self.put("ready", user);
        assert_eq!(next(&mut events).await, format!("ready={user}"));
        events
    }

    fn fail(&self, effect: WatchFault, hits: Hits) {
        let requests = RequestFilter { by: Some("slow-one".to_owned()), ..RequestFilter::default() };
        let fault = RequestFault {
            requests,
            effect: FaultEffect::Watch(effect),
            hits,
            message: String::new(),
            retry_after: 0,
        };
        self.0.with(|server| server.fail(fault));
    }

    fn heal(&self) {
        self.0.with(|server| server.heal(None));
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(test)
}

fn text(map: &ConfigMap) -> String {
    let value = map.data.as_ref().and_then(|data| data.get("k")).map_or("", String::as_str);
    format!("{}={value}", map.metadata.name.as_deref().unwrap_or_default())
}

/// The next event as a short text.
async fn next(events: &mut Events) -> String {
    match events.next().await.unwrap() {
        Ok(Event::Init) => "init".into(),
        Ok(Event::InitDone) => "done".into(),
        Ok(Event::InitApply(map) | Event::Apply(map)) => text(&map),
        Ok(Event::Delete(map)) => format!("-{}", map.metadata.name.unwrap()),
        Err(error) if error.to_string().contains("too old") => "410".into(),
        Err(error) => panic!("{error}"),
    }
}

/// The next events.
async fn take(events: &mut Events, count: usize) -> String {
    let mut texts = Vec::new();
    for _ in 0..count {
        texts.push(next(events).await);
    }
    texts.join(" ")
}

/// Whether no event arrives for this many seconds.
async fn is_silent(events: &mut Events, seconds: u64) -> bool {
    tokio::time::timeout(Duration::from_secs(seconds), events.next()).await.is_err()
}

#[test]
fn a_stale_client_sees_the_past_and_others_see_the_present() {
    run(async {
        let cluster = Cluster::new();
        cluster.put("a", "1");
        let (mut slow, mut other) = (cluster.watcher("slow-one").await, cluster.watcher("other").await);
        assert_eq!(next(&mut slow).await, "ready=other");
        cluster.fail(WatchFault::Stale, Hits::new(1, None));
        cluster.put("a", "2");
        cluster.delete("a");
        cluster.put("b", "1");
        assert_eq!(take(&mut other, 3).await, "a=2 -a b=1");
        assert!(is_silent(&mut slow, 600).await);

        let maps = cluster.maps("slow-one");
        let cached = ListParams::default().match_any();
        let list = maps.list(&cached).await.unwrap();
        assert_eq!(list.items.iter().map(text).collect::<Vec<_>>(), ["a=1", "ready=other"]);
        let anyway = GetParams::any();
        assert_eq!(text(&maps.get_with("a", &anyway).await.unwrap()), "a=1");
        assert!(maps.get_with("b", &anyway).await.is_err());
        // A read without a version, and one with a newer version, are not answered from the past.
        assert!(maps.get_opt("a").await.unwrap().is_none());
        let fresh = ListParams::default();
        let revision = maps.list(&fresh).await.unwrap().metadata.resource_version.unwrap();
        let at_least = ListParams::default().at(&revision).matching(VersionMatch::NotOlderThan);
        let at_least = maps.list(&at_least).await.unwrap();
        assert_eq!(at_least.items.iter().map(text).collect::<Vec<_>>(), ["b=1", "ready=other"]);

        cluster.heal();
        assert_eq!(take(&mut slow, 3).await, "a=2 -a b=1", "nothing is lost, and nothing comes twice");
    });
}

#[test]
fn a_new_watcher_of_a_stale_client_starts_in_the_past() {
    run(async {
        let cluster = Cluster::new();
        cluster.put("a", "1");
        cluster.fail(WatchFault::Stale, Hits::new(1, None));
        cluster.put("a", "2");
        // With pages, kube-rs asks for the latest state.
        let cached = watcher::Config {
            list_semantic: ListSemantic::Any,
            page_size: None,
            ..watcher::Config::default()
        };
        let mut events: Events = Box::pin(watch(cluster.maps("slow-one"), cached.clone()));
        assert_eq!(take(&mut events, 3).await, "init a=1 done");
        let mut streaming: Events = Box::pin(watch(cluster.maps("slow-one"), cached.streaming_lists()));
        assert_eq!(take(&mut streaming, 3).await, "init a=1 done");
        let mut latest: Events = Box::pin(watch(cluster.maps("slow-one"), watcher::Config::default()));
        assert_eq!(take(&mut latest, 3).await, "init a=2 done");
        cluster.heal();
        assert_eq!(next(&mut events).await, "a=2");
        assert_eq!(next(&mut streaming).await, "a=2");
        assert!(is_silent(&mut latest, 60).await);
    });
}

#[test]
fn after_a_gap_only_the_last_state_of_each_object_arrives() {
    run(async {
        let cluster = Cluster::new();
        cluster.put("gone", "1");
        cluster.put("again", "1");
        let mut slow = cluster.watcher("slow-one").await;
        cluster.fail(WatchFault::Gap, Hits::new(1, None));
        for value in ["1", "2", "3"] {
            cluster.put("new", value);
        }
        cluster.delete("gone");
        cluster.delete("again");
        cluster.put("again", "2");
        cluster.put("never-seen", "1");
        cluster.delete("never-seen");
        assert!(is_silent(&mut slow, 60).await);
        cluster.heal();
        assert_eq!(take(&mut slow, 3).await, "new=3 -gone again=2");
        cluster.put("new", "4");
        cluster.put("new", "5");
        assert_eq!(take(&mut slow, 2).await, "new=4 new=5", "later states arrive one by one");
    });
}

#[test]
fn slow_watches_deliver_each_event_after_the_delay() {
    run(async {
        let cluster = Cluster::new();
        let mut slow = cluster.watcher("slow-one").await;
        let seconds = |count| jiff::SignedDuration::from_secs(count);
        cluster.fail(WatchFault::Slow(seconds(10)), Hits::new(1, None));
        let began = cluster.now();
        cluster.put("a", "1");
        tokio::time::sleep(Duration::from_secs(4)).await;
        cluster.put("a", "2");
        for (value, second) in [("a=1", 10), ("a=2", 14)] {
            assert_eq!(next(&mut slow).await, value);
            let late = cluster.now().duration_since(began);
            assert!((seconds(second)..seconds(second) + seconds(1)).contains(&late), "{value}: {late:?}");
        }
    });
}

#[test]
fn watches_that_are_behind_lack_the_last_events_of_the_kind() {
    run(async {
        let cluster = Cluster::new();
        let mut slow = cluster.watcher("slow-one").await;
        cluster.fail(WatchFault::Behind(2), Hits::new(1, None));
        cluster.put("a", "1");
        cluster.put("a", "2");
        assert!(is_silent(&mut slow, 60).await);
        cluster.put("a", "3");
        assert_eq!(next(&mut slow).await, "a=1");
        assert!(is_silent(&mut slow, 60).await);
    });
}

#[test]
fn open_watches_end_at_once_or_before_an_event_and_continue() {
    run(async {
        let cluster = Cluster::new();
        let mut slow = cluster.watcher("slow-one").await;
        cluster.0.with(|server| server.keep_incidents(9));
        cluster.fail(WatchFault::Disconnect, Hits::new(1, None));
        cluster.put("a", "1");
        assert_eq!(next(&mut slow).await, "a=1");
        cluster.fail(WatchFault::Disconnect, Hits::new(2, Some(1)));
        for value in ["2", "3", "4"] {
            cluster.put("a", value);
        }
        assert_eq!(take(&mut slow, 3).await, "a=2 a=3 a=4");
        let ends = cluster.0.with(ApiServer::take_incidents);
        assert_eq!(ends.len(), 2, "{ends:?}");
    });
}

#[test]
fn expired_watches_list_again() {
    run(async {
        let cluster = Cluster::new();
        let mut slow = cluster.watcher("slow-one").await;
        cluster.fail(WatchFault::Expired, Hits::new(1, Some(1)));
        cluster.put("a", "1");
        cluster.put("a", "2");
        // The first state is lost. The client cannot continue, because it gets 410 again.
        assert_eq!(take(&mut slow, 5).await, "410 init a=2 ready=slow-one done");
        cluster.fail(WatchFault::Duplicate, Hits::new(1, Some(1)));
        cluster.put("a", "3");
        assert_eq!(take(&mut slow, 6).await, "a=3 410 init a=3 ready=slow-one done");
        cluster.put("a", "4");
        assert_eq!(next(&mut slow).await, "a=4");
    });
}

/// Puts values until a watcher under random faults has seen the last one. Returns what it saw and the incidents.
fn perturbed(faults: &str) -> (Vec<String>, Vec<String>) {
    run(async {
        let cluster = Cluster::new();
        let mut events = cluster.watcher("any").await;
        cluster.0.with(|server| {
            server.keep_incidents(1_000);
            server.perturb(faults.parse::<RandomFaults>().unwrap());
        });
        let mut seen = Vec::new();
        for value in 1..=60 {
            cluster.put("a", &value.to_string());
            tokio::time::sleep(Duration::from_millis(20)).await;
            while let Ok(event) = tokio::time::timeout(Duration::from_millis(1), next(&mut events)).await {
                seen.push(event);
            }
        }
        while !seen.iter().any(|event| event == "a=60") {
            seen.push(next(&mut events).await);
        }
        (seen, cluster.0.with(ApiServer::take_incidents).iter().map(ToString::to_string).collect())
    })
}

#[test]
fn random_faults_never_go_back_in_time_and_depend_on_the_seed() {
    for faults in ["stale", "gap", "slow", "disconnect", "410", "duplicate", "stale,gap,slow,disconnect,410"]
    {
        let (seen, incidents) = perturbed(&format!("{faults},seed=5,rate=20%"));
        let values = seen.iter().filter_map(|event| event.strip_prefix("a=")?.parse::<u32>().ok());
        let values: Vec<u32> = values.collect();
        assert!(values.is_sorted() && values.last() == Some(&60), "{faults}: {seen:?}");
        assert!(!incidents.is_empty() || faults == "slow", "{faults}");
        if faults == "gap" {
            assert!(values.len() < 60, "{values:?}");
        }
        assert_eq!(perturbed(&format!("{faults},seed=5,rate=20%")), (seen, incidents), "{faults}");
    }
}
