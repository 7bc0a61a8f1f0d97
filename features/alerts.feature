@alerts
Feature: Alerts about updates
  Prometheus tells of what the cluster-version operator's metrics say, once it has lasted.

  Background:
    Given insights are published

  # OCP-32138
  Scenario: A cluster without a channel is not told of as one that cannot retrieve updates
    Given a 4.20.1 cluster
    And the update channel ""
    Then within 2 minutes ClusterVersion condition RetrievedUpdates is False with reason "NoChannel"
    And throughout 70 minutes alert "CannotRetrieveUpdates" is not firing
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight

  # OTA-1321
  Scenario: A release that stays refused is told of after an hour
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
    # The alert was not told of as an insight: the cluster was not being updated.
    And there was never a health insight with summary /^Alert is firing/

  @own
  Scenario: An update that goes well fires nothing but that updates are available
    Given a 4.20.1 cluster
    And release 4.20.3 exists
    Then within 5 minutes alert "UpdateAvailable" is firing
    When I update to 4.20.3
    Then throughout 2 hours alert "ClusterOperatorDown" is not firing
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.20.3"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And alert "ClusterVersionOperatorDown" is not firing
    And alert "UpdateAvailable" is not firing
    And there was never a health insight

  # OCP-41736
  Scenario: An operator that is not available is told of after ten minutes, and soon no longer once it is
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
    And there is no health insight
    And the insight about ClusterOperator/image-registry has condition Healthy True with reason "AsExpected"
