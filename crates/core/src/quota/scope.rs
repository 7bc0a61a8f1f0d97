//! The scopes of a quota (`podMatchesScopeFunc`).

use serde_json::Value;

/// Whether a quota covers an object of this kind. A quota with scopes only covers pods and claims that match all of them.
pub fn covers(spec: &Value, group: &str, plural: &str, object: &Value) -> bool {
    let scopes = spec["scopes"].as_array().into_iter().flatten();
    let selectors = spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten();
    let mut all = scopes
        .map(|scope| (scope.as_str().unwrap_or_default(), &Value::Null))
        .chain(selectors.map(|selector| (selector["scopeName"].as_str().unwrap_or_default(), selector)));
    all.all(|(scope, selector)| match (group, plural) {
        ("", "pods") => matches_pod(scope, selector, object),
        ("", "persistentvolumeclaims") => matches_claim(scope, selector, object),
        _ => false,
    })
}

fn matches_pod(scope: &str, selector: &Value, pod: &Value) -> bool {
    let spec = &pod["spec"];
    let terminating = || spec["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0);
    let best_effort = || pod["status"]["qosClass"] == "BestEffort";
    match scope {
        "Terminating" => terminating(),
        "NotTerminating" => !terminating(),
        "BestEffort" => best_effort(),
        "NotBestEffort" => !best_effort(),
        "PriorityClass" => selects(selector, spec["priorityClassName"].as_str()),
        "CrossNamespacePodAffinity" => {
            ["podAffinity", "podAntiAffinity"].iter().any(|kind| is_cross_namespace(&spec["affinity"][kind]))
        }
        _ => false,
    }
}

/// Whether a claim has, had or gets a volume attributes class that matches.
fn matches_claim(scope: &str, selector: &Value, claim: &Value) -> bool {
    let status = &claim["status"];
    let classes = [
        &claim["spec"]["volumeAttributesClassName"],
        &status["currentVolumeAttributesClassName"],
        &status["modifyVolumeStatus"]["targetVolumeAttributesClassName"],
    ];
    let mut named =
        classes.into_iter().filter_map(Value::as_str).filter(|class| !class.is_empty()).peekable();
    let has_class = named.peek().is_some();
    let matching =
        if has_class { named.any(|class| selects(selector, Some(class))) } else { selects(selector, None) };
    scope == "VolumeAttributesClass" && matching
}

/// Whether a scope selector matches the class of an object.
fn selects(selector: &Value, class: Option<&str>) -> bool {
    let class = class.filter(|class| !class.is_empty());
    let listed = || {
        let values = selector["values"].as_array().into_iter().flatten();
        class.is_some_and(|class| values.into_iter().any(|value| value == class))
    };
    match selector["operator"].as_str() {
        Some("In") => listed(),
        Some("NotIn") => !listed(),
        Some("DoesNotExist") => class.is_none(),
        _ => class.is_some(),
    }
}

/// Whether a term of an affinity selects pods in other namespaces.
fn is_cross_namespace(affinity: &Value) -> bool {
    let terms = |field: &str| affinity[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let hard = terms("requiredDuringSchedulingIgnoredDuringExecution").iter();
    let soft =
        terms("preferredDuringSchedulingIgnoredDuringExecution").iter().map(|term| &term["podAffinityTerm"]);
    hard.chain(soft).any(|term| {
        term["namespaces"].as_array().is_some_and(|names| !names.is_empty())
            || term["namespaceSelector"].is_object()
    })
}
