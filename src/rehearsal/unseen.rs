//! What a dump cannot show, although it can hold an update up.

use windtunnel_core::Object;

use crate::dump::origin::Namespaces;

/// A part of a cluster that is not in its dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// The part, and why it matters.
    pub what: String,
    /// The command that collects it.
    pub collect: String,
}

/// Kinds that can hold an update up, and that a source may not collect.
struct Part {
    kinds: &'static [&'static str],
    what: &'static str,
    collect: &'static str,
}

/// The parts of a cluster that must-gathers, Insights archives or plain lists lack.
const PARTS: [Part; 5] = [
    Part {
        kinds: &["ValidatingAdmissionPolicy"],
        what: "ValidatingAdmissionPolicies, which can reject writes of the platform; a must-gather collects none",
        collect: "oc get validatingadmissionpolicies,validatingadmissionpolicybindings -o yaml",
    },
    Part {
        kinds: &["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"],
        what: "webhooks, which can reject writes of the platform",
        collect: "oc get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml",
    },
    Part {
        kinds: &["PodDisruptionBudget"],
        what: "PodDisruptionBudgets, for which drains wait",
        collect: "oc get poddisruptionbudgets -A -o yaml",
    },
    Part { kinds: &["Pod"], what: "pods, which drains evict", collect: "oc get pods -A -o yaml" },
    Part {
        kinds: &["MachineConfigPool"],
        what: "MachineConfigPools, which can be paused",
        collect: "oc get machineconfigpools -o yaml",
    },
];

/// Finds what a dump cannot show.
pub fn unseen(objects: &[&Object]) -> Vec<Unseen> {
    let has = |kind: &str| objects.iter().any(|object| object.text("/kind") == kind);
    let parts = PARTS.iter().filter(|part| !part.kinds.iter().any(|kind| has(kind)));
    let mut found: Vec<Unseen> =
        parts.map(|part| Unseen { what: part.what.to_owned(), collect: part.collect.to_owned() }).collect();
    let namespaces = Namespaces::of(objects.iter().copied());
    let pods = objects.iter().filter(|object| object.text("/kind") == "Pod");
    let mut users: Vec<&str> =
        pods.map(|pod| pod.namespace()).filter(|name| namespaces.is_users(name)).collect();
    users.sort_unstable();
    users.dedup();
    let seen = match users.as_slice() {
        [] => "pods of no namespace of users".to_owned(),
        [one] => format!("pods of one namespace of users, {one}"),
        many => format!("pods of {} namespaces of users", many.len()),
    };
    found.push(Unseen {
        what: format!("other namespaces of users, with pods, budgets and quotas: the dump has {seen}"),
        collect: "oc adm inspect $(oc get namespaces -o name)".to_owned(),
    });
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_without_objects_are_not_seen() {
        let pod =
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": "shop", "name": "a" } });
        let pod = Object::new(pod);
        let found = unseen(&[&pod]);
        let has = |part: &str| found.iter().any(|unseen| unseen.what.contains(part));
        assert!(has("ValidatingAdmissionPolicies") && has("pods of one namespace of users, shop"));
        assert!(!found.iter().any(|unseen| unseen.what.starts_with("pods,")));
    }
}
