//! `update-service`: channels, edges and risks of the update service.

use semver::{BuildMetadata, Version};
use windtunnel_core::text::did_you_mean;
use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::graph::{
    Channel, ConditionalEdges, Edge, MatchingRule, Risk, ServiceFault, UpdateService,
};
use windtunnel_openshift::release::Architecture;

use super::graph_data::{self, promql};
use crate::plan::ClusterPlan;
use crate::scenario::reader::Reader;

pub(in crate::scenario) const KEYS: &[&str] = &["graph-data", "channels", "edges", "conditional-edges"];

/// Parses an update service; `versions` are those that exist in the run.
pub(in crate::scenario) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    versions: &[Version],
) -> Option<UpdateService> {
    let map = reader.map(node, "the update service", KEYS)?;
    let mut service = UpdateService::default();
    if let Some(node) = map.get("graph-data") {
        graph_data::read_into(reader, node, versions, &mut service);
    }
    if let Some(node) = map.get("channels") {
        let entries = reader.entries(node, "channels by name").unwrap_or_default();
        let channels = entries.iter().filter_map(|(name, listed)| {
            Some((reader.text(name, "a channel")?, channel(reader, listed, versions)?))
        });
        service.channels.get_or_insert_default().extend(channels);
    }
    service.edges = map.get("edges").map(|node| edges(reader, node, versions));
    if let Some(node) = map.get("conditional-edges") {
        let groups = reader.list(node, "conditional edges");
        service.conditional = groups.iter().filter_map(|node| conditional(reader, node, versions)).collect();
    }
    Some(service)
}

pub(in crate::scenario) fn read_into(reader: &mut Reader<'_>, node: &Node, cluster: &mut ClusterPlan) {
    let versions = super::cluster::versions(cluster);
    cluster.update_service = read(reader, node, &versions).unwrap_or_default();
}

/// Parses the releases of a channel, or the failure of requests for it.
fn channel(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<Channel> {
    if let Kind::List(items) = &node.kind {
        let listed = items.iter().filter_map(|item| self::listed(reader, item, versions));
        return Some(Channel::Lists(listed.collect()));
    }
    let fault = match reader.word(node, &["unreachable", "server-error", "invalid-json"])? {
        "unreachable" => ServiceFault::Unreachable,
        "server-error" => ServiceFault::ServerError,
        _ => ServiceFault::InvalidJson,
    };
    Some(Channel::Fails(fault))
}

/// Parses a release, either for one architecture (`4.14.1+arm64`) or for all.
fn listed(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<Version> {
    let version = reader.version(node)?;
    let build = version.build.as_str();
    if !build.is_empty() && Architecture::find(build).is_none() {
        let hint = did_you_mean(build, Architecture::NAMES.iter().copied());
        let known = Architecture::NAMES.join("`, `");
        reader.error(node, format!("there is no architecture `{build}`: expected one of `{known}`{hint}"));
        return None;
    }
    let plain = Version { build: BuildMetadata::EMPTY, ..version.clone() };
    reader.has_version(node, &plain, versions).then_some(version)
}

fn edges(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Vec<Edge> {
    let items = reader.list(node, "edges");
    items.iter().filter_map(|item| edge(reader, item, versions)).collect()
}

fn edge(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<Edge> {
    let map = reader.map(node, "an edge", &["from", "to"])?;
    let from = map.required(reader, "from", "the source release");
    let to = map.required(reader, "to", "the target release");
    let [from, to] = [from, to].map(|node| node.map(|node| reader.existing_version(node, versions)));
    Some(Edge { from: from??, to: to?? })
}

fn conditional(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<ConditionalEdges> {
    let map = reader.map(node, "conditional edges", &["edges", "risks"])?;
    let edges = map.required(reader, "edges", "the updates that have the risks");
    let risks = map.required(reader, "risks", "the risks of these updates");
    let edges = self::edges(reader, edges?, versions);
    let risks = reader.list(risks?, "risks").iter().filter_map(|node| risk(reader, node)).collect();
    Some(ConditionalEdges { edges, risks })
}

fn risk(reader: &mut Reader<'_>, node: &Node) -> Option<Risk> {
    let map = reader.map(node, "a risk", &["name", "url", "message", "rules"])?;
    let mut text = |key, meaning| {
        let node = map.required(reader, key, meaning)?;
        reader.text(node, meaning)
    };
    let name = text("name", "its name, such as `KeepalivedMulticastSkew`");
    let url = text("url", "a page about the risk");
    let message = text("message", "a sentence about the risk");
    let rules = map.required(reader, "rules", "the rules that select the exposed clusters")?;
    let rules = reader.list(rules, "rules").iter().filter_map(|node| rule(reader, node)).collect();
    Some(Risk { name: name?, url: url?, message: message?, rules })
}

/// Parses `Always`, or `{PromQL: expression}`.
fn rule(reader: &mut Reader<'_>, node: &Node) -> Option<MatchingRule> {
    let Kind::Map(_) = node.kind else {
        return reader.word(node, &["Always"]).map(|_| MatchingRule::Always);
    };
    let map = reader.map(node, "a rule", &["PromQL"])?;
    let expression =
        map.required(reader, "PromQL", "an expression that is 1 for clusters that are exposed")?;
    promql(reader, expression, None)
}
