//! A minimal eviction for actor tests, which checks `disruptionsAllowed` of the budgets.

use serde_json::json;
use windtunnel_core::{Object, Rejection, View, resources};

const BLOCKED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const SEVERAL: &str =
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";

/// Whether the budgets allow the eviction of `pod`. Does not decrease `disruptionsAllowed`.
pub(super) fn allow(view: &View, pod: &Object) -> Result<(), Rejection> {
    let budgets = view.list_in(&resources::POD_DISRUPTION_BUDGETS, pod.namespace());
    let mine: Vec<&Object> = budgets
        .filter(|budget| budget["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"])
        .collect();
    let rejection = |code, reason: &str, message: &str| Rejection {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        details: json!(null),
    };
    match mine.as_slice() {
        [] => Ok(()),
        [budget] if budget.number("/status/disruptionsAllowed").unwrap_or(0) > 0 => Ok(()),
        [_] => Err(rejection(429, "TooManyRequests", BLOCKED)),
        _ => Err(rejection(500, "InternalError", SEVERAL)),
    }
}
