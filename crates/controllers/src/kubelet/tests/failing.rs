//! Containers that fail, and what Events tell.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::resources::{CLUSTER_IMAGE_POLICIES, EVENTS, PODS};

use super::{IMAGE, key, pod, program_pod, seat, seat_with, version_pod};
use crate::registry::{Containers, Image, Pull};
use crate::testing::Rig;

/// The Events, oldest first: type, reason, message, and how often.
fn told(rig: &Rig) -> Vec<String> {
    let mut events: Vec<&Object> = rig.view.list(&EVENTS).collect();
    events.sort_by_key(|event| (event.text("/firstTimestamp").to_owned(), event.name().to_owned()));
    let line = |event: &&Object| {
        let text = |field: &str| event.text(field).replace(IMAGE, "IMAGE");
        format!("{} {} {} x{}", text("/type"), text("/reason"), text("/message"), event["count"])
    };
    events.iter().map(line).collect()
}

/// The log of a version pod whose containers come to this, and the first one's last state.
fn failing(containers: Containers, kubelet: &str, policy: Option<&str>) -> (Rig, Object) {
    let mut rig = Rig::new();
    seat_with(&mut rig, Image { containers, ..Image::default() }, kubelet);
    let mut wanted = version_pod();
    wanted["spec"]["initContainers"][0]["command"] = json!(["sh", "-c", "rm -fR ./*"]);
    if let Some(policy) = policy {
        wanted["spec"]["initContainers"][0]["terminationMessagePolicy"] = json!(policy);
    }
    rig.put(&PODS, wanted);
    rig.run(150);
    let pod = pod(&rig, "version-x");
    (rig, pod)
}

#[test]
fn a_container_that_crashes_is_restarted_ever_more_seldom_until_the_deadline() {
    let (rig, pod) = failing(Containers::Crash, "v1.33.1", None);
    let states: Vec<String> = rig
        .log
        .iter()
        .filter(|line| !line.contains(" events/"))
        .map(|line| line.replace(" copy:PodInitializing rename:PodInitializing", ""))
        .map(|line| line.replace(" patch pods/ns/version-x Pending", ""))
        .collect();
    assert_eq!(
        states,
        [
            "0:00:00 cleanup:PodInitializing",
            "0:00:05 cleanup:running",
            "0:00:06 cleanup:Error",
            "0:00:07 cleanup:running",
            "0:00:08 cleanup:Error",
            "0:00:09 cleanup:CrashLoopBackOff",
            "0:00:18 cleanup:running",
            "0:00:19 cleanup:Error",
            "0:00:20 cleanup:CrashLoopBackOff",
            "0:00:39 cleanup:running",
            "0:00:40 cleanup:Error",
            "0:00:41 cleanup:CrashLoopBackOff",
            "0:01:20 cleanup:running",
            "0:01:21 cleanup:Error",
            "0:01:22 cleanup:CrashLoopBackOff",
            "0:02:00 patch pods/ns/version-x Failed cleanup:CrashLoopBackOff",
        ]
    );
    let status = &pod["status"]["initContainerStatuses"][0];
    let uid = pod.uid();
    assert_eq!(
        status["state"]["waiting"]["message"],
        format!("back-off 1m20s restarting failed container=cleanup pod=version-x_ns({uid})")
    );
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
    assert_eq!(status["lastState"]["terminated"]["message"], Value::Null, "nobody asked for the log");
    assert_eq!(status["restartCount"], 4);
    let told = told(&rig);
    let line = |text: &str| format!("{text} in pod version-x_ns({uid}) x4");
    assert!(
        told.contains(&line("Warning BackOff Back-off restarting failed container cleanup")),
        "{told:#?}"
    );
    assert!(told.contains(&"Normal Started Started container cleanup x5".to_owned()), "{told:#?}");
}

#[test]
fn a_failed_container_leaves_the_end_of_its_log_where_that_is_asked_for() {
    let (_, pod) = failing(Containers::Crash, "v1.36.1", Some("FallbackToLogsOnError"));
    let ended = &pod["status"]["initContainerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(ended["message"], "exec /usr/bin/sh: exec format error\n");
    let (_, pod) = failing(Containers::OutOfMemory, "v1.36.1", None);
    let ended = &pod["status"]["initContainerStatuses"][0]["lastState"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(137), &json!("OOMKilled")));
}

#[test]
fn a_container_that_cannot_be_made_waits_with_the_runtime_s_text() {
    let (rig, pod) = failing(Containers::CannotBeCreated, "v1.33.1", None);
    let waiting = &pod["status"]["initContainerStatuses"][0]["state"]["waiting"];
    let text = "container create failed: executable file `sh` not found in $PATH: No such file or directory";
    assert_eq!((&waiting["reason"], &waiting["message"]), (&json!("CreateContainerError"), &json!(text)));
    assert_eq!(pod.text("/status/reason"), "DeadlineExceeded");
    assert!(told(&rig).contains(&format!("Warning Failed Error: {text} x1")), "{:#?}", told(&rig));
}

#[test]
fn events_tell_of_pulls_and_starts() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.29.1");
    rig.put(&PODS, version_pod());
    rig.run(60);
    assert_eq!(
        told(&rig),
        [
            "Normal Pulling Pulling image \"IMAGE\" x1",
            "Normal Pulled Successfully pulled image \"IMAGE\" in 3.452s (3.452s including waiting) x1",
            "Normal Created Created container cleanup x1",
            "Normal Started Started container cleanup x1",
            "Normal Pulled Container image \"IMAGE\" already present on machine x2",
            "Normal Created Created container copy x1",
            "Normal Started Started container copy x1",
            "Normal Created Created container rename x1",
            "Normal Started Started container rename x1",
        ]
    );
}

#[test]
fn events_tell_of_pulls_that_fail_and_count_them() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::ManifestUnknown, "v1.32.1");
    rig.put(&PODS, version_pod());
    rig.run(30);
    let unknown = "initializing source docker://IMAGE: reading manifest sha256:aaaa in quay.io/openshift-release-dev/ocp-release: manifest unknown";
    assert_eq!(
        told(&rig),
        [
            "Normal Pulling Pulling image \"IMAGE\" x2".to_owned(),
            format!("Warning Failed Failed to pull image \"IMAGE\": {unknown} x2"),
            "Warning Failed Error: ErrImagePull x2".to_owned(),
            "Normal BackOff Back-off pulling image \"IMAGE\" x2".to_owned(),
            "Warning Failed Error: ImagePullBackOff x2".to_owned(),
        ]
    );
}

#[test]
fn a_container_that_is_started_again_has_its_image_looked_for_as_before_its_first_start() {
    for (policy, expected) in [("IfNotPresent", "running"), ("Always", "SignatureValidationFailed")] {
        let mut rig = Rig::new();
        seat(&mut rig, Pull::Succeeds, "v1.33.1");
        let mut wanted = program_pod();
        wanted["spec"]["containers"][0]["imagePullPolicy"] = json!(policy);
        rig.put(&PODS, wanted);
        rig.run(10);
        // What is here already may run, and what has to be asked for may have become forbidden meanwhile.
        let policies = json!({ "metadata": { "name": "openshift" }, "spec": { "scopes": ["quay.io"] } });
        rig.put(&CLUSTER_IMAGE_POLICIES, policies);
        rig.process_ends(&key("program"), "main");
        rig.run(3);
        assert!(rig.log.iter().any(|line| line.ends_with(&format!("main:{expected}"))), "{:#?}", rig.log);
        let status = &pod(&rig, "program")["status"]["containerStatuses"][0];
        assert_eq!(status["restartCount"], i64::from(policy == "IfNotPresent"), "{policy}");
        assert_eq!(status["lastState"]["terminated"]["reason"], "Completed", "{policy}");
    }
}

#[test]
fn a_clock_that_is_set_keeps_no_image_away() {
    for by in [-3_600, 3_600] {
        let mut rig = Rig::new();
        seat(&mut rig, Pull::Succeeds, "v1.33.1");
        rig.put(&PODS, program_pod());
        rig.run(1);
        rig.set_clock(SignedDuration::from_secs(by));
        rig.run(1);
        assert_eq!(
            pod(&rig, "program").text("/status/phase"),
            "Pending",
            "it takes as long as it would have"
        );
        rig.run(8);
        assert_eq!(pod(&rig, "program").text("/status/phase"), "Running", "{by}");
    }
}
