//! `keep` and `retry`: values for later steps, and steps that are repeated until they pass.

use semver::Version;
use windtunnel_core::yaml::Node;

use crate::plan::{Keep, Retry, Step, ValueSource, path};
use crate::scenario::object::{self, Star};
use crate::scenario::reader::{Map, Reader};

/// Parses `keep: {as: image, object: ClusterVersion/version, field: status.desired.image}` or
/// `keep: {as: before, cluster: true}`. Without `object`, `field` and `cluster`, it keeps the output of the last command.
pub(super) fn keep(reader: &mut Reader<'_>, node: &Node) -> Option<Step> {
    let map = reader.map(node, "a value to keep", &["as", "object", "field", "cluster"])?;
    let name = map.required(reader, "as", "a name for the value");
    let name = name.and_then(|node| reader.text(node, "a name"));
    if let Some(at) = map.get("cluster") {
        return cluster(reader, &map, at, name?).map(Step::KeepCluster);
    }
    let what = match (map.get("object"), map.get("field")) {
        (None, None) => ValueSource::Output,
        (Some(object), Some(field)) => {
            let object = object::reference(reader, object, Star::Rejected);
            let text = reader.text(field, "a path such as `status.desired.image`")?;
            if let Err(error) = path::validate(&text) {
                reader.error(field, error.to_string());
                return None;
            }
            ValueSource::Field(object?, text)
        }
        _ => {
            let both = "an `object` and its `field`, or neither for the output of the last command";
            reader.error(node, format!("expected {both}"));
            return None;
        }
    };
    Some(Step::Keep(Keep { name: name?, what }))
}

/// Parses `cluster: true`. Later steps can compare the cluster with this state.
fn cluster(reader: &mut Reader<'_>, map: &Map<'_>, at: &Node, name: String) -> Option<String> {
    if !reader.flag(at)? {
        reader.error(at, "expected `cluster: true`; to keep something else, remove `cluster`");
        return None;
    }
    if let Some(other) = ["object", "field"].into_iter().find_map(|key| map.get(key)) {
        reader.error(other, "`cluster` keeps everything: it cannot be combined with `object` or `field`");
        return None;
    }
    if name == "start" || Version::parse(&name).is_ok() {
        reader.error(at, format!("`{name}` is a state already: keep the cluster under another name"));
        return None;
    }
    reader.kept_clusters.insert(name.clone());
    Some(name)
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
