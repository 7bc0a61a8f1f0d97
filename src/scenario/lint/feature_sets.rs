//! Warnings about switches of the feature set.

use windtunnel_core::resources::FEATURE_GATES;

use crate::plan::{Action, ClusterPlan, Step};

/// The feature set of a cluster after the steps so far.
#[derive(Debug, Clone)]
pub(super) struct FeatureSet(String);

impl FeatureSet {
    /// The feature set before the first step.
    pub(super) fn at_start(cluster: &ClusterPlan) -> Self {
        Self(cluster.feature_set.clone())
    }

    /// Returns a warning about a switch to the feature set that the cluster has already.
    pub(super) fn warning_about(&mut self, step: &Step) -> Option<String> {
        let Step::Act(Action::Apply(object)) = step else { return None };
        let is_switch = object["kind"] == *FEATURE_GATES.kind
            && object["metadata"]["name"] == "cluster"
            && object["spec"]["featureSet"].is_string();
        let to = object["spec"]["featureSet"].as_str().filter(|_| is_switch)?;
        if self.0 == to {
            return Some(format!(
                "the cluster has the feature set `{to}` already, so this step changes nothing"
            ));
        }
        to.clone_into(&mut self.0);
        None
    }
}
