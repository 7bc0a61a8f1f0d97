//! The times of conditions.

use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Resource, condition, text_of};

use super::rule::{ObjectFinding, Rule, Scene, is_of_component};
use crate::record::WriteEvent;

/// The kinds whose conditions have `lastTransitionTime`, kept by one client library each.
const KINDS: [&Resource; 4] = [&CLUSTER_OPERATORS, &CLUSTER_VERSIONS, &MACHINE_CONFIG_POOLS, &NODES];

/// How much the clocks of a component and the API server differ, and how much rounding to seconds hides.
const TOLERANCE: i64 = 2;

/// The rule about `lastTransitionTime`.
pub(super) struct Conditions {
    /// Whether changes between two writes can be missing.
    is_watched: bool,
}

impl Conditions {
    pub(super) fn new(is_watched: bool) -> Self {
        Self { is_watched }
    }

    /// How a condition contradicts the one before.
    fn contradiction(&self, old: &Old<'_>, status: &str, time: Time, at: Time) -> Option<String> {
        let has_changed = old.status != status;
        if !has_changed && time != old.time && !self.is_watched {
            return Some(format!("changes its lastTransitionTime, but its status is still {status}"));
        }
        let is_old = at.as_second() - time.as_second() > TOLERANCE;
        if has_changed && time == old.time && is_old {
            return Some(format!("becomes {status}, but keeps its lastTransitionTime"));
        }
        (time < old.time).then(|| "has an earlier lastTransitionTime than before".to_owned())
    }
}

/// The condition before.
struct Old<'o> {
    status: &'o str,
    time: Time,
}

impl Rule for Conditions {
    fn id(&self) -> String {
        "conditions".to_owned()
    }

    fn before(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        let (before, after) = (write.before.as_ref()?, write.after.as_ref()?);
        let is_judged = is_of_component(write) && KINDS.iter().any(|kind| write.key.is_kind(kind));
        if !is_judged || scene.calm.has_wrong_clock(scene.at) {
            return None;
        }
        after.list("/status/conditions").iter().find_map(|new| {
            let (kind, status) = (condition::type_of(new), text_of(new, "status"));
            let time = parse_rfc3339(text_of(new, "lastTransitionTime"))?;
            let found = condition::find_in_status(before, kind)?;
            if found == new {
                return None;
            }
            if time.as_second() - scene.at.as_second() > TOLERANCE {
                return Some(ObjectFinding::by(
                    write,
                    format!("{kind} has a lastTransitionTime in the future"),
                ));
            }
            let old = Old {
                status: text_of(found, "status"),
                time: parse_rfc3339(text_of(found, "lastTransitionTime"))?,
            };
            let how = self.contradiction(&old, status, time, scene.at)?;
            Some(ObjectFinding::by(write, format!("{kind} {how}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::clock::rfc3339;

    use super::*;
    use crate::oracles::testing::Story;

    fn operator(status: &str, second: i64) -> Value {
        let time = rfc3339(Time::constant(second, 0));
        json!({
            "metadata": { "name": "dns" },
            "status": { "conditions": [{ "type": "Available", "status": status, "lastTransitionTime": time }] },
        })
    }

    fn found(status: &str, second: i64) -> Vec<String> {
        Story::new()
            .status(10, "a", &CLUSTER_OPERATORS, operator("True", 10))
            .status(100, "a", &CLUSTER_OPERATORS, operator(status, second))
            .findings("conditions")
    }

    #[test]
    fn the_time_changes_with_the_status() {
        let reported = |how: &str| vec![format!("ClusterOperator/dns: Available {how}")];
        assert!(found("True", 10).is_empty());
        assert!(found("False", 100).is_empty());
        assert_eq!(
            found("True", 100),
            reported("changes its lastTransitionTime, but its status is still True")
        );
        assert_eq!(found("False", 10), reported("becomes False, but keeps its lastTransitionTime"));
        assert_eq!(found("False", 5), reported("has an earlier lastTransitionTime than before"));
        assert_eq!(found("False", 200), reported("has a lastTransitionTime in the future"));
    }

    #[test]
    fn a_wrong_clock_excuses_times() {
        let story = Story::new()
            .status(10, "a", &CLUSTER_OPERATORS, operator("True", 10))
            .step(20, "node worker-0 is clock-ahead")
            .status(100, "a", &CLUSTER_OPERATORS, operator("False", 200));
        assert!(story.findings("conditions").is_empty());
    }
}
