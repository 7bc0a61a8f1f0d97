//! A report as JSON, which baselines read as well.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::report::Report;
use crate::trap::{Proof, Trap, Witness};
use crate::trial::Exchange;

/// Reports as one JSON document. All traps and notes are in it, whatever their harm is.
pub fn json(reports: &[Report]) -> Value {
    json!({ "reports": reports.iter().map(report).collect::<Vec<_>>() })
}

fn report(report: &Report) -> Value {
    json!({
        "direction": report.direction.name(),
        "from": report.source,
        "to": report.target,
        "kubernetes": format!("1.{}", report.kubernetes),
        "compared": report.compared,
        "traps": report.traps.iter().map(trap).collect::<Vec<_>>(),
    })
}

fn trap(trap: &Trap) -> Value {
    let by_minor: Map<String, Value> =
        trap.by_minor.iter().map(|(minor, harm)| (format!("1.{minor}"), json!(harm.name()))).collect();
    let mut fields = json!({
        "id": trap.id(),
        "fingerprint": trap.fingerprint(),
        "definition": trap.definition,
        "kind": trap.kind,
        "version": trap.version,
        "path": trap.path,
        "difference": trap.difference,
        "detail": trap.detail,
        "harm": trap.harm.name(),
        "writer": trap.writer,
        "savedFrom": trap.saved_from().map(|minor| format!("1.{minor}")),
        "byMinor": by_minor,
        "objects": trap.hits,
        "state": trap.proof.name(),
    });
    match &trap.proof {
        Proof::Proved(proof) => fields["witness"] = witness(proof),
        Proof::Unproved(reason) => fields["reason"] = json!(reason),
        Proof::Reworded(count) => fields["values"] = json!(count),
        Proof::Note => {}
    }
    fields
}

fn witness(witness: &Witness) -> Value {
    json!({
        "object": witness.object,
        "place": witness.place,
        "after": witness.after,
        "read": witness.read,
        "otherErrors": witness.others,
        "requests": witness.exchanges.iter().map(exchange).collect::<Vec<_>>(),
    })
}

fn exchange(exchange: &Exchange) -> Value {
    json!({
        "purpose": exchange.purpose,
        "method": exchange.method,
        "path": exchange.path,
        "body": exchange.body,
        "code": exchange.code,
        "message": exchange.message,
    })
}

/// The fingerprints of the traps in a document of [`json`].
///
/// # Errors
/// The document has another form.
pub fn fingerprints(document: &Value) -> Result<BTreeSet<String>, String> {
    let expected = "expected the output of `windtunnel rollback-check --format json`";
    let reports = document["reports"].as_array().ok_or_else(|| format!("{expected}, found no `reports`"))?;
    let traps = reports.iter().flat_map(|report| report["traps"].as_array().into_iter().flatten());
    let known = traps.map(|trap| trap["fingerprint"].as_str().map(str::to_owned));
    known.collect::<Option<_>>().ok_or_else(|| format!("{expected}, found a trap without `fingerprint`"))
}
