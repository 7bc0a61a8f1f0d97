//! A `Controller` with its reflector reaches the same state under every fault of requests and watches.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use windtunnel::tunnel::{Tunnel, TunnelOutcome};

use super::{scenario, with_volume_keeper};

const FAULTS: &[&str] = &[
    "{api: {by: volume-keeper}, is: watch-stale, for: 5m}",
    "{api: {by: volume-keeper}, is: watch-gap, for: 5m}",
    "{api: {by: volume-keeper}, is: watch-slow, by: 20s, for: 10m}",
    "{api: {by: volume-keeper}, is: watch-behind, events: 2, for: 5m}",
    "{api: {by: volume-keeper, verb: watch}, is: watch-disconnect, nth: 2}",
    "{api: {by: volume-keeper, verb: watch}, is: watch-410, nth: 2}",
    "{api: {by: volume-keeper, verb: watch}, is: watch-duplicate, times: 2}",
    "{api: {by: volume-keeper, verb: patch}, is: conflict, times: 3}",
    "{api: {by: volume-keeper}, is: too-many-requests, retry-after: 5s, for: 2m}",
    "{api: {by: volume-keeper}, is: internal-error, for: 2m}",
    "{api: {by: volume-keeper}, is: timeout, times: 5}",
    "{api: {by: volume-keeper, kind: PersistentVolumeClaim}, is: timeout-after-write, times: 5}",
    "{api: {by: volume-keeper}, is: connection-dropped, times: 5}",
    "{api: {by: volume-keeper, kind: PersistentVolumeClaim}, is: connection-dropped-after-write, times: 5}",
];

/// Creates several Workspaces at one moment, so that the controller reconciles them at once, and deletes one.
fn timeline() -> String {
    let workspace = |name: &str| {
        format!(
            "- apply: {{apiVersion: example.com/v1, kind: Workspace, metadata: {{namespace: default, name: {name}}}, spec: {{size: 1Gi}}}}\n"
        )
    };
    let all: String = ["a", "b", "c", "d", "e"].into_iter().map(workspace).collect();
    format!("{all}- advance: 1m\n- delete: Workspace/default/c\n- advance: 30m\n")
}

fn run(fault: Option<&str>) -> TunnelOutcome {
    let tunnel = Tunnel::text("faults.yaml", &scenario(&timeline())).unwrap();
    let tunnel = match fault {
        Some(fault) => tunnel.fault(fault).unwrap_or_else(|error| panic!("{fault}: {error}")),
        None => tunnel,
    };
    let outcome = with_volume_keeper(tunnel, false).run().unwrap();
    outcome.assert_passed();
    outcome
}

/// The names, owners and sizes of all claims.
fn state(outcome: &TunnelOutcome) -> Vec<String> {
    let claims = outcome.list::<PersistentVolumeClaim>();
    let text = |claim: PersistentVolumeClaim| {
        let owners = claim.metadata.owner_references.unwrap_or_default();
        let owners: Vec<String> = owners.into_iter().map(|owner| owner.name).collect();
        format!("{} of {owners:?}: {:?}", claim.metadata.name.unwrap_or_default(), claim.spec)
    };
    claims.into_iter().map(text).collect()
}

#[test]
fn a_controller_reaches_the_same_state_under_every_fault() {
    let expected = state(&run(None));
    assert_eq!(expected.len(), 4, "{expected:?}");
    for fault in FAULTS {
        assert_eq!(state(&run(Some(fault))), expected, "{fault}");
    }
}

#[test]
fn concurrent_reconciliations_give_the_same_record() {
    let record = || run(Some(FAULTS[8])).record().to_lines();
    let first = record();
    for _ in 0..4 {
        assert!(record() == first, "the records differ");
    }
}
