//! Text forms in CEL: names of properties as identifiers, bytes as Base64.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Words that cannot be names of variables.
pub(crate) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];
/// Words that cannot be identifiers, besides the reserved words of the language.
const LITERALS: [&str; 4] = ["true", "false", "null", "in"];
/// Escape sequences and the text that each one represents.
const ESCAPES: [(&str, &str); 4] = [("underscores", "__"), ("dot", "."), ("dash", "-"), ("slash", "/")];

/// Whether a word cannot be an identifier.
pub(crate) fn is_reserved(word: &str) -> bool {
    LITERALS.contains(&word) || RESERVED.contains(&word)
}

/// Escapes the name of a property as an identifier; `None` if it has none.
pub(crate) fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if is_reserved(name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.chars().all(plain) && !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let mut out = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        match ESCAPES.iter().find(|(_, text)| rest.starts_with(text)) {
            Some((word, text)) => {
                out.push_str(&format!("__{word}__"));
                rest = &rest[text.len()..];
            }
            None if plain(first) => {
                out.push(first);
                rest = &rest[1..];
            }
            None => return None,
        }
    }
    Some(Cow::Owned(out))
}

/// Returns the property that an identifier refers to; `None` if its escaping is invalid.
pub(crate) fn unescape(identifier: &str) -> Option<Cow<'_, str>> {
    if !identifier.contains("__") {
        return Some(Cow::Borrowed(identifier));
    }
    let mut out = String::new();
    let mut rest = identifier;
    while let Some(start) = rest.find("__") {
        let after = &rest[start + 2..];
        let end = after.find('_').filter(|end| *end > 0 && after[*end..].starts_with("__"));
        let Some(end) = end else {
            out.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        };
        let word = &after[..end];
        out.push_str(&rest[..start]);
        match ESCAPES.iter().find(|(known, _)| *known == word) {
            Some((_, text)) => out.push_str(text),
            None if is_reserved(word) && identifier.len() == word.len() + 4 => out.push_str(word),
            None => return None,
        }
        rest = &after[end + 2..];
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

/// Decodes a text of format `byte`.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Encodes bytes as a text of format `byte`.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_unescapes_property_names() {
        for (name, identifier) in [
            ("plain_name", "plain_name"),
            ("a-b", "a__dash__b"),
            ("x.y/z", "x__dot__y__slash__z"),
            ("namespace", "__namespace__"),
            ("a__b", "a__underscores__b"),
            ("a-_b", "a__dash___b"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(identifier));
            assert_eq!(unescape(identifier).as_deref(), Some(name));
        }
        assert_eq!((escape("1a"), escape("a b"), unescape("a__no__b")), (None, None, None));
    }
}
