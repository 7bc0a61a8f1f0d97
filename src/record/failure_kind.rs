//! Whose failure it is when a step fails.

use std::fmt;

/// What a failure is about. `docs/how-to/failure-kinds.md` has the rules; `SessionError::kind` in the engine applies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// The component under test: an expectation is not met, an invariant is broken, a program ended.
    Product,
    /// The scenario: its expectation cannot hold, or a request or command of its own was rejected.
    Scenario,
    /// windtunnel or the machine: no cluster, a lost one, an unsupported step, a run that is not deterministic.
    Tool,
}

impl FailureKind {
    /// Returns the kind in records and reports: `product`, `scenario` or `tool`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Product => "product",
            Self::Scenario => "scenario",
            Self::Tool => "tool",
        }
    }

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Product, Self::Scenario, Self::Tool].into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
