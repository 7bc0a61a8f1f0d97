//! Colours for people at a terminal. A pipe, `NO_COLOR` and `TERM=dumb` get plain text.

use std::borrow::Cow;

#[cfg(feature = "progress")]
use console::Style;

/// Returns a text for standard output with the colours of results and timelines, or unchanged if standard
/// output takes none.
#[cfg(feature = "progress")]
pub(in crate::cli) fn paint(text: &str) -> Cow<'_, str> {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_plain || !console::colors_enabled() {
        return Cow::Borrowed(text);
    }
    text.split_inclusive('\n').map(paint_line).collect::<String>().into()
}

/// Returns the text unchanged: without the feature `progress`, terminals are not detected.
#[cfg(not(feature = "progress"))]
pub(in crate::cli) fn paint(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// Gives text a style.
#[cfg(feature = "progress")]
type Paint = fn(Style) -> Style;

/// The words at the start of a line, or after the time of a timeline, and their styles; `true` paints the
/// whole line.
#[cfg(feature = "progress")]
const STARTS: &[(&str, Paint, bool)] = &[
    ("PASS ", Style::green, false),
    ("FAIL ", Style::red, false),
    ("ERROR ", Style::red, false),
    ("FLAKE ", Style::yellow, false),
    ("SKIP ", Style::yellow, false),
    ("error: ", Style::red, false),
    ("warning: ", Style::yellow, false),
    ("Failures:", Style::bold, true),
    ("FAILED ", Style::red, true),
    ("ok ", Style::green, false),
    ("> ", Style::bold, true),
    ("! ", Style::yellow, true),
];

/// States in a timeline that need attention.
#[cfg(feature = "progress")]
const BAD: &[&str] = &["Degraded=True", "Failing=True", "Available=False", "ReleaseAccepted=False"];

#[cfg(feature = "progress")]
fn paint_line(line: &str) -> String {
    let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    let time = time_length(body);
    let (time, rest) = body.split_at(time);
    let time = if time.is_empty() { String::new() } else { styled(Style::dim, time) };
    let start = STARTS.iter().find(|(word, ..)| rest.starts_with(word));
    let rest = match start {
        Some((_, style, true)) => styled(*style, rest),
        Some((word, style, false)) => styled(*style, word) + &rest[word.len()..],
        None => BAD.iter().fold(rest.to_owned(), |text, word| text.replace(word, &styled(Style::red, word))),
    };
    time + &rest + end
}

/// Returns the length of the time at the start of a timeline's row, with its blanks.
#[cfg(feature = "progress")]
fn time_length(line: &str) -> usize {
    let trimmed = line.trim_start();
    let digits = trimmed.find(|letter: char| !letter.is_ascii_digit() && letter != ':').unwrap_or(0);
    let time = &trimmed[..digits];
    let is_time = time.split(':').count() == 3 && trimmed[digits..].starts_with("  ");
    if is_time { line.len() - trimmed.len() + digits + 2 } else { 0 }
}

#[cfg(feature = "progress")]
fn styled(style: Paint, text: &str) -> String {
    style(Style::new().force_styling(true)).apply_to(text).to_string()
}

#[cfg(all(test, feature = "progress"))]
mod tests {
    use super::*;

    #[test]
    fn results_and_rows_of_timelines_have_colours() {
        for (line, painted) in [
            ("PASS  calm\n", "\u{1b}[32mPASS \u{1b}[0m calm\n"),
            ("0:00:03  ok update\n", "\u{1b}[2m0:00:03  \u{1b}[0m\u{1b}[32mok \u{1b}[0mupdate\n"),
            (
                "  1:00:03  ClusterOperator/etcd  Degraded=True X",
                "\u{1b}[2m  1:00:03  \u{1b}[0mClusterOperator/etcd  \u{1b}[31mDegraded=True\u{1b}[0m X",
            ),
            ("a.yaml: name\n", "a.yaml: name\n"),
            ("12 ok\n", "12 ok\n"),
            ("", ""),
        ] {
            assert_eq!(paint_line(line), painted);
        }
    }
}
