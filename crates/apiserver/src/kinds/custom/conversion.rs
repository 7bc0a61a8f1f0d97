//! Conversion between versions by a webhook (`conversion.strategy: Webhook`).
//!
//! Objects are converted deep within the server, but webhooks can be called only at its edge. So an unknown
//! conversion is recorded as wanted, and the object is passed on unchanged. Before anything is stored or
//! returned, `server/definitions/conversions.rs` requests all wanted conversions at once and reruns the request.
//! Conversions are cached as long as the definition is unchanged, so that an unchanged object is converted
//! only once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::clock::Time;

use super::Version;
use crate::gotext::{json_type, quote, type_name};
use crate::names;
use crate::outbound::client_config;
use crate::outbound::hooks::{self, HookCall, HookError, HookTarget};

/// Timeout of a conversion.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of cached conversions.
const MAX_CACHED: usize = 16_384;

/// The conversion webhook of a definition.
#[derive(Debug)]
pub(crate) struct Conversion {
    target: HookTarget,
    /// The version of ConversionReview that it accepts.
    review: &'static str,
    group: String,
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    /// Converted objects, by the digest of the original.
    known: BTreeMap<Key, Arc<Value>>,
    /// Wanted conversions: the version, and the object.
    wanted: Vec<(String, Arc<Value>)>,
}

type Key = [u8; 32];

impl Conversion {
    /// Returns the conversion webhook of a definition, if it has one.
    pub(crate) fn read(crd: &Value) -> Option<Self> {
        let conversion = &crd["spec"]["conversion"];
        if conversion["strategy"] != "Webhook" {
            return None;
        }
        let reviews = conversion["webhook"]["conversionReviewVersions"].as_array();
        let mut reviews = reviews.into_iter().flatten().filter_map(Value::as_str);
        let first = reviews.find(|version| matches!(*version, "v1" | "v1beta1"));
        Some(Self {
            target: client_config::target(&conversion["webhook"]["clientConfig"]),
            review: if first == Some("v1beta1") { "v1beta1" } else { "v1" },
            group: crd["spec"]["group"].as_str().unwrap_or_default().to_owned(),
            cache: Mutex::default(),
        })
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        // No operation on it can be left half done.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Converts an object to another version, without pruning it. If the conversion is not cached, records it as wanted and
    /// returns `None`.
    pub(crate) fn convert(&self, object: &Value, version: &Version) -> Option<Value> {
        let mut cache = self.cache();
        let Some(known) = cache.known.get(&key(&version.name, object)) else {
            let wanted = (version.name.clone(), Arc::new(object.clone()));
            if !cache.wanted.contains(&wanted) {
                cache.wanted.push(wanted);
            }
            return None;
        };
        let mut converted = (**known).clone();
        restore(&mut converted, object);
        Some(converted)
    }

    /// The next call to the webhook, which converts all wanted objects of one version.
    pub(crate) fn next_call(&self, now: Time) -> Option<ConversionCall> {
        let mut cache = self.cache();
        let version = cache.wanted.first()?.0.clone();
        let (these, rest) = std::mem::take(&mut cache.wanted).into_iter().partition(|(to, _)| *to == version);
        cache.wanted = rest;
        let these: Vec<(String, Arc<Value>)> = these;
        let objects: Vec<Arc<Value>> = these.into_iter().map(|(_, object)| object).collect();
        let desired = format!("{}/{version}", self.group);
        let mut review = json!({
            "kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{}", self.review),
            "request": { "desiredAPIVersion": desired,
                "objects": objects.iter().map(|object| &**object).collect::<Vec<_>>() },
        });
        review["request"]["uid"] = json!(hooks::uid("", &review, now));
        let call = HookCall { target: self.target.clone(), review, timeout: TIMEOUT };
        Some(ConversionCall { version, objects, call })
    }

    /// Drops the wanted conversions, because the request that needs them is over.
    pub(crate) fn clear_wanted(&self) {
        self.cache().wanted.clear();
    }

    /// Caches the answer to a call.
    ///
    /// # Errors
    /// The server's message for an invalid answer.
    pub(crate) fn cache_answer(
        &self,
        wanted: &ConversionCall,
        answer: &Result<Value, HookError>,
    ) -> Result<(), String> {
        let object_type = wanted.objects.first().map(|object| api_type(object)).unwrap_or_default();
        let failed = |why: String| format!("conversion webhook for {object_type} failed: {why}");
        let answer = answer.as_ref().map_err(|error| failed(error.to_string()))?;
        let converted = objects(&wanted.call.review, answer).map_err(failed)?;
        if converted.len() != wanted.objects.len() {
            let (got, expected) = (converted.len(), wanted.objects.len());
            return Err(format!(
                "conversion webhook for {object_type} returned {got} objects, expected {expected}"
            ));
        }
        let desired = format!("{}/{}", self.group, wanted.version);
        for (index, (original, converted)) in wanted.objects.iter().zip(converted).enumerate() {
            let place =
                Place { object_type: &object_type, index: (wanted.objects.len() > 1).then_some(index) };
            check(original, converted, &desired, &place)?;
        }
        let mut cache = self.cache();
        if cache.known.len() > MAX_CACHED {
            cache.known.clear();
        }
        for (original, converted) in wanted.objects.iter().zip(converted) {
            cache.known.insert(key(&wanted.version, original), Arc::new(converted.clone()));
        }
        Ok(())
    }
}

/// A call to a conversion webhook.
#[derive(Debug)]
pub(crate) struct ConversionCall {
    version: String,
    objects: Vec<Arc<Value>>,
    pub(crate) call: HookCall,
}

/// The digest of everything that affects the conversion, which excludes most metadata.
fn key(version: &str, object: &Value) -> Key {
    let metadata = &object["metadata"];
    let mut digest = Sha256::new();
    digest.update(version);
    for field in ["name", "namespace", "uid", "labels", "annotations"] {
        digest.update(metadata[field].to_string());
    }
    for (field, value) in object.as_object().into_iter().flatten().filter(|(field, _)| *field != "metadata") {
        digest.update(field);
        digest.update(value.to_string());
    }
    digest.finalize().into()
}

/// Restores the metadata: a webhook may change only labels and annotations.
fn restore(converted: &mut Value, original: &Value) {
    let mut metadata = original["metadata"].clone();
    for field in ["labels", "annotations"] {
        match converted["metadata"].get(field).filter(|value| value.is_object()) {
            Some(value) => metadata[field] = value.clone(),
            None => {
                metadata.as_object_mut().map(|map| map.remove(field));
            }
        }
    }
    converted["metadata"] = metadata;
}

/// `group/version, Kind=K`, as Go prints it.
fn api_type(object: &Value) -> String {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let version = text("apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={}", text("kind"))
}

/// The converted objects in an answer.
fn objects<'a>(asked: &Value, answer: &'a Value) -> Result<&'a [Value], String> {
    let strict = asked["apiVersion"] == "apiextensions.k8s.io/v1";
    if strict && (answer["apiVersion"] != asked["apiVersion"] || answer["kind"] != "ConversionReview") {
        let expected = "apiextensions.k8s.io/v1, Kind=ConversionReview";
        return Err(format!("expected webhook response of {expected}, got {}", api_type(answer)));
    }
    let response = &answer["response"];
    if !response.is_object() {
        return Err("no response provided".to_owned());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (expected, got) = (text(&asked["request"]["uid"]), text(&response["uid"]));
    if strict && expected != got {
        return Err(format!("expected response.uid={}, got {}", quote(&expected), quote(&got)));
    }
    let (status, message) = (text(&response["result"]["status"]), text(&response["result"]["message"]));
    if status != "Success" {
        let why = format!("response.result.status was '{status}', not 'Success'");
        return Err(if message.is_empty() { why } else { message });
    }
    Ok(response["convertedObjects"].as_array().map(Vec::as_slice).unwrap_or_default())
}

/// The place of a converted object in an answer: its type, and its index if there are several.
struct Place<'a> {
    object_type: &'a str,
    index: Option<usize>,
}

impl Place<'_> {
    /// The error about an object.
    fn error(&self, why: &str) -> String {
        let what = self.index.map(|index| format!("invalid converted object at index {index}"));
        let what = what.unwrap_or_else(|| "invalid object".to_owned());
        format!("conversion webhook for {} returned {what}: {why}", self.object_type)
    }

    /// The error about the type of an object.
    fn type_error(&self, why: &str) -> String {
        let what = if self.index.is_some() { "invalid converted object" } else { "invalid object" };
        let index = self.index.unwrap_or_default();
        format!("conversion webhook for {} returned {what} at index {index}: {why}", self.object_type)
    }

    /// The error about metadata.
    fn metadata_error(&self, why: &str) -> String {
        let what = self.index.map(|index| format!(" in object at index {index}")).unwrap_or_default();
        format!("conversion webhook for {} returned invalid metadata{what}: {why}", self.object_type)
    }
}

/// Requires that a converted object has the desired version, and is still the same object.
fn check(original: &Value, converted: &Value, desired: &str, place: &Place<'_>) -> Result<(), String> {
    if let Some(why) = not_an_object(converted) {
        return Err(if place.index.is_some() { place.error(&why) } else { why });
    }
    let text = |object: &Value, pointer: &str| {
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let version = text(converted, "/apiVersion");
    if version != desired {
        let why = format!("invalid groupVersion (expected {desired}, received {version})");
        return Err(place.type_error(&why));
    }
    let (expected, kind) = (text(original, "/kind"), text(converted, "/kind"));
    if kind != expected {
        return Err(place.type_error(&format!("invalid kind (expected {expected}, received {kind})")));
    }
    for (what, pointer) in
        [("name", "/metadata/name"), ("namespace", "/metadata/namespace"), ("UID", "/metadata/uid")]
    {
        let (before, after) = (text(original, pointer), text(converted, pointer));
        if before != after {
            return Err(place.error(&format!("must have the same {what}: {before} != {after}")));
        }
    }
    check_metadata(original, converted).map_err(|why| place.metadata_error(&why))
}

/// The message of Go's decoder for a value that is no object of the API.
fn not_an_object(converted: &Value) -> Option<String> {
    match converted {
        Value::Null => Some("unexpected end of JSON input".to_owned()),
        Value::Object(map) => {
            let has_kind = map.get("kind").and_then(Value::as_str).is_some_and(|kind| !kind.is_empty());
            (!has_kind).then(|| format!("Object 'Kind' is missing in '{converted}'"))
        }
        other => {
            let found = json_type(other);
            Some(format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"))
        }
    }
}

/// Checks the metadata that a webhook may change: labels and annotations (`restoreObjectMeta`).
fn check_metadata(original: &Value, converted: &Value) -> Result<(), String> {
    let metadata = match &converted["metadata"] {
        Value::Object(metadata) => metadata,
        _ if converted.get("metadata").is_none() => {
            return Err("missing metadata in converted object".to_owned());
        }
        other => return Err(format!("invalid metadata of type {} in converted object", type_name(other))),
    };
    for (field, path) in [("labels", "metadata.labels"), ("annotations", "metadata.annotation")] {
        let values = match metadata.get(field) {
            None | Some(Value::Null) => continue,
            Some(Value::Object(values)) => values,
            Some(other) => {
                let found = type_name(other);
                return Err(format!("invalid metadata.{field} of type {found} in converted object"));
            }
        };
        if let Some((key, value)) = values.iter().find(|(_, value)| !value.is_string()) {
            let found = type_name(value);
            return Err(format!(
                "metadata.{field}[{key}] must be a string, but is {found} in converted object"
            ));
        }
        if original["metadata"][field].as_object() != Some(values) {
            check_map(values, path, field == "labels")?;
        }
    }
    Ok(())
}

/// Checks the keys of labels or annotations, and the values of labels.
fn check_map(values: &Map<String, Value>, path: &str, are_labels: bool) -> Result<(), String> {
    let mut errors = Vec::new();
    for (key, value) in values {
        let name = if are_labels { key.clone() } else { key.to_lowercase() };
        let mut add = |shown: &str, why: &str| {
            errors.push(format!("{path}: Invalid value: {}: {why}", quote(shown)));
        };
        for why in names::labels::label_key(&name) {
            add(key, &why);
        }
        let value = value.as_str().unwrap_or_default();
        for why in names::labels::label_value(value).into_iter().filter(|_| are_labels) {
            add(value, &why);
        }
    }
    match errors.as_slice() {
        [] => Ok(()),
        [error] => Err(error.clone()),
        errors => Err(format!("[{}]", errors.join(", "))),
    }
}
