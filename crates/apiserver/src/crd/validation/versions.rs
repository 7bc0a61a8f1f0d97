//! Validation of versions: names, flags, schemas, subresources, columns and selectable fields.

use serde_json::{Value, json};

use super::{list, paths, text};
use crate::crd::internal::Internal;
use crate::crd::{rules, structure};
use crate::field::{Cause, FieldError, Shown};
use crate::names;
use crate::profile::{Profile, since};
use crate::repeats::repeated;

/// Valid types of printer columns.
const COLUMN_TYPES: &str = "boolean,date,integer,number,string";
/// Valid formats of printer columns.
const COLUMN_FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";
/// The path of the schema that all versions share.
const SHARED_SCHEMA: &str = "spec.validation";
/// The path of the selectable fields that all versions share.
const SHARED_SELECTABLE: &str = "spec.selectableFields";
/// Maximum length of a deprecation warning, in bytes.
const WARNING_MAX: usize = 256;

pub(super) fn check(crd: &Value, old: Option<&Value>, profile: &Profile) -> Vec<FieldError> {
    let versions = list(crd, "/spec/versions");
    let internal = Internal::new(versions);
    let mut errors = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let at = format!("spec.versions[{index}]");
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let at = format!("{at}.schema.openAPIV3Schema");
            let why = profile.since(since::SHORTER_DETAILS, "schemas are required", "");
            errors.push(FieldError::required(at, why));
        }
        let name = text(version, "/name");
        let wrong = names::dns1035_label(name);
        if !wrong.is_empty() {
            // The internal form has the name of the first version once more, unless it is empty.
            let is_repeated = index == 0 && !name.is_empty();
            let fields = [Some(format!("{at}.name")), is_repeated.then(|| "spec.version".to_owned())];
            let error = |field| FieldError::invalid(field, name, wrong.join(","));
            errors.extend(fields.into_iter().flatten().map(error));
        }
        errors.extend(deprecation(version, &format!("{at}.deprecationWarning")));
    }
    let names: Vec<&str> = versions.iter().map(|version| text(version, "/name")).collect();
    let whole = |why: &str| FieldError {
        cause: Cause::Invalid,
        field: "spec.versions".to_owned(),
        value: Shown::Text(if crd["spec"]["versions"].is_null() {
            "null".to_owned()
        } else {
            internal.text()
        }),
        detail: why.to_owned(),
    };
    if repeated(&names).contains(&true) {
        errors.push(whole("must contain unique version names"));
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        errors.push(whole("must have exactly one version marked as storage version"));
    }
    errors.extend(check_schemas(&internal, old, profile));
    for (value, at) in internal.parts("subresources") {
        errors.extend(scale(&value["scale"], &format!("{at}.scale")));
    }
    for (value, at) in internal.parts("additionalPrinterColumns") {
        errors.extend(columns(value, &at));
    }
    errors.extend(check_selectable(&internal));
    errors
}

fn check_schemas(internal: &Internal<'_>, old: Option<&Value>, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let has_status = |version: &Value| version["subresources"]["status"].is_object();
    let parts = internal.parts("schema");
    let shared = parts.len() == 1 && parts[0].1 == SHARED_SCHEMA;
    for (index, (value, at)) in parts.iter().enumerate() {
        let schema = &value["openAPIV3Schema"];
        let name = internal.versions.get(index).map_or("", |version| text(version, "/name"));
        let mut own = internal.versions.iter().skip(index);
        let status = if shared { own.any(has_status) } else { own.next().is_some_and(has_status) };
        if schema.is_object() {
            let at = format!("{at}.openAPIV3Schema");
            let found = structure::check(schema, &at, status, profile);
            errors.extend(found.errors);
            if let Some(invalid) = found.invalid {
                let before = rules::Before::new(old, name, schema);
                errors.extend(rules::check(schema, &at, &invalid, &before, profile));
            }
        }
    }
    errors
}

/// Validates selectable fields by the schema that is beside them in the internal form, where either may be shared alone.
fn check_selectable(internal: &Internal<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let schemas = internal.parts("schema");
    for (value, at) in internal.parts("selectableFields") {
        let Some(fields) = value.as_array().filter(|fields| !fields.is_empty()) else { continue };
        let is_shared = at == SHARED_SELECTABLE;
        let beside = match at.strip_suffix(".selectableFields").filter(|_| !is_shared) {
            Some(version) => format!("{version}.schema"),
            None => SHARED_SCHEMA.to_owned(),
        };
        match schemas.iter().find(|(_, at)| *at == beside) {
            Some((schema, _)) => errors.extend(paths::selectable(fields, &schema["openAPIV3Schema"], &at)),
            None if is_shared => {
                errors.push(FieldError::invalid(
                    at,
                    "",
                    "may only be set when validations.schema is included",
                ));
            }
            None => {
                let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
                errors.push(FieldError::invalid(at, "", why));
            }
        }
    }
    errors
}

fn deprecation(version: &Value, at: &str) -> Vec<FieldError> {
    let Some(warning) = version["deprecationWarning"].as_str() else { return Vec::new() };
    let mut wrong = Vec::new();
    if version["deprecated"] == true {
        if warning.len() > WARNING_MAX {
            wrong.push(format!("must be <= {WARNING_MAX} characters long"));
        }
        if warning.is_empty() {
            wrong.push("must not be an empty string".to_owned());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
            wrong.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    } else {
        wrong.push("can only be set for deprecated versions".to_owned());
    }
    wrong.into_iter().map(|why| FieldError::invalid(at, warning, why)).collect()
}

/// Validates the paths of the scale subresource.
fn scale(scale: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if scale.is_null() {
        return errors;
    }
    for (field, roots, why, required) in [
        ("specReplicasPath", [".spec.", ".spec."], "should be a json path under .spec", true),
        ("statusReplicasPath", [".status.", ".status."], "should be a json path under .status", true),
        (
            "labelSelectorPath",
            [".spec.", ".status."],
            "should be a json path under either .spec or .status",
            false,
        ),
    ] {
        let (path, at) = (scale[field].as_str().unwrap_or_default(), format!("{at}.{field}"));
        if path.is_empty() {
            errors.extend(required.then(|| FieldError::required(at, "")));
        } else if let Some(error) = paths::simple(path, &at) {
            errors.push(error);
        } else if !roots.iter().any(|root| path.starts_with(root)) {
            errors.push(FieldError::invalid(at, path, why));
        }
    }
    errors
}

fn columns(columns: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, column) in columns.as_array().into_iter().flatten().enumerate() {
        let at = |field: &str| format!("{at}[{index}].{field}");
        let given = |field: &str| column[field].as_str().unwrap_or_default();
        if given("name").is_empty() {
            errors.push(FieldError::required(at("name"), ""));
        }
        let why = format!("must be one of {COLUMN_TYPES}");
        match given("type") {
            "" => errors.push(FieldError::required(at("type"), why)),
            kind if COLUMN_TYPES.split(',').any(|known| known == kind) => {}
            kind => errors.push(FieldError::invalid(at("type"), kind, why)),
        }
        let format = given("format");
        if !format.is_empty() && !COLUMN_FORMATS.split(',').any(|known| known == format) {
            let why = format!("must be one of {COLUMN_FORMATS}");
            errors.push(FieldError::invalid(at("format"), json!(format), why));
        }
        match given("jsonPath") {
            "" => errors.push(FieldError::required(at("JSONPath"), "")),
            path => errors.extend(paths::simple(path, &at("JSONPath"))),
        }
    }
    errors
}
