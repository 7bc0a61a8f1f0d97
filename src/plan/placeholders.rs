//! `$(kept <name>)` in the texts of a plan: placeholders for values that only earlier steps of the run
//! supply.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Accepts a blank, as scenarios write it, or the colon that [`in_one_word`] puts in its place.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\(\s*kept(?:\s+|:)([^\s)]+)\s*\)").expect("pattern"));

/// Returns whether `text` contains a placeholder.
pub fn has_placeholder(text: &str) -> bool {
    PLACEHOLDER.is_match(text)
}

/// Returns the name of the placeholder that is the whole text.
pub fn only(text: &str) -> Option<&str> {
    let found = PLACEHOLDER.captures(text)?;
    let is_all = found.get(0).is_some_and(|all| all.as_str() == text);
    found.get(1).filter(|_| is_all).map(|name| name.as_str())
}

/// Returns the line with placeholders that contain no blank, so that shell splitting keeps each in one word.
pub fn in_one_word(line: &str) -> String {
    PLACEHOLDER.replace_all(line, "$$(kept:$1)").into_owned()
}

/// Returns the text with each placeholder replaced by `value_of(name)`.
pub fn fill(text: &str, mut value_of: impl FnMut(&str) -> String) -> String {
    PLACEHOLDER.replace_all(text, |found: &Captures<'_>| value_of(&found[1])).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_one_word_keeps_a_placeholder_in_one_word_and_fill_replaces_it() {
        let line = in_one_word("oc get $( kept  kind ) --x=$(kept y)");
        assert_eq!(line, "oc get $(kept:kind) --x=$(kept:y)");
        for text in ["$(kept kind)", "$(kept:kind)"] {
            assert!(has_placeholder(text));
            assert_eq!(fill(text, str::to_uppercase), "KIND");
        }
        assert!(!has_placeholder("$(image 4.16.5)"));
    }
}
