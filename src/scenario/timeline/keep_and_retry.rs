//! `keep` and `retry`: values for later steps, and steps that are repeated until they pass.

use semver::Version;
use windtunnel_core::yaml::Node;

use crate::plan::{Keep, Retry, ValueSource, path};
use crate::scenario::object::{self, Star};
use crate::scenario::reader::Reader;

/// Parses `keep: {as: image, object: ClusterVersion/version, field: status.desired.image}`. Without `object`
/// and `field`, it keeps the output of the last command.
pub(super) fn keep(reader: &mut Reader<'_>, node: &Node) -> Option<Keep> {
    let map = reader.map(node, "a value to keep", &["as", "object", "field"])?;
    let name = map.required(reader, "as", "a name for the value");
    let name = name.and_then(|node| reader.text(node, "a name"));
    let what = match (map.get("object"), map.get("field")) {
        (None, None) => ValueSource::Output,
        (Some(object), Some(field)) => {
            let object = object::reference(reader, object, Star::Rejected);
            let text = reader.text(field, "a path such as `status.desired.image`")?;
            if let Err(error) = path::validate(&text) {
                reader.problem(field, error.to_string());
                return None;
            }
            ValueSource::Field(object?, text)
        }
        _ => {
            let both = "an `object` and its `field`, or neither for the output of the last command";
            reader.problem(node, format!("expected {both}"));
            return None;
        }
    };
    Some(Keep { name: name?, what })
}

/// Parses `retry: {within: 10m, steps: [...]}`.
pub(super) fn retry(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<Retry> {
    let map = reader.map(node, "a retry", &["within", "steps"])?;
    let within = map.required(reader, "within", "the time limit, such as `10m`");
    let within = within.and_then(|node| reader.duration(node));
    let steps = map.required(reader, "steps", "steps that must pass in a row");
    let steps = steps.map(|node| super::read(reader, node, versions)).unwrap_or_default();
    Some(Retry { within: within?, steps })
}
