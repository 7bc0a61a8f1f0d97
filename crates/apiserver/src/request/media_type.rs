//! Media types of bodies (`Content-Type`).

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The media type of a header in lower case, without parameters; `None` if the header is malformed
/// (`mime.ParseMediaType`). An empty header means JSON.
pub(crate) fn parse(header: &str) -> Option<Cow<'_, str>> {
    if header.is_empty() {
        return Some(Cow::Borrowed("application/json"));
    }
    let (name, parameters) = header.split_once(';').unwrap_or((header, ""));
    let name = name.trim();
    let (main, sub) = name.split_once('/').unwrap_or((name, "x"));
    (is_token(main) && is_token(sub) && are_parameters(parameters)).then(|| lower(name))
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Whether a text is a list of `name=value`, each name once. The last one may be empty.
fn are_parameters(text: &str) -> bool {
    let mut names = BTreeSet::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some((name, after)) = rest.split_once('=') else { return false };
        let Some(end) = value_end(after) else { return false };
        if !is_token(name.trim()) || !names.insert(name.trim().to_ascii_lowercase()) {
            return false;
        }
        rest = after[end..].trim_start();
        match rest.strip_prefix(';') {
            Some(next) => rest = next.trim(),
            None => return rest.is_empty(),
        }
    }
    true
}

/// The length of the value at the start of a text: a token, or a text in quotes.
fn value_end(text: &str) -> Option<usize> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|letter: char| !is_token_letter(letter)).unwrap_or(text.len());
        return (end > 0).then_some(end);
    };
    let mut is_escaped = false;
    for (at, letter) in quoted.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + 2),
            _ => {}
        }
    }
    None
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_letter)
}

fn is_token_letter(letter: char) -> bool {
    letter.is_ascii_graphic() && !"()<>@,;:\\\"/[]?=".contains(letter)
}

/// The media type of a patch: as the header has it, without parameters.
pub(crate) fn of_patch(header: &str) -> &str {
    header.split_once(';').map_or(header, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_headers_have_no_media_type() {
        for (header, found) in [
            ("", Some("application/json")),
            ("Application/JSON; charset=utf-8", Some("application/json")),
            ("application/json;", Some("application/json")),
            ("application/json; a=\"b;c\" ; d=e", Some("application/json")),
            ("x", Some("x")),
            ("application/json;x", None),
            ("application/json; a=b; a=c", None),
            ("application/json, text/plain", None),
            ("application/", None),
        ] {
            assert_eq!(parse(header).as_deref(), found, "{header}");
        }
        assert_eq!(of_patch("a/b; c=d"), "a/b");
    }
}
