//! Converts failures in a dumped cluster to faults of the simulated one, which last until a scenario heals
//! them.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::Object;
use windtunnel_core::condition::find;
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_openshift::release::Release;

use crate::plan::{Action, InjectedFault, Step};

/// Conditions of operators that count as failures, worst first.
const OPERATORS: [(&str, &str, FaultKind); 3] = [
    ("Available", "False", FaultKind::Unavailable),
    ("Degraded", "True", FaultKind::Degraded),
    ("Upgradeable", "False", FaultKind::NotUpgradeable),
];

/// Steps that start the faults, and notices about them.
#[derive(Default)]
pub(super) struct Failures {
    pub(super) steps: Vec<(String, Step)>,
    pub(super) notices: Vec<String>,
}

/// Returns the failures of a cluster that runs `release`.
pub(super) fn find_failures(objects: &[&Object], release: &Release) -> Failures {
    let mut failures = Failures::default();
    for object in objects {
        if CLUSTER_OPERATORS.is_kind_of(object) {
            failures.operator(object, release);
        } else if NODES.is_kind_of(object) {
            failures.node(object);
        } else if MACHINE_CONFIG_POOLS.is_kind_of(object) {
            failures.pool(object);
        }
    }
    failures
}

impl Failures {
    fn operator(&mut self, operator: &Object, release: &Release) {
        let found = OPERATORS.iter().find_map(|(kind, status, fault)| {
            let condition = find(operator.list("/status/conditions"), kind)?;
            (condition["status"] == *status).then(|| fault_of(*fault, condition))
        });
        let Some(fault) = found else { return };
        let name = operator.name();
        if release.operator(name).is_none() {
            self.notices.push(format!(
                "not taken: the fault of operator {name}: {} has no such operator",
                release.version
            ));
            return;
        }
        self.add(InjectedFault::Operator(name.to_owned(), fault));
    }

    fn node(&mut self, node: &Object) {
        let annotation = |name| node.annotation(&format!("machineconfiguration.openshift.io/{name}"));
        let ready = find(node.list("/status/conditions"), "Ready").filter(|ready| ready["status"] != "True");
        let pressed =
            find(node.list("/status/conditions"), "DiskPressure").filter(|found| found["status"] == "True");
        let fault = if annotation("state") == Some("Degraded") {
            let condition = json!({ "message": annotation("reason") });
            Some(fault_of(FaultKind::Degraded, &condition))
        } else {
            let not_ready = ready.map(|condition| fault_of(FaultKind::NotReady, condition));
            not_ready.or_else(|| pressed.map(|condition| fault_of(FaultKind::DiskPressure, condition)))
        };
        if let Some(fault) = fault {
            self.add(InjectedFault::Node(node.name().to_owned(), fault));
        }
    }

    fn pool(&mut self, pool: &Object) {
        let name = pool.name();
        if !["master", "worker"].contains(&name) {
            self.notices.push(format!("not taken: pool {name}; its nodes join pool worker"));
        } else if pool["spec"]["paused"] == true {
            let patch = json!({
                "apiVersion": MACHINE_CONFIG_POOLS.api_version(),
                "kind": MACHINE_CONFIG_POOLS.kind,
                "metadata": { "name": name },
                "spec": { "paused": true },
            });
            self.notices.push(format!("pool {name} is paused"));
            self.steps
                .push((format!("pool {name} is paused (from the dump)"), Step::Act(Action::Apply(patch))));
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
