//! Tests of the template controller.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semver::Version;
use serde_json::json;
use windtunnel_controllers::testing::{Rig, check_recovery};
use windtunnel_core::resources::{IMAGE_DIGEST_MIRROR_SETS, SECRETS};

use super::*;
use crate::mco::annotations::ROLE;
use crate::release::Release;

fn release(version: &str) -> Release {
    Release::find(&Version::parse(version).unwrap()).unwrap()
}

fn prepare(rig: &mut Rig) {
    let releases = ["4.17.3", "4.18.3"].map(release).map(|release| (release.version.clone(), release));
    let environment = Arc::new(Environment { releases: releases.into(), ..Environment::default() });
    rig.seat(move || Box::new(TemplateController::new(Arc::clone(&environment))));
}

fn configure(rig: &mut Rig, version: &str) {
    let image = release(version).image;
    match rig.view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG) {
        None => {
            let config =
                json!({ "metadata": { "name": CONTROLLER_CONFIG }, "spec": { "releaseImage": image } });
            rig.put(&CONTROLLER_CONFIGS, config);
        }
        Some(_) => {
            let patch = json!({ "spec": { "releaseImage": image } });
            rig.write(&Write::merge_patch(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG, patch));
        }
    }
}

fn configs(rig: &Rig) -> Vec<&Object> {
    rig.view.list(&MACHINE_CONFIGS).collect()
}

#[test]
fn another_release_updates_the_machineconfigs_under_the_same_names() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.run(10);
    assert!(configs(&rig).is_empty(), "no release is known yet");
    configure(&mut rig, "4.17.3");
    rig.run(10);
    let worker = configs(&rig).into_iter().filter(|config| config.label(ROLE) == Some("worker"));
    let names: Vec<&str> = worker.map(Object::name).collect();
    let expected = "00-worker 01-worker-container-runtime 01-worker-kubelet 97-worker-generated-kubelet 98-worker-generated-kubelet 99-worker-generated-registries 99-worker-ssh";
    assert_eq!(names.join(" "), expected);
    let before = configs(&rig).into_iter().cloned().collect::<Vec<_>>();
    configure(&mut rig, "4.18.3");
    rig.run(10);
    assert_eq!(configs(&rig).len(), before.len(), "no other names");
    for (now, before) in configs(&rig).into_iter().zip(&before) {
        let is_the_installers = now.name().ends_with("-ssh");
        let commit = (!is_the_installers).then(|| release("4.18.3").machine_config_commit());
        assert_eq!(now.annotation(GENERATED_BY), commit.as_deref(), "{}", now.name());
        assert_eq!(now == before, is_the_installers, "{}", now.name());
    }
}

#[test]
fn keeps_changes_of_the_installers_ssh_config() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    configure(&mut rig, "4.17.3");
    rig.run(10);
    let patch = json!({ "spec": { "config": { "passwd": { "users": [{ "name": "core", "sshAuthorizedKeys": ["a"] }] } } } });
    rig.write(&Write::merge_patch(&MACHINE_CONFIGS, "", "99-worker-ssh", patch));
    configure(&mut rig, "4.18.3");
    rig.run(10);
    let keys = rig.view.get(&MACHINE_CONFIGS, "", "99-worker-ssh").unwrap();
    assert_eq!(keys["spec"]["config"]["passwd"]["users"][0]["sshAuthorizedKeys"], json!(["a"]));
}

#[test]
fn restores_a_machineconfig_that_lost_its_spec() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.put(&MACHINE_CONFIGS, json!({ "metadata": { "name": "00-worker" } }));
    configure(&mut rig, "4.18.3");
    rig.run(10);
    let config = rig.view.get(&MACHINE_CONFIGS, "", "00-worker").unwrap();
    assert_eq!(config.list("/spec/config/storage/files").len(), 2);
}

#[test]
fn sets_the_kernel_arguments_of_the_cgroup_mode() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    configure(&mut rig, "4.18.3");
    rig.run(10);
    let without = configs(&rig).into_iter().cloned().collect::<Vec<_>>();
    let settings = |mode: &str| json!({ "metadata": { "name": "cluster" }, "spec": { "cgroupMode": mode } });
    let arguments = |rig: &Rig| {
        let config = rig.view.get(&MACHINE_CONFIGS, "", "97-worker-generated-kubelet").unwrap();
        config.list("/spec/kernelArguments").len()
    };
    let mut counts = vec![arguments(&rig)];
    rig.put(&NODE_SETTINGS, settings("v1"));
    rig.run(10);
    counts.push(arguments(&rig));
    for mode in ["v2", ""] {
        rig.write(&Write::merge_patch(&NODE_SETTINGS, "", "cluster", settings(mode)));
        rig.run(10);
        counts.push(arguments(&rig));
    }
    assert_eq!(counts, [0, 2, 3, 0]);
    let specs = |configs: &[Object]| configs.iter().map(|config| config["spec"].clone()).collect::<Vec<_>>();
    let now = configs(&rig).into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(specs(&now), specs(&without), "the arguments are removed");
}

#[test]
fn sets_the_feature_gates_of_kubelets_by_the_feature_set() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    configure(&mut rig, "4.18.3");
    rig.run(10);
    let before = configs(&rig).into_iter().cloned().collect::<Vec<_>>();
    let gate = json!({ "metadata": { "name": "cluster" }, "spec": { "featureSet": "TechPreviewNoUpgrade" } });
    rig.put(&FEATURE_GATES, gate);
    rig.run(10);
    let now = configs(&rig).into_iter().cloned().collect::<Vec<_>>();
    let changed = now.iter().zip(&before).filter(|(now, before)| now["spec"] != before["spec"]);
    let changed: Vec<_> = changed.map(|(now, _)| now.name()).collect();
    assert_eq!(changed, ["98-master-generated-kubelet", "98-worker-generated-kubelet"]);
}

#[test]
fn a_quick_switch_changes_the_gates_of_kubelets_only_with_the_next_release() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    configure(&mut rig, "4.17.3");
    rig.run(10);
    let gates = |rig: &Rig| {
        let all = configs(rig).into_iter();
        let of_kubelets = all.filter(|config| config.name().starts_with("98-"));
        of_kubelets.map(|config| config["spec"].clone()).collect::<Vec<_>>()
    };
    let before = gates(&rig);
    let object = crate::mco::feature_set_switch("TechPreviewNoUpgrade", true);
    rig.put(&FEATURE_GATES, object);
    rig.run(10);
    assert_eq!(gates(&rig), before, "no node has to reboot");
    configure(&mut rig, "4.18.3");
    rig.run(10);
    assert!(gates(&rig).iter().zip(&before).all(|(now, before)| now != before));
}

/// The paths of the files in a MachineConfig.
fn paths(rig: &Rig, config: &str) -> String {
    let config = rig.view.get(&MACHINE_CONFIGS, "", config).unwrap();
    let files = config.list("/spec/config/storage/files").iter();
    files.map(|file| file["path"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// The contents of the file with this path in a MachineConfig.
fn text(rig: &Rig, config: &str, path: &str) -> String {
    let config = rig.view.get(&MACHINE_CONFIGS, "", config).unwrap();
    let mut files = config.list("/spec/config/storage/files").iter();
    let file = files.find(|file| file["path"] == *path).unwrap();
    String::from_utf8(crate::mco::ignition::contents(file).unwrap()).unwrap()
}

fn mirror_set(name: &str, policy: &str) -> serde_json::Value {
    let set = json!({ "source": "r.com", "mirrors": ["m.com"], "mirrorSourcePolicy": policy });
    json!({ "metadata": { "name": name }, "spec": { "imageDigestMirrors": [set] } })
}

#[test]
fn mirror_sets_are_files_of_both_pools_while_they_exist() {
    let registries = "99-worker-generated-registries";
    let mut rig = Rig::new();
    prepare(&mut rig);
    configure(&mut rig, "4.18.3");
    rig.run(10);
    assert_eq!(paths(&rig, registries), "");
    let template = "/etc/crio/crio.conf.d/00-default /etc/containers/registries.conf";
    assert_eq!(paths(&rig, "01-worker-container-runtime"), template);
    rig.put(&IMAGE_DIGEST_MIRROR_SETS, mirror_set("a", "AllowContactingSource"));
    rig.run(10);
    for pool in ["master", "worker"] {
        let name = format!("99-{pool}-generated-registries");
        assert!(text(&rig, &name, "/etc/containers/registries.conf").contains("location = \"m.com\""));
    }
    // Sets that contradict each other change nothing.
    rig.put(&IMAGE_DIGEST_MIRROR_SETS, mirror_set("b", "NeverContactSource"));
    rig.run(10);
    assert!(!text(&rig, registries, "/etc/containers/registries.conf").contains("blocked"));
    rig.write(&Write::delete(&IMAGE_DIGEST_MIRROR_SETS, "", "a"));
    rig.run(10);
    assert!(text(&rig, registries, "/etc/containers/registries.conf").contains("blocked = true"));
    rig.write(&Write::delete(&IMAGE_DIGEST_MIRROR_SETS, "", "b"));
    rig.run(10);
    assert_eq!(paths(&rig, registries), "");
}

#[test]
fn the_pull_secret_is_a_file_that_stays_without_the_secret() {
    let path = "/var/lib/kubelet/config.json";
    let mut rig = Rig::new();
    prepare(&mut rig);
    configure(&mut rig, "4.18.3");
    rig.run(10);
    assert_eq!(paths(&rig, "00-worker"), "/etc/mco/role /etc/mco/proxy.env");
    let secret = |text: &str| {
        let data = json!({ ".dockerconfigjson": STANDARD.encode(text) });
        json!({ "metadata": { "name": "pull-secret", "namespace": "openshift-config" }, "data": data })
    };
    rig.put(&SECRETS, secret("{\"auths\":{}}"));
    rig.run(10);
    assert_eq!(text(&rig, "00-master", path), "{\"auths\":{}}");
    let change = |text: &str| {
        Write::merge_patch(
            &SECRETS,
            "openshift-config",
            "pull-secret",
            json!({ "data": secret(text)["data"] }),
        )
    };
    rig.write(&change("{\"auths\":{\"r.com\":{}}}"));
    rig.run(10);
    assert_eq!(text(&rig, "00-master", path), "{\"auths\":{\"r.com\":{}}}");
    // In a record other text is in its place.
    rig.write(&change("REDACTED"));
    rig.run(10);
    rig.write(&Write::delete(&SECRETS, "openshift-config", "pull-secret"));
    configure(&mut rig, "4.17.3");
    rig.run(10);
    assert_eq!(text(&rig, "00-master", path), "{\"auths\":{\"r.com\":{}}}");
}

#[test]
fn the_proxy_of_the_controller_config_is_a_file() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    configure(&mut rig, "4.18.3");
    let proxy = json!({ "spec": { "proxy": { "httpProxy": "http://p", "noProxy": ".svc" } } });
    rig.write(&Write::merge_patch(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG, proxy));
    rig.run(10);
    assert_eq!(text(&rig, "00-worker", "/etc/mco/proxy.env"), "HTTP_PROXY=http://p\nNO_PROXY=.svc\n");
}

#[test]
fn a_restart_after_any_write_does_not_change_the_machineconfigs() {
    let story = |rig: &mut Rig| {
        prepare(rig);
        configure(rig, "4.17.3");
        rig.run(30);
        configure(rig, "4.18.3");
        rig.run(30);
    };
    check_recovery(story, |rig| {
        let text = |config: &&Object| format!("{} {}", config.name(), config["spec"]);
        configs(rig).iter().map(text).collect::<Vec<_>>().join("\n")
    });
}
