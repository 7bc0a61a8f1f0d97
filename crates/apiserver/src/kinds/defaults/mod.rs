//! Defaults that the server fills into an object of a built-in kind whenever it decodes one
//! (`SetDefaults_*`).

mod admission;
pub(in crate::kinds) mod autoscaler;
mod container;
mod definition;
mod devices;
mod image;
mod other;
mod pod;
mod service;
mod volume;
mod workload;

use serde_json::{Map, Value, json};

use super::Kind;

/// A JSON object.
pub(super) type Fields = Map<String, Value>;
/// Fills the defaults of a kind into an object, as Kubernetes 1.N does.
pub(crate) type Filler = fn(&mut Fields, u32);

/// Group, plural, and the function that fills the defaults of all versions of that kind.
#[rustfmt::skip]
const TABLE: &[(&str, &str, Filler)] = &[
    ("", "endpoints", service::endpoints),
    ("", "limitranges", other::limit_range),
    ("", "namespaces", other::namespace),
    ("", "nodes", other::node),
    ("", "persistentvolumeclaims", volume::claim),
    ("", "persistentvolumes", volume::persistent_volume),
    ("", "pods", pod::pod),
    ("", "podtemplates", pod::pod_template_object),
    ("", "replicationcontrollers", workload::replication_controller),
    ("", "resourcequotas", other::resource_quota),
    ("", "secrets", other::secret),
    ("", "services", service::service),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", admission::mutating_webhooks),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies", admission::admission_policy),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", admission::admission_policy_binding),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", admission::admission_policy),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", admission::admission_policy_binding),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", admission::webhooks),
    ("apiextensions.k8s.io", "customresourcedefinitions", definition::definition),
    ("apiregistration.k8s.io", "apiservices", other::api_service),
    ("apps", "daemonsets", workload::daemon_set),
    ("apps", "deployments", workload::deployment),
    ("apps", "replicasets", workload::replica_set),
    ("apps", "statefulsets", workload::stateful_set),
    ("autoscaling", "horizontalpodautoscalers", autoscaler::autoscaler),
    ("batch", "cronjobs", workload::cron_job),
    ("batch", "jobs", workload::job),
    ("discovery.k8s.io", "endpointslices", service::endpoint_slice),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", other::flow_schema),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", other::priority_level),
    ("networking.k8s.io", "ingressclasses", service::ingress_class),
    ("networking.k8s.io", "networkpolicies", service::network_policy),
    ("rbac.authorization.k8s.io", "clusterrolebindings", other::role_binding),
    ("rbac.authorization.k8s.io", "rolebindings", other::role_binding),
    ("resource.k8s.io", "resourceclaims", devices::claim),
    ("resource.k8s.io", "resourceclaimtemplates", devices::template),
    ("resource.k8s.io", "resourceslices", devices::slice),
    ("scheduling.k8s.io", "priorityclasses", other::priority_class),
    ("storage.k8s.io", "csidrivers", volume::csi_driver),
    ("storage.k8s.io", "storageclasses", volume::storage_class),
];

/// The function that fills the defaults of a kind.
pub(super) fn of(group: &str, plural: &str) -> Option<Filler> {
    TABLE.iter().find(|row| (row.0, row.1) == (group, plural)).map(|row| row.2)
}

/// Fills the defaults of a kind into an object, as Kubernetes 1.`minor` does.
pub(crate) fn fill(kind: &Kind, object: &mut Value, minor: u32) {
    if let (Some(filler), Value::Object(fields)) = (kind.defaults, object) {
        filler(fields, minor);
    }
}

/// Sets a field that is absent or null.
fn set_default(fields: &mut Fields, name: &str, value: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// The object in a field, if there is one.
fn object_in<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Fields> {
    fields.get_mut(name)?.as_object_mut()
}

/// The object in a field, created if absent.
fn get_or_create<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Fields> {
    set_default(fields, name, json!({}));
    object_in(fields, name)
}

/// The objects of a list field, if there is one.
fn objects_in_list<'a>(fields: &'a mut Fields, name: &str) -> impl Iterator<Item = &'a mut Fields> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}
