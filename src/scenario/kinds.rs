//! The kinds that a scenario can name: those that windtunnel knows, and those of the definitions that the
//! scenario brings, from its own objects, its `apply` steps and its payload folders.

use serde_json::Value;
use windtunnel_core::resources::{self, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::text::nearest_few;
use windtunnel_core::{Resource, text};
use windtunnel_openshift::oc::{self, CustomKind};
use windtunnel_openshift::release::Release;

/// The kinds of a scenario up to a step.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    /// Those of the scenario's own definitions, the latest first.
    defined: Vec<CustomKind>,
}

impl Kinds {
    /// Adds the kind of an object that is a CustomResourceDefinition; other objects define none.
    pub(super) fn define(&mut self, object: &Value) {
        if object["kind"] == *CUSTOM_RESOURCE_DEFINITIONS.kind {
            self.defined.splice(0..0, CustomKind::of_definition(object));
        }
    }

    /// Adds the kinds of a payload.
    pub(super) fn define_all_of(&mut self, release: &Release) {
        for manifest in release.payload.iter().flat_map(|payload| &payload.manifests) {
            self.define(&manifest.object);
        }
    }

    /// Returns the kinds of the scenario's own definitions.
    pub(super) fn defined(&self) -> &[CustomKind] {
        &self.defined
    }

    fn own(&self) -> impl Iterator<Item = &Resource> {
        self.defined.iter().map(CustomKind::resource)
    }

    /// Returns the kind with a name of the command line: its plural, singular or short name.
    ///
    /// # Errors
    /// The nearest names of kinds.
    pub fn find_by_any_name(&self, name: &str) -> Result<Resource, String> {
        oc::find_resource(name, &self.defined).ok_or_else(|| self.unknown(name))
    }

    /// Returns the kind of this name, optionally qualified by its group as in `Node.config.openshift.io`.
    ///
    /// # Errors
    /// The nearest names.
    pub fn find(&self, name: &str) -> Result<Resource, String> {
        let (kind, group) = name.split_once('.').map_or((name, None), |(kind, group)| (kind, Some(group)));
        let is_it =
            |resource: &&Resource| resource.kind == kind && group.is_none_or(|group| resource.group == group);
        let known = resources::by_kind(name).or_else(|| self.own().find(is_it));
        known.cloned().ok_or_else(|| self.unknown(name))
    }

    /// Returns the kind of an object. A kind of that name in another group is the answer if there is none in
    /// the object's group.
    ///
    /// # Errors
    /// The nearest names.
    pub(super) fn find_for(&self, api_version: &str, kind: &str) -> Result<Resource, String> {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let is_it = |resource: &&Resource| resource.kind == kind && resource.group == group;
        let own = || self.own().find(is_it);
        resources::ALL.iter().find(is_it).or_else(own).cloned().map_or_else(|| self.find(kind), Ok)
    }

    /// Returns the kind of an object by its `apiVersion` and `kind`.
    ///
    /// # Errors
    /// The nearest names.
    pub fn find_for_object(&self, object: &Value) -> Result<Resource, String> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        self.find_for(text("apiVersion"), text("kind"))
    }

    fn unknown(&self, kind: &str) -> String {
        let names: Vec<String> =
            resources::names().chain(self.own().map(|resource| resource.kind.to_string())).collect();
        let names = || names.iter().map(String::as_str);
        let hint = match text::did_you_mean(kind, names()) {
            hint if hint.is_empty() => {
                let near = nearest_few(kind, names(), 3).join("`, `");
                format!(
                    "; the nearest are `{near}`. The kind of a CustomResourceDefinition is known after the object or \
                     the step that brings it"
                )
            }
            hint => hint,
        };
        format!("unknown kind `{kind}`{hint}")
    }
}
