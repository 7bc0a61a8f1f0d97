//! The difference between the ends of two runs, and the steps of a scenario that notice it.

use serde_json::Value;
use windtunnel_core::Key;
use windtunnel_core::text::short_duration;

use super::placed_fault::scalar;
use super::trial::SETTLING;
use crate::engine::error::SessionError;
use crate::engine::restarts::End;
use crate::engine::restored::{Contents, Difference, differences, object_name};
use crate::plan::FieldPath;

/// How a run with faults ends in another way than the run without.
#[derive(Debug, Clone)]
pub(super) struct Deviation {
    /// The difference in words.
    pub(super) text: String,
    /// Steps in YAML that fail at the end of a run with the faults.
    pub(super) last_steps: Vec<String>,
}

impl From<SessionError> for Deviation {
    fn from(error: SessionError) -> Self {
        Self { text: error.to_string(), last_steps: Vec::new() }
    }
}

impl Deviation {
    /// The first difference, if there is one.
    pub(super) fn find(without: &End, with: &End) -> Option<Self> {
        match (without, with) {
            (Ok(without), Ok(with)) => Self::of_clusters(without, with),
            (Ok(_), Err(failure)) => {
                let text = format!("{}: {}", failure.step, failure.error);
                Some(Self { text, last_steps: Vec::new() })
            }
            // A plan that fails anyway has no end to compare.
            (Err(_), _) => None,
        }
    }

    fn of_clusters(without: &Contents, with: &Contents) -> Option<Self> {
        let changed = without.iter().find_map(|(key, content)| {
            let name = object_name(&content.kind, key);
            let Some(other) = with.get(key) else {
                let text = format!("{name} is missing, and is there without the faults");
                return Some(Self::noticed(text, &name, key, ""));
            };
            let first = differences(&content.kind, &content.value, &other.value).into_iter().next()?;
            if first.hides_a_value() {
                return Some(Self::of_secret(&name, &first));
            }
            let text = format!(
                "{name}: {} is {}, and {} without the faults",
                first.field, first.after, first.before
            );
            let fields = leaf(&first.before, first.field)
                .map(|(field, value)| format!(", fields: {{{}: {value}}}", scalar(&field.to_string())));
            Some(Self::noticed(text, &name, key, &fields.unwrap_or_default()))
        });
        changed.or_else(|| {
            let (key, content) = with.iter().find(|(key, _)| without.get(key).is_none())?;
            let name = object_name(&content.kind, key);
            let text = format!("{name} is there, and is missing without the faults");
            Some(Self::noticed(text, &name, key, ", absent: true"))
        })
    }

    /// A difference of a Secret. No step of a scenario can name it without the value.
    fn of_secret(name: &str, difference: &Difference) -> Self {
        let Difference { field, before, after } = difference;
        let text = if difference.is_hidden() {
            format!("{name}: {field} differs from that without the faults")
        } else {
            format!("{name}: {field} is {after}, and {before} without the faults")
        };
        Self { text, last_steps: Vec::new() }
    }

    /// Pods with generated names are counted under a pattern, which no object has.
    fn noticed(text: String, object: &str, key: &Key, expected: &str) -> Self {
        if key.name.ends_with('*') {
            return Self { text, last_steps: Vec::new() };
        }
        let advance = format!("advance: {}", short_duration(SETTLING));
        let expect = format!("expect: {{object: {}{expected}}}", scalar(object));
        Self { text, last_steps: vec![advance, expect] }
    }
}

/// The first field in a value that is neither list nor object, with its text in YAML; `None` if the value is empty. A
/// missing field is an empty text.
fn leaf(value: &Value, field: FieldPath) -> Option<(FieldPath, String)> {
    match value {
        Value::String(text) => Some((field, scalar(text))),
        Value::Bool(_) | Value::Number(_) => Some((field, scalar(&value.to_string()))),
        Value::Null => Some((field, scalar(""))),
        Value::Array(items) => leaf(items.first()?, field.item("0")),
        Value::Object(fields) => {
            fields.iter().next().and_then(|(name, value)| leaf(value, field.member(name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_of_a_secret_is_in_no_text_and_in_no_step() {
        let cluster = |secret: Value| {
            let mut view = windtunnel_core::View::default();
            let object = windtunnel_core::Object::new(secret);
            let key = windtunnel_core::resources::SECRETS.key("default", "mine");
            let kind = windtunnel_core::ChangeKind::Added;
            view.apply(&windtunnel_core::Change { key, kind, object, old: None });
            Contents::of(&view, &[])
        };
        let secret = |token: &str| {
            let metadata = json!({ "namespace": "default", "name": "mine" });
            json!({ "kind": "Secret", "metadata": metadata, "data": { "token": token } })
        };
        let found = Deviation::of_clusters(&cluster(secret("b25l")), &cluster(secret("dHdv"))).unwrap();
        let text = "Secret/default/mine: data.token differs from that without the faults";
        assert_eq!((found.text.as_str(), found.last_steps), (text, Vec::new()));
    }

    #[test]
    fn an_expectation_names_a_single_field() {
        let found = |value: Value| {
            let (field, text) = leaf(&value, FieldPath::default().member("data"))?;
            Some((field.to_string(), text))
        };
        assert_eq!(found(json!({ "a": [{ "b": 1 }] })), Some(("data.a[0].b".to_owned(), "\"1\"".to_owned())));
        assert_eq!(found(Value::Null), Some(("data".to_owned(), "\"\"".to_owned())));
        assert_eq!(found(json!({})), None);
    }
}
