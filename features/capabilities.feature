@capabilities
Feature: Capabilities
  Enabled capabilities stay enabled. If the spec later requests fewer, the cluster-version operator reports
  the difference in a condition and keeps them.

  Background:
    Given insights are published

  # OCP-49196
  Scenario Outline: A default <version> cluster enables all known capabilities
    Given a <version> cluster
    When 10 minutes pass
    Then ClusterVersion field "status.capabilities.enabledCapabilities" is /^<all>$/
    And ClusterVersion field "status.capabilities.knownCapabilities" is /^<all>$/
    And ClusterVersion condition ImplicitlyEnabledCapabilities is False with reason "AsExpected" and message "Capabilities match configured spec"
    And the insight about ClusterOperator/console has condition Healthy True with reason "AsExpected"
    And the insight about ClusterOperator/storage has condition Updating False with reason "Updated"

    Examples:
      | version | all                                                                                                                                                                   |
      | 4.12.3  | \\["CSISnapshot","Console","Insights","Storage","baremetal","marketplace","openshift-samples"\\]                                                                      |
      | 4.14.3  | \\["Build","CSISnapshot","Console","DeploymentConfig","ImageRegistry","Insights","MachineAPI","NodeTuning","Storage","baremetal","marketplace","openshift-samples"\\] |

  @own
  Scenario: A cluster with the baseline None has no operators of disabled capabilities
    Given a 4.16.2 cluster
    And the baseline capability set "None"
    When 10 minutes pass
    Then ClusterOperator/console does not exist
    And ClusterOperator/insights does not exist
    And ClusterOperator/etcd exists
    And ClusterOperator/ingress exists
    And there is no insight about ClusterOperator/console
    And the insight about ClusterOperator/ingress has condition Healthy True with reason "AsExpected"
    And ClusterVersion field "status.capabilities.enabledCapabilities" is /^\["Ingress"\]$/
    And ClusterVersion condition ImplicitlyEnabledCapabilities is True with reason "CapabilitiesImplicitlyEnabled" and message "The following capabilities could not be disabled: Ingress"
    And there was never a health insight

  # OCP-49508
  Scenario: Requesting fewer capabilities later only sets a condition
    Given a 4.16.2 cluster
    When 10 minutes pass
    And I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {capabilities: {baselineCapabilitySet: None}}
      """
    Then within 5 minutes ClusterVersion condition ImplicitlyEnabledCapabilities is True with reason "CapabilitiesImplicitlyEnabled" and message matching /^The following capabilities could not be disabled: Build, CSISnapshot, CloudControllerManager, CloudCredential, Console, /
    And throughout 30 minutes ClusterVersion field "status.capabilities.enabledCapabilities" does not change
    And ClusterOperator/console exists
    And the insight about ClusterOperator/console has condition Updating False with reason "Updated"
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  @own
  Scenario: Requesting a capability later installs its operator
    Given a 4.16.2 cluster
    And the baseline capability set "None"
    When 10 minutes pass
    Then there is no insight about ClusterOperator/console
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {capabilities: {baselineCapabilitySet: None, additionalEnabledCapabilities: [Console, Ingress]}}
      """
    Then within 30 minutes ClusterOperator/console exists
    And within 30 minutes ClusterOperator/console condition Available is True
    And ClusterOperator/insights does not exist
    And within 1 minute the insight about ClusterOperator/console has condition Healthy True with reason "AsExpected"
    And there is no insight about ClusterOperator/insights

  # OCP-49670
  Scenario: The API server rejects unknown capabilities and capability sets
    Given a 4.20.1 cluster
    When I try to apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {capabilities: {baselineCapabilitySet: Invalid}}
      """
    Then it is refused with a text with "spec.capabilities.baselineCapabilitySet: Unsupported value: "Invalid": supported values: "None", "v4.11", "v4.12", "v4.13""
    When I try to apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {capabilities: {additionalEnabledCapabilities: [Invalid]}}
      """
    Then it is refused with a text with "spec.capabilities.additionalEnabledCapabilities[0]: Unsupported value: "Invalid": supported values: "openshift-samples", "baremetal", "marketplace""
    And within 1 minute the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight
