//! Observed generations.

use windtunnel_core::Resource;
use windtunnel_core::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_NODES};

use super::rule::{ObjectFinding, Rule, Scene, is_of_component};
use crate::record::WriteEvent;

/// The kinds that are not judged: an invariant is about ClusterVersion, and the machine-config daemon writes the generation
/// that follows its own write of a MachineConfigNode (`pkg/upgrademonitor`).
const EXCEPT: [&Resource; 2] = [&CLUSTER_VERSIONS, &MACHINE_CONFIG_NODES];

/// The rule about `observedGeneration`.
pub(super) struct Generations;

impl Rule for Generations {
    fn id(&self) -> String {
        "generations".to_owned()
    }

    fn before(&mut self, _: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        let after = write.after.as_ref()?;
        if !is_of_component(write) || EXCEPT.iter().any(|kind| write.key.is_kind(kind)) {
            return None;
        }
        let (observed, generation) = (after.number("/status/observedGeneration")?, after.generation());
        (generation > 0 && observed > generation).then(|| {
            ObjectFinding::by(
                write,
                format!("observedGeneration is {observed}, but generation is only {generation}"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::MACHINE_CONFIG_POOLS;

    use crate::oracles::testing::Story;

    #[test]
    fn no_status_is_from_the_future() {
        let found = |observed: i64| {
            let pool = json!({
                "metadata": { "name": "worker", "generation": 2 }, "status": { "observedGeneration": observed },
            });
            Story::new().status(1, "a", &MACHINE_CONFIG_POOLS, pool).findings("generations")
        };
        assert!(found(1).is_empty());
        assert!(found(2).is_empty());
        assert_eq!(found(3), ["MachineConfigPool/worker: observedGeneration is 3, but generation is only 2"]);
    }
}
