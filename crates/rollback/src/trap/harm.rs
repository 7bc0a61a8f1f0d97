//! The ranks of harm.

use std::fmt;
use std::str::FromStr;

use crate::trial::Outcome;

/// The harm of a trap, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Harm {
    /// The older release cannot replace the definition.
    Definition,
    /// Status updates are rejected, so operators cannot report anything.
    Status,
    /// Edits of the object are rejected.
    Edits,
    /// A value is lost or changed.
    Lost,
    /// The value stays, but cannot be set again.
    Again,
    /// Nothing is rejected or lost.
    Note,
}

impl Harm {
    /// All ranks, the worst first.
    pub const ALL: [Self; 6] =
        [Self::Definition, Self::Status, Self::Edits, Self::Lost, Self::Again, Self::Note];

    /// The name for arguments and data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::Status => "status",
            Self::Edits => "edits",
            Self::Lost => "lost",
            Self::Again => "again",
            Self::Note => "note",
        }
    }

    /// A description for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Definition => "the definition cannot be replaced",
            Self::Status => "status updates are rejected",
            Self::Edits => "edits are rejected",
            Self::Lost => "the value is lost",
            Self::Again => "the value cannot be set again",
            Self::Note => "nothing is rejected or lost",
        }
    }

    /// The harm of an outcome.
    pub(crate) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome { blocks_status: true, .. } => Self::Status,
            Outcome { blocks_edits: true, .. } => Self::Edits,
            Outcome { loses_value: true, .. } => Self::Lost,
            Outcome { blocks_creation: true, .. } => Self::Again,
            _ => Self::Note,
        }
    }
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Harm {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::ALL.iter().map(|harm| harm.name()).collect();
        let found = Self::ALL.into_iter().find(|harm| harm.name() == name);
        found.ok_or_else(|| format!("expected one of {}", names.join(", ")))
    }
}
