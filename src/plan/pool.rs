//! Custom pools of a cluster from its start, and the names of its nodes.

use std::collections::BTreeMap;

/// Returns the names of a cluster's nodes: the control plane, the plain workers, then those of each pool.
pub fn node_names(control_plane: u32, workers: u32, pools: &[PoolPlan]) -> Vec<String> {
    let named = |role: &'static str, count| (0..count).map(move |index| format!("{role}-{index}"));
    let plain = named("master", control_plane).chain(named("worker", workers));
    plain.chain(pools.iter().flat_map(PoolPlan::nodes)).collect()
}

/// A custom MachineConfigPool with its nodes, `<name>-0` and so on, which have the roles of workers and of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolPlan {
    /// Its name, which is also the role of its nodes.
    pub name: String,
    /// The number of its nodes, in addition to the plain workers.
    pub count: u32,
    /// `spec.paused`.
    pub paused: bool,
    /// `spec.maxUnavailable`, a number or a percentage; `None` for the default of one node.
    pub max_unavailable: Option<String>,
    /// Labels of its nodes in addition to those of every node.
    pub labels: BTreeMap<String, String>,
}

impl PoolPlan {
    /// Returns a pool with this number of nodes that updates one node at a time.
    pub fn new(name: String, count: u32) -> Self {
        Self { name, count, paused: false, max_unavailable: None, labels: BTreeMap::new() }
    }

    /// Returns the names of its nodes.
    pub fn nodes(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|index| format!("{}-{index}", self.name))
    }

    /// Returns why no custom pool can have this name.
    pub fn problem_with_name(name: &str) -> Option<String> {
        if ["master", "worker", "control-plane"].contains(&name) {
            return Some(format!(
                "`{name}` is no custom pool: every cluster has nodes of this role; use a name such as `infra`"
            ));
        }
        let is_part = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let is_valid = name.starts_with(|first: char| first.is_ascii_lowercase())
            && !name.ends_with('-')
            && name.len() <= 50
            && name.chars().all(is_part);
        (!is_valid).then(|| {
            format!(
                "expected the name of a pool such as `infra`, found `{name}`: use lower-case letters, digits and `-`"
            )
        })
    }
}
