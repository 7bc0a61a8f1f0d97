//! The example `volume_keeper`, with and without its bug.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use windtunnel::tunnel::Tunnel;

use super::{RESTORE, controller, scenario, with_volume_keeper};

const FILE: &str = "examples/volume_keeper/restore.yaml";

#[tokio::test]
async fn the_controller_keeps_a_restored_volume() {
    let outcome = with_volume_keeper(Tunnel::scenario(FILE).unwrap(), false).run().unwrap();
    outcome.assert_passed();
    let claim: PersistentVolumeClaim = outcome.get("default", "notes-data").unwrap();
    let workspace: controller::Workspace = outcome.get_with(&controller::kind(), "default", "notes").unwrap();
    assert_eq!(claim.metadata.owner_references.unwrap()[0].uid, workspace.metadata.uid.unwrap());
    assert_eq!(outcome.list::<PersistentVolumeClaim>().len(), 1);
}

#[test]
fn a_stale_cache_makes_the_bug_visible() {
    let outcome = with_volume_keeper(Tunnel::scenario(FILE).unwrap(), true).run().unwrap();
    let failure = outcome.failure().unwrap();
    assert!(failure.starts_with("examples/volume_keeper/restore.yaml:"), "{failure}");
    assert!(failure.contains("notes-data") && failure.ends_with("seed 1)"), "{failure}");
    let tutorial = std::fs::read_to_string("docs/how-to/test-your-controller.md").unwrap();
    assert!(tutorial.contains(failure), "the tutorial does not show this line: {failure}");
}

#[test]
fn the_timers_of_the_controller_go_on_for_an_hour() {
    let timeline = "- apply:\n    apiVersion: example.com/v1\n    kind: Workspace\n    \
                    metadata: {name: notes, namespace: default}\n    spec: {size: 1Gi}\n\
                    - expect: {object: PersistentVolumeClaim/default/notes-data, within: 1m}\n- advance: 1h\n\
                    - delete: PersistentVolumeClaim/default/notes-data\n\
                    - expect: {object: PersistentVolumeClaim/default/notes-data, within: 61s}\n";
    let tunnel = Tunnel::text("hour.yaml", &scenario(timeline)).unwrap();
    let outcome = with_volume_keeper(tunnel, false).run().unwrap();
    outcome.assert_passed();
    assert!(outcome.virtual_time().as_hours() >= 1, "{:?}", outcome.virtual_time());
}

#[test]
fn without_the_fault_the_bug_stays_hidden() {
    let lines: Vec<&str> = RESTORE.lines().filter(|line| !line.starts_with("- fault:")).collect();
    let without = lines.join("\n");
    // Without the fault the controller may delete the claim before it is restored only.
    let outcome = with_volume_keeper(Tunnel::text("restore.yaml", &without).unwrap(), true).run().unwrap();
    outcome.assert_passed();
}

#[test]
fn the_same_seed_gives_the_same_record() {
    let record = || {
        let tunnel = with_volume_keeper(Tunnel::scenario(FILE).unwrap(), false).seed(7);
        tunnel.run().unwrap().record().to_lines()
    };
    assert_eq!(record(), record());
}
