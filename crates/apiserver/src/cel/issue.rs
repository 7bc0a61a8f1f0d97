//! Mistakes in expressions, printed with the source line and a mark below the position.

use std::fmt::Write as _;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    /// Position, as the number of characters before it.
    pub(crate) at: usize,
    pub(crate) text: String,
}

impl Issue {
    pub(crate) fn new(at: usize, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }
}

/// Formats mistakes as cel-go prints them, ordered by position.
pub(crate) fn show(source: &str, issues: &[Issue]) -> String {
    let mut issues: Vec<&Issue> = issues.iter().collect();
    issues.sort_by_key(|issue| issue.at);
    let texts: Vec<String> = issues.into_iter().map(|issue| show_one(source, issue)).collect();
    texts.join("\n")
}

fn show_one(source: &str, issue: &Issue) -> String {
    if source.is_empty() {
        return format!("ERROR: <input>:1:0: {}", issue.text);
    }
    let before: String = source.chars().take(issue.at).collect();
    let number = before.matches('\n').count();
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
    let mut text = format!("ERROR: <input>:{}:{}: {}", number + 1, column + 1, issue.text);
    if let Some(line) = source.split('\n').nth(number) {
        let line = line.replace('\t', " ");
        let _ = write!(text, "\n | {line}\n | {}^", ".".repeat(column));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_source_has_no_line_to_print() {
        assert_eq!(show("", &[Issue::new(0, "nothing")]), "ERROR: <input>:1:0: nothing");
    }

    #[test]
    fn prints_a_mistake_with_its_line_and_a_mark_below_its_position() {
        let issues = [Issue::new(9, "second"), Issue::new(4, "first")];
        assert_eq!(
            show("self.a\n&& b", &issues),
            "ERROR: <input>:1:5: first\n | self.a\n | ....^\nERROR: <input>:2:3: second\n | && b\n | ..^"
        );
    }
}
