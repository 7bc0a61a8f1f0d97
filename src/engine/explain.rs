//! Expectations and what was seen, in words.

use serde_json::Value;

use crate::model::condition::Condition;
use crate::scenario::plan::{Check, InsightRef, ObjectRef, Subject, TextMatch, What, WriteMatch};

/// What is expected.
pub(super) fn what(what: &What) -> String {
    match what {
        What::Object(wanted, checks) => format!("{} with {}", object(wanted), list(checks)),
        What::Absent(wanted) => format!("no {}", object(wanted)),
        What::Insight(wanted, checks) => format!("an insight about {} with {}", insight(wanted), list(checks)),
        What::NoInsight(wanted, checks) => {
            format!("no insight about {} with {}", insight(wanted), list(checks))
        }
        What::Writes(wanted) => {
            format!("these writes in order: {}", wanted.iter().map(write).collect::<Vec<_>>().join("; "))
        }
        What::Statuses { of, condition, statuses } => {
            let of = match of {
                Subject::Object(wanted) => object(wanted),
                Subject::Insight(wanted) => format!("the insight about {}", insight(wanted)),
            };
            format!("{condition} of {of} to be {}", statuses.join(", then "))
        }
    }
}

/// `Kind/name` or `Kind/namespace/name`.
pub(super) fn object(wanted: &ObjectRef) -> String {
    let ObjectRef { resource, namespace, name } = wanted;
    if namespace.is_empty() { format!("{}/{name}", resource.kind) } else { format!("{}/{namespace}/{name}", resource.kind) }
}

/// `Kind/name` of an insight's subject.
pub(super) fn insight(wanted: &InsightRef) -> String {
    if wanted.name.is_empty() { wanted.kind.clone() } else { format!("{}/{}", wanted.kind, wanted.name) }
}

/// `Kind/name` of an object.
pub(super) fn name_of(found: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text(&found["kind"]), text(&found["metadata"]["name"]))
}

/// A condition as `Type=Status Reason "message"`.
pub(super) fn condition(found: &Value) -> String {
    let Condition { kind, status, reason, message } = Condition::read(found);
    let reason = if reason.is_empty() { reason } else { format!(" {reason}") };
    format!("{kind}={status}{reason} \"{message}\"")
}

/// What kind of write is wanted.
pub(super) fn write(wanted: &WriteMatch) -> String {
    let mut parts = Vec::new();
    parts.extend(wanted.verb.clone());
    parts.extend(wanted.object.as_ref().map(object));
    parts.extend(wanted.subresource.as_ref().filter(|s| !s.is_empty()).map(|s| format!("({s})")));
    parts.extend(wanted.by.as_ref().map(|by| format!("by {by}")));
    parts.extend(wanted.code.map(|code| format!("answered {code}")));
    parts.extend(wanted.message.as_ref().map(|message| format!("message {message}")));
    if !wanted.checks.is_empty() {
        parts.push(format!("with {}", list(&wanted.checks)));
    }
    parts.join(" ")
}

fn list(checks: &[Check]) -> String {
    if checks.is_empty() {
        return "anything".to_owned();
    }
    checks.iter().map(one).collect::<Vec<_>>().join(" and ")
}

fn one(check: &Check) -> String {
    match check {
        Check::Condition { kind, status, reason, message } => {
            let part = |name: &str, wanted: &Option<TextMatch>| {
                wanted.as_ref().map(|wanted| format!(" {name} {wanted}")).unwrap_or_default()
            };
            format!("condition {kind}{}{}{}", part("status", status), part("reason", reason), part("message", message))
        }
        Check::Field { path, value } => format!("{path} {value}"),
        Check::Unchanged { path } => format!("{path} unchanged"),
        Check::PodStatus(wanted) => format!("pod status {wanted}"),
    }
}
