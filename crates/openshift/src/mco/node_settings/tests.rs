//! Tests of the controllers of settings.

use serde_json::{Value, json};
use windtunnel_controllers::testing::Rig;
use windtunnel_core::resources::{
    CONTAINER_RUNTIME_CONFIGS, CONTROLLER_CONFIGS, KUBELET_CONFIGS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS,
};
use windtunnel_core::{Object, Write};

use super::controller::SettingsController;
use crate::mco::CONTROLLER_CONFIG;
use crate::mco::annotations::{GENERATED_BY, RELEASE_VERSION, ROLE};

/// A worker pool with a label, and the controller of commit `one`.
fn rig(of_runtimes: bool) -> Rig {
    let mut rig = Rig::new();
    let annotations = json!({ (GENERATED_BY): "one", (RELEASE_VERSION): "4.18.3" });
    rig.put(
        &CONTROLLER_CONFIGS,
        json!({ "metadata": { "name": CONTROLLER_CONFIG, "annotations": annotations } }),
    );
    let spec = json!({ "configuration": { "name": "rendered" } });
    rig.put(
        &MACHINE_CONFIG_POOLS,
        json!({ "metadata": { "name": "worker", "labels": { "own": "" } }, "spec": spec }),
    );
    rig.seat(move || {
        let [kubelets, runtimes] = SettingsController::all();
        Box::new(if of_runtimes { runtimes } else { kubelets })
    });
    rig
}

fn put(rig: &mut Rig, name: &str, label: &str, config: &Value) {
    let selector = json!({ "matchLabels": { (label): "" } });
    let spec = json!({ "machineConfigPoolSelector": selector, "kubeletConfig": config });
    rig.put(&KUBELET_CONFIGS, json!({ "metadata": { "name": name, "generation": 1 }, "spec": spec }));
}

fn last_condition(rig: &Rig, name: &str) -> (String, String) {
    let object = rig.view.get(&KUBELET_CONFIGS, "", name).unwrap();
    let last = object.conditions().last().cloned().unwrap_or_default();
    let text = |field: &str| last[field].as_str().unwrap_or_default().to_owned();
    (text("type"), text("message"))
}

fn names(rig: &Rig) -> Vec<&str> {
    rig.view.list(&MACHINE_CONFIGS).map(Object::name).collect()
}

#[test]
fn makes_a_machineconfig_for_each_object_and_deletes_it_with_the_object() {
    let mut rig = rig(false);
    put(&mut rig, "pods", "own", &json!({ "maxPods": 100 }));
    rig.run(10);
    put(&mut rig, "more", "own", &json!({ "maxPods": 200 }));
    rig.run(10);
    assert_eq!(names(&rig), ["99-worker-generated-kubelet", "99-worker-generated-kubelet-1"]);
    let config = rig.view.get(&MACHINE_CONFIGS, "", "99-worker-generated-kubelet").unwrap();
    assert_eq!((config.label(ROLE), config.annotation(GENERATED_BY)), (Some("worker"), Some("one")));
    assert_eq!(config["metadata"]["ownerReferences"][0]["name"], "pods");
    assert_eq!(config.text("/spec/config/storage/files/0/path"), "/etc/kubernetes/kubelet.conf");
    let object = rig.view.get(&KUBELET_CONFIGS, "", "more").unwrap();
    assert_eq!(object.list("/metadata/finalizers"), ["99-worker-generated-kubelet-1"]);
    assert_eq!(last_condition(&rig, "more"), ("Success".to_owned(), "Success".to_owned()));
    let writes = rig.writes;
    rig.run(600);
    assert_eq!(rig.writes, writes, "no further writes");
    rig.write(&Write::delete(&KUBELET_CONFIGS, "", "pods"));
    rig.run(10);
    assert_eq!(names(&rig), ["99-worker-generated-kubelet-1"]);
    assert_eq!(rig.view.list(&KUBELET_CONFIGS).count(), 1);
}

#[test]
fn reports_what_is_wrong() {
    let mut rig = rig(false);
    put(&mut rig, "nowhere", "other", &json!({}));
    put(&mut rig, "domain", "own", &json!({ "clusterDomain": "own" }));
    rig.run(10);
    let failure = |message: &str| ("Failure".to_owned(), message.to_owned());
    let nowhere = "Error: KubeletConfig nowhere does not match any MachineConfigPools";
    assert_eq!(last_condition(&rig, "nowhere"), failure(nowhere));
    let domain = "Error: KubeletConfiguration: clusterDomain is not allowed to be set, but contains: own";
    assert_eq!(last_condition(&rig, "domain"), failure(domain));
    assert_eq!(names(&rig), Vec::<&str>::new());
}

#[test]
fn a_pool_has_at_most_ten_objects() {
    let mut rig = rig(false);
    for number in 0..11 {
        put(&mut rig, &format!("k{number:02}"), "own", &json!({ "maxPods": 100 + number }));
        rig.run(10);
    }
    assert_eq!(names(&rig).len(), 10);
    let why = "could not get kubelet config key: max number of supported kubelet config (10) has been reached. Please delete old kubelet configs before retrying";
    assert_eq!(last_condition(&rig, "k10"), ("Failure".to_owned(), why.to_owned()));
}

#[test]
fn settings_of_the_runtime_become_drop_ins() {
    let mut rig = rig(true);
    let put = |rig: &mut Rig, name: &str, config: Value| {
        let selector = json!({ "matchLabels": { "own": "" } });
        let spec = json!({ "machineConfigPoolSelector": selector, "containerRuntimeConfig": config });
        let object = json!({ "metadata": { "name": name, "generation": 1 }, "spec": spec });
        rig.put(&CONTAINER_RUNTIME_CONFIGS, object);
        rig.run(10);
    };
    put(&mut rig, "good", json!({ "logLevel": "debug", "pidsLimit": 2048, "overlaySize": "3G" }));
    put(&mut rig, "bad", json!({ "pidsLimit": 3 }));
    let config = rig.view.get(&MACHINE_CONFIGS, "", "99-worker-generated-containerruntime").unwrap();
    let files = config["spec"]["config"]["storage"]["files"].as_array().unwrap();
    let paths: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
    let expected = [
        "/etc/containers/storage.conf",
        "/etc/crio/crio.conf.d/01-ctrcfg-logLevel",
        "/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit",
    ];
    assert_eq!(paths, expected);
    let bad = rig.view.get(&CONTAINER_RUNTIME_CONFIGS, "", "bad").unwrap();
    assert_eq!(bad.conditions()[0]["message"], "Error: invalid PidsLimit 3");
}
