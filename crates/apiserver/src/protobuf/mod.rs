//! Bodies in protocol buffers, as Go clients send them for built-in kinds, to the JSON that they stand for.
//!
//! An envelope says what is in it (`runtime.Unknown` after four bytes of magic); the tables of [`facts`] know the number of
//! every field. On the wire, Go's clients write every field that is no pointer, zeros too; what comes out is what
//! Go's JSON of the same object would say: zeros of optional fields are left out unless their type tells a zero from nothing.

mod message;
mod scalar;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::{Map, Value, json};

use self::message::Decoder;
use self::wire::{Raw, Reader};
use super::kinds::facts::{self, TypeId};

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body is no object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodeError {
    /// Kind and version that the envelope says, if it came so far.
    pub(crate) is: Option<(String, String)>,
    /// What Go says.
    pub(crate) why: String,
}

impl From<String> for DecodeError {
    fn from(why: String) -> Self {
        Self { is: None, why }
    }
}

/// What an envelope holds.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

/// Reads a body. `default` is the `apiVersion` and `kind` of an envelope that says none.
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

/// The type of a kind. Options of requests are in every group.
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

/// Bytes as Go's `%v` prints them.
fn go_bytes(bytes: &[u8]) -> String {
    let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
    format!("[{}]", numbers.join(" "))
}
