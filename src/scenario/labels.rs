//! Labels of nodes, by name.

use std::collections::BTreeMap;

use windtunnel_core::yaml::Node;

use super::reader::Reader;

/// The longest name and value of a label.
const LENGTH_MAX: usize = 63;

/// Parses labels by name; a value may be empty, as that of a role.
pub(super) fn labels(reader: &mut Reader<'_>, node: &Node) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (key, value) in reader.entries(node, "labels by name").unwrap_or_default() {
        let name = key.scalar().filter(|key| is_key(key));
        if name.is_none() {
            reader.expected(key, "the name of a label, such as `disk` or `example.com/disk`");
        }
        let text = value.scalar().filter(|text| text.is_empty() || is_word(text));
        if text.is_none() {
            reader.expected(
                value,
                "the value of a label: at most 63 letters, digits, `-`, `_` and `.`, such as `a` or `\"\"`",
            );
        }
        labels.extend(name.zip(text).map(|(name, text)| (name.to_owned(), text.to_owned())));
    }
    labels
}

/// Returns whether the API server accepts a text as the key of a label: a name, after a domain and a slash or not.
fn is_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((domain, name)) => domain.split('.').all(is_domain_part) && is_word(name),
        None => is_word(text),
    }
}

fn is_domain_part(text: &str) -> bool {
    is_word(text)
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn is_word(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= LENGTH_MAX
        && text.bytes().all(is_inner)
        && is_end(text.bytes().next())
        && is_end(text.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_an_optional_domain() {
        for key in ["disk", "node-role.kubernetes.io/infra", "a.b_C-1"] {
            assert!(is_key(key), "{key}");
        }
        for key in ["", "a b", "/a", "a/", "a/b/c", "Example.com/a", "-a", "a.", &"a".repeat(64)] {
            assert!(!is_key(key), "{key}");
        }
    }
}
