@operators
Feature: Operators that fail
  ClusterVersion reports a failing operator by the kind of the failure and its duration, and differently
  during an update. When the operator recovers, the cluster continues without intervention.

  Background:
    Given insights are published

  @own
  Scenario: An unavailable operator fails the update until it recovers
    Given a 4.18.1 cluster
    And release 4.18.5 exists
    When operator storage becomes unavailable with reason "NoProvisioner" and message "No storage provisioner is running"
    And I update to 4.18.5
    Then within 2 hours ClusterVersion condition Failing is True with reason "ClusterOperatorNotAvailable" and message "Cluster operator storage is not available"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /is failing to proceed with the update \(ClusterOperatorNotAvailable\)$/
    And there is a health insight about ClusterOperator/storage with impact "API Availability" and summary "Cluster Operator storage is unavailable (NoProvisioner)" and description "No storage provisioner is running"
    And within 2 hours ClusterVersion condition Progressing is True with reason "ClusterOperatorNotAvailable" and message "Unable to apply 4.18.5: the cluster operator storage is not available"
    And ClusterVersion condition Available is True with message "Done applying 4.18.1"
    When operator storage recovers
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.5"
    And ClusterVersion condition Failing is False
    And within 2 minutes there is no health insight about ClusterOperator/storage
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  # OCPBUGS-23514
  Scenario Outline: From 4.16 on, Failing is Unknown if an operator progresses for over half an hour (<from>)
    Given a <from> cluster
    And release <to> exists
    When operator console stalls
    And I update to <to>
    Then within 2 hours ClusterVersion condition Progressing is True with message matching /waiting on console$/
    And the insight about ClusterOperator/console has condition Updating True with reason "Progressing"
    When 60 minutes pass
    Then ClusterVersion condition Failing is <failing>
    And there <insight>
    And ClusterVersion condition Progressing is True with reason "ClusterOperatorUpdating" and message matching /^Working towards .*, <waiting>$/
    When operator console recovers
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is <to>"
    And within 2 minutes there is no health insight about ClusterVersion/version
    And the insight about ClusterOperator/console has condition Updating False with reason "Updated"

    Examples:
      | from   | to     | failing                                                                                                                  | insight                                                                                                                                                          | waiting                                                          |
      | 4.15.1 | 4.15.5 | False                                                                                                                    | is a health insight about ClusterVersion/version with impact "Update Stalled" and summary /is stalled$/                                                          | waiting on console                                               |
      | 4.16.1 | 4.16.5 | Unknown with reason "SlowClusterOperator" and message "waiting on console over 30 minutes which is longer than expected" | is a health insight about ClusterVersion/version with impact "Update Stalled" and summary /may be failing to proceed with the update \\(SlowClusterOperator\\)$/ | waiting on console over 30 minutes which is longer than expected |
      | 4.21.1 | 4.21.5 | Unknown with reason "SlowClusterOperator" and message "waiting on console over 30 minutes which is longer than expected" | is a health insight about ClusterVersion/version with impact "Update Stalled" and summary /may be failing to proceed with the update \\(SlowClusterOperator\\)$/ | waiting on console over 30 minutes which is longer than expected |

  # OCP-41728 OCPBUGS-7419
  Scenario: An operator that degrades outside an update sets Failing until it recovers
    Given a 4.17.1 cluster
    When operator authentication degrades with reason "OAuthServerConfigObservation_Error" and message "the identity provider is not reachable"
    Then within 5 minutes ClusterVersion condition Failing is True with reason "ClusterOperatorDegraded" and message "Cluster operator authentication is degraded"
    And ClusterVersion condition Progressing is False with reason "ClusterOperatorDegraded" and message "Error while reconciling 4.17.1: the cluster operator authentication is degraded"
    And within 6 minutes there is a health insight about ClusterOperator/authentication with level "Warning" and impact "API Availability" and summary "Cluster Operator authentication is degraded (OAuthServerConfigObservation_Error)" and description "the identity provider is not reachable"
    # No update is in progress, so none fails.
    And there is no health insight about ClusterVersion/version
    When operator authentication recovers
    Then within 5 minutes ClusterVersion condition Failing is False
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.17.1"
    And within 2 minutes there is no health insight
    And the insight about ClusterOperator/authentication has condition Healthy True with reason "AsExpected"

  @own
  Scenario: A flapping operator causes no health insight
    Given a 4.17.1 cluster
    When operator ingress flaps
    Then within 2 minutes ClusterOperator/ingress condition Available is False with reason "FaultInjected"
    And within 2 minutes ClusterOperator/ingress condition Available is True
    And within 2 minutes ClusterOperator/ingress condition Available is False
    And within 10 seconds the insight about ClusterOperator/ingress has condition Healthy False with reason "Unavailable"
    When operator ingress recovers
    Then within 1 minute ClusterOperator/ingress condition Available is True
    And throughout 10 minutes ClusterOperator/ingress condition Available is True
    And condition Healthy of the insight about ClusterOperator/ingress was True, False, True, False, True in turn
    # No outage lasted long enough.
    And there was never a health insight about ClusterOperator/ingress

  # OCP-41778
  Scenario: An operator that reports no conditions is unavailable
    Given a 4.17.1 cluster
    When operator image-registry falls silent
    Then within 5 minutes ClusterVersion condition Failing is True with reason "ClusterOperatorNotAvailable" and message "Cluster operator image-registry is not available"
    And the insight about ClusterOperator/image-registry has condition Healthy Unknown
    When operator image-registry recovers
    Then within 5 minutes ClusterVersion condition Failing is False
    And ClusterOperator/image-registry condition Available is True
    And within 2 minutes the insight about ClusterOperator/image-registry has condition Healthy True with reason "AsExpected"

  @own
  Scenario: Several unavailable operators are reported together
    While other operators still update, the two kinds of errors combine into the reason MultipleErrors, and
    the message calls it an unknown error.
    Given a 4.18.1 cluster
    And release 4.18.5 exists
    When operator storage becomes unavailable
    And operator console becomes unavailable
    And I update to 4.18.5
    Then within 2 hours ClusterVersion condition Failing is True with reason "ClusterOperatorsNotAvailable" and message "Cluster operators console, storage are not available"
    And ClusterVersion condition Progressing is True with reason "MultipleErrors" and message "Unable to apply 4.18.5: an unknown error has occurred: MultipleErrors"
    And within 2 hours ClusterVersion condition Progressing is True with reason "ClusterOperatorsNotAvailable" and message "Unable to apply 4.18.5: some cluster operators are not available"
    And there is a health insight about ClusterVersion/version with impact "Update Stalled" and summary /\(ClusterOperatorsNotAvailable\)$/
    And there is a health insight about ClusterOperator/console with impact "API Availability"
    And there is a health insight about ClusterOperator/storage with impact "API Availability"

  @own
  Scenario: An operator that is not upgradeable blocks only minor updates
    Given a 4.17.1 cluster
    And the update channel "stable-4.18"
    And release 4.17.5 exists
    And release 4.18.3 exists
    When operator cloud-credential becomes not upgradeable with reason "MissingUpgradeableAnnotation" and message "Upgradeable annotation is not set"
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "MissingUpgradeableAnnotation" and message "Cluster operator cloud-credential should not be upgraded between minor versions: Upgradeable annotation is not set"
    When I update to 4.18.3
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "MissingUpgradeableAnnotation"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and summary "The cluster does not meet the preconditions of release 4.18.3" and description /MissingUpgradeableAnnotation/
    And the insight about ClusterOperator/cloud-credential has condition Healthy True with reason "AsExpected"
    When I update to 4.17.5
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.17.5"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.17.5"
    And there is no health insight about ClusterVersion/version
