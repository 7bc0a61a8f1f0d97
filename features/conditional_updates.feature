@intent @conditional
Feature: Updates with risks
  The update service lists the risks of an update, and the cluster-version operator evaluates which of them
  apply to the cluster. The client rejects the update until the administrator accepts these risks.

  Background:
    Given a 4.16.1 cluster
    And insights are published
    And release 4.16.5 exists
    And release 4.16.6 exists
    And release 4.17.0 exists

  # OCP-45879
  Scenario: A risk of all clusters is listed on request and must be accepted
    Given updates from 4.16.1 to 4.17.0 have the risk "SomeInvokerThing" with message "On clusters on default invoker user, this imaginary bug can happen."
    When 5 minutes pass
    And I run "oc adm upgrade"
    Then it prints a text with "Additional updates which are not recommended for your cluster configuration are available, to view those re-run the command with --include-not-recommended."
    When I run "oc adm upgrade --include-not-recommended"
    Then it prints /\nUpdates with known issues:\n\n  Version: 4\.17\.0\n  Image: \S+\n  Reason: SomeInvokerThing\n  Message: On clusters on default invoker user, this imaginary bug can happen\. https:\S+$/
    When I run "oc adm upgrade --to 4.17.0"
    Then it is refused with /^the update 4\.17\.0 is not one of the recommended updates, but is available as a conditional update\. To accept the Recommended=False risk and to proceed with update use --allow-not-recommended\.\n  Reason: SomeInvokerThing\n/
    When I run "oc adm upgrade --to 4.17.0 --allow-not-recommended"
    Then it prints "Requested update to 4.17.0"
    And it warns a text with "warning: with --allow-not-recommended you have accepted the risks with 4.17.0 and bypassed Recommended=False SomeInvokerThing:"
    And within 10 minutes ClusterVersion field "status.history[0].acceptedRisks" is /SomeInvokerThing/
    And within 1 minute the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And the insight about ClusterVersion/version has "versions.target.version" "4.17.0"
    And there is no health insight

  @own
  Scenario: The latest update excludes updates with risks unless they are allowed
    Given updates from 4.16.1 to 4.17.0 have the risk "RiskA"
    When 5 minutes pass
    And I run "oc adm upgrade --to-latest"
    Then it prints "Requested update to 4.16.6"
    When I run "oc adm upgrade --to-latest --allow-not-recommended"
    Then it prints "Requested update to 4.17.0"
    And within 10 minutes the insight about ClusterVersion/version has "versions.target.version" "4.17.0"
    And there is a health insight about ClusterVersion/version with level "Warning" and impact "None" and summary "Previous update to 4.16.6 never completed, last complete update was 4.16.1"

  # OCP-45879
  Scenario: Several risks share one reason, and metrics decide whether a risk applies
    Given updates from 4.16.1 to 4.16.6 have the risk "RiskA"
    And updates from 4.16.1 to 4.16.6 have the risk "RiskB"
    And updates from 4.16.1 to 4.17.0 have the risk "OfEtcd" on clusters where:
      """
      group(cluster_operator_conditions{name="etcd",condition="Available"} == 1) or 0 * group(cluster_version)
      """
    And updates from 4.16.1 to 4.16.5 have the risk "OfNobody" on clusters where:
      """
      group(cluster_version{type="initial",version=~"4[.]1[.].*"}) or 0 * group(cluster_version)
      """
    When 5 minutes pass
    And I run "oc adm upgrade --include-not-recommended"
    Then it prints a text with "Reason: MultipleReasons"
    And it prints a text with "Message: RiskA happens. https://example.com/RiskA"
    And it prints a text with "Reason: OfEtcd"
    When I run "oc adm upgrade --to 4.16.5"
    Then it prints "Requested update to 4.16.5"
    And within 10 minutes the insight about ClusterVersion/version has condition Updating True
    And the insight about ClusterVersion/version has "versions.target.version" "4.16.5"
    And there is no health insight

  # OCP-46422
  Scenario: A conditional update to a release outside the channel invalidates the response
    Given the update channel "stable-4.16" lists 4.16.1, 4.16.5
    And updates from 4.16.1 to 4.17.0 have the risk "RiskA"
    When 5 minutes pass
    And I run "oc adm upgrade"
    Then it warns a text with "Reason: ResponseInvalid"
    And it warns a text with "no node for conditional update 4.17.0"
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  # OCP-77520
  Scenario: `oc adm upgrade recommend` lists updates by minor or shows a single release
    Given updates from 4.16.1 to 4.17.0 have the risk "RiskA"
    When 5 minutes pass
    And I run "oc adm upgrade recommend"
    Then it prints /\nUpdates to 4\.17:\n\n  Version: 4\.17\.0\n  Image: \S+\n  Reason: RiskA\n  Message: RiskA happens\. \S+\n\nUpdates to 4\.16:\n  VERSION     ISSUES\n  4\.16\.6      no known issues relevant to this cluster\n  4\.16\.5      no known issues relevant to this cluster$/
    When I run "oc adm upgrade recommend --show-outdated-releases"
    Then it prints a text with "  4.17.0      RiskA"
    When I run "oc adm upgrade recommend --version 4.17.0"
    Then it is refused with "issues that apply to this cluster but which were not included in --accept: ConditionalUpdateRisk"
    When I run "oc adm upgrade recommend --version 4.17.0 --accept ConditionalUpdateRisk"
    Then it prints a text with "Update to 4.17.0 has no known issues relevant to this cluster other than the accepted ConditionalUpdateRisk."
    When I run "oc adm upgrade recommend --version 4.999.999"
    Then it is refused with "no updates to 4.999 available, so cannot display context for the requested release 4.999.999"
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  # OCP-73352
  Scenario: `oc adm upgrade recommend` reports an update in progress
    When 5 minutes pass
    And I run "oc adm upgrade --to-latest"
    And 10 minutes pass
    And I run "oc adm upgrade recommend"
    Then it prints a text with "info: An update is in progress.  You may wish to let this update complete before requesting a new update."
    And the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And the insight about ClusterVersion/version has "versions.target.version" "4.17.0"

  # OCP-46422
  Scenario: Risks are loaded from a folder in the format of cincinnati-graph-data
    Given release 4.16.9 exists
    And release 4.17.1 exists
    And the graph data in "testdata/graph-data"
    When 5 minutes pass
    And I run "oc adm upgrade"
    Then it prints a text with "Channel: stable-4.16 (available channels: candidate-4.16, stable-4.16)"
    When I run "oc adm upgrade --to 4.17.1"
    Then it is refused with a text with "Reason: MultipleReasons"
    And it is refused with a text with "Nobody is spared. https://example.com/EveryoneSuffers"
    When I run "oc adm upgrade --to 4.16.9"
    Then it prints "Requested update to 4.16.9"
    And within 10 minutes the insight about ClusterVersion/version has condition Updating True
    And the insight about ClusterVersion/version has "versions.target.version" "4.16.9"
