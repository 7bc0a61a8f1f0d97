//! Which objects a list, a watch or a deletion is about.

mod fields;
mod labels;
mod page;
mod text;

use serde_json::Value;

pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;
pub(crate) use page::Continue;
pub(crate) use text::text;

use super::kinds::Kind;
use super::request::Query;
use super::status::{Outcome, Refused};

/// Whether a selector of the API (`metav1.LabelSelector`) chooses these labels. An empty one chooses all, none nothing.
pub(crate) fn chooses(selector: &Value, labels: &Value) -> bool {
    let list = |value: &Value, has: &dyn Fn(&str) -> bool| {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).any(has)
    };
    let label = |key: &str| labels[key].as_str();
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    selector.is_object()
        && equal.into_iter().all(|(key, value)| label(key) == value.as_str())
        && selector["matchExpressions"].as_array().into_iter().flatten().all(|expression| {
            let found = label(expression["key"].as_str().unwrap_or_default());
            let among = || found.is_some_and(|found| list(&expression["values"], &|value| value == found));
            match expression["operator"].as_str().unwrap_or_default() {
                "In" => among(),
                "NotIn" => !among(),
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

/// Labels and fields together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selector {
    /// Reads `labelSelector` and `fieldSelector`.
    pub(crate) fn read(kind: &Kind, query: &Query) -> Outcome<Self> {
        let labels = LabelSelector::parse(query.get("labelSelector")).map_err(Refused::bad_request)?;
        let fields = FieldSelector::parse(query.get("fieldSelector"), kind).map_err(Refused::bad_request)?;
        Ok(Self { labels, fields })
    }

    /// Narrows to one name.
    pub(crate) fn only_name(&mut self, name: &str) {
        self.fields.only_name(name);
    }

    /// The only name that objects can have, if there is one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.name()
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.fields.matches(object) && self.labels.matches(&object["metadata"]["labels"])
    }
}
