//! Rules for keys and values of labels and annotations, and for other qualified names
//! (`k8s.io/apimachinery/pkg/util/validation`).

use super::subdomain;

const NAME_PART: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn is_name_part(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && text.bytes().last().is_some_and(|b| b.is_ascii_alphanumeric())
}

/// The problems of a label key or another qualified name (`IsLabelKey`, `IsQualifiedName`).
pub(crate) fn label_key(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let part = match name.split('/').collect::<Vec<_>>().as_slice() {
        [part] => *part,
        [prefix, part] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(subdomain(prefix).into_iter().map(|why| format!("prefix part {why}")));
            }
            *part
        }
        _ => {
            let example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {NAME_PART} {example}")];
        }
    };
    if part.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if part.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name_part(part) {
        problems.push(format!("name part {NAME_PART}"));
    }
    problems
}

/// The problems of a label value.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_name_part(value) {
        problems.push(LABEL_VALUE.to_owned());
    }
    problems
}
