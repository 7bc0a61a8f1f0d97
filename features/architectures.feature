@architectures
Feature: Migration to several architectures
  A cluster that was installed for one architecture updates to the multi-architecture image of its own
  version. During this migration no other update is available, and all later updates are multi-architecture.

  Background:
    Given insights are published

  # OCP-60396, OCP-53921, OCP-53907, NODES-77
  Scenario Outline: An <machines> cluster migrates to several architectures and updates further
    Given a 4.18.3 cluster
    And the architecture "<machines>"
    And release 4.18.6 exists
    And release 4.18.9 exists
    When 5 minutes pass
    Then ClusterVersion condition ReleaseAccepted is True with message matching /architecture="<machines>"$/
    When I run "oc adm upgrade --to-multi-arch"
    Then it prints "Requested update to multi cluster architecture"
    And ClusterVersion field "spec.desiredUpdate.architecture" is "Multi"
    And within 5 minutes ClusterVersion field "status.availableUpdates[0].version" is "4.18.3"
    And ClusterVersion field "status.availableUpdates[1].version" is ""
    And within 10 minutes ClusterVersion condition ReleaseAccepted is True with message matching /^Payload loaded version="4.18.3" image="[^"]+" architecture="Multi"$/
    And within 1 minute ClusterVersion condition Progressing is True with message matching /^Working towards 4.18.3/
    And within 1 minute the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And the insight about ClusterVersion/version has "versions.target.version" "4.18.3"
    And within 10 minutes MachineConfigPool/master condition Updating is True
    And within 1 minute the insight about MachineConfigPool/master has condition Updating True with reason "Progressing"
    And ClusterVersion condition Progressing is True with reason "ClusterOperatorUpdating" and message matching /waiting on machine-config$/
    When I run "oc adm upgrade --to-multi-arch"
    Then it is refused with "info: Update to multi cluster architecture has already been requested"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.3"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And within 1 minute the insight about MachineConfigPool/master has condition Updating False with reason "Updated"
    And ClusterVersion field "status.history[0].version" is "4.18.3"
    And ClusterVersion field "status.history[0].state" is "Completed"
    And ClusterVersion field "status.history[0].verified" is "true"
    And ClusterVersion field "status.history[1].version" is "4.18.3"
    And within 5 minutes ClusterVersion field "status.availableUpdates[0].version" is "4.18.9"
    And ClusterVersion field "status.availableUpdates[1].version" is "4.18.6"
    And ClusterVersion field "status.availableUpdates[2].version" is ""
    When I run "OC_ENABLE_CMD_UPGRADE_ROLLBACK=true oc adm upgrade rollback"
    Then it is refused with a text with "previous version 4.18.3 ("
    And it is refused with a text with ") is greater than or equal to current version 4.18.3 ("
    When I run "oc adm upgrade --to 4.18.9"
    Then it prints "Requested update to 4.18.9"
    And within 10 minutes ClusterVersion condition ReleaseAccepted is True with message matching /^Payload loaded version="4.18.9" image="[^"]+" architecture="Multi"$/
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.9"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.18.9"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.18.3"
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False, True, False in turn

    Examples:
      | machines |
      | amd64    |
      | arm64    |

  # OCP-60397
  Scenario: The migration waits for a channel with multi-architecture releases
    Given a 4.16.1 cluster
    And the architecture "arm64"
    And release 4.16.5 exists
    And the update channel "stable-4.16" lists 4.16.1+arm64, 4.16.5+arm64
    And the update channel "candidate-4.16" lists 4.16.1, 4.16.5
    When 5 minutes pass
    Then ClusterVersion field "status.availableUpdates[0].version" is "4.16.5"
    When I run "oc adm upgrade --to-multi-arch"
    Then it prints "Requested update to multi cluster architecture"
    And within 5 minutes ClusterVersion condition RetrievedUpdates is False with reason "VersionNotFound" and message "Unable to retrieve available updates: currently reconciling cluster version 4.16.1 not found in the "stable-4.16" channel"
    And throughout 30 minutes ClusterVersion condition ReleaseAccepted is True with message matching /^Payload loaded version="4.16.1" .* architecture="arm64"$/
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.16.1"
    And condition Updating of the insight about ClusterVersion/version was False in turn
    When I run "oc adm upgrade channel candidate-4.16"
    Then within 10 minutes ClusterVersion condition ReleaseAccepted is True with message matching / architecture="Multi"$/
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.16.1"
    And ClusterVersion field "status.history[1].version" is "4.16.1"
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn
    And there was never a health insight about ClusterVersion/version

  @own
  Scenario: A migration that is cleared before it starts changes nothing
    Given a 4.16.1 cluster
    And release 4.16.5 exists
    And the update channel "stable-4.16" lists 4.16.1+amd64, 4.16.5
    When 5 minutes pass
    And I run "oc adm upgrade --to-multi-arch"
    Then within 5 minutes ClusterVersion condition RetrievedUpdates is False with reason "VersionNotFound"
    When I run "oc adm upgrade --clear"
    Then it prints "Cleared the update field, still at 4.16.1"
    And within 5 minutes ClusterVersion condition RetrievedUpdates is True
    And ClusterVersion field "status.availableUpdates[0].version" is "4.16.5"
    And ClusterVersion field "status.history[1].version" is ""
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  @own
  Scenario: From 4.21 on, ClusterVersion reports that a cluster has several architectures
    Given a 4.21.0 cluster
    And the architecture "multi"
    And release 4.21.3 exists
    When 5 minutes pass
    Then ClusterVersion field "status.desired.architecture" is "Multi"
    And ClusterVersion field "status.availableUpdates[0].version" is "4.21.3"
    When I run "oc adm upgrade --to-latest"
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.21.3"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.21.3"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.21.0"
    And within 1 minute the insight about ClusterVersion/version has "completion" "100"
    And ClusterVersion field "status.desired.architecture" is "Multi"
