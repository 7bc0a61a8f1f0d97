//! Mutants of the operators.

use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_OPERATORS, DEPLOYMENTS};
use windtunnel_core::{Write, condition};
use windtunnel_openshift::release::version_in;

use super::writes::{changed, is, keeps_condition, new_status, skipped_if};
use super::{Fate, SeededMutant, SeededMutantKind};

pub(super) const MUTANTS: &[SeededMutant] = &[
    SeededMutant {
        name: "operator-degraded-lingers",
        component: "operator",
        bug: "class: condition not reset",
        text: "Degraded=True of a ClusterOperator stays after its cause is gone",
        kind: SeededMutantKind::Writes(|write, scene| {
            keep_if_status(write, || keeps_condition(write, scene.view, "Degraded", "True"))
        }),
    },
    SeededMutant {
        name: "operator-progressing-lingers",
        component: "operator",
        bug: "class: condition not reset",
        text: "Progressing=True of a ClusterOperator stays after an update",
        kind: SeededMutantKind::Writes(|write, scene| {
            keep_if_status(write, || keeps_condition(write, scene.view, "Progressing", "True"))
        }),
    },
    SeededMutant {
        name: "operator-version-not-reported",
        component: "operator/dns-operator",
        bug: "OCPBUGS-23514",
        text: "the operator never reports the new version",
        kind: SeededMutantKind::Writes(|write, scene| {
            let old = scene.view.get_key(&write.key()).map(|old| old["status"]["versions"].clone());
            let Some(old) = old.filter(|old| old.is_array() && is_status(write)) else { return Fate::Made };
            changed(write, |body| body["status"]["versions"] = old)
        }),
    },
    SeededMutant {
        name: "operator-version-before-pools",
        component: "operator/machine-config-operator",
        bug: "origin: errMasterUpdating",
        text: "the machine-config operator reports the new version while the pool master still updates",
        kind: SeededMutantKind::Writes(|write, scene| {
            let deployment =
                scene.view.get(&DEPLOYMENTS, "openshift-machine-config-operator", "machine-config-operator");
            let release = deployment.and_then(|deployment| version_in(deployment));
            let Some(release) = release.filter(|_| is_status(write)) else { return Fate::Made };
            changed(write, |body| {
                for version in body["status"]["versions"].as_array_mut().into_iter().flatten() {
                    if version["name"] == "operator" {
                        version["version"] = json!(release);
                    }
                }
            })
        }),
    },
    SeededMutant {
        name: "status-of-another-operator",
        component: "operator/dns-operator",
        bug: "class: status written by the wrong one",
        text: "the operator of `dns` also sets Degraded=True for `network`",
        kind: SeededMutantKind::Writes(|write, scene| {
            let other = scene.view.get(&CLUSTER_OPERATORS, "", "network");
            let Some(other) = other.filter(|_| is_status(write)) else { return Fate::Made };
            let mut object = other.to_value();
            for condition in object["status"]["conditions"].as_array_mut().into_iter().flatten() {
                if condition::type_of(condition) == "Degraded" {
                    condition["status"] = json!("True");
                    condition["reason"] = json!("DNSDegraded");
                }
            }
            Fate::Followed(vec![Write::update_status(&CLUSTER_OPERATORS, object)])
        }),
    },
    SeededMutant {
        name: "operator-available-lost",
        component: "operator",
        bug: "rhbz 1988576",
        text: "an operator never becomes available again once it was not",
        kind: SeededMutantKind::Writes(|write, scene| {
            keep_if_status(write, || keeps_condition(write, scene.view, "Available", "False"))
        }),
    },
    SeededMutant {
        name: "operator-status-not-restored",
        component: "operator",
        bug: "OCP-41778: ClusterOperator without a status",
        text: "the operator does not write the status of a ClusterOperator that was created again",
        kind: SeededMutantKind::Writes(|write, scene| {
            let known = scene.view.get_key(&write.key());
            let has_none = known.is_some_and(|known| {
                known.get("status").is_none_or(Value::is_null) || known.list("/status/conditions").is_empty()
            });
            skipped_if(is_status(write) && has_none)
        }),
    },
    SeededMutant {
        name: "operator-panics-when-degraded",
        component: "operator",
        bug: "KubeStateMetricsTimezonePanic",
        text: "the operator panics when it reports Degraded=True",
        kind: SeededMutantKind::Writes(|write, _| {
            if is_status(write) && new_status(write, "Degraded") == "True" {
                Fate::Panics
            } else {
                Fate::Made
            }
        }),
    },
];

fn is_status(write: &Write) -> bool {
    is(write, "update", "ClusterOperator", "status")
}

fn keep_if_status(write: &Write, keep: impl FnOnce() -> Fate) -> Fate {
    if is_status(write) { keep() } else { Fate::Made }
}
