//! The limits of the YAML library, in words that say what to do. For the size of a text, only its reader knows that.

use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

use crate::text::grouped;

/// A limit that a text exceeds.
#[derive(Debug)]
pub(super) struct Exceeded {
    pub(super) message: String,
    /// Whether the limit is one of the whole text, so that no place in it is to blame.
    pub(super) is_of_text: bool,
    /// Whether the text is too large, whatever it has.
    pub(super) is_size: bool,
}

/// Returns the innermost error.
pub(super) fn cause(error: &Error) -> &Error {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => cause(error),
        error => error,
    }
}

/// Returns the limit that an error is about; `None` for other errors.
pub(super) fn exceeded(error: &Error) -> Option<Exceeded> {
    let mut is_size = false;
    let (message, is_of_text) = match cause(error) {
        Error::Budget { breach: BudgetBreach::Depth { depth }, .. } => {
            let most = depth.saturating_sub(1);
            (format!("the YAML is nested more than {most} levels deep: use fewer levels"), false)
        }
        Error::Budget { breach, .. } => {
            let size = size(breach);
            is_size = size.is_some();
            (size.unwrap_or_else(|| repetition(breach)), true)
        }
        Error::AliasReplayLimitExceeded { max_total_replayed_events: most, .. } => {
            (format!("the aliases repeat more than {}: write out what they repeat", values(*most)), false)
        }
        Error::AliasExpansionLimitExceeded { max_expansions_per_anchor: most, .. } => {
            (format!("an anchor has more than {} aliases: write out what they repeat", grouped(*most)), false)
        }
        Error::AliasReplayStackDepthExceeded { max_depth: most, .. } => {
            (format!("aliases are nested more than {most} levels deep: write out what they repeat"), false)
        }
        _ => return None,
    };
    Some(Exceeded { message, is_of_text, is_size })
}

/// The number of a limit. The library reports the first count above it.
const fn most(count: usize) -> usize {
    count.saturating_sub(1)
}

/// Returns the message about the size of the whole text; `None` for a limit of another kind.
fn size(breach: &BudgetBreach) -> Option<String> {
    Some(match breach {
        BudgetBreach::Nodes { nodes } => format!("the YAML has more than {}", values(most(*nodes))),
        BudgetBreach::Events { events } => {
            format!("the YAML has more than {} and comments", values(most(*events)))
        }
        BudgetBreach::Documents { documents } => {
            format!("the YAML has more than {} documents", grouped(most(*documents)))
        }
        BudgetBreach::ScalarBytes { total_scalar_bytes: bytes } => {
            format!("the values of the YAML have {} bytes of text, which is too much", grouped(*bytes))
        }
        BudgetBreach::CommentBytes { total_comment_bytes: bytes } => {
            format!("the comments of the YAML have {} bytes, which is too much", grouped(*bytes))
        }
        _ => return None,
    })
}

/// Returns the message about anchors, aliases and merge keys.
fn repetition(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Aliases { aliases } => {
            format!("the YAML has more than {} aliases: write out what they repeat", grouped(most(*aliases)))
        }
        BudgetBreach::Anchors { anchors } => {
            format!("the YAML has more than {} anchors: write out what they name", grouped(most(*anchors)))
        }
        BudgetBreach::AliasAnchorRatio { aliases, anchors } => format!(
            "the YAML has {} aliases, too many for its {} anchors: write out what they repeat",
            grouped(*aliases),
            grouped(*anchors)
        ),
        BudgetBreach::RecordedAnchorEvents { .. } | BudgetBreach::RecordedAnchorBytes { .. } => {
            "the anchors of the YAML name too many values: write out what the aliases repeat".to_owned()
        }
        BudgetBreach::MergeKeys { merge_keys } => {
            format!(
                "the YAML has more than {} merge keys: write out what they merge",
                grouped(most(*merge_keys))
            )
        }
        _ => "the YAML is too large or too complex".to_owned(),
    }
}

fn values(count: usize) -> String {
    format!("{} values", grouped(count))
}

#[cfg(test)]
mod tests {
    use crate::yaml::{explain_structure, from_str_multi, parse_tree};

    /// Compares the only error about a text, which is no scenario.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = parse_tree(text).unwrap_err();
        assert!(error.is_limit(), "{error}");
        let errors = explain_structure(text).errors;
        assert_eq!(errors, [error]);
        assert_eq!(errors[0].to_string(), expected);
    }

    #[test]
    fn only_a_text_that_is_too_large_gets_the_advice_of_its_reader() {
        let advised = |text: &str| parse_tree(text).unwrap_err().with_advice_on_size("use less").message;
        assert_eq!(advised(&"- a\n".repeat(250_001)), "the YAML has more than 250,000 values: use less");
        let deep = "[".repeat(40) + &"]".repeat(40);
        assert_eq!(advised(&deep), "the YAML is nested more than 32 levels deep: use fewer levels");
        assert!(!advised("a: [").contains("use less"));
    }

    #[test]
    fn each_limit_is_one_error_that_says_what_to_do() {
        check(&"- a\n".repeat(250_001), "1:1: the YAML has more than 250,000 values");
        check(
            &format!("a: {}\n", "[".repeat(40) + &"]".repeat(40)),
            "1:35: the YAML is nested more than 32 levels deep: use fewer levels",
        );
        check(
            &format!("a: &a 1\nb: [{}]\n", "*a, ".repeat(300)),
            "1:1: the YAML has 300 aliases, too many for its 1 anchors: write out what they repeat",
        );
        let anchors = (0..50_001).map(|number| format!("- &a{number} 1\n")).collect::<Vec<_>>().concat();
        check(&anchors, "1:1: the YAML has more than 50,000 anchors: write out what they name");
        let bomb = (1..8)
            .map(|level| format!("a{level}: &a{level} [{}]\n", format!("*a{}, ", level - 1).repeat(9)))
            .collect::<Vec<_>>()
            .concat();
        let error = parse_tree(&format!("a0: &a0 [{}]\n{bomb}", "1, ".repeat(9))).unwrap_err();
        assert!(error.is_limit() && error.message.contains("more than 250,000 values"), "{error}");
        let documents = from_str_multi::<serde_json::Value>(&"--- 1\n".repeat(1025)).unwrap_err();
        assert_eq!(documents.to_string(), "1:1: the YAML has more than 1,024 documents");
    }

    #[test]
    fn a_limit_ends_the_explanation_of_other_errors() {
        let text = format!("a: b: c\nd:\n{}", "- a\n".repeat(250_001));
        let errors: Vec<String> = explain_structure(&text).errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "1:4: `: ` within a text begins a new key; quote the text: `a: \"b: c\"`",
                "1:1: the YAML has more than 250,000 values"
            ]
        );
    }
}
