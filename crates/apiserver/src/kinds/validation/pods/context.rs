//! The pod around a field that a rule checks.

use serde_json::Value;

use crate::kinds::validation::{items, text};

/// The parts of a specification on which the rules of other parts depend.
pub(super) struct Pod<'a> {
    spec: &'a Value,
    /// Indices of the volumes with errors. Mounts do not find them.
    broken_volumes: Vec<usize>,
}

impl<'a> Pod<'a> {
    pub(super) fn new(spec: &'a Value, broken_volumes: Vec<usize>) -> Self {
        Self { spec, broken_volumes }
    }

    /// The specification.
    pub(super) fn spec(&self) -> &'a Value {
        self.spec
    }

    /// The volume with this name, unless it has errors.
    pub(super) fn volume(&self, name: &str) -> Option<&'a Value> {
        let volumes = items(&self.spec["volumes"]).iter().enumerate();
        let mut valid = volumes.filter(|(index, _)| !self.broken_volumes.contains(index));
        valid.find(|(_, volume)| volume["name"] == name).map(|(_, volume)| volume)
    }

    /// The names of the resource claims, sorted.
    pub(super) fn claim_names(&self) -> Vec<&'a str> {
        let names = items(&self.spec["resourceClaims"]).iter().map(|claim| text(&claim["name"]));
        let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(super) fn restart_policy(&self) -> &'a str {
        text(&self.spec["restartPolicy"])
    }

    /// `terminationGracePeriodSeconds`.
    pub(super) fn grace_seconds(&self) -> Option<i64> {
        self.spec["terminationGracePeriodSeconds"].as_i64()
    }

    pub(super) fn os(&self) -> Option<&'a str> {
        self.spec["os"].as_object().map(|_| text(&self.spec["os"]["name"]))
    }

    /// Whether the pod shares the users of its host.
    pub(super) fn has_host_users(&self) -> bool {
        self.spec["hostUsers"] != false
    }

    pub(super) fn is_on_host_network(&self) -> bool {
        self.spec["hostNetwork"] == true
    }
}

/// The lists of containers, in the order in which Kubernetes visits them (`VisitContainersWithPath`).
pub(super) const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// All containers of a specification, with the name of their list and their index.
pub(super) fn all_containers(spec: &Value) -> impl Iterator<Item = (&'static str, usize, &Value)> {
    CONTAINER_LISTS.into_iter().flat_map(move |list| {
        items(&spec[list]).iter().enumerate().map(move |(index, container)| (list, index, container))
    })
}
