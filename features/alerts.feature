@alerts
Feature: Alerts about updates
  Prometheus evaluates the metrics of the cluster-version operator. An alert fires when its condition has held
  for long enough.

  Background:
    Given insights are published

  # OCP-32138
  Scenario: CannotRetrieveUpdates does not fire for a cluster without a channel
    Given a 4.20.1 cluster
    And the update channel ""
    Then within 2 minutes ClusterVersion condition RetrievedUpdates is False with reason "NoChannel"
    And throughout 70 minutes alert "CannotRetrieveUpdates" is not firing
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight

  # OTA-1321
  Scenario: ClusterReleaseNotAccepted fires when a release is rejected for an hour
    Given a 4.20.1 cluster
    And release 4.20.3 exists
    And the containers of release 4.20.3 cannot be made
    When I update to 4.20.3
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message containing "CreateContainerError"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The payload of release 4.20.3 cannot be retrieved" and description /CreateContainerError/
    And within 1 minute alert "ClusterReleaseNotAccepted" about "version" is pending
    And throughout 55 minutes alert "ClusterReleaseNotAccepted" is not firing
    And within 6 minutes alert "ClusterReleaseNotAccepted" about "version" is firing
    When I clear the update request
    Then within 5 minutes alert "ClusterReleaseNotAccepted" is not firing
    And within 2 minutes there is no health insight
    # Alerts become health insights only during an update, and none was in progress.
    And there was never a health insight with summary /^Alert is firing/

  @own
  Scenario: A healthy update fires no alert except UpdateAvailable
    Given a 4.20.1 cluster
    And release 4.20.3 exists
    Then within 5 minutes alert "UpdateAvailable" is firing
    When I update to 4.20.3
    And 2 hours pass
    Then alert "ClusterOperatorDown" was never firing
    And ClusterVersion condition Failing was never True
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.20.3"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And alert "ClusterVersionOperatorDown" is not firing
    And alert "UpdateAvailable" is not firing
    And there was never a health insight

  # OCP-41736
  Scenario: ClusterOperatorDown fires after ten minutes and resolves after the recovery
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    When operator image-registry becomes unavailable with reason "NoReplicasAvailable" and message "The deployment does not have available replicas"
    Then within 1 minute alert "ClusterOperatorDown" about "image-registry" is pending
    And within 5 minutes ClusterVersion condition Failing is True with reason "ClusterOperatorNotAvailable" and message "Cluster operator image-registry is not available"
    And within 11 minutes alert "ClusterOperatorDown" about "image-registry" is firing
    And there is a health insight about ClusterOperator/image-registry with level "Warning" and impact "API Availability" and summary "Cluster Operator image-registry is unavailable (NoReplicasAvailable)" and description "The deployment does not have available replicas"
    And the insight about ClusterOperator/image-registry has condition Healthy False with reason "Unavailable"
    And there is no health insight with summary /^Alert is firing/
    When I run "oc adm upgrade recommend --version 4.20.5"
    Then it is refused with "issues that apply to this cluster but which were not included in --accept: ClusterOperatorDown,Failing"
    And it prints a text with "critical alert ClusterOperatorDown firing, suggesting significant cluster issues worth investigating."
    When I run "oc adm upgrade recommend --version 4.20.5 --accept ClusterOperatorDown,Failing"
    Then it prints a text with "Update to 4.20.5 has no known issues relevant to this cluster other than the accepted ClusterOperatorDown,Failing."
    When operator image-registry recovers
    Then within 5 minutes alert "ClusterOperatorDown" is not firing
    And within 5 minutes ClusterVersion condition Failing is False
    And within 2 minutes there is no health insight
    And the insight about ClusterOperator/image-registry has condition Healthy True with reason "AsExpected"
