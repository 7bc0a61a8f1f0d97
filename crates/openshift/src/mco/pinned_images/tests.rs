//! Tests of one attempt to pull pinned images, and of the pools' sets.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::registry::{Image, Pull};
use windtunnel_core::resources::PINNED_IMAGE_SETS;
use windtunnel_core::{Change, ChangeKind, Object, View};

use super::PinnedSet;
use super::controller::references;
use super::plan::{Attempt, Source, attempt};
use crate::mco::config_node::complete_sets;

#[expect(clippy::needless_pass_by_value, reason = "callers write the values in place")]
fn node(labels: Value, ready: &str, storage: &str) -> Object {
    Object::new(json!({
        "metadata": { "name": "w", "labels": labels },
        "status": {
            "allocatable": { "ephemeral-storage": storage },
            "conditions": [{ "type": "Ready", "status": ready }, { "type": "DiskPressure", "status": "False" }],
        },
    }))
}

fn worker() -> Object {
    node(json!({}), "True", "114396791822")
}

fn set(images: &[&str]) -> PinnedSet {
    PinnedSet {
        name: "s".to_owned(),
        generation: 1,
        images: images.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// An attempt in which each pull takes ten seconds, and a slow one 100 seconds. Images are missing, hang, are slow
/// or have a size in GiB by their names.
fn pull(node: &Object, images: &[&str], present: &[&str]) -> Attempt {
    let image = |name: &str| Image {
        pull: match name.split('-').next() {
            Some("missing") => Pull::ManifestUnknown,
            Some("hangs") => Pull::Hangs,
            Some("slow") => Pull::Slow,
            _ => Pull::Succeeds,
        },
        size: name.strip_prefix("big-").and_then(|size| Some(size.parse::<u64>().ok()? << 30)),
        ..Image::default()
    };
    let pull_time = |_: &str, is_slow: bool| SignedDuration::from_secs(if is_slow { 100 } else { 10 });
    let source = Source { image: &image, pull_time: &pull_time };
    let present: BTreeSet<String> = present.iter().map(|name| (*name).to_owned()).collect();
    attempt(node, &[&set(images)], &present, &source)
}

#[test]
fn workers_pull_five_images_at_a_time_and_control_plane_nodes_one() {
    let six = ["a", "b", "c", "d", "e", "f"];
    let found = pull(&worker(), &six, &[]);
    assert_eq!((found.duration.as_secs(), found.pulled.len(), found.failure), (22, 6, None));
    let master = node(json!({ "node-role.kubernetes.io/master": "" }), "True", "114396791822");
    assert_eq!(pull(&master, &six, &[]).duration.as_secs(), 66);
    let found = pull(&worker(), &six, &["a", "b", "c", "d", "e"]);
    assert_eq!(found.pulled.into_iter().collect::<Vec<_>>(), ["f"], "only missing images are pulled");
}

#[test]
fn an_attempt_ends_after_five_minutes_and_keeps_what_it_has() {
    let master = node(json!({ "node-role.kubernetes.io/master": "" }), "True", "114396791822");
    let found = pull(&master, &["slow-1", "slow-2", "slow-3"], &[]);
    assert_eq!((found.duration.as_secs(), found.pulled.len()), (300, 2));
    let timeout = "requeue: prefetching images incomplete after timeout: 5m0s";
    assert_eq!(found.failure.as_deref(), Some(timeout));
    assert_eq!(pull(&worker(), &["hangs-1"], &[]).failure.as_deref(), Some(timeout));
}

#[test]
fn nothing_is_pulled_if_an_image_is_missing_or_does_not_fit() {
    let failure = |node: &Object, images: &[&str]| {
        let found = pull(node, images, &[]);
        assert_eq!((found.duration.as_secs(), found.pulled.len()), (0, 0));
        found.failure.unwrap_or_default()
    };
    assert_eq!(
        failure(&worker(), &["a", "missing-1"]),
        "failed to execute podman manifest inspect for \"missing-1\": exit status 125"
    );
    let short = "storage available is less than minimum required";
    assert_eq!(failure(&worker(), &["big-30", "big-20"]), short);
    assert_eq!(pull(&worker(), &["big-30", "big-10"], &[]).failure, None, "80 of 90 GiB");
    let tiny = node(json!({}), "True", "1048576Ki");
    assert_eq!(failure(&tiny, &["a"]), format!("{short} capacity: 1073741824, required: 17179869184"));
    let away = node(json!({}), "Unknown", "114396791822");
    assert_eq!(failure(&away, &["a"]), "node w is reporting NotReady=Unknown");
}

#[test]
fn a_pool_has_the_sets_that_its_selector_selects_by_name() {
    let mut view = View::default();
    for (name, role) in [("b", "worker"), ("a", "worker"), ("c", "master")] {
        let labels = json!({ "machineconfiguration.openshift.io/role": role });
        let object = Object::new(json!({ "metadata": { "name": name, "labels": labels } }));
        let key = PINNED_IMAGE_SETS.key("", name);
        view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
    }
    let pool = |role: &str| {
        let selector = json!({ "matchLabels": { "machineconfiguration.openshift.io/role": role } });
        Object::new(json!({ "spec": { "machineConfigSelector": selector } }))
    };
    assert_eq!(references(&pool("worker"), &view), json!([{ "name": "a" }, { "name": "b" }]));
    assert_eq!(references(&pool("infra"), &view), Value::Null);
}

#[test]
fn a_set_is_complete_in_its_current_generation_only() {
    let node = Object::new(json!({ "status": { "pinnedImageSets": [
        set(&[]).entry(true, None),
        { "name": "t", "desiredGeneration": 2, "currentGeneration": 1 },
        { "name": "u", "desiredGeneration": 1, "lastFailedGeneration": 1, "lastFailedGenerationError": "e" },
    ] } }));
    assert_eq!(complete_sets(&node).collect::<Vec<_>>(), [("s", 1)]);
    assert_eq!(
        set(&[]).entry(false, Some("e")),
        json!({ "name": "s", "desiredGeneration": 1, "lastFailedGeneration": 1, "lastFailedGenerationError": "e" })
    );
}
