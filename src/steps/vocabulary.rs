//! An example of every step, for those who look for one. A test holds the list against the steps there are.

/// Kind and example of each step.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("Given", "a 4.14.1 cluster"),
    ("Given", "a 4.14.1 cluster with 3 control-plane nodes and 3 workers"),
    ("Given", "the feature set \"DevPreviewNoUpgrade\""),
    ("Given", "the architecture \"arm64\""),
    ("Given", "the kube-apiserver stays at Kubernetes 1.33"),
    ("Given", "the baseline capability set \"v4.13\""),
    ("Given", "the update channel \"stable-4.14\""),
    ("Given", "the graph data in \"../tests/graph-data\""),
    ("Given", "the update channel \"stable-4.14\" lists 4.14.1, 4.14.8"),
    ("Given", "asking for the update channel \"stable-4.14\" finds no service"),
    ("Given", "updates lead from 4.14.1 to 4.14.8"),
    ("Given", "updates from 4.14.1 to 4.14.8 have the risk \"SomeRisk\" with message \"Nodes may hang.\""),
    ("Given", "updates from 4.14.1 to 4.14.8 have the risk \"SomeRisk\" on clusters where:"),
    ("Given", "release 4.14.8 exists"),
    ("Given", "release 4.14.8 exists but is not recommended"),
    ("Given", "release 4.20.3 has no Sigstore signature"),
    ("Given", "the OpenPGP signature of release 4.20.3 is only in a ConfigMap"),
    ("Given", "the payload of release 4.20.3 is corrupt"),
    ("Given", "the payload of release 4.20.3 is of version 4.20.4"),
    ("Given", "pulling release 4.20.3 is unauthorized"),
    ("Given", "the containers of release 4.20.3 cannot be made"),
    ("Given", "this object:"),
    ("When", "I run \"oc adm upgrade --to-latest\""),
    ("When", "I update to 4.14.8"),
    ("When", "I update to image \"quay.io/openshift-release-dev/ocp-release@sha256:0\" by force"),
    ("When", "I clear the update request"),
    ("When", "I ask for published insights"),
    ("When", "I apply this object:"),
    ("When", "I try to apply this object:"),
    ("When", "I delete ConfigMap/openshift-config/admin-acks"),
    ("When", "I delete Deployment/default/web with cascade foreground"),
    (
        "When",
        "operator etcd degrades with reason \"EtcdMembersDegraded\" and message \"2 of 3 members are available\"",
    ),
    ("When", "node worker-0 becomes not ready"),
    ("When", "pod default/web-* becomes unready"),
    ("When", "I pause pool worker"),
    ("When", "I let 2 of the nodes of pool worker be unavailable"),
    ("When", "I cordon node worker-0"),
    ("When", "40 minutes pass"),
    (
        "Then",
        "within 10 minutes ClusterVersion condition Progressing is True with reason \"X\" and message matching /Y/",
    ),
    ("Then", "within 10 minutes ClusterVersion has no condition Upgradeable"),
    ("Then", "within 10 minutes ClusterVersion field \"status.history[0].state\" is \"Completed\""),
    ("Then", "throughout 30 minutes ClusterVersion field \"status\" does not change"),
    ("Then", "Pod/openshift-cluster-version/version-* does not exist"),
    ("Then", "within 2 minutes Pod/openshift-cluster-version/version-* has status \"Init:ErrImagePull\""),
    ("Then", "within 1 minute the insight about ClusterVersion/version has condition Updating True"),
    ("Then", "the insight about ClusterVersion/version has \"versions.target.version\" \"4.14.8\""),
    ("Then", "within 5 minutes there is a health insight with level \"Critical\" and summary /status/"),
    ("Then", "within 15 minutes alert \"ClusterOperatorDown\" about \"etcd\" is not firing"),
    ("Then", "Node/worker-0 annotation \"machineconfiguration.openshift.io/state\" is \"Done\""),
    ("Then", "within 2 hours node worker-0 is Draining"),
    ("Then", "node worker-0 was Updated, Pending, Draining, Updating, Updated in turn"),
    ("Then", "condition Updating of the insight about ClusterVersion/version was False, True, False in turn"),
    ("Then", "it prints \"Requested update to 4.14.8\""),
    ("Then", "it warns:"),
    ("Then", "it is refused with a text with \"is not one of the possible targets\""),
    ("Then", "it exits with code 1"),
    ("Then", "these writes were made in this order:"),
];

#[cfg(test)]
mod tests {
    use cucumber::World as _;
    use cucumber::gherkin::{Feature, GherkinEnv};

    use super::*;
    use crate::steps::world::ClusterWorld;

    #[test]
    fn every_example_is_a_step_and_every_step_has_an_example() {
        let steps = ClusterWorld::collection();
        let mut hit = std::collections::BTreeSet::new();
        for (kind, example) in EXAMPLES {
            let text = format!("Feature: f\n  Scenario: s\n    {kind} {example}\n");
            let feature = Feature::parse(text, GherkinEnv::default()).unwrap();
            let step = &feature.scenarios[0].steps[0];
            let (_, _, location, _) =
                steps.find(step).unwrap().unwrap_or_else(|| panic!("no step: {example}"));
            hit.insert(format!("{location:?}"));
        }
        let sources = [
            include_str!("given.rs"),
            include_str!("update_service.rs"),
            include_str!("when.rs"),
            include_str!("then.rs"),
            include_str!("faults.rs"),
        ];
        let defined: usize = sources
            .iter()
            .flat_map(|source| source.lines())
            .filter(|line| ["#[given(", "#[when(", "#[then("].iter().any(|mark| line.starts_with(mark)))
            .count();
        assert_eq!(hit.len(), defined, "steps without an example");
    }
}
