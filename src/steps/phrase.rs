//! Parsers for values that many steps share: durations, numbers, objects and texts.

use std::collections::BTreeMap;
use std::str::FromStr;

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::text::did_you_mean;
use windtunnel_update_status::assessment::node::phase::Phase;
use windtunnel_update_status::status::Details;

use crate::plan::{Check, InsightRef, ObjectRef, TextMatch};
use crate::scenario::{self, Kinds, Star};

/// Parses `40 minutes`, `1 hour` or `90s`.
pub(super) fn duration(text: &str) -> Result<SignedDuration, String> {
    scenario::duration(text, "`40 minutes`")
}

/// Parses a version such as `4.14.8`.
pub(super) fn version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|_| {
        format!("expected a version such as 4.14.8, found `{text}`{}", scenario::version_hint(text))
    })
}

/// Parses a number of times.
pub(super) fn number(text: &str) -> Result<u32, String> {
    let found = text.parse().ok().filter(|number| (1..=1000).contains(number));
    found.ok_or_else(|| format!("expected a number from 1 to 1000, found {text}"))
}

/// Parses a number without a range.
pub(super) fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("expected a smaller number, found {text}"))
}

/// Parses `Kind/name` or `Kind/namespace/name`, where the name may end in `*`. `ClusterVersion` alone means
/// `ClusterVersion/version`.
pub(super) fn object(kinds: &Kinds, text: &str) -> Result<ObjectRef, String> {
    let text = if text == "ClusterVersion" { "ClusterVersion/version" } else { text };
    scenario::object_ref(kinds, text, Star::Allowed)
}

/// Parses `Kind/name` or `Kind/namespace/name` of one object.
pub(super) fn one_object(kinds: &Kinds, text: &str) -> Result<ObjectRef, String> {
    scenario::object_ref(kinds, text, Star::Rejected)
}

/// Parses the object that a health insight is about; also `Alert/name`.
pub(super) fn about(kinds: &Kinds, text: &str) -> Result<ObjectRef, String> {
    scenario::about_ref(kinds, text)
}

/// Parses a reference to an insight: `Kind/name` of its resource, or a kind alone.
pub(super) fn insight(text: &str) -> Result<InsightRef, String> {
    scenario::insight_ref(text)
}

/// Parses the content of a health insight: ` with level "Error" and summary /a pattern/`, in any order.
pub(super) fn impact(text: &str) -> Result<Vec<Check>, String> {
    let mut checks = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let invalid = || format!("cannot parse `{rest}`");
        let words = rest.strip_prefix("with ").or_else(|| rest.strip_prefix("and ")).ok_or_else(invalid)?;
        let (name, value) = words.split_once(' ').ok_or_else(invalid)?;
        let end = end_of(value).ok_or_else(invalid)?;
        let field = if name == "impact" { "type" } else { name };
        checks.push(Check::Field { path: format!("impact.{field}"), value: text_match(&value[..end])? });
        rest = value[end..].trim_start();
    }
    Ok(checks)
}

/// Returns the end of a quoted text or a pattern at the start of `value`. A pattern may contain slashes and
/// the keywords; it ends at a slash before ` and <keyword> `.
fn end_of(value: &str) -> Option<usize> {
    if let Some(quoted) = value.strip_prefix('"') {
        return quoted.find('"').map(|end| end + 2);
    }
    let next = ["level", "impact", "summary", "description"].map(|name| format!("/ and {name} "));
    let ends = next.iter().filter_map(|next| value.get(1..)?.find(next.as_str()));
    Some(ends.min().map_or(value.len(), |end| end + 2))
}

/// Returns a check of a field.
pub(super) fn field(path: String, value: &str) -> Result<Check, String> {
    Ok(Check::Field { path, value: text_match(value)? })
}

/// Parses the phase of a node.
pub(super) fn phase_named(name: &str) -> Result<Phase, String> {
    Phase::named(name).ok_or_else(|| format!("unknown phase `{name}`"))
}

/// Parses `"exactly this"` or `/a pattern/`.
pub(super) fn text_match(text: &str) -> Result<TextMatch, String> {
    TextMatch::parse(text.trim().trim_matches('"'))
}

/// Parses the expected output of a command: `"all of it"`, `/a pattern/` or `a text with "a part"`.
pub(super) fn output_match(text: &str) -> Result<TextMatch, String> {
    let unquoted = |text: &str| {
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        inner.unwrap_or(text).to_owned()
    };
    match text.strip_prefix("a text with ") {
        Some(part) => Ok(TextMatch::Contains(unquoted(part))),
        None if text.starts_with('"') => Ok(TextMatch::Equals(unquoted(text))),
        None => text_match(text),
    }
}

/// Returns a check of a condition. `with` consists of parts such as `reason "X" and message matching /Y/`, or
/// is empty.
pub(super) fn condition(kind: &str, status: &str, with: &str) -> Result<Check, String> {
    let (mut reason, mut message) = (None, None);
    let mut rest = with;
    while !rest.is_empty() {
        let (part, after) = next_part(rest).ok_or_else(|| {
            expected(
                "`reason \"..\"`, `message \"..\"`, `message matching /../` or `message containing \"..\"`",
                rest,
            )
        })?;
        match part {
            Part::Reason(text) => reason = Some(alternatives(text, text_match)?),
            Part::Message(text) => message = Some(alternatives(text, text_match)?),
            Part::Containing(text) => {
                message = Some(alternatives(text, |part| Ok(TextMatch::Contains(part.to_owned())))?);
            }
        }
        rest = after;
    }
    let status = (!status.is_empty()).then(|| TextMatch::Equals(status.to_owned()));
    Ok(Check::Condition { kind: kind.to_owned(), status, reason, message })
}

/// Parses the text of a part, or its alternatives: `one" or "another`. A pattern has alternatives of its own.
fn alternatives(text: &str, one: impl Fn(&str) -> Result<TextMatch, String>) -> Result<TextMatch, String> {
    let is_pattern = text.starts_with('/');
    let parts: Vec<&str> = if is_pattern { vec![text] } else { text.split("\" or \"").collect() };
    match parts.as_slice() {
        [_, _, ..] => parts.into_iter().map(one).collect::<Result<_, _>>().map(TextMatch::AnyOf),
        _ => one(text),
    }
}

enum Part<'a> {
    Reason(&'a str),
    Message(&'a str),
    Containing(&'a str),
}

/// Splits off the first part of a with-clause; the rest starts after its `and`.
fn next_part(text: &str) -> Option<(Part<'_>, &str)> {
    type Make = for<'a> fn(&'a str) -> Part<'a>;
    let forms: [(&str, char, Make); 4] = [
        ("reason \"", '"', |text| Part::Reason(text)),
        ("message \"", '"', |text| Part::Message(text)),
        ("message containing \"", '"', |text| Part::Containing(text)),
        ("message matching /", '/', |text| Part::Message(text)),
    ];
    for (start, end, make) in forms {
        let Some(rest) = text.strip_prefix(start) else { continue };
        // A quoted text may contain quotes: it ends at a quote before ` and `, or at the last quote.
        let stop = format!("{end} and ");
        let (inner, after) = match rest.split_once(&stop) {
            Some((inner, after)) => (inner, after),
            None => (rest.strip_suffix(end)?, ""),
        };
        if end == '/' {
            // Patterns keep their slashes, which distinguish them from plain texts.
            let from = text.len() - rest.len() - 1;
            return Some((make(&text[from..=text.len() - rest.len() + inner.len()]), after));
        }
        return Some((make(inner), after));
    }
    None
}

/// Parses labels such as `zone=a, disk=ssd`; an empty text has none.
pub(super) fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let labels = text.split(',').map(str::trim).filter(|label| !label.is_empty());
    let labels = labels.map(|label| match label.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(format!("expected labels such as `zone=a`, found `{label}`")),
    });
    labels.collect()
}

/// Parses the sections of the status to show in detail; an empty text means none.
pub(super) fn status_details(name: &str) -> Result<Details, String> {
    if name.is_empty() {
        return Ok(Details::None);
    }
    Details::named(name).ok_or_else(|| {
        let names = Details::NAMES.join("`, `");
        let hint = did_you_mean(name, Details::NAMES.iter().copied());
        format!("expected details such as `{names}`, found `{name}`{hint}")
    })
}

fn expected(what: &str, found: &str) -> String {
    format!("expected {what}, found `{found}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(with: &str, expected: &str) {
        let found = match condition("Progressing", "True", with) {
            Ok(check) => check.to_string(),
            Err(error) => error,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn parses_reasons_and_messages_of_with_clauses() {
        check("", "Progressing=True");
        check("reason \"X\"", "Progressing=True X");
        check(
            "reason \"X\" and message \"says \"hi\" to you\"",
            "Progressing=True X with `says \"hi\" to you`",
        );
        check("message matching /a (b|c)/", "Progressing=True with /a (b|c)/");
        check("message containing \"b\"", "Progressing=True with a text with `b`");
        check("message \"a\" or \"b\" and reason \"X\"", "Progressing=True X with `a` or `b`");
        check(
            "message containing \"a\" or \"b\"",
            "Progressing=True with a text with `a` or a text with `b`",
        );
    }

    fn check_impact(text: &str, expected: &[&str]) {
        let checks = impact(text).unwrap();
        assert_eq!(checks.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn texts_of_health_insights_may_contain_keywords() {
        check_impact("", &[]);
        check_impact(
            " with level \"Error\" and summary \"low and level ground\" and description /a and level b/",
            &[
                "impact.level is `Error`",
                "impact.summary is `low and level ground`",
                "impact.description is /a and level b/",
            ],
        );
        check_impact(
            " with summary /a/b and impact \\d/ and impact \"None\"",
            &["impact.summary is /a/b and impact \\d/", "impact.type is `None`"],
        );
    }

    #[test]
    fn rejects_unknown_kinds_of_insights() {
        let error = insight("Nod/worker-0").unwrap_err();
        assert!(error.ends_with("found `Nod/worker-0`; did you mean `Node`?"), "{error}");
        assert_eq!(insight("Node/worker-0").unwrap().name, "worker-0");
    }

    #[test]
    fn rejects_a_malformed_with_clause() {
        check(
            "mesage \"x\"",
            "expected `reason \"..\"`, `message \"..\"`, `message matching /../` or `message containing \"..\"`, found `mesage \"x\"`",
        );
    }
}
