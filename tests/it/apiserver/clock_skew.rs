//! A client whose clock is wrong, as its Leases show.

use std::pin::Pin;

use futures::{Stream, StreamExt as _};
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::VirtualClock;
use windtunnel_core::requests::faults::{FaultEffect, Hits, RequestFault, RequestFilter};
use windtunnel_core::{Identity, resources};

use super::requests::now;

/// A server in paused time.
struct Cluster(Shared);

impl Cluster {
    fn new() -> Self {
        Self(Shared::new(ApiServer::builder().build(now()), VirtualClock::starting_at(now())))
    }

    /// The Leases as a user reads them.
    fn leases(&self, user: &str) -> Api<Lease> {
        let user = Identity { user: user.to_owned(), ..Identity::admin() };
        Api::default_namespaced(self.0.client(&user))
    }

    /// Makes the clock of the user `skewed` two minutes ahead, or behind.
    fn skew(&self, minutes: i64) {
        let by = Some("skewed".to_owned());
        let requests = RequestFilter { by, kind: Some("Lease".to_owned()), ..RequestFilter::default() };
        let effect = FaultEffect::SkewedClock(SignedDuration::from_mins(minutes));
        let hits = Hits::new(1, None);
        let fault = RequestFault { requests, effect, hits, message: String::new(), retry_after: 0 };
        self.0.with(|server| server.fail(fault));
    }

    /// The times of the stored Lease.
    fn stored(&self) -> String {
        let lease = self.0.with(|server| server.object(&resources::LEASES, "default", "l")).unwrap();
        let time = |name: &str| lease["spec"][name].as_str().unwrap_or_default().to_owned();
        format!("{} {}", time("acquireTime"), time("renewTime"))
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(test)
}

/// The times `10:MINUTE`, as a Lease has them.
fn at(acquired: u32, renewed: u32) -> String {
    format!("2024-01-01T10:{acquired:02}:00.000000Z 2024-01-01T10:{renewed:02}:00.000000Z")
}

fn spec(acquired: u32, renewed: u32) -> Value {
    let times = at(acquired, renewed);
    let (acquired, renewed) = times.split_once(' ').unwrap();
    json!({ "holderIdentity": "skewed", "acquireTime": acquired, "renewTime": renewed })
}

fn lease(spec: &Value) -> Lease {
    let metadata = json!({ "name": "l", "namespace": "default" });
    serde_json::from_value(json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec }))
        .unwrap()
}

/// The times of a Lease that a client got.
fn times(lease: &Lease) -> String {
    let spec = serde_json::to_value(lease.spec.as_ref().unwrap()).unwrap();
    let time = |name: &str| spec[name].as_str().unwrap_or_default().to_owned();
    format!("{} {}", time("acquireTime"), time("renewTime"))
}

#[test]
fn each_kind_of_write_stores_the_times_of_the_wrong_clock() {
    run(async {
        let cluster = Cluster::new();
        cluster.skew(2);
        let leases = cluster.leases("skewed");
        let (post, patch) = (PostParams::default(), PatchParams::default());
        let created = leases.create(&post, &lease(&spec(0, 1))).await.unwrap();
        assert_eq!((times(&created), cluster.stored()), (at(0, 1), at(2, 3)));
        let mut read = leases.get("l").await.unwrap();
        read.spec = lease(&spec(0, 4)).spec;
        let updated = leases.replace("l", &post, &read).await.unwrap();
        assert_eq!((times(&updated), cluster.stored()), (at(0, 4), at(2, 6)));
        for (body, renewed) in [
            (Patch::Merge(json!({ "spec": spec(0, 5) })), 5),
            (Patch::Strategic(json!({ "spec": spec(0, 6) })), 6),
        ] {
            let patched = leases.patch("l", &patch, &body).await.unwrap();
            assert_eq!((times(&patched), cluster.stored()), (at(0, renewed), at(2, renewed + 2)));
        }
        let operations = json!([
            { "op": "test", "path": "/spec/renewTime", "value": spec(0, 6)["renewTime"] },
            { "op": "replace", "path": "/spec", "value": spec(1, 7) },
            { "op": "replace", "path": "/spec/renewTime", "value": spec(1, 8)["renewTime"] },
        ]);
        let operations = Patch::Json::<Lease>(serde_json::from_value(operations).unwrap());
        let patched = leases.patch("l", &patch, &operations).await.unwrap();
        assert_eq!((times(&patched), cluster.stored()), (at(1, 8), at(3, 10)));
        let apply = PatchParams::apply("skewed").force();
        let applied = leases.patch("l", &apply, &Patch::Apply(lease(&spec(1, 9)))).await.unwrap();
        assert_eq!((times(&applied), cluster.stored()), (at(1, 9), at(3, 11)));
    });
}

#[test]
fn reads_show_the_times_as_the_wrong_clock_compares_them_and_other_clients_see_what_is_stored() {
    run(async {
        let cluster = Cluster::new();
        let other = cluster.leases("other");
        other.create(&PostParams::default(), &lease(&spec(10, 20))).await.unwrap();
        cluster.skew(2);
        let skewed = cluster.leases("skewed");
        assert_eq!(times(&skewed.get("l").await.unwrap()), at(8, 18));
        assert_eq!(times(&skewed.list(&ListParams::default()).await.unwrap().items[0]), at(8, 18));
        assert_eq!(times(&other.get("l").await.unwrap()), at(10, 20));
        cluster.0.with(|server| server.heal(None));
        cluster.skew(-3);
        assert_eq!(times(&skewed.get("l").await.unwrap()), at(13, 23));
        cluster.0.with(|server| server.heal(None));
        assert_eq!(times(&skewed.get("l").await.unwrap()), at(10, 20));
    });
}

type Events = Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<Lease>>>>>;

/// The next event that is no bookmark.
async fn next(events: &mut Events) -> String {
    loop {
        match events.next().await.unwrap().unwrap() {
            WatchEvent::Added(lease) => return format!("added {}", times(&lease)),
            WatchEvent::Modified(lease) => return format!("modified {}", times(&lease)),
            WatchEvent::Deleted(lease) => return format!("deleted {}", times(&lease)),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(error) => panic!("{error}"),
        }
    }
}

#[test]
fn an_open_watch_shows_the_times_as_the_wrong_clock_compares_them_from_the_fault_on() {
    run(async {
        let cluster = Cluster::new();
        let other = cluster.leases("other");
        other.create(&PostParams::default(), &lease(&spec(10, 20))).await.unwrap();
        let watch = |user: &str| {
            let leases = cluster.leases(user);
            async move { Box::pin(leases.watch(&WatchParams::default(), "0").await.unwrap()) as Events }
        };
        let (mut skewed, mut right) = (watch("skewed").await, watch("other").await);
        assert_eq!(next(&mut skewed).await, format!("added {}", at(10, 20)));
        assert_eq!(next(&mut right).await, format!("added {}", at(10, 20)));
        cluster.skew(2);
        let renewed = Patch::Merge(json!({ "spec": spec(10, 21) }));
        other.patch("l", &PatchParams::default(), &renewed).await.unwrap();
        assert_eq!(next(&mut skewed).await, format!("modified {}", at(8, 19)));
        assert_eq!(next(&mut right).await, format!("modified {}", at(10, 21)));
        let mut late = watch("skewed").await;
        assert_eq!(next(&mut late).await, format!("added {}", at(8, 19)));
        other.delete("l", &DeleteParams::default()).await.unwrap();
        assert_eq!(next(&mut skewed).await, format!("deleted {}", at(8, 19)));
        assert_eq!(next(&mut right).await, format!("deleted {}", at(10, 21)));
    });
}
