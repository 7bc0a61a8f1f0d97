//! Explains errors in the structure of a YAML text: finds the smallest change after which it parses, so that
//! the message says what to do and the error hides no other.
//!
//! `candidates.rs` has the changes to try, and the advice for each.

mod candidates;

use std::ops::Range;

use super::{Node, YamlError, parse_tree};
use candidates::candidates;

/// The maximum number of errors to explain.
const ERRORS_MAX: usize = 8;

/// The maximum number of changes to try. Each parses the text up to the next error.
const ATTEMPTS_MAX: usize = 40;

/// The number of bytes to parse in all attempts together, which takes about a second.
const BYTES_MAX: usize = 16 << 20;

/// The errors in the structure of a text, and the rest of the text.
#[derive(Debug)]
pub struct Repaired {
    /// The errors, each with what to do where that is known, in the order of the text.
    pub errors: Vec<YamlError>,
    /// The tree of the text after the changes; `None` if no change helps.
    pub tree: Option<Node>,
    /// Whether the changes dropped nothing, so that a missing key is really missing.
    pub is_complete: bool,
}

/// Explains the errors of a text that [`parse_tree`] rejects.
pub fn explain_structure(text: &str) -> Repaired {
    explain_within(text, 0..attempts(text.len()))
}

/// Explains errors with a limited number of attempts.
fn explain_within(text: &str, mut attempts: Range<usize>) -> Repaired {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut repaired = Repaired { errors: Vec::new(), tree: None, is_complete: true };
    let mut error = match parse_tree(text) {
        Ok((tree, _)) => return Repaired { tree: Some(tree), ..repaired },
        Err(error) => error,
    };
    while repaired.errors.len() < ERRORS_MAX {
        if error.is_limit() {
            repaired.errors.push(error);
            repaired.is_complete = false;
            break;
        }
        let found = candidates(&lines, &error).into_iter().find_map(|candidate| {
            attempts.next()?;
            let changed = candidate.apply(&lines);
            let next = parse_tree(&joined(&changed));
            let is_later = |next: &YamlError| next.is_limit() || next.line > error.line.max(candidate.line);
            let helps = next.as_ref().map_or_else(is_later, |_| true);
            helps.then_some((candidate, changed, next))
        });
        let next = match found {
            Some((candidate, changed, next)) => {
                repaired.errors.push(candidate.error());
                lines = changed;
                next
            }
            None => {
                repaired.errors.push(error.clone());
                repaired.is_complete = false;
                let Some(line) = lines.get_mut(error.line.saturating_sub(1)) else { break };
                line.clear();
                let next = parse_tree(&joined(&lines));
                if next.as_ref().is_err_and(|next| !next.is_limit() && next.line <= error.line) {
                    break;
                }
                next
            }
        };
        match next {
            Ok((tree, _)) => {
                repaired.tree = Some(tree);
                break;
            }
            Err(next) => error = next,
        }
    }
    repaired
}

/// Returns the number of changes to try in a text of this length.
fn attempts(length: usize) -> usize {
    (BYTES_MAX / length.max(1)).min(ATTEMPTS_MAX)
}

fn joined(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let repaired = explain_structure(text);
        let errors: Vec<String> = repaired.errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected, "{text}");
        assert!(repaired.tree.is_some() && repaired.is_complete, "{text}");
    }

    #[test]
    fn texts_with_special_characters_must_be_quoted() {
        check(
            "a: b: c\nd: {e: f, g: h: i}\n",
            &[
                "1:4: `: ` within a text begins a new key; quote the text: `a: \"b: c\"`",
                "2:14: `: ` within a text begins a new key; quote the text: `g: \"h: i\"`",
            ],
        );
        check(
            "a: {b.c[0].d: e, f: g}\n",
            &["1:5: `[` within a key begins a list; quote the key: `\"b.c[0].d\":`"],
        );
        check("a:\n- b: @x\n", &["2:6: a text cannot begin with `@`; quote the text: `b: \"@x\"`"]);
    }

    #[test]
    fn siblings_have_the_same_indentation() {
        check(
            "a:\n    b: 1\n  c: 2\n",
            &["3:3: line 3 is indented less than its siblings: indent it by 4 spaces, like line 2"],
        );
        check(
            "a:\n  b: 1\n   c: 2\nd: 1\n",
            &["3:4: line 3 is indented more than its siblings: indent it by 2 spaces, like line 2"],
        );
        check("a:\n\tb: 1\n", &["2:1: line 2 is indented with a tab: use spaces"]);
    }

    #[test]
    fn quotes_and_brackets_have_an_end() {
        check("a: {b: 1\nc: 2\n", &["1:4: the `{` has no end: add `}` at the end of line 1"]);
        check("a:\n  b: [x, y\nc: 2\n", &["2:6: the `[` has no end: add `]` at the end of line 2"]);
        check("a: \"b\nc: 2\n", &["1:4: the `\"` has no end: add `\"` at the end of line 1"]);
    }

    #[test]
    fn keys_need_a_colon_and_items_a_space() {
        check("a:\n  b 1\n  c: 2\n", &["2:3: `b` has no `:`: write `b: 1`"]);
        check("a:\n- b: 1\n-c: 2\n- d: 3\n", &["3:1: an item needs a space after `-`: write `- c: 2`"]);
    }

    #[test]
    fn long_lines_are_not_changed() {
        let keys = "a: @b, ".repeat(20_000);
        let repaired = explain_structure(&format!("a: {{{keys}}}\nb: c: d\n"));
        let lines: Vec<usize> = repaired.errors.iter().map(|error| error.line).collect();
        assert_eq!(lines, [1, 2], "{:?}", repaired.errors.last());
    }

    #[test]
    fn long_texts_get_fewer_attempts() {
        assert_eq!([100, 400_000, 1_600_000, 20_000_000].map(attempts), [40, 40, 10, 0]);
        let repaired = explain_within("a: x\nb: c: d\n", 0..0);
        assert_eq!(repaired.errors.len(), 1, "{:?}", repaired.errors);
        assert!(repaired.tree.is_some() && !repaired.is_complete);
    }

    #[test]
    fn an_error_without_an_explanation_hides_no_other() {
        let repaired = explain_structure("a: 1\n]\nb: c: d\n");
        assert_eq!(repaired.errors.len(), 2, "{:?}", repaired.errors);
        assert!(!repaired.is_complete && repaired.tree.is_some());
    }
}
