//! Tests of the daemon of one node, with answered and unanswered drain requests.

use serde_json::{Value, json};
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::testing::Rig;
use windtunnel_core::Object;
use windtunnel_core::resources::{EVENTS, MACHINE_CONFIGS, MACHINE_CONFIGURATIONS};

use super::*;
use crate::mco::annotations::{
    CURRENT_CONFIG, CURRENT_IMAGE, DESIRED_DRAIN, DESIRED_IMAGE, LAST_APPLIED_DRAIN,
    LAST_SYNCED_CONTROLLER_CONFIG, RELEASE_VERSION,
};

/// A node that is done with `a`, and MachineConfigs `a` and `b`.
fn rig() -> Rig {
    let mut rig = Rig::new();
    for (name, os) in [("a", "os-1"), ("b", "os-2")] {
        rig.put(&MACHINE_CONFIGS, json!({ "metadata": { "name": name }, "spec": { "osImageURL": os } }));
    }
    let annotations = json!({
        (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a", (STATE): "Done",
        (DESIRED_DRAIN): "uncordon-a", (LAST_APPLIED_DRAIN): "uncordon-a",
    });
    rig.put(&NODES, json!({ "metadata": { "name": "w", "annotations": annotations } }));
    let now = rig.now;
    let disk = Disk { config: "a".to_owned(), os_image: "os-1".to_owned(), ..Disk::default() };
    rig.seat(move || Box::new(MachineConfigDaemon::new("w", disk.clone(), &Streams::new(1), now)));
    rig.run(1);
    rig
}

fn annotate(rig: &mut Rig, key: &str, value: &str) {
    let patch = json!({ "metadata": { "annotations": { key: value } } });
    rig.write(&Write::merge_patch(&NODES, "", "w", patch));
}

fn set_fault(rig: &mut Rig, fault: Option<(FaultKind, &str)>) {
    let fault = fault.map(|(kind, message)| Fault { message: message.to_owned(), ..Fault::new(kind) });
    rig.write(&Write::merge_patch(&NODES, "", "w", Fault::annotation_patch(fault.as_ref())));
}

/// Completes a drain for `b` on a node with this fault.
fn drain_with(rig: &mut Rig, kind: FaultKind, message: &str) {
    set_fault(rig, Some((kind, message)));
    annotate(rig, DESIRED_CONFIG, "b");
    rig.run(5);
    annotate(rig, LAST_APPLIED_DRAIN, "drain-b");
}

/// Sets the controller's release.
fn controller_config(rig: &mut Rig, release: &str) {
    let annotations = json!({ (RELEASE_VERSION): release });
    let object = json!({ "metadata": { "name": CONTROLLER_CONFIG, "annotations": annotations } });
    if rig.view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG).is_some() {
        rig.write(&Write::merge_patch(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG, object));
    } else {
        rig.put(&CONTROLLER_CONFIGS, object);
    }
}

fn node(rig: &Rig) -> &Object {
    rig.view.get(&NODES, "", "w").unwrap()
}

/// State, drain request and reason.
fn seen(rig: &Rig) -> [&str; 3] {
    [STATE, DESIRED_DRAIN, REASON].map(|key| node(rig).annotation(key).unwrap_or_default())
}

/// The reasons of Warning Events, in order.
fn warnings(rig: &Rig) -> Vec<&str> {
    let mut events: Vec<&Object> =
        rig.view.list(&EVENTS).filter(|event| event.text("/type") == "Warning").collect();
    events.sort_by_key(|event| event.text("/firstTimestamp"));
    events.into_iter().map(|event| event.text("/reason")).collect()
}

/// The total count of Events with this reason.
fn event_count(rig: &Rig, reason: &str) -> i64 {
    let events = rig.view.list(&EVENTS).filter(|event| event.text("/reason") == reason);
    events.filter_map(|event| event.number("/count")).sum()
}

fn reboots(rig: &Rig) -> usize {
    rig.log.iter().filter(|line| line.contains(" reboot ")).count()
}

#[test]
fn requests_a_drain_and_reboots_when_it_is_complete() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(5);
    assert_eq!(seen(&rig), ["Working", "drain-b", ""]);
    rig.run(120);
    assert_eq!(reboots(&rig), 0, "the drain is not complete");
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-b");
    rig.run(150);
    assert!(rig.log.iter().any(|line| line.ends_with(" reboot b")), "{:#?}", rig.log);
    assert_eq!(node(&rig).annotation(CURRENT_CONFIG), Some("a"), "unchanged until after the reboot");
}

#[test]
fn reports_a_failed_drain_after_an_hour_and_continues_when_it_completes() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(3_500);
    assert_eq!(seen(&rig), ["Working", "drain-b", ""]);
    rig.run(200);
    let why = "failed to drain node: w after 1 hour. Please see machine-config-controller logs for more information";
    assert_eq!(seen(&rig), ["Degraded", "drain-b", why]);
    // A new desired MachineConfig changes nothing meanwhile.
    annotate(&mut rig, DESIRED_CONFIG, "a");
    rig.run(600);
    assert_eq!(seen(&rig)[0], "Degraded");
    annotate(&mut rig, DESIRED_CONFIG, "b");
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-b");
    rig.run(150);
    assert_eq!(seen(&rig)[0], "Degraded", "until the update is complete");
    assert!(reboots(&rig) > 0);
}

#[test]
fn a_missing_machineconfig_degrades_the_node_until_the_previous_one_is_desired_again() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "c");
    rig.run(5);
    let why = "machineconfig.machineconfiguration.openshift.io \"c\" not found";
    assert_eq!(seen(&rig), ["Degraded", "uncordon-a", why]);
    annotate(&mut rig, DESIRED_CONFIG, "a");
    rig.run(90);
    assert_eq!((seen(&rig), reboots(&rig)), (["Done", "uncordon-a", ""], 0));
}

#[test]
fn a_changed_file_degrades_an_idle_node_until_it_is_restored() {
    let mut rig = rig();
    let detail = "content mismatch for file \"/etc/a\"";
    set_fault(&mut rig, Some((FaultKind::OnDiskMismatch, detail)));
    rig.run(0);
    assert_eq!(seen(&rig), ["Degraded", "uncordon-a", detail]);
    rig.run(5);
    let why = format!("unexpected on-disk state validating against a: {detail}");
    assert_eq!(seen(&rig), ["Degraded", "uncordon-a", &why]);
    rig.run(600);
    assert_eq!(warnings(&rig), ["ConfigDriftDetected", "PreflightConfigDriftCheckFailed"]);
    set_fault(&mut rig, None);
    rig.run(60);
    assert_eq!((seen(&rig), reboots(&rig)), (["Done", "uncordon-a", ""], 0));
}

#[test]
fn a_failed_image_pull_is_reported_with_its_command() {
    let mut rig = rig();
    drain_with(&mut rig, FaultKind::ImagePullFails, "Error: dial tcp: i/o timeout");
    rig.run(300);
    let why = "failed to run command nice (6 tries): [timed out waiting for the condition, running nice -- ionice -c 3 \
        podman pull -q --authfile /var/lib/kubelet/config.json os-2 failed: Error: dial tcp: i/o timeout: exit status 125]";
    assert_eq!((seen(&rig), reboots(&rig)), (["Degraded", "drain-b", why], 0));
    set_fault(&mut rig, None);
    rig.run(300);
    assert!(reboots(&rig) > 0);
}

/// The seconds until the failure to update the operating system is reported, with the fault healed after
/// `healed` seconds.
fn seconds_until_reported(kind: FaultKind, release: &str, healed: Option<usize>) -> Option<usize> {
    let mut rig = rig();
    controller_config(&mut rig, release);
    drain_with(&mut rig, kind, "no route to host");
    (0..600).find(|second| {
        if healed == Some(*second) {
            set_fault(&mut rig, None);
        }
        rig.run(1);
        seen(&rig)[2].contains("no route to host")
    })
}

#[test]
fn a_fault_healed_during_the_last_pause_is_still_reported_from_4_22_on() {
    for (release, is_reported) in [("4.16.1", false), ("4.22.1", true)] {
        let after = seconds_until_reported(FaultKind::OsUpdateFails, release, None).unwrap();
        let healed = |before| seconds_until_reported(FaultKind::OsUpdateFails, release, Some(after - before));
        assert_eq!(healed(30), Some(after).filter(|_| is_reported), "{release}");
        assert_eq!(healed(45), None, "{release}: a retry follows");
    }
}

#[test]
fn retries_before_it_reports_a_failure() {
    let cases = [
        (FaultKind::ImagePullFails, "4.16.1"),
        (FaultKind::OsUpdateFails, "4.16.1"),
        (FaultKind::OsUpdateFails, "4.22.1"),
    ];
    let took = cases.map(|(kind, release)| seconds_until_reported(kind, release, None).unwrap());
    // All cases write files for the same time, and then pause for 155, 150 and 70 seconds.
    assert!((156..300).contains(&took[0]), "{took:?}");
    assert_eq!([took[0] - took[1], took[1] - took[2]], [5, 80]);
}

#[test]
fn a_successful_retry_reports_no_failure() {
    let mut rig = rig();
    drain_with(&mut rig, FaultKind::ImagePullFails, "no route to host");
    rig.run(155);
    assert_eq!((seen(&rig), reboots(&rig)), (["Working", "drain-b", ""], 0));
    set_fault(&mut rig, None);
    rig.run(80);
    assert_eq!(seen(&rig), ["Working", "drain-b", ""]);
    assert!(reboots(&rig) > 0);
}

#[test]
fn a_failed_reboot_degrades_the_node_and_is_retried() {
    let mut rig = rig();
    drain_with(&mut rig, FaultKind::RebootRefused, "");
    rig.run(600);
    let why = "reboot command failed, something is seriously wrong";
    assert_eq!((seen(&rig), reboots(&rig)), (["Degraded", "drain-b", why], 0));
    assert!(event_count(&rig, "Reboot") > 1);
    set_fault(&mut rig, None);
    rig.run(300);
    assert!(reboots(&rig) > 0);
}

#[test]
fn annotates_the_controllerconfig_whose_certificates_are_on_the_disk() {
    let synced = |rig: &Rig| {
        let version = node(rig).annotation(LAST_SYNCED_CONTROLLER_CONFIG)?.to_owned();
        let config = rig.view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG)?;
        Some(version == config.resource_version())
    };
    let mut rig = rig();
    controller_config(&mut rig, "4.13.9");
    rig.run(60);
    assert_eq!(synced(&rig), None, "certificates are part of MachineConfigs");
    for release in ["4.14.1", "4.14.2"] {
        controller_config(&mut rig, release);
        rig.run(1);
        assert_eq!(synced(&rig), Some(true), "{release}");
    }
    assert_eq!(seen(&rig), ["Done", "uncordon-a", ""]);
}

#[test]
fn a_starting_daemon_validates_the_disk_first() {
    let mut rig = Rig::new();
    let annotations = json!({ (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a", (STATE): "Done" });
    rig.put(&NODES, json!({ "metadata": { "name": "w", "annotations": annotations } }));
    set_fault(&mut rig, Some((FaultKind::OnDiskMismatch, "mode mismatch for file: \"/etc/a\"")));
    let (now, disk) =
        (rig.now, Disk { config: "a".to_owned(), os_image: "os-1".to_owned(), ..Disk::default() });
    rig.seat(move || Box::new(MachineConfigDaemon::new("w", disk.clone(), &Streams::new(1), now)));
    rig.run(60);
    let why = "unexpected on-disk state validating against a: mode mismatch for file: \"/etc/a\"";
    assert_eq!(seen(&rig), ["Degraded", "", why]);
    assert_eq!(warnings(&rig), ["OnDiskStateValidationFailed"]);
}

#[test]
fn a_restarted_daemon_finds_a_hidden_mismatch() {
    let mut rig = rig();
    set_fault(&mut rig, Some((FaultKind::HiddenMismatch, "mode mismatch for file: \"/etc/a\"")));
    rig.run(600);
    assert_eq!((seen(&rig), warnings(&rig).len()), (["Done", "uncordon-a", ""], 0));
    rig.signal(Signal::Terminate);
    rig.run(60);
    let why = "unexpected on-disk state validating against a: mode mismatch for file: \"/etc/a\"";
    assert_eq!(seen(&rig), ["Degraded", "uncordon-a", why]);
    assert_eq!(warnings(&rig), ["OnDiskStateValidationFailed"]);
    set_fault(&mut rig, None);
    rig.run(60);
    assert_eq!((seen(&rig), reboots(&rig)), (["Done", "uncordon-a", ""], 0));
}

#[test]
fn a_restarted_daemon_reports_done_again_but_ignores_the_signal_during_an_update() {
    let mut rig = rig();
    rig.run(60);
    rig.signal(Signal::Terminate);
    rig.run(60);
    assert_eq!(event_count(&rig, "NodeDone"), 1);
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(5);
    assert_eq!(seen(&rig), ["Working", "drain-b", ""]);
    rig.signal(Signal::Terminate);
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-b");
    rig.run(300);
    assert_eq!((event_count(&rig, "BootResync"), event_count(&rig, "Reboot")), (0, 1));
}

#[test]
fn a_daemon_ends_only_when_its_stopped_kubelet_runs_again() {
    let mut rig = rig();
    rig.run(60);
    set_fault(&mut rig, Some((FaultKind::KubeletStopped, "")));
    rig.signal(Signal::Terminate);
    rig.run(60);
    assert_eq!(event_count(&rig, "NodeDone"), 0);
    set_fault(&mut rig, None);
    rig.run(60);
    assert_eq!(event_count(&rig, "NodeDone"), 1);
}

#[test]
fn truncates_a_reason_at_two_thousand_bytes() {
    let mut rig = rig();
    set_fault(&mut rig, Some((FaultKind::Degraded, &"ä".repeat(3_000))));
    rig.run(5);
    assert_eq!(seen(&rig)[2].len(), 2_000);
    set_fault(&mut rig, Some((FaultKind::Degraded, &format!("x{}", "ä".repeat(3_000)))));
    rig.run(5);
    assert_eq!(seen(&rig)[2].len(), 1_999, "not within a character");
}

#[test]
fn truncates_an_unreconcilable_reason_and_reports_it_once() {
    let mut rig = rig();
    set_fault(&mut rig, Some((FaultKind::Unreconcilable, &"x".repeat(3_000))));
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(600);
    assert_eq!((seen(&rig)[0], seen(&rig)[2].len()), ("Unreconcilable", 2_000));
    assert_eq!(event_count(&rig, "FailedToReconcile"), 1);
}

#[test]
fn reports_a_change_without_a_reboot_once() {
    let mut rig = rig();
    let ignition = json!({ "version": "3.2.0" });
    let users = json!([{ "name": "core", "sshAuthorizedKeys": ["ssh-ed25519 a"] }]);
    let config = json!({ "ignition": ignition, "passwd": { "users": users } });
    let spec = json!({ "osImageURL": "os-1", "config": config });
    rig.put(&MACHINE_CONFIGS, json!({ "metadata": { "name": "keys" }, "spec": spec }));
    let patch = json!({ "spec": { "config": { "ignition": ignition } } });
    rig.write(&Write::merge_patch(&MACHINE_CONFIGS, "", "a", patch));
    annotate(&mut rig, DESIRED_CONFIG, "keys");
    rig.run(5);
    annotate(&mut rig, LAST_APPLIED_DRAIN, "uncordon-keys");
    rig.run(60);
    assert_eq!((seen(&rig), reboots(&rig)), (["Done", "uncordon-keys", ""], 0));
    assert_eq!(node(&rig).annotation(CURRENT_CONFIG), Some("keys"));
    assert_eq!(event_count(&rig, "SkipReboot"), 1);
}

#[test]
fn a_policy_drains_the_node_without_a_reboot() {
    let mut rig = rig();
    let ignition = json!({ "version": "3.2.0" });
    let files = json!([{ "path": "/etc/own", "contents": { "source": "data:,a" } }]);
    let config = json!({ "ignition": ignition, "storage": { "files": files } });
    let spec = json!({ "osImageURL": "os-1", "config": config });
    rig.put(&MACHINE_CONFIGS, json!({ "metadata": { "name": "own" }, "spec": spec }));
    let policy = json!({ "files": [{ "path": "/etc/own", "actions": [{ "type": "Drain" }] }] });
    let spec = json!({ "nodeDisruptionPolicy": policy });
    rig.put(&MACHINE_CONFIGURATIONS, json!({ "metadata": { "name": "cluster" }, "spec": spec }));
    let patch = json!({ "spec": { "config": { "ignition": ignition } } });
    rig.write(&Write::merge_patch(&MACHINE_CONFIGS, "", "a", patch));
    annotate(&mut rig, DESIRED_CONFIG, "own");
    rig.run(10);
    assert_eq!(node(&rig).annotation(DESIRED_DRAIN), Some("drain-own"));
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-own");
    rig.run(30);
    assert_eq!(node(&rig).annotation(DESIRED_DRAIN), Some("uncordon-own"));
    annotate(&mut rig, LAST_APPLIED_DRAIN, "uncordon-own");
    rig.run(30);
    assert_eq!((seen(&rig), reboots(&rig)), (["Done", "uncordon-own", ""], 0));
}

#[test]
fn does_not_drain_again_after_a_restart() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_DRAIN, "drain-b");
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-b");
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(150);
    assert!(reboots(&rig) > 0);
    assert_eq!(["Cordon", "Drain"].map(|reason| event_count(&rig, reason)), [0, 0]);
}

#[test]
fn stops_writing_when_its_node_is_deleted() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(1);
    rig.write(&Write::delete(&NODES, "", "w"));
    rig.run(300);
    assert!(!rig.log.iter().any(|line| line.contains("drain")), "{:#?}", rig.log);
}

#[test]
fn does_not_drain_a_single_node_cluster() {
    let mut rig = rig();
    annotate(&mut rig, super::super::annotations::CONTROL_PLANE_TOPOLOGY, "SingleReplica");
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(150);
    assert_eq!(seen(&rig)[1], "uncordon-a");
    assert!(reboots(&rig) > 0);
}

#[test]
fn a_daemon_restarted_during_a_drain_keeps_its_request() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(30);
    // A new process with the unchanged disk.
    let now = rig.now;
    let disk = Disk { config: "a".to_owned(), os_image: "os-1".to_owned(), ..Disk::default() };
    let mut daemon = MachineConfigDaemon::new("w", disk, &Streams::new(1), now);
    let input = |now| Input {
        clock_shift: SignedDuration::ZERO,
        view: &rig.view,
        changes: &[],
        answers: &[],
        signals: &[],
        alerts: &[],
        counters: &[],
        now,
    };
    let step = daemon.step(&input(now));
    assert!(step.writes.iter().any(|write| is_event(write, "BootResync")), "{:?}", step.writes);
    assert_eq!(daemon.phase, Phase::Preparing(daemon.wake_at(now).unwrap()));
}

fn is_event(write: &Write, reason: &str) -> bool {
    matches!(&write.operation, windtunnel_core::Operation::Create(Value::Object(event)) if event["reason"] == reason)
}

#[test]
fn a_custom_image_is_applied_with_a_reboot_and_without_another_machineconfig() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_IMAGE, "registry/os@sha256:01");
    rig.run(5);
    assert_eq!(seen(&rig), ["Working", "drain-a", ""]);
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-a");
    rig.run(150);
    assert!(reboots(&rig) > 0, "{:#?}", rig.log);
    assert_eq!(node(&rig).annotation(CURRENT_IMAGE), None, "unchanged until after the reboot");
    assert_eq!(event_count(&rig, "OSUpgradeApplied"), 1);
}

#[test]
fn a_node_without_a_desired_image_returns_to_that_of_the_release() {
    let mut rig = Rig::new();
    rig.put(&MACHINE_CONFIGS, json!({ "metadata": { "name": "a" }, "spec": { "osImageURL": "os-1" } }));
    let annotations = json!({
        (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a", (CURRENT_IMAGE): "i", (STATE): "Done",
        (DESIRED_DRAIN): "uncordon-a", (LAST_APPLIED_DRAIN): "uncordon-a",
    });
    rig.put(&NODES, json!({ "metadata": { "name": "w", "annotations": annotations } }));
    let now = rig.now;
    let custom_image = "i".to_owned();
    let disk = Disk { config: "a".to_owned(), os_image: "os-1".to_owned(), custom_image };
    rig.seat(move || Box::new(MachineConfigDaemon::new("w", disk.clone(), &Streams::new(1), now)));
    rig.run(10);
    assert_eq!(seen(&rig), ["Working", "drain-a", ""]);
}

#[test]
fn the_annotation_of_the_current_image_is_removed_after_the_return_to_the_release() {
    let mut rig = rig();
    annotate(&mut rig, CURRENT_IMAGE, "i");
    rig.run(60);
    assert_eq!((node(&rig).annotation(CURRENT_IMAGE), reboots(&rig)), (None, 0));
}
