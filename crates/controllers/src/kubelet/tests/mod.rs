//! A kubelet and the pods of its node.

mod failing;
mod lease;
mod mirrors;
mod probes;
mod processes;
mod starting;
mod static_pods;
mod stopped;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_IMAGE_POLICIES, EVENTS, NODES, PODS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Key, Object, Write, condition};

use super::Kubelet;
use crate::environment::Standalone;
use crate::registry::{Image, Pull, Registry, Signature};
use crate::testing::{Rig, check_recovery};

const IMAGE: &str = "quay.io/openshift-release-dev/ocp-release@sha256:aaaa";

/// Adds node `master-0`, its kubelet of version `kubelet`, and a registry where pulls of [`IMAGE`] have the
/// result `pull`.
fn seat(rig: &mut Rig, pull: Pull, kubelet: &str) {
    seat_with(rig, Image { pull, ..Image::default() }, kubelet);
}

fn seat_with(rig: &mut Rig, image: Image, kubelet: &str) {
    let image = Image { sigstore: Signature::Missing, ..image };
    let registry = Registry { images: BTreeMap::from([("sha256:aaaa".to_owned(), image)]) };
    let environment = Arc::new(Standalone { registry, ..Standalone::default() });
    rig.put(
        &NODES,
        json!({ "metadata": { "name": "master-0" }, "status": { "nodeInfo": { "kubeletVersion": kubelet } } }),
    );
    rig.seat(move || Box::new(Kubelet::new("master-0", Arc::clone(&environment) as _, &Streams::new(7))));
}

/// A version pod, as the cluster-version operator creates it, with two init containers and a main container.
fn version_pod() -> Value {
    let container = |name: &str| json!({ "name": name, "image": IMAGE });
    json!({
        "metadata": { "namespace": "ns", "name": "version-x" },
        "spec": {
            "nodeName": "master-0",
            "restartPolicy": "OnFailure",
            "activeDeadlineSeconds": 120,
            "initContainers": [container("cleanup"), container("copy")],
            "containers": [container("rename")],
        },
    })
}

fn program_pod() -> Value {
    json!({
        "metadata": {
            "namespace": "ns", "name": "program", "annotations": { "windtunnel.dev/program": "true" },
        },
        "spec": { "nodeName": "master-0", "containers": [{ "name": "main", "image": IMAGE }] },
    })
}

fn pod(rig: &Rig, name: &str) -> Object {
    rig.view.get(&PODS, "ns", name).cloned().unwrap()
}

fn key(name: &str) -> Key {
    PODS.key("ns", name)
}

/// Checks the log without the writes of Events.
fn check(rig: &Rig, expected: &[&str]) {
    let log: Vec<&String> = rig.log.iter().filter(|line| !line.contains(" events/")).collect();
    assert_eq!(log, expected, "{log:#?}");
}

#[test]
fn containers_run_in_sequence_and_the_pod_succeeds() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.33.1");
    rig.put(&PODS, version_pod());
    rig.run(60);
    check(
        &rig,
        &[
            "0:00:00 patch pods/ns/version-x Pending cleanup:PodInitializing copy:PodInitializing rename:PodInitializing",
            "0:00:05 patch pods/ns/version-x Pending cleanup:running copy:PodInitializing rename:PodInitializing",
            "0:00:06 patch pods/ns/version-x Pending cleanup:Completed copy:running rename:PodInitializing",
            "0:00:07 patch pods/ns/version-x Running cleanup:Completed copy:Completed rename:running",
            "0:00:08 patch pods/ns/version-x Succeeded cleanup:Completed copy:Completed rename:Completed",
        ],
    );
}

#[test]
fn retries_an_unknown_manifest_with_growing_back_off_until_the_deadline() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::ManifestUnknown, "v1.33.1");
    rig.put(&PODS, version_pod());
    rig.run(300);
    check(
        &rig,
        &[
            "0:00:00 patch pods/ns/version-x Pending cleanup:PodInitializing copy:PodInitializing rename:PodInitializing",
            "0:00:02 patch pods/ns/version-x Pending cleanup:ErrImagePull copy:PodInitializing rename:PodInitializing",
            "0:00:04 patch pods/ns/version-x Pending cleanup:ImagePullBackOff copy:PodInitializing rename:PodInitializing",
            "0:00:13 patch pods/ns/version-x Pending cleanup:ErrImagePull copy:PodInitializing rename:PodInitializing",
            "0:00:15 patch pods/ns/version-x Pending cleanup:ImagePullBackOff copy:PodInitializing rename:PodInitializing",
            "0:00:35 patch pods/ns/version-x Pending cleanup:ErrImagePull copy:PodInitializing rename:PodInitializing",
            "0:00:37 patch pods/ns/version-x Pending cleanup:ImagePullBackOff copy:PodInitializing rename:PodInitializing",
            "0:01:15 patch pods/ns/version-x Pending cleanup:ErrImagePull copy:PodInitializing rename:PodInitializing",
            "0:01:18 patch pods/ns/version-x Pending cleanup:ImagePullBackOff copy:PodInitializing rename:PodInitializing",
            "0:02:00 patch pods/ns/version-x Failed cleanup:ImagePullBackOff copy:PodInitializing rename:PodInitializing",
        ],
    );
    let failed = pod(&rig, "version-x");
    assert_eq!(failed.text("/status/reason"), "DeadlineExceeded");
    assert_eq!(
        failed.text("/status/message"),
        "Pod was active on the node longer than the specified deadline"
    );
    let message = failed.text("/status/initContainerStatuses/0/state/waiting/message");
    assert!(message.starts_with("Back-off pulling image \""), "{message}");
    assert!(message.contains("\": ErrImagePull: unable to pull image or OCI artifact: "), "{message}");
}

#[test]
fn a_cluster_image_policy_for_the_repository_requires_a_signature() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.27.8+4fab27b");
    let scope = "quay.io/openshift-release-dev/ocp-release";
    rig.put(
        &CLUSTER_IMAGE_POLICIES,
        json!({ "metadata": { "name": "openshift" }, "spec": { "scopes": [scope] } }),
    );
    rig.put(&PODS, version_pod());
    rig.run(3);
    let waiting = pod(&rig, "version-x");
    let waiting =
        |field: &str| waiting["status"]["initContainerStatuses"][0]["state"]["waiting"][field].clone();
    assert_eq!(waiting("reason"), "SignatureValidationFailed");
    assert_eq!(
        waiting("message"),
        format!(
            "image pull failed for {IMAGE} because the signature validation failed: Source image rejected: \
             A signature was required, but no signature exists"
        )
    );
}

#[test]
fn terminates_a_program_and_waits_for_its_exit_before_removing_the_pod() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.27.8");
    rig.put(&PODS, program_pod());
    rig.run(10);
    rig.write(&Write::delete(&PODS, "ns", "program"));
    rig.run(60);
    check(
        &rig,
        &[
            "0:00:00 patch pods/ns/program Pending main:ContainerCreating",
            "0:00:04 start pods/ns/program main",
            "0:00:04 patch pods/ns/program Running main:running",
            "0:00:10 terminate pods/ns/program",
            "0:00:12 patch pods/ns/program Succeeded main:Completed",
            "0:00:12 delete pods/ns/program",
        ],
    );
}

#[test]
fn kills_a_program_that_does_not_exit_within_the_grace_period() {
    // The clock of the API server may differ.
    for ends in [None, Some("2001-01-01T00:00:00Z"), Some("2031-01-01T00:00:00Z")] {
        let mut rig = Rig::new();
        rig.exits_after = None;
        seat(&mut rig, Pull::Succeeds, "v1.27.8");
        rig.put(&PODS, program_pod());
        rig.run(10);
        rig.write(&Write::delete(&PODS, "ns", "program"));
        if let Some(ends) = ends {
            let patch = json!({ "metadata": { "deletionTimestamp": ends } });
            rig.write(&Write::merge_patch(&PODS, "ns", "program", patch));
        }
        rig.run(60);
        check(
            &rig,
            &[
                "0:00:00 patch pods/ns/program Pending main:ContainerCreating",
                "0:00:04 start pods/ns/program main",
                "0:00:04 patch pods/ns/program Running main:running",
                "0:00:10 terminate pods/ns/program",
                "0:00:40 kill pods/ns/program",
                "0:00:40 patch pods/ns/program Failed main:Error",
                "0:00:40 delete pods/ns/program",
            ],
        );
    }
}

#[test]
fn kills_the_processes_of_a_pod_that_is_removed_without_grace_period() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.27.8");
    rig.put(&PODS, program_pod());
    rig.run(10);
    rig.log.clear();
    rig.write(&Write::delete_now(&PODS, "ns", "program"));
    rig.run(60);
    check(&rig, &["0:00:10 kill pods/ns/program"]);
}

#[test]
fn leaves_the_next_pod_of_the_same_name_to_the_scheduler() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.27.8");
    rig.put(&PODS, program_pod());
    rig.run(10);
    rig.write(&Write::delete_now(&PODS, "ns", "program"));
    let mut next = program_pod();
    next["spec"].as_object_mut().unwrap().remove("nodeName");
    rig.put(&PODS, next);
    rig.process_ends(&key("program"), "main");
    rig.run(60);
    assert_eq!(pod(&rig, "program")["status"]["containerStatuses"], Value::Null, "it is bound to no node");
}

#[test]
fn restarts_a_program_that_exits() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.27.8");
    rig.put(&PODS, program_pod());
    rig.run(10);
    rig.process_ends(&key("program"), "main");
    rig.run(10);
    check(
        &rig,
        &[
            "0:00:00 patch pods/ns/program Pending main:ContainerCreating",
            "0:00:04 start pods/ns/program main",
            "0:00:04 patch pods/ns/program Running main:running",
            "0:00:10 patch pods/ns/program Running main:Completed",
            "0:00:11 start pods/ns/program main",
            "0:00:11 patch pods/ns/program Running main:running",
        ],
    );
    let pod = pod(&rig, "program");
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 1);
    assert_eq!(pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"], "Completed");
}

#[test]
fn a_hanging_pull_only_ends_with_the_deadline() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Hangs, "v1.27.8");
    rig.put(&PODS, version_pod());
    rig.run(200);
    check(
        &rig,
        &[
            "0:00:00 patch pods/ns/version-x Pending cleanup:PodInitializing copy:PodInitializing rename:PodInitializing",
            "0:02:00 patch pods/ns/version-x Failed cleanup:PodInitializing copy:PodInitializing rename:PodInitializing",
        ],
    );
}

#[test]
fn waits_without_back_off_for_an_image_with_pull_policy_never() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.33.1");
    let mut wanted = version_pod();
    wanted["spec"]["initContainers"][0]["imagePullPolicy"] = json!("Never");
    rig.put(&PODS, wanted);
    rig.run(100);
    check(
        &rig,
        &[
            "0:00:00 patch pods/ns/version-x Pending cleanup:PodInitializing copy:PodInitializing rename:PodInitializing",
            "0:00:01 patch pods/ns/version-x Pending cleanup:ErrImageNeverPull copy:PodInitializing rename:PodInitializing",
        ],
    );
    let message = format!("Container image \"{IMAGE}\" is not present with pull policy of Never");
    let pod = pod(&rig, "version-x");
    assert_eq!(pod["status"]["initContainerStatuses"][0]["state"]["waiting"]["message"], message);
}

#[test]
fn pulls_a_present_image_again_with_pull_policy_always() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.33.1");
    let pulls = |rig: &Rig| rig.view.list(&EVENTS).filter(|event| event.text("/reason") == "Pulling").count();
    for (name, policy, expected) in [("a", "IfNotPresent", 1), ("b", "Always", 1), ("c", "IfNotPresent", 0)] {
        let mut wanted = program_pod();
        wanted["metadata"]["name"] = json!(name);
        wanted["spec"]["containers"][0]["imagePullPolicy"] = json!(policy);
        rig.put(&PODS, wanted);
        let before = pulls(&rig);
        rig.run(60);
        assert_eq!(pulls(&rig) - before, expected, "{policy}");
        assert_eq!(pod(&rig, name).text("/status/phase"), "Running");
    }
}

#[test]
fn conditions_name_the_incomplete_containers() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Hangs, "v1.33.1");
    rig.put(&PODS, version_pod());
    rig.run(1);
    let texts = |pod: &Object| -> Vec<String> {
        let list = pod.list("/status/conditions").iter();
        list.map(|one| [&one["type"], &one["status"], &one["reason"], &one["message"]].map(text).join("|"))
            .collect()
    };
    let waiting = [
        "PodReadyToStartContainers|True||",
        "Initialized|False|ContainersNotInitialized|containers with incomplete status: [cleanup copy]",
        "Ready|False|ContainersNotReady|containers with unready status: [rename]",
        "ContainersReady|False|ContainersNotReady|containers with unready status: [rename]",
        "PodScheduled|True||",
    ];
    assert_eq!(texts(&pod(&rig, "version-x")), waiting);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn reverts_ready_false_of_another_writer_each_time() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.33.1");
    rig.put(&PODS, program_pod());
    rig.run(60);
    // Both within one second, so that the kubelet writes the same patch twice.
    for _ in 0..2 {
        let mut conditions = pod(&rig, "program").list("/status/conditions").to_vec();
        let ready = conditions.iter_mut().find(|one| one["type"] == "Ready").unwrap();
        ready["status"] = json!("False");
        let patch = json!({ "status": { "conditions": conditions } });
        rig.write(&Write::merge_patch_status(&PODS, "ns", "program", patch));
        rig.run(0);
        assert!(condition::is_true(&pod(&rig, "program"), "Ready"));
    }
}

#[test]
fn a_restarted_kubelet_keeps_pod_addresses_and_assigns_each_only_once() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.33.1");
    let named = |name: &str| {
        let mut pod = program_pod();
        pod["metadata"]["name"] = json!(name);
        pod
    };
    for name in ["a", "b", "c"] {
        rig.put(&PODS, named(name));
        rig.run(10);
    }
    let address = |rig: &Rig, name: &str| pod(rig, name).text("/status/podIP").to_owned();
    let before = [address(&rig, "b"), address(&rig, "c")];
    assert!(!before[0].is_empty() && before[0] != before[1]);
    rig.write(&Write::delete_now(&PODS, "ns", "a"));
    rig.run(10);
    rig.crash_after_writes = Some(rig.writes + 1);
    rig.put(&PODS, named("d"));
    rig.run(10);
    rig.put(&PODS, named("e"));
    // Makes the kubelet write their statuses again.
    for name in ["b", "c"] {
        rig.process_ends(&key(name), "main");
    }
    rig.run(60);
    assert_eq!([address(&rig, "b"), address(&rig, "c")], before);
    let all = ["b", "c", "d", "e"].map(|name| address(&rig, name));
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{all:?}");
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    let end = |rig: &Rig| {
        let pod = pod(rig, "version-x");
        format!(
            "{} {} {}",
            pod.text("/status/phase"),
            pod.text("/status/reason"),
            pod.text("/status/message")
        )
    };
    for pull in [Pull::Succeeds, Pull::ManifestUnknown] {
        let story = |rig: &mut Rig| {
            seat(rig, pull, "v1.33.1");
            rig.put(&PODS, version_pod());
            rig.run(300);
        };
        check_recovery(story, end);
    }
    let story = |rig: &mut Rig| {
        seat(rig, Pull::Succeeds, "v1.33.1");
        rig.put(&PODS, program_pod());
        rig.run(20);
        rig.write(&Write::delete(&PODS, "ns", "program"));
        rig.run(60);
    };
    check_recovery(story, |rig| format!("{:?}", rig.view.get(&PODS, "ns", "program").map(Object::uid)));
}
