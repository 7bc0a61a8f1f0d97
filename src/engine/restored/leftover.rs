//! One thing that an update there and back leaves: what it is, where it is, and where it comes from.

use std::fmt;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::Key;
use windtunnel_core::condition::Condition;
use windtunnel_core::text::truncate;

use super::contents::object_name;
use super::difference::{Difference, is_condition, is_hidden};
use super::trace;
use crate::plan::{FieldPath, Ignored};

/// The greatest number of characters of a value in a text.
const VALUE_MAX: usize = 80;

/// The number of characters before a difference that a shortened text keeps.
const CONTEXT: usize = 20;

/// The kind of a leftover, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// An object is missing.
    Missing,
    /// An object is new.
    New,
    /// A capability is enabled or known, or is no longer.
    Capability,
    /// A CustomResourceDefinition has stored objects in other versions.
    StoredVersion,
    /// A CustomResourceDefinition differs.
    Definition,
    /// A role or a binding differs.
    Access,
    /// A workload differs: its template, its pods.
    Workload,
    /// A condition is new, gone, or differs.
    Condition,
    /// Another field is new, gone, or differs.
    Field,
    /// A trace that every update leaves by design.
    Trace,
}

impl What {
    /// All kinds, the most severe first.
    pub const ALL: [Self; 10] = [
        Self::Missing,
        Self::New,
        Self::Capability,
        Self::StoredVersion,
        Self::Definition,
        Self::Access,
        Self::Workload,
        Self::Condition,
        Self::Field,
        Self::Trace,
    ];

    /// The name in documents for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing-object",
            Self::New => "new-object",
            Self::Capability => "capability",
            Self::StoredVersion => "stored-version",
            Self::Definition => "definition",
            Self::Access => "access",
            Self::Workload => "workload",
            Self::Condition => "condition",
            Self::Field => "field",
            Self::Trace => "trace",
        }
    }

    /// The heading of a list of such leftovers.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Missing => "missing objects",
            Self::New => "new objects",
            Self::Capability => "capabilities",
            Self::StoredVersion => "stored versions",
            Self::Definition => "definitions",
            Self::Access => "roles and bindings",
            Self::Workload => "workloads",
            Self::Condition => "conditions",
            Self::Field => "fields",
            Self::Trace => "traces that every update leaves",
        }
    }

    /// The category of a difference: in a field, or with an empty path of a whole object, which is new or missing.
    fn of(kind: &str, key: &Key, field: &FieldPath, is_new: bool) -> Self {
        let is_in = |outer: &str| FieldPath::parse(outer).is_ok_and(|outer| field.is_in(&outer));
        match kind {
            _ if trace::is_trace(kind, key, field) && (is_new || !field.is_empty()) => Self::Trace,
            _ if field.is_empty() && is_new => Self::New,
            _ if field.is_empty() => Self::Missing,
            "ClusterVersion" if is_in("status.capabilities") => Self::Capability,
            "CustomResourceDefinition" if is_in("status.storedVersions") => Self::StoredVersion,
            "CustomResourceDefinition" if is_in("spec") => Self::Definition,
            "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding" => Self::Access,
            _ if is_in("status.conditions") => Self::Condition,
            "Pod" | "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "CronJob" => Self::Workload,
            _ => Self::Field,
        }
    }
}

/// A difference between a cluster and its earlier state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its category.
    pub what: What,
    /// The object as `Kind/name` or `Kind/namespace/name`.
    pub object: String,
    /// The field; empty if the object itself is new or missing.
    pub field: FieldPath,
    /// The earlier value; null for none, and for whole objects.
    pub before: Value,
    /// The value now; null for none, and for whole objects.
    pub after: Value,
    /// The release whose payload has the object, if the earlier release's has not.
    pub release: Option<Version>,
    /// The object that owns it, as `Kind/name`; empty if there is none.
    pub owner: String,
    /// The first field manager of a new object: the client that created it; empty if it is not known.
    pub manager: String,
    pub(super) kind: String,
    pub(super) key: Key,
}

impl Leftover {
    /// An object that is new.
    pub(super) fn new_object(kind: &str, key: &Key, owner: String) -> Self {
        let field = FieldPath::default();
        Self { owner, ..Self::at(What::of(kind, key, &field, true), kind, key, field) }
    }

    /// An object that is missing.
    pub(super) fn missing(kind: &str, key: &Key) -> Self {
        let field = FieldPath::default();
        Self::at(What::of(kind, key, &field, false), kind, key, field)
    }

    /// A field that differs.
    pub(super) fn of_field(kind: &str, key: &Key, difference: Difference) -> Self {
        let Difference { field, before, after } = difference;
        Self { before, after, ..Self::at(What::of(kind, key, &field, false), kind, key, field) }
    }

    fn at(what: What, kind: &str, key: &Key, field: FieldPath) -> Self {
        Self {
            what,
            object: object_name(kind, key),
            field,
            before: Value::Null,
            after: Value::Null,
            release: None,
            owner: String::new(),
            manager: String::new(),
            kind: kind.to_owned(),
            key: key.clone(),
        }
    }

    /// Whether it counts as a difference: traces do not.
    pub fn counts(&self) -> bool {
        self.what != What::Trace
    }

    /// Whether the expectation allows it.
    pub(super) fn is_ignored(&self, ignored: &[Ignored]) -> bool {
        ignored.iter().any(|ignored| ignored.covers(&self.key, &self.field))
    }

    /// Whether both are about the same field of the same object.
    pub(in crate::engine) fn is_at(&self, other: &Self) -> bool {
        self.key == other.key && self.field == other.field
    }

    /// Renders it for machines.
    pub fn to_json(&self) -> Value {
        json!({
            "what": self.what.name(),
            "object": self.object,
            "field": self.field.to_string(),
            "before": self.before,
            "after": self.after,
            "release": self.release.as_ref().map(ToString::to_string),
            "owner": self.owner,
            "manager": self.manager,
        })
    }
}

/// The leftover in one line, without what it is.
impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, field, before, after, .. } = self;
        if field.is_empty() {
            f.write_str(object)?;
            if let Some(release) = &self.release {
                write!(f, ", from the payload of {release}")?;
            }
            return match (self.owner.as_str(), self.manager.as_str()) {
                ("", "") => Ok(()),
                ("", manager) => write!(f, ", created by {manager}"),
                (owner, _) => write!(f, ", owned by {owner}"),
            };
        }
        write!(f, "{object}: {field} ")?;
        if is_hidden(before, after) {
            return f.write_str("has another value, which is not printed");
        }
        match (items(before), items(after)) {
            (Some(before), Some(after)) => {
                let only_in = |one: &[&str], other: &[&str]| {
                    let only: Vec<&str> = one.iter().filter(|item| !other.contains(item)).copied().collect();
                    only.join(", ")
                };
                let (gone, new) = (only_in(&before, &after), only_in(&after, &before));
                match (gone.as_str(), new.as_str()) {
                    ("", "") => f.write_str("has another order"),
                    ("", new) => write!(f, "has {new} as well"),
                    (gone, "") => write!(f, "lacks {gone}"),
                    (gone, new) => write!(f, "has {new} and lacks {gone}"),
                }
            }
            _ => {
                let (before, after) = excerpts(&text(before), &text(after));
                write!(f, "was {before} and is {after}")
            }
        }
    }
}

/// The items of a list of texts; those of a missing list are none.
fn items(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "absent".to_owned(),
        Value::Array(items) if items.iter().any(Value::is_object) => match items.len() {
            1 => "a list of 1 item".to_owned(),
            count => format!("a list of {count} items"),
        },
        condition if is_condition(condition) => {
            let Condition { kind, status, reason, message } = Condition::from_value(condition);
            let reason = if reason.is_empty() { reason } else { format!(" {reason}") };
            let message = if message.is_empty() { message } else { format!(" {message:?}") };
            format!("{kind}={status}{reason}{message}")
        }
        value => value.to_string(),
    }
}

/// Shortens two texts to the part in which they differ, with a few characters before it.
fn excerpts(one: &str, other: &str) -> (String, String) {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let is_long = one.chars().count().max(other.chars().count()) > VALUE_MAX;
    let skipped = if is_long { same.saturating_sub(CONTEXT) } else { 0 };
    let excerpt = |text: &str| {
        let rest: String = text.chars().skip(skipped).collect();
        let start = if skipped == 0 { "" } else { "..." };
        format!("{start}{}", truncate(&rest, VALUE_MAX))
    };
    (excerpt(one), excerpt(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_value_is_only_said_to_differ() {
        let key = windtunnel_core::resources::SECRETS.key("default", "mine");
        let data = |value: &str| json!({ "data": { "token": value } });
        let found = super::super::difference::differences("Secret", &data("b25l"), &data("dHdv"));
        let leftovers = found.into_iter().map(|one| Leftover::of_field("Secret", &key, one));
        let [leftover] = leftovers.collect::<Vec<_>>().try_into().unwrap();
        let text = "Secret/default/mine: data.token has another value, which is not printed";
        assert_eq!(leftover.to_string(), text);
        let for_machines = leftover.to_json().to_string();
        assert!(!for_machines.contains("b25l") && !for_machines.contains("dHdv"), "{for_machines}");
    }

    #[test]
    fn long_values_are_shortened_to_their_difference() {
        let long = |end: &str| format!("{}{end}", "a".repeat(200));
        let (one, other) = excerpts(&long("b"), &long("c"));
        assert_eq!(one, format!("...{}b", "a".repeat(CONTEXT)));
        assert_eq!(other, format!("...{}c", "a".repeat(CONTEXT)));
        assert_eq!(excerpts("ab", "ac"), ("ab".to_owned(), "ac".to_owned()));
    }
}
