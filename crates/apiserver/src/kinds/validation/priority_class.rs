//! Validation of priority classes, and the classes of the system.

use serde_json::{Value, json};

use super::{Errors, Path, immutable, text};

/// The highest priority of a user-defined class.
const HIGHEST_USER_PRIORITY: i64 = 1_000_000_000;
const POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];
/// The names and the priorities of the classes of the system.
const SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// Validates a priority class (`ValidatePriorityClass`, `ValidatePriorityClassUpdate`).
pub(super) fn priority_class(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let name = text(&object["metadata"]["name"]);
    let value = object["value"].as_i64().unwrap_or(0);
    let at = |field| Path::Root.child(field);
    if let Some(old) = old {
        // An update is not validated like a new class.
        if old["value"] != object["value"] {
            errors.forbidden(at("value"), "may not be changed in an update.");
        }
        let policy = &object["preemptionPolicy"];
        immutable(policy, Some(&old["preemptionPolicy"]), at("preemptionPolicy"), errors);
        return;
    }
    if name.starts_with("system-") {
        if let Some(problem) = system_problem(object, name, value) {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            );
            errors.forbidden(at("metadata").child("name"), why);
        }
    } else if value > HIGHEST_USER_PRIORITY {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
        errors.forbidden(at("value"), why);
    }
    match object["preemptionPolicy"].as_str() {
        Some("") => errors.required(at("preemptionPolicy"), ""),
        Some(policy) if !POLICIES.contains(&policy) => {
            errors.unsupported(at("preemptionPolicy"), policy, &POLICIES);
        }
        _ => {}
    }
}

/// How a class differs from the one of the system with its name (`IsKnownSystemPriorityClass`).
fn system_problem(object: &Value, name: &str, value: i64) -> Option<String> {
    match SYSTEM.iter().find(|(known, _)| *known == name) {
        None => Some(format!("{name} is not a known system priority class")),
        Some((_, wanted)) if *wanted != value => {
            Some(format!("value of {name} PriorityClass must be {wanted}"))
        }
        Some(_) if object["globalDefault"] == true => {
            Some(format!("globalDefault of {name} PriorityClass must be false"))
        }
        Some(_) => None,
    }
}

/// The priority classes that every cluster has (`SystemPriorityClasses`).
pub(crate) fn system_priority_classes() -> [Value; 2] {
    let class = |name: &str, value: i64, description: &str| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": name },
            "value": value, "description": description,
        })
    };
    [
        class(
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        class(
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if \
             necessary.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::validation::examples::{rejects, rejects_updates};

    #[test]
    fn classes_of_the_system_are_reserved() {
        let valid = json!({ "metadata": { "name": "x" }, "value": 5, "preemptionPolicy": "Never" });
        let reserved = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. \
                        error: ";
        let unknown = format!("{reserved}system-x is not a known system priority class");
        let value = format!("{reserved}value of system-node-critical PriorityClass must be 2000001000");
        rejects(
            priority_class,
            &valid,
            &[
                (json!({ "metadata": { "name": "system-x" } }), &unknown),
                (json!({ "metadata": { "name": "system-node-critical" } }), &value),
                (
                    json!({ "value": 1_000_000_001 }),
                    "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
                ),
                (
                    json!({ "preemptionPolicy": "X" }),
                    "preemptionPolicy: Unsupported value: \"X\": supported values: \"PreemptLowerPriority\", \"Never\"",
                ),
            ],
        );
        rejects_updates(
            priority_class,
            &valid,
            &[
                (json!({ "value": 6 }), "value: Forbidden: may not be changed in an update."),
                (json!({ "globalDefault": true }), ""),
            ],
        );
    }
}
