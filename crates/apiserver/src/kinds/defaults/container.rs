//! Defaults of containers, their probes, ports and environment.

use serde_json::{Value, json};

use super::{Fields, get_or_create, image, object_in, objects_in_list, set_default};
use crate::kinds::quantity::Quantity;

/// `SetDefaults_Container` and the defaults below it. Ephemeral containers have the same.
pub(super) fn container(container: &mut Fields) {
    set_pull_policy(container, "image", "imagePullPolicy");
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    for port in objects_in_list(container, "ports") {
        set_default(port, "protocol", "TCP");
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        object_in(container, name).map(probe);
    }
    for variable in objects_in_list(container, "env") {
        if let Some(from) = object_in(variable, "valueFrom")
            && let Some(field) = object_in(from, "fieldRef")
        {
            set_default(field, "apiVersion", "v1");
        }
    }
    if let Some(lifecycle) = object_in(container, "lifecycle") {
        for hook in ["postStart", "preStop"] {
            object_in(lifecycle, hook).map(http_get);
        }
    }
    if let Some(resources) = object_in(container, "resources") {
        resource_lists(resources, &["limits", "requests"]);
    }
}

/// Sets an absent pull policy by the image that a field names.
pub(super) fn set_pull_policy(owner: &mut Fields, image: &str, field: &str) {
    // Most objects have a policy, and reading the name of an image takes time.
    if owner.get(field).is_none_or(Value::is_null) {
        let policy = pull_policy(owner.get(image).and_then(Value::as_str).unwrap_or_default());
        set_default(owner, field, policy);
    }
}

/// `Always` for the tag `latest`, which is also the tag of an image without tag and digest. A malformed reference has no
/// tag.
fn pull_policy(image: &str) -> &'static str {
    match image::tag(image).as_deref() {
        Some("latest") => "Always",
        _ => "IfNotPresent",
    }
}

fn probe(probe: &mut Fields) {
    for (field, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        set_default(probe, field, value);
    }
    http_get(probe);
    if let Some(grpc) = object_in(probe, "grpc") {
        set_default(grpc, "service", "");
    }
}

fn http_get(handler: &mut Fields) {
    if let Some(get) = object_in(handler, "httpGet") {
        set_default(get, "path", "/");
        set_default(get, "scheme", "HTTP");
    }
}

/// Rounds the amounts of lists.
pub(super) fn resource_lists(owner: &mut Fields, lists: &[&str]) {
    for list in lists {
        object_in(owner, list).map(resource_list);
    }
}

/// Rounds amounts to thousandths (`SetDefaults_ResourceList`).
pub(super) fn resource_list(list: &mut Fields) {
    for amount in list.values_mut() {
        let Some(text) = amount.as_str() else { continue };
        // Finer amounts end in one of these suffixes, or have an exponent.
        if !text.ends_with(['n', 'u']) && !text.contains(['e', 'E']) {
            continue;
        }
        if let Ok(Some(quantity)) = Quantity::parse(text) {
            let rounded = quantity.in_thousandths();
            if rounded.compare(quantity).is_ne() {
                *amount = json!(rounded.text());
            }
        }
    }
}

/// Requests default to the limits, in pods but not in templates.
pub(super) fn requests_from_limits(container: &mut Fields) {
    let Some(resources) = object_in(container, "resources") else { return };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    let Some(requests) = get_or_create(resources, "requests") else { return };
    for (name, amount) in limits {
        requests.entry(name).or_insert(amount);
    }
}

/// On the host network, the host ports equal the container ports.
pub(super) fn host_ports(container: &mut Fields) {
    for port in objects_in_list(container, "ports") {
        if let Some(number) = port.get("containerPort").cloned() {
            set_default(port, "hostPort", number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn images_tagged_latest_are_always_pulled() {
        for (image, policy) in [
            ("i", "Always"),
            ("i:latest", "Always"),
            ("i:1", "IfNotPresent"),
            ("registry:5000/a/i", "Always"),
            ("registry:5000/a/i:2", "IfNotPresent"),
            ("quay.io/a/i@sha256:00", "IfNotPresent"),
            (" i", "IfNotPresent"),
            ("I", "IfNotPresent"),
            ("", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
