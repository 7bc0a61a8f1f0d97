//! `nodes`: the nodes of the initial cluster, their custom pools and their labels.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::release::Architecture;

use crate::plan::{CONTROL_PLANE_NODES, PoolPlan, WORKER_NODES, node_names};
use crate::scenario::labels::labels;
use crate::scenario::reader::Reader;

/// The keys of a custom pool.
const POOL_KEYS: [&str; 4] = ["count", "paused", "max-unavailable", "labels"];

/// Labels by node name.
type LabelsByNode = BTreeMap<String, BTreeMap<String, String>>;

/// Node counts by role, custom pools, labels and architectures of single nodes, and whether kubelets renew
/// Leases.
pub(super) struct Nodes {
    pub(super) control_plane: u32,
    pub(super) workers: u32,
    pub(super) pools: Vec<PoolPlan>,
    pub(super) labels: LabelsByNode,
    pub(super) architectures: BTreeMap<String, Architecture>,
    pub(super) leases: bool,
}

impl Nodes {
    pub(super) fn read(reader: &mut Reader<'_>, node: Option<&Node>, release: Architecture) -> Self {
        let keys = ["control-plane", "workers", "pools", "labels", "architectures", "leases"];
        let map = node.and_then(|node| reader.map(node, "nodes", &keys));
        let get = |key| map.as_ref().and_then(|map| map.get(key));
        let mut count = |key, allowed: RangeInclusive<u32>| {
            get(key).and_then(|node| reader.number(node, *allowed.start(), *allowed.end())).unwrap_or(3)
        };
        let (control_plane, workers) =
            (count("control-plane", CONTROL_PLANE_NODES), count("workers", WORKER_NODES));
        let leases = get("leases").and_then(|node| reader.flag(node)).unwrap_or(false);
        let pools = get("pools").map(|node| pools(reader, node)).unwrap_or_default();
        let mut nodes = Self {
            control_plane,
            workers,
            pools,
            labels: BTreeMap::new(),
            architectures: BTreeMap::new(),
            leases,
        };
        let names = node_names(control_plane, workers, &nodes.pools);
        if let Some(node) = get("labels") {
            nodes.labels = labels_by_node(reader, node, &names);
        }
        if let Some(node) = get("architectures") {
            nodes.read_architectures(reader, node, release, &names);
        }
        nodes
    }

    /// Parses architectures of single nodes, which only a multi-architecture release supports.
    fn read_architectures(
        &mut self,
        reader: &mut Reader<'_>,
        node: &Node,
        release: Architecture,
        names: &[String],
    ) {
        if release != Architecture::Multi {
            let own = release.name();
            reader.error(
                node,
                format!(
                    "a release for {own} needs machines for {own}: set `architecture: multi` for the cluster"
                ),
            );
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let machines: Vec<&str> =
            Architecture::NAMES.iter().copied().filter(|name| *name != Architecture::Multi.name()).collect();
        for (name, architecture) in reader.entries(node, "architectures by node").unwrap_or_default() {
            let name = reader.word(name, &known);
            let architecture = reader.word(architecture, &machines).and_then(Architecture::find);
            self.architectures.extend(name.map(str::to_owned).zip(architecture));
        }
    }
}

/// Parses `labels: {worker-0: {topology.kubernetes.io/zone: a}}`.
fn labels_by_node(reader: &mut Reader<'_>, node: &Node, names: &[String]) -> LabelsByNode {
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut found = LabelsByNode::new();
    for (name, own) in reader.entries(node, "labels by node").unwrap_or_default() {
        let name = reader.word(name, &known).map(str::to_owned);
        let own = labels(reader, own);
        found.extend(name.map(|name| (name, own)));
    }
    found
}

/// Parses `pools: {infra: {count: 2}}` or `pools: {infra: 2}`.
fn pools(reader: &mut Reader<'_>, node: &Node) -> Vec<PoolPlan> {
    let entries =
        reader.entries(node, "custom pools by name, such as `{infra: {count: 2}}`").unwrap_or_default();
    entries.iter().filter_map(|(name, pool)| self::pool(reader, name, pool)).collect()
}

fn pool(reader: &mut Reader<'_>, name: &Node, node: &Node) -> Option<PoolPlan> {
    let text = reader.text(name, "the name of a pool such as `infra`")?;
    if let Some(message) = PoolPlan::problem_with_name(&text) {
        reader.error(name, message);
        return None;
    }
    if !matches!(node.kind, Kind::Map(_)) {
        let count = reader.number(node, 0, *WORKER_NODES.end())?;
        return Some(PoolPlan::new(text, count));
    }
    let map = reader.map(node, "a pool", &POOL_KEYS)?;
    let count = map.required(reader, "count", "the number of its nodes, such as `2`");
    let count = count.and_then(|node| reader.number(node, 0, *WORKER_NODES.end()));
    let paused = map.get("paused").and_then(|node| reader.flag(node)).unwrap_or(false);
    let max_unavailable = map.get("max-unavailable").and_then(|node| max_unavailable(reader, node));
    let labels = map.get("labels").map(|node| labels(reader, node)).unwrap_or_default();
    Some(PoolPlan { paused, max_unavailable, labels, ..PoolPlan::new(text, count?) })
}

/// Parses a number of nodes or a percentage.
fn max_unavailable(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node, "a number of nodes such as `2`, or a percentage such as `50%`")?;
    if text.strip_suffix('%').unwrap_or(&text).parse::<u32>().is_ok() {
        return Some(text);
    }
    reader.error(node, format!("expected a number of nodes or a percentage, found `{text}`"));
    None
}
