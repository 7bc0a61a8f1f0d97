//! Options of requests (`CreateOptions`, `DeleteOptions`, `ListOptions` ...) and their errors.

mod deletion;
pub(crate) mod list;
mod write;

use std::num::{IntErrorKind, ParseIntError};

use serde_json::{Value, json};

use crate::gotext::quote;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::{Method, Query, Request};
pub(crate) use deletion::Deletion;
pub(crate) use write::{FieldValidation, MANAGER_MAX, PatchType, WriteOptions, is_printable};

/// The kind of the options of a method.
pub(crate) fn options_kind(method: Method) -> &'static str {
    match method {
        Method::Post => "CreateOptions",
        Method::Put => "UpdateOptions",
        Method::Patch => "PatchOptions",
        Method::Delete => "DeleteOptions",
        Method::Get | Method::Options | Method::Other => "ListOptions",
    }
}

/// The options of a create or an update as admission sees them. Those of a patch become the options of what it does.
pub(crate) fn for_admission(request: &Request<'_>, kind: &str) -> Value {
    let mut options = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
    let dry_run: Vec<&str> = request.query.all("dryRun").collect();
    if !dry_run.is_empty() {
        options["dryRun"] = json!(dry_run);
    }
    for field in ["fieldManager", "fieldValidation"] {
        let given = request.query.get(field);
        if !given.is_empty() {
            options[field] = json!(given);
        }
    }
    options
}

/// A number in the query; 0 if absent.
pub(crate) fn integer(query: &Query, name: &str) -> Outcome<i64> {
    let text = query.get(name);
    if text.is_empty() { Ok(0) } else { number(text) }
}

/// Parses a number (`strconv.ParseInt`).
pub(crate) fn number(text: &str) -> Outcome<i64> {
    text.parse().map_err(|error: ParseIntError| {
        BoxedRejection::bad_request(format!("strconv.ParseInt: parsing {}: {}", quote(text), why(&error)))
    })
}

/// Go's reason for a number that it cannot parse.
fn why(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

/// Parses a resource version; `None` if empty.
pub(crate) fn version(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|error: ParseIntError| {
        format!("strconv.ParseUint: parsing {}: {}", quote(text), why(&error))
    })
}
