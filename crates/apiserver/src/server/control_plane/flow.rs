//! The priority levels and FlowSchemas that every server has (`pkg/apis/flowcontrol/bootstrap`).

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::clock::Time;

use super::dangling::{self, LEVELS, SCHEMAS};

const COORDINATION: &str = "coordination.k8s.io";

/// The number of queues and the size of a hand, if requests queue.
type Queues = Option<(u32, u32)>;

/// Name, share, lendable percentage, and the queues.
const PRIORITY_LEVELS: [(&str, u32, u32, Queues); 7] = [
    ("catch-all", 5, 0, None),
    ("global-default", 20, 50, Some((128, 6))),
    ("leader-election", 10, 0, Some((16, 4))),
    ("node-high", 40, 25, Some((64, 6))),
    ("system", 30, 33, Some((64, 6))),
    ("workload-high", 40, 50, Some((128, 6))),
    ("workload-low", 100, 90, Some((128, 6))),
];
/// The length of each queue.
const QUEUE_LENGTH: u32 = 50;

/// The requests that a FlowSchema matches.
enum Requests {
    All,
    /// Requests of health probes.
    Probes,
    /// Requests of leader election.
    Leases,
    /// Requests of kubelets for their own nodes.
    Nodes,
}

/// Name, priority level, precedence, what distinguishes flows, kind and names of subjects, and requests.
type Flow =
    (&'static str, &'static str, u32, &'static str, &'static [(&'static str, &'static str)], Requests);

const EVERYONE: &[(&str, &str)] = &[("Group", "system:unauthenticated"), ("Group", "system:authenticated")];
const NODES: &[(&str, &str)] = &[("Group", "system:nodes")];

#[rustfmt::skip]
const FLOWS: [Flow; 11] = [
    ("catch-all", "catch-all", 10000, "ByUser", EVERYONE, Requests::All),
    ("exempt", "exempt", 1, "", &[("Group", "system:masters")], Requests::All),
    ("global-default", "global-default", 9900, "ByUser", EVERYONE, Requests::All),
    ("kube-controller-manager", "workload-high", 800, "ByNamespace",
        &[("User", "system:kube-controller-manager")], Requests::All),
    ("kube-scheduler", "workload-high", 800, "ByNamespace", &[("User", "system:kube-scheduler")], Requests::All),
    ("kube-system-service-accounts", "workload-high", 900, "ByNamespace", &[("ServiceAccount", "*")], Requests::All),
    ("probes", "exempt", 2, "", EVERYONE, Requests::Probes),
    ("service-accounts", "workload-low", 9000, "ByUser", &[("Group", "system:serviceaccounts")], Requests::All),
    ("system-leader-election", "leader-election", 100, "ByUser", &[
        ("User", "system:kube-controller-manager"),
        ("User", "system:kube-scheduler"),
        ("ServiceAccount", "*"),
    ], Requests::Leases),
    ("system-node-high", "node-high", 400, "ByUser", NODES, Requests::Nodes),
    ("system-nodes", "system", 500, "ByUser", NODES, Requests::All),
];

/// The priority levels, and the FlowSchemas that refer to them.
pub(super) fn objects(now: Time) -> impl Iterator<Item = (Resource, Value)> {
    let exempt =
        json!({ "type": "Exempt", "exempt": { "nominalConcurrencyShares": 0, "lendablePercent": 0 } });
    let exempt = std::iter::once((LEVELS, level("exempt", &exempt)));
    let limited = PRIORITY_LEVELS.into_iter().map(|(name, share, lendable, queues)| {
        let response = match queues {
            None => json!({ "type": "Reject" }),
            Some((queues, hand)) => json!({ "type": "Queue", "queuing": {
                "queues": queues, "handSize": hand, "queueLengthLimit": QUEUE_LENGTH } }),
        };
        let limits = json!({ "nominalConcurrencyShares": share, "lendablePercent": lendable,
            "limitResponse": response });
        (LEVELS, level(name, &json!({ "type": "Limited", "limited": limits })))
    });
    exempt.chain(limited).chain(FLOWS.into_iter().map(move |flow| (SCHEMAS, schema(flow, now))))
}

fn metadata(name: &str) -> Value {
    json!({
        "name": name,
        "generation": 1,
        "annotations": { "apf.kubernetes.io/autoupdate-spec": "true" },
    })
}

fn level(name: &str, spec: &Value) -> Value {
    json!({ "metadata": metadata(name), "spec": spec, "status": {} })
}

fn schema((name, level, precedence, distinguisher, subjects, requests): Flow, now: Time) -> Value {
    let mut rule = json!({ "subjects": subjects.iter().map(subject).collect::<Vec<_>>() });
    if let Some(urls) = match requests {
        Requests::All => Some((json!(["*"]), json!(["*"]))),
        Requests::Probes => Some((json!(["get"]), json!(["/healthz", "/readyz", "/livez"]))),
        Requests::Leases | Requests::Nodes => None,
    } {
        rule["nonResourceRules"] = json!([{ "verbs": urls.0, "nonResourceURLs": urls.1 }]);
    }
    let resources = resource_rules(&requests);
    if !resources.is_empty() {
        rule["resourceRules"] = json!(resources);
    }
    let mut spec = json!({
        "priorityLevelConfiguration": { "name": level }, "matchingPrecedence": precedence, "rules": [rule],
    });
    if !distinguisher.is_empty() {
        spec["distinguisherMethod"] = json!({ "type": distinguisher });
    }
    let status = json!({ "conditions": [dangling::condition(level, true, now)] });
    json!({ "metadata": metadata(name), "spec": spec, "status": status })
}

fn subject((kind, name): &(&str, &str)) -> Value {
    match *kind {
        "ServiceAccount" => {
            json!({ "kind": kind, "serviceAccount": { "namespace": "kube-system", "name": name } })
        }
        "User" => json!({ "kind": kind, "user": { "name": name } }),
        _ => json!({ "kind": kind, "group": { "name": name } }),
    }
}

fn resource_rules(requests: &Requests) -> Vec<Value> {
    let rule = |verbs: &[&str], group: &str, resources: &[&str], cluster: bool| {
        let mut rule = json!({
            "verbs": verbs, "apiGroups": [group], "resources": resources, "namespaces": ["*"],
        });
        if cluster {
            rule["clusterScope"] = json!(true);
        }
        rule
    };
    match requests {
        Requests::All => vec![rule(&["*"], "*", &["*"], true)],
        Requests::Probes => Vec::new(),
        Requests::Leases => vec![rule(&["get", "create", "update"], COORDINATION, &["leases"], false)],
        Requests::Nodes => vec![
            rule(&["*"], "", &["nodes", "nodes/status"], true),
            rule(&["*"], COORDINATION, &["leases"], false),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::dangling::GROUP;
    use super::*;

    #[test]
    fn every_flow_has_a_level_and_the_form_that_go_writes() {
        let all: Vec<_> = objects(Time::UNIX_EPOCH).collect();
        let names = |resource: &Resource| {
            let of = all.iter().filter(|(kind, _)| kind.plural == resource.plural);
            of.map(|(_, object)| object["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let levels = names(&LEVELS);
        assert_eq!((levels.len(), names(&SCHEMAS).len()), (8, 11));
        for (resource, object) in &all {
            if resource.plural == SCHEMAS.plural {
                let level = object["spec"]["priorityLevelConfiguration"]["name"].as_str().unwrap();
                assert!(levels.iter().any(|name| name == level));
            }
            let mut decoded = object.clone();
            let unknown = crate::kinds::typed::decode_as(GROUP, "v1", &resource.kind, &mut decoded);
            assert_eq!((unknown, &decoded), (Ok(Vec::new()), object));
        }
    }
}
