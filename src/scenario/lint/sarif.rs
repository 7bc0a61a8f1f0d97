//! Findings as SARIF 2.1.0, the format that code scanning reads.

use serde_json::{Value, json};

use crate::scenario::ScenarioError;

/// The identifier and the explanation of a kind of finding.
type Rule = (&'static str, &'static str);

const INVALID: Rule = ("invalid", "A file that windtunnel cannot run.");
const SUSPICIOUS: Rule =
    ("suspicious", "A valid scenario that probably does not mean what its author intends.");

/// Renders errors and warnings as one SARIF document.
pub fn render(errors: &[ScenarioError], warnings: &[ScenarioError]) -> String {
    let errors = errors.iter().map(|error| result(INVALID, "error", error));
    let warnings = warnings.iter().map(|error| result(SUSPICIOUS, "warning", error));
    let rule = |(id, text): Rule| json!({ "id": id, "shortDescription": { "text": text } });
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "windtunnel",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [rule(INVALID), rule(SUSPICIOUS)],
            } },
            "columnKind": "unicodeCodePoints",
            "results": errors.chain(warnings).collect::<Vec<_>>(),
        }],
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn result((rule, _): Rule, level: &str, error: &ScenarioError) -> Value {
    json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": error.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&error.file) },
            "region": { "startLine": error.line.max(1), "startColumn": error.column.max(1) },
        } }],
    })
}

/// Returns a path as a URI reference: relative if the path is, with reserved characters in percent form.
fn uri(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte.into());
            }
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_uri() {
        for (path, expected) in
            [("./a/b c.yaml", "a/b%20c.yaml"), ("/x/ä.yaml", "file:///x/%C3%A4.yaml"), ("a:b", "a%3Ab")]
        {
            assert_eq!(uri(path), expected);
        }
    }
}
