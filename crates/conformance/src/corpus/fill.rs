//! Replaces the names in a request.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

/// The values of the names that a case may use as `${name}`.
pub type Env = BTreeMap<String, Value>;

/// Replaces `${name}` by its value and `${x*5}` by `xxxxx`. A text that is only `${name}` becomes the value
/// itself.
pub fn fill(value: &Value, env: &Env) -> Value {
    match value {
        Value::String(text) => {
            let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            match whole.and_then(|name| env.get(name)) {
                Some(value) => value.clone(),
                None => json!(fill_text(text, env)),
            }
        }
        Value::Array(items) => items.iter().map(|item| fill(item, env)).collect(),
        Value::Object(map) => {
            let filled: Map<String, Value> =
                map.iter().map(|(key, value)| (fill_text(key, env), fill(value, env))).collect();
            Value::Object(filled)
        }
        other => other.clone(),
    }
}

fn fill_text(text: &str, env: &Env) -> String {
    static REPEAT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$\{(.)\*(\d{1,7})\}").expect("valid"));
    static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$\{(\w+)\}").expect("valid"));
    if !text.contains("${") {
        return text.to_owned();
    }
    let text =
        REPEAT.replace_all(text, |found: &Captures<'_>| found[1].repeat(found[2].parse().unwrap_or(0)));
    let text = NAME.replace_all(&text, |found: &Captures<'_>| match env.get(&found[1]) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => found[0].to_owned(),
    });
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_repetitions_are_replaced() {
        let env = Env::from([("ns".into(), json!("n1")), ("pod".into(), json!({"a": "${ns}"}))]);
        assert_eq!(
            fill(&json!(["${ns}-x", "${pod}", "${a*3}", "${unknown}"]), &env),
            json!(["n1-x", {"a": "${ns}"}, "aaa", "${unknown}"])
        );
    }
}
