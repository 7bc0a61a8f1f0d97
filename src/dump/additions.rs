//! Objects that users add to namespaces of the platform: budgets, quotas, limits and webhooks' Services, with the pods that they
//! select.

use std::collections::BTreeSet;

use windtunnel_core::resources::{
    ENDPOINT_SLICES, ENDPOINTS, LIMIT_RANGES, MUTATING_WEBHOOK_CONFIGURATIONS, POD_DISRUPTION_BUDGETS, PODS,
    RESOURCE_QUOTAS, SERVICES, VALIDATING_WEBHOOK_CONFIGURATIONS,
};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Object, Resource};

use super::origin::{Namespaces, is_of_openshift};

/// The namespace of Kubernetes, in which OpenShift runs no workloads.
const KUBE_SYSTEM: &str = "kube-system";

/// Kinds that users add beside the platform's workloads.
const ADDED: [&Resource; 3] = [&POD_DISRUPTION_BUDGETS, &RESOURCE_QUOTAS, &LIMIT_RANGES];

/// Controllers that create an evicted pod again. Their pods are taken over with them.
const REPLACING: [&str; 3] = ["ReplicaSet", "StatefulSet", "ReplicationController"];

/// The budgets that operators create without an owner, by their names in must-gathers of 4.8 and 4.18, and in the sources of the
/// etcd, network and monitoring operators.
const BUDGETS: [&str; 20] = [
    "alertmanager-main",
    "console",
    "csi-snapshot-controller-pdb",
    "csi-snapshot-webhook-pdb",
    "downloads",
    "etcd-quorum-guard",
    "image-registry",
    "metrics-server",
    "monitoring-plugin",
    "oauth-apiserver-pdb",
    "openshift-apiserver-pdb",
    "ovn-raft-quorum-guard",
    "pod-identity-webhook",
    "prometheus-adapter",
    "prometheus-k8s",
    "prometheus-operator-admission-webhook",
    "prometheus-user-workload",
    "router-default",
    "thanos-querier-pdb",
    "thanos-ruler-user-workload",
];

/// The ends of names of such budgets, which begin with a cloud or a component.
const ENDS_OF_BUDGETS: [&str; 3] = ["-guard-pdb", "-csi-driver-controller-pdb", "-cloud-controller-manager"];

type Identity = (String, String, String);

/// The objects that users added to namespaces of the platform.
#[derive(Debug, Default)]
pub(crate) struct Additions(BTreeSet<Identity>);

impl Additions {
    /// Finds them among all objects of a cluster.
    pub(crate) fn of(objects: &[&Object], namespaces: &Namespaces) -> Self {
        let mut found = Self::default();
        let in_platform: Vec<&Object> = objects
            .iter()
            .copied()
            .filter(|object| !object.namespace().is_empty() && !namespaces.is_users(object.namespace()))
            .collect();
        let all = |resource: &Resource| {
            let resource = resource.clone();
            in_platform.iter().copied().filter(move |object| resource.is_kind_of(object))
        };
        for object in ADDED.into_iter().flat_map(all).filter(|object| is_added(object)) {
            if !POD_DISRUPTION_BUDGETS.is_kind_of(object) {
                found.add(object);
                continue;
            }
            let pods: Vec<&Object> = all(&PODS)
                .filter(|pod| pod.namespace() == object.namespace())
                .filter(|pod| selector_matches(&object["spec"]["selector"], &pod["metadata"]["labels"]))
                .collect();
            // Without its pods a budget holds nothing up.
            if found.add_pods(&pods, &in_platform) > 0 {
                found.add(object);
            }
        }
        for (namespace, name) in called_by_users(objects) {
            for service in all(&SERVICES).filter(|service| {
                (service.namespace(), service.name()) == (namespace, name) && is_added(service)
            }) {
                found.add_service(service, &in_platform);
            }
        }
        let is_in_kube_system = |object: &&&Object| object.namespace() == KUBE_SYSTEM && is_added(object);
        in_platform.iter().filter(is_in_kube_system).for_each(|object| found.add(object));
        found
    }

    /// Whether users added an object.
    pub(crate) fn has(&self, object: &Object) -> bool {
        self.0.contains(&identity(object))
    }

    fn add(&mut self, object: &Object) {
        self.0.insert(identity(object));
    }

    /// Adds pods that come again after an eviction, with their controllers. Returns their number.
    fn add_pods(&mut self, pods: &[&Object], all: &[&Object]) -> usize {
        let mut count = 0;
        for pod in pods {
            let is_replacing = |owner: &&serde_json::Value| {
                owner["kind"].as_str().is_some_and(|kind| REPLACING.contains(&kind))
            };
            let Some(owner) = pod.list("/metadata/ownerReferences").iter().find(is_replacing) else {
                continue;
            };
            let Some(controller) = all.iter().find(|object| owner["uid"] == *object.uid()) else { continue };
            self.add(pod);
            self.add(controller);
            count += 1;
        }
        count
    }

    fn add_service(&mut self, service: &Object, all: &[&Object]) {
        self.add(service);
        let within = || all.iter().copied().filter(|object| object.namespace() == service.namespace());
        let is_of_service = |object: &Object| {
            ENDPOINTS.is_kind_of(object) && object.name() == service.name()
                || ENDPOINT_SLICES.is_kind_of(object)
                    && object.label("kubernetes.io/service-name") == Some(service.name())
        };
        within().filter(|object| is_of_service(object)).for_each(|object| self.add(object));
        let selector = serde_json::json!({ "matchLabels": service["spec"]["selector"] });
        let is_selected = |object: &&Object| {
            PODS.is_kind_of(object)
                && service["spec"]["selector"].is_object()
                && selector_matches(&selector, &object["metadata"]["labels"])
        };
        let pods: Vec<&Object> = within().filter(is_selected).collect();
        self.add_pods(&pods, all);
    }
}

fn identity(object: &Object) -> Identity {
    let [kind, namespace, name] =
        [object.text("/kind"), object.namespace(), object.name()].map(str::to_owned);
    (kind, namespace, name)
}

/// The namespaces and names of the Services that webhooks of users call.
fn called_by_users<'o>(objects: &[&'o Object]) -> BTreeSet<(&'o str, &'o str)> {
    let configurations = objects.iter().copied().filter(|object| {
        [&VALIDATING_WEBHOOK_CONFIGURATIONS, &MUTATING_WEBHOOK_CONFIGURATIONS]
            .iter()
            .any(|resource| resource.is_kind_of(object))
            && !is_webhook_of_platform(object)
    });
    let webhooks = configurations.flat_map(|configuration| configuration.list("/webhooks"));
    let services = webhooks.map(|webhook| &webhook["clientConfig"]["service"]);
    services.filter_map(|service| Some((service["namespace"].as_str()?, service["name"].as_str()?))).collect()
}

/// Whether programs of the platform answer the webhooks of a configuration: the release or an operator owns it, or it gets its
/// certificates from the service CA and calls Services in namespaces of the platform.
pub(crate) fn is_webhook_of_platform(object: &Object) -> bool {
    let namespaces = object
        .list("/webhooks")
        .iter()
        .filter_map(|webhook| webhook["clientConfig"]["service"]["namespace"].as_str());
    let has_certificates = object.annotation("service.beta.openshift.io/inject-cabundle") == Some("true");
    is_of_openshift(object)
        || has_certificates && { namespaces }.any(|namespace| namespace.starts_with("openshift-"))
}

/// Whether users added an object to a namespace of the platform.
fn is_added(object: &Object) -> bool {
    let name = object.name();
    let is_known = POD_DISRUPTION_BUDGETS.is_kind_of(object)
        && (BUDGETS.contains(&name) || ENDS_OF_BUDGETS.iter().any(|end| name.ends_with(end)));
    let is_labelled = ["app.kubernetes.io/part-of", "app.kubernetes.io/managed-by"]
        .iter()
        .filter_map(|label| object.label(label))
        .any(|value| value == "openshift-monitoring" || value == "cluster-monitoring-operator");
    let writers = object.list("/metadata/managedFields").iter().filter_map(|entry| entry["manager"].as_str());
    let is_written =
        object.namespace() != KUBE_SYSTEM && { writers }.any(|writer| writer.contains("operator"));
    let is_owned = object.namespace() != KUBE_SYSTEM && !object.list("/metadata/ownerReferences").is_empty();
    !(is_of_openshift(object) || is_known || is_labelled || is_written || is_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(version: &str, kind: &str, name: &str, more: &Value) -> Object {
        let mut object = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": { "namespace": "openshift-ingress", "name": name, "uid": name },
        });
        for (field, value) in more.as_object().unwrap() {
            if field == "metadata" {
                for (field, value) in value.as_object().unwrap() {
                    object["metadata"][field] = value.clone();
                }
            } else {
                object[field] = value.clone();
            }
        }
        Object::new(object)
    }

    #[test]
    fn a_budget_of_users_comes_with_its_pods_and_one_of_the_platform_does_not() {
        let selector = json!({ "spec": { "selector": { "matchLabels": { "app": "router" } } } });
        let owner =
            json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "router", "uid": "router" }]);
        let labels = json!({ "metadata": { "labels": { "app": "router" }, "ownerReferences": owner } });
        let budget = |name| object("policy/v1", "PodDisruptionBudget", name, &selector);
        let owned = json!({ "metadata": { "ownerReferences": [{
            "apiVersion": "operator.openshift.io/v1", "kind": "Network", "name": "cluster", "uid": "n",
        }] } });
        let all = [
            budget("ours"),
            budget("router-default"),
            budget("aws-ebs-csi-driver-controller-pdb"),
            object("v1", "Pod", "router-1", &labels),
            object("apps/v1", "ReplicaSet", "router", &json!({})),
            object("v1", "ResourceQuota", "ours", &json!({})),
            object("v1", "ResourceQuota", "host-network-namespace-quotas", &owned),
            object("v1", "Pod", "other", &json!({})),
        ];
        let all: Vec<&Object> = all.iter().collect();
        let additions = Additions::of(&all, &Namespaces::of(all.iter().copied()));
        let found: Vec<String> = all
            .iter()
            .filter(|object| additions.has(object))
            .map(|object| format!("{} {}", object.text("/kind"), object.name()))
            .collect();
        assert_eq!(
            found,
            ["PodDisruptionBudget ours", "Pod router-1", "ReplicaSet router", "ResourceQuota ours"]
        );
        let without_pods = &all[..3];
        let additions = Additions::of(without_pods, &Namespaces::of(without_pods.iter().copied()));
        assert!(!additions.has(&budget("ours")));
    }

    #[test]
    fn a_webhook_of_users_calls_a_service_in_a_namespace_of_the_platform() {
        let webhooks = json!({ "webhooks": [{
            "clientConfig": { "service": { "namespace": "openshift-ingress", "name": "guard" } },
        }] });
        let version = "admissionregistration.k8s.io/v1";
        let ours = object(version, "ValidatingWebhookConfiguration", "guard", &webhooks);
        let mut injected = webhooks.clone();
        injected["metadata"] =
            json!({ "annotations": { "service.beta.openshift.io/inject-cabundle": "true" } });
        let platforms = object(version, "ValidatingWebhookConfiguration", "machine-api", &injected);
        let service = object("v1", "Service", "guard", &json!({}));
        for (configuration, expected) in [(&ours, true), (&platforms, false)] {
            let all = [configuration, &service];
            let additions = Additions::of(&all, &Namespaces::of(all));
            assert_eq!(additions.has(&service), expected, "{configuration:?}");
        }
    }
}
