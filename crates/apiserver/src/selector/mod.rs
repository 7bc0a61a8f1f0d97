//! Selectors of the objects of a list, watch or deletion.

mod fields;
mod labels;
mod page;
mod terms;
mod text;

use std::collections::BTreeSet;
use std::sync::Arc;

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

/// A label selector and a field selector, and what the client may see.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: LabelSelector,
    fields: FieldSelector,
    visible: Option<Visible>,
}

/// The annotation of a namespace with the user who requested it as a project.
const REQUESTER: &str = "openshift.io/requester";

/// The objects that a user sees: those with the names that it might see when its request began, and those that it has
/// requested since.
#[derive(Debug, Clone)]
pub(crate) struct Visible {
    pub(crate) names: Arc<BTreeSet<String>>,
    pub(crate) requester: String,
}

impl Visible {
    fn has(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        metadata["name"].as_str().is_some_and(|name| self.names.contains(name))
            || metadata["annotations"][REQUESTER] == *self.requester
    }
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
        Ok(Self { labels, fields, visible: None })
    }

    /// Restricts the selector to one name.
    pub(crate) fn only_name(&mut self, name: &str) {
        self.fields.only_name(name);
    }

    /// Restricts the selector to the objects that a client may see.
    pub(crate) fn only_visible(&mut self, visible: Option<&Visible>) {
        self.visible = visible.cloned();
    }

    /// The only name that the selector allows, if it requires one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.name()
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything() && self.visible.is_none()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.fields.matches(object)
            && self.labels.matches(&object["metadata"]["labels"])
            && self.visible.as_ref().is_none_or(|visible| visible.has(object))
    }
}
