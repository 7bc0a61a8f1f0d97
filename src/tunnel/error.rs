//! Errors of a tunnel.

use crate::engine::SessionError;
use crate::scenario::ScenarioErrors;

/// The reason why a scenario cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TunnelError {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The scenario has mistakes.
    #[error(transparent)]
    Scenario(#[from] ScenarioErrors),
    /// A program has an unusable name or place.
    #[error("{0}")]
    Program(String),
    /// The cluster could not be set up.
    #[error("the cluster cannot be set up: {0}")]
    Cluster(#[from] SessionError),
    /// The simulation panicked, which is an error in windtunnel.
    #[error("the simulation panicked; this is an error in windtunnel")]
    Panicked,
}
