//! Options of requests (`CreateOptions`, `DeleteOptions`, `ListOptions` ...) and their errors.

pub(crate) mod list;
mod write;

use serde_json::{Value, json};
use windtunnel_core::Propagation;

use crate::field::{FieldError, Shown};
use crate::profile::Profile;
use crate::request::{Body, Method, Query, Request, body};
use crate::status::{Outcome, Refused};
pub(crate) use write::{FieldValidation, MANAGER_MAX, PatchType, WriteOptions, is_printable};

/// The kind of the options of a method.
pub(crate) fn options_kind(method: Method) -> &'static str {
    match method {
        Method::Post => "CreateOptions",
        Method::Put => "UpdateOptions",
        Method::Patch => "PatchOptions",
        Method::Delete => "DeleteOptions",
        Method::Get | Method::Other => "ListOptions",
    }
}

fn invalid(kind: &str, error: FieldError, profile: &Profile) -> Refused {
    Refused::invalid("meta.k8s.io", kind, "", &[error], profile)
}

/// Parses `dryRun`.
pub(crate) fn dry_run(query: &Query, kind: &str, profile: &Profile) -> Outcome<bool> {
    let given: Vec<String> =
        query.all("dryRun").filter(|value| !value.is_empty()).map(str::to_owned).collect();
    check_dry_run(given, kind, profile)
}

fn check_dry_run(given: Vec<String>, kind: &str, profile: &Profile) -> Outcome<bool> {
    if given.iter().any(|value| value != "All") {
        let error = FieldError::not_supported("dryRun", Shown::Strings("string", given), &["All"]);
        return Err(invalid(kind, error, profile));
    }
    Ok(!given.is_empty())
}

/// The options of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) grace: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    /// The finalizer of the propagation policy: `None` keeps the existing finalizers, an empty one removes
    /// both.
    pub(crate) propagation: Option<&'static str>,
    pub(crate) dry_run: bool,
}

impl Deletion {
    /// Parses delete options from body and query. `decode` checks the types of the fields in the bytes of a body.
    pub(crate) fn read(
        request: &Request<'_>,
        decode: impl FnOnce(&mut Value) -> Outcome<()>,
        profile: &Profile,
    ) -> Outcome<Self> {
        let body = match &request.body {
            Body::Empty => Value::Null,
            Body::Delete(options) => {
                return Ok(Self {
                    grace: options.grace_period_seconds,
                    uid: options.uid.clone(),
                    propagation: options.propagation.map(finalizer),
                    ..Self::default()
                });
            }
            Body::Value(value) => (*value).clone(),
            Body::Bytes(bytes) if bytes.is_empty() => Value::Null,
            Body::Bytes(bytes) => {
                let mut body = body::parse_options(bytes, &request.content_type)?;
                decode(&mut body)?;
                body
            }
        };
        if body.is_null() {
            integer(&request.query, "gracePeriodSeconds")?;
            return Self::from_body_and_query(&body, &request.query, profile);
        }
        // A real server reads the query only without a body.
        Self::of_body(&body, profile)
    }

    /// Parses delete options in a body, also in that of an eviction.
    pub(crate) fn of_body(body: &Value, profile: &Profile) -> Outcome<Self> {
        Self::from_body_and_query(body, &Query::default(), profile)
    }

    fn from_body_and_query(body: &Value, query: &Query, profile: &Profile) -> Outcome<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let from_query = |name: &str| Some(query.get(name)).filter(|text| !text.is_empty());
        let policy = from_query("propagationPolicy").or(body["propagationPolicy"].as_str());
        let orphan =
            body["orphanDependents"].as_bool().or(from_query("orphanDependents").map(|v| v == "true"));
        let dry_run = body["dryRun"].as_array().map(Vec::as_slice).unwrap_or_default();
        let dry_run = dry_run.iter().filter_map(text).collect();
        let grace = from_query("gracePeriodSeconds").and_then(|text| text.parse().ok());
        Ok(Self {
            grace: grace.or(body["gracePeriodSeconds"].as_i64()),
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            propagation: propagation(policy, orphan, profile)?,
            dry_run: check_dry_run(dry_run, "DeleteOptions", profile)?,
        })
    }
}

/// The finalizer that holds an object until a policy is carried out; empty if the policy needs none.
fn finalizer(policy: Propagation) -> &'static str {
    match policy {
        Propagation::Background => "",
        Propagation::Foreground => "foregroundDeletion",
        Propagation::Orphan => "orphan",
    }
}

fn propagation(
    policy: Option<&str>,
    orphan: Option<bool>,
    profile: &Profile,
) -> Outcome<Option<&'static str>> {
    if let (Some(policy), Some(_)) = (policy, orphan) {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        let error = FieldError::invalid("propagationPolicy", policy, why);
        return Err(invalid("DeleteOptions", error, profile));
    }
    match policy {
        Some("Foreground") => Ok(Some(finalizer(Propagation::Foreground))),
        Some("Orphan") => Ok(Some(finalizer(Propagation::Orphan))),
        Some("Background") => Ok(Some(finalizer(Propagation::Background))),
        None => Ok(orphan.map(|orphan| if orphan { "orphan" } else { "" })),
        Some(other) => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            let error = FieldError::not_supported("propagationPolicy", Shown::Json(json!(other)), &supported);
            Err(invalid("DeleteOptions", error, profile))
        }
    }
}

/// A number in the query; 0 if absent.
pub(crate) fn integer(query: &Query, name: &str) -> Outcome<i64> {
    let text = query.get(name);
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        Refused::bad_request(format!(
            "strconv.ParseInt: parsing {}: invalid syntax",
            crate::gotext::quote(text)
        ))
    })
}

/// Parses a resource version; `None` if empty.
pub(crate) fn version(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let why = || format!("strconv.ParseUint: parsing {}: invalid syntax", crate::gotext::quote(text));
    text.parse().map(Some).map_err(|_| why())
}
