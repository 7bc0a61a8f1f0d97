//! What a client accepts for an answer: the media type, and whether it wants whole objects or their metadata alone.
//!
//! Everything is answered in JSON. Who accepts only YAML, protobuf or a Table gets plain JSON all the same, which is what
//! clients look at the answer's content type for; the place to make one of those is [`Shape::accepted`].

use bytes::Bytes;
use serde_json::{Value, json};

use super::status::{Outcome, Refused};
use super::store;

/// Media types that a real server answers in.
const SERVED: [&str; 5] =
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/*", "*/*"];
pub(crate) const PARTIAL: &str = "PartialObjectMetadata";
pub(crate) const PARTIAL_LIST: &str = "PartialObjectMetadataList";
pub(crate) const PARTIAL_VERSION: &str = "meta.k8s.io/v1";
const META: &str = "meta.k8s.io";

/// How much of an object a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Shape {
    /// All of it.
    #[default]
    Whole,
    /// Its metadata.
    Metadata,
    /// The metadata of the objects of a list.
    MetadataList,
}

impl Shape {
    /// Reads an `Accept` header: the first clause that can be answered counts.
    pub(crate) fn accepted(header: &str) -> Outcome<Self> {
        if header.is_empty() {
            return Ok(Self::Whole);
        }
        let mut served = false;
        for clause in header.split(',') {
            let mut parts = clause.split(';').map(str::trim);
            if !SERVED.contains(&parts.next().unwrap_or_default()) {
                continue;
            }
            served = true;
            let of = |name: &str| {
                let mut pairs = clause.split(';').filter_map(|part| part.trim().split_once('='));
                pairs.find(|(key, _)| *key == name).map_or("", |(_, value)| value)
            };
            match (of("as"), of("g"), of("v")) {
                ("", ..) => return Ok(Self::Whole),
                (PARTIAL, META, "v1") => return Ok(Self::Metadata),
                (PARTIAL_LIST, META, "v1") => return Ok(Self::MetadataList),
                _ => {}
            }
        }
        if served { Ok(Self::Whole) } else { Err(Refused::not_acceptable()) }
    }

    /// A line of a watch in this shape.
    pub(crate) fn line(self, kind: &str, object: &Value) -> Bytes {
        match self {
            Self::Whole => store::line(kind, object),
            Self::Metadata | Self::MetadataList => store::line(kind, &metadata(object)),
        }
    }
}

/// An object of which only the metadata is left.
pub(crate) fn metadata(object: &Value) -> Value {
    json!({ "kind": PARTIAL, "apiVersion": PARTIAL_VERSION, "metadata": object["metadata"] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, shape: Result<Shape, u16>) {
        assert_eq!(Shape::accepted(header).map_err(|refused| refused.code), shape, "{header}");
    }

    #[test]
    fn the_first_clause_that_can_be_answered_counts() {
        let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        check("", Ok(Shape::Whole));
        check("*/*", Ok(Shape::Whole));
        check(partial, Ok(Shape::Metadata));
        check(&format!("text/html, {partial},application/json"), Ok(Shape::Metadata));
        check("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Ok(Shape::Whole));
        check("image/png, text/html", Err(406));
    }
}
