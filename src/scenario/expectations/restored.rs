//! `expect: {restored: ...}`: nothing is left over of an update.

use semver::Version;
use windtunnel_core::text::did_you_mean;
use windtunnel_core::yaml::{Kind, Node};

use crate::plan::{ExpectedState, FieldPath, Ignored, IgnoredObjects, PastState, Restoration};
use crate::scenario::kinds::Kinds;
use crate::scenario::object::{self, Star};
use crate::scenario::reader::Reader;

/// The word for the start of the run.
const START: &str = "start";

/// The values of `ignore`.
const IGNORED: &str = "a kind, an object such as `ClusterVersion/version`, a path such as `status.capabilities`, or \
                       `status.capabilities of ClusterVersion/version`";

/// Parses `restored: true` or `restored: {to: 4.14.1, ignore: [...]}`.
pub(in crate::scenario) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    versions: &[Version],
) -> Option<ExpectedState> {
    match node.kind {
        Kind::Bool(true) => return Some(ExpectedState::Restored(Restoration::default())),
        Kind::Bool(false) => {
            reader.error(
                node,
                "expected `restored: true`, or `{to: ..., ignore: [...]}`; list in `ignore` what may be left over",
            );
            return None;
        }
        _ => {}
    }
    for key in ["within", "throughout"] {
        if let Some(at) = node.get(key) {
            reader.error(at, format!("`{key}` belongs beside `restored`, not in it"));
            return None;
        }
    }
    let map = reader.map(node, "`restored`", &["to", "ignore"])?;
    let to = match map.get("to") {
        None => Some(PastState::default()),
        Some(node) => past_state(reader, node, versions),
    };
    let items =
        map.get("ignore").map(|node| reader.list(node, "kinds, objects and fields")).unwrap_or_default();
    let ignored = items.iter().filter_map(|item| ignored(reader, item)).collect();
    Some(ExpectedState::Restored(Restoration { to: to?, ignored }))
}

/// Parses `start`, a version, or the name of a kept state.
fn past_state(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<PastState> {
    let text = reader.text(node, "`start`, a version, or the name of a state that `keep` stored")?;
    if text == START {
        return Some(PastState::Start);
    }
    if Version::parse(&text).is_ok() {
        return reader.existing_version(node, versions).map(PastState::Release);
    }
    if reader.kept_clusters.contains(&text) {
        return Some(PastState::Kept(text));
    }
    let known = reader.kept_clusters.iter().map(String::as_str).chain([START]);
    let hint = did_you_mean(&text, known);
    reader.error(
        node,
        format!(
            "expected `start`, a version, or a state that an earlier step kept (`keep: {{as: {text}, cluster: true}}`), \
             found `{text}`{hint}"
        ),
    );
    None
}

fn ignored(reader: &mut Reader<'_>, node: &Node) -> Option<Ignored> {
    let text = reader.text(node, IGNORED)?;
    parse_ignored(&reader.kinds, &text).map_err(|message| reader.error(node, message)).ok()
}

/// Parses `Secret`, `ConfigMap/ns/name*`, `status.capabilities`, or `status.capabilities of ClusterVersion/version`.
pub(in crate::scenario) fn parse_ignored(kinds: &Kinds, text: &str) -> Result<Ignored, String> {
    if let Some((field, objects)) = text.split_once(" of ") {
        return Ok(Ignored { objects: parse_objects(kinds, objects)?, field: FieldPath::parse(field)? });
    }
    if text.starts_with(|first: char| first.is_uppercase()) {
        return Ok(Ignored { objects: parse_objects(kinds, text)?, field: FieldPath::default() });
    }
    let field = FieldPath::parse(text).map_err(|_| format!("expected {IGNORED}, found `{text}`"))?;
    Ok(Ignored { objects: IgnoredObjects::All, field })
}

fn parse_objects(kinds: &Kinds, text: &str) -> Result<IgnoredObjects, String> {
    if text.contains('/') {
        return object::parse_reference(kinds, text, Star::Allowed).map(IgnoredObjects::Named);
    }
    kinds.find(text).map(IgnoredObjects::Kind)
}
