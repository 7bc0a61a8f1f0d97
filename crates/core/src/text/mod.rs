//! Small text tools: durations, hex, columns, suggestions for misspelled names, error chains, visible control characters.
//!
//! `visible.rs` escapes what a terminal or a CI system must not see. `go_quote.rs` quotes as Go does.

pub mod go_float;
pub mod go_quote;
pub mod tabwriter;
mod visible;

pub use visible::{one_line, visible};

use jiff::{SignedDuration, Span, SpanRelativeTo};

/// Formats bytes as lower-case hex, as in digests.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    text.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
    text
}

/// Parses a duration in whole units, in the syntax of Prometheus and update insights: `90s`, `1h30m`, `2d`.
pub fn parse_units(word: &str) -> Option<SignedDuration> {
    let (mut total, mut rest) = (0_i64, word);
    while !rest.is_empty() {
        let unit = rest.find(|c: char| !c.is_ascii_digit())?;
        let seconds = match rest.as_bytes()[unit] {
            b's' => 1,
            b'm' => 60,
            b'h' => 3_600,
            b'd' => 86_400,
            b'w' => 7 * 86_400,
            b'y' => 365 * 86_400,
            _ => return None,
        };
        total = total.checked_add(rest[..unit].parse::<i64>().ok()?.checked_mul(seconds)?)?;
        rest = &rest[unit + 1..];
    }
    (!word.is_empty()).then(|| SignedDuration::from_secs(total))
}

/// Formats a number of things: `1 file`, `2 files`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Formats a number with commas between thousands: `250,000`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a span since the start of a run as `H:MM:SS`, e.g. `1:02:03`, without milliseconds.
pub fn clock_time(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Formats a span with units: `45s`, `10m`, `1h30m`, `2h`, `250ms`.
pub fn short_duration(span: SignedDuration) -> String {
    let millis = span.as_millis();
    if millis % 1000 != 0 {
        return format!("{millis}ms");
    }
    let seconds = span.as_secs();
    let parts = [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let text: Vec<String> =
        parts.iter().filter(|(n, _)| *n != 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text.concat() }
}

/// Formats a span as Go prints a `time.Duration`: `0s`, `250ms`, `1.5s`, `1m2.5s`, `2h0m0s`. Spans below a millisecond are
/// `0s`.
pub fn go_duration(span: SignedDuration) -> String {
    let millis = span.as_millis().max(0);
    if (1..1000).contains(&millis) {
        return format!("{millis}ms");
    }
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let fraction = format!("{}.{:03}", rest / 1000, rest % 1000);
    let seconds = fraction.trim_end_matches('0').trim_end_matches('.');
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// Parses a span such as `90s`, `10m`, `1h 30m`, `2 hours`, `250ms` or `2 days` of 24 hours each; `None` if
/// the text is not a span or the span is negative.
pub fn parse_duration(text: &str) -> Option<SignedDuration> {
    let span: Span = text.trim().parse().ok()?;
    let span = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    (!span.is_negative()).then_some(span)
}

/// Truncates `text` to `width` characters. A truncated text ends with `...`.
pub fn truncate(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(3)).collect();
    start + "..."
}

/// Pads rows into columns, two spaces apart. The last cell of a row is not padded. Line breaks in cells are written as `\n`.
pub fn columns(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter(|row| column + 1 < row.len())
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            out.push_str(cell);
            if column + 1 < row.len() {
                let pad = widths[column].saturating_sub(cell.chars().count()) + 2;
                out.extend(std::iter::repeat_n(' ', pad));
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

/// The longest texts that are compared, in bytes: the time grows with the square of the length.
const COMPARED_MAX: usize = 256;

/// Returns the similarity of two texts, from 0 to 1, without regard to case. Long texts are not similar: nobody misspells
/// them.
fn similarity(one: &str, other: &str) -> f64 {
    if one.len().max(other.len()) > COMPARED_MAX {
        return 0.0;
    }
    strsim::jaro_winkler(&one.to_lowercase(), &other.to_lowercase())
}

/// The candidate most similar to `word`, if any is similar enough; the earlier one wins a tie.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let score = similarity(word, candidate);
        if score > best.map_or(0.76, |(found, _)| found) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The `count` candidates most similar to `word`, the most similar first; the earlier one wins a tie.
pub fn nearest_few<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let mut scored: Vec<(f64, &str)> =
        candidates.into_iter().map(|candidate| (similarity(word, candidate), candidate)).collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    scored.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

/// Returns `; did you mean \`x\`?` for the most similar candidate, or an empty text.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map(|found| format!("; did you mean `{found}`?")).unwrap_or_default()
}

/// The message of an error, followed by those messages of its sources that it does not contain yet.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_printed_as_go_prints_them() {
        let cases = [
            (0, "0s"),
            (250, "250ms"),
            (1500, "1.5s"),
            (62_050, "1m2.05s"),
            (60_000, "1m0s"),
            (7_200_000, "2h0m0s"),
        ];
        for (millis, printed) in cases {
            assert_eq!(go_duration(SignedDuration::from_millis(millis)), printed);
        }
    }

    #[test]
    fn durations_are_parsed_and_printed_with_units() {
        for (text, printed) in [
            ("90s", "1m30s"),
            ("1h 30m", "1h30m"),
            ("2 hours", "2h"),
            ("250ms", "250ms"),
            ("0s", "0s"),
            ("2 days", "48h"),
        ] {
            assert_eq!(short_duration(parse_duration(text).unwrap()), printed, "{text}");
        }
        assert_eq!(parse_duration("soon"), None);
        assert_eq!(parse_duration("-5m"), None);
        assert_eq!(parse_duration("1 month"), None);
        assert_eq!(parse_duration("99999999999999999999h"), None);
        assert_eq!(clock_time(SignedDuration::from_secs(3723)), "1:02:03");
    }

    #[test]
    fn finds_the_most_similar_name_and_no_dissimilar_one() {
        assert_eq!(nearest("updat", ["advance", "update", "expect"]), Some("update"));
        assert_eq!(nearest("zzz", ["advance", "update"]), None);
        let long = "a".repeat(1_000_000);
        assert_eq!(nearest(&long, [long.as_str()]), None, "long texts are not compared");
        assert_eq!(nearest_few(&long, ["b", long.as_str()], 1), ["b"]);
    }

    #[test]
    fn columns_are_aligned_without_trailing_blanks() {
        let rows =
            [vec!["a".into(), "bb".into()], vec!["aaa".into(), String::new()], vec!["c".into(), "d".into()]];
        assert_eq!(columns(&rows), "a    bb\naaa\nc    d\n");
        assert_eq!(columns(&[vec!["a\nb".into(), "c".into()]]), "a\\nb  c\n");
    }
}
