//! Mutants of the kubelet.

use windtunnel_controllers::{Effect, Signal};
use windtunnel_core::resources::NODES;

use super::writes::{forbidden, is, new_status, skipped_if, value};
use super::{Fate, SeededMutant, SeededMutantKind};

const NAME: &str = "kubelet";

pub(super) const MUTANTS: &[SeededMutant] = &[
    SeededMutant {
        name: "ready-not-posted",
        component: NAME,
        bug: "class: condition not reset",
        text: "the kubelet does not post Ready=True after a restart of the machine",
        kind: SeededMutantKind::Writes(|write, _| {
            skipped_if(is(write, "patch", "Node", "status") && new_status(write, "Ready") == "True")
        }),
    },
    SeededMutant {
        name: "pod-not-removed",
        component: NAME,
        bug: "class: finaliser kept",
        text: "the kubelet does not delete a terminated pod from the API",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(is(write, "delete", "Pod", ""))),
    },
    SeededMutant {
        name: "container-not-started",
        component: NAME,
        bug: "class: lost effect",
        text: "the kubelet reports a container as running without its start",
        kind: SeededMutantKind::Loses(|effect, _| matches!(effect, Effect::Start { .. })),
    },
    SeededMutant {
        name: "exit-not-noticed",
        component: NAME,
        bug: "class: lost event",
        text: "the kubelet does not notice the end of a container",
        kind: SeededMutantKind::Deaf(|signal| matches!(signal, Signal::Exited { .. })),
    },
    SeededMutant {
        name: "running-not-reported",
        component: NAME,
        bug: "class: status not written",
        text: "the kubelet does not report that a pod is ready",
        kind: SeededMutantKind::Writes(|write, _| {
            skipped_if(is(write, "patch", "Pod", "status") && new_status(write, "Ready") == "True")
        }),
    },
    SeededMutant {
        name: "kubelet-writes-secrets",
        component: NAME,
        bug: "class: request without permission",
        text: "the kubelet copies a pull secret, which no role allows",
        kind: SeededMutantKind::Writes(|write, _| {
            let starts = is(write, "patch", "Pod", "status") && value(write, "/status/startTime").is_some();
            if starts { Fate::Followed(vec![forbidden()]) } else { Fate::Made }
        }),
    },
    SeededMutant {
        name: "kubelet-spins",
        component: NAME,
        bug: "class: hot loop",
        text: "the kubelet of a cordoned node works without a pause",
        kind: SeededMutantKind::Wakes(|_, scene| {
            let node = scene.by.rsplit('/').next().unwrap_or_default();
            let node = scene.view.get(&NODES, "", node);
            node.is_some_and(|node| node["spec"]["unschedulable"] == true).then_some(Some(scene.now))
        }),
    },
];
