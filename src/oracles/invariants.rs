//! The invariants of runs, for records.

use windtunnel_core::clock::Time;

use super::invariant_id;
use super::rule::{ObjectFinding, Rule, Scene, name_of};
use crate::engine::RecordedInvariant;
use crate::plan::Invariant;
use crate::record::WriteEvent;

/// An invariant as a rule.
struct InvariantRule {
    invariant: Invariant,
    recorded: RecordedInvariant,
}

/// Returns a rule for each invariant, for a run whose clock starts at `epoch`.
pub(super) fn rules(epoch: Time) -> Vec<Box<dyn Rule>> {
    let rule = |invariant| InvariantRule { invariant, recorded: RecordedInvariant::new(invariant, epoch) };
    Invariant::ALL.map(|invariant| Box::new(rule(invariant)) as Box<dyn Rule>).into()
}

impl Rule for InvariantRule {
    fn id(&self) -> String {
        invariant_id(self.invariant)
    }

    fn before(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        let how = self.recorded.check_write(write, scene.at)?;
        Some(ObjectFinding::new(name_of(write), how))
    }

    fn after(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        let (node, how) = self.recorded.check_change(&write.change()?, scene.view, scene.at)?;
        Some(ObjectFinding::new(format!("Node/{node}"), how))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::CLUSTER_VERSIONS;
    use windtunnel_openshift::cvo::NAME;

    use crate::oracles::testing::Story;

    fn version(observed: i64) -> Value {
        json!({
            "metadata": { "name": "version", "generation": 2 }, "status": { "observedGeneration": observed },
        })
    }

    #[test]
    fn each_breach_of_an_invariant_is_reported_with_its_name() {
        let rule = "invariant/observed-generation";
        let story = |observed| {
            Story::new().status(1, NAME, &CLUSTER_VERSIONS, version(2)).status(
                2,
                NAME,
                &CLUSTER_VERSIONS,
                version(observed),
            )
        };
        assert!(story(2).findings(rule).is_empty());
        assert_eq!(
            story(3).findings(rule),
            ["ClusterVersion/version: observedGeneration is 3, but generation is only 2"]
        );
    }
}
