//! Label selectors.

use serde_json::Value;

/// Whether a `metav1.LabelSelector` matches labels. An empty selector matches all labels, a missing selector
/// none.
pub fn selector_matches(selector: &Value, labels: &Value) -> bool {
    let list = |value: &Value, has: &dyn Fn(&str) -> bool| {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).any(has)
    };
    let label = |key: &str| labels[key].as_str();
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    selector.is_object()
        && equal.into_iter().all(|(key, value)| label(key) == value.as_str())
        && selector["matchExpressions"].as_array().into_iter().flatten().all(|expression| {
            let found = label(expression["key"].as_str().unwrap_or_default());
            let is_in = || found.is_some_and(|found| list(&expression["values"], &|value| value == found));
            match expression["operator"].as_str().unwrap_or_default() {
                "In" => is_in(),
                "NotIn" => !is_in(),
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

/// Whether a selector is valid: its operators exist and have values if and only if they need some
/// (`metav1.LabelSelectorAsSelector`).
pub fn is_valid(selector: &Value) -> bool {
    let expressions = selector["matchExpressions"].as_array();
    expressions.into_iter().flatten().all(|expression| {
        let values = expression["values"].as_array().map_or(0, Vec::len);
        match expression["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" => values > 0,
            "Exists" | "DoesNotExist" => values == 0,
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_requirements_of_a_selector_must_match() {
        let labels = json!({ "app": "web", "tier": "front" });
        let check = |selector: Value, expected: bool| {
            assert_eq!(selector_matches(&selector, &labels), expected, "{selector}");
        };
        check(Value::Null, false);
        check(json!({}), true);
        check(json!({ "matchLabels": { "app": "web" } }), true);
        check(json!({ "matchLabels": { "app": "web", "tier": "back" } }), false);
        let expression = |key: &str, operator: &str, values: Value| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
        check(expression("app", "In", json!(["db", "web"])), true);
        check(expression("app", "NotIn", json!(["web"])), false);
        check(expression("zone", "NotIn", json!(["a"])), true);
        check(expression("zone", "DoesNotExist", Value::Null), true);
        check(expression("zone", "Exists", Value::Null), false);
    }
    #[test]
    fn rejects_unknown_operators_and_unfitting_values() {
        let valid = |operator: &str, values: Value| {
            is_valid(&json!({ "matchExpressions": [{ "key": "a", "operator": operator, "values": values }] }))
        };
        assert!(is_valid(&Value::Null) && is_valid(&json!({ "matchLabels": { "a": "b" } })));
        assert!(
            valid("In", json!(["b"])) && valid("Exists", Value::Null) && valid("DoesNotExist", json!([]))
        );
        assert!(!valid("In", json!([])) && !valid("Exists", json!(["b"])) && !valid("Like", json!(["b"])));
    }
}
