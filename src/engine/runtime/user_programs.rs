//! The programs of the user's machine in a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windtunnel_core::Key;
use windtunnel_core::clock::Time;
use windtunnel_core::requests::faults::{ProgramFault, RequestFilter};

use super::program_site::ProgramSite;
use crate::plan::ProgramPlan;

/// The programs of the user's machine. They cannot be copied.
#[derive(Debug, Default)]
pub(in crate::engine) struct UserPrograms {
    pub(in crate::engine) plans: Arc<[ProgramPlan]>,
    /// The places and names of programs that were started, by their ids.
    pub(in crate::engine) started: BTreeMap<String, (ProgramSite, String)>,
    /// The requests that fail because of faults of programs, with the program and its fault.
    pub(in crate::engine) faults: Vec<(String, ProgramFault, RequestFilter)>,
    /// When programs beside the cluster start again.
    pub(in crate::engine) restarts: BTreeSet<(Time, String)>,
    /// What the script of the running step has printed.
    pub(in crate::engine) script_lines: Vec<String>,
    /// The exit code of the script of the running step, once it has ended.
    pub(in crate::engine) script_exit: Option<i64>,
    /// Containers whose programs could not be started.
    pub(in crate::engine) failed_starts: Vec<(Key, String)>,
}

impl UserPrograms {
    /// The places where processes of a program were started.
    pub(in crate::engine) fn places_of(&self, name: &str) -> impl Iterator<Item = &ProgramSite> {
        self.started.values().filter(move |(_, program)| program == name).map(|(place, _)| place)
    }
}
