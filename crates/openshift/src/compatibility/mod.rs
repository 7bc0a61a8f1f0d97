//! CompatibilityRequirements (feature gate CRDCompatibilityRequirementOperator, a preview from 4.22 on): schemas
//! that a CustomResourceDefinition must stay compatible with, also if another component manages it.
//!
//! The controller ([`controller`]) reports whether the definition is compatible. The admission plug-in
//! (`admission/compatibility.rs`) rejects changes that are not. A definition is compatible if it serves all
//! versions and has all fields of the required one (`pkg/crdchecker` of cluster-capi-operator, which does not
//! consider `requiredVersions` for that). The validation and pruning of objects by the required schema is not
//! simulated.

pub(crate) mod controller;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::{Object, yaml};

use crate::release::Release;

/// The name of the CustomResourceDefinition.
const DEFINITION: &str = "compatibilityrequirements.apiextensions.openshift.io";

/// Returns whether a release has the kind, if only as a preview.
pub(crate) fn is_shipped_by(release: &Release) -> bool {
    release.components.iter().any(|component| component.previews.iter().any(|name| name == DEFINITION))
}

/// The required definition of a CompatibilityRequirement.
///
/// # Errors
/// It is no YAML.
pub(crate) fn required(requirement: &Value) -> Result<Value, String> {
    let text = requirement["spec"]["compatibilitySchema"]["customResourceDefinition"]["data"].as_str();
    yaml::from_str(text.unwrap_or_default()).map_err(|error| error.to_string())
}

/// Checks a CompatibilityRequirement that is created or updated.
///
/// # Errors
/// The message of its validation.
pub(crate) fn check_requirement(requirement: &Value) -> Result<(), String> {
    let at = "spec.compatibilitySchema.customResourceDefinition.data";
    let what = "expected a valid CustomResourceDefinition in YAML format";
    let required = required(requirement).map_err(|why| format!("{at}: Invalid value: {what}: {why}"))?;
    let text = |field: &str| required[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if (version.as_str(), kind.as_str()) != ("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
        return Err(format!(
            "{at}: Invalid value: {version:?}: {what}: expected APIVersion to be apiextensions.k8s.io/v1 and Kind to be CustomResourceDefinition, got {version}/{kind}"
        ));
    }
    without_excluded_fields(required, &Object::new(requirement.clone())).map(drop)
}

/// The versions of a definition.
fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition["spec"]["versions"].as_array().into_iter().flatten()
}

/// How a definition differs from the required one, sorted: served versions and fields that it lacks.
pub(crate) fn incompatibilities(required: &Value, definition: &Value) -> Vec<String> {
    let served = |definition| -> BTreeSet<&str> {
        let served = versions(definition).filter(|version| version["served"] == true);
        served.filter_map(|version| version["name"].as_str()).collect()
    };
    let mut found = Vec::new();
    for version in versions(definition) {
        let Some(known) = versions(required).find(|known| known["name"] == version["name"]) else { continue };
        let (before, now) = (fields(known), fields(version));
        let name = version["name"].as_str().unwrap_or_default();
        found.extend(before.difference(&now).map(|field| format!("removed field : {name}.{field}")));
    }
    let (before, now) = (served(required), served(definition));
    let removed: Vec<&str> = before.difference(&now).copied().collect();
    if !removed.is_empty() {
        found.push(format!("served versions removed : {}", removed.join(", ")));
    }
    found
}

/// The paths of all fields of a version: `^.spec.size`. Items of arrays and maps are `[*]`.
fn fields(version: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_fields(&version["schema"]["openAPIV3Schema"], "^", &mut found);
    found
}

fn collect_fields(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    if !schema.is_object() {
        return;
    }
    found.insert(path.to_owned());
    for part in ["items", "additionalProperties"] {
        collect_fields(&schema[part], &format!("{path}[*]"), found);
    }
    for list in ["allOf", "anyOf", "oneOf"] {
        for branch in schema[list].as_array().into_iter().flatten() {
            collect_fields(branch, path, found);
        }
    }
    collect_fields(&schema["not"], path, found);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        collect_fields(property, &format!("{path}.{name}"), found);
    }
}

/// The required definition without the fields that the requirement excludes.
///
/// # Errors
/// An excluded field does not exist.
pub(crate) fn without_excluded_fields(mut required: Value, requirement: &Object) -> Result<Value, String> {
    for excluded in requirement.list("/spec/compatibilitySchema/excludedFields") {
        let path: Vec<&str> = excluded["path"].as_str().unwrap_or_default().split('.').collect();
        let names = excluded["versions"].as_array().cloned().unwrap_or_default();
        for version in required["spec"]["versions"].as_array_mut().into_iter().flatten() {
            if names.contains(&version["name"]) {
                remove_field(&mut version["schema"]["openAPIV3Schema"], &path)?;
            }
        }
    }
    Ok(required)
}

/// Removes a field from a schema, also below arrays.
fn remove_field(schema: &mut Value, path: &[&str]) -> Result<(), String> {
    let (mut schema, mut at) = (schema, "^".to_owned());
    for (index, name) in path.iter().enumerate() {
        if schema["properties"].get(*name).is_none() {
            let desired = path.join(".");
            return Err(format!(
                "path not found in schema: desired path ^.{desired}, path {at} is missing child {name}"
            ));
        }
        if index + 1 == path.len() {
            schema["properties"].as_object_mut().map(|properties| properties.remove(*name));
            if let Some(required) = schema["required"].as_array_mut() {
                required.retain(|field| field != *name);
            }
            return Ok(());
        }
        schema = &mut schema["properties"][*name];
        if schema["type"] == "array" {
            schema = &mut schema["items"];
        }
        at = format!("{at}.{name}");
    }
    Ok(())
}
