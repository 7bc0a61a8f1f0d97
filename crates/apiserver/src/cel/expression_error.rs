//! Errors in expressions, printed with the source line and a mark below the position.

use std::fmt::Write as _;

/// The most errors that are printed (cel-go's `maxErrorsToReport`).
const PRINTED_MAX: usize = 100;

/// The most bytes of a source line that is printed (cel-go's `maxSnippetLength`).
const LINE_MAX: usize = 16_384;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExpressionError {
    /// Position, as the number of characters before it; `None` for an error of the whole expression.
    at: Option<usize>,
    text: String,
}

impl ExpressionError {
    pub(crate) fn new(at: usize, text: impl Into<String>) -> Self {
        Self { at: Some(at), text: text.into() }
    }

    /// An error of the whole expression.
    pub(crate) fn of_all(text: impl Into<String>) -> Self {
        Self { at: None, text: text.into() }
    }
}

/// Formats errors as cel-go prints them: the first hundred, ordered by position.
pub(crate) fn show(source: &str, errors: &[ExpressionError]) -> String {
    let (printed, rest) = errors.split_at(errors.len().min(PRINTED_MAX));
    let mut printed: Vec<&ExpressionError> = printed.iter().collect();
    printed.sort_by_key(|error| error.at);
    let mut texts: Vec<String> = printed.into_iter().map(|error| show_one(source, error)).collect();
    if !rest.is_empty() {
        texts.push(format!("{} more errors were truncated", rest.len()));
    }
    texts.join("\n")
}

fn show_one(source: &str, error: &ExpressionError) -> String {
    let Some(at) = error.at else { return format!("ERROR: <input>:-1:0: {}", error.text) };
    if source.is_empty() {
        return format!("ERROR: <input>:1:0: {}", error.text);
    }
    let position = source.char_indices().nth(at).map_or(source.len(), |(position, _)| position);
    let (before, after) = source.split_at(position);
    let (number, start) = (before.matches('\n').count(), before.rfind('\n').map_or(0, |newline| newline + 1));
    let column = before[start..].chars().count();
    let mut text = format!("ERROR: <input>:{}:{}: {}", number + 1, column + 1, error.text);
    let line = &source[start..after.find('\n').map_or(source.len(), |newline| position + newline)];
    if line.len() <= LINE_MAX {
        let _ = write!(text, "\n | {}\n | ", line.replace('\t', " "));
        text.extend(before[start..].chars().map(|letter| if letter.is_ascii() { '.' } else { '．' }));
        text.push(if after.starts_with(|letter: char| !letter.is_ascii()) { '＾' } else { '^' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_source_has_no_line_to_print() {
        assert_eq!(show("", &[ExpressionError::new(0, "nothing")]), "ERROR: <input>:1:0: nothing");
    }

    #[test]
    fn prints_a_mistake_with_its_line_and_a_mark_below_its_position() {
        let errors = [ExpressionError::new(9, "second"), ExpressionError::new(4, "first")];
        assert_eq!(
            show("self.a\n&& b", &errors),
            "ERROR: <input>:1:5: first\n | self.a\n | ....^\nERROR: <input>:2:3: second\n | && b\n | ..^"
        );
    }

    #[test]
    fn marks_below_wide_characters_are_wide() {
        assert_eq!(
            show("'ä' + é", &[ExpressionError::new(6, "a")]),
            "ERROR: <input>:1:7: a\n | 'ä' + é\n | .．....＾"
        );
    }

    #[test]
    fn a_mistake_of_the_whole_expression_comes_first_and_has_no_line() {
        let errors = [ExpressionError::new(0, "a"), ExpressionError::of_all("too long")];
        assert_eq!(show("b", &errors), "ERROR: <input>:-1:0: too long\nERROR: <input>:1:1: a\n | b\n | ^");
    }

    #[test]
    fn only_a_hundred_mistakes_are_printed_and_no_long_line() {
        let source = "a ".repeat(10_000);
        let errors: Vec<ExpressionError> = (0..250).map(|at| ExpressionError::new(at, "odd")).collect();
        let text = show(&source, &errors);
        assert_eq!(text.lines().count(), 101);
        assert!(text.ends_with("\nERROR: <input>:1:100: odd\n150 more errors were truncated"), "{text}");
    }
}
