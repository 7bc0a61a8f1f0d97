//! Compares health insights of recorded clusters with the section Update Health that the real client printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use windtunnel::dump::{Dump, Source};
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::text::truncate;
use windtunnel_core::{Object, Resource};
use windtunnel_update_status::controller::snapshot;
use windtunnel_update_status::insight::{Detail, HealthInsight};
use windtunnel_update_status::status::Inputs;

use super::{Group, RECORDED};

/// A finding: summary, level, impact, reference, resource and description.
type HealthFinding = [String; 6];

/// The entries of the section Update Health.
fn printed(output: &str) -> Option<BTreeSet<HealthFinding>> {
    let section = output.split_once("= Update Health =\n")?.1;
    let entries =
        section.split("\n\nMessage: ").map(|entry| entry.strip_prefix("Message: ").unwrap_or(entry));
    Some(entries.filter(|entry| entry.contains("\n  Since:")).map(|text| renamed(entry(text))).collect())
}

fn entry(text: &str) -> HealthFinding {
    let (summary, rest) = text.split_once("\n  Since:").unwrap();
    let labels = ["Level:", "Impact:", "Reference:", "Resources:\n", "Description: "];
    let (mut fields, mut rest) = (Vec::new(), rest);
    for label in labels {
        let (field, after) = rest.split_once(&format!("\n  {label}")).unwrap();
        fields.push(field.trim().to_owned());
        rest = after;
    }
    let [_, level, impact, reference, resource] = <[String; 5]>::try_from(fields).unwrap();
    let description = rest.trim_end_matches('\n').replace("\n               , ", "\n");
    [truncate(summary, 256), level, impact, truncate(&reference, 512), resource, truncate(&description, 4096)]
}

fn finding_of(insight: &HealthInsight) -> HealthFinding {
    let words = |value: Value| value.as_str().unwrap().to_owned();
    let about = &insight.scope.resources[0];
    let kind = [about.resource.as_str(), about.group.as_str()].join(".");
    let name = [about.namespace.as_str(), about.name.as_str()].join("/");
    let resource = format!("{}: {}", kind.trim_end_matches('.'), name.trim_start_matches('/'));
    [
        insight.impact.summary.clone(),
        words(json!(insight.impact.level)),
        words(json!(insight.impact.kind)),
        insight.remediation.reference.clone(),
        resource,
        insight.impact.description.clone(),
    ]
}

/// Whether the client reports this finding too. It leaves out findings without a description.
fn is_of_client(finding: &HealthFinding) -> bool {
    let [summary, .., description] = finding;
    let others = [
        "Forced health insight",
        "The payload of release",
        "No trusted key",
        "The cluster does not meet",
        "Release ",
        "The update of the control plane",
        "ClusterVersion ",
        "Pool '",
    ];
    let of_nodes = [" drains for too long", " does not come back from its reboot"];
    let is_described = description != "<no message>" || summary.starts_with("Cluster Operator ");
    is_described
        && !others.iter().any(|start| summary.starts_with(start))
        && !of_nodes.iter().any(|end| summary.ends_with(end))
}

/// Renames the ClusterVersion: the API has no other name, but the client accepts one in a file.
fn named(object: &Object) -> Object {
    let mut object: Value = Value::clone(object);
    if object["kind"] == "ClusterVersion" {
        object["metadata"]["name"] = json!("version");
    }
    Object::new(object)
}

/// Renames the ClusterVersion in a finding of the client.
fn renamed(mut finding: HealthFinding) -> HealthFinding {
    let [summary, .., resource, _] = &mut finding;
    let kind = "clusterversions.config.openshift.io: ";
    if let Some(name) = resource.strip_prefix(kind) {
        *summary = summary.replace(&format!("Cluster Version {name} "), "Cluster Version version ");
        *resource = format!("{kind}version");
    }
    finding
}

/// The findings of a controller for these files that the client reports too. The client judges nodes by the
/// wall clock.
fn health(files: &BTreeMap<String, String>) -> BTreeSet<HealthFinding> {
    let sources = files.iter().map(|(path, text)| Source { path: path.clone(), text: text.clone() });
    let dump = Dump::parse(sources, snapshot::KINDS).unwrap();
    let list = |resource: &Resource| -> Vec<Object> { dump.list(resource).map(named).collect() };
    let alerts: Value =
        dump.alerts.as_deref().map_or(Value::Null, |body| serde_json::from_str(body).unwrap_or_default());
    let alerts = alerts["data"]["alerts"].as_array().cloned().unwrap_or_default();
    let alerts: Vec<ActiveAlert> = alerts.iter().map(ActiveAlert::parse).collect();
    let at = |now: Time, of_nodes: bool| {
        let insights = snapshot::insights_from_objects(list, alerts.clone(), 33, now).unwrap();
        let health = insights.into_values().filter_map(|insight| match insight.detail {
            Detail::Health(health) => Some(finding_of(&health)),
            _ => None,
        });
        health.filter(move |finding| finding[4].starts_with("nodes: ") == of_nodes).collect::<Vec<_>>()
    };
    let now = Inputs::gather(list).unwrap().mock_now();
    let all = at(now, false).into_iter().chain(at(RECORDED.parse().unwrap(), true));
    all.filter(is_of_client).collect()
}

/// Compares the findings for a cluster, and adds the differences to `found`.
fn compare(folder: &Path, files: &BTreeMap<String, String>, found: &mut Vec<String>) {
    let output = fs::read_to_string(folder.join("detailed-output")).unwrap();
    let Some(theirs) = printed(&output) else { return };
    let ours = health(files);
    for (who, one, other) in [("client", &theirs, &ours), ("controller", &ours, &theirs)] {
        for finding in one.difference(other) {
            found.push(format!("{}: only the {who} reports {finding:#?}", folder.display()));
        }
    }
}

fn check(groups: &[Group]) {
    let mut found = Vec::new();
    for group in groups {
        for folder in group.folders() {
            compare(&folder, &group.files(&folder), &mut found);
        }
    }
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}

#[test]
fn health_insights_match_the_update_health_of_generated_clusters() {
    check(&[Group::Made]);
}

#[test]
fn health_insights_match_the_update_health_of_real_clusters() {
    check(&[Group::Real, Group::Changed]);
}
