//! Warnings about labels of nodes that have new names, and about selectors that choose nothing.

use serde_json::Value;

use crate::kinds::validation::node_labels::deprecated_label;
use crate::kinds::validation::{Path, items, text};
use crate::names::labels;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// The warnings about node selectors and spread constraints.
pub(super) fn deprecated_labels(spec: &Value, at: Path<'_>, out: &mut Vec<String>) {
    let selector = at.child("nodeSelector");
    for key in spec["nodeSelector"].as_object().into_iter().flat_map(|map| map.keys()) {
        if let Some(why) = deprecated_label(key) {
            out.push(format!("{}: {why}", selector.key(key).text()));
        }
    }
    let nodes = &spec["affinity"]["nodeAffinity"];
    let affinity = at.child("affinity");
    let nodes_at = affinity.child("nodeAffinity");
    let required = nodes_at.child(REQUIRED);
    let terms = required.child("nodeSelectorTerms");
    for (index, one) in items(&nodes[REQUIRED]["nodeSelectorTerms"]).iter().enumerate() {
        term(one, false, terms.index(index), out);
    }
    let preferred = nodes_at.child(PREFERRED);
    for (index, one) in items(&nodes[PREFERRED]).iter().enumerate() {
        term(&one["preference"], true, preferred.index(index).child("preference"), out);
    }
    let constraints = at.child("topologySpreadConstraints");
    for (index, constraint) in items(&spec["topologySpreadConstraints"]).iter().enumerate() {
        let at = constraints.index(index);
        let key = text(&constraint["topologyKey"]);
        if let Some(why) = deprecated_label(key) {
            out.push(format!("{}: {key} is {why}", at.child("topologyKey").text()));
        }
        null_selector(constraint, at, out);
    }
}

/// The warnings about a term, with those about values that only preferred terms may have
/// (`GetWarningsForNodeSelectorTerm`).
fn term(term: &Value, is_preferred: bool, at: Path<'_>, out: &mut Vec<String>) {
    let at = at.child("matchExpressions");
    for (index, expression) in items(&term["matchExpressions"]).iter().enumerate() {
        let at = at.index(index);
        let key = text(&expression["key"]);
        if let Some(why) = deprecated_label(key) {
            out.push(format!("{}: {key} is {why}", at.child("key").text()));
        }
        let values = at.child("values");
        for (index, value) in
            items(&expression["values"]).iter().map(text).enumerate().filter(|_| is_preferred)
        {
            for why in labels::label_value(value) {
                out.push(format!("{}: {value} is invalid, {why}", values.index(index).text()));
            }
        }
    }
}

fn null_selector(holder: &Value, at: Path<'_>, out: &mut Vec<String>) {
    if holder["labelSelector"].is_null() {
        let at = at.child("labelSelector").text();
        out.push(format!("{at}: a null labelSelector results in matching no pod"));
    }
}

/// The warnings about affinity to pods that cannot exist.
pub(super) fn null_selectors(affinity: &Value, at: Path<'_>, out: &mut Vec<String>) {
    for field in ["podAffinity", "podAntiAffinity"] {
        let at = at.child(field);
        let (required, preferred) = (at.child(REQUIRED), at.child(PREFERRED));
        for (index, term) in items(&affinity[field][REQUIRED]).iter().enumerate() {
            null_selector(term, required.index(index), out);
        }
        for (index, term) in items(&affinity[field][PREFERRED]).iter().enumerate() {
            null_selector(&term["podAffinityTerm"], preferred.index(index).child("podAffinityTerm"), out);
        }
    }
}
