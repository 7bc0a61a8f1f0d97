//! The error of an invalid expression, with its position.

use std::fmt;

/// Why an expression is invalid, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    message: String,
    at: usize,
}

impl ParseError {
    /// An error at a position, in bytes from the start of the expression.
    pub(super) fn new(message: String, at: usize) -> Self {
        Self { message, at }
    }

    /// Returns line and column in `text`, the parsed expression; both count from 1, columns in characters.
    pub fn position(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

/// The message without the position.
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}
