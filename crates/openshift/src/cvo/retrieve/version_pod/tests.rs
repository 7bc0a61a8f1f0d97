//! Tests of version pods by release, and of the interpretation of their status.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::release::Release;

fn pod(phase: &str, reason: &str, message: &str) -> Object {
    Object::new(json!({
        "metadata": { "name": "version--abcde" },
        "status": {
            "phase": phase,
            "initContainerStatuses": [
                { "name": "cleanup", "state": { "waiting": { "reason": reason, "message": message } } },
                { "name": "make-temporary-directory", "state": { "waiting": { "reason": "PodInitializing" } } },
            ],
        },
    }))
}

#[test]
fn only_an_invalid_signature_and_an_unknown_manifest_fail_early() {
    let waiting = |reason, message| judge_pod(&pod("Pending", reason, message)) == Judgement::Waiting;
    assert!(!waiting("ErrImagePull", "reading manifest: manifest unknown"));
    assert!(!waiting("SignatureValidationFailed", "image pull failed"));
    assert!(waiting("ErrImagePull", "unauthorized"));
    assert!(waiting("ImagePullBackOff", "Back-off pulling image: manifest unknown"));
}

#[test]
fn the_error_of_a_pending_pod_contains_the_container_state() {
    let Judgement::Failed(text) = judge_pod(&pod("Pending", "ErrImagePull", "x: manifest unknown")) else {
        panic!("must fail");
    };
    assert_eq!(
        text,
        "pod version--abcde failed at pending with reason \"\" and message \"\" and status initcontainer cleanup is waiting with reason \"ErrImagePull\" and message \"x: manifest unknown\""
    );
}

#[test]
fn the_payload_directory_is_the_hash_of_the_pull_spec() {
    let image = format!("quay.io/openshift-release-dev/ocp-release@sha256:{}", "0".repeat(64));
    assert_eq!(payload_directory(&image), "nLKwuMwivIS08KVESx1_UA");
}

#[test]
fn a_failed_job_reports_only_its_deadline() {
    let job = Object::new(json!({ "status": { "conditions": [{ "type": "Failed", "status": "True",
        "reason": "DeadlineExceeded", "message": "Job was active longer than specified deadline" }] } }));
    assert_eq!(
        judge_job(&job),
        Judgement::Failed(
            "deadline exceeded, reason: \"DeadlineExceeded\", message: \"Job was active longer than specified deadline\"".into()
        )
    );
}

/// The version pod and the Job of the operator of `version`.
fn pod_and_job(version: &str) -> (Value, Value) {
    let mut release = Release::find(&"4.20.0".parse().unwrap()).unwrap();
    release.version = version.parse().unwrap();
    let behaviour = Behaviour::for_release(&release);
    let pod =
        VersionPod { image: "host/image@sha256:aa", node: "master-1", behaviour, directory: "abcde".into() };
    (pod.pod("version-4.20.3-xxxxx"), pod.job("version-4.20.3-xxxxx"))
}

fn containers(spec: &Value) -> Vec<&Value> {
    ["initContainers", "containers"].iter().flat_map(|list| spec[*list].as_array().unwrap()).collect()
}

#[test]
fn init_containers_move_or_copy_the_manifests_by_release() {
    for (version, act, verb) in [("4.19.2", "move", "mv"), ("4.20.1", "copy", "cp -r")] {
        let (pod, _) = pod_and_job(version);
        let lines: Vec<String> = containers(&pod["spec"])
            .iter()
            .map(|container| {
                let words =
                    container["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
                let command = words.collect::<Vec<_>>().join(" ");
                format!("{}: {command}", container["name"].as_str().unwrap())
            })
            .collect();
        let place = payload_path("host/image@sha256:aa");
        let expected = [
            "cleanup: sh -c rm -fR ./*".to_owned(),
            format!("make-temporary-directory: mkdir {place}-abcde"),
            format!(
                "{act}-operator-manifests-to-temporary-directory: {verb} /manifests {place}-abcde/manifests"
            ),
            format!(
                "{act}-release-manifests-to-temporary-directory: {verb} /release-manifests {place}-abcde/release-manifests"
            ),
            format!("rename-to-final-location: mv {place}-abcde {place}"),
        ];
        assert_eq!(lines, expected, "{version}");
    }
}

#[test]
fn the_pod_runs_on_the_operators_node_with_the_settings_of_its_release() {
    for (version, account, read_only, policy) in [
        ("4.19.2", Value::Null, false, Value::Null),
        ("4.21.1", Value::Null, true, Value::Null),
        ("4.22.1", json!("update-payload"), true, Value::Null),
        ("4.23.0", json!("update-payload"), true, json!("FallbackToLogsOnError")),
    ] {
        let (pod, _) = pod_and_job(version);
        assert_eq!(pod["metadata"]["labels"], json!({ "k8s-app": "retrieve-openshift-release" }));
        assert_eq!(pod["metadata"]["annotations"], json!({ "openshift.io/required-scc": "privileged" }));
        let spec = &pod["spec"];
        assert_eq!(spec["serviceAccountName"], account, "{version}");
        assert_eq!((&spec["nodeName"], &spec["restartPolicy"]), (&json!("master-1"), &json!("OnFailure")));
        assert_eq!(spec["nodeSelector"], json!({ "node-role.kubernetes.io/master": "" }));
        assert_eq!(spec["tolerations"], json!([{ "key": "node-role.kubernetes.io/master" }]));
        assert_eq!(spec["priorityClassName"], "openshift-user-critical");
        assert_eq!(spec["activeDeadlineSeconds"], 120);
        assert_eq!(spec["initContainers"][0]["workingDir"], "/etc/cvo/updatepayloads/");
        for container in containers(spec) {
            assert_eq!(container["image"], "host/image@sha256:aa");
            let requests = json!({ "cpu": "10m", "memory": "50Mi", "ephemeral-storage": "2Mi" });
            assert_eq!(container["resources"], json!({ "requests": requests }));
            let rights = json!({ "privileged": true, "readOnlyRootFilesystem": read_only });
            assert_eq!(container["securityContext"], rights, "{version}");
            assert_eq!(container["terminationMessagePolicy"], policy, "{version}");
            let mounts = json!([{ "name": "payloads", "mountPath": "/etc/cvo/updatepayloads" }]);
            assert_eq!(container["volumeMounts"], mounts);
        }
    }
}

#[test]
fn the_template_of_a_job_has_neither_deadline_nor_label() {
    let (_, job) = pod_and_job("4.18.1");
    assert_eq!(job["metadata"]["labels"], Value::Null);
    let fields: BTreeSet<&str> = job["spec"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, BTreeSet::from(["activeDeadlineSeconds", "template"]), "no limit of retries, no TTL");
    assert_eq!(job["spec"]["activeDeadlineSeconds"], 120);
    let template = &job["spec"]["template"];
    let annotations = json!({ "openshift.io/required-scc": "privileged" });
    assert_eq!(template["metadata"], json!({ "annotations": annotations }));
    assert_eq!(pod_and_job("4.17.1").1["spec"]["template"]["metadata"], Value::Null);
    assert_eq!(template["spec"]["activeDeadlineSeconds"], Value::Null);
    assert_eq!(template["spec"]["nodeName"], "master-1");
}

#[test]
fn the_error_lists_containers_before_init_containers() {
    let waiting = |name: &str, text: &str| json!({ "name": name, "state": { "waiting": { "reason": "ImagePullBackOff", "message": text } } });
    let ended = json!({ "name": "cleanup", "state": { "terminated": { "reason": "Error", "message": "rm: denied" } } });
    let status = |phase: &str, inits: Value| {
        Object::new(json!({
            "metadata": { "name": "version--abcde" },
            "status": {
                "phase": phase,
                "reason": "DeadlineExceeded",
                "message": "Pod was active on the node longer than the specified deadline",
                "initContainerStatuses": inits,
                "containerStatuses": [waiting("rename-to-final-location", "b")],
            },
        }))
    };
    let failed = |at: &str, last: &str| {
        Judgement::Failed(format!(
            "pod version--abcde failed{at} with reason \"DeadlineExceeded\" and message \"Pod was active on the node longer than the specified deadline\" and status container rename-to-final-location is waiting with reason \"ImagePullBackOff\" and message \"b\",{last}"
        ))
    };
    let pull = "initcontainer cleanup is waiting with reason \"ImagePullBackOff\" and message \"a\"";
    assert_eq!(judge_pod(&status("Failed", json!([waiting("cleanup", "a")]))), failed("", pull));
    assert_eq!(judge_pod(&status("Pending", json!([waiting("cleanup", "a")]))), Judgement::Waiting);
    assert_eq!(judge_pod(&status("Running", json!([ended]))), Judgement::Waiting);
    let Judgement::Failed(crash) = judge_pod(&status("Pending", json!([ended]))) else { panic!("it failed") };
    let end =
        " and status initcontainer cleanup is terminated with reason \"Error\" and message \"rm: denied\"";
    assert!(
        crash.starts_with("pod version--abcde failed at pending with ") && crash.ends_with(end),
        "{crash}"
    );
}

#[test]
fn an_evicted_pod_fails_with_the_eviction_message() {
    let text = "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi.";
    let evicted = Object::new(json!({
        "metadata": { "name": "version--abcde" },
        "status": { "phase": "Failed", "reason": "Evicted", "message": text },
    }));
    let expected =
        format!("pod version--abcde failed with reason \"Evicted\" and message \"{text}\" and status ");
    assert_eq!(judge_pod(&evicted), Judgement::Failed(expected));
}

#[test]
fn a_pod_in_phase_unknown_fails() {
    let lost = Object::new(json!({
        "metadata": { "name": "version--abcde" },
        "status": { "phase": "Unknown", "reason": "NodeLost" },
    }));
    let expected = "pod version--abcde is with unexpected phase Unknown".to_owned();
    assert_eq!(judge_pod(&lost), Judgement::Failed(expected));
}

#[test]
fn the_error_of_a_pending_pod_lists_only_fatal_states_quoted_as_in_go() {
    let waiting = |name: &str, reason: &str, text: &str| json!({ "name": name, "state": { "waiting": { "reason": reason, "message": text } } });
    let pending = Object::new(json!({
        "metadata": { "name": "version--abcde" },
        "status": {
            "phase": "Pending",
            "initContainerStatuses": [
                waiting("cleanup", "ErrImagePull", "Get \"https://a/v2/\": manifest unknown"),
                waiting("make-temporary-directory", "CreateContainerError", "no"),
            ],
        },
    }));
    let expected = r#"pod version--abcde failed at pending with reason "" and message "" and status initcontainer cleanup is waiting with reason "ErrImagePull" and message "Get \"https://a/v2/\": manifest unknown""#;
    assert_eq!(judge_pod(&pending), Judgement::Failed(expected.to_owned()));
}

#[test]
fn other_waiting_reasons_do_not_fail_a_pending_pod() {
    for (reason, message) in [
        ("InvalidImageName", "Failed to apply default image tag"),
        ("ErrImageNeverPull", "Container image \"a\" is not present with pull policy of Never"),
        ("RegistryUnavailable", "image pull failed"),
        ("CreateContainerError", "container create failed"),
        ("CreateContainerConfigError", "secret \"a\" not found"),
        ("CrashLoopBackOff", "back-off 10s restarting failed container=cleanup"),
    ] {
        assert_eq!(judge_pod(&pod("Pending", reason, message)), Judgement::Waiting, "{reason}");
        let Judgement::Failed(text) = judge_pod(&pod("Failed", reason, message)) else { panic!("it failed") };
        let end = format!("is waiting with reason {reason:?} and message {message:?}");
        assert!(text.ends_with(&end), "{text}");
    }
}
