//! Validation of claims for devices (`ValidateResourceClaim`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::collections::{by, each, each_unique, itself};
use super::configuration::{MOST_CONFIGURATIONS, configuration};
use super::names;
use super::request::request;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::profile::since;

pub(super) const MOST_REQUESTS: usize = 32;
const MOST_CONSTRAINTS: usize = 32;
const REFERENCE: &str = "must be the name of a request in the claim or the name of a request and a subrequest \
    separated by '/'";

/// Validates a new claim; an update must not change the specification.
pub(in crate::kinds::validation) fn claim(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    match old {
        None => specification(&object["spec"], at, errors),
        Some(old) => immutable(&object["spec"], &old["spec"], "ResourceClaimSpec", at, errors),
    }
}

/// Requires that a value of an internal type is unchanged.
pub(super) fn immutable(new: &Value, old: &Value, type_name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if new != old {
        let shown = internal_form(new, type_name);
        errors.invalid_shown(at, shown.clone(), shown, "field is immutable");
    }
}

/// Validates the specification of a claim (`validateResourceClaimSpec`).
pub(super) fn specification(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("devices");
    let devices = &spec["devices"];
    let names = RequestNames::of(devices);
    each_unique(&devices["requests"], MOST_REQUESTS, by("name"), at.child("requests"), errors, request);
    each(&devices["constraints"], MOST_CONSTRAINTS, at.child("constraints"), errors, |one, at, errors| {
        constraint(one, &names, at, errors);
    });
    each(&devices["config"], MOST_CONFIGURATIONS, at.child("config"), errors, |config, at, errors| {
        names.references(&config["requests"], at.child("requests"), errors);
        configuration(config, false, at, errors);
    });
}

/// Requires an attribute that the devices of some requests share or do not share (`validateDeviceConstraint`).
fn constraint(constraint: &Value, names: &RequestNames<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    names.references(&constraint["requests"], at.child("requests"), errors);
    for field in ["matchAttribute", "distinctAttribute"] {
        if let Some(name) = constraint[field].as_str() {
            return names::fully_qualified(name, at.child(field), errors);
        }
    }
    if errors.profile.minor >= since::CONSUMABLE_CAPACITY {
        let why = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
        errors.required(at, why);
    } else {
        errors.required(at.child("matchAttribute"), "");
    }
}

/// The names of a claim's requests, each with those of its alternatives (`requestNames`).
#[derive(Debug)]
pub(super) struct RequestNames<'a>(BTreeMap<&'a str, BTreeSet<&'a str>>);

impl<'a> RequestNames<'a> {
    /// The names in a claim for devices.
    pub(super) fn of(devices: &'a Value) -> Self {
        let alternatives = |request: &'a Value| {
            items(&request["firstAvailable"]).iter().map(|one| text(&one["name"])).collect()
        };
        let requests = items(&devices["requests"]).iter();
        Self(requests.map(|request| (text(&request["name"]), alternatives(request))).collect())
    }

    fn has(&self, name: &str) -> bool {
        match name.split_once('/') {
            None => self.0.contains_key(name),
            Some((request, alternative)) => {
                self.0.get(request).is_some_and(|alternatives| alternatives.contains(alternative))
            }
        }
    }

    /// Validates a set of references to requests.
    pub(super) fn references(&self, list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
        each_unique(list, MOST_REQUESTS, itself, at, errors, |name, at, errors| {
            self.reference(text(name), at, errors);
        });
    }

    /// Requires the name of a request, with or without that of an alternative (`validateRequestNameRef`).
    pub(super) fn reference(&self, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
        let parts = name.split('/');
        if parts.clone().count() > 2 {
            errors.invalid(at, name, REFERENCE);
            return;
        }
        for part in parts {
            names::label(part, at, errors);
        }
        if !self.has(name) {
            errors.invalid(at, name, REFERENCE);
        }
    }
}
