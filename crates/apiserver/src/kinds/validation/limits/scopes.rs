//! Validation of the scopes of resource quotas.

use serde_json::Value;

use crate::gotext;
use crate::kinds::validation::resource_names::is_quota_resource;
use crate::kinds::validation::{Errors, Path, items, text};

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];
/// Scopes that exclude each other.
const CONFLICTS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
/// Resources of pods besides their number (`podComputeQuotaResources`).
const COMPUTE: [&str; 6] =
    ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
const INAPPLICABLE: &str = "unsupported scope applied to resource";
const MUST_EXIST: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
    ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
    ResourceQuotaScopeCrossNamespacePodAffinity";

/// The most errors that show a whole list. There are seven scopes; a real server shows the list for each wrong one, however long
/// it is.
const MOST_SHOWN: usize = 50;

/// Validates `scopes` and `scopeSelector`.
pub(super) fn check(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (scopes, place) = (&spec["scopes"], at.child("scopes"));
    let before = errors.found.len();
    for scope in items(scopes).iter().map(text) {
        if errors.found.len() - before >= MOST_SHOWN {
            break;
        }
        if !SCOPES.contains(&scope) {
            wrong(scopes, place, "unsupported scope", errors);
        }
        for _ in inapplicable(spec, scope).take(MOST_SHOWN) {
            wrong(scopes, place, INAPPLICABLE, errors);
        }
    }
    let has = |scope: &str| items(scopes).iter().any(|given| given == scope);
    for _ in CONFLICTS.into_iter().filter(|[one, other]| has(one) && has(other)) {
        wrong(scopes, place, "conflicting scopes", errors);
    }
    selector(spec, at.child("scopeSelector").child("matchExpressions"), errors);
}

/// The resources of a quota that a scope does not limit (`IsResourceQuotaScopeValidForResource`).
fn inapplicable<'a>(spec: &'a Value, scope: &'a str) -> impl Iterator<Item = &'a String> {
    let names = spec["hard"].as_object().into_iter().flat_map(serde_json::Map::keys);
    names.filter(move |name| is_quota_resource(name) && !applies(scope, name))
}

fn applies(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ if SCOPES.contains(&scope) => resource == "pods" || COMPUTE.contains(&resource),
        _ => true,
    }
}

/// An invalid list of scopes.
pub(super) fn wrong(scopes: &Value, at: Path<'_>, why: &str, errors: &mut Errors<'_>) {
    let quoted: Vec<String> = items(scopes).iter().map(|scope| gotext::quote(text(scope))).collect();
    let syntax = if scopes.is_null() {
        "[]core.ResourceQuotaScope(nil)".to_owned()
    } else {
        format!("[]core.ResourceQuotaScope{{{}}}", quoted.join(", "))
    };
    errors.invalid_shown(at, scopes.to_string(), syntax, why);
}

/// Validates the expressions of a selector (`validateScopedResourceSelectorRequirement`).
fn selector(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let expressions = items(&spec["scopeSelector"]["matchExpressions"]);
    let mut shown_lists = 0;
    for expression in expressions {
        let scope = text(&expression["scopeName"]);
        if !SCOPES.contains(&scope) {
            errors.invalid(at.child("scopeName"), scope, "unsupported scope");
        }
        let left = MOST_SHOWN.saturating_sub(shown_lists);
        for _ in inapplicable(spec, scope).take(left) {
            shown_lists += 1;
            let json = shown(expressions);
            let syntax = format!("&core.ScopeSelector{json}");
            errors.invalid_shown(at, json, syntax, INAPPLICABLE);
        }
        operator(expression, scope, at, errors);
    }
    let has = |scope: &str| expressions.iter().any(|one| one["scopeName"] == scope);
    for _ in CONFLICTS.into_iter().filter(|[one, other]| has(one) && has(other)) {
        // A real server shows the other list of scopes here.
        wrong(&spec["scopes"], at, "conflicting scopes", errors);
    }
}

/// A selector as JSON of the internal type.
fn shown(expressions: &[Value]) -> String {
    let shown = expressions.iter().map(|one| {
        let (scope, operator) = (Value::from(text(&one["scopeName"])), Value::from(text(&one["operator"])));
        format!("{{\"ScopeName\":{scope},\"Operator\":{operator},\"Values\":{}}}", one["values"])
    });
    format!("{{\"MatchExpressions\":[{}]}}", shown.collect::<Vec<_>>().join(","))
}

fn operator(expression: &Value, scope: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let operator = text(&expression["operator"]);
    let place = at.child("operator");
    let has_values = matches!(scope, "PriorityClass" | "VolumeAttributesClass");
    if SCOPES.contains(&scope) && !has_values && operator != "Exists" {
        errors.invalid(place, operator, MUST_EXIST);
    }
    let values = &expression["values"];
    match (operator, items(values).is_empty()) {
        ("In" | "NotIn", true) => {
            let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.required(at.child("values"), why);
        }
        ("Exists" | "DoesNotExist", false) => {
            let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.invalid(at.child("values"), values.clone(), why);
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
        _ => errors.invalid(place, operator, "not a valid selector operator"),
    }
}
