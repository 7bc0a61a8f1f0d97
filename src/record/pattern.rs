//! Compiles the constant patterns of this module.

use regex::Regex;

/// Compiles a pattern, which the tests compile as well.
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}
