//! How one client sees objects: whole, their metadata alone, or as Tables; in answers and in the lines of watches.

use bytes::Bytes;
use serde_json::json;
use windtunnel_core::clock::Time;

use super::accept::{MetaVersion, PARTIAL, PARTIAL_LIST, Shape};
use super::held::Held;
use super::kinds::Kind;
use super::reply::{Reply, ReplyBody};
use super::request::Query;
use super::status::{Outcome, Refused};
use super::store::{self, Stored};
use super::table::{Include, Partial, Printer};

/// What a client asked to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct View {
    pub(crate) shape: Shape,
    include: Include,
    /// The x of Kubernetes 1.x, on which the columns of Tables depend.
    minor: u32,
}

impl View {
    /// The view of a shape; Tables look at `includeObject`.
    pub(crate) fn read(shape: Shape, query: &Query, minor: u32) -> Outcome<Self> {
        let include = match shape {
            Shape::Table(_) => Include::read(query.get("includeObject")).map_err(Refused::bad_request)?,
            _ => Include::default(),
        };
        Ok(Self { shape, include, minor })
    }

    /// Whether ages are part of what is shown, so that it changes with time.
    pub(crate) fn shows_ages(self) -> bool {
        matches!(self.shape, Shape::Table(_))
    }

    /// Brings the objects of an answer into the shape that was asked for. A watch knows its view itself.
    pub(crate) fn apply(self, mut reply: Reply, kind: &Kind, now: Time) -> Outcome<Reply> {
        let refuse = |asked: &str, is: &str, suffix: &str| {
            let name = go_type(kind);
            let text = format!("you requested {asked}, but the requested object is {is} ({name}{suffix})");
            Err(Refused::not_in_that_shape(text))
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
                let printer = Printer::for_kind(kind, self.minor);
                let version = version.api_version();
                let table = printer.table(
                    version,
                    &object["metadata"],
                    [Held::Shown(object.clone())],
                    self.include,
                    now,
                );
                ReplyBody::Table(Box::new(table))
            }
            (ReplyBody::List(list), Shape::Table(version)) => {
                let printer = Printer::for_kind(kind, self.minor);
                let (version, items) = (version.api_version(), list.items);
                ReplyBody::Table(Box::new(printer.table(version, &list.metadata, items, self.include, now)))
            }
            (ReplyBody::Object(_), Shape::MetadataList(_)) => return refuse(PARTIAL_LIST, "not a list", ""),
            (ReplyBody::List(_), Shape::Metadata(_)) => return refuse(PARTIAL, "a list", "List"),
            (body, _) => body,
        };
        Ok(reply)
    }

    /// A line of a watch. `first` is whether it is the first one, which tells the columns of a Table.
    pub(crate) fn line(self, kind: &Kind, event: &str, object: &Stored, first: bool, now: Time) -> Bytes {
        match self.shape {
            Shape::Whole => store::line(event, object),
            Shape::Metadata(version) | Shape::MetadataList(version) => {
                store::line(event, &Partial(object, version.api_version()))
            }
            Shape::Table(version) => {
                let printer = Printer::for_kind(kind, self.minor);
                let version = version.api_version();
                let table = printer.table(
                    version,
                    &object["metadata"],
                    [Held::Shown(object.clone())],
                    self.include,
                    now,
                );
                store::line(event, &if first { table } else { table.without_columns() })
            }
        }
    }
}

/// An object of which only the metadata is left.
fn metadata(object: &Stored, version: MetaVersion) -> Stored {
    let metadata = &object["metadata"];
    object.with(json!({ "kind": PARTIAL, "apiVersion": version.api_version(), "metadata": metadata }))
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
