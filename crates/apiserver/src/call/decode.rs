//! Decodes bodies to objects of a kind: checks the type, normalises the metadata, and drops unknown fields.

use serde_json::{Number, Value, json};

use crate::call::{Call, Owners, body_type, field_validation};
use crate::delta::Delta;
use crate::facts::types;
use crate::field::FieldError;
use crate::kinds::typed::Source;
use crate::kinds::{Kind, defaults, typed};
use crate::metadata;
use crate::profile::Profile;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::body::{no_type, parse_as, summary};
use crate::request::{Body, Method, Text};
use crate::schema::{default, embedded, prune};

/// Parses the body of a call.
pub(crate) fn body(call: &mut Call<'_>) -> Outcome<Value> {
    let mut value = parsed_body(call)?;
    if let Some(skew) = call.skew {
        skew.skew_written(&mut value);
    }
    Ok(value)
}

fn parsed_body(call: &mut Call<'_>) -> Outcome<Value> {
    let (content_type, resource) = (&call.request.content_type, &call.kind.resource);
    match &call.request.body {
        Body::Empty | Body::Delete(_) => {
            parse_as(&Text::default(), content_type, &resource.api_version(), &resource.kind)
                .map(|(value, _)| value)
        }
        Body::Value(value) => Ok((*value).clone()),
        Body::Bytes(bytes) => {
            let (value, duplicates) = parse_as(bytes, content_type, &resource.api_version(), &resource.kind)?;
            call.duplicates = duplicates;
            Ok(value)
        }
    }
}

/// Decodes a body to an object of the call's kind. Warns about dropped fields.
pub(crate) fn object(call: &mut Call<'_>, value: Value, profile: &Profile) -> Outcome<Value> {
    object_from(call, value, Source::Json, profile)
}

/// Like [`object`], for a value from another source than a body. The converter of maps ignores the type in the object.
pub(crate) fn object_from(
    call: &mut Call<'_>,
    mut value: Value,
    source: Source,
    profile: &Profile,
) -> Outcome<Value> {
    let kind = std::sync::Arc::clone(&call.kind);
    let mut unknown = Vec::new();
    if source == Source::Map && kind.custom.is_none() {
        set_type(&kind, &mut value).map_err(|why| unhandled(&kind, &why))?;
    } else {
        let body = match &call.request.body {
            Body::Bytes(body) if call.request.method != Method::Patch => Some(body),
            _ => None,
        };
        if kind.custom.is_some() && call.request.method == Method::Patch {
            check_patched_type(call, &mut value, profile)?;
        }
        check_type(&kind, &mut value, body, profile)?;
    }
    call.owners = Owners::Given(given_owners(&mut value));
    if let Some(custom) = &kind.custom {
        metadata::check_types(&value["metadata"], "ObjectMeta").map_err(|why| unhandled(&kind, &why))?;
        let dropped = metadata::normalise(&mut value["metadata"]);
        unknown.extend(dropped.iter().map(|field| format!("metadata.{field}")));
        let schema = &custom.version.schema;
        // Unchanged fields were decoded before.
        let known = call.baseline.as_ref().map(|known| Delta::between(known, &value));
        let delta = known.as_ref().unwrap_or(&Delta::Other);
        let numbers = whole_numbers(&mut value, delta);
        let embedded = embedded::coerce(&mut value, schema, profile)
            .map_err(|(path, why)| unhandled(&kind, &format!("{path}: Invalid value: {why}")))?;
        unknown.extend(embedded);
        unknown.extend(prune::prune_changes(&mut value, schema, delta));
        let filled = default::fill(&mut value, schema);
        // An apply merges values that Go does not decode again, so its nulls stay.
        let has_nulls = source == Source::Json && (numbers.nulls || schema.has_null_defaults);
        if has_nulls {
            default::drop_nulls(&mut value, schema);
        }
        let altered = numbers.rounded || filled || has_nulls || schema.has_embedded || !unknown.is_empty();
        call.delta = known.filter(|_| !altered);
    } else {
        let changed = || call.baseline.as_ref().map(|known| changed_fields(known, &value));
        let touched = call.touched.take().or_else(changed);
        let decoded = typed::decode_some(&kind, &mut value, source, touched.as_deref(), profile.minor)
            .map_err(|why| unhandled(&kind, &why))?;
        unknown.extend(decoded.unknown);
        let is_labelled = value["metadata"]["labels"].is_object();
        defaults::fill(&kind, &mut value, profile.minor);
        call.shares_labels = !is_labelled && value["metadata"]["labels"].is_object();
        call.empties = decoded.empties;
        call.empties.retain(|empty| empty.is_hidden(&value));
        kind.convert_to_stored(&mut value);
    }
    unknown.sort();
    report(call, &kind, &unknown)?;
    Ok(value)
}

/// Normalises an object that admission changed, or that another server served: encodes the metadata like Go, drops unknown
/// fields, and fills in defaults. Returns the paths of the dropped fields.
///
/// # Errors
/// A value does not have the type of its field.
pub(crate) fn normalise(kind: &Kind, value: &mut Value, minor: u32) -> Result<Vec<String>, String> {
    metadata::check_types(&value["metadata"], "ObjectMeta")?;
    let mut dropped = metadata::normalise(&mut value["metadata"]);
    for field in &mut dropped {
        field.insert_str(0, "metadata.");
    }
    if let Some(custom) = &kind.custom {
        let schema = &custom.version.schema;
        dropped.extend(prune::prune(value, schema));
        default::fill(value, schema);
        default::drop_nulls(value, schema);
    } else {
        dropped.extend(typed::decode(kind, value, minor)?);
        defaults::fill(kind, value, minor);
        kind.convert_to_stored(value);
    }
    dropped.sort();
    Ok(dropped)
}

/// Removes `metadata.managedFields` from a body, and returns it: the write handles it separately. A value that is not a list
/// stays, so that the decoder rejects it.
fn given_owners(value: &mut Value) -> Option<Value> {
    let metadata = value.get_mut("metadata")?.as_object_mut()?;
    if metadata.get("managedFields")?.is_array() { metadata.remove("managedFields") } else { None }
}

/// The names of the fields that differ from the baseline.
fn changed_fields(baseline: &Value, object: &Value) -> Vec<String> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, value)| baseline.get(name) != Some(value)).map(|(name, _)| name.clone()).collect()
}

/// Warns about repeated and unknown fields, or rejects them.
fn report(call: &mut Call<'_>, kind: &Kind, unknown: &[String]) -> Outcome<()> {
    field_validation::report(call, &unhandled_prefix(kind), unknown)
}

fn unhandled(kind: &Kind, why: &str) -> BoxedRejection {
    BoxedRejection::bad_request(unhandled_prefix(kind) + why)
}

/// The start of the error message for a body that does not decode to an object of the kind.
pub(crate) fn unhandled_prefix(kind: &Kind) -> String {
    let (name, version) = (&kind.resource.kind, &kind.resource.version);
    format!("{name} in version \"{version}\" cannot be handled as a {name}: ")
}

/// Decodes a patched object without `apiVersion` as a real server does: as the internal type, whose fields have no names in
/// JSON except those of the metadata, which it embeds. All others are unknown.
pub(crate) fn unversioned(call: &mut Call<'_>, value: &mut Value) -> Outcome<()> {
    let kind = std::sync::Arc::clone(&call.kind);
    let is_absent = |field: &str| value[field].is_null() || value[field] == "";
    let is_kind = is_absent("kind") || value["kind"] == *kind.resource.kind;
    if kind.custom.is_some() || !is_absent("apiVersion") || !is_kind {
        return Ok(());
    }
    let Some(fields) = value.as_object_mut().map(std::mem::take) else { return Ok(()) };
    let fields = fields.into_iter().filter(|(name, _)| name != "apiVersion" && name != "kind");
    let metadata = types().find("meta", "v1", "ObjectMeta");
    let is_metadata = |name: &str| metadata.is_some_and(|id| types().field(id, name).is_some());
    let (known, unknown): (Vec<_>, Vec<_>) = fields.partition(|(name, _)| is_metadata(name));
    *value = json!({ "metadata": Value::Object(known.into_iter().collect()) });
    call.touched = None;
    let mut unknown: Vec<String> = unknown.into_iter().map(|(name, _)| name).collect();
    unknown.sort();
    report(call, &kind, &unknown)
}

/// Sets `apiVersion` and `kind` to those of the kind.
fn set_type(kind: &Kind, value: &mut Value) -> Result<(), String> {
    let version = kind.resource.api_version();
    for (field, text) in [("kind", &*kind.resource.kind), ("apiVersion", &*version)] {
        if !value[field].is_null() {
            typed::check_text(&mut value[field])?;
        }
        value[field] = json!(text);
    }
    Ok(())
}

/// Checks the `apiVersion` and `kind` of a patched custom resource, as its validation does. A status write restores them.
fn check_patched_type(call: &Call<'_>, value: &mut Value, profile: &Profile) -> Outcome<()> {
    let resource = &call.kind.resource;
    if body_type::wrong_type(value).is_some() || value["kind"].as_str().is_none_or(str::is_empty) {
        return Ok(());
    }
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (version, kind, expected) = (text("apiVersion"), text("kind"), resource.api_version());
    if version.is_empty() {
        let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        return Err(BoxedRejection::internal_error(why));
    }
    if call.path.subresource == "status" {
        (value["apiVersion"], value["kind"]) = (json!(expected), json!(resource.kind));
        return Ok(());
    }
    let fields = [("kind", &kind, &*resource.kind), ("apiVersion", &version, &*expected)];
    let wrong = fields.into_iter().filter(|(_, given, expected)| *given != expected);
    let errors: Vec<FieldError> = wrong
        .map(|(field, given, expected)| {
            FieldError::invalid(field, given.as_str(), format!("must be {expected}"))
        })
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let name = metadata::text(value, "name").to_owned();
    Err(BoxedRejection::invalid(group, &kind, &name, &errors, profile))
}

/// Checks `apiVersion` and `kind`, and fills in missing ones. Custom resources must have a `kind`. Errors show the body, or the
/// patched object.
fn check_type(kind: &Kind, value: &mut Value, body: Option<&Text>, profile: &Profile) -> Outcome<()> {
    let resource = &kind.resource;
    let data = |value: &Value| body.map_or_else(|| value.to_string().into(), |body| (**body).clone());
    if value.is_null() {
        *value = json!({});
    }
    if !value.is_object() {
        let why = format!("couldn't get version/kind; json parse error: {}", no_type(value));
        return Err(unrecognized(&resource.kind, &why, &data(value)));
    }
    if let Some(why) = body_type::wrong_type(value) {
        return Err(unrecognized(&resource.kind, &why, &data(value)));
    }
    let Some(map) = value.as_object_mut() else { return Ok(()) };
    let version = map.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    let given = map.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    if given.is_empty() && kind.custom.is_some() {
        let why = format!("Object 'Kind' is missing in '{value}'");
        return Err(unrecognized(&resource.kind, &why, value.to_string().as_bytes()));
    }
    if kind.custom.is_none() {
        body_type::check((&resource.group, &resource.version, &resource.kind), &given, &version)?;
    } else if !given.is_empty() && given != resource.kind {
        let error = FieldError::invalid("kind", given.as_str(), format!("must be {}", resource.kind));
        let name = metadata::text(value, "name").to_owned();
        return Err(BoxedRejection::invalid(&resource.group, &given, &name, &[error], profile));
    }
    if version.is_empty() {
        map.insert("apiVersion".to_owned(), json!(resource.api_version()));
    } else if !resource.has_api_version(&version) {
        let expected = resource.api_version();
        return Err(BoxedRejection::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    if given.is_empty() {
        map.insert("kind".to_owned(), json!(resource.kind));
    }
    Ok(())
}

/// The error for a body from which the decoder cannot read the type.
pub(crate) fn unrecognized(kind: &str, why: &str, data: &[u8]) -> BoxedRejection {
    let data = summary(data);
    BoxedRejection::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({data})"
    ))
}

/// Properties of the values of an object.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// Whether there is a null. Most objects have none, and then the decoder skips the search for nulls to drop.
    nulls: bool,
    /// Whether a number was converted.
    rounded: bool,
}

/// Converts numbers such as `1000.0` to integers in the changed parts of an object.
fn whole_numbers(value: &mut Value, delta: &Delta) -> Found {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let mut found = Found::default();
    match value {
        _ if delta.is_same() => {}
        Value::Null => found.nulls = true,
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() <= EXACT {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a whole number that an f64 holds exactly"
                )]
                let whole = float as i64;
                *number = Number::from(whole);
                found.rounded = true;
            }
        }
        Value::Array(items) => found.all_whole_numbers(items.iter_mut(), delta),
        Value::Object(map) => found.all_whole_numbers(map.values_mut(), delta),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

impl Found {
    fn all_whole_numbers<'a>(&mut self, values: impl Iterator<Item = &'a mut Value>, delta: &Delta) {
        // Skip strings, which most values are, without a call.
        for (place, value) in values.enumerate().filter(|(_, value)| !value.is_string()) {
            let inner = whole_numbers(value, delta.inner(place));
            self.nulls |= inner.nulls;
            self.rounded |= inner.rounded;
        }
    }
}
