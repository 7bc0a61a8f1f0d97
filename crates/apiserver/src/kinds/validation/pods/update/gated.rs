//! Changes of where a pod may run, as long as gates keep it from being scheduled.

use serde_json::{Value, json};

use super::SPEC;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{Errors, items};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Validates additions to the node selector and to the node affinity, and replaces both by the old ones.
pub(super) fn gated_changes(spec: &mut Value, old: &Value, errors: &mut Errors<'_>) {
    let (selector, before) = (&spec["nodeSelector"], &old["nodeSelector"]);
    if selector != before {
        let is_kept = |(key, value): (&String, &Value)| selector[key] == *value;
        if !before.as_object().into_iter().flatten().all(is_kept) {
            let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            errors.invalid_map(SPEC.child("nodeSelector"), selector, why);
        }
        set(spec, "nodeSelector", before);
    }
    let before = &old["affinity"]["nodeAffinity"];
    if spec["affinity"]["nodeAffinity"] != *before {
        node_affinity(&spec["affinity"]["nodeAffinity"], before, errors);
        let has_others =
            ["podAffinity", "podAntiAffinity"].iter().any(|part| !spec["affinity"][*part].is_null());
        if old["affinity"].is_null() && !has_others {
            set(spec, "affinity", &Value::Null);
        } else if spec["affinity"].is_null() {
            spec["affinity"] = json!({ "nodeAffinity": before });
        } else {
            set(&mut spec["affinity"], "nodeAffinity", before);
        }
    }
}

fn set(object: &mut Value, field: &str, value: &Value) {
    let Some(fields) = object.as_object_mut() else { return };
    if value.is_null() {
        fields.remove(field);
    } else {
        fields.insert(field.to_owned(), value.clone());
    }
}

/// Requires that required terms only become stricter (`validateNodeAffinityMutation`).
fn node_affinity(new: &Value, old: &Value, errors: &mut Errors<'_>) {
    if old[REQUIRED].is_null() {
        return;
    }
    let affinity = SPEC.child("affinity");
    let nodes = affinity.child("nodeAffinity");
    let required = nodes.child(REQUIRED);
    let at = required.child("nodeSelectorTerms");
    let terms = |affinity: &'_ Value| affinity[REQUIRED]["nodeSelectorTerms"].clone();
    let (new, old) = (terms(new), terms(old));
    if !items(&old).is_empty() && items(&old).len() != items(&new).len() {
        let shown: Vec<String> =
            items(&new).iter().map(|term| internal_form(term, "NodeSelectorTerm")).collect();
        let shown = if new.is_null() { "null".to_owned() } else { format!("[{}]", shown.join(",")) };
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.invalid_shown(at, shown.clone(), shown, why);
        return;
    }
    for (index, (new, old)) in items(&new).iter().zip(items(&old)).enumerate() {
        if !has_only_additions(new, old) {
            let shown = internal_form(new, "NodeSelectorTerm");
            let why = "only additions are allowed (no mutations or deletions)";
            errors.invalid_shown(at.index(index), shown.clone(), shown, why);
        }
    }
}

/// Whether a term has all old requirements, in their order (`validateNodeSelectorTermHasOnlyAdditions`).
fn has_only_additions(new: &Value, old: &Value) -> bool {
    let parts = ["matchExpressions", "matchFields"].map(|part| (items(&new[part]), items(&old[part])));
    let was_empty = parts.iter().all(|(_, old)| old.is_empty());
    let is_empty = parts.iter().all(|(new, _)| new.is_empty());
    (!was_empty || is_empty) && parts.iter().all(|(new, old)| new.starts_with(old))
}
