@update @status
Feature: Output of `oc adm upgrade status`
  The client command `oc adm upgrade status` reads the API server and Prometheus and assesses the update
  itself. The health insights report the same problems.

  Background:
    Given a 4.16.1 cluster
    And insights are published
    And the update channel "stable-4.16"
    And release 4.16.5 exists

  @own
  Scenario: The status shows the progress and the problems of an update
    Then the status contains "The cluster is not updating."
    When I pause pool worker
    And I update to 4.16.5
    Then within 10 minutes the status contains "Target Version:  4.16.5 (from 4.16.1)"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.16.5"
    And the status contains /(?m)^Completion: +\d+% \(\d+ operators updated, \d+ updating, \d+ waiting\)$/
    And the status contains "Outdated nodes in a paused pool 'worker' will not be updated"
    And there is a health insight about MachineConfigPool/worker with level "Warning" and summary "Outdated nodes in a paused pool 'worker' will not be updated"
    When operator etcd degrades with reason "EtcdMembersDegraded" and message "2 of 3 members are available"
    Then within 10 minutes the status contains "Cluster Operator etcd is degraded (EtcdMembersDegraded)"
    And within 1 minute there is a health insight about ClusterOperator/etcd with level "Warning" and summary "Cluster Operator etcd is degraded (EtcdMembersDegraded)" and description "2 of 3 members are available"
    And the status with details "health" contains "  Description: 2 of 3 members are available"

  @own
  Scenario: The status shows that an update is complete
    When I update to 4.16.5
    Then within 2 hours the status contains "Update to 4.16.5 successfully completed at "
    And the status contains "All control plane nodes successfully updated to 4.16.5"
    And within 1 minute the insight about ClusterVersion/version has "completion" "100"
    And within 1 hour the status contains "The cluster is not updating."
    And within 1 hour the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
