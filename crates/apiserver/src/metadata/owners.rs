//! Validation of owner references (`ValidateOwnerReferences`).

use serde_json::Value;

use crate::field::{Cause, FieldError, Shown};
use crate::gotext;

/// Owners need all their fields, and at most one of them may be the controller.
pub(super) fn check(metadata: &Value) -> Vec<FieldError> {
    const AT: &str = "metadata.ownerReferences";
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    let owners = metadata["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    for owner in owners {
        let version = owner["apiVersion"].as_str().unwrap_or_default();
        if lacks_version(version) {
            let at = format!("{AT}.apiVersion");
            errors.push(FieldError::invalid(at, version, "version must not be empty"));
        }
        for field in ["kind", "name", "uid"] {
            if owner[field].as_str().is_none_or(str::is_empty) {
                errors.push(FieldError::invalid(format!("{AT}.{field}"), "", "must not be empty"));
            }
        }
        let name = |field: &str| owner[field].as_str().unwrap_or_default();
        if (version, name("kind")) == ("v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner".to_owned();
            errors.push(invalid_owner(owner_json(owner), owner_syntax(owner), why));
        }
        if owner["controller"] == true {
            let this = format!("{}/{}", name("kind"), name("name"));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for \
                         {first} and {this}"
                    );
                    let list = |show: fn(&Value) -> String, between| {
                        owners.iter().map(show).collect::<Vec<_>>().join(between)
                    };
                    let json = format!("[{}]", list(owner_json, ","));
                    let go = format!("[]v1.OwnerReference{{{}}}", list(owner_syntax, ", "));
                    errors.push(invalid_owner(json, go, why));
                }
            }
        }
    }
    errors
}

/// Whether an `apiVersion` has no version, or cannot be parsed (`FromAPIVersionAndKind`).
fn lacks_version(text: &str) -> bool {
    let version = text.split_once('/').map_or(text, |(_, version)| version);
    version.is_empty() || version.contains('/')
}

fn invalid_owner(json: String, go: String, detail: String) -> FieldError {
    let field = "metadata.ownerReferences".to_owned();
    FieldError { cause: Cause::Invalid, field, value: Shown::Raw { json, go }, detail }
}

/// An owner as Go encodes it.
fn owner_json(owner: &Value) -> String {
    let mut fields: Vec<String> = ["apiVersion", "kind", "name", "uid"]
        .into_iter()
        .map(|field| format!("\"{field}\":{}", Value::from(owner[field].as_str().unwrap_or_default())))
        .collect();
    let flags = ["controller", "blockOwnerDeletion"].into_iter().filter(|field| owner[*field].is_boolean());
    fields.extend(flags.map(|field| format!("\"{field}\":{}", owner[field])));
    format!("{{{}}}", fields.join(","))
}

/// An owner in Go syntax, in which flags are pointers. Their addresses are meaningless and differ between
/// servers.
fn owner_syntax(owner: &Value) -> String {
    let text = |field: &str| gotext::quote(owner[field].as_str().unwrap_or_default());
    let flag = |field: &str| if owner[field].is_boolean() { "(*bool)(0xc000000000)" } else { "(*bool)(nil)" };
    format!(
        "v1.OwnerReference{{APIVersion:{}, Kind:{}, Name:{}, UID:{}, Controller:{}, BlockOwnerDeletion:{}}}",
        text("apiVersion"),
        text("kind"),
        text("name"),
        text("uid"),
        flag("controller"),
        flag("blockOwnerDeletion")
    )
}
