//! Fields of expectations that no object of their kind can have.

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_openshift::manifests;
use windtunnel_openshift::release::Release;

use super::matching::objects;
use crate::engine::runtime::Simulation;
use crate::plan::{Check, ExpectedState, ObjectRef, path};
use crate::record::Event;

/// The feature set with all fields of previews.
const PREVIEW: &str = "DevPreviewNoUpgrade";

/// Describes the first field of an expectation that no object of the kind can have, if there is an object. A field that the
/// current definition lacks may come with an update, or have gone with one: it counts only if a similar one exists, or if no
/// definition of the run and of its releases has it.
pub(super) fn find(simulation: &Simulation, what: &ExpectedState) -> Option<String> {
    let ExpectedState::Object(object, checks) = what else { return None };
    objects(&simulation.view, object).next()?;
    let name = format!("{}.{}", object.resource.plural, object.resource.group);
    let current = simulation.view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", &name).map(|found| &**found);
    let paths = checks.iter().filter_map(|check| match check {
        Check::Field { path, .. } | Check::Unchanged { path } => Some(path),
        _ => None,
    });
    let missing =
        paths.filter_map(|path| Some((path, path::no_such_field(&object.resource, current, path)?)));
    let mut certain = missing.filter(|(path, why)| {
        why.contains("; did you mean ") || current.is_none() || !may_exist(simulation, object, &name, path)
    });
    certain.next().map(|(_, why)| format!("seen: {why}"))
}

/// Whether another definition of the kind has the field: an earlier one of the run, or that of one of its releases.
fn may_exist(simulation: &Simulation, object: &ObjectRef, name: &str, path: &str) -> bool {
    let releases = || simulation.environment.releases.values();
    let written = simulation.record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) if write.key.is_kind(&CUSTOM_RESOURCE_DEFINITIONS) && write.key.name == name => {
            write.after.as_deref().map(Cow::Borrowed)
        }
        _ => None,
    });
    let of_payload = releases().flat_map(|release| release.payload.iter()).flat_map(|payload| {
        payload.manifests.iter().map(|manifest| &*manifest.object).filter(|object| {
            CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object) && object["metadata"]["name"] == name
        })
    });
    let of_release = |release: &Release| manifests::crd_with(name, release.line(), PREVIEW);
    let modelled = releases().filter_map(of_release).map(|found| Cow::Owned(Value::clone(&found)));
    let mut all = written.chain(of_payload.map(Cow::Borrowed)).chain(modelled);
    all.any(|definition| path::no_such_field(&object.resource, Some(&definition), path).is_none())
}
