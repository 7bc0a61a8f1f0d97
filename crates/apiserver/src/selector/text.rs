//! Formats label selectors as in queries.

use std::collections::BTreeMap;

use serde_json::Value;

/// Formats a selector with its requirements sorted by key (`metav1.FormatLabelSelector`). A plain map, like
/// in ReplicationControllers, is a map of labels.
pub(crate) fn text(selector: &Value) -> String {
    let plain = selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none();
    let labels = if plain { selector } else { &selector["matchLabels"] };
    let mut requirements: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        let text = format!("{key}={}", value.as_str().unwrap_or_default());
        requirements.entry(key).or_default().push(text);
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        requirements.entry(key).or_default().push(requirement(key, expression));
    }
    requirements.into_values().flatten().collect::<Vec<_>>().join(",")
}

fn requirement(key: &str, expression: &Value) -> String {
    let values = expression["values"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
    values.sort_unstable();
    let values = values.join(",");
    match expression["operator"].as_str().unwrap_or_default() {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_are_sorted_by_key() {
        let selector = json!({
            "matchLabels": { "b": "1" },
            "matchExpressions": [
                { "key": "a", "operator": "In", "values": ["y", "x"] },
                { "key": "c", "operator": "DoesNotExist" },
            ],
        });
        assert_eq!(text(&selector), "a in (x,y),b=1,!c");
        assert_eq!(text(&json!({ "app": "x" })), "app=x");
    }
}
