//! The syntax of field selectors: terms of a field, an operator and an escaped value (`k8s.io/apimachinery/pkg/fields`).

/// A term of a field selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) field: String,
    pub(super) value: String,
    pub(super) equal: bool,
}

/// Parses a field selector of any kind. Terms are sorted; a term without a field and a value means nothing.
///
/// # Errors
/// The server's message.
pub(super) fn parse(text: &str) -> Result<Vec<Term>, String> {
    let mut parts = split(text);
    parts.sort_unstable();
    let mut terms = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let (field, value, equal) =
            operands(part).ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
        let value = unescaped(value)?;
        if !field.is_empty() || !value.is_empty() {
            terms.push(Term { field: field.to_owned(), value, equal });
        }
    }
    Ok(terms)
}

/// Splits a selector at commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut is_escaped) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Splits a term at its first operator.
fn operands(term: &str) -> Option<(&str, &str, bool)> {
    term.char_indices().find_map(|(at, _)| {
        let (field, rest) = term.split_at(at);
        let operators = [("!=", false), ("==", true), ("=", true)];
        operators.into_iter().find_map(|(operator, equal)| Some((field, rest.strip_prefix(operator)?, equal)))
    })
}

/// A value without its escapes.
fn unescaped(text: &str) -> Result<String, String> {
    let invalid = |sequence: String| format!("invalid field selector: invalid escape sequence: {sequence}");
    let mut value = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => value.push(escaped),
                Some(other) => return Err(invalid(format!("\\{other}"))),
                None => return Err(invalid("\\".to_owned())),
            },
            ',' | '=' => {
                let code = u32::from(letter);
                return Err(format!("invalid field selector: unescaped character in value: {code}"));
            }
            other => value.push(other),
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_sorted_and_unescaped() {
        let shown = |text| {
            let terms = parse(text)?;
            let shown = |term: &Term| {
                let operator = if term.equal { "=" } else { "!=" };
                format!("{}{operator}{}", term.field, term.value)
            };
            Ok::<_, String>(terms.iter().map(shown).collect::<Vec<_>>().join(" "))
        };
        for (text, terms) in
            [("", ""), ("b==2,a!=1,", "a!=1 b=2"), (r"a=1\,2\=3\\", r"a=1,2=3\"), ("=", ""), ("=x", "=x")]
        {
            assert_eq!(shown(text).as_deref(), Ok(terms), "{text}");
        }
        for (text, why) in [
            ("a", "invalid selector: 'a'; can't understand 'a'"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ] {
            assert_eq!(shown(text), Err(why.to_owned()), "{text}");
        }
    }
}
