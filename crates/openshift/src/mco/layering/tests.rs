//! Tests of the states of builds.

use serde_json::{Value, json};
use windtunnel_core::Object;

use super::BuildState;

/// The state of a build with a Job of this status.
#[expect(clippy::needless_pass_by_value, reason = "callers write the values in place")]
fn of_job(status: Value) -> BuildState {
    BuildState::of_job(&Object::new(json!({ "metadata": { "name": "build-a" }, "status": status })))
}

#[test]
fn a_build_fails_with_the_fourth_attempt() {
    assert_eq!(of_job(json!({})), BuildState::Prepared);
    assert_eq!(of_job(json!({ "active": 1 })), BuildState::Building);
    assert_eq!(of_job(json!({ "failed": 3 })), BuildState::Building, "between two attempts");
    assert_eq!(of_job(json!({ "failed": 4 })), BuildState::Failed);
    let complete = json!([{ "type": "Complete", "status": "True" }]);
    assert_eq!(of_job(json!({ "failed": 3, "succeeded": 1, "conditions": complete })), BuildState::Succeeded);
    let met = json!([{ "type": "SuccessCriteriaMet", "status": "True" }]);
    assert_eq!(of_job(json!({ "succeeded": 1, "conditions": met })), BuildState::Building);
}

#[test]
fn a_deleted_job_interrupts_its_build_unless_it_has_ended() {
    let deleted = |status: Value| {
        let metadata = json!({ "name": "build-a", "deletionTimestamp": "2024-01-01T00:00:00Z" });
        BuildState::of_job(&Object::new(json!({ "metadata": metadata, "status": status })))
    };
    assert_eq!(deleted(json!({ "active": 1 })), BuildState::Interrupted);
    assert_eq!(deleted(json!({ "succeeded": 1 })), BuildState::Succeeded);
    assert_eq!(deleted(json!({ "failed": 4 })), BuildState::Failed);
}

#[test]
fn a_build_neither_goes_back_nor_changes_after_its_end() {
    use BuildState::{Building, Failed, Initial, Interrupted, Prepared, Succeeded};
    for (old, new) in
        [(Initial, Prepared), (Initial, Succeeded), (Prepared, Building), (Building, Interrupted)]
    {
        assert!(old.may_become(new), "{old:?} {new:?}");
    }
    for (old, new) in [(Building, Prepared), (Prepared, Initial), (Failed, Building), (Succeeded, Failed)] {
        assert!(!old.may_become(new), "{old:?} {new:?}");
    }
}

#[test]
fn the_state_is_read_back_from_its_conditions() {
    for state in [BuildState::Prepared, BuildState::Failed, BuildState::Succeeded] {
        let conditions: Vec<Value> = state
            .conditions()
            .map(|condition| json!({ "type": condition.kind, "status": condition.status }))
            .collect();
        let build = Object::new(json!({ "status": { "conditions": conditions } }));
        assert_eq!(BuildState::of(&build), state);
    }
    assert_eq!(BuildState::of(&Object::new(json!({}))), BuildState::Initial);
}
