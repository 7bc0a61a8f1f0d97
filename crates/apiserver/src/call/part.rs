//! Decodes bodies of subresources, whose type is not that of the object.

use serde_json::{Value, json};
use windtunnel_core::Resource;

use crate::call::decode::unrecognized;
use crate::call::{Call, body_type, field_validation};
use crate::kinds::typed;
use crate::metadata;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::body::{no_type, parse_as};
use crate::request::{Body, Text};

/// The message about a body of another type than Scale, for a custom resource.
const NO_SCALE: &str = "no kind is registered for the type v1.Scale in scheme \
                        \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"";

/// Reads and decodes the body of a subresource. `types` are the groups and versions that it may have; the first is the default.
///
/// # Errors
/// The body is no object of the kind, or is for another namespace.
pub(crate) fn body(call: &mut Call<'_>, types: &[(&str, &str)], kind: &str) -> Outcome<Value> {
    let mut value = parsed(call, kind)?;
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (given, version) = (text("kind"), text("apiVersion"));
    let (group, default_version) = types.first().copied().unwrap_or_default();
    let api_version = |(group, version): &(&str, &str)| {
        if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") }
    };
    let known = version.is_empty() || types.iter().any(|accepted| api_version(accepted) == version);
    if !known || (!given.is_empty() && given != kind) {
        let wrong = body_type::check((group, default_version, kind), &given, &version);
        // The decoder of a custom resource's Scale fails before it can name the type.
        wrong.map_err(|rejection| {
            if call.kind.custom.is_some() { BoxedRejection::bad_request(NO_SCALE) } else { rejection }
        })?;
    }
    let prefix = format!("{kind} in version \"{default_version}\" cannot be handled as a {kind}: ");
    let mut unknown = typed::decode_as(group, default_version, kind, &mut value)
        .map_err(|why| BoxedRejection::bad_request(format!("{prefix}{why}")))?;
    unknown.sort();
    field_validation::report(call, &prefix, &unknown)?;
    let namespace = metadata::text(&value, "namespace");
    if !namespace.is_empty() && namespace != call.path.namespace {
        return Err(BoxedRejection::other_namespace());
    }
    Ok(value)
}

/// Gives the object of a subresource its type and its namespace, which admission sees.
pub(crate) fn complete(object: &mut Value, object_type: &Resource, call: &Call<'_>) {
    object["kind"] = json!(object_type.kind);
    object["apiVersion"] = json!(object_type.api_version());
    object["metadata"]["namespace"] = json!(call.path.namespace);
}

/// The body as an object.
fn parsed(call: &mut Call<'_>, kind: &str) -> Outcome<Value> {
    let empty = Text::default();
    let bytes = match &call.request.body {
        Body::Value(value) => return Ok((*value).clone()),
        Body::Bytes(bytes) => bytes,
        Body::Empty | Body::Delete(_) => &empty,
    };
    let (value, repeated) = parse_as(bytes, &call.request.content_type, "v1", kind)?;
    call.duplicates = repeated;
    match value {
        Value::Object(_) => match body_type::wrong_type(&value) {
            Some(why) => Err(unrecognized(kind, &why, bytes)),
            None => Ok(value),
        },
        Value::Null => Ok(json!({})),
        other => {
            let why = format!("couldn't get version/kind; json parse error: {}", no_type(&other));
            Err(unrecognized(kind, &why, bytes))
        }
    }
}
