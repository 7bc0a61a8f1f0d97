//! Replies of the server. The service encodes them to bytes.

pub(crate) mod documents;
pub(crate) mod encode;
pub(crate) mod followed_log;
pub(crate) mod lazy_object;
pub(crate) mod table;
pub(crate) mod view;
pub(crate) mod warnings;

use std::borrow::Cow;

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value;
use windtunnel_core::requests::faults::LostAnswer;
use windtunnel_core::{Object, Rejection};

use super::kinds::typed::absent_times;
use super::kinds::typed::go_order::GoOrder;
use super::rejection::BoxedRejection;
use super::store::Stored;
use crate::reply::followed_log::Follow;
use crate::reply::lazy_object::LazyObject;
use crate::reply::table::{Partial, Table};
use crate::request::accept::{Media, PARTIAL_LIST};
use crate::request::clock_skew::ClockSkew;
use crate::watch::stream::Watch;

const PLAIN: &str = "text/plain; charset=utf-8";

/// The connection closed without an answer, because of an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection closed before the answer")]
pub struct ConnectionDropped;

/// The reply to a request.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status code.
    pub code: u16,
    /// The body.
    pub body: ReplyBody,
    /// The texts of `Warning` headers, without code and quotes.
    pub warnings: Vec<String>,
    /// `Retry-After` in seconds.
    pub retry_after: Option<u32>,
    /// The last state of the object that this request removed.
    pub removed: Option<Stored>,
    /// The media type of the body, unless it is bytes or text already.
    pub media: Media,
    /// Additional headers, with lower-case names.
    pub headers: Vec<(&'static str, String)>,
    /// Whether metadata without a creation time is encoded with null.
    pub(crate) absent_times: bool,
}

/// The body of a reply.
#[derive(Debug)]
pub enum ReplyBody {
    /// An object, shared with the store.
    Object(Stored),
    /// JSON that was created for this reply, such as a Status.
    Value(Value),
    /// A list whose items are shared with the store.
    List(List),
    /// Objects as rows of columns.
    Table(Box<Table>),
    /// Plain text.
    Text(String),
    /// Nothing, without a content type.
    Empty,
    /// A cached document, shared by all replies.
    Bytes {
        /// Its `Content-Type`.
        content_type: &'static str,
        /// The document.
        bytes: Bytes,
    },
    /// Events until the watch ends.
    Watch(Box<Watch>),
    /// The lines of a log until its container ends.
    Follow(Box<Follow>),
    /// No answer: the connection closes.
    Dropped,
}

/// A list of objects.
#[derive(Debug, Clone)]
pub struct List {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Value,
    pub(crate) items: Vec<LazyObject>,
    /// Whether items have their own `apiVersion` and `kind`, as those of custom resources do.
    pub(crate) typed_items: bool,
    /// The `apiVersion` of items, if the list only shows their metadata.
    pub(crate) metadata_only: Option<&'static str>,
}

impl List {
    /// The objects with their `apiVersion` and `kind`, in order of namespace and name. Each is loaded when it is iterated.
    pub fn items(&self) -> impl Iterator<Item = Stored> {
        self.items.iter().map(LazyObject::load)
    }

    /// Whether the items are whole custom resources.
    fn is_custom(&self) -> bool {
        self.typed_items && self.metadata_only.is_none()
    }

    /// Shows only the metadata of each object, in this version of `meta.k8s.io`.
    pub(crate) fn show_metadata(&mut self, api_version: &'static str) {
        PARTIAL_LIST.clone_into(&mut self.kind);
        api_version.clone_into(&mut self.api_version);
        self.metadata_only = Some(api_version);
        if let Some(map) = self.metadata.as_object_mut() {
            map.retain(|_, value| value != "");
        }
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        if self.is_custom() {
            // A list of custom resources is a map, which has its keys sorted.
            map.serialize_entry("apiVersion", &self.api_version)?;
            map.serialize_entry("items", &Items(self))?;
            map.serialize_entry("kind", &self.kind)?;
            map.serialize_entry("metadata", &self.metadata)?;
            return map.end();
        }
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("apiVersion", &self.api_version)?;
        map.serialize_entry("metadata", &GoOrder::meta("ListMeta", &self.metadata))?;
        if self.metadata_only.is_some() && self.items.is_empty() {
            // Unlike other lists, this one has no list of items then (`asPartialObjectMetadataList`).
            map.serialize_entry("items", &Value::Null)?;
        } else {
            map.serialize_entry("items", &Items(self))?;
        }
        map.end()
    }
}

struct Items<'a>(&'a List);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.items.len()))?;
        for item in self.0.items() {
            if let Some(version) = self.0.metadata_only {
                seq.serialize_element(&Partial(&item, version))?;
            } else if self.0.typed_items {
                seq.serialize_element(&item)?;
            } else {
                seq.serialize_element(&item.in_go_order().without_type())?;
            }
        }
        seq.end()
    }
}

impl Reply {
    pub(crate) fn new(code: u16, body: ReplyBody) -> Self {
        Self {
            code,
            body,
            warnings: Vec::new(),
            retry_after: None,
            removed: None,
            media: Media::Json,
            headers: Vec::new(),
            absent_times: false,
        }
    }

    /// A text with the line break and the headers of Go's `http.Error`.
    pub(crate) fn text(code: u16, message: &str) -> Self {
        let content_type = "text/plain; charset=utf-8";
        let bytes = Bytes::from(format!("{message}\n"));
        let reply = Self::new(code, ReplyBody::Bytes { content_type, bytes });
        Self { headers: vec![("x-content-type-options", "nosniff".to_owned())], ..reply }
    }

    pub(crate) fn object(code: u16, object: Stored) -> Self {
        Self::new(code, ReplyBody::Object(object))
    }

    pub(crate) fn value(code: u16, value: Value) -> Self {
        Self::new(code, ReplyBody::Value(value))
    }

    pub(crate) fn rejection(rejection: &BoxedRejection) -> Self {
        let body = if rejection.plain {
            ReplyBody::Text(rejection.message.clone())
        } else {
            ReplyBody::Value(rejection.body())
        };
        let mut reply = Self { retry_after: rejection.retry_after, ..Self::new(rejection.code, body) };
        if rejection.plain {
            // `http.Error` sets it.
            reply.headers.push(("x-content-type-options", "nosniff".to_owned()));
        }
        reply
    }

    /// No answer: the connection closes. A direct call gets an error with the code of a timeout.
    pub(crate) fn dropped() -> Self {
        Self::new(504, ReplyBody::Dropped)
    }

    /// The reply with Leases as a client with a wrong clock reads them. A watch does this itself.
    pub(crate) fn skewed(mut self, skew: ClockSkew) -> Self {
        match &mut self.body {
            ReplyBody::Object(lease) => *lease = lease.skewed(skew),
            ReplyBody::List(list) => {
                for item in &mut list.items {
                    *item = LazyObject::Loaded(item.load().skewed(skew));
                }
            }
            _ => {}
        }
        self
    }

    /// The reply to an executed write whose answer is lost.
    pub(crate) fn lost(lost: LostAnswer) -> Self {
        match lost {
            LostAnswer::TimeoutAfterWrite => Self::rejection(&BoxedRejection::timed_out()),
            LostAnswer::Dropped | LostAnswer::DroppedAfterWrite => Self::dropped(),
        }
    }

    /// Whether the client gets no answer.
    pub(crate) fn is_dropped(&self) -> bool {
        matches!(self.body, ReplyBody::Dropped)
    }

    /// Whether the server rejected the request.
    pub fn is_refusal(&self) -> bool {
        self.code >= 400
    }

    /// The body as JSON, whatever its media type; `None` for text and watches.
    pub fn json(&self) -> Option<Value> {
        let mut json = self.tree()?;
        if self.absent_times {
            absent_times::write(&mut json);
        }
        Some(json)
    }

    fn tree(&self) -> Option<Value> {
        match &self.body {
            ReplyBody::Table(table) => serde_json::to_value(table).ok(),
            ReplyBody::Bytes { bytes, .. } => serde_json::from_slice(bytes).ok(),
            ReplyBody::Object(object) => Some(object.to_value()),
            ReplyBody::Value(value) => Some(value.clone()),
            ReplyBody::List(list) => serde_json::to_value(list).ok(),
            ReplyBody::Text(_)
            | ReplyBody::Empty
            | ReplyBody::Watch(_)
            | ReplyBody::Follow(_)
            | ReplyBody::Dropped => None,
        }
    }

    /// The encoded body with its `Content-Type`; `None` for watches and empty bodies.
    pub fn encode(&self) -> Option<(Cow<'static, str>, Bytes)> {
        let bytes = match &self.body {
            ReplyBody::Object(_) | ReplyBody::Value(_) | ReplyBody::List(_) | ReplyBody::Table(_)
                if self.absent_times =>
            {
                self.media.encode(&GoOrder::object(&self.json()?))
            }
            ReplyBody::Object(object) => self.media.encode(object),
            ReplyBody::Value(value) => self.media.encode(&GoOrder::object(value)),
            ReplyBody::List(list) => self.media.encode(list),
            ReplyBody::Table(table) => self.media.encode(table),
            ReplyBody::Text(text) => return Some((PLAIN.into(), Bytes::copy_from_slice(text.as_bytes()))),
            ReplyBody::Bytes { content_type, bytes } => return Some(((*content_type).into(), bytes.clone())),
            ReplyBody::Empty | ReplyBody::Watch(_) | ReplyBody::Follow(_) | ReplyBody::Dropped => {
                return None;
            }
        };
        Some((self.media.content_type().into(), bytes))
    }

    /// The object in the reply to a write.
    ///
    /// # Errors
    /// The server rejected the write.
    pub fn into_object(self) -> Result<Object, Rejection> {
        if self.is_refusal() {
            return Err(self.into_refusal());
        }
        if let Some(removed) = self.removed {
            return Ok(Object::from(removed.whole()));
        }
        Ok(match self.body {
            ReplyBody::Object(object) => Object::from(object.whole()),
            ReplyBody::Value(value) => Object::new(value),
            _ => Object::new(Value::Null),
        })
    }

    fn into_refusal(self) -> Rejection {
        let status = match self.body {
            ReplyBody::Value(status) => status,
            ReplyBody::Text(text) => serde_json::json!({ "message": text.trim_end() }),
            ReplyBody::Dropped => serde_json::json!({ "message": ConnectionDropped.to_string() }),
            _ => Value::Null,
        };
        let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        Rejection {
            code: self.code,
            reason: text("reason"),
            message: text("message"),
            details: status["details"].clone(),
        }
    }
}
