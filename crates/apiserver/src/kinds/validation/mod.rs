//! Validation of objects of built-in kinds, beyond their types (`pkg/apis/*/validation`).

mod access;
pub(crate) mod certificates;
mod cluster;
mod conditions;
mod configuration;
mod devices;
mod event;
#[cfg(test)]
mod examples;
mod internal;
mod lease;
pub(super) mod limits;
pub(super) mod networking;
mod node_labels;
mod node_selector;
pub(crate) mod path;
pub(super) mod pods;
mod priority_class;
mod resource_names;
mod selector;
mod status_writes;
#[cfg(test)]
pub(super) mod steps;
mod storage;
mod template_metadata;
mod warnings;
pub(super) mod workloads;

use serde_json::Value;

use self::path::{Errors, Path};
pub(crate) use priority_class::system_priority_classes;
pub(crate) use warnings::{status_warnings, warnings};

use super::Kind;
use crate::field::FieldError;
use crate::profile::Profile;

/// Validates a new object or, given the old object, an update.
pub(crate) type Validator = fn(&Value, Option<&Value>, &mut Errors<'_>);

const POLICY_GROUP: &str = "admissionregistration.k8s.io";

/// Group, plural, the validator of objects of that kind, and the validator of a status write.
#[rustfmt::skip]
const TABLE: &[(&str, &str, Validator, Validator)] = &[
    ("", "configmaps", configuration::config_map, status_writes::accept_any),
    ("", "endpoints", networking::endpoints::endpoints, status_writes::accept_any),
    ("", "events", event::event, status_writes::accept_any),
    ("", "limitranges", limits::limit_range::limit_range, status_writes::accept_any),
    ("", "namespaces", cluster::namespace, status_writes::namespace),
    ("", "nodes", cluster::node, cluster::node_status),
    ("", "persistentvolumeclaims", storage::claim::claim, storage::claim::status),
    ("", "persistentvolumes", storage::volume::volume, status_writes::accept_any),
    ("", "pods", pods::pod::pod, pods::status::status),
    ("", "podtemplates", workloads::controller::pod_template, status_writes::accept_any),
    ("", "replicationcontrollers", workloads::controller::replication_controller, status_writes::replica_set),
    ("", "resourcequotas", limits::quota::resource_quota, limits::quota::status),
    ("", "secrets", configuration::secret, status_writes::accept_any),
    ("", "services", networking::service::service, networking::service::status),
    (POLICY_GROUP, "validatingadmissionpolicies", status_writes::accept_any, status_writes::policy),
    ("apiregistration.k8s.io", "apiservices", cluster::api_service, cluster::api_service_status),
    ("apps", "controllerrevisions", workloads::apps::revision::revision, status_writes::accept_any),
    ("apps", "daemonsets", workloads::apps::daemon_set::daemon_set, status_writes::daemon_set),
    ("apps", "deployments", workloads::apps::deployment::deployment, status_writes::deployment),
    ("apps", "replicasets", workloads::apps::deployment::replica_set, status_writes::replica_set),
    ("apps", "statefulsets", workloads::apps::stateful_set::stateful_set, status_writes::stateful_set),
    ("autoscaling", "horizontalpodautoscalers", workloads::autoscaler::autoscaler, workloads::autoscaler::status),
    ("batch", "cronjobs", workloads::cron::cron_job, status_writes::accept_any),
    ("batch", "jobs", workloads::job::job, workloads::job::job_status::check),
    ("certificates.k8s.io", "certificatesigningrequests", certificates::request, certificates::status),
    ("coordination.k8s.io", "leases", lease::lease, status_writes::accept_any),
    ("discovery.k8s.io", "endpointslices", networking::endpoints::slice, status_writes::accept_any),
    ("events.k8s.io", "events", event::new_event, status_writes::accept_any),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", cluster::schema, cluster::schema_status),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", cluster::level, cluster::level_status),
    ("networking.k8s.io", "ingressclasses", networking::ingress::ingress_class, status_writes::accept_any),
    ("networking.k8s.io", "ingresses", networking::ingress::ingress, networking::load_balancer::ingress),
    ("networking.k8s.io", "ipaddresses", networking::ip_address, status_writes::accept_any),
    ("networking.k8s.io", "networkpolicies", networking::network_policy::network_policy, status_writes::accept_any),
    ("networking.k8s.io", "servicecidrs", networking::service_cidr, status_writes::accept_any),
    ("node.k8s.io", "runtimeclasses", cluster::runtime_class, status_writes::accept_any),
    ("policy", "poddisruptionbudgets", limits::budget::budget, limits::budget::status),
    ("rbac.authorization.k8s.io", "clusterrolebindings", access::binding, status_writes::accept_any),
    ("rbac.authorization.k8s.io", "clusterroles", access::cluster_role, status_writes::accept_any),
    ("rbac.authorization.k8s.io", "rolebindings", access::binding, status_writes::accept_any),
    ("rbac.authorization.k8s.io", "roles", access::role, status_writes::accept_any),
    ("resource.k8s.io", "deviceclasses", devices::class, status_writes::accept_any),
    ("resource.k8s.io", "resourceclaims", devices::claim, devices::status),
    ("resource.k8s.io", "resourceclaimtemplates", devices::template, status_writes::accept_any),
    ("resource.k8s.io", "resourceslices", devices::slice, status_writes::accept_any),
    ("scheduling.k8s.io", "priorityclasses", priority_class::priority_class, status_writes::accept_any),
    ("storage.k8s.io", "csidrivers", storage::csi::driver, status_writes::accept_any),
    ("storage.k8s.io", "csinodes", storage::csi::node, status_writes::accept_any),
    ("storage.k8s.io", "csistoragecapacities", storage::csi::capacity, status_writes::accept_any),
    ("storage.k8s.io", "storageclasses", storage::class::storage, status_writes::accept_any),
    ("storage.k8s.io", "volumeattachments", storage::attachment::attachment, storage::attachment::status),
    ("storage.k8s.io", "volumeattributesclasses", storage::class::attributes, status_writes::accept_any),
];

/// The validators of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Validators {
    object: Validator,
    status: Validator,
}

/// The validators of a built-in kind.
pub(super) fn of(group: &str, plural: &str) -> Option<Validators> {
    let row = TABLE.iter().find(|row| (row.0, row.1) == (group, plural))?;
    Some(Validators { object: row.2, status: row.3 })
}

/// Validates an object of a built-in kind or, given the name of a subresource, a write of one part.
pub(crate) fn check(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    part: Option<&str>,
    profile: &Profile,
) -> Vec<FieldError> {
    let mut errors = Errors::new(profile);
    if let Some(validators) = kind.validators {
        let validator = match part {
            None => validators.object,
            Some("ephemeralcontainers") => pods::ephemeral_containers,
            Some("resize") => pods::resize,
            Some("approval") => certificates::approval,
            Some(_) => validators.status,
        };
        validator(object, old, &mut errors);
    }
    errors.into_found()
}

/// The elements of a list; empty if there is no list.
fn items(value: &Value) -> &[Value] {
    #[cfg(test)]
    steps::step();
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a string; empty if there is none.
fn text(value: &Value) -> &str {
    #[cfg(test)]
    steps::step();
    value.as_str().unwrap_or_default()
}

/// Whether a value is null or empty.
fn absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Requires that a field is unchanged (`ValidateImmutableField`).
fn immutable(object: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    if old.is_some_and(|old| old != object) {
        errors.invalid(at, object.clone(), "field is immutable");
    }
}

/// Requires that a field of an internal type is unchanged. Errors show the zero value of an absent one.
fn immutable_as(type_name: &str, object: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    if old.is_some_and(|old| old != object) {
        let shown = internal::internal_form(object, type_name);
        errors.invalid_shown(at, shown.clone(), shown, "field is immutable");
    }
}

/// The shape of a string in [`immutable_as`].
const TEXT: &str = "s";

const NON_NEGATIVE: &str = "must be greater than or equal to 0";

/// Requires that an optional number is not negative (`ValidateNonnegativeField`).
fn non_negative(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(number) = value.as_i64().filter(|number| *number < 0) {
        errors.invalid(at, number, NON_NEGATIVE);
    }
}

/// Requires one of the `known` strings.
fn one_of(value: &Value, known: &[&str], at: Path<'_>, errors: &mut Errors<'_>) {
    match text(value) {
        "" => errors.required(at, ""),
        given if !known.contains(&given) => errors.unsupported(at, given, known),
        _ => {}
    }
}

/// Requires one of the `known` strings in an optional field; an empty one is unknown.
fn one_of_given(value: &Value, known: &[&str], at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(given) = value.as_str().filter(|given| !known.contains(given)) {
        errors.unsupported(at, given, known);
    }
}

/// Requires an optional field, and one of the `known` strings in it; an empty one is unknown.
fn one_of_required(value: &Value, known: &[&str], at: Path<'_>, errors: &mut Errors<'_>) {
    if value.is_null() {
        errors.required(at, "");
    }
    one_of_given(value, known, at, errors);
}

/// Requires one of the `known` strings for a field that is a pointer in Go: an empty string is not one of them.
fn one_of_if_set(value: &Value, known: &[&str], at: Path<'_>, errors: &mut Errors<'_>) {
    if !value.is_null() && !known.contains(&text(value)) {
        errors.unsupported(at, text(value), known);
    }
}

/// Requires one of the `known` strings, unless the value is absent.
fn one_of_if_given(value: &Value, known: &[&str], at: Path<'_>, errors: &mut Errors<'_>) {
    if !absent(value) {
        one_of(value, known, at, errors);
    }
}
