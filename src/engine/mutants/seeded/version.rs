//! Mutants of the cluster-version operator.

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;
use windtunnel_core::resources::{CLUSTER_VERSIONS, DEPLOYMENTS, JOBS, MACHINE_CONFIG_POOLS, PODS};
use windtunnel_core::{Write, condition, text_of};

use super::writes::{changed, is, keeps_condition, new_status, skipped_if, touch, value};
use super::{Fate, Scene, SeededMutant, SeededMutantKind};

const NAME: &str = "cluster-version-operator";
const NAMESPACE: &str = "openshift-cluster-version";

pub(super) const MUTANTS: &[SeededMutant] = &[
    SeededMutant {
        name: "status-frozen-by-retrieval",
        component: NAME,
        bug: "OCPBUGS-7714",
        text: "the status of ClusterVersion is not written while a payload is retrieved, nor afterwards",
        kind: SeededMutantKind::Writes(|write, scene| {
            let jobs = scene.view.list_in(&JOBS, NAMESPACE);
            let mut retrievals = jobs.chain(scene.view.list_in(&PODS, NAMESPACE));
            skipped_if(is_status(write) && retrievals.any(|object| object.name().starts_with("version-")))
        }),
    },
    SeededMutant {
        name: "failing-lingers",
        component: NAME,
        bug: "OCPBUGS-7419",
        text: "Failing=True stays after its cause is gone",
        kind: SeededMutantKind::Writes(|write, scene| keeps(write, scene, "Failing", "True")),
    },
    SeededMutant {
        name: "slow-operator-lingers",
        component: NAME,
        bug: "OCPBUGS-23514",
        text: "Failing=Unknown of a slow operator stays after the operator is done",
        kind: SeededMutantKind::Writes(|write, scene| keeps(write, scene, "Failing", "Unknown")),
    },
    SeededMutant {
        name: "progressing-lingers",
        component: NAME,
        bug: "class: condition not reset",
        text: "Progressing=True stays at the end of an update",
        kind: SeededMutantKind::Writes(|write, scene| keeps(write, scene, "Progressing", "True")),
    },
    SeededMutant {
        name: "completed-before-masters",
        component: NAME,
        bug: "origin: errMasterUpdating",
        text: "the history has the release as Completed while the pool master still updates",
        kind: SeededMutantKind::Writes(completed_before_masters),
    },
    SeededMutant {
        name: "history-appended",
        component: NAME,
        bug: "class: history in the wrong order",
        text: "a new history entry is the last one instead of the first",
        kind: SeededMutantKind::Writes(history_appended),
    },
    SeededMutant {
        name: "completed-entry-rewritten",
        component: NAME,
        bug: "class: history rewritten",
        text: "each status write sets the completion time of the release before again",
        kind: SeededMutantKind::Writes(|write, scene| {
            let is_completed = value(write, "/status/history/1/state") == Some(&json!("Completed"));
            if !is_status(write) || !is_completed {
                return Fate::Made;
            }
            changed(write, |body| body["status"]["history"][1]["completionTime"] = json!(rfc3339(scene.now)))
        }),
    },
    SeededMutant {
        name: "desired-empty-after-restart",
        component: NAME,
        bug: "OCPBUGS-35228",
        text: "status.desired is the oldest release of the history for a minute after a restart",
        kind: SeededMutantKind::Writes(desired_after_restart),
    },
    SeededMutant {
        name: "deployment-hot-loop",
        component: NAME,
        bug: "OCPBUGS-2592",
        text: "a Deployment of the payload is updated with each renewal of the Lease",
        kind: SeededMutantKind::Writes(|write, scene| {
            let deployment = scene.view.get(&DEPLOYMENTS, NAMESPACE, NAME);
            match deployment.filter(|_| is(write, "update", "Lease", "")) {
                Some(deployment) => {
                    Fate::Followed(vec![touch(deployment, &DEPLOYMENTS, &rfc3339(scene.now))])
                }
                None => Fate::Made,
            }
        }),
    },
    SeededMutant {
        name: "exit-on-feature-gates",
        component: NAME,
        bug: "OCPBUGS-13873",
        text: "the process exits when it reports feature gates that block updates",
        kind: SeededMutantKind::Writes(|write, _| {
            let is_about = is_status(write) && value(write, "/status").is_some_and(mentions_feature_gates);
            if is_about { Fate::Panics } else { Fate::Made }
        }),
    },
    SeededMutant {
        name: "generation-ahead",
        component: NAME,
        bug: "class: observedGeneration of a cached object",
        text: "observedGeneration is one more than the generation after a request",
        kind: SeededMutantKind::Writes(|write, _| {
            let generation = value(write, "/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
            if !is_status(write) || generation < 2 {
                return Fate::Made;
            }
            changed(write, |body| body["status"]["observedGeneration"] = json!(generation + 1))
        }),
    },
    SeededMutant {
        name: "rejected-release-is-target",
        component: NAME,
        bug: "OCPBUGS-78061",
        text: "a release that was not accepted becomes status.desired",
        kind: SeededMutantKind::Writes(rejected_release_is_target),
    },
    SeededMutant {
        name: "conflict-taken-for-success",
        component: NAME,
        bug: "class: conflict not retried",
        text: "a status write that failed with a conflict counts as made",
        kind: SeededMutantKind::Misreads(|write, rejection| is_status(write) && rejection.code == 409),
    },
    SeededMutant {
        name: "sigterm-ignored",
        component: NAME,
        bug: "class: lost signal",
        text: "the process does not end when its pod is terminated",
        kind: SeededMutantKind::Deaf(|signal| *signal == windtunnel_controllers::Signal::Terminate),
    },
    SeededMutant {
        name: "update-not-noticed",
        component: NAME,
        bug: "class: missing requeue",
        text: "the process sleeps forever once it has applied a payload",
        kind: SeededMutantKind::Wakes(|step, _| step.why.is_empty().then_some(None)),
    },
];

fn is_status(write: &Write) -> bool {
    is(write, "update", "ClusterVersion", "status")
}

fn keeps(write: &Write, scene: &Scene<'_>, kind: &str, status: &str) -> Fate {
    if is_status(write) { keeps_condition(write, scene.view, kind, status) } else { Fate::Made }
}

fn completed_before_masters(write: &Write, scene: &Scene<'_>) -> Fate {
    let master = scene.view.get(&MACHINE_CONFIG_POOLS, "", "master");
    let updates = master.is_some_and(|pool| condition::is_true(pool, "Updating"));
    let is_partial = value(write, "/status/history/0/state") == Some(&json!("Partial"));
    if !(is_status(write) && updates && is_partial) {
        return Fate::Made;
    }
    changed(write, |body| {
        body["status"]["history"][0]["state"] = json!("Completed");
        body["status"]["history"][0]["completionTime"] = json!(rfc3339(scene.now));
    })
}

fn history_appended(write: &Write, scene: &Scene<'_>) -> Fate {
    let known = scene
        .view
        .get(&CLUSTER_VERSIONS, "", "version")
        .map_or(0, |version| version.list("/status/history").len());
    if !is_status(write) {
        return Fate::Made;
    }
    changed(write, |body| {
        let history = body.pointer_mut("/status/history").and_then(Value::as_array_mut);
        if let Some(history) = history.filter(|history| history.len() > known) {
            history.rotate_left(1);
        }
    })
}

fn desired_after_restart(write: &Write, scene: &Scene<'_>) -> Fate {
    let mut pods = scene.view.list_in(&PODS, NAMESPACE).filter(|pod| pod.label("k8s-app") == Some(NAME));
    let is_young = pods.any(|pod| {
        pod.time("/status/startTime").is_some_and(|start| scene.now.duration_since(start).as_secs() < 60)
    });
    let history = value(write, "/status/history").and_then(Value::as_array);
    let oldest = history.and_then(|history| history.last()).filter(|_| is_young && is_status(write));
    let Some(oldest) = oldest.cloned() else { return Fate::Made };
    changed(write, |body| {
        body["status"]["desired"]["version"] = oldest["version"].clone();
        body["status"]["desired"]["image"] = oldest["image"].clone();
    })
}

fn rejected_release_is_target(write: &Write, scene: &Scene<'_>) -> Fate {
    let version = scene.view.get(&CLUSTER_VERSIONS, "", "version");
    let wanted = version.map_or("", |version| version.text("/spec/desiredUpdate/version"));
    if !is_status(write) || wanted.is_empty() || new_status(write, "ReleaseAccepted") != "False" {
        return Fate::Made;
    }
    changed(write, |body| body["status"]["desired"]["version"] = json!(wanted))
}

fn mentions_feature_gates(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| text_of(condition, "reason").contains("FeatureGates"))
}
