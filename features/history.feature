@history
Feature: The update history of a cluster
  ClusterVersion keeps an entry for each release that the operator worked on, newest first. The entry of an
  interrupted update stays Partial.

  Background:
    Given insights are published

  @own
  Scenario: An update that is cleared before the operator replaces itself stays Partial
    Given a 4.16.1 cluster
    And release 4.16.5 exists
    When I update to 4.16.5
    Then within 5 minutes ClusterVersion field "status.history[0].version" is "4.16.5"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.16.5"
    When I clear the update request
    Then within 2 minutes the insight about ClusterVersion/version has "versions.target.version" "4.16.1"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.16.5"
    And ClusterVersion field "status.history[0].version" is "4.16.1"
    And ClusterVersion field "status.history[0].state" is "Partial"
    And ClusterVersion field "status.history[1].version" is "4.16.5"
    And ClusterVersion field "status.history[1].state" is "Partial"
    And ClusterVersion field "status.history[1].completionTime" is /Z$/
    And ClusterVersion field "status.history[2].state" is "Completed"
    And within 3 hours ClusterVersion field "status.history[0].state" is "Completed"
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.16.1"
    And ClusterVersion field "status.history[1].state" is "Partial"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  @own
  Scenario: A rejected target does not enter the history
    Given a 4.19.3 cluster
    And release 4.21.1 exists but is not recommended
    When I update to 4.21.1
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "4.21.1"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The cluster does not meet the preconditions of release 4.21.1"
    And the insight about ClusterVersion/version has "versions.target.version" "4.19.3"
    And ClusterVersion field "metadata.generation" is "2"
    And ClusterVersion field "status.observedGeneration" is "1"
    And ClusterVersion field "status.desired.version" is "4.19.3"
    And ClusterVersion field "status.history[0].version" is "4.19.3"
    And ClusterVersion condition Failing is False

  # OCP-56083
  Scenario Outline: From 4.12 on, accepted risks and the architecture are recorded (<from>)
    Given a <from> cluster
    And the update channel ""
    And release <to> exists
    When I update to <to>
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is True with message matching /^Payload loaded version="<to>" image="[^"]+"(<architecture>)$/
    And within 5 minutes ClusterVersion field "status.history[0].version" is "<to>"
    And ClusterVersion field "status.history[0].acceptedRisks" is /^<risks>$/
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "<to>"
    And there was never a health insight

    Examples:
      | from   | to     | architecture          | risks                                                                            |
      | 4.11.3 | 4.11.9 |                       |                                                                                  |
      | 4.12.3 | 4.12.9 | .architecture="amd64" | Precondition "ClusterVersionRecommendedUpdate" failed because of "NoChannel": .* |
