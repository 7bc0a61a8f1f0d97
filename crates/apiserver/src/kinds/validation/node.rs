//! Validation of nodes and runtime classes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Errors, Path, immutable, items, text};
use crate::names;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn node(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    // A real server reports the taints under `metadata`.
    let metadata = Path::Field(&Path::Root, "metadata");
    // An update checks them twice, which shows in the causes.
    for _ in 0..=usize::from(old.is_some()) {
        taints(&object["spec"]["taints"], Path::Field(&metadata, "taints"), errors);
    }
    let Some(old) = old else { return };
    let at = Path::Field(&Path::Root, "spec");
    let (new, old) = (&object["spec"], &old["spec"]);
    if !items(&old["podCIDRs"]).is_empty() && new["podCIDRs"] != old["podCIDRs"] {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.forbidden(Path::Field(&at, "podCIDRs"), why);
    }
    if !super::absent(&old["providerID"]) && new["providerID"] != old["providerID"] {
        let why = "node updates may not change providerID except from \"\" to valid";
        errors.forbidden(Path::Field(&at, "providerID"), why);
    }
}

fn taints(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut seen = BTreeSet::new();
    for (index, taint) in items(list).iter().enumerate() {
        let at = Path::Index(&at, index);
        let (key, value, effect) = (text(&taint["key"]), text(&taint["value"]), text(&taint["effect"]));
        errors.each(Path::Field(&at, "key"), key, names::labels::label_key(key));
        if !value.is_empty() {
            errors.each(Path::Field(&at, "value"), value, names::labels::label_value(value));
        }
        super::one_of(&taint["effect"], &EFFECTS, Path::Field(&at, "effect"), errors);
        if !seen.insert((key, effect)) {
            // Go prints the internal struct, in the order of its fields.
            let added = &taint["timeAdded"];
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{added}}}",
                json!(key),
                json!(value),
                json!(effect)
            );
            let time = if added.is_null() { "<nil>".to_owned() } else { added.to_string() };
            let quote = crate::gotext::quote;
            let syntax = format!(
                "core.Taint{{Key:{}, Value:{}, Effect:{}, TimeAdded:{time}}}",
                quote(key),
                quote(value),
                quote(effect)
            );
            errors.duplicate_of(at, shown, syntax, "taints must be unique by key and effect pair");
        }
    }
}

/// Validates a runtime class: its handler is a name and immutable (`ValidateRuntimeClass`).
pub(super) fn runtime_class(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "handler");
    if let Some(old) = old {
        immutable(&object["handler"], Some(&old["handler"]), at, errors);
        return;
    }
    let handler = text(&object["handler"]);
    errors.each(at, handler, names::label(handler));
}
