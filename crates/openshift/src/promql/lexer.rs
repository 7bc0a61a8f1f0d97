//! Splits text into tokens.

use jiff::SignedDuration;
use windtunnel_core::text::parse_units;

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
    "=~", "!~", "!=", "==", ">=", "<=", "=", ">", "<", "+", "-", "*", "/", "%", "(", ")", "{", "}", "[", "]",
    ",",
];

/// Returns the tokens with their positions, in bytes from the start of the text.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ParseError> {
    let mut rest = text;
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(found) };
        let at = text.len() - rest.len();
        let failed = |message: String| ParseError::new(message, at);
        let (token, length) = match first {
            '#' => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '"' | '\'' | '`' => quoted(rest, first).map_err(failed)?,
            '0'..='9' | '.' => number(rest).map_err(failed)?,
            _ if first.is_ascii_alphabetic() || first == '_' || first == ':' => {
                let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
                let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
                (Token::Name(rest[..end].to_owned()), end)
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let sign = sign.ok_or_else(|| failed(format!("unexpected character: {first:?}")))?;
                (Token::Sign(sign), sign.len())
            }
        };
        found.push((token, at));
        rest = &rest[length..];
    }
}

/// Reads a number, or a duration if a unit follows.
fn number(text: &str) -> Result<(Token, usize), String> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
    let word = &text[..end];
    if let Ok(number) = word.parse() {
        return Ok((Token::Number(number), end));
    }
    match parse_units(word) {
        Some(span) => Ok((Token::Span(span), end)),
        None => Err(format!("bad number or duration syntax: {word:?}")),
    }
}

fn quoted(text: &str, quote: char) -> Result<(Token, usize), String> {
    let mut content = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if letter == quote => return Ok((Token::Text(content), at + 1)),
            '\\' if quote != '`' => match letters.next() {
                Some((_, 'n')) => content.push('\n'),
                Some((_, 't')) => content.push('\t'),
                Some((_, escaped @ ('\\' | '"' | '\''))) => content.push(escaped),
                _ => return Err("unknown escape sequence".to_owned()),
            },
            _ => content.push(letter),
        }
    }
    Err("unterminated quoted string".to_owned())
}
