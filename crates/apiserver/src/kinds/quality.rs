//! The quality of service of pods.

use serde_json::{Map, Value};

use crate::kinds::quantity::Quantity;
use crate::profile::since;

const COMPUTE: [&str; 2] = ["cpu", "memory"];

/// `qosClass`, by requests and limits of processor and memory: those of the pod as a whole, or those of all
/// containers (`ComputePodQOS`).
pub(crate) fn quality_of_service(pod: &Value, minor: u32) -> &'static str {
    let spec = &pod["spec"];
    let of_pod = &spec["resources"];
    if minor >= since::POD_RESOURCES && of_pod.is_object() {
        let has_both = COMPUTE.iter().all(|name| amount(&of_pod["limits"][*name]).is_some());
        let is_guaranteed = has_both || of_pod["limits"].as_object().is_none_or(Map::is_empty);
        return class(is_guaranteed, |list, name| amount(&of_pod[list][name]));
    }
    let containers =
        || ["containers", "initContainers"].into_iter().filter_map(|list| spec[list].as_array()).flatten();
    let is_limited = |container: &Value| {
        COMPUTE.iter().all(|name| amount(&container["resources"]["limits"][*name]).is_some())
    };
    let sum = |list: &str, name: &str| {
        let amounts = containers().filter_map(|container| amount(&container["resources"][list][name]));
        amounts.reduce(Quantity::plus)
    };
    class(containers().all(is_limited), sum)
}

/// An amount above zero.
fn amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok().flatten().filter(|amount| amount.is_more(Quantity::ZERO))
}

/// The class for the total of each resource in a list, given whether all containers have both limits.
fn class(is_guaranteed: bool, total: impl Fn(&str, &str) -> Option<Quantity>) -> &'static str {
    let totals = COMPUTE.map(|name| (total("requests", name), total("limits", name)));
    if totals.iter().all(|(request, limit)| request.is_none() && limit.is_none()) {
        return "BestEffort";
    }
    let is_equal = |(request, limit): &(Option<Quantity>, Option<Quantity>)| match (request, limit) {
        (Some(request), Some(limit)) => request.compare(*limit).is_eq(),
        (None, None) => true,
        _ => false,
    };
    if is_guaranteed && totals.iter().all(is_equal) { "Guaranteed" } else { "Burstable" }
}
