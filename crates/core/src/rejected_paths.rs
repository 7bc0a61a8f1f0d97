//! The paths of the fields that a validation rejects, the same for all minors of Kubernetes.
//!
//! API servers print the path of one and the same error in several ways: 1.28 to 1.30 leave out `status.` in a write of the status,
//! errors of alternatives have `<nil>` instead of a path, the order of errors differs, and an index depends on the content of the
//! list.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The beginning of an error: its path and its type.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?:^|[\[ ])(<nil>|[A-Za-z_$][^\s:,\[\]"]*(?:\[[^\]]*\][^\s:,\[\]"]*)*): (?:Invalid value|Unsupported value|Required value|Forbidden|Duplicate value|Too long|Too many|Too few|Not found|Internal error)\b"#,
    )
    .expect("pattern")
});

/// The path in the text of an error that has none of its own.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""([a-z][\w.\[\]]*)" must validate|([a-z][\w.\[\]]*) in body "#).expect("pattern")
});

/// A text in quotes, whose content may look like an error.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""(?:\\.|[^"\\])*""#).expect("pattern"));

/// The index of an element.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static INDEX: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[\d+\]").expect("pattern"));

/// The text that a server adds if it stops early. It is no error of a field.
const NOT_CHECKED: &str = "some validation rules were not checked";

/// Returns the paths that the message of a rejected write names, sorted, such as `status.list[].name`; `*` is the whole object.
/// `subresource` is the one that was written, or empty. Empty if the message is not about fields.
pub fn rejected_paths(message: &str, subresource: &str) -> Vec<String> {
    let Some((_, errors)) = message.split_once(" is invalid: ") else { return Vec::new() };
    let masked = QUOTED.replace_all(errors, |quoted: &Captures<'_>| "_".repeat(quoted[0].len()));
    let found: Vec<(usize, &str)> = ERROR
        .captures_iter(&masked)
        .filter_map(|captures| captures.get(1))
        .map(|path| (path.start(), path.as_str()))
        .collect();
    let mut paths = BTreeSet::new();
    for (number, (start, path)) in found.iter().enumerate() {
        let end = found.get(number + 1).map_or(errors.len(), |(next, _)| *next);
        let text = errors.get(*start..end).unwrap_or_default();
        if text.contains(NOT_CHECKED) {
            continue;
        }
        let named = || {
            let captures = NAMED.captures(text)?;
            captures.get(1).or_else(|| captures.get(2)).map(|path| path.as_str())
        };
        let path = if *path == "<nil>" { named().unwrap_or("*") } else { *path };
        paths.insert(INDEX.replace_all(&whole(path, subresource), "[]").into_owned());
    }
    // An error of the whole object adds nothing to one that names a field.
    if paths.len() > 1 {
        paths.remove("*");
    }
    paths.into_iter().collect()
}

/// Returns the path from the root of the object.
fn whole(path: &str, subresource: &str) -> String {
    let first = path.split(['.', '[']).next().unwrap_or_default();
    let is_whole = subresource != "status" || path == "*" || ["metadata", "spec", "status"].contains(&first);
    if is_whole { path.to_owned() } else { format!("status.{path}") }
}

/// Returns paths as a part of a sentence, ` at status.a, status.b`; empty without paths.
pub fn at_paths(message: &str, subresource: &str) -> String {
    match rejected_paths(message, subresource).as_slice() {
        [] => String::new(),
        [whole] if whole == "*" => " at the whole object".to_owned(),
        paths => format!(" at {}", paths.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(errors: &str, expected: &[&str]) {
        let message = format!("ClusterVersion.config.openshift.io \"version\" is invalid: {errors}");
        assert_eq!(rejected_paths(&message, "status"), expected, "{errors}");
    }

    #[test]
    fn one_error_has_one_path_in_every_minor() {
        let known = "status.capabilities.knownCapabilities[]";
        let value = "Unsupported value: \"X\": supported values: \"a\", \"b\"";
        check(&format!("status.capabilities.knownCapabilities[3]: {value}"), &[known]);
        check(&format!("capabilities.knownCapabilities[3]: {value}"), &[known]);
        let both = ["status.capabilities.enabledCapabilities[]", known];
        check(
            &format!(
                "[status.capabilities.knownCapabilities[3]: {value}, status.capabilities.enabledCapabilities[0]: {value}]"
            ),
            &both,
        );
        check(
            &format!(
                "[capabilities.enabledCapabilities[1]: {value}, capabilities.knownCapabilities[0]: {value}, <nil>: Invalid value: \"null\": some validation rules were not checked because the object was invalid]"
            ),
            &both,
        );
        check(
            "[<nil>: Invalid value: \"\": \"metadata.name\" must validate at least one schema (anyOf), metadata.name: Invalid value: \"x\"]",
            &["metadata.name"],
        );
        check(
            "spec.a.b: Invalid value: \"x, y: Forbidden\": spec.a.b in body should match '^a: b$'",
            &["spec.a.b"],
        );
        check("<nil>: Invalid value: \"object\": no such key: a evaluating rule: r", &["*"]);
    }

    #[test]
    fn other_messages_name_no_path() {
        assert!(rejected_paths("pods \"a\" is forbidden: spec.x: Forbidden", "").is_empty());
        assert_eq!(at_paths("x", ""), "");
        assert_eq!(
            at_paths("C \"a\" is invalid: data: Too long: may not be more than 5 bytes", ""),
            " at data"
        );
    }
}
