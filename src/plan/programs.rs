//! Programs of the user's machine as parts of the cluster.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use windtunnel_openshift::environment::ContainerPlace;

use super::{CommandLine, PlannedStep, Program, Run, Step};

/// A program, and the place that it takes in the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramPlan {
    /// Its name in the record and in messages.
    pub name: String,
    /// Its place.
    pub place: ProgramPlace,
    /// The program and its arguments; empty for the command of the container. Text in braces is a placeholder.
    pub command: Vec<String>,
    /// Variables in addition to those of the container and of windtunnel.
    pub env: BTreeMap<String, String>,
    /// Files and folders of the user's machine that its container has, by their paths there. The same placeholders.
    pub files: BTreeMap<String, String>,
    /// The folder that it starts in; by default that of windtunnel.
    pub folder: Option<PathBuf>,
    /// How the clock of the cluster runs meanwhile.
    pub time: ProgramTime,
    /// Whether it may start.
    pub permission: Permission,
}

impl ProgramPlan {
    /// Lets the program of a file start, with these variables of windtunnel's environment.
    pub fn permit(&mut self, variables: &Variables) {
        if let Permission::Missing { .. } = self.permission {
            self.permission = Permission::Given(variables.clone());
        }
    }
}

/// Returns the scripts of the steps `run: {shell: ...}`, which need the consent of the user like other programs.
pub fn scripts(timeline: &[PlannedStep]) -> Vec<ProgramPlan> {
    let mut found = Vec::new();
    for planned in timeline {
        match &planned.step {
            Step::Run(Run { command: CommandLine { program: Program::Shell, line, .. }, .. }) => {
                found.push(ProgramPlan {
                    name: SCRIPT.to_owned(),
                    place: ProgramPlace::Step,
                    command: ["sh", "-c", line].map(str::to_owned).to_vec(),
                    env: BTreeMap::new(),
                    files: BTreeMap::new(),
                    folder: None,
                    time: ProgramTime::Lockstep,
                    permission: Permission::Missing { line: planned.line, column: planned.column },
                });
            }
            Step::Retry(retry) => found.extend(scripts(&retry.steps)),
            _ => {}
        }
    }
    found
}

/// The name of scripts in records and messages.
const SCRIPT: &str = "shell";

/// Variables of windtunnel's environment.
pub type Variables = BTreeMap<String, OsString>;

/// Whether a program may start, and its part of windtunnel's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// The user typed it on the command line. It has all variables.
    Typed,
    /// A file names it at this place, and the user has not allowed it.
    Missing {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// A file names it, and the user has allowed it. It has these variables.
    Given(Variables),
}

impl Permission {
    /// The variables of windtunnel's environment that the program has; `None` for all of them.
    pub fn inherited(&self) -> Option<Variables> {
        match self {
            Self::Typed => None,
            Self::Missing { .. } => Some(Variables::new()),
            Self::Given(variables) => Some(variables.clone()),
        }
    }
}

/// The place of a program in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramPlace {
    /// Beside the cluster, as this user, from the start of the run on.
    Beside {
        /// The user, such as `system:admin` or `system:serviceaccount:NAMESPACE:NAME`.
        user: String,
    },
    /// In containers.
    In(ContainerPlace),
    /// Beside the cluster, as an administrator, while a step runs it.
    Step,
}

impl fmt::Display for ProgramPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beside { user } => f.write_str(user),
            Self::Step => f.write_str("a step"),
            Self::In(ContainerPlace::Image(pattern)) => f.write_str(pattern),
            Self::In(ContainerPlace::Component { component, .. }) => f.write_str(component),
            Self::In(ContainerPlace::Container { namespace, workload, container }) => {
                write!(f, "{namespace}/{workload}/{container}")
            }
        }
    }
}

impl ProgramPlace {
    /// The containers that run the program; `None` if it runs beside the cluster.
    pub fn containers(&self) -> Option<&ContainerPlace> {
        match self {
            Self::Beside { .. } | Self::Step => None,
            Self::In(place) => Some(place),
        }
    }
}

/// How the clock of the cluster runs while programs run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ProgramTime {
    /// It stands still while a program is at work, and jumps to the next event when all are done.
    #[default]
    Lockstep,
    /// It runs at this multiple of the wall clock.
    Scaled(f64),
}

impl ProgramTime {
    /// The multiple of the wall clock; `None` in lockstep.
    pub fn speed(self) -> Option<f64> {
        match self {
            Self::Lockstep => None,
            Self::Scaled(speed) => Some(speed),
        }
    }
}
