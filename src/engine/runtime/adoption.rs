//! The nodes that clients create beside an API server without a cluster, and that get machines.

use std::collections::{BTreeMap, BTreeSet};

use windtunnel_core::clock::Time;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, View};

use crate::engine::observer::Observer;

/// The nodes of clients, and the machines that they have.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Adoption {
    is_enabled: bool,
    /// Nodes that were created or deleted since the last look.
    pub(super) changed: BTreeSet<String>,
    /// The uids of the nodes that have machines.
    pub(super) adopted: BTreeMap<String, String>,
    /// The number of machines so far, for their addresses.
    pub(super) count: u32,
}

impl Adoption {
    /// Gives machines to the nodes in `view` and to all later ones, if `is_enabled`.
    pub(in crate::engine) fn enable(&mut self, is_enabled: bool, view: &View) {
        self.is_enabled = is_enabled;
        if is_enabled {
            self.changed = view.list(&NODES).map(|node| node.name().to_owned()).collect();
        }
    }
}

impl Observer for Adoption {
    fn on_change(&mut self, change: &Change, _: &View, _: Time) {
        if self.is_enabled && change.key.is_kind(&NODES) {
            self.changed.insert(change.key.name.clone());
        }
    }
}
