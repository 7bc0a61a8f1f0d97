//! Validation of events, which are in both groups (`ValidateEventCreate`, `ValidateEventUpdate`).

use serde_json::Value;

use super::{Errors, Path, TEXT, absent, immutable_as, text};
use crate::names;

/// Fields that an update in `events.k8s.io` must not change, in the order in which the server checks them: name, name in
/// errors, and internal type. It checks the reason twice, which shows in the causes.
const IMMUTABLE: [(&str, &str, &str); 14] = [
    ("involvedObject", "involvedObject", "ObjectReference"),
    ("reason", "reason", TEXT),
    ("message", "message", TEXT),
    ("source", "source", "EventSource"),
    ("firstTimestamp", "firstTimestamp", "?A"),
    ("lastTimestamp", "lastTimestamp", "?A"),
    ("count", "count", "n"),
    ("reason", "reason", TEXT),
    ("type", "type", TEXT),
    ("eventTime", "eventTime", "?A"),
    ("action", "action", TEXT),
    ("related", "related", "?ObjectReference"),
    ("reportingComponent", "reportingController", TEXT),
    ("reportingInstance", "reportingInstance", TEXT),
];

/// Validates an event of the core group.
pub(super) fn event(object: &Value, _: Option<&Value>, errors: &mut Errors<'_>) {
    common(object, "reportingComponent", errors);
}

/// Validates an event of `events.k8s.io`.
pub(super) fn new_event(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    common(object, "reportingController", errors);
    if old.is_none_or(|old| old["series"] != object["series"]) {
        series(&object["series"], errors);
    }
    match old {
        None => new(object, errors),
        Some(old) => {
            for (field, shown, type_name) in IMMUTABLE {
                immutable_as(type_name, &object[field], Some(&old[field]), at(shown), errors);
            }
        }
    }
}

const fn at(field: &str) -> Path<'_> {
    Path::Field(&Path::Root, field)
}

/// Rules for new and updated events of either group.
fn common(object: &Value, controller: &str, errors: &mut Errors<'_>) {
    let has_exact_time = !absent(&object["eventTime"]);
    let involved_namespace = text(&object["involvedObject"]["namespace"]);
    let own_namespace = text(&object["metadata"]["namespace"]);
    // An event about a cluster-scoped object belongs in `default`.
    let is_allowed = match (involved_namespace.is_empty(), has_exact_time) {
        (true, false) => own_namespace == "default",
        (true, true) => matches!(own_namespace, "default" | "kube-system"),
        (false, false) => involved_namespace == own_namespace,
        (false, true) => true,
    };
    if !is_allowed {
        let involved = at("involvedObject");
        errors.invalid(involved.child("namespace"), involved_namespace, "does not match event.namespace");
    }
    if has_exact_time {
        exact(object, controller, errors);
    }
}

/// Rules for new events of `events.k8s.io`.
fn new(object: &Value, errors: &mut Errors<'_>) {
    if absent(&object["eventTime"]) {
        errors.required(at("eventTime"), "");
    }
    let kind = text(&object["type"]);
    if kind != "Normal" && kind != "Warning" {
        errors.invalid(at("type"), "", format!("has invalid value: {kind}"));
    }
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if !absent(&object[field]) {
            errors.invalid(at(field), "", "needs to be unset");
        }
    }
}

/// Rules for the series of an event.
fn series(series: &Value, errors: &mut Errors<'_>) {
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        errors.invalid(at("series.count"), "", "should be at least 2");
    }
    if absent(&series["lastObservedTime"]) {
        errors.required(at("series.lastObservedTime"), "");
    }
}

/// Rules for an event with an exact time.
fn exact(object: &Value, controller: &str, errors: &mut Errors<'_>) {
    let component = text(&object["reportingComponent"]);
    if component.is_empty() {
        errors.required(at(controller), "");
    }
    errors.each(at(controller), component, names::labels::label_key(component));
    for (field, most) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        let given = text(&object[field]);
        if given.is_empty() {
            errors.required(at(field), "");
        } else if given.len() > most {
            errors.invalid(at(field), "", format!("can have at most {most} characters"));
        }
    }
    if text(&object["message"]).len() > 1024 {
        errors.invalid(at("message"), "", "can have at most 1024 characters");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::clock::Time;
    use windtunnel_core::resources::EVENTS;
    use windtunnel_core::{Identity, Resource, Write};

    use super::*;
    use crate::ApiServer;

    const NEW: Resource = Resource::namespaced("events.k8s.io", "v1", "Event", "events");

    /// The message with which the server rejects a write; empty if it accepts it.
    fn rejection(server: &mut ApiServer, write: &Write) -> String {
        let answer = server.write(write, &Identity::admin(), Time::UNIX_EPOCH);
        answer.err().map(|rejection| rejection.message).unwrap_or_default()
    }

    fn of_node(namespace: &str, more: &Value) -> Value {
        let mut event = json!({"metadata": {"namespace": namespace, "name": "a"}, "involvedObject": {"kind": "Node", "name": "n"}});
        json_patch::merge(&mut event, more);
        event
    }

    #[test]
    fn events_about_cluster_scoped_objects_belong_in_default_or_with_an_exact_time_in_kube_system() {
        let mut server = ApiServer::builder().build(Time::UNIX_EPOCH);
        let message = "involvedObject.namespace: Invalid value: \"\": does not match event.namespace";
        assert!(
            rejection(&mut server, &Write::create(&EVENTS, of_node("kube-system", &json!({}))))
                .contains(message)
        );
        assert_eq!(rejection(&mut server, &Write::create(&EVENTS, of_node("default", &json!({})))), "");
        let exact = json!({"eventTime": "2024-01-01T00:00:00.000000Z", "reportingInstance": "i", "action": "A", "reason": "R"});
        let write = Write::create(&EVENTS, of_node("kube-system", &exact));
        assert!(rejection(&mut server, &write).contains("reportingComponent: Required value"));
        let mut exact = exact;
        exact["reportingComponent"] = json!("c");
        assert_eq!(rejection(&mut server, &Write::create(&EVENTS, of_node("kube-system", &exact))), "");
    }

    #[test]
    fn an_update_of_a_new_event_may_change_only_its_series() {
        let mut server = ApiServer::builder().build(Time::UNIX_EPOCH);
        let event = json!({
            "metadata": {"namespace": "default", "name": "a"},
            "eventTime": "2024-01-01T00:00:00.000000Z",
            "reportingController": "c",
            "reportingInstance": "i",
            "action": "A",
            "reason": "R",
            "type": "Normal",
            "regarding": {"kind": "Node", "name": "n"},
        });
        assert_eq!(rejection(&mut server, &Write::create(&NEW, event)), "");
        let mut patch =
            |patch: Value| rejection(&mut server, &Write::merge_patch(&NEW, "default", "a", patch));
        assert!(patch(json!({"reason": "S"})).contains("reason: Invalid value: \"S\": field is immutable"));
        assert!(patch(json!({"type": null})).contains("type: Invalid value: \"\": field is immutable"));
        let reference = patch(json!({"regarding": {"kind": null}}));
        assert!(
            reference
                .contains(r#"involvedObject: Invalid value: {"Kind":"","Namespace":"","Name":"n","UID":""#),
            "{reference}"
        );
        let series = |count: u32| json!({"series": {"count": count, "lastObservedTime": "2024-01-01T00:01:00.000000Z"}});
        assert!(patch(series(1)).contains("series.count: Invalid value: \"\": should be at least 2"));
        assert_eq!(patch(series(2)), "");
    }
}
