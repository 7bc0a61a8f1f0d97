//! Objects in the form that a client requests: whole, only their metadata, or as Tables.

use bytes::Bytes;
use serde_json::json;
use windtunnel_core::clock::Time;

use crate::kinds::Kind;
use crate::kinds::typed::absent_times;
use crate::kinds::typed::go_order::GoOrder;
use crate::profile::since;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::lazy_object::LazyObject;
use crate::reply::table::{Partial, Printer, Table, without_encoded_fields};
use crate::reply::{Reply, ReplyBody};
use crate::request::accept::{MetaVersion, PARTIAL, PARTIAL_LIST, Shape};
use crate::request::view::View;
use crate::store::{self, Stored};

impl View {
    /// Converts the objects of a reply to the requested shape. A watch applies its view itself.
    pub(crate) fn apply(self, mut reply: Reply, kind: &Kind, now: Time) -> Outcome<Reply> {
        let reject = |requested: &str, actual: &str, suffix: &str| {
            let name = go_type(kind);
            let text =
                format!("you requested {requested}, but the requested object is {actual} ({name}{suffix})");
            Err(BoxedRejection::unsupported_shape(text))
        };
        reply.body = match (reply.body, self.shape) {
            (ReplyBody::Object(object), Shape::Metadata(version)) => {
                ReplyBody::Object(metadata(&object, version))
            }
            (ReplyBody::List(mut list), Shape::MetadataList(version)) => {
                list.show_metadata(version.api_version());
                ReplyBody::List(list)
            }
            (ReplyBody::Object(object), Shape::Table(version)) => {
                ReplyBody::Table(Box::new(self.table_of_one(kind, version, &object, now)))
            }
            (ReplyBody::List(list), Shape::Table(version)) => {
                let printer = Printer::for_kind(kind, self.minor);
                let (version, items) = (version.api_version(), list.items);
                ReplyBody::Table(Box::new(printer.table(version, &list.metadata, items, self.include, now)))
            }
            (ReplyBody::Object(_), Shape::MetadataList(_)) => return reject(PARTIAL_LIST, "not a list", ""),
            (ReplyBody::List(_), Shape::Metadata(_)) => return reject(PARTIAL, "a list", "List"),
            (body, _) => body,
        };
        Ok(reply)
    }

    /// A Table with the row of one object.
    fn table_of_one(self, kind: &Kind, version: MetaVersion, object: &Stored, now: Time) -> Table {
        let row = [LazyObject::Loaded(object.clone())];
        let printer = Printer::for_object(kind, object, self.minor);
        printer.table(version.api_version(), &object["metadata"], row, self.include, now)
    }

    /// A line of a watch. `first` is whether it is the first one, which has the columns of a Table.
    pub(crate) fn line(self, kind: &Kind, event: &str, object: &Stored, first: bool, now: Time) -> Bytes {
        match self.shape {
            Shape::Whole if self.minor < since::ABSENT_TIMES_OMITTED => {
                let mut object = object.to_value();
                absent_times::write(&mut object);
                store::watch_line(event, &GoOrder::object(&object))
            }
            Shape::Whole => store::watch_line(event, object),
            Shape::Metadata(version) | Shape::MetadataList(version) => {
                store::watch_line(event, &Partial(object, version.api_version()))
            }
            Shape::Table(version) => {
                let table = self.table_of_one(kind, version, object, now);
                store::watch_line(event, &if first { table } else { table.without_columns() })
            }
        }
    }
}

/// Reduces an object to its metadata.
fn metadata(object: &Stored, version: MetaVersion) -> Stored {
    let object = without_encoded_fields(object);
    let metadata = &object["metadata"];
    object.with(json!({ "kind": PARTIAL, "apiVersion": version.api_version(), "metadata": metadata }))
}

/// The Go type of a kind's objects in a real server.
fn go_type(kind: &Kind) -> String {
    if kind.custom.is_some() {
        return "*unstructured.Unstructured".to_owned();
    }
    // Events of both groups are of the core group inside.
    let package = match &*kind.stored_as().group {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    };
    format!("*{package}.{}", kind.resource.kind)
}
