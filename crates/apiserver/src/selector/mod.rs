//! Selectors of the objects of a list, watch or deletion.

mod fields;
mod labels;
mod page;
mod text;

use serde_json::Value;
pub(crate) use windtunnel_core::selector::selector_matches;

use super::kinds::Kind;
use super::request::Query;
use super::status::{Outcome, Refused};
use super::wording;
pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;
pub(crate) use page::Continue;
pub(crate) use text::text;

/// A label selector and a field selector.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selector {
    /// Parses `labelSelector` and `fieldSelector`.
    pub(crate) fn parse(kind: &Kind, query: &Query, minor: u32) -> Outcome<Self> {
        let labels = LabelSelector::parse(query.get("labelSelector"))
            .map_err(|why| Refused::bad_request(wording::phrases(&why, minor)))?;
        let fields = FieldSelector::parse(query.get("fieldSelector"), kind).map_err(Refused::bad_request)?;
        Ok(Self { labels, fields })
    }

    /// Restricts the selector to one name.
    pub(crate) fn only_name(&mut self, name: &str) {
        self.fields.only_name(name);
    }

    /// The only name that the selector allows, if it requires one.
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
