//! The decoder of responses: reviews in JSON or YAML, with the messages of Kubernetes' decoder for what is none.

use serde_json::Value;

use super::fields::{self, Struct};
use crate::gotext::json_syntax::syntax_error;
use crate::gotext::{json_type, quote};
use crate::request::body::no_type;
use crate::request::yaml;

/// The scheme that the message about an unknown kind names.
const SCHEME: &str = "k8s.io/apiserver/pkg/util/webhook/client.go:71";
/// The kinds that a scheme has in each group and version.
const UNVERSIONED: [&str; 5] = ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];
/// The kinds that a scheme has in each version of its group.
const IN_ALL_VERSIONS: [&str; 7] = [
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
];

/// A kind of reviews.
struct Review {
    group: &'static str,
    kind: &'static str,
    /// The other kinds of the group's scheme.
    others: &'static [&'static str],
    fields: &'static Struct,
}

const ADMISSION: Review =
    Review { group: "admission.k8s.io", kind: "AdmissionReview", others: &[], fields: &fields::ADMISSION };
const CONVERSION: Review = Review {
    group: "apiextensions.k8s.io",
    kind: "ConversionReview",
    others: &["CustomResourceDefinition", "CustomResourceDefinitionList"],
    fields: &fields::CONVERSION,
};

/// The type of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Type<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

/// Decodes the response to a review: a review of the same version.
///
/// # Errors
/// The message of Kubernetes' decoder.
pub(super) fn decode(body: &[u8], asked: &Value) -> Result<Value, String> {
    let expected = if asked["kind"] == CONVERSION.kind { &CONVERSION } else { &ADMISSION };
    let version = asked["apiVersion"].as_str().and_then(|text| text.rsplit('/').next()).unwrap_or("v1");
    let value = parse(body)?;
    let found = with_defaults(type_of(&value)?, expected, version);
    if found.version.is_empty() {
        return Err(format!("Object 'apiVersion' is missing in '{}'", String::from_utf8_lossy(body)));
    }
    let is_group = found.group == expected.group && matches!(found.version, "v1" | "v1beta1");
    if is_group && found.kind == expected.kind {
        expected.fields.check(&value, found.version)?;
        if found.version == version {
            return Ok(value);
        }
        return Err(unknown_conversion(found.version, found.kind, version, expected.kind));
    }
    let package = match found.kind {
        kind if UNVERSIONED.contains(&kind) || is_group && IN_ALL_VERSIONS.contains(&kind) => "v1",
        kind if is_group && expected.others.contains(&kind) => found.version,
        kind => return Err(not_registered(kind, found.group, found.version)),
    };
    Err(unknown_conversion(package, found.kind, version, expected.kind))
}

/// The message of a `Status` that reports a failure; `None` if the body is something else.
pub(super) fn failure(body: &[u8]) -> Option<String> {
    let value = parse(body).ok()?;
    let is_failure = type_of(&value).ok()?.kind == "Status" && value["status"] == "Failure";
    fields::STATUS.check(&value, "v1").ok().filter(|()| is_failure)?;
    Some(value["message"].as_str().unwrap_or_default().to_owned())
}

/// Parses JSON, which begins with a brace, or else YAML.
fn parse(body: &[u8]) -> Result<Value, String> {
    let text = String::from_utf8_lossy(body);
    if !text.trim_start().starts_with('{') {
        return yaml::parse(body).map(|(value, _)| value);
    }
    serde_json::from_str(&text).map_err(|error| {
        let why = syntax_error(body).unwrap_or_else(|| error.to_string());
        format!("couldn't get version/kind; json parse error: {why}")
    })
}

/// The type that a document has.
fn type_of(value: &Value) -> Result<Type<'_>, String> {
    let failed = |why: String| format!("couldn't get version/kind; json parse error: {why}");
    if !value.is_object() && !value.is_null() {
        return Err(failed(no_type(value)));
    }
    let text = |field: &str| match member(value, field) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => {
            let found = json_type(other);
            Err(failed(format!(
                "json: cannot unmarshal {found} into Go struct field .{field} of type string"
            )))
        }
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    let (group, version) = match api_version.split_once('/') {
        _ if api_version == "/" => ("", ""),
        Some((_, rest)) if rest.contains('/') => {
            return Err(format!("unexpected GroupVersion string: {api_version}"));
        }
        Some(parts) => parts,
        None => ("", api_version),
    };
    Ok(Type { group, version, kind })
}

/// A member of an object by its name, in any case, as Go's decoder finds it.
fn member<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    let map = value.as_object()?;
    map.get(field)
        .or_else(|| map.iter().find(|(name, _)| name.eq_ignore_ascii_case(field)).map(|(_, value)| value))
}

/// Completes a type by the expected one.
fn with_defaults<'a>(found: Type<'a>, expected: &'a Review, version: &'a str) -> Type<'a> {
    let kind = if found.kind.is_empty() { expected.kind } else { found.kind };
    let (group, version) = match (found.group, found.version) {
        ("", "") => (expected.group, version),
        (group, "") if group == expected.group => (group, version),
        given => given,
    };
    Type { group, version, kind }
}

fn not_registered(kind: &str, group: &str, version: &str) -> String {
    let place = match (group, version) {
        (group, "__internal") => format!("the internal version of group {}", quote(group)),
        ("", version) => format!("version {}", quote(version)),
        (group, version) => format!("version {}", quote(&format!("{group}/{version}"))),
    };
    format!("no kind {} is registered for {place} in scheme {}", quote(kind), quote(SCHEME))
}

fn unknown_conversion(from: &str, kind: &str, to: &str, expected: &str) -> String {
    format!("converting ({from}.{kind}) to ({to}.{expected}): unknown conversion")
}
