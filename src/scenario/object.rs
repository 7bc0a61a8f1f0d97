//! Kubernetes objects: references such as `Kind/name` and `Kind/namespace/name`, and whole objects in YAML.

use serde_json::Value;
use windtunnel_core::yaml::{Kind, Node};
use windtunnel_core::{Resource, resources};

use super::kinds::Kinds;
use super::reader::Reader;
use crate::plan::ObjectRef;

/// Whether a name may end in `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Star {
    /// Allowed; it matches any ending.
    Allowed,
    /// Rejected; the reference must name one object.
    Rejected,
}

/// Parses `Kind/name` or `Kind/namespace/name`.
pub(super) fn reference(reader: &mut Reader<'_>, node: &Node, star: Star) -> Option<ObjectRef> {
    let text = reader.text(node, "an object such as `ClusterVersion/version`")?;
    parse_reference(&reader.kinds, &text, star).map_err(|message| reader.error(node, message)).ok()
}

pub(super) fn parse_reference(kinds: &Kinds, text: &str, star: Star) -> Result<ObjectRef, String> {
    let mut parts = text.split('/');
    let kind = parts.next().unwrap_or_default();
    let resource = kinds.find(kind).map_err(|unknown| {
        // The name of an object without its kind.
        let is_name = !text.contains('/') && kind.starts_with(|first: char| first.is_ascii_lowercase());
        if is_name {
            format!("expected an object with its kind, such as `Node/{text}` or `Pod/<namespace>/{text}`, found `{text}`")
        } else {
            unknown
        }
    })?;
    let shape = shape(&resource);
    let (namespace, name) = match (resource.namespaced, parts.next(), parts.next(), parts.next()) {
        (false, Some(name), None, None) => ("", name),
        (true, Some(namespace), Some(name), None) => (namespace, name),
        _ => return Err(format!("expected `{shape}`, found `{text}`")),
    };
    let stem = if star == Star::Allowed { name.strip_suffix('*').unwrap_or(name) } else { name };
    if stem.contains('*') {
        let expected = match star {
            Star::Allowed => "`*` only at the end of a name",
            Star::Rejected => "one object, without `*`",
        };
        return Err(format!("expected {expected}, found `{text}`"));
    }
    if name.is_empty() || (resource.namespaced && namespace.is_empty()) {
        return Err(format!("expected `{shape}`, found `{text}`"));
    }
    Ok(ObjectRef { resource, namespace: namespace.to_owned(), name: name.to_owned() })
}

fn shape(resource: &Resource) -> String {
    let namespace = if resource.namespaced { "/<namespace>" } else { "" };
    format!("{}{namespace}/<name>", resource.kind)
}

/// Parses a whole Kubernetes object. Its kind must be known, and its metadata must have a name and, for a
/// namespaced kind, a namespace.
pub(super) fn parse_object(reader: &mut Reader<'_>, node: &Node) -> Option<Value> {
    reader.entries(node, "a Kubernetes object")?;
    let version = field(reader, node, "apiVersion");
    let (at, kind) = field(reader, node, "kind")?;
    let api_version = version.as_ref().map_or("", |(_, version)| version);
    let resource = reader.kinds.find_for(api_version, &kind);
    let resource = resource.map_err(|message| reader.error(at, message)).ok()?;
    if resource.kind != kind {
        reader.error(at, format!("expected `{}`, found `{kind}`", resource.kind));
    }
    if let Some((at, version)) = version
        && version != resource.api_version()
        && !resources::is_preview_version(&version, &kind)
    {
        let right = resource.api_version();
        reader.error(at, format!("expected `{right}`, which serves {kind}, found `{version}`"));
    }
    let Some(metadata) = node.get("metadata") else {
        reader.error(node, "a Kubernetes object needs `metadata`");
        return None;
    };
    reader.entries(metadata, "metadata")?;
    field(reader, metadata, "name");
    match (resource.namespaced, metadata.get("namespace")) {
        (true, None) => {
            let message = format!("{kind} is namespaced: its metadata needs `namespace`");
            reader.error(metadata, message);
        }
        (false, Some(at)) => {
            reader.error(at, format!("{kind} is cluster-scoped: it has no namespace"));
        }
        _ => (),
    }
    let object = fields(reader, node, "a Kubernetes object")?;
    reader.kinds.define(&object);
    Some(object)
}

/// Parses a map as JSON; `what` names it.
pub(super) fn fields(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<Value> {
    reader.entries(node, what)?;
    reject_composite_keys(reader, node);
    Some(node.to_json())
}

/// Returns a required text of a map, and its node.
fn field<'n>(reader: &mut Reader<'_>, map: &'n Node, name: &str) -> Option<(&'n Node, String)> {
    let Some(value) = map.get(name) else {
        reader.error(map, format!("a Kubernetes object needs `{name}`"));
        return None;
    };
    reader.text(value, &format!("a text as `{name}`")).map(|text| (value, text))
}

/// Rejects keys that are lists, maps or null, which JSON does not support.
fn reject_composite_keys(reader: &mut Reader<'_>, node: &Node) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| reject_composite_keys(reader, item)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                if key.scalar().is_none() {
                    reader.error(key, format!("expected a text as key, found {}", key.describe()));
                }
                reject_composite_keys(reader, value);
            }
        }
        _ => (),
    }
}
