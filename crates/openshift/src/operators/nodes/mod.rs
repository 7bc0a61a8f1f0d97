//! What operators say of nodes that are away, because what they run is on them.

mod daemons;
mod masters;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_controllers::Interest;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, Object, View};

use super::Operator;
use crate::mco::MASTER_LABEL;
use daemons::Daemons;
use masters::Masters;

/// How long the pods of a node take to be seen gone, or back. Nodes that come and go meanwhile are told of once.
const SETTLING: SignedDuration = SignedDuration::from_secs(5);

/// The nodes that what an operator runs is on.
#[derive(Debug, Clone)]
pub(super) struct Nodes {
    masters: Option<Masters>,
    daemons: Option<Daemons>,
}

impl Nodes {
    /// Those of an operator.
    pub(super) fn of(cluster_operator: &str) -> Self {
        Self { masters: Masters::of(cluster_operator), daemons: Daemons::of(cluster_operator) }
    }

    /// Which nodes it hears of.
    pub(super) fn interest(&self) -> Option<Interest> {
        let masters = self.masters.as_ref().map(|_| Interest::Labelled(NODES, MASTER_LABEL.to_owned()));
        self.daemons.as_ref().map(|_| Interest::Kind(NODES)).or(masters)
    }

    /// Takes in the nodes that there are.
    pub(super) fn begin(&mut self, view: &View) {
        if let Some(daemons) = &mut self.daemons {
            daemons.begin(view);
        }
    }

    /// Takes in what changed; gives after how long there may be something else to be said.
    pub(super) fn notice(&mut self, changes: &[Change]) -> Option<SignedDuration> {
        if self.masters.is_some() && Masters::are_touched(changes) {
            return Some(SignedDuration::ZERO);
        }
        self.daemons.as_mut().is_some_and(|daemons| daemons.notice(changes)).then_some(SETTLING)
    }

    /// What to say now otherwise than `next` does, which `object` is to become, and when there may be more to say.
    fn judge(
        &mut self,
        object: &Object,
        next: Option<&Value>,
        view: &View,
        now: Time,
    ) -> (Option<Condition>, Option<Time>) {
        if let Some(masters) = &mut self.masters {
            let said = condition::of(next.unwrap_or(object), "Degraded").map(Condition::read);
            let (judged, look_again) = masters.judge(said.as_ref(), view, now);
            return (judged.filter(|judged| said.as_ref() != Some(judged)), look_again);
        }
        // What begins or ends otherwise is written first: a condition that stays true does not say that it changed.
        let progressing = condition::of(object, "Progressing");
        if next.is_some_and(|next| condition::of(next, "Progressing") != progressing) {
            return (None, None);
        }
        let said = progressing.map(Condition::read);
        let judged = self.daemons.as_ref().and_then(|daemons| daemons.judge(said.as_ref(), object));
        (judged.filter(|judged| said.as_ref() != Some(judged)), None)
    }
}

impl Operator {
    /// Hears of nodes.
    pub(super) fn notice_nodes(&mut self, changes: &[Change], now: Time) {
        if let Some(pause) = self.nodes.notice(changes) {
            self.look_again(Some(after(now, pause)));
        }
    }

    /// The new state `next` of its object, or `None`, with what is to be said of nodes.
    pub(super) fn tell_of_nodes(
        &mut self,
        object: &Object,
        next: Option<Value>,
        view: &View,
        now: Time,
    ) -> Option<Value> {
        let (judged, look_again) = self.nodes.judge(object, next.as_ref(), view, now);
        self.look_again(look_again);
        let Some(judged) = judged else { return next };
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
    fn what_a_rollout_says_is_written_before_what_is_said_of_nodes() {
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
            let (judged, look_again) =
                nodes.judge(object, next.map(|next| &**next), &View::default(), Time::default());
            assert_eq!(look_again, None);
            judged.map(|judged| judged.reason)
        };
        assert_eq!(judge(&working, None), None);
        assert_eq!(judge(&working, Some(&well)), None);
        assert_eq!(judge(&well, Some(&working)), None);
        assert_eq!(judge(&well, Some(&well)).as_deref(), Some("Deploying"));
        assert_eq!(judge(&well, None).as_deref(), Some("Deploying"));
    }
}
