//! Oracles of records: rules that the cluster of every record keeps, be it simulated or real.
//!
//! [`judge`] gives the entries of a record to all rules, in order. A rule keeps what it must remember between entries, and sees
//! the cluster before and after each write. When nothing has changed for some minutes in a cluster that has converged,
//! and no fault is near, it also sees that quiet cluster.

mod budget;
mod calm;
mod changes;
mod conditions;
mod convergence;
mod deletions;
mod drain;
mod garbage;
mod generations;
mod history;
mod insights;
mod invariants;
mod leader;
mod machine_configs;
mod max_unavailable;
mod normal;
mod operators;
mod ownership;
mod pools;
mod processes;
mod replay;
mod rights;
mod rule;
mod settled;
#[cfg(test)]
mod testing;
mod version;

pub use changes::changed_path;
pub use convergence::{Subject, Unmet, has_converged, is_refused, unmet};
pub use normal::normalise;
pub use pools::pool_of;
pub use replay::{Ending, judge};
pub use rule::RuleFinding;

use crate::plan::Invariant;

/// A rule with its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oracle {
    /// The id.
    pub id: &'static str,
    /// The rule in one sentence.
    pub rule: &'static str,
    /// The component, the API or the test of Kubernetes or OpenShift that the rule is from.
    pub source: &'static str,
}

/// The oracles of records besides the invariants, whose ids are `invariant/NAME`.
pub const ORACLES: [Oracle; 15] = [
    Oracle {
        id: "rbac",
        rule: "No request of a component is refused because no role allows it.",
        source: "the RBAC authorizer of Kubernetes",
    },
    Oracle {
        id: "history",
        rule: "The history of ClusterVersion is in the order of time, and its completed entries do not change.",
        source: "UpdateHistory in the API of ClusterVersion",
    },
    Oracle {
        id: "conditions",
        rule: "A condition's lastTransitionTime changes exactly when its status does, and is never in the future.",
        source: "meta/v1 Condition and the API of ClusterOperator",
    },
    Oracle {
        id: "generations",
        rule: "No status has an observedGeneration above the generation of its object.",
        source: "the API conventions of Kubernetes",
    },
    Oracle {
        id: "max-unavailable",
        rule: "No node gets another MachineConfig while maxUnavailable nodes of its pool are unavailable, or its pool is paused.",
        source: "getAllCandidateMachines of the machine-config controller",
    },
    Oracle {
        id: "budget",
        rule: "No eviction succeeds against a PodDisruptionBudget, and drains neither delete pods nor evict those of DaemonSets and static pods.",
        source: "the eviction API, and kubectl's drain helper in the machine-config controller",
    },
    Oracle {
        id: "drain",
        rule: "A node that is reported as drained is cordoned, and only pods of DaemonSets and static pods are left on it.",
        source: "the drain controller of the machine-config controller",
    },
    Oracle {
        id: "ownership",
        rule: "Each status has one owner: no component writes the status of another component's object, and daemons of machines change only their own nodes.",
        source: "the API conventions of Kubernetes; the node writer of the machine-config daemon",
    },
    Oracle {
        id: "garbage",
        rule: "No object is left in a quiet cluster whose owners are all deleted.",
        source: "the garbage collector of Kubernetes",
    },
    Oracle {
        id: "deletions",
        rule: "Controllers delete only what they are there for: objects without owners, pods on tainted nodes, pods of their workloads.",
        source: "attemptToDeleteItem of the garbage collector, processPodOnNode of the taint eviction controller, PodControllerRefManager",
    },
    Oracle {
        id: "processes",
        rule: "In a quiet cluster no container is reported as running whose program has ended.",
        source: "the pod lifecycle event generator of the kubelet",
    },
    Oracle {
        id: "leader",
        rule: "A Lease changes hands only after it was released or has expired, only its holder writes, and a holder that is terminated releases it.",
        source: "leaderelection of client-go; ReleaseOnCancel in pkg/start of the cluster-version operator",
    },
    Oracle {
        id: "operator-contract",
        rule: "Operators report rollouts with Progressing=True, stay available, and ClusterVersion has the documented combinations of conditions.",
        source: "the monitor tests clusterversionoperator of openshift/origin",
    },
    Oracle {
        id: "settled",
        rule: "In a quiet cluster the objects agree: releases, MachineConfigs, counts of machines, generations, replicas and alerts.",
        source: "the status of ClusterVersion, ClusterOperator, MachineConfigPool, Node, Deployment and DaemonSet",
    },
    Oracle {
        id: "insights",
        rule: "In a quiet cluster the insights agree with the objects.",
        source: "the update status controller",
    },
];

/// Returns the ids of all rules, those of invariants first.
pub fn ids() -> Vec<String> {
    let invariants = Invariant::ALL.iter().map(|invariant| invariant_id(*invariant));
    invariants.chain(ORACLES.iter().map(|oracle| oracle.id.to_owned())).collect()
}

/// Returns the id of an invariant.
fn invariant_id(invariant: Invariant) -> String {
    format!("invariant/{}", invariant.name())
}
