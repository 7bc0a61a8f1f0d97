//! Invariants of records: the writes decide them, as in a run.

use windtunnel_core::clock::Time;
use windtunnel_core::{Change, View};

use super::Invariants;
use crate::engine::observer::Observer as _;
use crate::plan::Invariant;
use crate::record::WriteEvent;

/// An invariant that is checked against a record. No record has the reboots of machines, so `node-order` only checks the
/// phases of nodes.
#[derive(Debug, Clone)]
pub struct RecordedInvariant {
    invariant: Invariant,
    invariants: Invariants,
}

impl RecordedInvariant {
    /// Creates the check of an invariant, for a record whose clock starts at `epoch`.
    pub fn new(invariant: Invariant, epoch: Time) -> Self {
        Self { invariant, invariants: Invariants::new([invariant].into(), epoch) }
    }

    /// Checks a write. Returns how it breaks the invariant.
    pub fn check_write(&mut self, write: &WriteEvent, at: Time) -> Option<String> {
        self.invariants.on_write(write, at);
        let text = self.invariants.take_violation()?;
        Some(text.split_once(": ").map_or(text.as_str(), |(_, how)| how).to_owned())
    }

    /// Checks a change that `view` contains already. Returns the node that breaks the invariant, and how.
    pub fn check_change(&mut self, change: &Change, view: &View, at: Time) -> Option<(String, String)> {
        if self.invariant != Invariant::NodeOrder {
            return None;
        }
        let jump = self.invariants.phases.track_change(change, view, at)?;
        Some((jump.node.clone(), jump.to_string()))
    }
}
