//! Static pods and their mirror pods.

use super::*;
use crate::machine::{Boot, StaticPod};

fn file(revision: &str) -> StaticPod {
    let manifest = json!({
        "metadata": { "namespace": "ns", "name": "etcd", "labels": { "revision": revision } },
        "spec": { "containers": [{ "name": "etcd", "image": IMAGE }] },
    });
    StaticPod { manifest: manifest.into() }
}

/// A node with a kubelet that has one static pod manifest.
fn rig() -> Rig {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig
}

fn prepare(rig: &mut Rig) {
    let registry = Registry { images: BTreeMap::from([("sha256:aaaa".to_owned(), Image::default())]) };
    let environment = Arc::new(Standalone { registry, ..Standalone::default() });
    rig.put(&NODES, json!({ "metadata": { "name": "m" } }));
    rig.seat(move || {
        let kubelet = Kubelet::new("m", Arc::clone(&environment) as _, &Streams::new(7));
        Box::new(kubelet.with_static_pods(&[file("6")]))
    });
    rig.run(60);
}

fn mirror(rig: &Rig) -> &Object {
    rig.view.get(&PODS, "ns", "etcd-m").unwrap()
}

fn started(rig: &Rig) -> usize {
    rig.log.iter().filter(|line| line.contains(" start pods/ns/etcd-m")).count()
}

#[test]
fn runs_a_static_pod_and_creates_a_mirror_pod_owned_by_the_node() {
    let rig = rig();
    let pod = mirror(&rig);
    assert_eq!((pod.text("/status/phase"), pod.text("/spec/nodeName")), ("Running", "m"));
    let hash = pod.annotation("kubernetes.io/config.hash").unwrap();
    assert_eq!(hash.len(), 32);
    assert_eq!(pod.annotation("kubernetes.io/config.mirror"), Some(hash));
    assert_eq!(pod.annotation("kubernetes.io/config.source"), Some("file"));
    let owner =
        json!([{ "apiVersion": "v1", "kind": "Node", "name": "m", "uid": "uid-of-m", "controller": true }]);
    assert_eq!(pod["metadata"]["ownerReferences"], owner);
    assert_eq!(started(&rig), 1);
}

#[test]
fn recreates_a_deleted_mirror_pod_with_its_status_and_keeps_the_containers() {
    for write in [Write::delete(&PODS, "ns", "etcd-m"), Write::delete_now(&PODS, "ns", "etcd-m")] {
        let mut rig = rig();
        let before = mirror(&rig).clone();
        rig.log.clear();
        rig.write(&write);
        rig.run(300);
        let after = mirror(&rig);
        assert_ne!(after.text("/metadata/creationTimestamp"), before.text("/metadata/creationTimestamp"));
        assert_eq!(after["status"], before["status"]);
        assert!(
            !rig.log.iter().any(|line| line.contains("kill") || line.contains(" start ")),
            "{:#?}",
            rig.log
        );
    }
}

#[test]
fn deletes_a_mirror_pod_with_finalizers_once_and_waits() {
    let mut rig = rig();
    let finalizers = |list: Value| {
        Write::merge_patch(&PODS, "ns", "etcd-m", json!({ "metadata": { "finalizers": list } }))
    };
    rig.write(&finalizers(json!(["example.com/mine"])));
    rig.write(&Write::delete(&PODS, "ns", "etcd-m"));
    rig.log.clear();
    rig.run(300);
    check(&rig, &["0:01:00 delete pods/ns/etcd-m"]);
    let before = mirror(&rig).clone();
    rig.write(&finalizers(json!(null)));
    rig.run(60);
    assert!(!mirror(&rig).is_terminating());
    assert_eq!(mirror(&rig)["status"], before["status"]);
    assert!(!rig.log.iter().any(|line| line.contains("kill")), "{:#?}", rig.log);
}

#[test]
fn a_changed_manifest_ends_the_old_pod_and_starts_a_new_one() {
    let mut rig = rig();
    rig.log.clear();
    rig.write_static_pod(file("7"));
    rig.run(60);
    assert_eq!(mirror(&rig).label("revision"), Some("7"));
    assert_eq!(mirror(&rig).text("/status/phase"), "Running");
    assert_eq!(mirror(&rig)["status"]["containerStatuses"][0]["restartCount"], 0);
    assert!(rig.log.iter().any(|line| line.ends_with("kill pods/ns/etcd-m")), "{:#?}", rig.log);
    assert_eq!(started(&rig), 1);
    // An identical manifest changes nothing.
    rig.log.clear();
    rig.write_static_pod(file("7"));
    rig.run(60);
    assert_eq!(rig.log, Vec::<String>::new());
}

#[test]
fn creates_no_mirror_pods_without_a_node() {
    let mut rig = rig();
    rig.write(&Write::delete_now(&NODES, "", "m"));
    rig.write(&Write::delete_now(&PODS, "ns", "etcd-m"));
    rig.run(60);
    assert!(rig.view.get(&PODS, "ns", "etcd-m").is_none());
    rig.put(&NODES, json!({ "metadata": { "name": "m" } }));
    rig.run(60);
    assert_eq!(mirror(&rig).text("/status/phase"), "Running");
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    let story = |rig: &mut Rig| {
        prepare(rig);
        rig.write(&Write::delete(&PODS, "ns", "etcd-m"));
        rig.run(60);
    };
    check_recovery(story, |rig| {
        let pod = mirror(rig);
        format!("{} {:?}", pod.text("/status/phase"), pod.annotation("kubernetes.io/config.mirror"))
    });
}

/// A pod from before the boot starts once after it, even if the kubelet restarts again.
#[test]
fn containers_started_since_the_boot_survive_a_restart_of_the_kubelet() {
    let story = |rig: &mut Rig| {
        let registry = Registry { images: BTreeMap::from([("sha256:aaaa".to_owned(), Image::default())]) };
        let environment = Arc::new(Standalone { registry, ..Standalone::default() });
        rig.put(&NODES, json!({ "metadata": { "name": "m" } }));
        let mut pod = program_pod();
        pod["spec"]["nodeName"] = json!("m");
        let running = json!({ "running": { "startedAt": "2023-12-31T00:00:00Z" } });
        pod["status"] = json!({
            "phase": "Running",
            "startTime": "2023-12-31T00:00:00Z",
            "containerStatuses": [{ "name": "main", "restartCount": 0, "state": running }],
        });
        rig.put(&PODS, pod);
        let boot = Boot { id: "boot".to_owned(), os_image: String::new(), at: rig.now };
        rig.seat(move || {
            Box::new(Kubelet::booted("m", boot.clone(), Arc::clone(&environment) as _, &Streams::new(7)))
        });
        rig.run(120);
    };
    let restarts =
        |rig: &Rig| pod(rig, "program")["status"]["containerStatuses"][0]["restartCount"].to_string();
    check_recovery(story, restarts);
    let mut rig = Rig::new();
    story(&mut rig);
    assert_eq!(restarts(&rig), "1");
}
