//! Splits text into tokens.

use jiff::SignedDuration;

use super::ParseError;

/// A token, without its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(f64),
    Text(String),
    /// A duration, such as `1h30m`.
    Span(SignedDuration),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
}

/// Longer signs first.
const SIGNS: &[&str] = &[
    "=~", "!~", "!=", "==", ">=", "<=", "=", ">", "<", "+", "-", "*", "/", "%", "^", "@", "(", ")", "{", "}",
    "[", "]", ",", ":",
];

/// Returns the tokens with their positions, in bytes from the start of the text.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ParseError> {
    let mut rest = text;
    let mut found = Vec::new();
    // A colon is a part of names, but separates range and step in brackets.
    let mut in_brackets = false;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(found) };
        let at = text.len() - rest.len();
        let failed = |message: String| ParseError::new(message, at);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':' && !in_brackets;
        let (token, length) = match first {
            '#' => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '"' | '\'' | '`' => quoted(rest, first).map_err(failed)?,
            '0'..='9' | '.' => number(rest).map_err(failed)?,
            _ if is_name(first) => {
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                (Token::Name(rest[..end].to_owned()), end)
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let sign = sign.ok_or_else(|| failed(format!("unexpected character: {first:?}")))?;
                (Token::Sign(sign), sign.len())
            }
        };
        match token {
            Token::Sign("[") => in_brackets = true,
            Token::Sign("]") => in_brackets = false,
            _ => {}
        }
        found.push((token, at));
        rest = &rest[length..];
    }
}

/// Reads a number, or a duration if a unit follows.
fn number(text: &str) -> Result<(Token, usize), String> {
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let mut before = ' ';
    let end = text.find(|c: char| {
        let is_exponent = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !is_hex;
        before = c;
        !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_') && !is_exponent
    });
    let end = end.unwrap_or(text.len());
    let word = &text[..end];
    if is_hex && let Ok(number) = u32::from_str_radix(&word[2..], 16) {
        return Ok((Token::Number(f64::from(number)), end));
    }
    if let Ok(number) = word.replace('_', "").parse() {
        return Ok((Token::Number(number), end));
    }
    match duration(word) {
        Some(span) => Ok((Token::Span(span), end)),
        None => Err(format!("bad number or duration syntax: {word:?}")),
    }
}

/// The units of durations in milliseconds, the largest first. `ms` is before `m`, which is its prefix.
const UNITS: &[(&str, i64)] = &[
    ("y", 365 * 86_400_000),
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("ms", 1),
    ("m", 60_000),
    ("s", 1_000),
];

/// Parses a duration of Prometheus: whole numbers with units, from the largest unit to the smallest.
pub fn duration(word: &str) -> Option<SignedDuration> {
    let (mut total, mut rest, mut smallest) = (0_i64, word, i64::MAX);
    while !rest.is_empty() {
        let (count, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let (unit, size) = UNITS.iter().find(|(unit, _)| behind.starts_with(unit))?;
        if *size >= smallest {
            return None;
        }
        smallest = *size;
        total = total.checked_add(count.parse::<i64>().ok()?.checked_mul(*size)?)?;
        rest = &behind[unit.len()..];
    }
    Some(SignedDuration::from_millis(total))
}

fn quoted(text: &str, quote: char) -> Result<(Token, usize), String> {
    let mut content = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if letter == quote => return Ok((Token::Text(content), at + 1)),
            '\\' if quote != '`' => {
                let escaped = letters.next().map(|(_, letter)| letter);
                let escaped = escaped.and_then(|escaped| unescape(escaped, &mut letters));
                content.push(escaped.ok_or("unknown escape sequence")?);
            }
            _ => content.push(letter),
        }
    }
    Err("unterminated quoted string".to_owned())
}

/// Returns the character of an escape sequence: those of Go's strings, but for octal numbers.
fn unescape(escaped: char, letters: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    let digits = match escaped {
        'a' => return Some('\x07'),
        'b' => return Some('\x08'),
        'f' => return Some('\x0c'),
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        'v' => return Some('\x0b'),
        '\\' | '"' | '\'' => return Some(escaped),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let code: String = letters.take(digits).map(|(_, letter)| letter).collect();
    char::from_u32(u32::from_str_radix(&code, 16).ok().filter(|_| code.len() == digits)?)
}
