//! Texts that match a regular expression.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::dice::Dice;

/// How often parts repeat that may repeat without limit.
const REPEATS: [u32; 7] = [0, 1, 2, 3, 8, 40, 130];
/// The most characters of a text.
const LENGTH_MAX: usize = 70_000;

/// The most repetitions beyond those that a pattern requires.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effort {
    /// The same for all parts.
    Fixed(u32),
    /// Any number up to this one, drawn for each text.
    Upto(u32),
}

impl Effort {
    /// The effort of an attempt for a text of at most `length` characters.
    pub(crate) fn of(attempt: usize, length: Option<u64>) -> Self {
        let length = length.and_then(|length| u32::try_from(length).ok()).filter(|length| *length <= 2_000);
        match (attempt % 2, length) {
            (1, Some(length)) => Self::Upto(length),
            _ => Self::Fixed(REPEATS[attempt / 2 % REPEATS.len()]),
        }
    }
}

/// A parsed pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    hir: Hir,
    regex: regex::Regex,
}

impl Pattern {
    /// Parses a pattern. `None` if it is not valid in both syntaxes, that of Go and that of Rust.
    pub(crate) fn parse(pattern: &str) -> Option<Self> {
        let hir = regex_syntax::parse(pattern).ok()?;
        Some(Self { hir, regex: regex::Regex::new(pattern).ok()? })
    }

    /// Whether a text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// A text that mostly matches: anchors and boundaries are ignored.
    pub(crate) fn sample(&self, dice: &mut Dice, effort: Effort) -> String {
        let mut text = String::new();
        let extra = match effort {
            Effort::Fixed(extra) => extra,
            Effort::Upto(most) => {
                u32::try_from(dice.any_index(usize::try_from(most).unwrap_or(0) + 1)).unwrap_or(0)
            }
        };
        sample(&self.hir, dice, extra, &mut text);
        text
    }
}

/// Appends a text that matches the expression.
fn sample(hir: &Hir, dice: &mut Dice, extra: u32, text: &mut String) {
    if text.len() > LENGTH_MAX {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(letter(class, dice)),
        HirKind::Capture(capture) => sample(&capture.sub, dice, extra, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| sample(part, dice, extra, text)),
        HirKind::Alternation(parts) => {
            let index = dice.any_index(parts.len());
            sample(&parts[index], dice, extra, text);
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(extra));
            let most = most.min(repetition.min.saturating_add(extra));
            let span = usize::try_from(most - repetition.min).unwrap_or(0) + 1;
            // The longest are as interesting as all others together.
            let more = if dice.any_index(2) == 0 { span - 1 } else { dice.any_index(span) };
            let count = repetition.min.saturating_add(u32::try_from(more).unwrap_or(0));
            for _ in 0..count {
                sample(&repetition.sub, dice, extra, text);
            }
        }
    }
}

/// A letter of a class; a printable one of ASCII if there is one.
fn letter(class: &Class, dice: &mut Dice) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
    };
    let printable: Vec<(u32, u32)> = ranges
        .iter()
        .map(|(start, end)| ((*start).max(0x20), (*end).min(0x7e)))
        .filter(|(start, end)| start <= end)
        .collect();
    let ranges = if printable.is_empty() { ranges } else { printable };
    // Letters and digits first, because they fit more rules.
    let plain = ranges
        .iter()
        .position(|(start, end)| char::from_u32(*start).is_some_and(char::is_alphanumeric) && start <= end);
    let index = match plain {
        Some(index) if dice.any_index(4) > 0 => index,
        _ => dice.any_index(ranges.len()),
    };
    let (start, end) = *ranges.get(index)?;
    let span = usize::try_from(end - start).unwrap_or(0) + 1;
    char::from_u32(start + u32::try_from(dice.any_index(span)).unwrap_or(0))
}
