//! Parsed CustomResourceDefinitions, once per replacement.

use std::sync::Arc;

use serde_json::Value;

use crate::kinds::custom::Version;

/// A definition that can be served.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) versions: Vec<Arc<Version>>,
}

impl Definition {
    /// Parses a stored definition.
    pub(crate) fn read(crd: &Value) -> Self {
        let (spec, names) = (&crd["spec"], &crd["spec"]["names"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().map(|list| list.iter().map(text).collect()).unwrap_or_default()
        };
        let (group, kind) = (text(&spec["group"]), text(&names["kind"]));
        let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self {
            plural: text(&names["plural"]),
            singular: text(&names["singular"]),
            list_kind: text(&names["listKind"]),
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
            namespaced: spec["scope"] == "Namespaced",
            versions: versions
                .iter()
                .map(|version| Arc::new(Version::read(version, versions, &group, &kind)))
                .collect(),
            group,
            kind,
        }
    }

    /// The storage version.
    pub(crate) fn storage(&self) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.storage)
    }
}
