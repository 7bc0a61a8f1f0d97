//! The state of a run between its steps.

use std::collections::BTreeMap;

use windtunnel_core::clock::Time;

use super::counting::Counting;
use super::last_actions::LastActions;
use super::output::CapturedOutput;
use super::progress::Progress;
use crate::plan::{Differences, Snapshot};

/// The state of a run between its steps, and its limits.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct StepState {
    /// The place of the run in its plan.
    pub(in crate::engine) progress: Progress,
    /// Snapshot texts that the caller writes, with their files.
    pub(in crate::engine) snapshots: Vec<Snapshot>,
    /// The texts of the last failed step.
    pub(in crate::engine) differences: Option<Differences>,
    /// The output of the last command.
    pub(in crate::engine) last_output: Option<CapturedOutput>,
    /// Values that steps have kept for later ones, by name.
    pub(in crate::engine) kept_values: BTreeMap<String, String>,
    /// The last actions of the scenario.
    pub(in crate::engine) last_actions: LastActions,
    /// The moments from which expectations count.
    pub(in crate::engine) counting: Counting,
    /// Whether an expectation waits for a line in a log, so that it is checked after each new one.
    pub(in crate::engine) waits_for_log: bool,
    /// When time stops for good.
    pub(in crate::engine) halt: Option<Time>,
    /// The greatest number of entries in the record.
    pub(in crate::engine) writes_max: Option<usize>,
}
