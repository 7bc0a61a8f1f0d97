//! LimitRanges: the default, minimum and maximum resources of pods and claims (`LimitRanger`).

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::quota::amounts::{self, Amounts};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::PODS;

use crate::kinds::quantity::Quantity;
use crate::metadata;

const LIMIT_RANGES: Resource = Resource::namespaced("", "v1", "LimitRange", "limitranges");
const CLAIMS: Resource = Resource::namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
/// Lists the defaults that the plug-in sets.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The plug-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct LimitRanger;

impl AdmissionPlugin for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if request.writes(&PODS) && request.operation == AdmissionOperation::Create {
            for range in cluster.objects(&LIMIT_RANGES, request.namespace) {
                fill_in(pod, &range);
            }
        }
        Ok(())
    }

    /// Rejects a pod or a claim with all violations of the first LimitRange that it violates.
    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let Some(object) = object else { return Ok(()) };
        let is_pod = request.writes(&PODS) && request.operation == AdmissionOperation::Create;
        let is_terminating = request.old.is_some_and(metadata::is_terminating);
        if is_terminating || !is_pod && !request.writes(&CLAIMS) {
            return Ok(());
        }
        for range in cluster.objects(&LIMIT_RANGES, request.namespace) {
            let errors =
                if is_pod { pod_errors(&object["spec"], &range) } else { claim_errors(object, &range) };
            let why = match errors.as_slice() {
                [] => continue,
                [only] => only.clone(),
                all => format!("[{}]", all.join(", ")),
            };
            return Err(AdmissionRejection::Forbidden(why));
        }
        Ok(())
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fill_in(pod: &mut Value, range: &Value) {
    let (mut limits, mut requests) = (serde_json::Map::new(), serde_json::Map::new());
    for limit in items(&range["spec"]["limits"]).filter(|limit| limit["type"] == "Container") {
        limits.extend(limit["default"].as_object().cloned().unwrap_or_default());
        requests.extend(limit["defaultRequest"].as_object().cloned().unwrap_or_default());
    }
    let mut defaults_set = Vec::new();
    for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            for (field, word, given) in [("requests", "request", &requests), ("limits", "limit", &limits)] {
                let missing: Vec<&String> = given
                    .keys()
                    .filter(|resource| container["resources"][field].get(resource.as_str()).is_none())
                    .collect();
                for resource in &missing {
                    container["resources"][field][resource.as_str()] = given[*resource].clone();
                }
                if !missing.is_empty() {
                    let missing: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
                    defaults_set.push(format!("{} {word} for {what} {name}", missing.join(", ")));
                }
            }
        }
    }
    if !defaults_set.is_empty() {
        let metadata = metadata::metadata_mut(pod);
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[ANNOTATION] = json!(format!("LimitRanger plugin set: {}", defaults_set.join("; ")));
    }
}

/// Checks a pod and its containers (`PodValidateLimitFunc`).
fn pod_errors(spec: &Value, range: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    for limit in items(&range["spec"]["limits"]) {
        match limit["type"].as_str() {
            Some("Container") => {
                for container in items(&spec["containers"]).chain(items(&spec["initContainers"])) {
                    let part = |part: &str| amounts::read(&container["resources"][part]);
                    check_item(limit, &part("requests"), &part("limits"), &mut errors);
                }
            }
            Some("Pod") => {
                let (requests, limits) =
                    (amounts::pod_amounts(spec, "requests"), amounts::pod_amounts(spec, "limits"));
                check_item(limit, &requests, &limits, &mut errors);
            }
            _ => {}
        }
    }
    errors
}

/// Checks a claim, which has requests but no limits (`PersistentVolumeClaimValidateLimitFunc`).
fn claim_errors(claim: &Value, range: &Value) -> Vec<String> {
    let requests = amounts::read(&claim["spec"]["resources"]["requests"]);
    let mut errors = Vec::new();
    for limit in items(&range["spec"]["limits"]).filter(|limit| limit["type"] == "PersistentVolumeClaim") {
        for (word, field, beyond) in
            [("minimum", "min", Quantity::is_less as Beyond), ("maximum", "max", Quantity::is_more)]
        {
            for (name, bound) in amounts::read(&limit[field]) {
                let start = format!("{word} {name} usage per PersistentVolumeClaim is {}", bound.text());
                match requests.get(&name) {
                    None => errors.push(format!("{start}.  No request is specified")),
                    Some(found) if beyond(*found, bound) => {
                        errors.push(format!("{start}, but request is {}", found.text()));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    errors
}

type Beyond = fn(Quantity, Quantity) -> bool;

/// Checks requests and limits against one item of a LimitRange.
fn check_item(limit: &Value, requests: &Amounts, limits: &Amounts, errors: &mut Vec<String>) {
    let limit_type = limit["type"].as_str().unwrap_or_default();
    for (name, bound) in amounts::read(&limit["min"]) {
        let start = format!("minimum {name} usage per {limit_type} is {}", bound.text());
        match (requests.get(&name), limits.get(&name)) {
            (None, _) => errors.push(format!("{start}.  No request is specified")),
            (Some(found), _) if found.is_less(bound) => {
                errors.push(format!("{start}, but request is {}", found.text()));
            }
            (_, Some(found)) if found.is_less(bound) => {
                errors.push(format!("{start}, but limit is {}", found.text()));
            }
            _ => {}
        }
    }
    for (name, bound) in amounts::read(&limit["max"]) {
        let start = format!("maximum {name} usage per {limit_type} is {}", bound.text());
        match (limits.get(&name), requests.get(&name)) {
            (None, _) => errors.push(format!("{start}.  No limit is specified")),
            (Some(found), _) if found.is_more(bound) => {
                errors.push(format!("{start}, but limit is {}", found.text()));
            }
            (_, Some(found)) if found.is_more(bound) => {
                errors.push(format!("{start}, but request is {}", found.text()));
            }
            _ => {}
        }
    }
    for (name, bound) in amounts::read(&limit["maxLimitRequestRatio"]) {
        let start = format!("{name} max limit to request ratio per {limit_type} is {}", bound.text());
        let (request, most) = (requests.get(&name), limits.get(&name));
        match (request.filter(|found| !found.is_zero()), most.filter(|found| !found.is_zero())) {
            (None, _) => errors.push(format!("{start}, but no request is specified or request is 0")),
            (_, None) => errors.push(format!("{start}, but no limit is specified or limit is 0")),
            (Some(request), Some(most)) => {
                let ratio = most.number() / request.number();
                if ratio > bound.number() {
                    errors.push(format!("{start}, but provided ratio is {ratio:.6}"));
                }
            }
        }
    }
}
