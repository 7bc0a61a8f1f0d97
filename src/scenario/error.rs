//! Errors in a user's file, with their positions.

use std::fmt;

use windtunnel_core::text::one_line;

/// One error; prints as `file:line:column: message`, in one line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{}:{line}:{column}: {}", one_line(file), one_line(message))]
pub struct ScenarioError {
    /// The path as the user typed it.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column, counted from 1.
    pub column: usize,
    /// The expected and the found text, with the nearest name if there is one.
    pub message: String,
}

/// All errors of a file, in its order; prints one per line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}
