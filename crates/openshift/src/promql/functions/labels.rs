//! `label_replace` and `label_join`.

use regex::Regex;

use crate::promql::sample::distinct;
use crate::promql::{Sample, Value};

/// # Errors
/// An invalid label or regular expression, or equal labels in the result.
pub(super) fn replace(samples: Vec<Sample>, arguments: &[Value]) -> Result<Vec<Sample>, String> {
    let [to, replacement, from, pattern] = texts(arguments)[..] else {
        return Err("label_replace expects four strings".to_owned());
    };
    check(to, "label_replace")?;
    let pattern = Regex::new(&format!("^(?s:{pattern})$"))
        .map_err(|_| format!("invalid regular expression in label_replace(): {pattern}"))?;
    let replaced = samples.into_iter().map(|mut sample| {
        let value = sample.labels.get(from).map_or("", String::as_str);
        if let Some(found) = pattern.captures(value) {
            let mut new = String::new();
            found.expand(replacement, &mut new);
            set(&mut sample, to, new);
        }
        sample
    });
    distinct(replaced.collect())
}

/// # Errors
/// An invalid label, or equal labels in the result.
pub(super) fn join(samples: Vec<Sample>, arguments: &[Value]) -> Result<Vec<Sample>, String> {
    let texts = texts(arguments);
    let [to, separator, from @ ..] = texts.as_slice() else {
        return Err("label_join expects strings".to_owned());
    };
    check(to, "label_join")?;
    let joined = samples.into_iter().map(|mut sample| {
        let value_of = |label: &&str| sample.labels.get(*label).map_or("", String::as_str);
        let new = from.iter().map(value_of).collect::<Vec<_>>().join(separator);
        set(&mut sample, to, new);
        sample
    });
    distinct(joined.collect())
}

/// Sets a label. An empty value removes it.
fn set(sample: &mut Sample, label: &str, value: String) {
    if value.is_empty() {
        sample.labels.remove(label);
    } else {
        sample.labels.insert(label.to_owned(), value);
    }
}

fn texts(arguments: &[Value]) -> Vec<&str> {
    let mut texts = Vec::new();
    for argument in arguments {
        if let Value::Text(text) = argument {
            texts.push(text.as_str());
        }
    }
    texts
}

fn check(label: &str, function: &str) -> Result<(), String> {
    if is_label_name(label) {
        return Ok(());
    }
    Err(format!("invalid destination label name in {function}(): {label}"))
}

/// Returns whether a text is the name of a label.
pub fn is_label_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
