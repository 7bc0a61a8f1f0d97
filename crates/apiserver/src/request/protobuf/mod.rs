//! Decodes protobuf bodies, which Go clients send for built-in kinds, to JSON.
//!
//! An envelope contains the type (`runtime.Unknown` after four bytes of magic); the tables of [`facts`]
//! contain the number of every field. Go clients send every field that is not a pointer, even zeros. The
//! result is what Go's JSON of the same object would be: zeros of optional fields are omitted, unless the
//! type distinguishes zero from absent.

mod message;
mod scalar;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::{Map, Value, json};

use self::message::Decoder;
use self::wire::{Raw, Reader};
use crate::facts::{self, TypeId};

/// The media type of protobuf bodies.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The prefix of every body.
const MAGIC: &[u8] = b"k8s\0";

/// The reason why a body cannot be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodeError {
    /// Kind and version in the envelope, if it was decoded.
    pub(crate) is: Option<(String, String)>,
    /// Go's message.
    pub(crate) why: String,
}

impl From<String> for DecodeError {
    fn from(why: String) -> Self {
        Self { is: None, why }
    }
}

/// The content of an envelope.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

/// Decodes a body. `default` is the `apiVersion` and `kind` for an envelope without them.
pub(crate) fn decode(body: &[u8], default: (&str, &str)) -> Result<Value, DecodeError> {
    let Some(message) = body.strip_prefix(MAGIC) else {
        let why = if body.is_empty() {
            "empty data".to_owned()
        } else {
            format!(
                "provided data does not appear to be a protobuf message, expected prefix {}",
                go_bytes(MAGIC)
            )
        };
        return Err(why.into());
    };
    if message.is_empty() {
        return Err("empty body".to_owned().into());
    }
    let mut envelope = envelope(message)?;
    if envelope.kind.is_empty() {
        default.1.clone_into(&mut envelope.kind);
    }
    if envelope.api_version.is_empty() {
        default.0.clone_into(&mut envelope.api_version);
    }
    let (group, version) =
        envelope.api_version.split_once('/').unwrap_or(("", envelope.api_version.as_str()));
    if envelope.kind.is_empty() {
        let why = "Object 'Kind' is missing in 'runtime.TypeMeta{APIVersion:\"\", Kind:\"\"}'";
        return Err(why.to_owned().into());
    }
    let failed = |why| DecodeError { is: Some((envelope.kind.clone(), version.to_owned())), why };
    let id = find(group, version, &envelope.kind).map_err(failed)?;
    let mut object = Map::new();
    Decoder::new(facts::types()).message(id, envelope.raw, &mut object).map_err(failed)?;
    object.insert("apiVersion".to_owned(), json!(envelope.api_version));
    object.insert("kind".to_owned(), json!(envelope.kind));
    Ok(Value::Object(object))
}

/// The type of a kind. Kinds of request options exist in every group.
fn find(group: &str, version: &str, kind: &str) -> Result<TypeId, String> {
    let types = facts::types();
    let options = || kind.ends_with("Options").then(|| types.find("meta", "v1", kind)).flatten();
    let found = facts::is_builtin(group).then(|| types.find(group, version, kind)).flatten();
    found.filter(|id| types.get(*id).is_kind).or_else(options).ok_or_else(|| {
        if facts::is_builtin(group) {
            format!(
                "no kind {kind:?} is registered for version {:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
                if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
            )
        } else {
            "object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be \
             encoded to a protobuf message"
                .to_owned()
        }
    })
}

fn envelope(bytes: &[u8]) -> Result<Envelope<'_>, String> {
    let mut envelope = Envelope::default();
    let mut fields = Reader::new(bytes, "Unknown");
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, Raw::Bytes(meta)) => {
                let mut meta = Reader::new(meta, "TypeMeta");
                while let Some((number, value)) = meta.next()? {
                    match (number, value) {
                        (1, Raw::Bytes(text)) => envelope.api_version = scalar::text(text),
                        (2, Raw::Bytes(text)) => envelope.kind = scalar::text(text),
                        (1, other) => return Err(other.unexpected("APIVersion")),
                        (2, other) => return Err(other.unexpected("kind")),
                        _ => {}
                    }
                }
            }
            (2, Raw::Bytes(raw)) => envelope.raw = raw,
            (1, other) => return Err(other.unexpected("typeMeta")),
            (2, other) => return Err(other.unexpected("raw")),
            _ => {}
        }
    }
    Ok(envelope)
}

/// Formats bytes like Go's `%v`.
fn go_bytes(bytes: &[u8]) -> String {
    let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
    format!("[{}]", numbers.join(" "))
}
