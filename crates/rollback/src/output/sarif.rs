//! A report as SARIF 2.1.0, the format that code scanning reads.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::report::Report;
use crate::trap::{Harm, Trap};

/// The traps at or above a level as one SARIF document. `locate` returns the file and the line of a definition by its name.
pub fn sarif(reports: &[Report], level: Harm, locate: &dyn Fn(&str) -> Option<(String, usize)>) -> String {
    let traps: Vec<(&Report, &Trap)> =
        reports.iter().flat_map(|report| report.at_level(level).map(move |trap| (report, trap))).collect();
    let rules: BTreeSet<&str> = traps.iter().map(|(_, trap)| trap.difference).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "windtunnel rollback-check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_iter().map(rule).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": traps.into_iter().map(|(report, trap)| result(report, trap, locate)).collect::<Vec<_>>(),
        }],
    });
    format!("{document:#}\n")
}

fn rule(id: &str) -> Value {
    let text = format!("A difference of the kind `{id}`, which only one of two releases accepts.");
    json!({ "id": id, "shortDescription": { "text": text } })
}

fn result(report: &Report, trap: &Trap, locate: &dyn Fn(&str) -> Option<(String, usize)>) -> Value {
    let level = match trap.harm {
        Harm::Definition | Harm::Status | Harm::Edits => "error",
        Harm::Lost | Harm::Again => "warning",
        Harm::Note => "note",
    };
    let text = format!(
        "{} {}: {}: after the {} to {} {} (written by {})",
        trap.kind,
        super::place(trap),
        trap.detail,
        report.direction.name(),
        report.target,
        trap.harm.text(),
        trap.writer
    );
    let name = format!("{}/{}:{}", trap.definition, trap.version, trap.path);
    let mut location = json!({ "logicalLocations": [{ "fullyQualifiedName": name }] });
    if let Some((file, line)) = locate(&trap.definition) {
        location["physicalLocation"] =
            json!({ "artifactLocation": { "uri": file }, "region": { "startLine": line.max(1) } });
    }
    json!({
        "ruleId": trap.difference,
        "level": level,
        "message": { "text": text },
        "locations": [location],
        "partialFingerprints": { "rollbackTrap/v1": trap.fingerprint() },
    })
}
