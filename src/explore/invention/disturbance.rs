//! Short disturbances that every scenario should survive.

use serde_json::{Value, json};

use crate::explore::dice::Dice;

/// Invents a fault that ends within a minute, or a restart.
pub(super) fn invent(dice: &mut Dice, nodes: &[String]) -> Value {
    let node = dice.pick(nodes).clone();
    let program = match dice.between(0, 4) {
        0 | 1 => "cluster-version-operator".to_owned(),
        2 => "machine-config-controller/node".to_owned(),
        3 => format!("machine-config-daemon/{node}"),
        _ => format!("kubelet/{node}"),
    };
    match dice.between(0, 6) {
        0 => json!({ "fault": { "process": program, "is": "killed" } }),
        5 => json!({ "fault": { "process": program, "is": "last-in-turn", "for": "1m" } }),
        6 => json!({ "fault": { "process": program, "is": "slow", "by": "3s", "for": "1m" } }),
        1 => json!({ "fault": { "process": program, "is": "watch-dropped" } }),
        2 => json!({ "fault": { "process": program, "is": "watch-stale", "for": "30s" } }),
        3 => json!({ "fault": { "api": { "by": program, "verb": "update" }, "is": "conflict", "times": 2 } }),
        _ => json!({ "fault": { "api": { "by": program }, "is": "internal-error", "for": "20s" } }),
    }
}
