//! The APIServices of the groups that every server has (`apiServicesToRegister`), and the default range of service addresses.

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::clock::{Time, rfc3339};

use crate::kinds::strategy::service::ServiceNetwork;

pub(super) const API_SERVICES: Resource =
    Resource::cluster("apiregistration.k8s.io", "v1", "APIService", "apiservices");
const RANGES: Resource = Resource::cluster("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs");

/// The priorities of groups.
const GROUPS: [(&str, u32); 20] = [
    ("", 18000),
    ("apps", 17800),
    ("events.k8s.io", 17750),
    ("authentication.k8s.io", 17700),
    ("authorization.k8s.io", 17600),
    ("autoscaling", 17500),
    ("batch", 17400),
    ("certificates.k8s.io", 17300),
    ("networking.k8s.io", 17200),
    ("policy", 17100),
    ("rbac.authorization.k8s.io", 17000),
    ("storage.k8s.io", 16800),
    ("apiextensions.k8s.io", 16700),
    ("admissionregistration.k8s.io", 16700),
    ("scheduling.k8s.io", 16600),
    ("coordination.k8s.io", 16500),
    ("node.k8s.io", 16300),
    ("discovery.k8s.io", 16200),
    ("resource.k8s.io", 16200),
    ("flowcontrol.apiserver.k8s.io", 16100),
];
/// The priorities of versions that differ from [`VERSION`].
const VERSIONS: [(&str, &str, u32); 7] = [
    ("", "v1", 1),
    ("autoscaling", "v2", 30),
    ("batch", "v1beta1", 9),
    ("flowcontrol.apiserver.k8s.io", "v1", 21),
    ("flowcontrol.apiserver.k8s.io", "v1beta3", 18),
    ("policy", "v1beta1", 9),
    ("resource.k8s.io", "v1", 21),
];
/// The priority of most versions.
const VERSION: u32 = 15;

/// The priorities of the groups and versions of custom resources.
const CUSTOM: (u32, u32) = (1000, 100);

/// The APIService of a group and version of custom resources (`crdregistration`).
pub(super) fn of_custom(group: &str, version: &str, now: Time) -> (Resource, Value) {
    (API_SERVICES, object(group, version, CUSTOM, "true", now))
}

/// The APIService of a group and version; `None` for the group that the aggregator itself serves, and for unknown groups.
pub(super) fn api_service(group: &str, version: &str, now: Time) -> Option<(Resource, Value)> {
    let (_, group_priority) = GROUPS.iter().find(|(name, _)| *name == group)?;
    let own = VERSIONS.iter().find(|row| (row.0, row.1) == (group, version));
    let priorities = (*group_priority, own.map_or(VERSION, |row| row.2));
    Some((API_SERVICES, object(group, version, priorities, "onstart", now)))
}

/// An APIService of the server itself. Its label is how the server manages it.
fn object(group: &str, version: &str, priorities: (u32, u32), managed: &str, now: Time) -> Value {
    let mut spec = json!({
        "version": version,
        "groupPriorityMinimum": priorities.0,
        "versionPriority": priorities.1,
    });
    if !group.is_empty() {
        spec["group"] = json!(group);
    }
    json!({
        "metadata": {
            "name": format!("{version}.{group}"),
            "labels": { "kube-aggregator.kubernetes.io/automanaged": managed },
        },
        "spec": spec,
        "status": { "conditions": [{
            "type": "Available", "status": "True", "lastTransitionTime": rfc3339(now),
            "reason": "Local", "message": "Local APIServices are always available",
        }] },
    })
}

/// The range from which services get addresses.
pub(super) fn service_range(network: ServiceNetwork, now: Time) -> (Resource, Value) {
    let object = json!({
        "metadata": { "name": "kubernetes" },
        "spec": { "cidrs": [network.range()] },
        "status": { "conditions": [{
            "type": "Ready", "status": "True", "lastTransitionTime": rfc3339(now),
            "reason": "", "message": "Kubernetes default Service CIDR is ready",
        }] },
    });
    (RANGES, object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_services_have_the_name_of_their_version_and_group() {
        let name = |group, version| {
            api_service(group, version, Time::UNIX_EPOCH)
                .map(|(_, object)| object["metadata"]["name"].as_str().unwrap_or_default().to_owned())
        };
        assert_eq!(name("", "v1").as_deref(), Some("v1."));
        assert_eq!(name("apps", "v1").as_deref(), Some("v1.apps"));
        assert_eq!(name("example.com", "v1"), None);
    }
}
