//! Evictions, and the pods that drains leave alone.

use serde_json::Value;
use windtunnel_core::pod::MIRROR;
use windtunnel_core::resources::{POD_DISRUPTION_BUDGETS, PODS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Object, View, condition};

use super::rule::{ObjectFinding, Rule, Scene};
use crate::record::WriteEvent;

/// The part of the machine-config controller that drains nodes.
const DRAIN: &str = "machine-config-controller/drain";

/// The rule about evictions.
pub(super) struct Budget;

impl Rule for Budget {
    fn id(&self) -> String {
        "budget".to_owned()
    }

    fn before(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if !write.key.is_kind(&PODS) || write.code >= 400 {
            return None;
        }
        let pod = scene.view.get_key(&write.key)?;
        let how = match (&*write.verb, &*write.subresource) {
            ("delete", "") if write.by == DRAIN => {
                Some("a drain deletes it instead of evicting it".to_owned())
            }
            (_, "eviction") if write.by == DRAIN && stays(pod) => {
                Some("a drain evicts it, but pods of DaemonSets and static pods stay".to_owned())
            }
            (_, "eviction") => forbidding(pod, scene.view).map(|budget| {
                format!("is evicted, but PodDisruptionBudget {} allows no disruption", budget.name())
            }),
            _ => None,
        };
        Some(ObjectFinding::by(write, how?))
    }
}

/// Whether a drain leaves a pod on its node (`mirrorPodFilter` and `daemonSetFilter` of `k8s.io/kubectl/pkg/drain`).
pub(super) fn stays(pod: &Object) -> bool {
    let is_of_daemon_set = |owner: &Value| owner["controller"] == true && owner["kind"] == "DaemonSet";
    pod.annotation(MIRROR).is_some() || pod.list("/metadata/ownerReferences").iter().any(is_of_daemon_set)
}

/// Returns the budget that allows no eviction of a pod (`EvictionREST.Create`). Pods that do not run may always be evicted, and
/// unready ones by policy.
fn forbidding<'v>(pod: &Object, view: &'v View) -> Option<&'v Object> {
    let is_over = ["Succeeded", "Failed", "Pending"].contains(&pod.text("/status/phase"));
    if is_over || pod.is_terminating() {
        return None;
    }
    let is_ready = condition::is_true(pod, "Ready");
    view.list_in(&POD_DISRUPTION_BUDGETS, pod.namespace()).find(|budget| {
        let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
        let policy = budget.text("/spec/unhealthyPodEvictionPolicy");
        let is_allowed =
            !is_ready && (policy == "AlwaysAllow" || count("currentHealthy") >= count("desiredHealthy"));
        let selects = selector_matches(&budget["spec"]["selector"], &pod["metadata"]["labels"]);
        selects && !is_allowed && budget.number("/status/disruptionsAllowed") == Some(0)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::oracles::testing::Story;

    fn pod() -> Value {
        json!({
            "metadata": { "namespace": "n", "name": "p", "labels": { "app": "web" } },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        })
    }

    fn story(allowed: i64, pod: &Value) -> Story {
        let budget = json!({
            "metadata": { "namespace": "n", "name": "b" },
            "spec": { "selector": { "matchLabels": { "app": "web" } } },
            "status": { "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1 },
        });
        Story::new().write(-1, "installer", &POD_DISRUPTION_BUDGETS, budget).write(
            -1,
            "installer",
            &PODS,
            pod.clone(),
        )
    }

    #[test]
    fn no_pod_is_evicted_against_its_budget() {
        assert!(story(1, &pod()).evict(1, DRAIN, &pod()).findings("budget").is_empty());
        assert_eq!(
            story(0, &pod()).evict(1, DRAIN, &pod()).findings("budget"),
            ["Pod/n/p: is evicted, but PodDisruptionBudget b allows no disruption"]
        );
        let mut unready = pod();
        unready["status"]["conditions"][0]["status"] = json!("False");
        assert!(story(0, &unready).evict(1, DRAIN, &unready).findings("budget").is_empty());
    }

    #[test]
    fn drains_evict_and_leave_daemons_alone() {
        assert_eq!(
            story(1, &pod()).delete(1, DRAIN, &PODS, &pod()).findings("budget"),
            ["Pod/n/p: a drain deletes it instead of evicting it"]
        );
        assert!(story(1, &pod()).delete(1, "kubelet/n", &PODS, &pod()).findings("budget").is_empty());
        let mut daemon = pod();
        daemon["metadata"]["ownerReferences"] = json!([{ "kind": "DaemonSet", "controller": true }]);
        assert_eq!(
            story(1, &daemon).evict(1, DRAIN, &daemon).findings("budget"),
            ["Pod/n/p: a drain evicts it, but pods of DaemonSets and static pods stay"]
        );
    }
}
