//! Reports of operators about unready nodes that run their pods.

mod daemons;
mod masters;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_controllers::Interest;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, Object, View};

use super::Operator;
use crate::control_plane::MASTER_LABEL;
use daemons::Daemons;
pub(super) use daemons::is_about_nodes;
use masters::Masters;

/// How long it takes until an operator sees that the pods of a node are missing or back. Changes during this
/// time are reported once.
const SETTLING: SignedDuration = SignedDuration::from_secs(5);

/// The nodes of an operator's pods.
#[derive(Debug, Clone)]
pub(super) struct Nodes {
    masters: Option<Masters>,
    daemons: Option<Daemons>,
}

impl Nodes {
    /// The nodes of an operator.
    pub(super) fn of(cluster_operator: &str) -> Self {
        Self { masters: Masters::of(cluster_operator), daemons: Daemons::of(cluster_operator) }
    }

    /// The nodes that it watches.
    pub(super) fn interest(&self) -> Option<Interest> {
        let masters = self.masters.as_ref().map(|_| Interest::Labelled(NODES, MASTER_LABEL.to_owned()));
        self.daemons.as_ref().map(|_| Interest::Kind(NODES)).or(masters)
    }

    /// Adds the existing nodes.
    pub(super) fn begin(&mut self, view: &View) {
        if let Some(daemons) = &mut self.daemons {
            daemons.begin(view);
        }
    }

    /// Applies changes of nodes. Returns the delay until the report can change.
    pub(super) fn notice(&mut self, changes: &[Change]) -> Option<SignedDuration> {
        if self.masters.is_some() && Masters::are_touched(changes) {
            return Some(SignedDuration::ZERO);
        }
        self.daemons.as_mut().is_some_and(|daemons| daemons.notice(changes)).then_some(SETTLING)
    }

    /// Whether a condition is a report about nodes.
    pub(super) fn is_own(&self, condition: &Condition) -> bool {
        self.masters.as_ref().is_some_and(|masters| masters.is_own(condition))
    }

    /// The condition to change in `next`, the new state of `object`, and the time of the next check.
    fn judge(
        &mut self,
        object: &Object,
        next: Option<&Value>,
        view: &View,
        now: Time,
    ) -> (Option<Condition>, Option<Time>) {
        if let Some(masters) = &mut self.masters {
            let current =
                condition::find_in_status(next.unwrap_or(object), "Degraded").map(Condition::from_value);
            let (judged, recheck_at) = masters.judge(current.as_ref(), view, now);
            return (judged.filter(|judged| current.as_ref() != Some(judged)), recheck_at);
        }
        // A change of Progressing is written first, because its transition time must not change with this
        // report.
        let progressing = condition::find_in_status(object, "Progressing");
        if next.is_some_and(|next| condition::find_in_status(next, "Progressing") != progressing) {
            return (None, None);
        }
        let current = progressing.map(Condition::from_value);
        let judged = self.daemons.as_ref().and_then(|daemons| daemons.judge(current.as_ref(), object));
        (judged.filter(|judged| current.as_ref() != Some(judged)), None)
    }
}

impl Operator {
    /// Handles changes of nodes.
    pub(super) fn notice_nodes(&mut self, changes: &[Change], now: Time) {
        if let Some(pause) = self.nodes.notice(changes) {
            self.recheck_at(Some(after(now, pause)));
        }
    }

    /// Adds the report about nodes to the new state `next` of its object. It changes only a condition that is
    /// free: no injected fault decides it.
    pub(super) fn report_nodes(
        &mut self,
        object: &Object,
        next: Option<Value>,
        is_free: impl Fn(&str) -> bool,
        view: &View,
        now: Time,
    ) -> Option<Value> {
        let (judged, recheck_at) = self.nodes.judge(object, next.as_ref(), view, now);
        self.recheck_at(recheck_at);
        let Some(judged) = judged.filter(|judged| is_free(&judged.kind)) else { return next };
        let mut value = next.unwrap_or_else(|| object.to_value());
        if let Some(list) = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            condition::set(list, &judged, now);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::ChangeKind;

    use super::*;

    fn operator(status: &str, reason: &str, message: &str) -> Object {
        let progressing =
            json!({ "type": "Progressing", "status": status, "reason": reason, "message": message });
        Object::new(json!({ "status": { "conditions": [progressing] } }))
    }

    #[test]
    fn a_rollout_change_of_progressing_is_written_before_the_report_about_nodes() {
        let mut nodes = Nodes::of("network");
        let changes = [("a", "True"), ("b", "False")].map(|(name, ready)| {
            let condition = json!({ "type": "Ready", "status": ready });
            let node = json!({ "metadata": { "name": name }, "status": { "conditions": [condition] } });
            Change { key: NODES.key("", name), kind: ChangeKind::Added, object: Object::new(node), old: None }
        });
        assert_eq!(nodes.notice(&changes), Some(SETTLING));
        let well = operator("False", "AsExpected", "Deployed 4.18.7");
        let working = operator("True", "Progressing", "Working towards 4.18.7");
        let mut judge = |object: &Object, next: Option<&Object>| {
            let (judged, recheck_at) =
                nodes.judge(object, next.map(|next| &**next), &View::default(), Time::default());
            assert_eq!(recheck_at, None);
            judged.map(|judged| judged.reason)
        };
        assert_eq!(judge(&working, None), None);
        assert_eq!(judge(&working, Some(&well)), None);
        assert_eq!(judge(&well, Some(&working)), None);
        assert_eq!(judge(&well, Some(&well)).as_deref(), Some("Deploying"));
        assert_eq!(judge(&well, None).as_deref(), Some("Deploying"));
    }
}
