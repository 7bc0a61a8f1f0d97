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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    StaticPod,
    /// A pod of this Deployment (name and namespace).
    Deployment(&'static str),
}

/// The state of an operator's report about control-plane nodes.
#[derive(Debug, Clone)]
pub(super) struct Masters {
    runs: Runs,
    /// Since when any control-plane node has been unready.
    away_since: Option<Time>,
}

impl Masters {
    /// The state for an operator with pods on all control-plane nodes.
    pub(super) fn of(cluster_operator: &str) -> Option<Self> {
        let runs = match cluster_operator {
            "openshift-apiserver" => Runs::Deployment("apiserver.openshift-apiserver"),
            "authentication" => Runs::Deployment("apiserver.openshift-oauth-apiserver"),
            _ => Operand::of(cluster_operator).map(|_| Runs::StaticPod)?,
        };
        Some(Self { runs, away_since: None })
    }

    /// The reason by which an operator recognizes its own report about nodes.
    fn reason(&self) -> &'static str {
        match self.runs {
            Runs::StaticPod => "NodeController_MasterNodesReady",
            Runs::Deployment(_) => "APIServerDeployment_UnavailablePod",
        }
    }

    /// Whether a condition is its report about nodes.
    pub(super) fn is_own(&self, condition: &Condition) -> bool {
        condition.kind == "Degraded" && condition.reason == self.reason()
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
            nodes.into_iter().partition(|node| condition::is_true(node, "Ready"));
        // With all control-plane nodes unready, the operator cannot run either.
        if !away.is_empty() && ready.is_empty() {
            return (None, None);
        }
        let is_own = current.is_some_and(|current| self.is_own(current));
        if away.is_empty() {
            self.away_since = None;
            return (is_own.then(|| Condition::new("Degraded", "False", WELL, WELL_MESSAGE)), None);
        }
        // A restarted operator keeps its earlier report.
        let since = *self.away_since.get_or_insert(now);
        let reported_at = after(since, INERTIA);
        if reported_at > now && !is_own {
            return (None, Some(reported_at));
        }
        let is_free = current.is_none_or(|current| current.status == "False" || is_own);
        (is_free.then(|| self.degraded(&away, away.len() + ready.len())), None)
    }

    fn degraded(&self, away: &[&Object], all: usize) -> Condition {
        let message = match self.runs {
            Runs::StaticPod => {
                let texts: Vec<String> = away.iter().map(|&node| away_text(node)).collect();
                format!("NodeControllerDegraded: The master nodes not ready: {}", texts.join(", "))
            }
            Runs::Deployment(name) => format!(
                "APIServerDeploymentDegraded: {} of {all} requested instances are unavailable for {name} ()",
                away.len()
            ),
        };
        Condition::new("Degraded", "True", self.reason(), message)
    }
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
