@upgradeable @alerts
Feature: Feature sets that block minor updates
  A restricted feature set cannot be turned off again, and its cluster accepts only patch updates.

  Background:
    Given insights are published

  # OCP-32747 OCP-47160 OCP-47200
  Scenario Outline: <set> on <version> sets Upgradeable to False and fires an alert after an hour
    Given a <version> cluster
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: FeatureGate
      metadata: {name: cluster}
      spec: {featureSet: <set>}
      """
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "FeatureGates_RestrictedFeatureGates_<set>" and message matching /^Cluster operator <reporter> should not be upgraded between minor versions: FeatureGatesUpgradeable: "<set>" does not allow updates$/
    And within 1 minute alert "ClusterNotUpgradeable" is pending
    And throughout 58 minutes alert "ClusterNotUpgradeable" is not firing
    # The operator moves when its node is drained for the new kubelet configuration. If Prometheus misses a scrape
    # meanwhile, the hour begins anew.
    And within 20 minutes alert "ClusterNotUpgradeable" is firing
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight

    Examples:
      | version | set                  | reporter        |
      | 4.12.3  | TechPreviewNoUpgrade | kube-apiserver  |
      | 4.20.1  | TechPreviewNoUpgrade | config-operator |
      | 4.20.1  | CustomNoUpgrade      | config-operator |

  # OCP-47160
  Scenario: A restricted feature set cannot be turned off
    Given a 4.20.1 cluster
    And the feature set "TechPreviewNoUpgrade"
    When I try to apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: FeatureGate
      metadata: {name: cluster}
      spec: {featureSet: ""}
      """
    Then it is refused with a text with "TechPreviewNoUpgrade may not be changed"
    And within 1 minute the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"

  # OCP-47197
  Scenario: A cluster with a restricted feature set accepts patch updates and no minor update
    Given a 4.20.1 cluster
    And the feature set "TechPreviewNoUpgrade"
    And release 4.20.5 exists
    And release 4.21.1 exists
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "FeatureGates_RestrictedFeatureGates_TechPreviewNoUpgrade"
    When I update to 4.21.1
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "FeatureGates_RestrictedFeatureGates_TechPreviewNoUpgrade"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The cluster does not meet the preconditions of release 4.21.1" and description /TechPreviewNoUpgrade/
    When I update to 4.20.5
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is True with message containing "4.20.5"
    And within 2 minutes there is no health insight
    And within 2 minutes the insight about ClusterVersion/version has "versions.target.version" "4.20.5"

  @own @nodes
  Scenario Outline: Turning on <set> reboots all nodes (<version>)
    The kubelets get other feature gates, so the machine-config operator renders the pools again.
    Given a <version> cluster
    When 5 minutes pass
    And I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: FeatureGate
      metadata: {name: cluster}
      spec: {featureSet: <set>}
      """
    Then within 1 minute MachineConfigPool/master condition Updated is False
    And within 1 minute MachineConfigPool/worker condition Updated is False
    And throughout 9 minutes MachineConfigPool/master condition Updated is False
    And within 30 minutes MachineConfigPool/master condition Updated is True
    And within 30 minutes MachineConfigPool/worker condition Updated is True
    And ClusterVersion condition Progressing is False with message "Cluster version is <version>"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"

    Examples:
      | version | set                  |
      | 4.16.3  | TechPreviewNoUpgrade |
      | 4.20.1  | DevPreviewNoUpgrade  |

  @own
  Scenario: There is only one UpdateStatus
    Given a 4.20.1 cluster
    And the feature set "DevPreviewNoUpgrade"
    When 2 minutes pass
    And I try to apply this object:
      """
      apiVersion: update.openshift.io/v1alpha1
      kind: UpdateStatus
      metadata: {name: second}
      spec: {}
      """
    Then it is refused with a text with "updatestatus is a singleton; .metadata.name must be 'cluster'"
    And UpdateStatus/second does not exist
    And UpdateStatus/cluster exists
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"

  @own
  Scenario: The cluster-version operator restarts when the feature set changes
    Given a 4.20.1 cluster
    When 5 minutes pass
    And I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: FeatureGate
      metadata: {name: cluster}
      spec: {featureSet: TechPreviewNoUpgrade}
      """
    Then within 1 minute Pod/openshift-cluster-version/cluster-version-operator-* field "status.containerStatuses[0].restartCount" is "1"
    And Pod/openshift-cluster-version/cluster-version-operator-* field "status.containerStatuses[0].lastState.terminated.exitCode" is "0"
    And within 1 minute Lease/openshift-cluster-version/version field "spec.holderIdentity" is /./
    # Two nodes that boot at once make dns degraded for a moment, up to 4.21.
    And throughout 30 minutes ClusterVersion condition Progressing is False
    And condition Updating of the insight about ClusterVersion/version was False in turn

  @own
  Scenario Outline: Nodes reboot <times> times when I <switch> another feature set
    Given a 4.20.1 cluster with 1 control-plane node and 1 worker
    And release 4.20.5 exists
    When I <switch> the feature set "TechPreviewNoUpgrade"
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "FeatureGates_RestrictedFeatureGates_TechPreviewNoUpgrade"
    And throughout 15 minutes ClusterVersion condition Failing is False
    And node worker-0 was rebooted <times> times
    # After a quick switch the kubelets get their gates together with the next release.
    When I update to 4.20.5
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.20.5"
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And node worker-0 was rebooted <then> times
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

    Examples:
      | switch            | times | then |
      | switch to         | 1     | 2    |
      | switch quickly to | 0     | 1    |
