//! An answer as data; only the edge of the server turns it into bytes.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value;

use super::accept::{self, PARTIAL, PARTIAL_LIST, PARTIAL_VERSION, Shape};
use super::kinds::Kind;
use super::status::{Outcome, Refused};
use super::watch::Watch;
use crate::model::{Object, Refusal};

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status code.
    pub code: u16,
    /// What is answered.
    pub body: ReplyBody,
    /// Texts for `Warning` headers, without code and quotes.
    pub warnings: Vec<String>,
    /// `Retry-After` in seconds.
    pub retry_after: Option<u32>,
    /// The last state of an object that is gone by this request.
    pub removed: Option<Arc<Value>>,
}

/// What is answered.
#[derive(Debug)]
pub enum ReplyBody {
    /// An object, shared with the store.
    Object(Arc<Value>),
    /// JSON made for this answer, such as a Status.
    Value(Value),
    /// A list whose items are shared with the store.
    List(List),
    /// Plain text.
    Text(String),
    /// Events until the watch ends.
    Watch(Box<Watch>),
}

/// A list of objects.
#[derive(Debug, Clone)]
pub struct List {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Value,
    pub(crate) items: Vec<Arc<Value>>,
    /// Whether items carry their own `apiVersion` and `kind`, as those of custom resources do.
    pub(crate) typed_items: bool,
}

impl List {
    /// The objects, in order of namespace and name.
    pub fn items(&self) -> &[Arc<Value>] {
        &self.items
    }

    fn keep_metadata(&mut self) {
        PARTIAL_LIST.clone_into(&mut self.kind);
        PARTIAL_VERSION.clone_into(&mut self.api_version);
        self.typed_items = true;
        if let Some(map) = self.metadata.as_object_mut() {
            map.retain(|_, value| value != "");
        }
        self.items.iter_mut().for_each(|item| *item = Arc::new(accept::metadata(item)));
    }
}

/// The Go type that a real server holds objects of a kind in.
fn go_type(kind: &Kind) -> String {
    if kind.custom.is_some() {
        return "*unstructured.Unstructured".to_owned();
    }
    let package = match &*kind.resource.group {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    };
    format!("*{package}.{}", kind.resource.kind)
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("apiVersion", &self.api_version)?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("items", &Items(self))?;
        map.end()
    }
}

struct Items<'a>(&'a List);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.items.len()))?;
        for item in &self.0.items {
            if self.0.typed_items {
                seq.serialize_element(&**item)?;
            } else {
                seq.serialize_element(&Untyped(item))?;
            }
        }
        seq.end()
    }
}

struct Untyped<'a>(&'a Value);

impl Serialize for Untyped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(object) = self.0.as_object() else { return self.0.serialize(serializer) };
        serializer.collect_map(object.iter().filter(|(key, _)| *key != "apiVersion" && *key != "kind"))
    }
}

impl Reply {
    pub(crate) fn new(code: u16, body: ReplyBody) -> Self {
        Self { code, body, warnings: Vec::new(), retry_after: None, removed: None }
    }

    pub(crate) fn object(code: u16, object: Arc<Value>) -> Self {
        Self::new(code, ReplyBody::Object(object))
    }

    pub(crate) fn value(code: u16, value: Value) -> Self {
        Self::new(code, ReplyBody::Value(value))
    }

    pub(crate) fn refused(refused: &Refused) -> Self {
        let body = if refused.plain {
            ReplyBody::Text(refused.message.clone())
        } else {
            ReplyBody::Value(refused.body())
        };
        Self { retry_after: refused.retry_after, ..Self::new(refused.code, body) }
    }

    /// What was asked for of the objects in the answer. A watch knows its shape itself.
    pub(crate) fn shaped(mut self, shape: Shape, kind: &Kind) -> Outcome<Self> {
        let refuse = |asked: &str, is: &str, suffix: &str| {
            let name = go_type(kind);
            let text = format!("you requested {asked}, but the requested object is {is} ({name}{suffix})");
            Err(Refused::not_in_that_shape(text))
        };
        match (&mut self.body, shape) {
            (_, Shape::Whole) | (ReplyBody::Value(_) | ReplyBody::Text(_) | ReplyBody::Watch(_), _) => {}
            (ReplyBody::Object(object), Shape::Metadata) => *object = Arc::new(accept::metadata(object)),
            (ReplyBody::List(list), Shape::MetadataList) => list.keep_metadata(),
            (ReplyBody::Object(_), Shape::MetadataList) => return refuse(PARTIAL_LIST, "not a list", ""),
            (ReplyBody::List(_), Shape::Metadata) => return refuse(PARTIAL, "a list", "List"),
        }
        Ok(self)
    }

    /// Whether the request was refused.
    pub fn is_refusal(&self) -> bool {
        self.code >= 400
    }

    /// The body as JSON; `None` for text and watches.
    pub fn json(&self) -> Option<Value> {
        match &self.body {
            ReplyBody::Object(object) => Some((**object).clone()),
            ReplyBody::Value(value) => Some(value.clone()),
            ReplyBody::List(list) => serde_json::to_value(list).ok(),
            ReplyBody::Text(_) | ReplyBody::Watch(_) => None,
        }
    }

    /// The answer to a write as the object, or the refusal.
    ///
    /// # Errors
    /// The refusal, if it is one.
    pub fn into_object(self) -> Result<Object, Refusal> {
        if self.is_refusal() {
            return Err(self.into_refusal());
        }
        if let Some(removed) = self.removed {
            return Ok(Object::from(removed));
        }
        Ok(match self.body {
            ReplyBody::Object(object) => Object::from(object),
            ReplyBody::Value(value) => Object::new(value),
            ReplyBody::List(_) | ReplyBody::Text(_) | ReplyBody::Watch(_) => Object::new(Value::Null),
        })
    }

    fn into_refusal(self) -> Refusal {
        let status = match self.body {
            ReplyBody::Value(status) => status,
            ReplyBody::Text(text) => serde_json::json!({ "message": text.trim_end() }),
            _ => Value::Null,
        };
        let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        Refusal {
            code: self.code,
            reason: text("reason"),
            message: text("message"),
            details: status["details"].clone(),
        }
    }
}
