//! The names that a CustomResourceDefinition gets: the naming, establishing and approval controllers.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::condition;

use crate::crd::validation::Approval;
use crate::gotext::quote;
use crate::metadata;
use crate::store::{Store, TableId};

/// The accepted names of the other definitions in the group.
#[derive(Debug, Default)]
pub(super) struct ClaimedNames {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

/// The reason and message of a name conflict, if there is one.
type Conflict = Option<(&'static str, String)>;

/// The statuses that the naming, establishing and approval controllers write to a definition, one write each.
pub(super) fn statuses(crd: &Value, claimed: &ClaimedNames, now: Time) -> Vec<Value> {
    let (accepted, conflict) = claimed.accept(crd);
    let mut written = Vec::new();
    let mut next = crd.clone();
    let mut conditions = next["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let is_established = |conditions: &[Value]| {
        condition::find(conditions, "Established").is_some_and(|found| found["status"] == "True")
    };
    let names = match &conflict {
        None => ("True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => ("False", *reason, message.as_str()),
    };
    set_condition(&mut conditions, "NamesAccepted", names, now);
    next["status"]["acceptedNames"] = accepted;
    let established = is_established(&conditions);
    if !established {
        let pending = match &conflict {
            None => ("False", "Installing", "the initial names have been accepted"),
            Some(_) => ("False", "NotAccepted", "not all names are accepted"),
        };
        set_condition(&mut conditions, "Established", pending, now);
    }
    next["status"]["conditions"] = json!(conditions);
    if next != *crd {
        written.push(next.clone());
    }
    if conflict.is_none() && !established {
        let done = ("True", "InitialNamesAccepted", "the initial names have been accepted");
        set_condition(&mut conditions, "Established", done, now);
        next["status"]["conditions"] = json!(conditions);
        written.push(next.clone());
    }
    if let Some(approval) = Approval::from_definition(crd) {
        let (status, reason, message) = approval.condition(crd);
        let kind = "KubernetesAPIApprovalPolicyConformant";
        set_condition(&mut conditions, kind, (status, reason, &message), now);
        let before = std::mem::replace(&mut next["status"]["conditions"], json!(conditions));
        if before != next["status"]["conditions"] {
            written.push(next);
        }
    }
    written
}

/// The names of the definitions of a group that wait for names.
pub(super) fn waiting(store: &Store, definitions: TableId, group: &str) -> Vec<String> {
    let waits = |crd: &Value| {
        crd["spec"]["group"] == group
            && condition::find_in_status(crd, "NamesAccepted").is_some_and(|found| found["status"] == "False")
    };
    let all = store.list(definitions, "").filter(|(_, _, entry)| waits(&entry.served()));
    all.map(|(_, name, _)| name.to_owned()).collect()
}

impl ClaimedNames {
    /// The names of the other definitions in the group of a definition.
    pub(super) fn of_others(store: &Store, definitions: TableId, crd: &Value) -> Self {
        let (group, own) = (&crd["spec"]["group"], metadata::text(crd, "name"));
        let mut claimed = Self::default();
        for (_, name, entry) in store.list(definitions, "") {
            let other = entry.served();
            if name == own || other["spec"]["group"] != *group {
                continue;
            }
            let names = &other["status"]["acceptedNames"];
            let text = |field: &str| names[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            claimed.resources.extend(["plural", "singular"].into_iter().filter_map(text));
            let short = names["shortNames"].as_array().into_iter().flatten();
            claimed.resources.extend(short.filter_map(Value::as_str).map(str::to_owned));
            claimed.kinds.extend(["kind", "listKind"].into_iter().filter_map(text));
        }
        claimed
    }

    /// The names that a definition gets, and the last conflict if it does not get all requested names.
    fn accept(&self, crd: &Value) -> (Value, Conflict) {
        let (asked, had) = (&crd["spec"]["names"], &crd["status"]["acceptedNames"]);
        let mut names = if had.is_object() { had.clone() } else { json!({}) };
        let mut conflict: Conflict = None;
        for (field, used, reason) in [
            ("plural", &self.resources, "PluralConflict"),
            ("singular", &self.resources, "SingularConflict"),
            ("shortNames", &self.resources, "ShortNamesConflict"),
            ("kind", &self.kinds, "KindConflict"),
            ("listKind", &self.kinds, "ListKindConflict"),
        ] {
            match name_conflict(&asked[field], &had[field], used) {
                Some(message) => conflict = Some((reason, message)),
                None => copy(&mut names, asked, field),
            }
        }
        copy(&mut names, asked, "categories");
        (names, conflict)
    }
}

fn copy(names: &mut Value, from: &Value, field: &str) {
    match from.get(field).filter(|value| !value.is_null()) {
        Some(value) => names[field] = value.clone(),
        None => {
            names.as_object_mut().map(|map| map.remove(field));
        }
    }
}

/// The message if other definitions use the requested names. Names that were accepted before stay.
fn name_conflict(asked: &Value, had: &Value, used: &BTreeSet<String>) -> Option<String> {
    let in_use = |name: &str| used.contains(name).then(|| format!("{} is already in use", quote(name)));
    match asked {
        Value::String(name) if asked != had => in_use(name),
        Value::Array(list) => {
            let previous = had.as_array().map(Vec::as_slice).unwrap_or_default();
            let fresh = list.iter().filter(|name| !previous.contains(name));
            let found: Vec<String> = fresh.filter_map(Value::as_str).filter_map(in_use).collect();
            match found.as_slice() {
                [] => None,
                [only] => Some(only.clone()),
                _ => Some(format!("[{}]", found.join(", "))),
            }
        }
        _ => None,
    }
}

/// Sets the condition that reports the progress of a deletion.
pub(crate) fn set_terminating(crd: &mut Value, reason: &str, message: &str, now: Time) {
    let mut conditions = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
    set_condition(&mut conditions, "Terminating", ("True", reason, message), now);
    crd["status"]["conditions"] = json!(conditions);
}

/// Sets a condition like these controllers: `lastTransitionTime` changes only with the status.
fn set_condition(
    conditions: &mut Vec<Value>,
    kind: &str,
    (status, reason, message): (&str, &str, &str),
    now: Time,
) {
    let mut entry = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": rfc3339(now),
    });
    match conditions.iter_mut().find(|found| found["type"] == kind) {
        Some(found) => {
            if found["status"] == entry["status"] {
                entry["lastTransitionTime"] = found["lastTransitionTime"].clone();
            }
            *found = entry;
        }
        None => conditions.push(entry),
    }
}
