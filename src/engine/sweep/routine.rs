//! Writes on which no rollback depends.

use crate::record::WriteEvent;

/// The annotation of objects by which leaders are elected (`LeaderElectionRecordAnnotationKey` of client-go).
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

/// The program that publishes insights.
const UPDATE_STATUS_CONTROLLER: &str = "update-status-controller";

/// Whether a write belongs to the routine of a cluster: it renews the lock of a leader, reports an Event, or publishes an
/// insight. Such a write is neither progress nor a moment of its own.
pub fn is_routine(write: &WriteEvent) -> bool {
    write.kind == "Event" || write.by == UPDATE_STATUS_CONTROLLER || is_renewal(write)
}

fn is_renewal(write: &WriteEvent) -> bool {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return false };
    match write.kind.as_str() {
        "Lease" => before.text("/spec/holderIdentity") == after.text("/spec/holderIdentity"),
        _ => before.annotation(LEADER).is_some() && before.annotation(LEADER) != after.annotation(LEADER),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::Object;
    use windtunnel_core::resources::LEASES;

    use super::*;

    fn lease(before: &str, after: &str) -> WriteEvent {
        let object = |holder: &str| Some(Object::new(json!({ "spec": { "holderIdentity": holder } })));
        WriteEvent {
            by: "a".to_owned(),
            process: String::new(),
            verb: "update".to_owned(),
            kind: "Lease".to_owned(),
            key: LEASES.key("ns", "l"),
            subresource: String::new(),
            code: 200,
            message: String::new(),
            before: object(before),
            after: object(after),
        }
    }

    #[test]
    fn a_renewed_lease_is_routine_and_a_new_holder_is_not() {
        assert!(is_routine(&lease("one", "one")));
        assert!(!is_routine(&lease("one", "other")));
        assert!(is_routine(&WriteEvent { kind: "Event".to_owned(), ..lease("one", "other") }));
    }
}
