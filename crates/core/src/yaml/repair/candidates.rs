//! Changes of a line that may make a text valid YAML, each with its explanation.

use crate::yaml::YamlError;

/// The number of lines before an error in which its cause may be.
const LINES_BEFORE: usize = 3;

/// A change of one line, or of the indentation of the lines below it as well.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The line, from 1.
    pub(super) line: usize,
    /// The column, from 1.
    column: usize,
    message: String,
    change: Change,
}

#[derive(Debug)]
enum Change {
    /// The line has this text instead.
    Text(String),
    /// The line and those below it that are indented as much or more get this indentation instead.
    Indentation(usize),
}

impl Candidate {
    /// Returns the lines with the change.
    pub(super) fn apply(&self, lines: &[String]) -> Vec<String> {
        let (mut lines, index) = (lines.to_vec(), self.line - 1);
        match &self.change {
            Change::Text(text) => lines[index].clone_from(text),
            Change::Indentation(to) => {
                let from = indentation(&lines[index]);
                let is_below = |line: &&mut String| line.trim().is_empty() || indentation(line) >= from;
                for line in lines[index..].iter_mut().take_while(is_below) {
                    if !line.trim().is_empty() {
                        *line = " ".repeat(indentation(line) - from + to) + line.trim_start();
                    }
                }
            }
        }
        lines
    }

    /// Returns the error that the change explains.
    pub(super) fn error(&self) -> YamlError {
        YamlError {
            line: self.line,
            column: self.column,
            message: self.message.clone(),
            is_limit: false,
            is_size: false,
        }
    }
}

/// The longest line to change, in bytes. There may be a change for each key of a line, and each copies the line.
const LINE_MAX: usize = 4096;

/// Returns changes of a line of a text.
type Guess = fn(&[String], usize) -> Vec<Candidate>;

/// Returns changes that may resolve an error, the most likely first.
pub(super) fn candidates(lines: &[String], error: &YamlError) -> Vec<Candidate> {
    let last = error.line.min(lines.len());
    let near = (last.saturating_sub(LINES_BEFORE)..last).rev();
    let may_change = |line: &String| !line.trim().is_empty() && line.len() <= LINE_MAX;
    let near: Vec<usize> = near.filter(|index| may_change(&lines[*index])).collect();
    let kinds: [Guess; 7] =
        [tab, space_after_dash, open_quote, open_bracket, unquoted, unquoted_key, missing_colon];
    let in_line = near.iter().flat_map(|index| kinds.iter().flat_map(move |kind| kind(lines, *index)));
    // Almost every line can be indented differently, so that is the last guess.
    let indented = near.iter().flat_map(|index| misplaced(lines, *index));
    in_line.chain(indented).collect()
}

fn candidate(index: usize, column: usize, message: String, text: String) -> Candidate {
    Candidate { line: index + 1, column, message, change: Change::Text(text) }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Tabs at the start of a line.
fn tab(lines: &[String], index: usize) -> Vec<Candidate> {
    let line = &lines[index];
    let body = line.trim_start_matches([' ', '\t']);
    let start = &line[..line.len() - body.len()];
    if !start.contains('\t') {
        return Vec::new();
    }
    let message = format!("line {} is indented with a tab: use spaces", index + 1);
    let change = |width: usize| {
        let text = start.replace('\t', &" ".repeat(width)) + body;
        candidate(index, 1, message.clone(), text)
    };
    [2, 4, 0].map(change).into()
}

/// `-key: value` instead of `- key: value`.
fn space_after_dash(lines: &[String], index: usize) -> Vec<Candidate> {
    let line = &lines[index];
    let at = indentation(line);
    let Some(item) = line[at..].strip_prefix('-').filter(|item| item.starts_with(char::is_alphabetic)) else {
        return Vec::new();
    };
    let message = format!("an item needs a space after `-`: write `- {item}`");
    vec![candidate(index, at + 1, message, format!("{}- {item}", &line[..at]))]
}

/// A quotation mark without its end.
fn open_quote(lines: &[String], index: usize) -> Vec<Candidate> {
    let line = &lines[index];
    let open = |mark: char| {
        let is_odd = line.matches(mark).count() % 2 == 1;
        let at = line.rfind(mark).filter(|_| is_odd)?;
        let column = line[..at].chars().count() + 1;
        let message = format!("the `{mark}` has no end: add `{mark}` at the end of line {}", index + 1);
        Some(candidate(index, column, message, format!("{line}{mark}")))
    };
    ['"', '\''].into_iter().filter_map(open).collect()
}

/// Brackets without their ends.
fn open_bracket(lines: &[String], index: usize) -> Vec<Candidate> {
    let line = &lines[index];
    let mut open: Vec<(usize, char)> = Vec::new();
    for (column, letter) in line.chars().enumerate() {
        match letter {
            '{' => open.push((column + 1, '}')),
            '[' => open.push((column + 1, ']')),
            '}' | ']' => {
                open.pop();
            }
            _ => (),
        }
    }
    let Some((column, end)) = open.first().copied() else { return Vec::new() };
    let ends: String = open.iter().rev().map(|(_, end)| *end).collect();
    let start = if end == '}' { '{' } else { '[' };
    let message = format!("the `{start}` has no end: add `{ends}` at the end of line {}", index + 1);
    vec![candidate(index, column, message, format!("{line}{ends}"))]
}

/// A plain text with characters that have a meaning in YAML, as a value of a block or in brackets.
fn unquoted(lines: &[String], index: usize) -> Vec<Candidate> {
    let line = &lines[index];
    let starts = line.match_indices(": ").map(|(at, _)| at + 2);
    starts.filter_map(|start| unquoted_from(line, index, start)).collect()
}

/// Returns the change that quotes the value from this byte on.
fn unquoted_from(line: &str, index: usize, start: usize) -> Option<Candidate> {
    let (before, rest) = line.split_at(start);
    let is_in_brackets = before.matches(['{', '[']).count() > before.matches(['}', ']']).count();
    let end = if is_in_brackets { rest.find([',', '}', ']']).unwrap_or(rest.len()) } else { rest.len() };
    let value = rest[..end].trim_end();
    let first = value.chars().next()?;
    let why = match first {
        '"' | '\'' | '{' | '[' | '|' | '>' => return None,
        '@' | '`' | '%' | '*' | '&' | '!' => format!("a text cannot begin with `{first}`"),
        _ if value.contains(": ") => "`: ` within a text begins a new key".to_owned(),
        _ => return None,
    };
    let key = before.trim_end_matches(": ").rsplit(['{', ',', '[', ' ']).next().unwrap_or_default();
    let quoted = format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
    let message = format!("{why}; quote the text: `{key}: {quoted}`");
    let column = before.chars().count() + 1;
    Some(candidate(index, column, message, format!("{before}{quoted}{}", &rest[value.len()..])))
}

/// A plain key with square brackets in a map in braces, such as `{a[0].b: c}`.
fn unquoted_key(lines: &[String], index: usize) -> Vec<Candidate> {
    let line = &lines[index];
    let ends = line.match_indices(": ").map(|(at, _)| at);
    let keys = ends.filter_map(|end| {
        let start = line[..end].rfind(['{', ',', ' '])? + 1;
        let key = &line[start..end];
        let is_path =
            key.contains('[') && key.contains(']') && !key.starts_with('[') && !key.contains(['"', '\'']);
        let message = format!("`[` within a key begins a list; quote the key: `\"{key}\":`");
        let text = format!("{}\"{key}\"{}", &line[..start], &line[end..]);
        is_path.then(|| (line[..start].chars().count() + 1, message, text))
    });
    keys.map(|(column, message, text)| candidate(index, column, message, text)).collect()
}

/// `key value` instead of `key: value`.
fn missing_colon(lines: &[String], index: usize) -> Vec<Candidate> {
    let line = &lines[index];
    let at = line.len() - line.trim_start_matches([' ', '-']).len();
    let body = &line[at..];
    let Some((key, value)) = body.split_once(' ').filter(|_| !body.contains(": ") && !body.ends_with(':'))
    else {
        return Vec::new();
    };
    let is_key = key.chars().all(|letter| letter.is_alphanumeric() || letter == '-') && !key.is_empty();
    let message = format!("`{key}` has no `:`: write `{key}: {value}`");
    let text = format!("{}{key}: {value}", &line[..at]);
    if is_key { vec![candidate(index, at + 1, message, text)] } else { Vec::new() }
}

/// A line that is indented more or less than its siblings above.
fn misplaced(lines: &[String], index: usize) -> Vec<Candidate> {
    let own = indentation(&lines[index]);
    let mut siblings: Vec<(usize, usize)> = Vec::new();
    for (number, line) in lines[..index].iter().enumerate().rev().filter(|(_, line)| !line.trim().is_empty())
    {
        // The keys of an item are indented as the text after its dash.
        let inner = line.trim_start_matches([' ', '-']);
        let levels = [indentation(line), line.len() - inner.len()];
        for level in levels.into_iter().filter(|level| *level != own) {
            if siblings.iter().all(|(known, _)| *known != level) {
                siblings.push((level, number + 1));
            }
        }
    }
    siblings.sort_by_key(|(level, number)| (level.abs_diff(own), usize::MAX - number));
    let change = |(level, like): (usize, usize)| {
        let how = if own < level { "less" } else { "more" };
        let line = index + 1;
        let message = format!(
            "line {line} is indented {how} than its siblings: indent it by {level} spaces, like line {like}"
        );
        Candidate { line, column: own + 1, message, change: Change::Indentation(level) }
    };
    siblings.into_iter().take(3).map(change).collect()
}
