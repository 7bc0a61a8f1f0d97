//! Transitions of containers: one that ended for good must not run again.

use serde_json::Value;

use crate::kinds::validation::pods::container::is_sidecar;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::profile::since;

/// Validates the transitions of all containers (`ValidateContainerStateTransition` and its counterparts).
pub(super) fn transitions(status: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let spec = &old["spec"];
    let minor = errors.profile.minor;
    let any_restart = minor >= since::RESTART_OF_ALL_CONTAINERS && restarts_all(spec);
    for (list, containers) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        let may_restart = |name: &str, code: i64| {
            if minor >= since::CONTAINER_RESTART_RULES {
                let container = items(&spec[containers]).iter().find(|one| one["name"] == name);
                any_restart || container.is_some_and(|container| restarts(container, spec, code))
            } else {
                let is_init = containers == "initContainers";
                let is_sidecar =
                    || items(&spec[containers]).iter().any(|one| one["name"] == name && is_sidecar(one));
                restarts_by_policy(text(&spec["restartPolicy"]), code) || is_init && is_sidecar()
            }
        };
        ended(&status[list], &old["status"][list], &may_restart, at.child(list), errors);
    }
    let list = "ephemeralContainerStatuses";
    ended(&status[list], &old["status"][list], &|_, _| false, at.child(list), errors);
}

/// Rejects a container that runs again, unless `may_restart` accepts its name and exit code.
fn ended(
    new: &Value,
    old: &Value,
    may_restart: &dyn Fn(&str, i64) -> bool,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    for (index, before) in items(old).iter().enumerate() {
        let terminated = &before["state"]["terminated"];
        if terminated.is_null() {
            continue;
        }
        let code = terminated["exitCode"].as_i64().unwrap_or(0);
        let runs = |after: &Value| after["name"] == before["name"] && after["state"]["terminated"].is_null();
        if items(new).iter().any(runs) && !may_restart(text(&before["name"]), code) {
            let why = "may not be transitioned to non-terminated state";
            errors.forbidden(at.index(index).child("state"), why);
        }
    }
}

/// Whether a rule of a container restarts the whole pod (`AllContainersCouldRestart`).
fn restarts_all(spec: &Value) -> bool {
    let containers = items(&spec["initContainers"]).iter().chain(items(&spec["containers"]));
    let mut rules = containers.flat_map(|container| items(&container["restartPolicyRules"]));
    rules.any(|rule| rule["action"] == "RestartAllContainers")
}

/// Whether a container starts again after an exit code (`ContainerShouldRestart`).
fn restarts(container: &Value, spec: &Value, code: i64) -> bool {
    let own = text(&container["restartPolicy"]);
    if own.is_empty() {
        return restarts_by_policy(text(&spec["restartPolicy"]), code);
    }
    let matches = |rule: &&Value| {
        let has_code = items(&rule["exitCodes"]["values"]).iter().any(|value| *value == code);
        match text(&rule["exitCodes"]["operator"]) {
            "In" => has_code,
            "NotIn" => !has_code,
            _ => false,
        }
    };
    let rule = items(&container["restartPolicyRules"]).iter().find(matches);
    rule.is_some_and(|rule| !rule["action"].is_null()) || restarts_by_policy(own, code)
}

fn restarts_by_policy(policy: &str, code: i64) -> bool {
    match policy {
        "OnFailure" => code != 0,
        "Never" => false,
        _ => true,
    }
}
