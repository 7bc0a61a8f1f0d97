//! Failing containers and the Events about them.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_IMAGE_POLICIES, EVENTS, PODS};
use windtunnel_core::{Object, Write};

use super::{IMAGE, key, pod, program_pod, seat, seat_with, version_pod};
use crate::registry::{Containers, Image, Pull};
use crate::testing::Rig;

/// The Events in chronological order: type, reason, message and count.
fn events(rig: &Rig) -> Vec<String> {
    let mut events: Vec<&Object> = rig.view.list(&EVENTS).collect();
    events.sort_by_key(|event| (event.text("/firstTimestamp").to_owned(), event.name().to_owned()));
    let line = |event: &&Object| {
        let text = |field: &str| event.text(field).replace(IMAGE, "IMAGE");
        format!("{} {} {} x{}", text("/type"), text("/reason"), text("/message"), event["count"])
    };
    events.iter().map(line).collect()
}

/// Runs a version pod whose containers behave as specified, for 150 seconds. Returns the cluster and the pod.
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
fn restarts_a_crashing_container_with_growing_back_off_until_the_deadline() {
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
    assert_eq!(status["lastState"]["terminated"]["message"], Value::Null, "the policy does not use the log");
    assert_eq!(status["restartCount"], 4);
    let events = events(&rig);
    let line = |text: &str| format!("{text} in pod version-x_ns({uid}) x4");
    assert!(
        events.contains(&line("Warning BackOff Back-off restarting failed container cleanup")),
        "{events:#?}"
    );
    assert!(events.contains(&"Normal Started Started container cleanup x5".to_owned()), "{events:#?}");
}

#[test]
fn a_failed_container_has_its_log_as_message_if_its_policy_requests_it() {
    let (_, pod) = failing(Containers::Crash, "v1.36.1", Some("FallbackToLogsOnError"));
    let ended = &pod["status"]["initContainerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(ended["message"], "exec /usr/bin/sh: exec format error\n");
    let (_, pod) = failing(Containers::OutOfMemory, "v1.36.1", None);
    let ended = &pod["status"]["initContainerStatuses"][0]["lastState"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(137), &json!("OOMKilled")));
}

#[test]
fn a_container_that_cannot_be_created_waits_with_the_message_of_the_runtime() {
    let (rig, pod) = failing(Containers::CannotBeCreated, "v1.33.1", None);
    let waiting = &pod["status"]["initContainerStatuses"][0]["state"]["waiting"];
    let text = "container create failed: executable file `sh` not found in $PATH: No such file or directory";
    assert_eq!((&waiting["reason"], &waiting["message"]), (&json!("CreateContainerError"), &json!(text)));
    assert_eq!(pod.text("/status/reason"), "DeadlineExceeded");
    assert!(events(&rig).contains(&format!("Warning Failed Error: {text} x1")), "{:#?}", events(&rig));
}

#[test]
fn records_events_for_pulls_and_starts() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.29.1");
    rig.put(&PODS, version_pod());
    rig.run(60);
    assert_eq!(
        events(&rig),
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
fn records_and_counts_events_for_failed_pulls() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::ManifestUnknown, "v1.32.1");
    rig.put(&PODS, version_pod());
    rig.run(30);
    let unknown = "initializing source docker://IMAGE: reading manifest sha256:aaaa in quay.io/openshift-release-dev/ocp-release: manifest unknown";
    assert_eq!(
        events(&rig),
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
fn a_restart_checks_the_image_like_the_first_start() {
    for (policy, expected) in [("IfNotPresent", "running"), ("Always", "SignatureValidationFailed")] {
        let mut rig = Rig::new();
        seat(&mut rig, Pull::Succeeds, "v1.33.1");
        let mut wanted = program_pod();
        wanted["spec"]["containers"][0]["imagePullPolicy"] = json!(policy);
        rig.put(&PODS, wanted);
        rig.run(10);
        // An image on the node may be used without a check. A pull may be forbidden by now.
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
fn setting_the_clock_does_not_change_the_duration_of_a_pull() {
    for by in [-3_600, 3_600] {
        let mut rig = Rig::new();
        seat(&mut rig, Pull::Succeeds, "v1.33.1");
        rig.put(&PODS, program_pod());
        rig.run(1);
        rig.set_clock(SignedDuration::from_secs(by));
        rig.run(1);
        assert_eq!(pod(&rig, "program").text("/status/phase"), "Pending", "the pull takes as long as before");
        rig.run(8);
        assert_eq!(pod(&rig, "program").text("/status/phase"), "Running", "{by}");
    }
}

#[test]
fn an_image_that_crashes_restarts_containers_that_should_run_on() {
    let mut rig = Rig::new();
    seat_with(&mut rig, Image { containers: Containers::Crash, ..Image::default() }, "v1.33.1");
    let mut wanted = version_pod();
    wanted["spec"]["restartPolicy"] = json!("Always");
    wanted["spec"].as_object_mut().unwrap().remove("initContainers");
    rig.put(&PODS, wanted);
    rig.run(150);
    let status = &pod(&rig, "version-x")["status"]["containerStatuses"][0];
    assert_eq!(status["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
}

#[test]
fn pods_of_users_with_a_long_grace_period_take_all_of_it() {
    for (namespace, grace, ends_after) in [("ns", 3600, 3600), ("ns", 30, 2), ("openshift-ingress", 3600, 2)]
    {
        let mut rig = Rig::new();
        seat(&mut rig, Pull::Succeeds, "v1.33.1");
        let mut wanted = program_pod();
        wanted["metadata"] = json!({ "namespace": namespace, "name": "router" });
        wanted["spec"]["terminationGracePeriodSeconds"] = json!(grace);
        rig.put(&PODS, wanted);
        rig.run(60);
        rig.write(&Write::delete(&PODS, namespace, "router"));
        let exists = |rig: &Rig| rig.view.get(&PODS, namespace, "router").is_some();
        rig.run(ends_after - 2);
        assert!(exists(&rig), "{namespace} {grace}");
        rig.run(5);
        assert!(!exists(&rig), "{namespace} {grace}");
    }
}
