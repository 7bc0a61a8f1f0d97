//! LimitRanges: what pods and claims are given that say nothing, and what they may ask for (`LimitRanger`).

use serde_json::{Value, json};

use super::amounts::{self, Amounts};
use crate::admission::{Attributes, Operation};
use crate::call::Call;
use crate::kinds::quantity::Quantity;
use crate::metadata;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::store::Stored;

/// Tells of what was filled in.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

impl ApiServer {
    /// Gives the containers of a new pod the defaults of the LimitRanges of its namespace.
    pub(in crate::admission) fn fill_in_limits(&self, call: &Call<'_>, object: &mut Value) {
        for range in self.ranges(call) {
            fill_in(object, &range);
        }
    }

    /// Holds a pod or a claim against the LimitRanges of its namespace.
    ///
    /// # Errors
    /// All that the first of them objects to.
    pub(in crate::admission) fn check_limits(
        &self,
        call: &Call<'_>,
        attributes: Attributes<'_>,
        object: &Value,
    ) -> Outcome<()> {
        let is_pod = call.kind.is_resource("", "pods") && attributes.operation == Operation::Create;
        let is_claim = call.kind.is_resource("", "persistentvolumeclaims");
        if !is_pod && !is_claim {
            return Ok(());
        }
        for range in self.ranges(call) {
            let wrong = if is_pod {
                wrong_with_pod(&object["spec"], &range)
            } else {
                wrong_with_claim(object, &range)
            };
            let why = match wrong.as_slice() {
                [] => continue,
                [only] => only.clone(),
                all => format!("[{}]", all.join(", ")),
            };
            return Err(Refused::forbidden(&call.kind.resource, attributes.name, &why));
        }
        Ok(())
    }

    fn ranges(&self, call: &Call<'_>) -> Vec<Stored> {
        let Some(table) = self.admission.limit_ranges.filter(|_| call.path.subresource.is_empty()) else {
            return Vec::new();
        };
        self.store.list(table, &call.path.namespace).map(|(_, _, entry)| entry.served()).collect()
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
    let mut told = Vec::new();
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
                    told.push(format!("{} {word} for {what} {name}", missing.join(", ")));
                }
            }
        }
    }
    if !told.is_empty() {
        let metadata = metadata::metadata_mut(pod);
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[ANNOTATION] = json!(format!("LimitRanger plugin set: {}", told.join("; ")));
    }
}

/// `PodValidateLimitFunc`.
fn wrong_with_pod(spec: &Value, range: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for limit in items(&range["spec"]["limits"]) {
        match limit["type"].as_str() {
            Some("Container") => {
                for container in items(&spec["containers"]).chain(items(&spec["initContainers"])) {
                    let part = |part: &str| amounts::read(&container["resources"][part]);
                    check(limit, &part("requests"), &part("limits"), &mut wrong);
                }
            }
            Some("Pod") => {
                let (requests, limits) = (amounts::of_pod(spec, "requests"), amounts::of_pod(spec, "limits"));
                check(limit, &requests, &limits, &mut wrong);
            }
            _ => {}
        }
    }
    wrong
}

/// `PersistentVolumeClaimValidateLimitFunc`: claims have requests alone.
fn wrong_with_claim(claim: &Value, range: &Value) -> Vec<String> {
    let requests = amounts::read(&claim["spec"]["resources"]["requests"]);
    let mut wrong = Vec::new();
    for limit in items(&range["spec"]["limits"]).filter(|limit| limit["type"] == "PersistentVolumeClaim") {
        let of = "PersistentVolumeClaim";
        for (word, field, beyond) in
            [("minimum", "min", Quantity::is_less as Beyond), ("maximum", "max", Quantity::is_more)]
        {
            for (name, bound) in amounts::read(&limit[field]) {
                let start = format!("{word} {name} usage per {of} is {}", bound.text());
                match requests.get(&name) {
                    None => wrong.push(format!("{start}.  No request is specified")),
                    Some(found) if beyond(*found, bound) => {
                        wrong.push(format!("{start}, but request is {}", found.text()));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    wrong
}

type Beyond = fn(Quantity, Quantity) -> bool;

/// Holds requests and limits against one item of a LimitRange.
fn check(limit: &Value, requests: &Amounts, limits: &Amounts, wrong: &mut Vec<String>) {
    let of = limit["type"].as_str().unwrap_or_default();
    for (name, bound) in amounts::read(&limit["min"]) {
        let start = format!("minimum {name} usage per {of} is {}", bound.text());
        match (requests.get(&name), limits.get(&name)) {
            (None, _) => wrong.push(format!("{start}.  No request is specified")),
            (Some(found), _) if found.is_less(bound) => {
                wrong.push(format!("{start}, but request is {}", found.text()));
            }
            (_, Some(found)) if found.is_less(bound) => {
                wrong.push(format!("{start}, but limit is {}", found.text()));
            }
            _ => {}
        }
    }
    for (name, bound) in amounts::read(&limit["max"]) {
        let start = format!("maximum {name} usage per {of} is {}", bound.text());
        match (limits.get(&name), requests.get(&name)) {
            (None, _) => wrong.push(format!("{start}.  No limit is specified")),
            (Some(found), _) if found.is_more(bound) => {
                wrong.push(format!("{start}, but limit is {}", found.text()));
            }
            (_, Some(found)) if found.is_more(bound) => {
                wrong.push(format!("{start}, but request is {}", found.text()));
            }
            _ => {}
        }
    }
    for (name, bound) in amounts::read(&limit["maxLimitRequestRatio"]) {
        let start = format!("{name} max limit to request ratio per {of} is {}", bound.text());
        let (request, most) = (requests.get(&name), limits.get(&name));
        match (request.filter(|found| !found.is_zero()), most.filter(|found| !found.is_zero())) {
            (None, _) => wrong.push(format!("{start}, but no request is specified or request is 0")),
            (_, None) => wrong.push(format!("{start}, but no limit is specified or limit is 0")),
            (Some(request), Some(most)) => {
                let ratio = most.number() / request.number();
                if ratio > bound.number() {
                    wrong.push(format!("{start}, but provided ratio is {ratio:.6}"));
                }
            }
        }
    }
}
