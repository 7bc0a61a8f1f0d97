//! Validation of restart policies of containers, and of what a resize restarts.

use serde_json::Value;

use crate::kinds::validation::pods::context::Pod;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::profile::since;
use crate::repeats::repeated;

const POLICIES: [&str; 3] = ["Always", "Never", "OnFailure"];
const ACTIONS: [&str; 2] = ["Restart", "RestartAllContainers"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const RESIZABLE: [&str; 2] = ["cpu", "memory"];
const RESIZE_POLICIES: [&str; 2] = ["NotRequired", "RestartContainer"];
const NO_POLICY: &str = "must specify restartPolicy when restart rules are used";

/// Whether an init container runs as long as the pod (`isRestartableInitContainer`).
pub(in crate::kinds::validation::pods) fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

/// Validates the restart policy of a container that is no init container. Early minors have none.
pub(super) fn of_container(container: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if errors.profile.minor >= since::CONTAINER_RESTART_RULES {
        policy_and_rules(container, at, errors);
    } else if !container["restartPolicy"].is_null() {
        errors.forbidden(at.child("restartPolicy"), "may not be set for non-init containers");
    }
}

/// Validates the restart policy of an init container (`validateInitContainerRestartPolicy`).
pub(super) fn of_init_container(container: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let minor = errors.profile.minor;
    let has_rules = !items(&container["restartPolicyRules"]).is_empty();
    match container["restartPolicy"].as_str() {
        None if has_rules => errors.required(at.child("restartPolicy"), NO_POLICY),
        None => {}
        Some("Always") if minor < since::CONTAINER_RESTART_RULES => {}
        Some("Always") if minor < since::RESTART_OF_ALL_CONTAINERS && has_rules => {
            let why = "restartPolicyRules are not allowed for init containers with restart policy Always";
            errors.forbidden(at.child("restartPolicyRules"), why);
        }
        Some("Always") if minor < since::RESTART_OF_ALL_CONTAINERS => {}
        Some(policy) if minor < since::CONTAINER_RESTART_RULES => {
            errors.unsupported(at.child("restartPolicy"), policy, &["Always"]);
        }
        Some(_) => policy_and_rules(container, at, errors),
    }
}

/// Validates a restart policy and the rules that override it (`validateContainerRestartPolicy`).
fn policy_and_rules(container: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let rules = items(&container["restartPolicyRules"]);
    match container["restartPolicy"].as_str() {
        None if rules.is_empty() => return,
        None => errors.required(at.child("restartPolicy"), NO_POLICY),
        Some(policy) if !POLICIES.contains(&policy) => {
            errors.unsupported(at.child("restartPolicy"), policy, &POLICIES);
        }
        Some(_) => {}
    }
    let rules_at = at.child("restartPolicyRules");
    if rules.len() > RULES_MAX {
        errors.too_many(rules_at, rules.len(), RULES_MAX);
    }
    let has_all = errors.profile.minor >= since::RESTART_OF_ALL_CONTAINERS;
    let actions = if has_all { &ACTIONS[..] } else { &ACTIONS[..1] };
    for (index, rule) in rules.iter().enumerate() {
        let at = rules_at.index(index);
        if !actions.contains(&text(&rule["action"])) {
            errors.unsupported(at.child("action"), text(&rule["action"]), actions);
        }
        let codes = &rule["exitCodes"];
        if !codes.is_object() {
            errors.required(at.child("exitCodes"), "must be specified");
            continue;
        }
        let at = at.child("exitCodes");
        if !OPERATORS.contains(&text(&codes["operator"])) {
            errors.unsupported(at.child("operator"), text(&codes["operator"]), &OPERATORS);
        }
        let count = items(&codes["values"]).len();
        if count > EXIT_CODES_MAX {
            errors.too_many(at.child("values"), count, EXIT_CODES_MAX);
        }
    }
}

/// Validates what a change of resources restarts (`validateResizePolicy`). A real server reports most errors at
/// the list.
pub(super) fn resize_policies(container: &Value, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(&container["resizePolicy"]);
    let is_repeated = repeated(list.iter().map(|policy| text(&policy["resourceName"])));
    for (index, policy) in list.iter().enumerate() {
        let (resource, restart) = (text(&policy["resourceName"]), text(&policy["restartPolicy"]));
        if is_repeated[index] {
            errors.duplicate(at.index(index), resource);
        }
        for (given, known) in [(resource, &RESIZABLE), (restart, &RESIZE_POLICIES)] {
            if given.is_empty() {
                errors.required(at, "");
            } else if !known.contains(&given) {
                errors.unsupported(at, given, known);
            }
        }
        if pod.restart_policy() == "Never" && restart != "NotRequired" {
            errors.invalid(at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}

/// Rejects a restart on resize for an init container that ends before the others start.
pub(super) fn no_restart_on_resize(container: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("resizePolicy");
    for (index, policy) in items(&container["resizePolicy"]).iter().enumerate() {
        if policy["restartPolicy"] == "RestartContainer" {
            let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            errors.invalid(at.index(index).child("restartPolicy"), "RestartContainer", why);
        }
    }
}
