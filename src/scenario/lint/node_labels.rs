//! Warns of labels that no node of a cluster has.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::resources::NODES;
use windtunnel_core::text::did_you_mean;

use super::expected_states;
use crate::plan::{Action, Check, ClusterPlan, ExpectedState, Step};

/// The labels of every node.
const ALWAYS: [&str; 6] = [
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/worker",
];

/// The keys of the labels that nodes have, including those that steps have set so far.
#[derive(Debug, Clone)]
pub(super) struct NodeLabels(BTreeSet<String>);

impl NodeLabels {
    /// Returns the keys at the start of a run.
    pub(super) fn at_start(cluster: &ClusterPlan) -> Self {
        let mut keys: BTreeSet<String> = ALWAYS.map(str::to_owned).into();
        keys.extend(cluster.node_labels.values().flat_map(|labels| labels.keys().cloned()));
        for pool in &cluster.pools {
            keys.insert(format!("node-role.kubernetes.io/{}", pool.name));
            keys.extend(pool.labels.keys().cloned());
        }
        keys.extend(cluster.past.nodes.iter().flat_map(|node| node.labels.keys().cloned()));
        Self(keys)
    }

    /// Returns warnings about the next step of the run.
    pub(super) fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Act(Action::Apply(object)) if NODES.is_kind_of(object) => self.add(object),
            Step::Act(Action::Patch { object, patch, .. }) if object.resource == NODES => self.add(patch),
            Step::Act(Action::Join { labels, .. }) => self.0.extend(labels.keys().cloned()),
            _ => {}
        }
        let expected = expected_states(step).into_iter().filter_map(|expected| match &expected.what {
            ExpectedState::Object(object, checks) if object.resource == NODES => Some(checks),
            _ => None,
        });
        expected.flatten().filter_map(|check| self.unknown_key(check)).collect()
    }

    fn add(&mut self, object: &Value) {
        let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
        self.0.extend(labels.map(|(key, _)| key.clone()));
    }

    /// Returns why no node has the label that a check reads.
    fn unknown_key(&self, check: &Check) -> Option<String> {
        let Check::Field { path, value } = check else { return None };
        let key = label(path).filter(|key| !self.0.contains(*key))?;
        let consequence = if value.fits("") { ", so this expectation always holds" } else { "" };
        let hint = did_you_mean(key, self.0.iter().map(String::as_str));
        Some(format!("no node has the label {key}{consequence}{hint}"))
    }
}

/// Returns the key in a path such as `metadata.labels["a/b"]`.
fn label(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("metadata.labels")?;
    let quoted =
        |quote: char| rest.strip_prefix(['['])?.strip_prefix(quote)?.strip_suffix(']')?.strip_suffix(quote);
    rest.strip_prefix('.').or_else(|| quoted('"')).or_else(|| quoted('\''))
}
