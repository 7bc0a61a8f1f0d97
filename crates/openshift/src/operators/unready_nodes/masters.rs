//! Reports about unready control-plane nodes: an operator with pods on them is Degraded. Operators of static
//! pods list the nodes (library-go's `NodeController`). Operators of Deployments count the missing pods (its
//! workload controller). A node that reboots is usually back before the report.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, ChangeKind, Object, View};

use crate::control_plane::{is_master, masters};
use crate::operators::health::{WELL, WELL_MESSAGE};
use crate::operators::static_pods::Operand;

/// How long a node must be unready before it is reported.
const INERTIA: SignedDuration = SignedDuration::from_mins(2);

/// The pods on each control-plane node.
#[derive(Debug, Clone, Copy)]
enum Runs {
    StaticPod(&'static Operand),
    /// A pod of this Deployment (name and namespace).
    Deployment(&'static str),
}

/// The reasons of reports about nodes and about static pods. A report can have both.
const NODES_NOT_READY: &str = "NodeController_MasterNodesReady";
const STATIC_PODS_FAIL: &str = "StaticPods_Error";
const PODS_MISSING: &str = "APIServerDeployment_UnavailablePod";

/// The state of an operator's report about control-plane nodes.
#[derive(Debug, Clone)]
pub(super) struct Masters {
    runs: Runs,
    /// Since when any control-plane node has been unready.
    away_since: Option<Time>,
    /// Since when any static pod has failed.
    failing_since: Option<Time>,
}

impl Masters {
    /// The state for an operator with pods on all control-plane nodes.
    pub(super) fn of(cluster_operator: &str) -> Option<Self> {
        let runs = match cluster_operator {
            "openshift-apiserver" => Runs::Deployment("apiserver.openshift-apiserver"),
            "authentication" => Runs::Deployment("apiserver.openshift-oauth-apiserver"),
            _ => Runs::StaticPod(Operand::of(cluster_operator)?),
        };
        Some(Self { runs, away_since: None, failing_since: None })
    }

    /// Whether a condition is its report about nodes or static pods.
    pub(super) fn is_own(&self, condition: &Condition) -> bool {
        let own: &[&str] = match self.runs {
            Runs::StaticPod(_) => &[NODES_NOT_READY, STATIC_PODS_FAIL],
            Runs::Deployment(_) => &[PODS_MISSING],
        };
        condition.kind == "Degraded" && condition.reason.split("::").all(|reason| own.contains(&reason))
    }

    /// Returns whether any of these changes can change the report.
    pub(super) fn are_touched(changes: &[Change]) -> bool {
        let is_ready = |node: &Object| condition::is_true(node, "Ready");
        let touches = |change: &Change| {
            let old = change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified);
            let is_same = old.is_some_and(|old| is_ready(old) && is_ready(&change.object));
            is_master(&change.object) && !is_same
        };
        changes.iter().any(|change| change.key.is_kind(&NODES) && touches(change))
    }

    /// The new `Degraded` condition, and the time of the next check. `None` if it has another cause, so that
    /// it is kept.
    pub(super) fn judge(
        &mut self,
        current: Option<&Condition>,
        view: &View,
        now: Time,
    ) -> (Option<Condition>, Option<Time>) {
        let nodes = masters(view);
        let (ready, away): (Vec<&Object>, Vec<&Object>) =
            nodes.iter().partition(|node| condition::is_true(node, "Ready"));
        // With all control-plane nodes unready, the operator cannot run either.
        if !away.is_empty() && ready.is_empty() {
            return (None, None);
        }
        let failures = match self.runs {
            Runs::StaticPod(operand) => operand.failures(&nodes, view),
            Runs::Deployment(_) => Vec::new(),
        };
        let (of_nodes, text) = self.about_nodes(&away, nodes.len());
        let found = [
            (of_nodes, text, &mut self.away_since),
            (STATIC_PODS_FAIL, failures_text(&failures), &mut self.failing_since),
        ];
        let (mut reports, mut since) = (Vec::new(), None);
        for (reason, text, began) in found {
            *began = text.is_some().then(|| began.unwrap_or(now));
            since = [since, *began].into_iter().flatten().min();
            reports.extend(text.map(|text| (reason, text)));
        }
        let is_own = current.is_some_and(|current| self.is_own(current));
        // A restarted operator keeps its earlier report.
        match since.map(|since| after(since, INERTIA)).filter(|at| *at > now && !is_own) {
            Some(reported_at) => (None, Some(reported_at)),
            None => (condition_of(&reports, is_own, current), None),
        }
    }

    /// The reason and the message about unready nodes; no message if all are ready.
    fn about_nodes(&self, away: &[&Object], all: usize) -> (&'static str, Option<String>) {
        let (reason, message) = match self.runs {
            Runs::StaticPod(_) => {
                let texts: Vec<String> = away.iter().map(|&node| away_text(node)).collect();
                let text =
                    format!("NodeControllerDegraded: The master nodes not ready: {}", texts.join(", "));
                (NODES_NOT_READY, text)
            }
            Runs::Deployment(name) => {
                let missing = away.len();
                let text = format!(
                    "APIServerDeploymentDegraded: {missing} of {all} requested instances are unavailable for {name} ()"
                );
                (PODS_MISSING, text)
            }
        };
        (reason, (!away.is_empty()).then_some(message))
    }
}

/// The condition with these reports; `None` to keep the current one.
fn condition_of(reports: &[(&str, String)], is_own: bool, current: Option<&Condition>) -> Option<Condition> {
    if reports.is_empty() {
        return is_own.then(|| Condition::new("Degraded", "False", WELL, WELL_MESSAGE));
    }
    let is_free = current.is_none_or(|current| current.status == "False" || is_own);
    let (reasons, texts): (Vec<&str>, Vec<&str>) =
        reports.iter().map(|(reason, text)| (*reason, text.as_str())).unzip();
    is_free.then(|| Condition::new("Degraded", "True", &reasons.join("::"), texts.join("\n")))
}

/// The message about failing static pods; `None` if there are none.
fn failures_text(failures: &[String]) -> Option<String> {
    let lines: Vec<String> = failures.iter().map(|text| format!("StaticPodsDegraded: {text}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The message about one unready node.
fn away_text(node: &Object) -> String {
    let ready = condition::find_in_status(node, "Ready");
    let field = |name: &str| ready.and_then(|ready| ready[name].as_str()).unwrap_or_default();
    let since = field("lastTransitionTime").trim_end_matches('Z').replace('T', " ");
    format!(
        "node \"{}\" not ready since {since} +0000 UTC because {} ({})",
        node.name(),
        field("reason"),
        field("message")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::Key;
    use windtunnel_core::resources::PODS;

    use super::*;
    use crate::control_plane::MASTER_LABEL;

    fn put(view: &mut View, key: Key, object: Value) {
        view.apply(&Change { kind: ChangeKind::Modified, key, object: Object::new(object), old: None });
    }

    fn put_node(view: &mut View, name: &str, ready: &str) {
        let metadata = json!({ "name": name, "labels": { (MASTER_LABEL): "" } });
        let condition = json!({ "type": "Ready", "status": ready, "reason": "R", "message": "m", "lastTransitionTime": "2024-01-01T00:00:00Z" });
        put(
            view,
            NODES.key("", name),
            json!({ "metadata": metadata, "status": { "conditions": [condition] } }),
        );
    }

    fn put_pod(view: &mut View, state: &Value) {
        let status = json!({ "containerStatuses": [{ "name": "etcd", "state": state }] });
        let pod = json!({ "metadata": { "name": "etcd-a" }, "status": status });
        put(view, PODS.key("openshift-etcd", "etcd-a"), pod);
    }

    #[test]
    fn failing_static_pods_degrade_their_operator_after_two_minutes() {
        let mut view = View::default();
        put_node(&mut view, "a", "True");
        put_node(&mut view, "b", "True");
        put_pod(&mut view, &json!({ "waiting": { "reason": "ContainerCreating" } }));
        let mut masters = Masters::of("etcd").unwrap();
        let well = Condition::new("Degraded", "False", WELL, WELL_MESSAGE);
        let at = |seconds: i64| Time::from_second(1_700_000_000 + seconds).unwrap();
        assert_eq!(masters.judge(Some(&well), &view, at(0)), (None, None));
        put_pod(
            &mut view,
            &json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 10s" } }),
        );
        assert_eq!(masters.judge(Some(&well), &view, at(10)), (None, Some(at(130))));
        let judged = masters.judge(Some(&well), &view, at(130)).0.unwrap();
        let text =
            "StaticPodsDegraded: pod/etcd-a container \"etcd\" is waiting: CrashLoopBackOff: back-off 10s";
        assert_eq!((judged.reason.as_str(), judged.message.as_str()), ("StaticPods_Error", text));
        put_node(&mut view, "b", "Unknown");
        let both = masters.judge(Some(&judged), &view, at(140)).0.unwrap();
        assert_eq!(both.reason, "NodeController_MasterNodesReady::StaticPods_Error");
        assert!(both.message.starts_with("NodeControllerDegraded: The master nodes not ready: node \"b\""));
        assert!(both.message.ends_with(text) && masters.is_own(&both), "{}", both.message);
        put_node(&mut view, "b", "True");
        put_pod(&mut view, &json!({ "running": {} }));
        assert_eq!(masters.judge(Some(&both), &view, at(150)).0, Some(well));
    }
}
