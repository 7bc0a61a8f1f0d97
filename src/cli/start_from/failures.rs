//! Converts failures in a dumped cluster to faults of the simulated one, which last until a scenario heals
//! them.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::condition::find;
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES, find_with_preview};
use windtunnel_core::text::one_line;
use windtunnel_core::{Change, ChangeKind, Object, View, node};
use windtunnel_openshift::mco::render_problem;
use windtunnel_openshift::release::Release;

use super::pools::is_taken;
use crate::plan::{Action, InjectedFault, Step};

/// Conditions of operators that count as failures, worst first.
const OPERATORS: [(&str, &str, FaultKind); 3] = [
    ("Available", "False", FaultKind::Unavailable),
    ("Degraded", "True", FaultKind::Degraded),
    ("Upgradeable", "False", FaultKind::NotUpgradeable),
];

/// Reasons of conditions that end with the update of a pool, which the simulated operator reports itself.
const PASSING: [&str; 1] = ["PoolUpdating"];

/// The operator of the machines' configuration.
const MACHINE_CONFIG: &str = "machine-config";
/// The part of the network operator's message about a DaemonSet whose pods do not become ready (`pkg/controller/statusmanager`).
const HUNG: &str = "rollout is not making progress";
/// How long a machine is not ready at most while an update reboots it; those without virtualisation need the longest.
const REBOOT: SignedDuration = SignedDuration::from_mins(30);
/// The operator of operators.
const OLM: &str = "operator-lifecycle-manager";

/// Steps that start the faults, and notices about them.
#[derive(Default)]
pub(super) struct Failures {
    pub(super) steps: Vec<(String, Step)>,
    pub(super) notices: Vec<String>,
    /// Whether a machine is away, which the node controller notices by the Lease of its kubelet.
    pub(super) is_away: bool,
}

/// Returns the failures of a cluster with these objects that runs `release` at this time. `taken` are the objects that the run
/// takes over.
pub(super) fn find_failures(
    objects: &[&Object],
    taken: &[Object],
    release: &Release,
    feature_set: &str,
    now: Time,
) -> Failures {
    let mut failures = Failures::default();
    failures.operators_of_users(objects, release);
    for node in objects.iter().filter(|object| NODES.is_kind_of(object)) {
        failures.node(node, now);
    }
    let applied = applied(objects, taken);
    for pool in objects.iter().filter(|object| MACHINE_CONFIG_POOLS.is_kind_of(object)) {
        failures.pool(pool, render_problem(release, feature_set, pool, &applied).as_deref());
    }
    for operator in objects.iter().filter(|object| CLUSTER_OPERATORS.is_kind_of(object)) {
        failures.operator(operator, release);
    }
    failures
}

/// The pools, and what users configure nodes with.
fn applied(objects: &[&Object], taken: &[Object]) -> View {
    let mut view = View::default();
    let pools = objects.iter().copied().filter(|object| MACHINE_CONFIG_POOLS.is_kind_of(object));
    for object in pools.chain(taken) {
        let Some(resource) = find_with_preview(object) else { continue };
        let key = resource.key_of(object);
        view.apply(&Change { kind: ChangeKind::Added, key, object: object.clone(), old: None });
    }
    view
}

impl Failures {
    fn operator(&mut self, operator: &Object, release: &Release) {
        let found = OPERATORS.iter().find_map(|(kind, status, fault)| {
            let condition = find(operator.conditions(), kind)?;
            let is_passing = PASSING.iter().any(|reason| condition["reason"] == *reason);
            (condition["status"] == *status && !is_passing).then(|| fault_of(*fault, condition))
        });
        let Some(fault) = found else { return };
        let name = operator.name();
        if let Some(cause) = self.cause_of(name, &fault) {
            self.notices.push(format!(
                "operator {name} is {} because of {cause}: the simulated one reports that itself",
                fault.kind.name()
            ));
            return;
        }
        if release.operator(name).is_none() {
            self.notices.push(format!(
                "not taken: the fault of operator {name}: {} has no such operator",
                release.version
            ));
            return;
        }
        self.add(InjectedFault::Operator(name.to_owned(), fault));
    }

    /// The failure that explains the one of an operator: a node or a pool that its message names. The machine-config operator
    /// reports all of both, and DaemonSets hang because of nodes.
    fn cause_of(&self, operator: &str, fault: &Fault) -> Option<String> {
        let names = |name: &str| {
            let is_part = |char: char| char.is_alphanumeric() || char == '-' || char == '.';
            fault.message.split(|char: char| !is_part(char)).any(|word| word.trim_matches('.') == name)
        };
        let hangs = fault.message.contains(HUNG);
        let is_of_machines = operator == MACHINE_CONFIG && !matches!(fault.kind, FaultKind::Unavailable);
        self.steps.iter().find_map(|(_, step)| match step {
            Step::Act(Action::Fault { fault: InjectedFault::Node(name, of_node), .. })
                if is_of_machines || hangs && of_node.kind != FaultKind::Degraded || names(name) =>
            {
                Some(format!("node {name}"))
            }
            Step::Act(Action::Fault { fault: InjectedFault::Pool(name, _), .. }) if is_of_machines => {
                Some(format!("pool {name}"))
            }
            _ => None,
        })
    }

    /// A pool that cannot be rendered. If its MachineConfigs explain that (`problem`), the simulated controller finds it.
    fn pool(&mut self, pool: &Object, problem: Option<&str>) {
        let failed =
            find(pool.conditions(), "RenderDegraded").filter(|condition| condition["status"] == "True");
        let name = pool.name();
        match (failed, problem) {
            (Some(_), Some(why)) => {
                self.notices.push(format!("pool {name} cannot be rendered: {}", one_line(why)));
            }
            (Some(condition), None) if is_taken(pool) => {
                self.notices.push(format!(
                    "pool {name} cannot be rendered, and nothing in the dump says why: it stays so"
                ));
                let fault = fault_of(FaultKind::Degraded, condition);
                self.add(InjectedFault::Pool(name.to_owned(), fault));
            }
            _ => {}
        }
    }

    /// Operators of users that work with no later minor: OLM then reports that the cluster cannot be updated to one
    /// (`olm.maxOpenShiftVersion` in OLM's documentation; `pkg/lib/operatorstatus` and `controllers/openshift` in its source).
    fn operators_of_users(&mut self, objects: &[&Object], release: &Release) {
        let of_operators = |object: &&&Object| {
            object.text("/kind") == "ClusterServiceVersion" && object.label("olm.copiedFrom").is_none()
        };
        let blocking: Vec<String> = objects
            .iter()
            .filter(of_operators)
            .filter_map(|version| incompatibility(version, release))
            .collect();
        let is_reported = |object: &&&Object| {
            CLUSTER_OPERATORS.is_kind_of(object)
                && object.name() == OLM
                && find(object.conditions(), "Upgradeable").is_some_and(|found| found["status"] == "False")
        };
        if blocking.is_empty() || objects.iter().any(|object| is_reported(&object)) {
            return;
        }
        let condition = json!({
            "reason": "IncompatibleOperatorsInstalled",
            "message": format!("ClusterServiceVersions blocking cluster upgrade: {}", blocking.join(",")),
        });
        self.add(InjectedFault::Operator(OLM.to_owned(), fault_of(FaultKind::NotUpgradeable, &condition)));
    }

    fn node(&mut self, node: &Object, now: Time) {
        let name = node.name();
        match time_of_reboot(node, now) {
            Some(time) if time < REBOOT => {
                self.notices.push(format!("node {name} was rebooting for its update: it returns"));
                return;
            }
            Some(_) => {
                self.is_away = true;
                let condition = find(node.conditions(), "Ready").cloned().unwrap_or_default();
                let fault = fault_of(FaultKind::DoesNotReturn, &condition);
                return self.add(InjectedFault::Node(name.to_owned(), fault));
            }
            None => {}
        }
        self.is_away |= is_silent(node);
        let annotation = |name| node.annotation(&format!("machineconfiguration.openshift.io/{name}"));
        let ready = find(node.conditions(), "Ready").filter(|ready| ready["status"] != "True");
        let stopped = ready.filter(|_| is_silent(node));
        let pressed = find(node.conditions(), "DiskPressure").filter(|found| found["status"] == "True");
        let fault = if annotation("state") == Some("Degraded") {
            let condition = json!({ "message": annotation("reason") });
            Some(fault_of(FaultKind::Degraded, &condition))
        } else {
            let stopped = stopped.map(|condition| fault_of(FaultKind::KubeletStopped, condition));
            let not_ready = ready.map(|condition| fault_of(FaultKind::NotReady, condition));
            stopped
                .or(not_ready)
                .or_else(|| pressed.map(|condition| fault_of(FaultKind::DiskPressure, condition)))
        };
        if let Some(fault) = fault {
            self.add(InjectedFault::Node(node.name().to_owned(), fault));
        }
    }

    fn add(&mut self, fault: InjectedFault) {
        let text = fault.to_string();
        self.notices.push(format!("{text}, until the scenario heals it"));
        self.steps.push((format!("{text} (from the dump)"), Step::Act(Action::fault(fault))));
    }
}

/// Returns a fault with reason and message of a condition.
fn fault_of(kind: FaultKind, condition: &Value) -> Fault {
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    Fault { kind, reason: text("reason"), message: text("message"), times: 0, by: SignedDuration::ZERO }
}

/// Why an operator of a user does not work with the next minor of a release; `None` if it does.
fn incompatibility(version: &Object, release: &Release) -> Option<String> {
    let properties: Value = serde_json::from_str(version.annotation("olm.properties")?).ok()?;
    let limit =
        properties.as_array()?.iter().find(|property| property["type"] == "olm.maxOpenShiftVersion")?;
    let text = limit["value"].as_str().map_or_else(|| limit["value"].to_string(), str::to_owned);
    let mut numbers = text.split('.').map(str::parse::<u64>);
    let name = format!("{}/{}", version.namespace(), version.name());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => ((major, minor) <= release.line()).then(|| {
            format!("{name} is incompatible with OpenShift minor versions greater than {major}.{minor}")
        }),
        _ => Some(format!("{name} has invalid olm.maxOpenShiftVersion properties")),
    }
}

/// How long a node has been rebooting for its update: since it is not ready, or since it was cordoned if the daemon is rebooting it.
fn time_of_reboot(node: &Object, now: Time) -> Option<SignedDuration> {
    let annotation = |name| node.annotation(&format!("machineconfiguration.openshift.io/{name}"));
    if annotation("currentConfig") == annotation("desiredConfig") || annotation("state") == Some("Degraded") {
        return None;
    }
    let ready = find(node.conditions(), "Ready").filter(|ready| ready["status"] != "True");
    let cordon = node::taints(node).iter().find(|taint| taint["key"] == "node.kubernetes.io/unschedulable");
    let cordon = cordon.filter(|_| annotation("post-config-action") == Some("Rebooting"));
    let since = ready.map(|ready| &ready["lastTransitionTime"]).or(cordon.map(|taint| &taint["timeAdded"]));
    Some(now.duration_since(parse_rfc3339(since?.as_str()?)?))
}

/// Whether the kubelet of a node does not report any more: the node controller then sets its conditions to `Unknown`.
fn is_silent(node: &Object) -> bool {
    find(node.conditions(), "Ready").is_some_and(|ready| ready["status"] == "Unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, desired: &str, since: &str) -> Object {
        Object::new(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": name, "annotations": {
                "machineconfiguration.openshift.io/currentConfig": "a",
                "machineconfiguration.openshift.io/desiredConfig": desired,
            } },
            "status": { "conditions": [{ "type": "Ready", "status": "False", "lastTransitionTime": since }] },
        }))
    }

    fn operator(name: &str, message: &str) -> Object {
        Object::new(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": { "name": name },
            "status": { "conditions": [{ "type": "Degraded", "status": "True", "message": message }] },
        }))
    }

    #[test]
    fn symptoms_of_nodes_are_no_faults_and_nodes_that_reboot_are_none() {
        let objects = [
            node("settled", "a", "2025-01-01T00:00:00Z"),
            node("reboots", "b", "2025-01-01T01:00:00Z"),
            node("stays-away", "b", "2025-01-01T00:00:00Z"),
            operator("network", "DaemonSet \"/openshift-multus/multus\" rollout is not making progress"),
            operator("etcd", "NodeControllerDegraded: node \"settled\" not ready"),
            operator("dns", "DNS default is degraded on a node that settled"),
        ];
        let objects: Vec<&Object> = objects.iter().collect();
        let release = Release::nearest(&"4.18.3".parse().unwrap());
        let now = parse_rfc3339("2025-01-01T01:05:00Z").unwrap();
        let failures = find_failures(&objects, &[], &release, "", now);
        let steps: Vec<&str> = failures.steps.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(
            steps,
            [
                "node settled is not-ready (from the dump)",
                "node stays-away is does-not-return (from the dump)",
            ],
            "{:?}",
            failures.notices
        );
        assert!(failures.is_away);
    }
}
