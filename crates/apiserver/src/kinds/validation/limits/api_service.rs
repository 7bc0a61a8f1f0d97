//! Validation of API services (`ValidateAPIService`).

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, absent, text};
use crate::names;

pub(in crate::kinds::validation) fn api_service(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    let (group, version) = (text(&spec["group"]), text(&spec["version"]));
    let (name, wanted) = (text(&object["metadata"]["name"]), format!("{version}.{group}"));
    if name != wanted {
        let metadata = Path::Field(&Path::Root, "metadata");
        errors.invalid(
            Path::Field(&metadata, "name"),
            name,
            format!("must be `spec.version+\".\"+spec.group`: {wanted:?}"),
        );
    }
    if group.is_empty() && version != "v1" {
        errors.required(
            Path::Field(&at, "group"),
            "only v1 may have an empty group and it better be legacy kube",
        );
    }
    if version.is_empty() {
        errors.required(Path::Field(&at, "version"), "");
    } else {
        errors.each(Path::Field(&at, "version"), version, names::dns1035_label(version));
    }
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let given = spec[field].as_i64().unwrap_or(0);
        if given <= 0 || given > most {
            errors.invalid(Path::Field(&at, field), given, format!("must be positive and less than {most}"));
        }
    }
    if spec["service"].is_null() {
        if !absent(&spec["caBundle"]) {
            errors.invalid(Path::Field(&at, "caBundle"), "", "local APIServices may not have a caBundle");
        }
        if spec["insecureSkipTLSVerify"] == true {
            let why = "local APIServices may not have insecureSkipTLSVerify";
            errors.invalid(Path::Field(&at, "insecureSkipTLSVerify"), true, why);
        }
        return;
    }
    let service = Path::Field(&at, "service");
    for field in ["namespace", "name"] {
        if absent(&spec["service"][field]) {
            errors.required(Path::Field(&service, field), "");
        }
    }
    if spec["insecureSkipTLSVerify"] == true && !absent(&spec["caBundle"]) {
        let why = "may not be true if caBundle is present";
        errors.invalid(Path::Field(&at, "insecureSkipTLSVerify"), true, why);
    }
}
