//! Tests of the builder, with Jobs and pods whose statuses the tests write.

use windtunnel_controllers::testing::Rig;

use super::*;
use crate::mco::RELEASE_VERSION;

/// A pool `worker` with the rendered MachineConfig `rendered-worker-a` and a MachineOSConfig. `secret` is the
/// Secret for the registry that exists.
fn rig(secret: &str) -> Rig {
    let mut rig = Rig::new();
    rig.put(&CUSTOM_RESOURCE_DEFINITIONS, json!({ "metadata": { "name": DEFINITION } }));
    let metadata = json!({ "name": CONTROLLER_CONFIG, "annotations": { (RELEASE_VERSION): "4.20.1" } });
    rig.put(&CONTROLLER_CONFIGS, json!({ "metadata": metadata }));
    let containers = json!([{ "image": "operator@sha256:00" }]);
    let metadata = json!({ "name": "machine-config-operator", "namespace": NAMESPACE });
    let spec = json!({ "template": { "spec": { "containers": containers } } });
    rig.put(&DEPLOYMENTS, json!({ "metadata": metadata, "spec": spec }));
    put_secret(&mut rig, secret);
    for (name, os) in [("a", "os-1"), ("b", "os-2"), ("c", "os-2")] {
        let metadata = json!({ "name": format!("rendered-worker-{name}") });
        rig.put(&MACHINE_CONFIGS, json!({ "metadata": metadata, "spec": { "osImageURL": os } }));
    }
    let configuration = json!({ "name": "rendered-worker-a" });
    rig.put(
        &MACHINE_CONFIG_POOLS,
        json!({
            "metadata": { "name": "worker" },
            "spec": { "configuration": configuration },
            "status": { "configuration": configuration, "conditions": [] },
        }),
    );
    let spec = json!({
        "machineConfigPool": { "name": "worker" },
        "renderedImagePushSecret": { "name": "push" },
        "renderedImagePushSpec": "registry.example.com:5000/os/worker:latest",
    });
    rig.put(&MACHINE_OS_CONFIGS, json!({ "metadata": { "name": "worker" }, "spec": spec }));
    rig.seat(|| Box::new(ImageBuilder::new()));
    rig.run(5);
    rig
}

fn put_secret(rig: &mut Rig, name: &str) {
    rig.put(&SECRETS, json!({ "metadata": { "name": name, "namespace": NAMESPACE } }));
}

/// The rendered MachineConfigs of builds that are not deleted, with their states.
fn builds(rig: &Rig) -> Vec<(String, BuildState)> {
    let builds = rig.view.list(&MACHINE_OS_BUILDS).filter(|build| !build.is_terminating());
    builds.map(|build| (build.text("/spec/machineConfig/name").to_owned(), BuildState::of(build))).collect()
}

fn set_job_status(rig: &mut Rig, status: &Value) {
    let job = rig.view.list(&JOBS).next().unwrap().name().to_owned();
    let patch = json!({ "status": status });
    rig.write(&Write::merge_patch_status(&JOBS, NAMESPACE, &job, patch));
    rig.run(5);
}

/// A pod of the only Job, which has built the image.
fn put_pod(rig: &mut Rig) {
    let job = rig.view.list(&JOBS).next().unwrap();
    let metadata = json!({
        "name": format!("{}-1", job.name()),
        "namespace": NAMESPACE,
        "ownerReferences": [{ "kind": "Job", "name": job.name(), "uid": job.uid() }],
    });
    let built = json!([{ "name": "image-build", "state": { "terminated": { "exitCode": 0 } } }]);
    let status = json!({ "phase": "Pending", "initContainerStatuses": built });
    rig.put(&PODS, json!({ "metadata": metadata, "status": status }));
    rig.run(5);
}

fn succeed(rig: &mut Rig) {
    set_job_status(rig, &json!({ "active": 1 }));
    put_pod(rig);
    set_job_status(rig, &json!({ "active": 0, "succeeded": 1 }));
}

fn target(rig: &mut Rig, rendered: &str) {
    let patch = json!({ "spec": { "configuration": { "name": rendered } } });
    rig.write(&Write::merge_patch(&MACHINE_CONFIG_POOLS, "", "worker", patch));
    rig.run(5);
}

fn config(rig: &Rig) -> &Object {
    rig.view.get(&MACHINE_OS_CONFIGS, "", "worker").unwrap()
}

#[test]
fn the_image_of_a_build_is_published_when_its_job_succeeds() {
    let mut rig = rig("push");
    assert_eq!(builds(&rig), [("rendered-worker-a".to_owned(), BuildState::Prepared)]);
    set_job_status(&mut rig, &json!({ "active": 1 }));
    assert_eq!(builds(&rig)[0].1, BuildState::Building);
    assert_eq!(config(&rig).text("/status/currentImagePullSpec"), "");
    put_pod(&mut rig);
    set_job_status(&mut rig, &json!({ "active": 0, "succeeded": 1 }));
    assert_eq!(builds(&rig)[0].1, BuildState::Succeeded);
    let image = config(&rig).text("/status/currentImagePullSpec");
    assert!(image.starts_with("registry.example.com:5000/os/worker@sha256:"), "{image}");
    assert_eq!(rig.view.list(&JOBS).filter(|job| !job.is_terminating()).count(), 0, "cleaned up");
}

#[test]
fn nothing_is_built_without_the_secret_for_the_registry() {
    let mut rig = rig("pull");
    assert!(builds(&rig).is_empty());
    put_secret(&mut rig, "push");
    rig.run(5);
    assert_eq!(builds(&rig)[0].1, BuildState::Prepared);
}

#[test]
fn a_failed_build_degrades_the_pool_until_another_one_starts() {
    let mut rig = rig("push");
    set_job_status(&mut rig, &json!({ "active": 1 }));
    set_job_status(&mut rig, &json!({ "active": 0, "failed": 4 }));
    let pool = rig.view.get(&MACHINE_CONFIG_POOLS, "", "worker").unwrap();
    let degraded = condition::find_in_status(pool, DEGRADED).unwrap();
    let build = rig.view.list(&MACHINE_OS_BUILDS).next().unwrap().name();
    let message =
        format!("Failed to build OS image for pool worker (MachineOSBuild: {build}): Failed: Build Failed");
    assert_eq!((&degraded["reason"], &degraded["message"]), (&json!("BuildFailed"), &json!(message)));
    let patch = json!({ "spec": { "renderedImagePushSpec": "registry.example.com/os/other:latest" } });
    rig.write(&Write::merge_patch(&MACHINE_OS_CONFIGS, "", "worker", patch));
    rig.run(5);
    let pool = rig.view.get(&MACHINE_CONFIG_POOLS, "", "worker").unwrap();
    assert!(!condition::is_true(pool, DEGRADED));
}

#[test]
fn a_change_of_files_takes_the_last_image_and_a_change_of_the_system_another_build() {
    let mut rig = rig("push");
    succeed(&mut rig);
    let first = config(&rig).text("/status/currentImagePullSpec").to_owned();
    target(&mut rig, "rendered-worker-b");
    let found = builds(&rig);
    assert!(found.contains(&("rendered-worker-b".to_owned(), BuildState::Prepared)), "{found:?}");
    // The nodes have `b`, and `c` differs from it in files alone.
    let configuration = json!({ "name": "rendered-worker-b" });
    let patch = json!({ "status": { "configuration": configuration } });
    rig.write(&Write::merge_patch_status(&MACHINE_CONFIG_POOLS, "", "worker", patch));
    target(&mut rig, "rendered-worker-c");
    let found = builds(&rig);
    assert!(found.contains(&("rendered-worker-c".to_owned(), BuildState::Succeeded)), "{found:?}");
    assert!(!found.iter().any(|(rendered, _)| rendered == "rendered-worker-b"), "stopped: {found:?}");
    assert_eq!(config(&rig).text("/status/currentImagePullSpec"), first);
}

#[test]
fn a_deleted_job_interrupts_the_build() {
    let mut rig = rig("push");
    set_job_status(&mut rig, &json!({ "active": 1 }));
    let job = rig.view.list(&JOBS).next().unwrap().name().to_owned();
    rig.write(&Write::delete(&JOBS, NAMESPACE, &job));
    rig.run(5);
    assert_eq!(builds(&rig)[0].1, BuildState::Interrupted);
}

#[test]
fn the_annotation_for_a_rebuild_replaces_the_build() {
    let mut rig = rig("push");
    succeed(&mut rig);
    let patch = json!({ "metadata": { "annotations": { (REBUILD): "" } } });
    rig.write(&Write::merge_patch(&MACHINE_OS_CONFIGS, "", "worker", patch));
    rig.run(5);
    assert!(builds(&rig).is_empty(), "its dependents are deleted first");
    // The garbage collector deletes the dependents, and then the build.
    let name = rig.view.list(&MACHINE_OS_BUILDS).next().unwrap().name().to_owned();
    let release = json!({ "metadata": { "finalizers": null } });
    rig.write(&Write::delete(&CONFIG_MAPS, NAMESPACE, &objects::digest_name(&name)));
    rig.write(&Write::merge_patch(&JOBS, NAMESPACE, &objects::job_name(&name), release.clone()));
    rig.write(&Write::merge_patch(&MACHINE_OS_BUILDS, "", &name, release));
    rig.run(5);
    assert_eq!(builds(&rig), [("rendered-worker-a".to_owned(), BuildState::Prepared)]);
    assert_eq!(config(&rig).annotation(REBUILD), None);
}
