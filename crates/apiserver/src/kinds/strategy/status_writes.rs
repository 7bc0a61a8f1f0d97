//! The fields that a write of a status sets or keeps.

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;

use super::{Context, TEMPLATE_GENERATION, node, object_at, pod};
use crate::kinds::Kind;
use crate::profile::since;

/// Sets and keeps fields in a write of a status.
pub(super) fn prepare(kind: &Kind, object: &mut Value, old: &Value, context: Context<'_>) {
    match (&*kind.resource.group, &*kind.resource.plural) {
        ("", "pods") => pod::prepare_status(object, old),
        ("", "nodes") => node::prepare_status(object, old),
        ("", "persistentvolumes") => set_phase_time(object, old, context),
        ("apps", "daemonsets") => keep_template_count(object, old),
        _ => {}
    }
}

/// Sets the time of the last change of a volume's phase, unless the client does.
fn set_phase_time(volume: &mut Value, old: &Value, context: Context<'_>) {
    const TIME: &str = "lastPhaseTransitionTime";
    if context.minor < since::VOLUME_PHASE_TIME {
        return;
    }
    let is_same = volume["status"]["phase"] == old["status"]["phase"];
    // A null is the zero time, which is a given one.
    let (given, before) = (volume["status"].get(TIME), &old["status"][TIME]);
    let time = match (is_same, given.is_none()) {
        (true, true) => before.clone(),
        (false, is_absent) if is_absent || given == Some(before) => json!(rfc3339(context.now)),
        _ => return,
    };
    if let Some(status) = object_at(volume, &["status"]).filter(|_| !time.is_null()) {
        status.insert(TIME.to_owned(), time);
    }
}

/// Keeps the annotation that shows a field of the specification.
fn keep_template_count(set: &mut Value, old: &Value) {
    let Some(count) = old["metadata"]["annotations"].get(TEMPLATE_GENERATION) else { return };
    if let Some(annotations) = object_at(set, &["metadata", "annotations"]) {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), count.clone());
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::Identity;
    use windtunnel_core::clock::Time;

    use super::*;

    #[test]
    fn the_time_of_a_phase_changes_with_it_unless_the_client_sets_it() {
        const BEFORE: &str = "2020-01-01T00:00:00Z";
        let user = Identity::admin();
        let context = Context { minor: 36, now: Time::UNIX_EPOCH, user: &user, shares_labels: false };
        let old = json!({ "status": { "phase": "Pending", "lastPhaseTransitionTime": BEFORE } });
        let now = rfc3339(Time::UNIX_EPOCH);
        for (status, time) in [
            (json!({ "phase": "Pending" }), BEFORE),
            (json!({ "phase": "Bound" }), &*now),
            (json!({ "phase": "Bound", "lastPhaseTransitionTime": BEFORE }), &*now),
            (
                json!({ "phase": "Bound", "lastPhaseTransitionTime": "2021-01-01T00:00:00Z" }),
                "2021-01-01T00:00:00Z",
            ),
            (json!({ "phase": "Pending", "lastPhaseTransitionTime": null }), ""),
        ] {
            let mut volume = json!({ "status": status });
            set_phase_time(&mut volume, &old, context);
            let set = volume["status"]["lastPhaseTransitionTime"].as_str();
            assert_eq!(set.unwrap_or_default(), time, "{status}");
        }
    }

    #[test]
    fn a_status_keeps_the_count_of_templates() {
        let old = json!({ "metadata": { "annotations": { TEMPLATE_GENERATION: "3" } } });
        let mut new = json!({ "metadata": {} });
        keep_template_count(&mut new, &old);
        assert_eq!(new, old);
    }
}
