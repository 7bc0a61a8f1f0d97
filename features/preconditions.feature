@preconditions
Feature: What an update must not do
  The cluster-version operator refuses a payload that it retrieved when the way to it is not supported; from 4.19 on it
  knows how far a hop may go.

  Scenario Outline: From <from> to <to> is refused
    Given a <from> cluster
    And release <to> exists but is not recommended
    When I update to <to>
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "<why>"
    And throughout 10 minutes ClusterVersion field "status.history" does not change
    And ClusterVersion condition Progressing is False with message "Cluster version is <from>"

    Examples:
      | from    | to      | why                                                                                                  |
      | 4.14.8  | 4.13.20 | 4.13.20 is less than the current target 4.14.8, and the cluster has no previous Semantic Version     |
      | 4.19.3  | 4.21.1  | 4.21.1 is more than one minor version beyond the current target 4.19.3 (4.21 > 4.(19+1))             |

  Scenario: By force it goes through, and the history says through what
    Given a 4.19.3 cluster
    And release 4.21.1 exists but is not recommended
    When I update to 4.21.1 by force
    Then within 5 minutes ClusterVersion field "status.history[0].acceptedRisks" is /^Forced through blocking failures: Multiple precondition checks failed:\n\* Precondition "ClusterVersionGiantHop" failed because of "MultipleMinorVersionsUpdate"/
