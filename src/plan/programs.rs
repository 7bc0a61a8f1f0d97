//! Programs of the user's machine as parts of the cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;

use windtunnel_openshift::environment::ContainerPlace;

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
}

impl ProgramPlace {
    /// The containers that run the program; `None` if it runs beside the cluster.
    pub fn containers(&self) -> Option<&ContainerPlace> {
        match self {
            Self::Beside { .. } => None,
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
