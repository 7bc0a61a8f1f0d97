//! The text of label selectors in Events.

use serde_json::Value;

/// A label selector as Go prints a pointer to one.
pub(super) fn go_selector(selector: &Value) -> String {
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels: Vec<String> = labels.map(|(name, value)| format!("{name}: {},", words(value))).collect();
    let labels = labels.concat();
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let requirement = |one: &Value| {
        let values: Vec<String> = one["values"].as_array().into_iter().flatten().map(words).collect();
        let (key, operator, values) = (words(&one["key"]), words(&one["operator"]), values.join(" "));
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
    };
    let expressions = expressions.map(requirement).collect::<Vec<_>>().concat();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
