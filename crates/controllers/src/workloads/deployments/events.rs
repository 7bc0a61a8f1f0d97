//! Events about the ReplicaSets that a Deployment scales.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use windtunnel_core::resources::REPLICA_SETS;
use windtunnel_core::{Key, Operation, View, Write};

use crate::recorder::Notice;
use crate::version_differences::ScalingText;

/// The Events about ReplicaSets whose writes are not answered yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Scalings {
    by_set: BTreeMap<Key, Notice>,
}

impl Scalings {
    /// Adds the Events about the ReplicaSets that these writes create or scale.
    pub(super) fn add(&mut self, writes: &[Write], view: &View, text: ScalingText) {
        for write in writes.iter().filter(|write| write.resource == REPLICA_SETS) {
            let (Operation::Create(set) | Operation::Update(set)) = &write.operation else { continue };
            let size = set["spec"]["replicas"].as_i64().unwrap_or(0);
            let present = view.get_key(&write.key()).map(|set| set.number("/spec/replicas").unwrap_or(0));
            if let Some(text) = describe(&write.name, present, size, text) {
                self.by_set.insert(write.key(), Notice::normal("ScalingReplicaSet", text));
            }
        }
    }

    /// Takes the Event about a ReplicaSet whose write is answered.
    pub(super) fn take(&mut self, set: &Key) -> Option<Notice> {
        self.by_set.remove(set)
    }
}

/// The message about a ReplicaSet that gets another size; `None` for the size before: it is new.
fn describe(set: &str, before: Option<i64>, size: i64, text: ScalingText) -> Option<String> {
    let direction = match size.cmp(&before.unwrap_or(0)) {
        Ordering::Greater => "up",
        Ordering::Less => "down",
        Ordering::Equal => return None,
    };
    let change = match (text, before) {
        (ScalingText::To, _) | (ScalingText::ToFrom, None) => format!("to {size}"),
        (ScalingText::ToFrom, Some(before)) => format!("to {size} from {before}"),
        (ScalingText::FromTo, _) => format!("from {} to {size}", before.unwrap_or(0)),
    };
    Some(format!("Scaled {direction} replica set {set} {change}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_depends_on_the_version() {
        for (text, new, grown, shrunk) in [
            (ScalingText::To, "to 2", "to 2", "to 0"),
            (ScalingText::ToFrom, "to 2", "to 2 from 1", "to 0 from 1"),
            (ScalingText::FromTo, "from 0 to 2", "from 1 to 2", "from 1 to 0"),
        ] {
            let up = |change: &str| Some(format!("Scaled up replica set web {change}"));
            assert_eq!(describe("web", None, 2, text), up(new));
            assert_eq!(describe("web", Some(1), 2, text), up(grown));
            let down = Some(format!("Scaled down replica set web {shrunk}"));
            assert_eq!(describe("web", Some(1), 0, text), down);
            assert_eq!(describe("web", Some(2), 2, text), None);
        }
    }
}
