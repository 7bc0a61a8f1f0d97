//! What two servers answer differently, by class and by cause.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::compare;

/// How bad a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One server accepts what the other rejects, or their data differ.
    A,
    /// The status codes or the reasons differ.
    B,
    /// The texts differ: messages, causes, warnings.
    C,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        })
    }
}

/// One difference between two answers. Those with the same cause are one mistake.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// How bad it is.
    pub class: Class,
    /// What differs, without values and indexes.
    pub cause: String,
}

/// The differences between the answer that is right and the one to check, both normalized.
pub fn differences(about: &str, right: &Value, checked: &Value) -> Vec<Difference> {
    let (right, checked) = (&without_ages(right), &without_ages(checked));
    if same(right, checked) {
        return Vec::new();
    }
    let (one, other) = (code(right), code(checked));
    let (class, causes) = match (is_success(right), is_success(checked)) {
        (true, true) if one == other => match data(&right["body"], &checked["body"]) {
            causes if causes.is_empty() => (Class::C, rest(right, checked)),
            causes => (Class::A, causes),
        },
        (false, false) if one == other && right["body"]["reason"] == checked["body"]["reason"] => {
            (Class::C, texts(right, checked))
        }
        (true, true) | (false, false) => {
            (Class::B, BTreeSet::from([format!("{} instead of {}", summary(checked), summary(right))]))
        }
        (true, false) => (Class::A, rejections(checked).map(|text| format!("rejects: {text}")).collect()),
        (false, true) => (Class::A, rejections(right).map(|text| format!("accepts: {text}")).collect()),
    };
    causes.into_iter().map(|cause| Difference { class, cause: format!("{class} {about}: {cause}") }).collect()
}

/// A Table without the ages in it, which pass while a case runs.
fn without_ages(answer: &Value) -> Value {
    static AGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\d+s$").expect("valid"));
    let mut answer = answer.clone();
    let mut tables: Vec<&mut Value> = Vec::new();
    for (name, value) in answer.as_object_mut().into_iter().flatten() {
        match (name.as_str(), value) {
            ("body", body) => tables.push(body),
            ("events", Value::Array(events)) => {
                tables.extend(events.iter_mut().filter_map(|event| event.get_mut("object")));
            }
            _ => {}
        }
    }
    for row in tables.into_iter().filter_map(|table| table.get_mut("rows")?.as_array_mut()).flatten() {
        for cell in row.get_mut("cells").and_then(Value::as_array_mut).into_iter().flatten() {
            if cell.as_str().is_some_and(|text| AGE.is_match(text)) {
                *cell = Value::from("<age>");
            }
        }
    }
    answer
}

fn same(one: &Value, other: &Value) -> bool {
    let mut places = Vec::new();
    compare(one, other, "", &mut places);
    places.is_empty()
}

fn code(answer: &Value) -> u64 {
    answer["status"].as_u64().unwrap_or_default()
}

fn is_success(answer: &Value) -> bool {
    (200..400).contains(&code(answer))
}

fn summary(answer: &Value) -> String {
    let body = &answer["body"];
    let message =
        if is_success(answer) { String::new() } else { template(body["message"].as_str().unwrap_or("")) };
    format!("{} {} {message}", code(answer), body["reason"].as_str().unwrap_or_default())
}

/// The errors of a rejection, without values.
fn rejections(answer: &Value) -> impl Iterator<Item = String> {
    let causes = errors(answer);
    let all = if causes.is_empty() { BTreeSet::from([summary(answer)]) } else { causes };
    all.into_iter()
}

fn errors(answer: &Value) -> BTreeSet<String> {
    let causes = answer["body"]["details"]["causes"].as_array().into_iter().flatten();
    causes
        .map(|cause| {
            let text = |field: &str| cause[field].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", path(&text("field")), template(&text("message")))
        })
        .collect()
}

/// The differences between the texts of two rejections with the same code and reason.
fn texts(right: &Value, checked: &Value) -> BTreeSet<String> {
    let (one, other) = (errors(right), errors(checked));
    let missing = one.difference(&other).map(|text| format!("does not say: {text}"));
    let wrong = other.difference(&one).map(|text| format!("says: {text}"));
    let found: BTreeSet<String> = missing.chain(wrong).collect();
    if !found.is_empty() {
        return found;
    }
    let message = |answer: &Value| template(answer["body"]["message"].as_str().unwrap_or_default());
    if message(right) != message(checked) {
        return BTreeSet::from([format!("message `{}` instead of `{}`", message(checked), message(right))]);
    }
    rest(right, checked)
}

/// The differences outside the data: warnings, headers, single values of a text.
fn rest(right: &Value, checked: &Value) -> BTreeSet<String> {
    let list = |answer: &Value| -> BTreeSet<String> {
        let warnings = answer["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
        warnings.map(template).collect()
    };
    let (one, other) = (list(right), list(checked));
    let missing = one.difference(&other).map(|text| format!("does not warn: {text}"));
    let wrong = other.difference(&one).map(|text| format!("warns: {text}"));
    let found: BTreeSet<String> = missing.chain(wrong).collect();
    if found.is_empty() { data(right, checked) } else { found }
}

/// The places at which two values differ, without indexes and values.
fn data(right: &Value, checked: &Value) -> BTreeSet<String> {
    let mut places = Vec::new();
    compare(right, checked, "", &mut places);
    places
        .iter()
        .map(|place| {
            let (at, what) = place.split_once(": ").unwrap_or((place, ""));
            let what = what.split(' ').next().unwrap_or_default().trim_end_matches(',');
            format!("{} {}", path(at), if what == "want" { "differs" } else { what })
        })
        .collect()
}

/// A path without indexes and keys.
fn path(text: &str) -> String {
    static INDEX: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[[^\]]*\]|/\d+\b").expect("valid"));
    INDEX.replace_all(text, "[]").into_owned()
}

/// A message without the values in it.
fn template(text: &str) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r#""(?:[^"\\]|\\.)*""#, "S"),
            (r"(Invalid value: )(?:\{.*\}|\[.*\]|S)", "${1}V"),
            (r"\[[^\]]*\]", "[]"),
            (r"\b\d+(\.\d+)?\b", "N"),
        ]
        .map(|(pattern, text)| (Regex::new(pattern).expect("valid"), text))
        .into()
    });
    let mut text: String = text.chars().take(2000).collect();
    for (pattern, replacement) in RULES.iter() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rejected(field: &str, message: &str) -> Value {
        json!({"status": 422, "body": {"reason": "Invalid", "message": message,
            "details": {"causes": [{"field": field, "message": message}]}}})
    }

    fn causes(right: &Value, checked: &Value) -> Vec<(Class, String)> {
        let found = differences("Pod", right, checked);
        found.into_iter().map(|difference| (difference.class, difference.cause)).collect()
    }

    #[test]
    fn a_difference_has_the_class_of_its_worst_part() {
        let fine = json!({"status": 201, "body": {"a": [{"b": 1}]}});
        let other = json!({"status": 201, "body": {"a": [{"b": 2}]}});
        let one = rejected("spec.ports[0].name", "Invalid value: \"x\": must be 5");
        let two = rejected("spec.ports[1].name", "Invalid value: \"y\": must be 7");
        let gone = json!({"status": 404, "body": {"reason": "NotFound", "message": "no \"x\""}});
        assert_eq!(causes(&fine, &fine), []);
        assert_eq!(causes(&fine, &other), [(Class::A, "A Pod: /a[]/b differs".to_owned())]);
        assert_eq!(
            causes(&one, &fine),
            [(Class::A, "A Pod: accepts: spec.ports[].name: Invalid value: V: must be N".to_owned())]
        );
        assert_eq!(causes(&one, &gone)[0].0, Class::B);
        let aged = |age: &str| json!({"status": 200, "body": {"rows": [{"cells": ["x", age]}]}});
        assert_eq!(causes(&aged("0s"), &aged("2s")), []);
        assert_eq!(causes(&aged("0s"), &aged("y")).len(), 1);
        assert!(causes(&one, &two)[0].1.starts_with("C Pod: "), "{:?}", causes(&one, &two));
    }
}
