//! The difference between the ends of two runs, and the steps of a scenario that notice it.

use serde_json::Value;
use windtunnel_core::text::short_duration;
use windtunnel_core::yaml::scalar;

use super::trial::SETTLING;
use crate::engine::restored::{ChangedObject, Contents, Difference, ObjectChange, changed_objects};
use crate::plan::FieldPath;
use crate::record::Secrets;

/// How a run with faults ends in another way than the run without.
#[derive(Debug, Clone)]
pub(super) struct Deviation {
    /// The difference in words.
    pub(super) text: String,
    /// Steps in YAML that fail at the end of a run with the faults.
    pub(super) last_steps: Vec<String>,
}

impl From<String> for Deviation {
    /// A difference that no step notices.
    fn from(text: String) -> Self {
        Self { text, last_steps: Vec::new() }
    }
}

impl Deviation {
    /// The first difference between two clusters, if there is one. New objects come last.
    pub(super) fn of_clusters(without: &Contents, with: &Contents) -> Option<Self> {
        let changed: Vec<ChangedObject<'_>> = changed_objects(without, with).collect();
        let is_new = |object: &&ChangedObject<'_>| matches!(object.change, ObjectChange::New(_));
        let found = changed.iter().find(|object| !is_new(object)).or(changed.first())?;
        let text = found.text("the faults");
        let expected = match &found.change {
            ObjectChange::Missing => Some(String::new()),
            ObjectChange::New(_) => Some(", absent: true".to_owned()),
            ObjectChange::Fields(fields) => fields.first().and_then(expected_field),
        };
        // Pods with generated names are counted under a pattern, which no object has.
        let Some(expected) = expected.filter(|_| !found.key.name.ends_with('*')) else {
            return Some(Self::from(text));
        };
        let advance = format!("advance: {}", short_duration(SETTLING));
        let expect = format!("expect: {{object: {}{expected}}}", scalar(&found.name()));
        Some(Self { text, last_steps: vec![advance, expect] })
    }

    /// Returns the difference without the values of Secrets. Steps that would contain one are left out.
    pub(super) fn without_secrets(mut self, secrets: &Secrets) -> Self {
        self.text = secrets.hide(&self.text);
        if self.last_steps.iter().any(|step| secrets.hide(step) != *step) {
            self.last_steps.clear();
        }
        self
    }
}

/// The part of an expectation that does not hold because of a difference; empty if the existence of the object is all that
/// can be expected. `None` if it would contain, or print, the value of a Secret.
fn expected_field(difference: &Difference) -> Option<String> {
    let Difference { field, before, after } = difference;
    let leaf = leaf(before, field.clone());
    let (field, value) = match leaf {
        None => return Some(String::new()),
        // Any value is enough.
        Some((field, _)) if difference.hides_a_value() => (field, "/./".to_owned()),
        Some(found) => found,
    };
    if difference.hides_a_value() && !after.is_null() {
        return None;
    }
    Some(format!(", fields: {{{}: {value}}}", scalar(&field.to_string())))
}

/// The first field in a value that is neither list nor object, with its text in YAML; `None` if the value is empty. A
/// missing field is an empty text.
fn leaf(value: &Value, field: FieldPath) -> Option<(FieldPath, String)> {
    match value {
        Value::String(text) => Some((field, scalar(text).into_owned())),
        Value::Bool(_) | Value::Number(_) => Some((field, scalar(&value.to_string()).into_owned())),
        Value::Null => Some((field, scalar("").into_owned())),
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
        let mut without = secret("b25l");
        without.as_object_mut().unwrap().remove("data");
        let found = Deviation::of_clusters(&cluster(secret("b25l")), &cluster(without)).unwrap();
        let text = "Secret/default/mine: data is null, and {\"token\":\"REDACTED\"} without the faults";
        assert_eq!(found.text, text);
        let step = "expect: {object: Secret/default/mine, fields: {data.token: /./}}";
        assert_eq!(found.last_steps[1], step);
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
