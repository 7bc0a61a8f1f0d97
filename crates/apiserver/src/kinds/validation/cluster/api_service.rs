//! Validation of API services (`ValidateAPIService`, `ValidateAPIServiceStatus`).

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, absent, items, text};
use crate::names;

const STATES: [&str; 3] = ["True", "False", "Unknown"];

pub(in crate::kinds::validation) fn api_service(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    names_of(object, at, errors);
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let given = spec[field].as_i64().unwrap_or(0);
        if given <= 0 || given > most {
            errors.invalid(at.child(field), given, format!("must be positive and less than {most}"));
        }
    }
    if spec["service"].is_null() {
        local(spec, at, errors);
        return;
    }
    let service = at.child("service");
    for field in ["namespace", "name"] {
        if absent(&spec["service"][field]) {
            errors.required(service.child(field), "");
        }
    }
    let port = spec["service"]["port"].as_i64().unwrap_or(0);
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.invalid(service.child("port"), port, why);
    }
    if spec["insecureSkipTLSVerify"] == true && !absent(&spec["caBundle"]) {
        let why = "may not be true if caBundle is present";
        errors.invalid(at.child("insecureSkipTLSVerify"), true, why);
    }
}

/// Validates the group and the version, which make the name.
fn names_of(object: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (group, version) = (text(&object["spec"]["group"]), text(&object["spec"]["version"]));
    let (name, wanted) = (text(&object["metadata"]["name"]), format!("{version}.{group}"));
    if name != wanted && names::path_segment(name).is_empty() {
        let metadata = Path::Root.child("metadata");
        let why = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
        errors.invalid(metadata.child("name"), name, why);
    }
    if group.is_empty() && version != "v1" {
        let why = "only v1 may have an empty group and it better be legacy kube";
        errors.required(at.child("group"), why);
    }
    if !group.is_empty() {
        errors.each(at.child("group"), group, names::subdomain(group));
    }
    errors.each(at.child("version"), version, names::dns1035_label(version));
}

/// The server itself needs no certificates.
fn local(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !absent(&spec["caBundle"]) {
        use base64::Engine as _;
        let bundle = base64::engine::general_purpose::STANDARD.decode(text(&spec["caBundle"]));
        let shown = format!("{} bytes", bundle.map_or(0, |bytes| bytes.len()));
        errors.invalid(at.child("caBundle"), shown, "local APIServices may not have a caBundle");
    }
    if spec["insecureSkipTLSVerify"] == true {
        let why = "local APIServices may not have insecureSkipTLSVerify";
        errors.invalid(at.child("insecureSkipTLSVerify"), true, why);
    }
}

/// Validates a status write.
pub(in crate::kinds::validation) fn status(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("status");
    let list = at.child("conditions");
    for (index, condition) in items(&object["status"]["conditions"]).iter().enumerate() {
        if !STATES.contains(&text(&condition["status"])) {
            let at = list.index(index);
            errors.unsupported(at.child("status"), text(&condition["status"]), &STATES);
        }
    }
}
