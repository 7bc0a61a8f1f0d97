//! Selectors of the objects of a list, watch or deletion.

mod fields;
mod labels;
mod page;
mod terms;
mod text;

use serde_json::Value;
pub(crate) use windtunnel_core::selector::selector_matches;

use super::kinds::Kind;
use super::rejection::{BoxedRejection, Outcome};
use super::request::{Query, options};
use super::wording;
use crate::profile::Profile;
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
    /// Parses the options of a list, a watch or a deletion of a collection, in the order of the real server, and returns their
    /// selector: numbers, syntax of selectors, validation, supported fields.
    pub(crate) fn of_options(kind: &Kind, query: &Query, watch: bool, profile: &Profile) -> Outcome<Self> {
        for name in ["timeoutSeconds", "limit"].into_iter().filter(|name| query.is_given(name)) {
            options::number(query.get(name))?;
        }
        let labels = LabelSelector::parse(query.get("labelSelector"))
            .map_err(|why| BoxedRejection::bad_request(wording::phrases(&why, profile.minor)))?;
        let terms = terms::parse(query.get("fieldSelector")).map_err(BoxedRejection::bad_request)?;
        options::list::check(query, watch, profile)?;
        let fields = FieldSelector::of(terms, kind).map_err(BoxedRejection::bad_request)?;
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
