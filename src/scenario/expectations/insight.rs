//! `insight`: expectations about insights of the update status controller.

use windtunnel_core::Resource;
use windtunnel_core::text::did_you_mean;
use windtunnel_core::yaml::Node;

use crate::plan::{Check, ExpectedState, InsightRef, ObjectRef, TextMatch};
use crate::scenario::kinds::Kinds;
use crate::scenario::object::{self, Star};
use crate::scenario::reader::{Map, Reader};

const INSIGHTS: &[&str] = &["ClusterVersion", "ClusterOperator", "MachineConfigPool", "Node", "Health"];
const LEVELS: &[&str] = &["Unknown", "Info", "Warning", "Error", "Critical"];
const IMPACTS: &[&str] = &[
    "None",
    "Unknown",
    "API Availability",
    "Cluster Capacity",
    "Application Availability",
    "Application Outage",
    "Data Loss",
    "Update Speed",
    "Update Stalled",
];

/// The keys for health insights, with the field that each compares.
const IMPACT: &[(&str, &str)] = &[
    ("level", "impact.level"),
    ("impact", "impact.type"),
    ("summary", "impact.summary"),
    ("description", "impact.description"),
];

/// Parses an expectation about the insight that `node` names.
pub(in crate::scenario) fn expected(
    reader: &mut Reader<'_>,
    map: &Map<'_>,
    node: &Node,
    mut checks: Vec<Check>,
    (absent, never): (bool, bool),
) -> Option<ExpectedState> {
    let mut insight = reference(reader, node)?;
    if insight.kind == "Health" {
        insight.about = map.get("about").and_then(|at| about(reader, at));
        checks.extend(impact(reader, map));
    } else {
        let others = ["about"].into_iter().chain(IMPACT.iter().map(|(key, _)| *key));
        for (key, at) in others.filter_map(|key| Some((key, map.get(key)?))) {
            reader.error(at, format!("`{key}` is only for insights of kind `Health`"));
        }
    }
    Some(match (absent, never) {
        (true, _) => ExpectedState::NoInsight(insight, checks),
        (_, true) => ExpectedState::NeverInsight(insight, checks),
        _ => ExpectedState::Insight(insight, checks),
    })
}

fn about(reader: &mut Reader<'_>, node: &Node) -> Option<ObjectRef> {
    let text = reader.text(node, "an object such as `ClusterOperator/etcd`, or `Alert/KubeNodeNotReady`")?;
    parse_about(&reader.kinds, &text).map_err(|message| reader.error(node, message)).ok()
}

/// Parses the object that a health insight is about. An alert may have a namespace.
///
/// # Errors
/// The expected syntax, and the nearest kind.
pub(in crate::scenario) fn parse_about(kinds: &Kinds, text: &str) -> Result<ObjectRef, String> {
    let Some(alert) = text.strip_prefix("Alert/") else {
        return object::parse_reference(kinds, text, Star::Allowed);
    };
    let (namespace, name) = alert.split_once('/').unwrap_or(("", alert));
    let stem = name.strip_suffix('*').unwrap_or(name);
    if name.is_empty() || stem.contains(['*', '/']) {
        return Err(format!("expected `Alert/<name>` or `Alert/<namespace>/<name>`, found `{text}`"));
    }
    let resource = Resource { namespaced: !namespace.is_empty(), ..ALERTS };
    Ok(ObjectRef { resource, namespace: namespace.to_owned(), name: name.to_owned() })
}

/// The kind by which insights refer to alerts; no API serves it. It is namespaced if a reference names a
/// namespace.
const ALERTS: Resource = Resource::cluster("config.openshift.io", "v1", "Alert", "alerts");

/// Rejects keys that only apply to insights.
pub(in crate::scenario) fn reject_keys(reader: &mut Reader<'_>, map: &Map<'_>, subject: &str) {
    let keys = ["about"].into_iter().chain(IMPACT.iter().map(|(key, _)| *key));
    for (key, at) in keys.filter_map(|key| Some((key, map.get(key)?))) {
        reader.error(at, format!("`{key}` cannot be combined with `{subject}`"));
    }
}

fn impact(reader: &mut Reader<'_>, map: &Map<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (key, path) in IMPACT {
        let Some(at) = map.get(key) else { continue };
        let value = match *key {
            "level" => reader.word(at, LEVELS).map(|level| TextMatch::Equals(level.to_owned())),
            "impact" => reader.text_match(at).filter(|wanted| match wanted {
                TextMatch::Equals(_) => reader.word(at, IMPACTS).is_some(),
                other => other.equal_texts().into_iter().all(|text| {
                    let is_known = IMPACTS.contains(&text);
                    if !is_known {
                        let hint = did_you_mean(text, IMPACTS.iter().copied());
                        reader.error(at, format!("there is no impact `{text}`{hint}"));
                    }
                    is_known
                }),
            }),
            _ => reader.text_match(at),
        };
        checks.extend(value.map(|value| Check::Field { path: (*path).to_owned(), value }));
    }
    checks
}

/// Parses `ClusterVersion/version`, or `Health` for any health insight.
pub(in crate::scenario) fn reference(reader: &mut Reader<'_>, node: &Node) -> Option<InsightRef> {
    let text = reader.text(node, "an insight such as `ClusterVersion/version` or `Health`")?;
    parse(&text).map_err(|message| reader.error(node, message)).ok()
}

/// Parses `ClusterVersion/version`, or `Health` for any health insight.
///
/// # Errors
/// The expected syntax, and the nearest kind, if the kind is unknown or the name is malformed.
pub(in crate::scenario) fn parse(text: &str) -> Result<InsightRef, String> {
    let (kind, name) = text.split_once('/').unwrap_or((text, ""));
    if INSIGHTS.contains(&kind) && (!name.is_empty() || kind.len() == text.len()) && !name.contains('/') {
        return Ok(InsightRef { kind: kind.to_owned(), name: name.to_owned(), about: None });
    }
    let hint =
        if INSIGHTS.contains(&kind) { String::new() } else { did_you_mean(kind, INSIGHTS.iter().copied()) };
    let kinds = INSIGHTS.join("`, `");
    Err(format!("expected an insight (`{kinds}`, with `/<name>` or without), found `{text}`{hint}"))
}
