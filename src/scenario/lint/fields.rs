//! Warns of paths to fields that no object of the kind can have.

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::resources::{self, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_openshift::manifests;
use windtunnel_openshift::release::Release;

use super::expected_states;
use crate::plan::{Action, Check, ClusterPlan, ExpectedState, Keep, ObjectRef, Step, ValueSource, path};

/// The feature set with all fields of previews.
const PREVIEW: &str = "DevPreviewNoUpgrade";

/// The schemas of a cluster, including those that steps have created so far.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    releases: Vec<Release>,
    /// The scenario's own definitions.
    definitions: Vec<Value>,
}

impl Fields {
    /// Returns the state before the first step.
    pub(super) fn at_start(cluster: &ClusterPlan) -> Self {
        let releases = cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        let mut found = Self { releases: releases.cloned().collect(), definitions: Vec::new() };
        cluster.objects.iter().for_each(|planned| found.define(&planned.object));
        found
    }

    fn define(&mut self, object: &Value) {
        if CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object) {
            self.definitions.push(object.clone());
        }
    }

    /// Returns warnings about the next step of the run.
    pub(super) fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Act(Action::Apply(object)) => {
                self.define(object);
                return self.dropped_of(object);
            }
            Step::Act(Action::Patch { object, patch, .. }) => return self.dropped(&object.resource, patch),
            Step::Keep(Keep { what: ValueSource::Field(object, path), .. }) => {
                return self.unknown(object, path).into_iter().collect();
            }
            _ => {}
        }
        expected_states(step).into_iter().flat_map(|expected| self.warnings_of(&expected.what)).collect()
    }

    fn warnings_of(&self, what: &ExpectedState) -> Vec<String> {
        match what {
            ExpectedState::Object(object, checks) => {
                self.unknown_in_checks(object, checks, is_true_of_nothing)
            }
            ExpectedState::Never(object, checks) => {
                self.unknown_in_checks(object, checks, |check| !is_true_of_nothing(check))
            }
            ExpectedState::Writes(writes, _) | ExpectedState::OnlyWrites(writes, _) => {
                let checked = writes.iter().filter_map(|write| Some((write.object.as_ref()?, &write.checks)));
                checked
                    .flat_map(|(object, checks)| self.unknown_in_checks(object, checks, |_| false))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn unknown_in_checks(
        &self,
        object: &ObjectRef,
        checks: &[Check],
        always_holds: impl Fn(&Check) -> bool,
    ) -> Vec<String> {
        let unknown = checks.iter().filter_map(|check| {
            let (Check::Field { path, .. } | Check::Unchanged { path }) = check else { return None };
            let consequence = if always_holds(check) { "; this expectation always holds" } else { "" };
            Some(self.unknown(object, path)? + consequence)
        });
        unknown.collect()
    }

    /// Returns why no object of the kind has this field.
    fn unknown(&self, object: &ObjectRef, path: &str) -> Option<String> {
        let kind = &object.resource.kind;
        self.missing(&object.resource, path).map(|why| format!("{kind}: {why}"))
    }

    /// Returns warnings about fields of a whole object that the API server drops.
    pub(super) fn dropped_of(&self, object: &Value) -> Vec<String> {
        let resource = resources::find_or_defined(object, self.definitions.iter());
        resource.map(|resource| self.dropped(&resource, object)).unwrap_or_default()
    }

    /// Returns warnings about fields that the API server drops.
    fn dropped(&self, resource: &Resource, content: &Value) -> Vec<String> {
        let kind = &resource.kind;
        let Some(definitions) = self.definitions_of(resource) else { return Vec::new() };
        let first = definitions.first().map(|definition| &**definition);
        let unknown = path::unknown_fields(resource, first, content);
        let why = |path: &String| self.missing(resource, path);
        let drops = |why: String| format!("{kind}: {why}; the API server drops it with a warning");
        unknown.iter().filter_map(why).map(drops).collect()
    }

    fn missing(&self, resource: &Resource, path: &str) -> Option<String> {
        let definitions = self.definitions_of(resource)?;
        if definitions.is_empty() {
            return path::no_such_field(resource, None, path);
        }
        // A field is known if any release has it; the first message names the nearest one.
        let mut missing =
            definitions.iter().map(|definition| path::no_such_field(resource, Some(definition), path));
        let first = missing.next()?;
        missing.all(|missing| missing.is_some()).then_some(first)?
    }

    /// The scenario's own definitions of a kind, or those of the releases.
    fn definitions_of(&self, resource: &Resource) -> Option<Vec<Cow<'_, Value>>> {
        let name = format!("{}.{}", resource.plural, resource.group);
        let own = self.definitions.iter().filter(|definition| definition["metadata"]["name"] == *name);
        let own: Vec<Cow<'_, Value>> = own.map(Cow::Borrowed).collect();
        if own.is_empty() { self.of_releases(&name) } else { Some(own) }
    }

    /// The definitions of a kind in all releases; empty for a built-in kind, `None` if payload folders may have others.
    fn of_releases(&self, name: &str) -> Option<Vec<Cow<'_, Value>>> {
        if !manifests::is_modelled(name) {
            return Some(Vec::new());
        }
        if self.releases.iter().any(|release| release.payload.is_some()) {
            return None;
        }
        let of = |release: &Release| manifests::crd_with(name, release.line(), PREVIEW);
        Some(self.releases.iter().filter_map(of).map(|found| Cow::Owned(Value::clone(&found))).collect())
    }
}

/// Whether a check holds for a field that does not exist.
fn is_true_of_nothing(check: &Check) -> bool {
    match check {
        Check::Field { value, .. } => value.fits(""),
        Check::Unchanged { .. } => true,
        _ => false,
    }
}
