//! Defaults of pods and pod templates.

use serde_json::{Value, json};

use super::{Fields, container, object_in, objects_in_list, set_default, volume};
use crate::kinds::validation::pods::aggregate;
use crate::profile::since;

/// `SetDefaults_Pod` and `SetDefaults_PodSpec`.
pub(super) fn pod(pod: &mut Fields, minor: u32) {
    if let Some(status) = object_in(pod, "status") {
        addresses(status);
        status_amounts(status);
    }
    let Some(spec) = object_in(pod, "spec") else { return };
    pod_spec(spec);
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for one in objects_in_list(spec, list) {
            container::requests_from_limits(one);
            if host_network {
                container::host_ports(one);
            }
        }
    }
    if minor >= since::POD_RESOURCES {
        pod_resources(spec);
    }
    set_default(spec, "enableServiceLinks", true);
}

/// Rounds the amounts in a status.
fn status_amounts(status: &mut Fields) {
    own_amounts(status);
    for list in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
        objects_in_list(status, list).for_each(own_amounts);
    }
}

/// Rounds the amounts of the resources of a pod or a container in a status.
fn own_amounts(owner: &mut Fields) {
    container::resource_lists(owner, &["allocatedResources"]);
    if let Some(resources) = object_in(owner, "resources") {
        container::resource_lists(resources, &["limits", "requests"]);
    }
}

/// Fills limits of huge pages and requests of a pod as a whole from those of its containers
/// (`defaultHugePagePodLimits`, `defaultPodRequests`).
fn pod_resources(spec: &mut Fields) {
    let given = |spec: &Fields, list: &str| {
        let list = spec.get("resources").and_then(|resources| resources.get(list));
        list.and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let (mut limits, mut requests) = (given(spec, "limits"), given(spec, "requests"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    let whole = Value::Object(spec.clone());
    for (name, amount) in aggregate(&whole, "limits") {
        if name.starts_with("hugepages-") && !requests.contains_key(name) {
            limits.entry(name).or_insert_with(|| json!(amount.text()));
        }
    }
    if !limits.is_empty() {
        for (name, amount) in aggregate(&whole, "requests").into_iter().filter(|(name, _)| is_compute(name)) {
            requests.entry(name).or_insert_with(|| json!(amount.text()));
        }
        for (name, amount) in &limits {
            if is_compute(name) || name.starts_with("hugepages-") {
                requests.entry(name.clone()).or_insert_with(|| amount.clone());
            }
        }
    }
    let Some(resources) = object_in(spec, "resources") else { return };
    for (list, amounts) in [("limits", limits), ("requests", requests)] {
        if !amounts.is_empty() {
            resources.insert(list.to_owned(), Value::Object(amounts));
        }
    }
}

fn is_compute(name: &str) -> bool {
    matches!(name, "cpu" | "memory")
}

/// Makes `podIP` equal to the first of `podIPs`; `podIP` takes precedence
/// (`Convert_v1_PodStatus_To_core_PodStatus`). A server has no such rule for `hostIP`: kubelets write both of
/// its fields.
fn addresses(status: &mut Fields) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let first = status.get("podIPs").and_then(Value::as_array).and_then(|list| list.first());
    let (own, first) = (text(status.get("podIP")), text(first.and_then(|address| address.get("ip"))));
    if own.is_empty() && !first.is_empty() {
        status.insert("podIP".to_owned(), json!(first));
    } else if own != first {
        status.insert("podIPs".to_owned(), json!([{ "ip": own }]));
    }
}

/// Defaults of a PodTemplate.
pub(super) fn pod_template_object(object: &mut Fields, _minor: u32) {
    template(object);
}

/// Defaults of the pod template within a specification.
pub(super) fn template(owner: &mut Fields) {
    if let Some(template) = object_in(owner, "template")
        && let Some(spec) = object_in(template, "spec")
    {
        pod_spec(spec);
    }
}

/// Defaults of every specification of a pod, in templates too.
pub(super) fn pod_spec(spec: &mut Fields) {
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "securityContext", json!({}));
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default(spec, "schedulerName", "default-scheduler");
    // The deprecated `serviceAccount` always equals `serviceAccountName`.
    let account = spec.get("serviceAccountName").or_else(|| spec.get("serviceAccount")).cloned();
    if let Some(account) = account {
        spec.insert("serviceAccount".to_owned(), account.clone());
        spec.insert("serviceAccountName".to_owned(), account);
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        objects_in_list(spec, list).for_each(container::container);
    }
    objects_in_list(spec, "volumes").for_each(volume::volume);
    if let Some(overhead) = object_in(spec, "overhead") {
        container::resource_list(overhead);
    }
    if let Some(resources) = object_in(spec, "resources") {
        container::resource_lists(resources, &["limits", "requests"]);
    }
}
