//! The lines about nodes that the node controller prints, so that its log is a history of the update.

use windtunnel_controllers::Effect;
use windtunnel_core::clock::Time;
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::{Change, Object};

use crate::mco::annotations::{CURRENT_CONFIG, CURRENT_IMAGE, DESIRED_CONFIG, DESIRED_IMAGE, REASON, STATE};
use crate::mco::node::{NodeState, unready_reason};

const ZONE: &str = "topology.kubernetes.io/zone";

/// The lines about a change of a node in a pool: its update completed, or its annotations and taints changed.
pub(super) fn about_node(change: &Change, pool: &str, now: Time) -> Vec<Effect> {
    let Some(old) = &change.old else { return Vec::new() };
    let node = &change.object;
    let zone = node.label(ZONE).map(|zone| format!("[zone={zone}]")).unwrap_or_default();
    let line = |text: String| {
        let message = format_args!("Pool {pool}{zone}: node {}: {text}", node.name());
        Effect::Log(klog(Severity::Info, now, "node_controller.go:1130", message))
    };
    changes(old, node).into_iter().map(line).collect()
}

/// Returns whether a change of a node is the end of its update (`updateNode`, `isNodeDone`).
pub(super) fn completes_update(old: &Object, node: &Object) -> bool {
    let was_behind = old.annotation(CURRENT_CONFIG) != old.annotation(DESIRED_CONFIG);
    was_behind && NodeState::of(node, None).done
}

/// The annotations that changed, with their new values (`hasNodeAnnotationChanged`).
pub(super) fn changed_annotations<'a>(
    old: &'a Object,
    node: &'a Object,
) -> impl Iterator<Item = (&'static str, Option<&'a str>)> {
    let keys = [CURRENT_CONFIG, DESIRED_CONFIG, STATE, REASON, CURRENT_IMAGE, DESIRED_IMAGE];
    let changed = keys.into_iter().filter(|key| old.annotation(key) != node.annotation(key));
    changed.map(|key| (key, node.annotation(key)))
}

fn changes(old: &Object, node: &Object) -> Vec<String> {
    let (was, is) = (unready_reason(old), unready_reason(node));
    let readiness = (was != is).then(|| match is {
        Some(reason) => format!("Reporting unready: {reason}"),
        None => "Reporting ready".to_owned(),
    });
    let mut texts: Vec<String> = readiness.into_iter().collect();
    if completes_update(old, node) {
        let desired = node.annotation(DESIRED_CONFIG).unwrap_or_default();
        texts.push(format!("Completed update to {desired}"));
        return texts;
    }
    texts.extend(changed_annotations(old, node).map(|(key, value)| match value {
        Some(value) => format!("changed annotation {key} = {value}"),
        None => format!("lost annotation {key}"),
    }));
    for (part, path) in [("labels", "/metadata/labels"), ("taints", "/spec/taints")] {
        if old.pointer(path) != node.pointer(path) {
            texts.push(format!("changed {part}"));
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(annotations: &[(&str, &str)]) -> Object {
        let annotations: serde_json::Map<_, _> =
            annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        Object::new(json!({ "metadata": { "name": "n", "annotations": annotations } }))
    }

    #[test]
    fn the_end_of_an_update_replaces_all_other_lines() {
        let old = node(&[(CURRENT_CONFIG, "a"), (DESIRED_CONFIG, "b"), (STATE, "Working"), (REASON, "r")]);
        let done = node(&[(CURRENT_CONFIG, "b"), (DESIRED_CONFIG, "b"), (STATE, "Done")]);
        assert_eq!(changes(&old, &done), ["Completed update to b"]);
        assert!(!completes_update(&done, &done) && !completes_update(&old, &old));
        let image =
            node(&[(CURRENT_CONFIG, "b"), (DESIRED_CONFIG, "b"), (STATE, "Done"), (CURRENT_IMAGE, "i")]);
        assert!(!completes_update(&old, &image), "it still has a custom image");
    }

    #[test]
    fn removed_annotations_images_and_labels_have_lines() {
        let old = node(&[(CURRENT_CONFIG, "a"), (REASON, "r")]);
        let mut next = node(&[(CURRENT_CONFIG, "a"), (DESIRED_IMAGE, "")]).to_value();
        next["metadata"]["labels"] = json!({ "a": "b" });
        let expected =
            [format!("lost annotation {REASON}"), format!("changed annotation {DESIRED_IMAGE} = ")];
        assert_eq!(
            changes(&old, &Object::new(next)),
            [&expected[..], &["changed labels".to_owned()]].concat()
        );
    }

    #[test]
    fn a_node_reports_why_no_pods_can_run_on_it() {
        let node = |conditions: &[(&str, &str)], cordoned: bool| {
            let condition = |(kind, status): &(&str, &str)| json!({ "type": kind, "status": status });
            let conditions: Vec<_> = conditions.iter().map(condition).collect();
            let (spec, status) = (json!({ "unschedulable": cordoned }), json!({ "conditions": conditions }));
            Object::new(json!({ "metadata": { "name": "n" }, "spec": spec, "status": status }))
        };
        let ready = node(&[("DiskPressure", "False"), ("Ready", "True")], false);
        for (other, expected) in [
            (node(&[("Ready", "Unknown")], true), "NotReady=Unknown"),
            (node(&[("DiskPressure", "True"), ("Ready", "False")], false), "OutOfDisk=True"),
            (node(&[("Ready", "True")], true), "Unschedulable"),
        ] {
            assert_eq!(
                changes(&ready, &other),
                [format!("Reporting unready: node n is reporting {expected}")]
            );
            assert_eq!(changes(&other, &ready), ["Reporting ready"]);
        }
    }
}
