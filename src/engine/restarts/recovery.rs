//! Tests that every component that updates nodes can restart at any of its writes: the cluster ends the same.
//!
//! A crashed component has made some of the writes of its turn, and its requests to the machine did not
//! happen. Its replacement knows nothing but the API and the disk.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::schedule::ActorId;
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{CLUSTER_VERSIONS, DEPLOYMENTS};
use windtunnel_core::{Identity, Write};
use windtunnel_openshift::cvo;
use windtunnel_openshift::mco::CLUSTER_OPERATOR;
use windtunnel_openshift::mco::annotations::STATE;
use windtunnel_openshift::release::Release;

use super::comparable_state;
use crate::engine::restored::object_name;
use crate::engine::runtime::Simulation;
use crate::engine::session::Session;
use crate::plan::{ClusterPlan, ReleasePlan};

/// Every third write of an actor is tried, with another offset for the next actor: nodes that do the same
/// cover all writes between them. `windtunnel run .ci/restarts.yaml --check-restarts` tries all of them,
/// those of the cluster-version operator as well.
const STRIDE: usize = 3;
/// After this time every update is over, even with a restart.
const LONG: SignedDuration = SignedDuration::from_mins(90);

/// An actor that crashes after `writes` more writes.
#[derive(Clone)]
struct Dying {
    actor: Box<dyn Actor>,
    writes: usize,
}

impl Actor for Dying {
    fn name(&self) -> &str {
        self.actor.name()
    }

    fn identity(&self) -> Identity {
        self.actor.identity()
    }

    fn identity_for(&self, write: &Write) -> Option<Identity> {
        self.actor.identity_for(write)
    }

    fn interests(&self) -> Vec<Interest> {
        self.actor.interests()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let mut step = self.actor.step(input);
        if step.writes.len() >= self.writes {
            step.writes.truncate(self.writes);
            step.effects.clear();
        }
        self.writes -= step.writes.len();
        step
    }
}

/// The actor to restart, and after how many of its writes.
struct Crash {
    name: String,
    after: usize,
}

/// The end of a run: the cluster, and the number of writes of each actor.
struct End {
    cluster: BTreeMap<String, Value>,
    writes: BTreeMap<String, usize>,
}

/// Whether an actor takes part in the update of nodes.
fn is_concerned(name: &str) -> bool {
    name.starts_with("machine-config-") || name == "operator/machine-config-operator"
}

/// Six nodes of one release, with another release to go to.
fn plan() -> ClusterPlan {
    let release = |version: &str| Release::find(&Version::parse(version).unwrap()).unwrap();
    ClusterPlan {
        releases: vec![ReleasePlan::plain(release("4.18.7"))],
        ..ClusterPlan::new(release("4.18.3"))
    }
}

/// Updates the nodes, starting with the operator's Deployment of the other release.
fn run(plan: &ClusterPlan, crash: Option<&Crash>) -> End {
    let mut session = Session::start(plan, "recovery", &[], 1).unwrap();
    let Session { simulation, runtime } = &mut session;
    let actors: Vec<_> = simulation.schedule.names().map(|(id, name)| (id, name.to_owned())).collect();
    for (id, name) in &actors {
        if (name.starts_with("operator/") || name == "prometheus") && !is_concerned(name) {
            simulation.remove(*id);
        }
    }
    // It would revert the Deployment.
    let none = json!({ "spec": { "replicas": 0 } });
    let stop = Write::merge_patch(&DEPLOYMENTS, "openshift-cluster-version", cvo::NAME, none);
    simulation.write("test", &Identity::admin(), &stop).unwrap();
    simulation.write("test", &Identity::admin(), &deployment(plan, simulation)).unwrap();
    runtime.block_on(async {
        let end = after(simulation.now(), LONG);
        let writes = run_to(simulation, end, crash).await;
        End { cluster: seen(simulation), writes }
    })
}

/// The operator's Deployment in the other release.
fn deployment(plan: &ClusterPlan, simulation: &Simulation) -> Write {
    let release = &plan.releases[0].release;
    let payload = cvo::InstalledPayload::of(release, "", &json!({ "spec": {} }));
    let cluster_version = simulation.view.get(&CLUSTER_VERSIONS, "", "version").unwrap();
    let nothing = Value::Null;
    let surroundings = cvo::Surroundings { proxy: &nothing, infrastructure: &nothing };
    let objects = payload.objects(cluster_version, surroundings);
    let name = "machine-config-operator";
    let (_, deployment) = { objects }
        .into_iter()
        .find(|(of, object)| *of == DEPLOYMENTS && object["metadata"]["name"] == name)
        .unwrap();
    let namespace = deployment["metadata"]["namespace"].as_str().unwrap();
    Write::merge_patch(&DEPLOYMENTS, namespace, name, json!({ "spec": deployment["spec"] }))
}

/// Runs to `end`. Returns the number of writes of each actor.
async fn run_to(
    simulation: &mut Simulation,
    end: Time,
    mut crash: Option<&Crash>,
) -> BTreeMap<String, usize> {
    let mut writes = BTreeMap::new();
    let mut dying: Option<ActorId> = None;
    loop {
        simulation.take_changes();
        simulation.wake().unwrap();
        while let Some(id) = simulation.schedule.next_ready() {
            let Some(name) = simulation.schedule.name(id).map(str::to_owned) else { continue };
            let made = writes.entry(name.clone()).or_insert(0);
            let crashes = crash.filter(|crash| crash.name == name);
            if let Some(crash) = crashes.filter(|_| dying != Some(id)) {
                let writes = crash.after - *made;
                simulation.schedule.wrap(id, |actor| Box::new(Dying { actor, writes }));
                dying = Some(id);
            }
            simulation.turn(id);
            *made += simulation.schedule.unseen_answers(id);
            if crashes.is_some_and(|crash| *made >= crash.after) {
                simulation.replace(id);
                crash = None;
            }
            simulation.take_changes();
            simulation.wake().unwrap();
        }
        if simulation.now() >= end {
            return writes;
        }
        let next = simulation.due().map_or(end, |at| at.min(end));
        simulation.idle_until(next).await;
    }
}

/// The relevant part of the cluster: nodes, pools, rendered configurations, the operator's status and pods.
fn seen(simulation: &Simulation) -> BTreeMap<String, Value> {
    let contents = comparable_state(&simulation.view);
    let named =
        contents.iter().map(|(key, content)| (object_name(&content.kind, key), content.value.clone()));
    let mut seen: BTreeMap<String, Value> = named.collect();
    let kinds = [
        "Node/",
        "MachineConfigPool/",
        "MachineConfig/",
        "MachineConfigNode/",
        "MachineOSConfig/",
        "MachineOSBuild/",
        "ControllerConfig/",
        "Pod/",
    ];
    let operator = format!("ClusterOperator/{CLUSTER_OPERATOR}");
    seen.retain(|name, _| kinds.iter().any(|kind| name.starts_with(kind)) || *name == operator);
    seen
}

/// Restarts these actors at their writes, one restart a run.
fn check(is_meant: impl Fn(&str) -> bool) {
    let plan = plan();
    let baseline = run(&plan, None);
    for (name, object) in baseline.cluster.iter().filter(|(name, _)| name.starts_with("Node/")) {
        assert_eq!(object["metadata"]["annotations"][STATE], "Done", "{name}");
        assert_eq!(object["status"]["nodeInfo"]["kubeletVersion"], "v1.31.7", "{name}");
    }
    let mut tried = 0;
    let meant = baseline.writes.iter().filter(|(name, _)| is_meant(name));
    for (index, (name, writes)) in meant.enumerate() {
        for write in (1..=*writes).skip(index % STRIDE).step_by(STRIDE) {
            let end = run(&plan, Some(&Crash { name: name.clone(), after: write }));
            for (what, object) in &baseline.cluster {
                let seen = end.cluster.get(what);
                assert_eq!(seen, Some(object), "{what}: {name} restarted after write {write}");
            }
            assert_eq!(end.cluster.len(), baseline.cluster.len());
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried} restarts show little");
}

#[test]
fn nodes_update_despite_restarts_of_the_operator_or_its_controller() {
    check(|name| name.starts_with("machine-config-controller/") || name.starts_with("operator/"));
}

#[test]
fn nodes_update_despite_restarts_of_a_daemon() {
    check(|name| name.starts_with("machine-config-daemon/"));
}

#[test]
fn nodes_update_despite_restarts_of_a_kubelet() {
    check(|name| name.starts_with("kubelet/"));
}

#[test]
fn nodes_update_despite_restarts_of_a_kubernetes_controller() {
    check(|name| !name.contains('/') && !name.starts_with("cluster-version"));
}
