//! Reports about the DaemonSets of the cluster network: the operator is Progressing until all their pods are
//! available, and Degraded if a pod crash-loops or a rollout makes no progress (`StatusManager.SetFromPods`
//! of the cluster-network-operator).

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_controllers::Interest;
use windtunnel_core::clock::{Time, after, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{DAEMON_SETS, PODS};
use windtunnel_core::{Change, Object, View};

use super::health::{WELL, WELL_MESSAGE, WORKING_TOWARDS, target_in};
use super::unready_nodes::is_about_nodes;
use super::{NETWORK, Operator, PROGRESS_TIMEOUT, operands, reported_version};

/// The namespaces of the network's DaemonSets.
const NAMESPACES: [&str; 3] = ["openshift-multus", "openshift-ovn-kubernetes", "openshift-sdn"];
/// The DaemonSet that reports about nodes name.
const REPORTED_BY_NODES: &str = "multus";
/// The annotation of DaemonSets that the cluster can run without.
const NON_CRITICAL: &str = "networkoperator.openshift.io/non-critical";
/// How long it takes until the operator sees changes of DaemonSets and their pods. A program that runs for a moment
/// between two failures is not seen.
const SETTLING: SignedDuration = SignedDuration::from_secs(5);
/// The reasons by which the operator recognizes its own reports.
const DEPLOYING: &str = "Deploying";
const HUNG: &str = "RolloutHung";

/// The DaemonSets of an operator, and since when each status is the same.
#[derive(Debug, Clone)]
pub(super) struct DaemonSets {
    seen: BTreeMap<String, (Value, Time)>,
}

/// The report of an operator about its DaemonSets.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Why it is Progressing.
    progressing: Vec<String>,
    /// Why it is Degraded.
    hung: Vec<String>,
    /// When a rollout without progress is reported.
    recheck_at: Option<Time>,
}

impl DaemonSets {
    /// The DaemonSets of an operator that reports them.
    pub(super) fn of(cluster_operator: &str) -> Option<Self> {
        (cluster_operator == "network").then(|| Self { seen: BTreeMap::new() })
    }

    /// The objects that it watches.
    pub(super) fn interests() -> impl Iterator<Item = Interest> {
        let both = |namespace: &str| [DAEMON_SETS, PODS].map(|kind| Interest::In(kind, namespace.to_owned()));
        NAMESPACES.into_iter().flat_map(both)
    }

    /// Examines all DaemonSets.
    pub(super) fn examine(&mut self, view: &View, now: Time) -> Findings {
        let mut findings = Findings::default();
        for set in NAMESPACES.into_iter().flat_map(|namespace| view.list_in(&DAEMON_SETS, namespace)) {
            self.examine_one(set, view, now, &mut findings);
        }
        findings
    }

    fn examine_one(&mut self, set: &Object, view: &View, now: Time, findings: &mut Findings) {
        let name = format!("/{}/{}", set.namespace(), set.name());
        let missing = what_is_missing(set, &name).filter(|_| !is_reported_by_nodes(set, view));
        let Some(text) = missing else {
            self.seen.remove(&name);
            return;
        };
        findings.progressing.push(text);
        if set["metadata"]["annotations"].get(NON_CRITICAL).is_some() {
            return;
        }
        findings.hung.extend(crash_looping(set, view).map(|pod| {
            format!(
                "DaemonSet \"{name}\" rollout is not making progress - pod {pod} is in CrashLoopBackOff State"
            )
        }));
        let seen = self.seen.entry(name.clone()).or_insert_with(|| (set["status"].clone(), now));
        if seen.0 != set["status"] {
            *seen = (set["status"].clone(), now);
        }
        let late_at = after(seen.1, PROGRESS_TIMEOUT);
        if late_at < now {
            let since = rfc3339(seen.1);
            findings
                .hung
                .push(format!("DaemonSet \"{name}\" rollout is not making progress - last change {since}"));
        } else {
            let at = after(late_at, SignedDuration::from_secs(1));
            findings.recheck_at = Some(findings.recheck_at.map_or(at, |earlier| earlier.min(at)));
        }
    }
}

/// Whether the operator's report about nodes represents this DaemonSet: one of its own that only waits for pods to be
/// available, while no pod crash-loops. That report is in the name of one DaemonSet.
fn is_reported_by_nodes(set: &Object, view: &View) -> bool {
    let count = |field: &str| set["status"][field].as_i64().unwrap_or(0);
    let is_updated = count("updatedNumberScheduled") >= count("desiredNumberScheduled");
    operands::is_own_daemon_set(NETWORK, set)
        && (is_updated || set.name() == REPORTED_BY_NODES)
        && crash_looping(set, view).next().is_none()
}

/// Why the rollout of a DaemonSet is not complete. `None` if it is.
fn what_is_missing(set: &Object, name: &str) -> Option<String> {
    let count = |field: &str| set["status"][field].as_i64().unwrap_or(0);
    let (updated, wanted) = (count("updatedNumberScheduled"), count("desiredNumberScheduled"));
    let generation = set["metadata"]["generation"].as_i64().unwrap_or(0);
    let text = if updated < wanted {
        format!("update is rolling out ({updated} out of {wanted} updated)")
    } else if count("numberUnavailable") > 0 {
        format!("is not available (awaiting {} nodes)", count("numberUnavailable"))
    } else if count("numberAvailable") == 0 {
        "is not yet scheduled on any nodes".to_owned()
    } else if generation > count("observedGeneration") {
        let observed = count("observedGeneration");
        format!("update is being processed (generation {generation}, observed generation {observed})")
    } else {
        return None;
    };
    Some(format!("DaemonSet \"{name}\" {text}"))
}

/// The names of a DaemonSet's pods with a container that waits to be restarted.
fn crash_looping<'a>(set: &'a Object, view: &'a View) -> impl Iterator<Item = &'a str> {
    let labels = set["spec"]["selector"]["matchLabels"].as_object();
    let is_own = move |pod: &&Object| {
        let mut labels = labels.into_iter().flatten();
        labels.all(|(name, value)| pod.label(name) == value.as_str())
    };
    let loops = |pod: &&Object| {
        let states = ["/status/initContainerStatuses", "/status/containerStatuses"];
        let mut containers = states.into_iter().flat_map(|path| pod.list(path));
        containers.any(|container| container["state"]["waiting"]["reason"] == "CrashLoopBackOff")
    };
    view.list_in(&PODS, set.namespace()).filter(is_own).filter(loops).map(Object::name)
}

/// Whether a condition is a report about DaemonSets.
pub(super) fn is_own(condition: &Condition) -> bool {
    let reason = match condition.kind.as_str() {
        "Progressing" => DEPLOYING,
        "Degraded" => HUNG,
        _ => return false,
    };
    condition.reason == reason && !is_about_nodes(&condition.message)
}

impl Findings {
    /// Whether a DaemonSet is not available. The operator does not report another version then.
    pub(super) fn hold_back(&self) -> bool {
        !self.progressing.is_empty()
    }

    /// The new `Progressing` condition. `None` if it has another cause, so that it is kept.
    fn progressing(&self, object: &Value) -> Option<Condition> {
        let current = condition::find_in_status(object, "Progressing").map(Condition::from_value)?;
        let target = target_in(&current.message).filter(|_| current.status == "True");
        let text = self.progressing.join("\n");
        match (target, text.is_empty()) {
            (Some(target), false) => Some(Condition::new(
                "Progressing",
                "True",
                DEPLOYING,
                format!("{WORKING_TOWARDS}{target}: {text}"),
            )),
            (Some(target), true) if current.reason == DEPLOYING && !is_about_nodes(&current.message) => Some(
                Condition::new("Progressing", "True", "Progressing", format!("{WORKING_TOWARDS}{target}")),
            ),
            (None, false) => Some(Condition::new("Progressing", "True", DEPLOYING, text)),
            (None, true) if current.reason == DEPLOYING && !is_about_nodes(&current.message) => {
                let version = reported_version(object)?;
                Some(Condition::new("Progressing", "False", WELL, format!("Deployed {version}")))
            }
            _ => None,
        }
    }

    /// The new `Degraded` condition. `None` if it has another cause, so that it is kept.
    fn degraded(&self, object: &Value) -> Option<Condition> {
        let current = condition::find_in_status(object, "Degraded").map(Condition::from_value)?;
        let is_own_report = is_own(&current);
        if self.hung.is_empty() {
            return is_own_report.then(|| Condition::new("Degraded", "False", WELL, WELL_MESSAGE));
        }
        (is_own_report || current.status == "False")
            .then(|| Condition::new("Degraded", "True", HUNG, self.hung.join("\n")))
    }
}

impl Operator {
    /// Whether a change is of a DaemonSet that it reports, or of a pod in its namespaces.
    pub(super) fn is_of_daemon_sets(&self, change: &Change) -> bool {
        self.daemon_sets.is_some() && [DAEMON_SETS, PODS].iter().any(|kind| change.key.is_kind(kind))
    }

    /// Handles changes of DaemonSets and their pods.
    pub(super) fn notice_daemon_sets(&mut self, changes: &[Change], now: Time) {
        if changes.iter().any(|change| self.is_of_daemon_sets(change)) {
            self.recheck_at(Some(after(now, SETTLING)));
        }
    }

    /// Examines its DaemonSets.
    pub(super) fn examine_daemon_sets(&mut self, view: &View, now: Time) -> Findings {
        self.daemon_sets.as_mut().map_or_else(Findings::default, |sets| sets.examine(view, now))
    }

    /// Adds the report about DaemonSets to the new state `next` of its object. It changes only conditions that
    /// are free: no injected fault decides them.
    pub(super) fn report_daemon_sets(
        &mut self,
        findings: &Findings,
        object: &Object,
        next: Option<Value>,
        is_free: impl Fn(&str) -> bool,
        now: Time,
    ) -> Option<Value> {
        self.recheck_at(findings.recheck_at);
        let state = next.as_ref().unwrap_or(object);
        let found = [findings.progressing(state), findings.degraded(state)]
            .map(|found| found.filter(|condition| is_free(&condition.kind)));
        if found.iter().all(Option::is_none) {
            return next;
        }
        let mut value = next.unwrap_or_else(|| object.to_value());
        if let Some(list) = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            for condition in found.into_iter().flatten() {
                condition::set(list, &condition, now);
            }
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::ChangeKind;

    use super::*;

    fn put(view: &mut View, object: Value) {
        let resource = if object["kind"] == "Pod" { PODS } else { DAEMON_SETS };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let key = resource.key("openshift-ovn-kubernetes", name);
        view.apply(&Change { kind: ChangeKind::Modified, key, object: Object::new(object), old: None });
    }

    /// A DaemonSet on three nodes with this many updated and available pods.
    fn set(updated: i64, available: i64) -> Value {
        let namespace = "openshift-ovn-kubernetes";
        json!({
            "kind": "DaemonSet",
            "metadata": { "name": "ovnkube-node", "namespace": namespace, "generation": 2 },
            "spec": { "selector": { "matchLabels": { "app": "ovnkube-node" } } },
            "status": {
                "observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": updated,
                "numberAvailable": available, "numberUnavailable": 3 - available,
            },
        })
    }

    fn pod(state: &Value) -> Value {
        let metadata = json!({
            "name": "ovnkube-node-x", "namespace": "openshift-ovn-kubernetes", "labels": { "app": "ovnkube-node" },
        });
        json!({ "kind": "Pod", "metadata": metadata, "status": { "containerStatuses": [{ "state": state }] } })
    }

    fn operator(progressing: [&str; 3], degraded: [&str; 3]) -> Value {
        let condition = |kind: &str, [status, reason, message]: [&str; 3]| json!({ "type": kind, "status": status, "reason": reason, "message": message });
        json!({ "status": {
            "versions": [{ "name": "operator", "version": "4.18.3" }],
            "conditions": [condition("Progressing", progressing), condition("Degraded", degraded)],
        } })
    }

    fn text(condition: Option<Condition>) -> String {
        condition
            .map_or_else(String::new, |found| format!("{} {} {}", found.status, found.reason, found.message))
    }

    const AVAILABLE: &str =
        "DaemonSet \"/openshift-ovn-kubernetes/ovnkube-node\" is not available (awaiting 1 nodes)";

    fn at(seconds: i64) -> Time {
        Time::from_second(1_700_000_000 + seconds).unwrap()
    }

    #[test]
    fn names_pods_that_crash_loop_until_all_are_available() {
        let mut sets = DaemonSets::of("network").unwrap();
        let mut view = View::default();
        let well = operator(["False", WELL, "Deployed 4.18.3"], ["False", WELL, ""]);
        put(&mut view, set(3, 2));
        put(&mut view, pod(&json!({ "waiting": { "reason": "CrashLoopBackOff" } })));
        let found = sets.examine(&view, at(0));
        assert!(found.hold_back());
        assert_eq!(text(found.progressing(&well)), format!("True Deploying {AVAILABLE}"));
        let hung = "DaemonSet \"/openshift-ovn-kubernetes/ovnkube-node\" rollout is not making progress - pod \
                    ovnkube-node-x is in CrashLoopBackOff State";
        assert_eq!(text(found.degraded(&well)), format!("True RolloutHung {hung}"));
        // During a rollout the target stays in the message.
        let working = operator(["True", "Progressing", "Working towards 4.18.7"], ["False", WELL, ""]);
        let message = format!("True Deploying Working towards 4.18.7: {AVAILABLE}");
        assert_eq!(text(found.progressing(&working)), message);

        put(&mut view, set(3, 3));
        let found = sets.examine(&view, at(60));
        assert!(!found.hold_back());
        let deploying = operator(["True", "Deploying", AVAILABLE], ["True", "RolloutHung", hung]);
        assert_eq!(text(found.progressing(&deploying)), "False AsExpected Deployed 4.18.3");
        assert_eq!(text(found.degraded(&deploying)), "False AsExpected All is well");
        let deploying = operator(["True", "Deploying", "Working towards 4.18.7: x"], ["False", WELL, ""]);
        assert_eq!(text(found.progressing(&deploying)), "True Progressing Working towards 4.18.7");
        assert_eq!(text(found.progressing(&well)) + &text(found.degraded(&well)), "", "nothing to change");
        // Conditions that another client set are kept.
        let other = operator(
            ["True", "Deploying", "DaemonSet \"/openshift-multus/multus\" x"],
            ["True", "Other", ""],
        );
        assert_eq!(text(found.progressing(&other)) + &text(found.degraded(&other)), "");
    }

    #[test]
    fn reports_a_rollout_without_progress_after_ten_minutes() {
        let mut sets = DaemonSets::of("network").unwrap();
        let mut view = View::default();
        put(&mut view, set(1, 2));
        let found = sets.examine(&view, at(0));
        let rolling =
            "DaemonSet \"/openshift-ovn-kubernetes/ovnkube-node\" update is rolling out (1 out of 3 updated)";
        assert_eq!((found.progressing, found.hung), (vec![rolling.to_owned()], Vec::new()));
        assert_eq!(found.recheck_at, Some(at(601)));
        put(&mut view, set(2, 2));
        assert!(sets.examine(&view, at(300)).hung.is_empty());
        assert!(sets.examine(&view, at(900)).hung.is_empty(), "it changed after 300 seconds");
        let hung = "DaemonSet \"/openshift-ovn-kubernetes/ovnkube-node\" rollout is not making progress - last change \
                    2023-11-14T22:18:20Z";
        assert_eq!(sets.examine(&view, at(901)).hung, [hung]);
        let mut uncritical = set(2, 2);
        uncritical["metadata"]["annotations"] = json!({ NON_CRITICAL: "" });
        put(&mut view, uncritical);
        let found = sets.examine(&view, at(2_000));
        assert!(found.hold_back() && found.hung.is_empty());
    }
}
