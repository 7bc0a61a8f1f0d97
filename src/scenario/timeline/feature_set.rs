//! `feature-set`: a switch to another feature set.

use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::mco;

use crate::plan::{Action, FEATURE_SETS};
use crate::scenario::reader::Reader;

/// Parses `feature-set: DevPreviewNoUpgrade` or `feature-set: {name: DevPreviewNoUpgrade, quick: true}`.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    if !matches!(node.kind, Kind::Map(_)) {
        let name = reader.word(node, FEATURE_SETS)?;
        return Some(Action::Apply(mco::feature_set_switch(name, false)));
    }
    let map = reader.map(node, "a switch of the feature set", &["name", "quick"])?;
    let name = map.required(reader, "name", "the name of the feature set, such as `DevPreviewNoUpgrade`");
    let name = name.and_then(|node| reader.word(node, FEATURE_SETS));
    let quick = match map.get("quick") {
        Some(node) => reader.flag(node)?,
        None => false,
    };
    Some(Action::Apply(mco::feature_set_switch(name?, quick)))
}
