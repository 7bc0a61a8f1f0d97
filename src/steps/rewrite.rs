//! `--update`: replaces an expected text in a feature: a doc string, or a text in quotes.

use crate::plan::{TextDifference, TextPlace};
use crate::scenario::Rewritten;

/// The marks around doc strings.
const MARKS: [&str; 2] = ["\"\"\"", "```"];

/// The lines that end a step, other than the next step.
const ENDS: [&str; 6] = ["Scenario", "Examples", "Example", "Background", "Rule", "Feature"];

/// Replaces the expected text of the step on this line.
///
/// # Errors
/// Why the text cannot be replaced in this file.
pub fn with_text(document: &str, line: usize, difference: &TextDifference) -> Result<Rewritten, String> {
    let TextDifference { place, wanted, seen } = difference;
    let lines: Vec<&str> = document.split_inclusive('\n').collect();
    let Some(step) = lines.get(line.wrapping_sub(1)) else { return Err("the step has no line".to_owned()) };
    let body = doc_string(&lines, line);
    if let Some((first, end, indent)) = body
        && place.ignores_end()
        && content(&lines[first..end], indent).trim_end() == wanted.trim_end()
    {
        let mark = MARKS.into_iter().find(|mark| lines[first - 1].trim_start().starts_with(mark));
        if mark.is_some_and(|mark| seen.contains(mark)) {
            return Err("the new text has the mark of the doc string".to_owned());
        }
        let ending = if step.ends_with("\r\n") { "\r\n" } else { "\n" };
        let blanks = " ".repeat(indent);
        let written = seen.trim_end().split('\n').map(|line| match line {
            "" => ending.to_owned(),
            line => format!("{blanks}{line}{ending}"),
        });
        let text = lines[..first].concat() + &written.collect::<String>() + &lines[end..].concat();
        return Ok(Rewritten { text, line: first + 1 });
    }
    let end = body.map_or(line, |(_, end, _)| end);
    let quoted = format!("\"{wanted}\"");
    let found: Vec<usize> = (line - 1..end).filter(|at| lines[*at].contains(&quoted)).collect();
    let [at] = found.as_slice() else {
        return Err(match found.len() {
            0 if step.contains('<')
                || body.is_some_and(|(first, end, _)| has_placeholder(&lines[first..end])) =>
            {
                "the text has a placeholder of the Scenario Outline".to_owned()
            }
            0 => format!("the step has no {place} with this text"),
            count => format!("the step has this text {count} times"),
        });
    };
    if lines[*at].matches(&quoted).count() > 1 {
        return Err("the step has this text several times".to_owned());
    }
    if seen.contains(['\n', '"']) {
        let hint = match place {
            TextPlace::Prints | TextPlace::Warns => {
                format!(": write `it {}:` with a doc string", place.name())
            }
            _ => ": write a regular expression".to_owned(),
        };
        return Err(format!(
            "the new text has quotes or line breaks, which no text in quotes can have{hint}"
        ));
    }
    if seen.starts_with('/') {
        return Err("the new text begins with `/`, as a regular expression does: write one".to_owned());
    }
    let rewritten = lines[*at].replacen(&quoted, &format!("\"{seen}\""), 1);
    Ok(Rewritten { text: lines[..*at].concat() + &rewritten + &lines[at + 1..].concat(), line: at + 1 })
}

/// Returns the first line of the content of the doc string below a step, the line of its end, both from 0, and its indentation.
fn doc_string(lines: &[&str], step: usize) -> Option<(usize, usize, usize)> {
    let is_mark = |line: &str| MARKS.into_iter().find(|mark| line.trim_start().starts_with(mark));
    let begin = (step..lines.len())
        .take_while(|at| !ends_step(lines[*at]))
        .find(|at| is_mark(lines[*at]).is_some())?;
    let mark = is_mark(lines[begin])?;
    let end = (begin + 1..lines.len()).find(|at| lines[*at].trim() == mark)?;
    let indent = lines[begin].len() - lines[begin].trim_start().len();
    Some((begin + 1, end, indent))
}

fn ends_step(line: &str) -> bool {
    let line = line.trim_start();
    let keywords = ["Given ", "When ", "Then ", "And ", "But ", "* ", "|", "@"];
    keywords.iter().chain(&ENDS).any(|keyword| line.starts_with(keyword))
}

/// The text of a doc string without its indentation.
fn content(lines: &[&str], indent: usize) -> String {
    let without = |line: &&str| {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        line[blanks.min(indent)..].replace("\r\n", "\n")
    };
    lines.iter().map(without).collect()
}

fn has_placeholder(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.contains('<') && line.contains('>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces `old` by `seen` in the step on line 3.
    fn replaced(steps: &str, seen: &str) -> Result<String, String> {
        let head = "Feature: f\n  Scenario: s\n";
        let difference =
            TextDifference { place: TextPlace::Prints, wanted: "old".to_owned(), seen: seen.to_owned() };
        with_text(&format!("{head}{steps}"), 3, &difference)
            .map(|found| found.text.trim_start_matches(head).to_owned())
    }

    #[test]
    fn doc_strings_and_quoted_texts_are_replaced() {
        let steps = "    Then it prints:\n      \"\"\"\n      old\n      \"\"\"\n    # c\n    And it prints \"old\"\n";
        assert_eq!(replaced(steps, "a\n\n  b").unwrap(), steps.replace("      old", "      a\n\n        b"));
        assert_eq!(replaced("    Then it prints \"old\"\n", "new").unwrap(), "    Then it prints \"new\"\n");
    }

    #[test]
    fn what_cannot_be_replaced_is_refused_with_the_reason() {
        let why = |steps: &str, seen: &str| replaced(steps, seen).unwrap_err();
        assert!(why("    Then it prints \"old\"\n", "a\nb").contains("write `it prints:` with a doc string"));
        assert!(why("    Then it prints \"<text>\"\n", "new").contains("Outline"));
        assert!(
            why("    Then it prints:\n      \"\"\"\n      old\n      \"\"\"\n", "a \"\"\" b")
                .contains("mark")
        );
        assert!(why("    When a\n    Then it prints \"old\"\n", "new").contains("no `prints`"));
    }
}
