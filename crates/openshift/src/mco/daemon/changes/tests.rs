//! Tests of what changes require.

use serde_json::json;
use windtunnel_core::{Change, ChangeKind};

use super::*;
use crate::mco::boot_images;

fn with(change: impl Fn(&mut Value)) -> Object {
    let mut config = json!({ "spec": {
        "osImageURL": "os",
        "config": {
            "passwd": { "users": [{ "name": "core" }] },
            "storage": { "files": [{ "path": "/etc/containers/registries.conf" }, { "path": "/etc/a" }] },
        },
    } });
    change(&mut config["spec"]);
    Object::new(config)
}

fn plan(to: &Object, line: MajorMinor, view: &View) -> Plan {
    Plan::of(&with(|_| {}), to, line, view)
}

/// A MachineConfig with another file.
fn with_file(path: &str) -> Object {
    with(|spec| spec["config"]["storage"]["files"].as_array_mut().unwrap().push(json!({ "path": path })))
}

#[test]
fn only_changes_of_keys_and_reloaded_files_need_no_reboot() {
    let view = View::default();
    let reboots = |to: &Object| plan(to, (4, 18), &view).reboots();
    assert!(!reboots(&with(|_| {})));
    assert!(!reboots(&with(|spec| spec["config"]["passwd"] = json!({}))));
    assert!(!reboots(&with(|spec| spec["config"]["storage"]["files"][0]["mode"] = json!(1))));
    assert!(!reboots(&with(|spec| spec["kernelType"] = json!("default"))));
    assert!(!reboots(&with(|spec| spec["baseOSExtensionsContainerImage"] = json!("newer"))));
    assert!(reboots(&with(|spec| spec["config"]["storage"]["files"][1]["mode"] = json!(1))));
    assert!(reboots(&with(|spec| spec["osImageURL"] = json!("newer"))));
    assert!(reboots(&with(|spec| spec["kernelArguments"] = json!(["a"]))));
}

#[test]
fn reloaded_files_depend_on_the_release() {
    let view = View::default();
    let check = |path: &str, line: MajorMinor, reboots: bool| {
        assert_eq!(plan(&with_file(path), line, &view).reboots(), reboots, "{path} in {line:?}");
    };
    let (folder, key) = ("/etc/nmstate/openshift", "/etc/machine-config-daemon/no-reboot/containers-gpg.pub");
    for (line, known, unknown) in [
        ((4, 16), "/etc/kubernetes/kubelet-ca.crt", "/etc/nmstate/openshift/worker-0.yml"),
        ((4, 17), "/etc/nmstate/openshift/worker-0.yml", "/etc/kubernetes/kubelet-ca.crt"),
        ((5, 0), "/etc/containers/registries.d/sigstore.yaml", "/etc/containers/registries.data"),
    ] {
        check(known, line, false);
        check(key, line, false);
        check(unknown, line, true);
        check(&format!("{folder}-other/a"), line, true);
    }
}

#[test]
fn policies_of_an_administrator_decide() {
    let mut view = View::default();
    let policy = |name: &str, actions: Value| json!({ "name": name, "actions": actions });
    let restart = json!([{ "type": "Restart", "restart": { "serviceName": "own.service" } }]);
    let spec = json!({ "nodeDisruptionPolicy": {
        "files": [{ "path": "/etc/own", "actions": [{ "type": "Drain" }] }, { "path": "/etc/own/quiet", "actions": [{ "type": "None" }] }],
        "units": [policy("own.service", restart)],
        "sshkey": { "actions": [{ "type": "Reboot" }] },
    } });
    let object = Object::new(json!({ "metadata": { "name": "cluster" }, "spec": spec }));
    view.apply(&Change { kind: ChangeKind::Added, key: boot_images::key(), object, old: None });
    let drained = plan(&with_file("/etc/own/a"), (4, 18), &view);
    assert!(drained.drains() && !drained.reboots());
    assert!(!plan(&with_file("/etc/own/quiet/a"), (4, 18), &view).drains(), "the longest path counts");
    let unit = with(|spec| spec["config"]["systemd"]["units"] = json!([{ "name": "own.service" }]));
    let restarted = plan(&unit, (4, 18), &view);
    assert!(!restarted.drains());
    let message = "Config changes do not require reboot. Service own.service was restarted.";
    assert_eq!(restarted.events((4, 18)), [("ServiceRestart", message.to_owned())]);
    let keys = with(|spec| spec["config"]["passwd"] = json!({}));
    assert!(plan(&keys, (4, 18), &view).reboots());
    assert!(!plan(&keys, (4, 16), &view).reboots(), "older daemons have no policies");
}

#[test]
fn an_older_daemon_reports_a_reload_as_a_skipped_reboot() {
    let policy = with_file("/etc/containers/policy.json");
    let text =
        |service: &str| format!("Config changes do not require reboot. Service {service} was reloaded.");
    let view = View::default();
    assert_eq!(plan(&policy, (4, 14), &view).events((4, 14)), [("SkipReboot", text("crio"))]);
    assert_eq!(plan(&policy, (4, 18), &view).events((4, 18)), [("ServiceReload", text("crio.service"))]);
}
