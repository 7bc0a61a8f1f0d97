//! The pod around a field that a rule checks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::kinds::validation::{items, text};

/// The parts of a specification on which the rules of other parts depend.
pub(super) struct Pod<'a> {
    spec: &'a Value,
    /// The volumes without errors, by name. Mounts do not find the others.
    volumes: BTreeMap<&'a str, &'a Value>,
    /// The names of the resource claims.
    claims: BTreeSet<&'a str>,
}

impl<'a> Pod<'a> {
    /// `broken_volumes` are the indices of the volumes with errors, in order.
    pub(super) fn new(spec: &'a Value, broken_volumes: &[usize]) -> Self {
        let mut volumes = BTreeMap::new();
        for (index, volume) in items(&spec["volumes"]).iter().enumerate() {
            if broken_volumes.binary_search(&index).is_err() {
                volumes.entry(text(&volume["name"])).or_insert(volume);
            }
        }
        let claims = items(&spec["resourceClaims"]).iter().map(|claim| text(&claim["name"]));
        Self { spec, volumes, claims: claims.filter(|name| !name.is_empty()).collect() }
    }

    /// The specification.
    pub(super) fn spec(&self) -> &'a Value {
        self.spec
    }

    /// The volume with this name, unless it has errors.
    pub(super) fn volume(&self, name: &str) -> Option<&'a Value> {
        self.volumes.get(name).copied()
    }

    /// The names of the resource claims.
    pub(super) fn claim_names(&self) -> &BTreeSet<&'a str> {
        &self.claims
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
