//! The behavior of an autoscaler as the internal type, whose JSON has the names of Go fields.

use serde_json::{Map, Value, json};

/// The fields of rules: their names in Go and in the API.
const RULES: [(&str, &str); 4] = [
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
    ("SelectPolicy", "selectPolicy"),
    ("Policies", "policies"),
    ("Tolerance", "tolerance"),
];
const POLICY: [(&str, &str); 3] = [("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds")];
const DIRECTIONS: [(&str, &str); 2] = [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")];

/// Formats a behavior as JSON of the internal type.
pub(super) fn to_internal(behavior: &Value) -> String {
    object(behavior, &DIRECTIONS, |rules, _| {
        object(rules, &RULES, |value, name| match value.as_array() {
            Some(policies) if name == "Policies" => {
                let all = policies.iter().map(|policy| object(policy, &POLICY, |value, _| value.to_string()));
                format!("[{}]", all.collect::<Vec<_>>().join(","))
            }
            _ => value.to_string(),
        })
    })
}

fn object(value: &Value, fields: &[(&str, &str)], show: impl Fn(&Value, &str) -> String) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let fields = fields.iter().map(|(name, field)| format!("\"{name}\":{}", show(&value[*field], name)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Reads a behavior of the internal type.
pub(super) fn from_internal(stored: &Value) -> Value {
    rename(stored, &DIRECTIONS, |rules, _| {
        rename(rules, &RULES, |value, name| match value.as_array() {
            Some(policies) if name == "Policies" => {
                policies.iter().map(|policy| rename(policy, &POLICY, |value, _| value.clone())).collect()
            }
            _ => value.clone(),
        })
    })
}

fn rename(value: &Value, fields: &[(&str, &str)], read: impl Fn(&Value, &str) -> Value) -> Value {
    let mut renamed = Map::new();
    for (name, field) in fields {
        // Go matches names of fields without regard to their case.
        let given = value.get(*name).or_else(|| value.get(*field)).filter(|given| !given.is_null());
        if let Some(given) = given {
            renamed.insert((*field).to_owned(), read(given, name));
        }
    }
    json!(renamed)
}
