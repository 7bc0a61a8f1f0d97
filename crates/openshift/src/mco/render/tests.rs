//! Tests of the render controller.

use serde_json::{Value, json};
use windtunnel_controllers::testing::{Rig, check_recovery};
use windtunnel_core::condition;
use windtunnel_core::resources::EVENTS;

use super::*;
use crate::mco::annotations::ROLE;

/// A worker pool, and the ControllerConfig of commit `one`, version 4.18.3.
fn prepare(rig: &mut Rig) {
    configure(rig, "one", "4.18.3");
    let selector = json!({ "matchLabels": { (ROLE): "worker" } });
    let pool = json!({ "metadata": { "name": "worker" }, "spec": { "machineConfigSelector": selector } });
    rig.put(&MACHINE_CONFIG_POOLS, pool);
    rig.seat(|| Box::new(RenderController::new()));
}

fn rig() -> Rig {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig
}

/// Writes the ControllerConfig of a release. The operating system is always the same.
fn configure(rig: &mut Rig, commit: &str, version: &str) {
    let annotations = json!({ (GENERATED_BY): commit, (RELEASE_VERSION): version });
    let metadata = json!({ "name": CONTROLLER_CONFIG, "annotations": annotations });
    let spec = json!({ "osImageURL": "os" });
    if rig.view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG).is_some() {
        let patch = json!({ "metadata": { "annotations": annotations } });
        rig.write(&Write::merge_patch(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG, patch));
    } else {
        rig.put(&CONTROLLER_CONFIGS, json!({ "metadata": metadata, "spec": spec }));
    }
}

fn put_source(rig: &mut Rig, name: &str, role: &str, commit: Option<&str>) {
    let mut metadata = json!({ "name": name, "labels": { (ROLE): role } });
    if let Some(commit) = commit {
        metadata["annotations"] = json!({ (GENERATED_BY): commit });
    }
    rig.put(&MACHINE_CONFIGS, json!({ "metadata": metadata, "spec": { "kernelArguments": [name] } }));
}

fn pool(rig: &Rig) -> &Object {
    rig.view.get(&MACHINE_CONFIG_POOLS, "", "worker").unwrap()
}

fn rendered(rig: &Rig) -> Vec<&Object> {
    rig.view.list(&MACHINE_CONFIGS).filter(|config| config.name().starts_with("rendered-")).collect()
}

/// `status` and `message` of `RenderDegraded`.
fn degraded(rig: &Rig) -> Option<(String, String)> {
    let found = Condition::from_value(condition::find_in_status(pool(rig), "RenderDegraded")?);
    Some((found.status, found.message))
}

#[test]
fn renders_a_pool_five_seconds_after_the_last_change() {
    let mut rig = rig();
    put_source(&mut rig, "00-worker", "worker", Some("one"));
    rig.run(3);
    put_source(&mut rig, "99-worker-ssh", "worker", None);
    put_source(&mut rig, "00-master", "master", Some("one"));
    rig.run(4);
    assert!(rendered(&rig).is_empty(), "the delay starts at the last change");
    rig.run(2);
    let [config] = rendered(&rig)[..] else { panic!("{:#?}", rig.log) };
    assert_eq!(config.annotation(RELEASE_VERSION), Some("4.18.3"));
    assert_eq!(config["metadata"]["ownerReferences"][0]["name"], "worker");
    assert_eq!(config.label(ROLE), None);
    let reference = &pool(&rig)["spec"]["configuration"];
    assert_eq!(reference["name"], config.name());
    let sources: Vec<&Value> =
        reference["source"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(sources, ["00-worker", "99-worker-ssh"]);
    assert_eq!(degraded(&rig), Some(("False".to_owned(), String::new())));
    let event = rig.view.list(&EVENTS).next().unwrap();
    let message = "successfully generated (release version: 4.18.3, controller version: one)";
    assert_eq!(event.text("/message"), format!("{} {message}", config.name()));
    assert_eq!(event.text("/reason"), "RenderedConfigGenerated");
    let before = rig.writes;
    rig.run(600);
    assert_eq!(rig.writes, before, "no further writes");
}

#[test]
fn another_release_with_the_same_contents_keeps_the_name_and_updates_the_annotation() {
    let mut rig = rig();
    put_source(&mut rig, "99-worker-ssh", "worker", None);
    rig.run(10);
    let name = rendered(&rig)[0].name().to_owned();
    configure(&mut rig, "two", "4.18.7");
    rig.run(10);
    let [config] = rendered(&rig)[..] else { panic!("{:#?}", rig.log) };
    assert_eq!((config.name(), config.annotation(RELEASE_VERSION)), (name.as_str(), Some("4.18.7")));
}

#[test]
fn a_machineconfig_without_content_is_a_source_of_the_same_target() {
    let mut rig = rig();
    put_source(&mut rig, "99-worker-ssh", "worker", None);
    rig.run(10);
    let name = rendered(&rig)[0].name().to_owned();
    let metadata = json!({ "name": "50-empty", "labels": { (ROLE): "worker" } });
    rig.put(&MACHINE_CONFIGS, json!({ "metadata": metadata, "spec": {} }));
    rig.run(10);
    assert_eq!(pool(&rig).text("/spec/configuration/name"), name);
    let sources = pool(&rig).list("/spec/configuration/source").iter().map(|source| &source["name"]);
    assert!(sources.eq(&["50-empty", "99-worker-ssh"]));
    let (before, event) = (rig.writes, rig.view.list(&EVENTS).next().unwrap());
    assert_eq!(event.text("/source/component"), EVENT_SOURCE);
    rig.run(60);
    assert_eq!(rig.writes, before, "no further writes");
}

#[test]
fn a_deleted_target_is_created_again() {
    let mut rig = rig();
    put_source(&mut rig, "99-worker-ssh", "worker", None);
    rig.run(10);
    let name = rendered(&rig)[0].name().to_owned();
    rig.write(&Write::delete(&MACHINE_CONFIGS, "", &name));
    rig.run(10);
    assert_eq!(rendered(&rig).iter().map(|config| config.name()).collect::<Vec<_>>(), [name]);
}

#[test]
fn refuses_what_only_an_installation_can_set_and_recovers() {
    let mut rig = rig();
    put_source(&mut rig, "99-worker-ssh", "worker", None);
    rig.run(10);
    let name = pool(&rig).text("/spec/configuration/name").to_owned();
    let config =
        json!({ "ignition": { "version": "3.2.0" }, "storage": { "disks": [{ "device": "/dev/sdb" }] } });
    let metadata = json!({ "name": "99-disks", "labels": { (ROLE): "worker" } });
    rig.put(&MACHINE_CONFIGS, json!({ "metadata": metadata, "spec": { "config": config } }));
    rig.run(10);
    let message = format!(
        "Failed to render configuration for pool worker: could not generate rendered MachineConfig: reconciliation failed between current config \"{name}\" and base config \"99-disks\": ignition disks section contains changes"
    );
    assert_eq!(degraded(&rig), Some(("True".to_owned(), message)));
    assert_eq!(pool(&rig).text("/spec/configuration/name"), name);
    rig.write(&Write::delete(&MACHINE_CONFIGS, "", "99-disks"));
    rig.run(10);
    assert_eq!(degraded(&rig), Some(("False".to_owned(), String::new())));
}

#[test]
fn does_not_render_machineconfigs_of_an_older_controller() {
    let mut rig = rig();
    put_source(&mut rig, "00-worker", "worker", Some("one"));
    rig.run(10);
    configure(&mut rig, "two", "4.18.7");
    rig.run(10);
    let message = "Failed to render configuration for pool worker: could not generate rendered MachineConfig: Ignoring MC 00-worker generated by older version one (my version: two)";
    assert_eq!(degraded(&rig), Some(("True".to_owned(), message.to_owned())));
    let patch = json!({ "metadata": { "annotations": { (GENERATED_BY): "two" } } });
    rig.write(&Write::merge_patch(&MACHINE_CONFIGS, "", "00-worker", patch));
    rig.run(10);
    assert_eq!(degraded(&rig), Some(("False".to_owned(), String::new())));
}

#[test]
fn a_pool_that_selects_no_machineconfig_is_degraded() {
    let mut rig = rig();
    rig.run(10);
    let message = "Failed to render configuration for pool worker: no MachineConfigs found matching selector machineconfiguration.openshift.io/role=worker";
    assert_eq!(degraded(&rig), Some(("True".to_owned(), message.to_owned())));
    assert!(pool(&rig)["spec"]["configuration"].is_null());
}

#[test]
fn a_restart_after_any_write_does_not_change_the_rendered_configs() {
    let story = |rig: &mut Rig| {
        prepare(rig);
        put_source(rig, "00-worker", "worker", Some("one"));
        rig.run(20);
        put_source(rig, "50-worker-quiet", "worker", None);
        rig.run(20);
    };
    check_recovery(story, |rig| {
        let names: Vec<&str> = rendered(rig).iter().map(|config| config.name()).collect();
        format!("{names:?} {}", pool(rig)["spec"]["configuration"])
    });
}
