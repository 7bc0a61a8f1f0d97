//! The daemon of a node that is granted what it wishes for, or not.

use serde_json::{Value, json};
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::testing::Rig;
use windtunnel_core::Object;
use windtunnel_core::resources::{EVENTS, MACHINE_CONFIGS};

use super::*;
use crate::mco::annotations::{
    CURRENT_CONFIG, DESIRED_DRAIN, LAST_APPLIED_DRAIN, LAST_SYNCED_CONTROLLER_CONFIG, RELEASE_VERSION,
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
    let disk = Disk { config: "a".to_owned(), os_image: "os-1".to_owned() };
    rig.seat(move || Box::new(MachineConfigDaemon::new("w", disk.clone(), &Streams::new(1), now)));
    rig.run(1);
    rig
}

fn annotate(rig: &mut Rig, key: &str, value: &str) {
    let patch = json!({ "metadata": { "annotations": { key: value } } });
    rig.write(&Write::merge_patch(&NODES, "", "w", patch));
}

fn tell(rig: &mut Rig, fault: Option<(FaultKind, &str)>) {
    let fault = fault.map(|(kind, message)| Fault { message: message.to_owned(), ..Fault::of(kind) });
    rig.write(&Write::merge_patch(&NODES, "", "w", Fault::patch(fault.as_ref())));
}

/// Has the node be drained for `b`, and fail then.
fn drain_with(rig: &mut Rig, kind: FaultKind, message: &str) {
    tell(rig, Some((kind, message)));
    annotate(rig, DESIRED_CONFIG, "b");
    rig.run(5);
    annotate(rig, LAST_APPLIED_DRAIN, "drain-b");
}

/// Has the controller be of a release.
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

/// State, wish and reason.
fn seen(rig: &Rig) -> [&str; 3] {
    [STATE, DESIRED_DRAIN, REASON].map(|key| node(rig).annotation(key).unwrap_or_default())
}

/// The reasons of Warnings, in their order.
fn warnings(rig: &Rig) -> Vec<&str> {
    let mut events: Vec<&Object> =
        rig.view.list(&EVENTS).filter(|event| event.text("/type") == "Warning").collect();
    events.sort_by_key(|event| event.text("/firstTimestamp"));
    events.into_iter().map(|event| event.text("/reason")).collect()
}

/// How often something was told.
fn told(rig: &Rig, reason: &str) -> i64 {
    let events = rig.view.list(&EVENTS).filter(|event| event.text("/reason") == reason);
    events.filter_map(|event| event.number("/count")).sum()
}

fn reboots(rig: &Rig) -> usize {
    rig.log.iter().filter(|line| line.contains(" reboot ")).count()
}

#[test]
fn it_asks_for_a_drain_and_reboots_when_that_is_granted() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(5);
    assert_eq!(seen(&rig), ["Working", "drain-b", ""]);
    rig.run(120);
    assert_eq!(reboots(&rig), 0, "nothing is granted");
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-b");
    rig.run(150);
    assert!(rig.log.iter().any(|line| line.ends_with(" reboot b")), "{:#?}", rig.log);
    assert_eq!(node(&rig).annotation(CURRENT_CONFIG), Some("a"), "the old one to the very end");
}

#[test]
fn after_an_hour_it_says_that_the_drain_failed_and_goes_on_when_that_is_granted() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(3_500);
    assert_eq!(seen(&rig), ["Working", "drain-b", ""]);
    rig.run(200);
    let why = "failed to drain node: w after 1 hour. Please see machine-config-controller logs for more information";
    assert_eq!(seen(&rig), ["Degraded", "drain-b", why]);
    // Whatever is desired meanwhile.
    annotate(&mut rig, DESIRED_CONFIG, "a");
    rig.run(600);
    assert_eq!(seen(&rig)[0], "Degraded");
    annotate(&mut rig, DESIRED_CONFIG, "b");
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-b");
    rig.run(150);
    assert_eq!(seen(&rig)[0], "Degraded", "until it is done");
    assert!(reboots(&rig) > 0);
}

#[test]
fn a_name_that_leads_nowhere_is_told_at_once_and_forgiven_without_a_reboot() {
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
fn a_changed_file_degrades_an_idle_node_and_one_that_was_put_right_is_done() {
    let mut rig = rig();
    let detail = "content mismatch for file \"/etc/a\"";
    tell(&mut rig, Some((FaultKind::OnDiskMismatch, detail)));
    rig.run(0);
    assert_eq!(seen(&rig), ["Degraded", "uncordon-a", detail]);
    rig.run(5);
    let why = format!("unexpected on-disk state validating against a: {detail}");
    assert_eq!(seen(&rig), ["Degraded", "uncordon-a", &why]);
    rig.run(600);
    assert_eq!(warnings(&rig), ["ConfigDriftDetected", "PreflightConfigDriftCheckFailed"]);
    tell(&mut rig, None);
    rig.run(60);
    assert_eq!((seen(&rig), reboots(&rig)), (["Done", "uncordon-a", ""], 0));
}

#[test]
fn an_image_that_cannot_be_pulled_is_told_with_the_command_that_failed() {
    let mut rig = rig();
    drain_with(&mut rig, FaultKind::ImagePullFails, "Error: dial tcp: i/o timeout");
    rig.run(300);
    let why = "failed to run command nice (6 tries): [timed out waiting for the condition, running nice -- ionice -c 3 \
        podman pull -q --authfile /var/lib/kubelet/config.json os-2 failed: Error: dial tcp: i/o timeout: exit status 125]";
    assert_eq!((seen(&rig), reboots(&rig)), (["Degraded", "drain-b", why], 0));
    tell(&mut rig, None);
    rig.run(300);
    assert!(reboots(&rig) > 0);
}

/// After how many seconds it is told that a node is kept from its operating system; with the fault healed after `healed` of them.
fn told_after(kind: FaultKind, release: &str, healed: Option<usize>) -> Option<usize> {
    let mut rig = rig();
    controller_config(&mut rig, release);
    drain_with(&mut rig, kind, "no route to host");
    (0..600).find(|second| {
        if healed == Some(*second) {
            tell(&mut rig, None);
        }
        rig.run(1);
        seen(&rig)[2].contains("no route to host")
    })
}

#[test]
fn what_is_healed_in_the_pause_that_ends_all_tries_is_told_nevertheless() {
    for (release, is_told) in [("4.16.1", false), ("4.22.1", true)] {
        let after = told_after(FaultKind::OsUpdateFails, release, None).unwrap();
        let healed = |before| told_after(FaultKind::OsUpdateFails, release, Some(after - before));
        assert_eq!(healed(30), Some(after).filter(|_| is_told), "{release}");
        assert_eq!(healed(45), None, "{release}: there is a try after that");
    }
}

#[test]
fn what_fails_is_tried_again_before_anything_is_said() {
    let cases = [
        (FaultKind::ImagePullFails, "4.16.1"),
        (FaultKind::OsUpdateFails, "4.16.1"),
        (FaultKind::OsUpdateFails, "4.22.1"),
    ];
    let took = cases.map(|(kind, release)| told_after(kind, release, None).unwrap());
    // All write files for as long, and then pause for 155, 150 and 70 seconds.
    assert!((156..300).contains(&took[0]), "{took:?}");
    assert_eq!([took[0] - took[1], took[1] - took[2]], [5, 80]);
}

#[test]
fn what_succeeds_when_it_is_tried_again_is_not_told() {
    let mut rig = rig();
    drain_with(&mut rig, FaultKind::ImagePullFails, "no route to host");
    rig.run(155);
    assert_eq!((seen(&rig), reboots(&rig)), (["Working", "drain-b", ""], 0));
    tell(&mut rig, None);
    rig.run(80);
    assert_eq!(seen(&rig), ["Working", "drain-b", ""]);
    assert!(reboots(&rig) > 0);
}

#[test]
fn a_node_that_is_not_rebooted_is_degraded_and_tried_again() {
    let mut rig = rig();
    drain_with(&mut rig, FaultKind::RebootRefused, "");
    rig.run(600);
    let why = "reboot command failed, something is seriously wrong";
    assert_eq!((seen(&rig), reboots(&rig)), (["Degraded", "drain-b", why], 0));
    assert!(told(&rig, "Reboot") > 1);
    tell(&mut rig, None);
    rig.run(300);
    assert!(reboots(&rig) > 0);
}

#[test]
fn a_node_tells_which_controller_config_its_certificates_are_of() {
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
fn a_daemon_that_starts_looks_at_the_disk_first() {
    let mut rig = Rig::new();
    let annotations = json!({ (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a", (STATE): "Done" });
    rig.put(&NODES, json!({ "metadata": { "name": "w", "annotations": annotations } }));
    tell(&mut rig, Some((FaultKind::OnDiskMismatch, "mode mismatch for file: \"/etc/a\"")));
    let (now, disk) = (rig.now, Disk { config: "a".to_owned(), os_image: "os-1".to_owned() });
    rig.seat(move || Box::new(MachineConfigDaemon::new("w", disk.clone(), &Streams::new(1), now)));
    rig.run(60);
    let why = "unexpected on-disk state validating against a: mode mismatch for file: \"/etc/a\"";
    assert_eq!(seen(&rig), ["Degraded", "", why]);
    assert_eq!(warnings(&rig), ["OnDiskStateValidationFailed"]);
}

#[test]
fn one_that_is_asked_to_end_begins_anew_and_finds_what_nobody_saw() {
    let mut rig = rig();
    tell(&mut rig, Some((FaultKind::HiddenMismatch, "mode mismatch for file: \"/etc/a\"")));
    rig.run(600);
    assert_eq!((seen(&rig), warnings(&rig).len()), (["Done", "uncordon-a", ""], 0));
    rig.signal(Signal::Terminate);
    rig.run(60);
    let why = "unexpected on-disk state validating against a: mode mismatch for file: \"/etc/a\"";
    assert_eq!(seen(&rig), ["Degraded", "uncordon-a", why]);
    assert_eq!(warnings(&rig), ["OnDiskStateValidationFailed"]);
    tell(&mut rig, None);
    rig.run(60);
    assert_eq!((seen(&rig), reboots(&rig)), (["Done", "uncordon-a", ""], 0));
}

#[test]
fn one_that_is_asked_to_end_says_again_that_its_node_is_done_unless_it_is_at_work() {
    let mut rig = rig();
    rig.run(60);
    rig.signal(Signal::Terminate);
    rig.run(60);
    assert_eq!(told(&rig, "NodeDone"), 1);
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(5);
    assert_eq!(seen(&rig), ["Working", "drain-b", ""]);
    rig.signal(Signal::Terminate);
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-b");
    rig.run(300);
    assert_eq!((told(&rig, "BootResync"), told(&rig, "Reboot")), (0, 1));
}

#[test]
fn one_whose_kubelet_is_stopped_is_replaced_when_that_runs_again() {
    let mut rig = rig();
    rig.run(60);
    tell(&mut rig, Some((FaultKind::KubeletStopped, "")));
    rig.signal(Signal::Terminate);
    rig.run(60);
    assert_eq!(told(&rig, "NodeDone"), 0);
    tell(&mut rig, None);
    rig.run(60);
    assert_eq!(told(&rig, "NodeDone"), 1);
}

#[test]
fn a_reason_is_cut_at_two_thousand_bytes() {
    let mut rig = rig();
    tell(&mut rig, Some((FaultKind::Degraded, &"ä".repeat(3_000))));
    rig.run(5);
    assert_eq!(seen(&rig)[2].len(), 2_000);
    tell(&mut rig, Some((FaultKind::Degraded, &format!("x{}", "ä".repeat(3_000)))));
    rig.run(5);
    assert_eq!(seen(&rig)[2].len(), 1_999, "not within a character");
}

#[test]
fn why_there_is_no_way_is_cut_just_so_and_told_once() {
    let mut rig = rig();
    tell(&mut rig, Some((FaultKind::Unreconcilable, &"x".repeat(3_000))));
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(600);
    assert_eq!((seen(&rig)[0], seen(&rig)[2].len()), ("Unreconcilable", 2_000));
    assert_eq!(told(&rig, "FailedToReconcile"), 1);
}

#[test]
fn a_change_without_a_reboot_is_told_once() {
    let mut rig = rig();
    let spec = json!({ "osImageURL": "os-1", "config": { "passwd": { "users": [{ "name": "core" }] } } });
    rig.put(&MACHINE_CONFIGS, json!({ "metadata": { "name": "keys" }, "spec": spec }));
    let patch = json!({ "spec": { "config": {} } });
    rig.write(&Write::merge_patch(&MACHINE_CONFIGS, "", "a", patch));
    annotate(&mut rig, DESIRED_CONFIG, "keys");
    rig.run(5);
    annotate(&mut rig, LAST_APPLIED_DRAIN, "uncordon-keys");
    rig.run(60);
    assert_eq!((seen(&rig), reboots(&rig)), (["Done", "uncordon-keys", ""], 0));
    assert_eq!(node(&rig).annotation(CURRENT_CONFIG), Some("keys"));
    assert_eq!(told(&rig, "SkipReboot"), 1);
}

#[test]
fn a_node_that_was_drained_before_the_daemon_was_restarted_is_not_drained_again() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_DRAIN, "drain-b");
    annotate(&mut rig, LAST_APPLIED_DRAIN, "drain-b");
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(150);
    assert!(reboots(&rig) > 0);
    assert_eq!(["Cordon", "Drain"].map(|reason| told(&rig, reason)), [0, 0]);
}

#[test]
fn one_whose_node_is_deleted_rests() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(1);
    rig.write(&Write::delete(&NODES, "", "w"));
    rig.run(300);
    assert!(!rig.log.iter().any(|line| line.contains("drain")), "{:#?}", rig.log);
}

#[test]
fn a_single_node_is_not_drained() {
    let mut rig = rig();
    annotate(&mut rig, super::super::annotations::CONTROL_PLANE_TOPOLOGY, "SingleReplica");
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(150);
    assert_eq!(seen(&rig)[1], "uncordon-a");
    assert!(reboots(&rig) > 0);
}

#[test]
fn one_that_is_restarted_in_a_drain_takes_up_the_same_wish() {
    let mut rig = rig();
    annotate(&mut rig, DESIRED_CONFIG, "b");
    rig.run(30);
    // A process that begins with the disk as it was.
    let now = rig.now;
    let disk = Disk { config: "a".to_owned(), os_image: "os-1".to_owned() };
    let mut again = MachineConfigDaemon::new("w", disk, &Streams::new(1), now);
    let input = |now| Input {
        leap: SignedDuration::ZERO,
        view: &rig.view,
        changes: &[],
        answers: &[],
        signals: &[],
        alerts: &[],
        counters: &[],
        now,
    };
    let step = again.step(&input(now));
    assert!(step.writes.iter().any(|write| is_event(write, "BootResync")), "{:?}", step.writes);
    assert_eq!(again.phase, Phase::Preparing(again.wake_at(now).unwrap()));
}

fn is_event(write: &Write, reason: &str) -> bool {
    matches!(&write.operation, windtunnel_core::Operation::Create(Value::Object(event)) if event["reason"] == reason)
}
