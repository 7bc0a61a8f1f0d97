//! Leader election: of several processes, the holder of the Lease is the leader.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower::Service as _;
use windtunnel_core::Identity;
use windtunnel_update_status::controller::{Election, LEASE, Note, Observer, Parts, Terms, run_leading};

use super::cluster::{Cluster, pass};

const NAMESPACE: &str = "openshift-update-status-controller";

/// Records the notes of all candidates about leadership and publishing.
#[derive(Default)]
struct Leaders(Mutex<Vec<String>>);

/// The observer of one candidate.
struct Candidate(&'static str, Arc<Leaders>);

impl Observer for Candidate {
    fn note(&self, note: Note<'_>) {
        let what = match note {
            Note::Leads(true) => "leads",
            Note::Leads(false) => "leads no longer",
            Note::Published { .. } => "publishes",
            _ => return,
        };
        self.1.0.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

impl Leaders {
    fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn candidate(cluster: &Cluster, client: Client, name: &'static str, leaders: &Arc<Leaders>) -> Election {
    let observer = Arc::new(Candidate(name, Arc::clone(leaders)));
    Election::new(client, NAMESPACE, name.to_owned(), Terms::default(), cluster.clock.clone(), observer)
}

/// Starts a process that tries to lead. Aborting its task kills it.
fn start(cluster: &Cluster, name: &'static str, leaders: &Arc<Leaders>) -> JoinHandle<()> {
    spawn(candidate(cluster, cluster.client.clone(), name, leaders))
}

fn spawn(mut election: Election) -> JoinHandle<()> {
    tokio::spawn(async move {
        election.wait_until_leading().await;
        election.renew_until_lost().await;
    })
}

/// A client whose requests are answered while the switch is on.
fn switched(cluster: &Cluster, is_on: &Arc<AtomicBool>) -> Client {
    let (service, is_on) = (cluster.server.service(&Identity::admin()), Arc::clone(is_on));
    let switched = tower::service_fn(move |request| {
        let (mut service, is_on) = (service.clone(), is_on.load(Ordering::Relaxed));
        async move {
            if !is_on {
                return std::future::pending().await;
            }
            service.call(request).await
        }
    });
    Client::new(switched, "default")
}

fn leases(cluster: &Cluster) -> kube::Api<kube::api::DynamicObject> {
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": NAMESPACE}});
    cluster.api(&lease)
}

async fn lease(cluster: &Cluster) -> Value {
    leases(cluster).get(LEASE).await.unwrap().data["spec"].clone()
}

#[tokio::test(start_paused = true)]
async fn another_process_leads_after_the_leader_is_killed() {
    let (cluster, leaders) = (Cluster::new(false).await, Arc::new(Leaders::default()));
    let first = start(&cluster, "a", &leaders);
    pass(1).await;
    let _second = start(&cluster, "b", &leaders);
    pass(3600).await;
    assert_eq!(leaders.take_notes(), ["a leads"]);
    let spec = lease(&cluster).await;
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!("a"), &json!(137)));
    first.abort();
    pass(137 - 27).await;
    assert_eq!(leaders.take_notes(), [""; 0], "the first process may still be alive");
    pass(28 + 26 + 27).await;
    assert_eq!(leaders.take_notes(), ["b leads"]);
    let spec = lease(&cluster).await;
    assert_eq!((&spec["holderIdentity"], &spec["leaseTransitions"]), (&json!("b"), &json!(1)));
}

/// Starts a process that publishes while it is the leader.
fn publish(cluster: &Cluster, name: &'static str, leaders: &Arc<Leaders>) -> JoinHandle<()> {
    let (client, clock) = (cluster.client.clone(), cluster.clock.clone());
    let observer = Arc::new(Candidate(name, Arc::clone(leaders)));
    let mut election = candidate(cluster, client.clone(), name, leaders);
    tokio::spawn(async move {
        let parts = Parts { client, clock, alerts: None, observer };
        let _ = run_leading(&mut election, parts).await;
    })
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_publishes() {
    let (cluster, leaders) = (Cluster::new(false).await, Arc::new(Leaders::default()));
    cluster.create_config_map().await;
    let first = publish(&cluster, "a", &leaders);
    pass(1).await;
    let _second = publish(&cluster, "b", &leaders);
    pass(3600).await;
    assert_eq!(leaders.take_notes(), ["a leads", "a publishes"]);
    first.abort();
    pass(137 + 26 + 60).await;
    assert_eq!(leaders.take_notes(), ["b leads"], "nothing has changed");
    cluster.node("worker-0", "worker", true).await;
    pass(60).await;
    let notes = leaders.take_notes();
    assert!(!notes.is_empty() && notes.iter().all(|note| note == "b publishes"), "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_ends_releases_the_lease() {
    let (cluster, leaders) = (Cluster::new(false).await, Arc::new(Leaders::default()));
    let mut first = candidate(&cluster, cluster.client.clone(), "a", &leaders);
    first.wait_until_leading().await;
    let _second = start(&cluster, "b", &leaders);
    pass(60).await;
    first.release().await;
    let spec = lease(&cluster).await;
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    pass(26).await;
    assert_eq!(leaders.take_notes(), ["a leads", "a leads no longer", "b leads"]);
    first.release().await;
    assert_eq!(
        lease(&cluster).await["holderIdentity"],
        "b",
        "the first process cannot release the Lease of another"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_gives_up_before_others_may_lead() {
    let (cluster, leaders) = (Cluster::new(false).await, Arc::new(Leaders::default()));
    let first = start(&cluster, "a", &leaders);
    pass(30).await;
    let taken = json!({"spec": {"holderIdentity": "c", "leaseDurationSeconds": 137}});
    let patch = Patch::Merge(&taken);
    leases(&cluster).patch(LEASE, &PatchParams::default(), &patch).await.unwrap();
    pass(26).await;
    assert_eq!(leaders.take_notes(), ["a leads", "a leads no longer"]);
    assert!(first.is_finished());
}

#[tokio::test(start_paused = true)]
async fn without_an_api_server_the_leader_gives_up_in_time() {
    let (cluster, leaders) = (Cluster::new(false).await, Arc::new(Leaders::default()));
    let is_on = Arc::new(AtomicBool::new(true));
    let first = spawn(candidate(&cluster, switched(&cluster, &is_on), "a", &leaders));
    pass(30).await;
    is_on.store(false, Ordering::Relaxed);
    pass(90).await;
    assert_eq!(leaders.take_notes(), ["a leads"], "the leader tolerates a minute without an API server");
    pass(30).await;
    assert_eq!(leaders.take_notes(), ["a leads no longer"]);
    assert!(first.is_finished());
}
