@preconditions
Feature: Preconditions of an update
  The cluster-version operator rejects a payload that it has retrieved if the update to it is not supported.
  From 4.19 on, it also rejects an update over more than one minor.

  Background:
    Given insights are published

  @own
  Scenario Outline: An update from <from> to <to> is rejected
    Given a <from> cluster
    And release <to> exists but is not recommended
    When I update to <to>
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "<why>"
    And throughout 10 minutes ClusterVersion field "status.history" does not change
    And ClusterVersion condition Progressing is False with message "Cluster version is <from>"
    And there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The cluster does not meet the preconditions of release <to>"
    And the insight about ClusterVersion/version has "versions.target.version" "<from>"

    Examples:
      | from    | to      | why                                                                                                  |
      | 4.14.8  | 4.13.20 | 4.13.20 is less than the current target 4.14.8, and the cluster has no previous Semantic Version     |
      | 4.19.3  | 4.21.1  | 4.21.1 is more than one minor version beyond the current target 4.19.3 (4.21 > 4.(19+1))             |

  @own
  Scenario: A forced update overrides failed preconditions, and the history records them
    Given a 4.19.3 cluster
    And release 4.21.1 exists but is not recommended
    When I update to 4.21.1 by force
    Then within 5 minutes ClusterVersion field "status.history[0].acceptedRisks" is /^Forced through blocking failures: Multiple precondition checks failed:\n\* Precondition "ClusterVersionGiantHop" failed because of "MultipleMinorVersionsUpdate"/
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.21.1"
    And there was never a health insight with summary /preconditions/

  # OCPBUGS-24535 OCPBUGS-35994, NODES-87
  Scenario Outline: A rollback from <newest> is supported only to the previous release
    Given a <first> cluster
    And release <second> exists
    And release <newest> exists
    When I update to <second>
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <second>"
    When I update to <newest>
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <newest>"
    When I update to <first>
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": <first> is less than the current target <newest>, and the only supported rollback is to the cluster's previous version <second> ("
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and summary "The cluster does not meet the preconditions of release <first>" and description /LowDesiredVersion/
    When I update to <second>
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <second>"
    And ClusterVersion field "status.history[0].state" is "Completed"
    And ClusterVersion field "status.history[3].version" is "<first>"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "<second>"
    And the insight about ClusterVersion/version has "versions.previous.version" "<newest>"
    And there is no health insight about ClusterVersion/version

    Examples:
      | first  | second | newest |
      | 4.14.1 | 4.14.5 | 4.14.9 |
      | 4.15.1 | 4.15.5 | 4.15.9 |
      | 4.20.1 | 4.20.5 | 4.20.9 |
