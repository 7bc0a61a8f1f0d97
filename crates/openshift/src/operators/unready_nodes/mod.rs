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
use crate::manifests::MajorMinor;
pub(super) use daemons::is_about_nodes;
use daemons::{Daemons, NodeReport};
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
    pub(super) fn notice(&mut self, changes: &[Change], now: Time) -> Option<SignedDuration> {
        if self.masters.is_some() && Masters::are_touched(changes) {
            return Some(SignedDuration::ZERO);
        }
        self.daemons.as_mut().is_some_and(|daemons| daemons.notice(changes, now)).then_some(SETTLING)
    }

    /// Whether a condition is a report about nodes.
    pub(super) fn is_own(&self, condition: &Condition) -> bool {
        self.masters.as_ref().is_some_and(|masters| masters.is_own(condition))
            || self.daemons.as_ref().is_some_and(|daemons| daemons.is_own(condition))
    }

    /// Whether nodes keep a rollout from its end.
    pub(super) fn hold_back(&self) -> bool {
        self.daemons.as_ref().is_some_and(Daemons::hold_back)
    }

    /// The conditions to change in `next`, the new state of `object`, and the time of the next check.
    fn judge(
        &mut self,
        object: &Object,
        next: Option<&Value>,
        line: MajorMinor,
        view: &View,
        now: Time,
    ) -> NodeReport {
        let state = next.unwrap_or(object);
        let current = |kind: &str| condition::find_in_status(state, kind).map(Condition::from_value);
        let mut findings = match (&mut self.masters, &self.daemons) {
            (Some(masters), _) => {
                let (degraded, recheck_at) = masters.judge(current("Degraded").as_ref(), view, now);
                NodeReport { progressing: None, degraded, recheck_at }
            }
            // A change of Progressing is written first, because its transition time must not change with this
            // report.
            (None, Some(daemons))
                if condition::find_in_status(object, "Progressing")
                    == condition::find_in_status(state, "Progressing") =>
            {
                daemons.judge(state, line, now)
            }
            _ => NodeReport::default(),
        };
        findings.progressing =
            findings.progressing.filter(|judged| current("Progressing").as_ref() != Some(judged));
        findings.degraded = findings.degraded.filter(|judged| current("Degraded").as_ref() != Some(judged));
        findings
    }
}

impl Operator {
    /// Handles changes of nodes.
    pub(super) fn notice_nodes(&mut self, changes: &[Change], now: Time) {
        if let Some(pause) = self.nodes.notice(changes, now) {
            self.recheck_at(Some(after(now, pause)));
        }
    }

    /// Adds the report about nodes to the new state `next` of its object. It changes only conditions that are
    /// free: no injected fault decides them.
    pub(super) fn report_nodes(
        &mut self,
        object: &Object,
        next: Option<Value>,
        is_free: impl Fn(&str) -> bool,
        line: MajorMinor,
        view: &View,
        now: Time,
    ) -> Option<Value> {
        let findings = self.nodes.judge(object, next.as_ref(), line, view, now);
        self.recheck_at(findings.recheck_at);
        let judged = [findings.progressing, findings.degraded].into_iter().flatten();
        let judged: Vec<Condition> = judged.filter(|judged| is_free(&judged.kind)).collect();
        if judged.is_empty() {
            return next;
        }
        let mut value = next.unwrap_or_else(|| object.to_value());
        if let Some(list) = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            for condition in &judged {
                condition::set(list, condition, now);
            }
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
        assert_eq!(nodes.notice(&changes, Time::default()), Some(SETTLING));
        let well = operator("False", "AsExpected", "Deployed 4.18.7");
        let working = operator("True", "Progressing", "Working towards 4.18.7");
        let mut judge = |object: &Object, next: Option<&Object>| {
            let next = next.map(|next| &**next);
            let findings = nodes.judge(object, next, (4, 18), &View::default(), Time::default());
            findings.progressing.map(|judged| judged.reason)
        };
        assert_eq!(judge(&working, None).as_deref(), Some("Deploying"));
        assert_eq!(judge(&working, Some(&well)), None);
        assert_eq!(judge(&well, Some(&working)), None);
        assert_eq!(judge(&well, Some(&well)).as_deref(), Some("Deploying"));
        assert_eq!(judge(&well, None).as_deref(), Some("Deploying"));
    }
}
