//! The metrics of autoscalers in v1, as JSON in annotations, and in v2.

use serde_json::{Map, Value, json};

/// The fields of a source in v1, in the order of the Go struct: the name, the pointer in v2, and whether the field is
/// always written.
type Source = (&'static str, &'static [(&'static str, &'static str, bool)]);

const SPEC: [Source; 5] = [
    (
        "object",
        &[
            ("target", "/describedObject", true),
            ("metricName", "/metric/name", true),
            ("targetValue", "/target/value", true),
            ("selector", "/metric/selector", false),
            ("averageValue", "/target/averageValue", false),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "/metric/name", true),
            ("targetAverageValue", "/target/averageValue", true),
            ("selector", "/metric/selector", false),
        ],
    ),
    (
        "resource",
        &[
            ("name", "/name", true),
            ("targetAverageUtilization", "/target/averageUtilization", false),
            ("targetAverageValue", "/target/averageValue", false),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "/name", true),
            ("targetAverageUtilization", "/target/averageUtilization", false),
            ("targetAverageValue", "/target/averageValue", false),
            ("container", "/container", true),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "/metric/name", true),
            ("metricSelector", "/metric/selector", false),
            ("targetValue", "/target/value", false),
            ("targetAverageValue", "/target/averageValue", false),
        ],
    ),
];

const STATUS: [Source; 5] = [
    (
        "object",
        &[
            ("target", "/describedObject", true),
            ("metricName", "/metric/name", true),
            ("currentValue", "/current/value", true),
            ("selector", "/metric/selector", false),
            ("averageValue", "/current/averageValue", false),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "/metric/name", true),
            ("currentAverageValue", "/current/averageValue", true),
            ("selector", "/metric/selector", false),
        ],
    ),
    (
        "resource",
        &[
            ("name", "/name", true),
            ("currentAverageUtilization", "/current/averageUtilization", false),
            ("currentAverageValue", "/current/averageValue", true),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "/name", true),
            ("currentAverageUtilization", "/current/averageUtilization", false),
            ("currentAverageValue", "/current/averageValue", true),
            ("container", "/container", true),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "/metric/name", true),
            ("metricSelector", "/metric/selector", false),
            ("currentValue", "/current/value", true),
            ("currentAverageValue", "/current/averageValue", false),
        ],
    ),
];

/// Formats a metric of a specification of v2 as JSON of v1.
pub(super) fn spec_to_v1(metric: &Value) -> String {
    to_v1(metric, &SPEC)
}

/// Formats a metric of a status of v2 as JSON of v1.
pub(super) fn status_to_v1(metric: &Value) -> String {
    to_v1(metric, &STATUS)
}

fn to_v1(metric: &Value, sources: &[Source]) -> String {
    let mut text = format!("{{\"type\":{}", metric["type"]);
    for (name, fields) in sources {
        let source = &metric[*name];
        if source.is_null() {
            continue;
        }
        let fields = fields.iter().filter_map(|(field, pointer, always)| {
            let value = source.pointer(pointer);
            let shown = match (value, *field) {
                (Some(value), "target") => ordered(value, &["kind", "name", "apiVersion"]),
                (Some(value), _) => value.to_string(),
                (None, "metricName" | "name" | "container") if *always => "\"\"".to_owned(),
                (None, _) if *always => "\"0\"".to_owned(),
                (None, _) => return None,
            };
            Some(format!("\"{field}\":{shown}"))
        });
        text.push_str(&format!(",\"{name}\":{{{}}}", fields.collect::<Vec<_>>().join(",")));
    }
    text + "}"
}

/// An object as JSON with fields in this order.
pub(super) fn ordered(value: &Value, fields: &[&str]) -> String {
    let given = fields.iter().filter_map(|field| Some(format!("\"{field}\":{}", value.get(*field)?)));
    format!("{{{}}}", given.collect::<Vec<_>>().join(","))
}

/// Converts a metric of a specification of v1 to v2.
pub(super) fn spec_to_v2(metric: &Value) -> Value {
    let mut metric = to_v2(metric, &SPEC);
    for (name, _) in SPEC {
        let Some(source) = metric.get_mut(name) else { continue };
        let has = |field: &str| !source["target"][field].is_null();
        let kind = match name {
            "resource" | "containerResource" if has("averageUtilization") => "Utilization",
            "object" if !has("averageValue") => "Value",
            "external" if has("value") => "Value",
            _ => "AverageValue",
        };
        let is_zero = source["target"]["value"] == "0";
        source["target"]["type"] = json!(kind);
        if name == "object" && kind == "AverageValue" && is_zero {
            source["target"].as_object_mut().map(|target| target.remove("value"));
        }
    }
    metric
}

/// Converts a metric of a status of v1 to v2.
pub(super) fn status_to_v2(metric: &Value) -> Value {
    to_v2(metric, &STATUS)
}

fn to_v2(metric: &Value, sources: &[Source]) -> Value {
    let mut converted = Map::new();
    converted.insert("type".to_owned(), metric["type"].clone());
    for (name, fields) in sources {
        if metric[*name].is_null() {
            continue;
        }
        let mut source = json!({});
        for (field, pointer, _) in *fields {
            if let Some(value) = metric[*name].get(*field) {
                set(&mut source, pointer, value.clone());
            }
        }
        converted.insert((*name).to_owned(), source);
    }
    Value::Object(converted)
}

/// Sets a value at a pointer, and creates the objects on the way.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let place = pointer.split('/').skip(1).fold(object, |at, field| &mut at[field]);
    *place = value;
}
