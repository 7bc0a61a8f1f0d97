//! Finds out, line by line, what is wrong with a feature that the Gherkin parser rejects.

use cucumber::gherkin::GherkinEnv;
use windtunnel_core::text::truncate;

/// Line and column, counted from 1, and the message of an error.
pub(super) type SyntaxError = (usize, usize, String);

/// Line and column of a line's content, counted from 1, and the content without spaces around it.
pub(super) type Line<'t> = (usize, usize, &'t str);

const HEADS: &[&str] = &[
    "Background:",
    "Rule:",
    "Scenario:",
    "Scenario Outline:",
    "Scenario Template:",
    "Example:",
    "Examples:",
    "Scenarios:",
];

const STEPS: &[&str] = &["Given ", "When ", "Then ", "And ", "But ", "* "];

/// The context of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the feature.
    Top,
    /// Below a heading, where free text is allowed.
    Description,
    /// Below a step, where free text is not allowed.
    Steps,
}

/// Returns the errors of an English text. Empty for a text in another language, or if all lines look right.
pub(super) fn errors(text: &str) -> Vec<SyntaxError> {
    if let Some((line, language)) = language(text) {
        let known = GherkinEnv::new(language).is_ok();
        return if known { Vec::new() } else { vec![(line, 1, format!("unknown language `{language}`"))] };
    }
    let mut scan = Scan { place: Place::Top, doc_string: None, first_row: None, errors: Vec::new() };
    for (line, column, content) in lines(text) {
        scan.line((line, column), content);
        if scan.place == Place::Top && !scan.errors.is_empty() && !content.starts_with('@') {
            return scan.errors; // A text without a feature is one error.
        }
    }
    if let Some((quote, (line, column))) = scan.doc_string {
        scan.errors.push((line, column, format!("the doc string is not closed: expected `{quote}` below")));
    }
    if scan.place == Place::Top {
        scan.errors.push((1, 1, "expected `Feature:` and its name, found nothing".to_owned()));
    }
    scan.errors
}

/// The state after the lines so far.
struct Scan {
    place: Place,
    /// The quotes of an open doc string, and their position.
    doc_string: Option<(&'static str, (usize, usize))>,
    /// The number of cells in the first row of the current table.
    first_row: Option<usize>,
    errors: Vec<SyntaxError>,
}

impl Scan {
    fn line(&mut self, (line, column): (usize, usize), content: &str) {
        if let Some((quote, _)) = self.doc_string {
            if content.contains(quote) {
                self.doc_string = None;
            }
            return;
        }
        if content.is_empty() || content.starts_with('#') {
            return;
        }
        if content.starts_with('|') {
            let first = *self.first_row.get_or_insert(cells(content));
            self.errors.extend(ragged(first, cells(content)).map(|message| (line, column, message)));
            return;
        }
        self.first_row = None;
        if let Some(quote) = ["\"\"\"", "```"].into_iter().find(|quote| content.starts_with(quote)) {
            if self.place == Place::Steps && !content[quote.len()..].contains(quote) {
                self.doc_string = Some((quote, (line, column)));
            }
        } else if let Some(message) = self.plain_line(content) {
            self.errors.push((line, column, message));
        }
    }

    /// Returns the error of a line that belongs to no table and no doc string.
    fn plain_line(&mut self, content: &str) -> Option<String> {
        let starts = |words: &[&str]| words.iter().any(|word| content.starts_with(word));
        if content.starts_with('@') {
            let word = content.split_whitespace().find(|word| !word.starts_with('@'))?;
            return Some(format!("expected tags, each with `@`, found `{word}`"));
        }
        let expected = match self.place {
            Place::Top if starts(&["Feature:"]) => {
                self.place = Place::Description;
                return None;
            }
            Place::Top => "`Feature:` and its name first",
            _ if starts(HEADS) => {
                self.place = Place::Description;
                return None;
            }
            _ if starts(STEPS) => {
                self.place = Place::Steps;
                return None;
            }
            Place::Description => return None,
            Place::Steps if starts(&["Feature:"]) => "one feature in a file",
            Place::Steps => "a step (`Given`, `When`, `Then`, `And`, `But`) or `Scenario:`",
        };
        Some(format!("expected {expected}, found `{}`", truncate(content, 60)))
    }
}

/// Returns errors for rows of the table at a line that have more or fewer cells than its first row. `lines` are all of the
/// text.
pub(super) fn ragged_rows(lines: &[Line<'_>], line: usize) -> Vec<SyntaxError> {
    let rows = lines
        .iter()
        .copied()
        .skip(line.saturating_sub(1))
        .filter(|(_, _, content)| !content.is_empty() && !content.starts_with('#'))
        .take_while(|(_, _, content)| content.starts_with('|'));
    let mut first = None;
    rows.filter_map(|(line, column, content)| {
        let first = *first.get_or_insert(cells(content));
        ragged(first, cells(content)).map(|message| (line, column, message))
    })
    .collect()
}

fn ragged(expected: usize, found: usize) -> Option<String> {
    (expected != found).then(|| format!("expected {expected} cells as in the first row, found {found}"))
}

/// Returns the number of cells of a row: unescaped bars less one.
fn cells(row: &str) -> usize {
    let mut escaped = false;
    let bars = row.chars().filter(|&char| {
        let bar = char == '|' && !escaped;
        escaped = char == '\\' && !escaped;
        bar
    });
    bars.count().saturating_sub(1)
}

/// Returns the language that a comment at the top names, and its line.
fn language(text: &str) -> Option<(usize, &str)> {
    let comments = lines(text).take_while(|(_, _, content)| content.is_empty() || content.starts_with('#'));
    comments.into_iter().find_map(|(line, _, content)| {
        let rest = content.trim_start_matches('#').trim_start().strip_prefix("language")?;
        Some((line, rest.trim_start().strip_prefix(':')?.trim()))
    })
}

/// Returns each line. Counts characters, so collect the lines once for a text.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().enumerate().map(|(index, line)| {
        #[cfg(test)]
        tests::SCANNED.set(tests::SCANNED.get() + 1);
        let content = line.trim_start();
        let indent = line.chars().count() - content.chars().count();
        (index + 1, indent + 1, content.trim_end())
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The number of lines that this thread has looked at.
        pub(in crate::steps) static SCANNED: Cell<usize> = const { Cell::new(0) };
    }

    fn check(text: &str, expected: &str) {
        let found: Vec<String> =
            errors(text).iter().map(|(line, column, message)| format!("{line}:{column} {message}")).collect();
        assert_eq!(found.join("\n"), expected, "\n{text}");
    }

    #[test]
    fn reports_a_missing_feature_at_the_first_line() {
        check("", "1:1 expected `Feature:` and its name, found nothing");
        check("# a comment\n", "1:1 expected `Feature:` and its name, found nothing");
        check("\nname: x\n", "2:1 expected `Feature:` and its name first, found `name: x`");
        check("# language: xx\nFeature: f\n", "1:1 unknown language `xx`");
        check("# language: de\nFeature: f\n", "");
    }

    #[test]
    fn reports_each_misplaced_line() {
        let head = "@a b\nFeature: f\n  free text\n  Scenario: s\n    more of it\n    Given a\n";
        check(
            &format!("{head}    Whenn b\n    Given\n    \"\"\"\n    free\n    \"\"\"\nFeature: g\n"),
            "1:1 expected tags, each with `@`, found `b`\n\
             7:5 expected a step (`Given`, `When`, `Then`, `And`, `But`) or `Scenario:`, found `Whenn b`\n\
             8:5 expected a step (`Given`, `When`, `Then`, `And`, `But`) or `Scenario:`, found `Given`\n\
             12:1 expected one feature in a file, found `Feature: g`",
        );
    }

    #[test]
    fn reports_an_unclosed_doc_string_at_its_start() {
        check(
            "Feature: f\n  Scenario: s\n    Given a\n      \"\"\"\n      kind: x\n",
            "4:7 the doc string is not closed: expected `\"\"\"` below",
        );
    }
}
