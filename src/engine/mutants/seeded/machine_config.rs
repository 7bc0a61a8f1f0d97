//! Mutants of the machine-config operator: its controllers, and the daemons on the machines.

use serde_json::{Value, json};
use windtunnel_controllers::Effect;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES};
use windtunnel_core::{Object, Write, text_of};
use windtunnel_openshift::mco::annotations::{
    CONTROL_PLANE_TOPOLOGY, CURRENT_CONFIG, DESIRED_CONFIG, LAST_APPLIED_DRAIN, ROLE, STATE,
    UPDATE_IN_PROGRESS,
};

use super::writes::{annotation, body, changed, forbidden, is, keeps_condition, skipped_if, value};
use super::{Fate, Scene, SeededMutant, SeededMutantKind};

const NODE: &str = "machine-config-controller/node";
const DRAIN: &str = "machine-config-controller/drain";
const RENDER: &str = "machine-config-controller/render";
const DAEMON: &str = "machine-config-daemon";

pub(super) const MUTANTS: &[SeededMutant] = &[
    SeededMutant {
        name: "uncordon-forgotten",
        component: DRAIN,
        bug: "OCPBUGS-62341",
        text: "a node is not uncordoned after its update",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(cordons(write) == Some(false))),
    },
    SeededMutant {
        name: "cordon-forgotten",
        component: DRAIN,
        bug: "OCPBUGS-62341",
        text: "a node is drained without a cordon",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(cordons(write) == Some(true))),
    },
    SeededMutant {
        name: "drain-reported-at-once",
        component: DRAIN,
        bug: "class: drain ignored",
        text: "a drain is reported as complete with the cordon",
        kind: SeededMutantKind::Writes(drain_reported_at_once),
    },
    SeededMutant {
        name: "drain-not-repeated",
        component: DRAIN,
        bug: "class: missing requeue",
        text: "the drain controller sets no timer",
        kind: SeededMutantKind::Wakes(|step, _| step.wake_at.map(|_| None)),
    },
    SeededMutant {
        name: "refused-eviction-taken-for-success",
        component: DRAIN,
        bug: "golden: pdb-prohibits-draining",
        text: "a refused eviction counts as made, and the pod as gone",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(is(write, "create", "Pod", "eviction"))),
    },
    SeededMutant {
        name: "drain-controller-spins",
        component: DRAIN,
        bug: "class: hot loop",
        text: "the drain controller checks a node again at once instead of after a pause",
        kind: SeededMutantKind::Wakes(|step, scene| step.wake_at.map(|_| Some(scene.now))),
    },
    SeededMutant {
        name: "max-unavailable-ignored",
        component: NODE,
        bug: "class: wrong node chosen",
        text: "all nodes of a role get the new configuration with the first one",
        kind: SeededMutantKind::Writes(all_nodes_at_once),
    },
    SeededMutant {
        name: "pool-updating-lingers",
        component: NODE,
        bug: "class: condition not reset",
        text: "Updated=False of a pool stays after an update",
        kind: SeededMutantKind::Writes(|write, scene| keep(write, scene, "Updated", "False")),
    },
    SeededMutant {
        name: "pool-degraded-lingers",
        component: NODE,
        bug: "class: condition not reset",
        text: "Degraded=True of a pool stays after its cause is gone",
        kind: SeededMutantKind::Writes(|write, scene| keep(write, scene, "Degraded", "True")),
    },
    SeededMutant {
        name: "taint-kept",
        component: NODE,
        bug: "class: taint not removed",
        text: "the taint of nodes that wait for their update is not removed",
        kind: SeededMutantKind::Writes(|write, scene| {
            let node = scene.view.get_key(&write.key()).filter(|_| is(write, "patch", "Node", ""));
            let count = |list: &Value| {
                let list = list.as_array().into_iter().flatten();
                list.filter(|taint| taint["key"] == UPDATE_IN_PROGRESS).count()
            };
            let taints = value(write, "/spec/taints");
            let removes =
                |taints: &Value| count(taints) < node.map_or(0, |node| count(&node["spec"]["taints"]));
            skipped_if(taints.is_some_and(removes))
        }),
    },
    SeededMutant {
        name: "joining-node-panics",
        component: NODE,
        bug: "OCPBUGS-5452",
        text: "the node controller panics at a node without a topology",
        kind: SeededMutantKind::Writes(|write, _| {
            if annotation(write, CONTROL_PLANE_TOPOLOGY).is_some() { Fate::Panics } else { Fate::Made }
        }),
    },
    SeededMutant {
        name: "target-not-set",
        component: NODE,
        bug: "OCPBUGS-52302",
        text: "the desired configuration of worker nodes is never set",
        kind: SeededMutantKind::Writes(|write, _| {
            let is_worker = write.name.starts_with("worker");
            skipped_if(
                is(write, "patch", "Node", "") && is_worker && annotation(write, DESIRED_CONFIG).is_some(),
            )
        }),
    },
    SeededMutant {
        name: "paused-pool-updates",
        component: NODE,
        bug: "EUS: paused pool",
        text: "the event of the end of a pause is lost",
        kind: SeededMutantKind::Overlooks(|change| {
            let was_paused = change.old.as_ref().is_some_and(|old| old["spec"]["paused"] == true);
            change.key.is_kind(&MACHINE_CONFIG_POOLS) && was_paused && change.object["spec"]["paused"] != true
        }),
    },
    SeededMutant {
        name: "duplicate-machine-configs",
        component: RENDER,
        bug: "OCPBUGS-59958",
        text: "each rendered MachineConfig leads to another generated one",
        kind: SeededMutantKind::Writes(duplicate_machine_configs),
    },
    SeededMutant {
        name: "rendered-not-set",
        component: RENDER,
        bug: "OCPBUGS-57979",
        text: "the pool master never gets a new rendered configuration",
        kind: SeededMutantKind::Writes(|write, _| {
            let is_target = value(write, "/spec/configuration").is_some() && write.name == "master";
            skipped_if(is(write, "patch", "MachineConfigPool", "") && is_target)
        }),
    },
    SeededMutant {
        name: "done-not-reported",
        component: DAEMON,
        bug: "OCPBUGS-24366",
        text: "the daemon does not report that the node is done",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(annotation(write, STATE) == Some("Done"))),
    },
    SeededMutant {
        name: "daemon-degraded-lingers",
        component: DAEMON,
        bug: "OCPBUGS-84218",
        text: "the state Degraded of a node stays after the cause is gone",
        kind: SeededMutantKind::Writes(|write, scene| {
            let old = scene.view.get_key(&write.key()).and_then(|node| node.annotation(STATE));
            if old != Some("Degraded") || annotation(write, STATE).is_none() {
                return Fate::Made;
            }
            changed(write, |body| body["metadata"]["annotations"][STATE] = json!("Degraded"))
        }),
    },
    SeededMutant {
        name: "failed-update-not-retried",
        component: DAEMON,
        bug: "OCPBUGS-60768",
        text: "the daemon does not try again after a failed pull or update of the operating system",
        kind: SeededMutantKind::Wakes(|step, scene| {
            let node = scene.by.rsplit('/').next().unwrap_or_default();
            let state = scene.view.get(&NODES, "", node).and_then(|node| node.annotation(STATE));
            (state == Some("Degraded") && step.wake_at.is_some()).then_some(None)
        }),
    },
    SeededMutant {
        name: "reboot-forgotten",
        component: DAEMON,
        bug: "class: lost effect",
        text: "the daemon reports a reboot that it does not request",
        kind: SeededMutantKind::Loses(|effect, _| matches!(effect, Effect::Reboot { .. })),
    },
    SeededMutant {
        name: "daemon-reads-secrets",
        component: DAEMON,
        bug: "class: request without permission",
        text: "the daemon copies a pull secret, which no role allows",
        kind: SeededMutantKind::Writes(|write, _| {
            if annotation(write, STATE) == Some("Working") {
                Fate::Followed(vec![forbidden()])
            } else {
                Fate::Made
            }
        }),
    },
    SeededMutant {
        name: "state-of-another-node",
        component: DAEMON,
        bug: "class: status written by the wrong one",
        text: "the daemon sets the state Degraded of another node",
        kind: SeededMutantKind::Writes(|write, scene| {
            let mut others = scene.view.list(&NODES).filter(|node| node.name() != write.name);
            let other = others.next().filter(|_| annotation(write, STATE) == Some("Working"));
            let patch = json!({ "metadata": { "annotations": { (STATE): "Degraded" } } });
            other.map_or(Fate::Made, |node| {
                Fate::Followed(vec![Write::merge_patch(&NODES, "", node.name(), patch)])
            })
        }),
    },
];

/// Whether a write cordons or uncordons a node.
fn cordons(write: &Write) -> Option<bool> {
    let value = value(write, "/spec/unschedulable").filter(|_| is(write, "patch", "Node", ""))?;
    Some(*value == true)
}

fn keep(write: &Write, scene: &Scene<'_>, kind: &str, status: &str) -> Fate {
    let is_meant = is(write, "update", "MachineConfigPool", "status");
    if is_meant { keeps_condition(write, scene.view, kind, status) } else { Fate::Made }
}

fn drain_reported_at_once(write: &Write, scene: &Scene<'_>) -> Fate {
    let node = scene.view.get_key(&write.key()).filter(|_| cordons(write) == Some(true));
    let request = node.and_then(|node| node.annotation("machineconfiguration.openshift.io/desiredDrain"));
    let patch =
        request.map(|request| json!({ "metadata": { "annotations": { (LAST_APPLIED_DRAIN): request } } }));
    patch.map_or(Fate::Made, |patch| Fate::Followed(vec![Write::merge_patch(&NODES, "", &write.name, patch)]))
}

fn all_nodes_at_once(write: &Write, scene: &Scene<'_>) -> Fate {
    let Some(target) = annotation(write, DESIRED_CONFIG).filter(|_| is(write, "patch", "Node", "")) else {
        return Fate::Made;
    };
    let current = scene.view.get_key(&write.key()).and_then(|node| node.annotation(CURRENT_CONFIG));
    let is_alike = |node: &&windtunnel_core::Object| {
        node.name() != write.name
            && node.annotation(CURRENT_CONFIG) == current
            && node.annotation(DESIRED_CONFIG) != Some(target)
    };
    let others = scene.view.list(&NODES).filter(is_alike);
    let others: Vec<Write> =
        others.map(|node| Write::merge_patch(&NODES, "", node.name(), body(write).clone())).collect();
    if others.is_empty() { Fate::Made } else { Fate::Followed(others) }
}

/// The beginning of the names of duplicates, and their greatest number: each update of a pool takes time.
const GENERATED: &str = "99-worker-generated-kubelet-";
const DUPLICATES: usize = 12;

fn duplicate_machine_configs(write: &Write, scene: &Scene<'_>) -> Fate {
    let is_generated = |config: &&Object| config.name().starts_with(GENERATED);
    let count = scene.view.list(&MACHINE_CONFIGS).filter(is_generated).count();
    if !is(write, "create", "MachineConfig", "") || count >= DUPLICATES {
        return Fate::Made;
    }
    let number = text_of(&body(write)["metadata"], "name").rsplit('-').next().unwrap_or_default().to_owned();
    let object = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": { "name": format!("{GENERATED}{number}"), "labels": { (ROLE): "worker" } },
        "spec": { "config": { "ignition": { "version": "3.2.0" } }, "kernelArguments": [number] },
    });
    Fate::Followed(vec![Write::create(&MACHINE_CONFIGS, object)])
}
