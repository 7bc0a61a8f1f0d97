//! What operators of programs on the control plane say of its nodes that are away: a program with a node less is degraded. Those of
//! static pods name the node (library-go's `NodeController`), those of Deployments count the pods that are missing (its workload
//! controller). A node that reboots is mostly back before anybody is told.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, ChangeKind, Object, View};

use crate::mco::{control_plane, is_master};
use crate::operators::health::{WELL, WELL_MESSAGE};
use crate::operators::static_pods::Operand;

/// How long nodes may be away before it is told.
const INERTIA: SignedDuration = SignedDuration::from_mins(2);

/// What runs on each node of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    StaticPod,
    /// A pod of this Deployment (name and namespace).
    Deployment(&'static str),
}

/// What an operator remembers of the control-plane nodes.
#[derive(Debug, Clone)]
pub(super) struct Masters {
    runs: Runs,
    /// Since when one of them has been away, whichever.
    away_since: Option<Time>,
}

impl Masters {
    /// Those of an operator whose program runs on all of them.
    pub(super) fn of(cluster_operator: &str) -> Option<Self> {
        let runs = match cluster_operator {
            "openshift-apiserver" => Runs::Deployment("apiserver.openshift-apiserver"),
            "authentication" => Runs::Deployment("apiserver.openshift-oauth-apiserver"),
            _ => Operand::of(cluster_operator).map(|_| Runs::StaticPod)?,
        };
        Some(Self { runs, away_since: None })
    }

    /// The reason by which an operator knows again what it said of its nodes.
    fn reason(&self) -> &'static str {
        match self.runs {
            Runs::StaticPod => "NodeController_MasterNodesReady",
            Runs::Deployment(_) => "APIServerDeployment_UnavailablePod",
        }
    }

    /// Whether any of these changes may lead to something else to be said.
    pub(super) fn are_touched(changes: &[Change]) -> bool {
        let is_ready = |node: &Object| condition::is_true(node, "Ready");
        let touches = |change: &Change| {
            let old = change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified);
            let is_same = old.is_some_and(|old| is_ready(old) && is_ready(&change.object));
            is_master(&change.object) && !is_same
        };
        changes.iter().any(|change| change.key.is(&NODES) && touches(change))
    }

    /// What to say now in `Degraded`, and when there may be more to say. It is left to others where somebody else says that something
    /// is wrong.
    pub(super) fn judge(
        &mut self,
        said: Option<&Condition>,
        view: &View,
        now: Time,
    ) -> (Option<Condition>, Option<Time>) {
        let nodes = control_plane(view);
        let (ready, away): (Vec<&Object>, Vec<&Object>) =
            nodes.into_iter().partition(|node| condition::is_true(node, "Ready"));
        // Where no node is left, nobody is there to tell.
        if !away.is_empty() && ready.is_empty() {
            return (None, None);
        }
        let is_own = said.is_some_and(|said| said.reason == self.reason());
        if away.is_empty() {
            self.away_since = None;
            return (is_own.then(|| Condition::new("Degraded", "False", WELL, WELL_MESSAGE)), None);
        }
        // One that has just been started goes on with what it said before.
        let since = *self.away_since.get_or_insert(now);
        let told_at = after(since, INERTIA);
        if told_at > now && !is_own {
            return (None, Some(told_at));
        }
        let is_free = said.is_none_or(|said| said.status == "False" || is_own);
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

/// What is said of one node that is away.
fn away_text(node: &Object) -> String {
    let ready = condition::of(node, "Ready");
    let field = |name: &str| ready.and_then(|ready| ready[name].as_str()).unwrap_or_default();
    let since = field("lastTransitionTime").trim_end_matches('Z').replace('T', " ");
    format!(
        "node \"{}\" not ready since {since} +0000 UTC because {} ({})",
        node.name(),
        field("reason"),
        field("message")
    )
}
