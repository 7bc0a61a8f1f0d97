//! Validation of device classes (`ValidateDeviceClass`).

use serde_json::Value;

use super::collections::each;
use super::configuration::{MOST_CONFIGURATIONS, configuration};
use super::selector::selectors;
use crate::kinds::validation::resource_names::is_extended;
use crate::kinds::validation::{Errors, Path};

/// Validates a class. Selectors and configurations that are all unchanged count as stored ones.
pub(in crate::kinds::validation) fn class(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    let stored = |field| old.is_some_and(|old| old["spec"][field] == spec[field]);
    selectors(&spec["selectors"], stored("selectors"), at.child("selectors"), errors);
    let is_stored = stored("config");
    each(&spec["config"], MOST_CONFIGURATIONS, at.child("config"), errors, |config, at, errors| {
        configuration(config, is_stored, at, errors);
    });
    if let Some(name) = spec["extendedResourceName"].as_str().filter(|name| !is_extended(name)) {
        let at = at.child("extendedResourceName");
        errors.invalid(at, name, "must be a valid extended resource name");
    }
}
