//! The status of a DaemonSet.

use serde_json::json;
use windtunnel_core::resources::DAEMON_SETS;
use windtunnel_core::{Object, Write};

use super::daemons::Daemons;

/// Writes the status if it differs from the API. The first four counts are always present, others only if
/// they are not zero.
pub(super) fn write_status(set: &Object, daemons: &Daemons<'_>) -> Option<Write> {
    let counts = daemons.counts();
    let mut status = json!({
        "currentNumberScheduled": counts.current,
        "desiredNumberScheduled": counts.desired,
        "numberMisscheduled": counts.misscheduled,
        "numberReady": counts.ready,
        "observedGeneration": set.generation(),
    });
    for (field, count) in [
        ("updatedNumberScheduled", counts.updated),
        ("numberAvailable", counts.available),
        ("numberUnavailable", counts.desired.saturating_sub(counts.available)),
    ] {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    if set["status"] == status {
        return None;
    }
    let mut value = set.to_value();
    value["status"] = status;
    Some(Write::update_status(&DAEMON_SETS, value))
}
