//! Clusters that have not converged.

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::text::short_duration;

use super::OracleFinding;
use crate::oracles::Unmet;

/// The finding about a cluster in which this is still left to do after `within`.
pub(super) fn oracle_finding(unmet: Unmet, within: SignedDuration) -> OracleFinding {
    let mut expect = unmet.expect;
    expect["within"] = json!(short_duration(within));
    let text = format!("{} {} after all faults have ended", unmet.text, short_duration(within));
    OracleFinding {
        last_steps: vec![json!({ "expect": expect })],
        cause: Some(unmet.text),
        ..OracleFinding::new("converges", text)
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::NODES;
    use windtunnel_core::{Change, ChangeKind, Object, View};

    use super::*;
    use crate::oracles::unmet;

    #[test]
    fn the_problem_has_a_step_that_fails_and_a_cause_without_numbers() {
        let node = json!({ "metadata": { "name": "worker-0" }, "spec": { "unschedulable": true },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        let (object, key) = (Object::new(node), NODES.key("", "worker-0"));
        let mut view = View::default();
        view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        let oracle_finding = oracle_finding(unmet(&view).remove(0), SignedDuration::from_hours(12));
        assert_eq!(oracle_finding.cause(), "converges: Node worker-# is cordoned");
        assert_eq!(oracle_finding.text, "Node worker-0 is cordoned 12h after all faults have ended");
        let expect =
            json!({ "object": "Node/worker-0", "fields": { "spec.unschedulable": "" }, "within": "12h" });
        assert_eq!(oracle_finding.last_steps, [json!({ "expect": expect })]);
    }
}
