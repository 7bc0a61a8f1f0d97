//! Whoever brings nodes to another release may be restarted at any of its writes: the cluster ends the same.
//!
//! One that dies has made some of the writes of its turn, and what it asked of the machine did not happen. What replaces it
//! knows nothing but the API and the disk.

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

use super::essence;
use crate::engine::runtime::Simulation;
use crate::engine::session::Session;
use crate::plan::{ClusterPlan, ReleasePlan};

/// Every third write of an actor is tried, with another first one for the next: nodes that do the same have all of theirs tried
/// between them. `windtunnel run .ci/restarts.yaml --check-restarts` tries all of them, those of the cluster-version
/// operator as well.
const STRIDE: usize = 3;
/// After this long everything is over, also for one that was restarted.
const LONG: SignedDuration = SignedDuration::from_mins(90);

/// An actor that lives for so many more writes.
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

/// Who is restarted, and after how many of its writes.
struct Crash {
    name: String,
    after: usize,
}

/// How a run ended: the cluster, and how many writes each actor made.
struct End {
    cluster: BTreeMap<String, Value>,
    writes: BTreeMap<String, usize>,
}

/// Whether an actor is one of those that bring nodes to another release.
fn is_concerned(name: &str) -> bool {
    name.starts_with("machine-config-") || name == "operator/machine-config-operator"
}

/// Six nodes of one release, beside which there is another.
fn plan() -> ClusterPlan {
    let release = |version: &str| Release::find(&Version::parse(version).unwrap()).unwrap();
    ClusterPlan {
        releases: vec![ReleasePlan::plain(release("4.18.7"))],
        ..ClusterPlan::of(release("4.18.3"))
    }
}

/// Updates the nodes from the moment on at which the operator's Deployment is of another release.
fn run(plan: &ClusterPlan, crash: Option<&Crash>) -> End {
    let mut session = Session::start(plan, "recovery", &[], 1).unwrap();
    let Session { simulation, runtime } = &mut session;
    let actors: Vec<_> = simulation.schedule.names().map(|(id, name)| (id, name.to_owned())).collect();
    for (id, name) in &actors {
        if (name.starts_with("operator/") || name == "prometheus") && !is_concerned(name) {
            simulation.remove(*id);
        }
    }
    // Which would take back what is done in its place.
    let none = json!({ "spec": { "replicas": 0 } });
    let stop = Write::merge_patch(&DEPLOYMENTS, "openshift-cluster-version", cvo::NAME, none);
    simulation.write("test", &Identity::admin(), &stop).unwrap();
    simulation.write("test", &Identity::admin(), &deployment(plan, simulation)).unwrap();
    runtime.block_on(async {
        let end = after(simulation.now(), LONG);
        let writes = go_on(simulation, end, crash).await;
        End { cluster: seen(simulation), writes }
    })
}

/// The Deployment of the operator as the other release has it.
fn deployment(plan: &ClusterPlan, simulation: &Simulation) -> Write {
    let release = &plan.releases[0].release;
    let payload = cvo::Installed::of(release, "", &json!({ "spec": {} }));
    let cluster_version = simulation.view.get(&CLUSTER_VERSIONS, "", "version").unwrap();
    let nothing = Value::Null;
    let around = cvo::Surroundings { proxy: &nothing, infrastructure: &nothing };
    let objects = payload.objects(cluster_version, around);
    let name = "machine-config-operator";
    let (_, deployment) = { objects }
        .into_iter()
        .find(|(of, object)| *of == DEPLOYMENTS && object["metadata"]["name"] == name)
        .unwrap();
    let namespace = deployment["metadata"]["namespace"].as_str().unwrap();
    Write::merge_patch(&DEPLOYMENTS, namespace, name, json!({ "spec": deployment["spec"] }))
}

/// Runs to `end`; gives how many writes each actor made.
async fn go_on(simulation: &mut Simulation, end: Time, mut crash: Option<&Crash>) -> BTreeMap<String, usize> {
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

/// What matters of the cluster: nodes, pools, what is rendered, what the operator says and what nodes run from files.
fn seen(simulation: &Simulation) -> BTreeMap<String, Value> {
    let mut seen = essence(&simulation.view);
    let kinds =
        ["Node/", "MachineConfigPool/", "MachineConfig/", "MachineConfigNode/", "ControllerConfig/", "Pod/"];
    let operator = format!("ClusterOperator//{CLUSTER_OPERATOR}");
    seen.retain(|name, _| kinds.iter().any(|kind| name.starts_with(kind)) || *name == operator);
    seen
}

/// Restarts these actors at their writes, one a run.
fn check(is_meant: impl Fn(&str) -> bool) {
    let plan = plan();
    let undisturbed = run(&plan, None);
    for (name, object) in undisturbed.cluster.iter().filter(|(name, _)| name.starts_with("Node/")) {
        assert_eq!(object["metadata"]["annotations"][STATE], "Done", "{name}");
        assert_eq!(object["status"]["nodeInfo"]["kubeletVersion"], "v1.31.7", "{name}");
    }
    let mut tried = 0;
    let meant = undisturbed.writes.iter().filter(|(name, _)| is_meant(name));
    for (index, (name, writes)) in meant.enumerate() {
        for write in (1..=*writes).skip(index % STRIDE).step_by(STRIDE) {
            let end = run(&plan, Some(&Crash { name: name.clone(), after: write }));
            for (what, object) in &undisturbed.cluster {
                let seen = end.cluster.get(what);
                assert_eq!(seen, Some(object), "{what}: {name} restarted after write {write}");
            }
            assert_eq!(end.cluster.len(), undisturbed.cluster.len());
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried} restarts show little");
}

#[test]
fn nodes_get_there_though_the_operator_or_a_part_of_its_controller_is_restarted_at_any_write() {
    check(|name| name.starts_with("machine-config-controller/") || name.starts_with("operator/"));
}

#[test]
fn nodes_get_there_though_a_daemon_is_restarted_at_any_write() {
    check(|name| name.starts_with("machine-config-daemon/"));
}

#[test]
fn nodes_get_there_though_a_kubelet_is_restarted_at_any_write() {
    check(|name| name.starts_with("kubelet/"));
}

#[test]
fn nodes_get_there_though_a_controller_of_kubernetes_is_restarted_at_any_write() {
    check(|name| !name.contains('/') && !name.starts_with("cluster-version"));
}
