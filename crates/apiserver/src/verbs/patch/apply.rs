//! Server-side apply: updates an existing object, or creates a missing one.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::Resource;

use crate::apply::failed;
use crate::apply::{Applied, KUBECTL, LAST_APPLIED, Managers};
use crate::call::decode;
use crate::call::{Call, Owners};
use crate::gotext::json_type;
use crate::kinds::Kind;
use crate::kinds::typed::Source;
use crate::metadata;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::Body;
use crate::request::options::FieldValidation;
use crate::request::{body, options, yaml};
use crate::server::ApiServer;
use crate::verbs::update;

impl ApiServer {
    pub(super) fn apply_patch(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let (object, is_new) = self.applied_object(call)?;
        if is_new {
            self.check_create_on_update(call)?;
            return self.create_object(call, object);
        }
        self.update_object(call, object)
    }

    /// The decoded object of a call with the configuration that it applies, and whether the object is new. Decides the owners
    /// of its fields.
    pub(crate) fn applied_object(&self, call: &mut Call<'_>) -> Outcome<(Value, bool)> {
        let kind = Arc::clone(&call.kind);
        let live = match self.entry(call) {
            Ok(entry) => Some(kind.served(entry)),
            Err(rejection) if !creates_missing(call) => return Err(rejection),
            Err(_) => None,
        };
        let config = configuration(call, &kind.resource)?;
        let is_new = live.is_none();
        let managers = live.as_ref().map(Managers::stored).unwrap_or_default();
        let base = live.map_or_else(
            || json!({ "apiVersion": kind.resource.api_version(), "kind": kind.resource.kind }),
            |live| (*live).clone(),
        );
        let force = call.options.force;
        let applied = self.tracker(call).apply(&base, &config, managers, is_new, force)?;
        let Applied { object, managers } = applied;
        report_repeated_keys(call)?;
        let mut object = object.unwrap_or(base);
        update_last_applied(call, &mut object, &config);
        if is_new {
            check_new(call, &object)?;
        }
        // The apply already rejected unknown fields, with another message.
        call.options.field_validation = FieldValidation::Ignore;
        let encoded = object["metadata"].clone();
        let object = decode::object_from(call, object, Source::Map, &self.profile)
            .map_err(|rejection| unconverted(rejection, &kind, &config))?;
        call.is_encoded_anew = kind.custom.is_some() && has_more_metadata(&encoded, &object["metadata"]);
        call.owners = Owners::Decided(managers);
        Ok((object, is_new))
    }
}

/// Whether metadata has fields that its decoded form lacks, because they are empty. The server sets some fields itself.
fn has_more_metadata(encoded: &Value, decoded: &Value) -> bool {
    const SET_BY_SERVER: [&str; 4] = ["creationTimestamp", "managedFields", "resourceVersion", "uid"];
    let fields = encoded.as_object().into_iter().flat_map(serde_json::Map::keys);
    fields.filter(|name| !SET_BY_SERVER.contains(&name.as_str())).any(|name| decoded.get(name).is_none())
}

/// Whether an apply creates a missing object. For an update of the status that is an oversight of the real server, in kinds
/// whose objects updates create.
fn creates_missing(call: &Call<'_>) -> bool {
    let part = &*call.path.subresource;
    part.is_empty() || part == "status" && call.kind.rules.create_on_update
}

/// The applied configuration. Rejects an object of another type than the path, and one with `metadata.managedFields`.
pub(crate) fn configuration(call: &mut Call<'_>, resource: &Resource) -> Outcome<Value> {
    let mut config = read(call)?;
    if let Some(skew) = call.skew {
        skew.skew_written(&mut config);
    }
    let text = |field: &str| config[field].as_str().unwrap_or_default();
    let (given, version) = (text("kind"), text("apiVersion"));
    if given != resource.kind || version != resource.api_version() {
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        return Err(BoxedRejection::bad_request(format!(
            "invalid object type: {group}/{version}, Kind={given}"
        )));
    }
    if config["metadata"].get("managedFields").is_some_and(Value::is_array) {
        return Err(BoxedRejection::bad_request("metadata.managedFields must be nil"));
    }
    Ok(config)
}

/// Parses the body, which is YAML or JSON. Repeated keys go into the call.
fn read(call: &mut Call<'_>) -> Outcome<Value> {
    let wrong = |why: String| BoxedRejection::bad_request(format!("error decoding YAML: {why}"));
    let value = match &call.request.body {
        Body::Value(value) => (*value).clone(),
        Body::Empty | Body::Delete(_) => json!({}),
        Body::Bytes(bytes) => {
            body::check_size(bytes)?;
            // Most clients send JSON, which the JSON parser reads faster than the YAML parser.
            match bytes.json() {
                Ok((value, repeated)) if repeated.is_empty() => value,
                _ => {
                    let (value, repeated) = yaml::parse(bytes)
                        .map_err(|why| wrong(format!("error converting YAML to JSON: {why}")))?;
                    call.duplicates = repeated;
                    value
                }
            }
        }
    };
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(json!({})),
        other => Err(wrong(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type \
             map[string]interface {{}}",
            json_type(&other)
        ))),
    }
}

/// Warns about repeated keys or rejects them. A real server does so only after a successful merge.
pub(crate) fn report_repeated_keys(call: &mut Call<'_>) -> Outcome<()> {
    let repeated = std::mem::take(&mut call.duplicates);
    match call.options.field_validation {
        _ if repeated.is_empty() => {}
        FieldValidation::Ignore => {}
        FieldValidation::Warn => call.warnings.extend(repeated),
        FieldValidation::Strict => {
            let why = yaml::strict_error(&repeated);
            return Err(BoxedRejection::bad_request(format!(
                "error strict decoding YAML: error converting YAML to JSON: {why}"
            )));
        }
    }
    Ok(())
}

/// The error for a merged object that is none of the kind. Custom resources are not converted.
fn unconverted(rejection: BoxedRejection, kind: &Kind, config: &Value) -> BoxedRejection {
    if kind.custom.is_some() {
        return rejection;
    }
    let why = rejection.message.strip_prefix(&decode::unhandled_prefix(kind)).unwrap_or(&rejection.message);
    let resource = &kind.resource;
    let gvk = format!("{}/{}, Kind={}", resource.group, resource.version, resource.kind);
    let converted = format!("unable to convert unstructured object to {gvk}: {why}");
    failed("convert new object", config, " to proper version", &converted)
}

/// Checks the uid, the version and the name of a new object.
fn check_new(call: &Call<'_>, object: &Value) -> Outcome<()> {
    let (resource, name) = (&call.kind.resource, &*call.path.name);
    let uid = metadata::text(object, "uid");
    if !uid.is_empty() {
        let text = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(BoxedRejection::conflict(resource, &resource.plural, name, &text));
    }
    update::check_name(call, object)?;
    options::version(metadata::text(object, "resourceVersion")).map(drop).map_err(BoxedRejection::internal)
}

/// Updates the annotation of kubectl's client-side apply, if the object has one and `kubectl` is the field manager.
fn update_last_applied(call: &Call<'_>, object: &mut Value, config: &Value) {
    let annotation = object["metadata"]["annotations"].get(LAST_APPLIED).and_then(Value::as_str);
    if call.request.query.get("fieldManager") != KUBECTL || annotation.is_none_or(str::is_empty) {
        return;
    }
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = config["metadata"].get_mut("annotations") {
        annotations.remove(LAST_APPLIED);
    }
    let text = format!("{config}\n");
    object["metadata"]["annotations"][LAST_APPLIED] = json!(text);
}
