//! `$(kept <name>)` in the texts of a plan: what a step before kept is not known until that step has been played.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// With a blank as it is written, or with a colon as it stands in the words of a command.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\(\s*kept(?:\s+|:)([^\s)]+)\s*\)").expect("pattern"));

/// Whether something that was kept belongs into the text.
pub fn has_place(text: &str) -> bool {
    PLACE.is_match(text)
}

/// The text with places that hold no blank, so that each stays in one word of a command.
pub fn in_one_word(line: &str) -> String {
    PLACE.replace_all(line, "$$(kept:$1)").into_owned()
}

/// The text with what `of` gives for the name in each place.
pub fn fill(text: &str, mut of: impl FnMut(&str) -> String) -> String {
    PLACE.replace_all(text, |found: &Captures<'_>| of(&found[1])).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_command_is_one_word_and_filled_as_any_other() {
        let line = in_one_word("oc get $( kept  kind ) --x=$(kept y)");
        assert_eq!(line, "oc get $(kept:kind) --x=$(kept:y)");
        for text in ["$(kept kind)", "$(kept:kind)"] {
            assert!(has_place(text));
            assert_eq!(fill(text, str::to_uppercase), "KIND");
        }
        assert!(!has_place("$(image 4.16.5)"));
    }
}
