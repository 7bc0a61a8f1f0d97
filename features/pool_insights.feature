@insights
Feature: Insights about pools
  The published insights count the nodes of each MachineConfigPool by phase, and show when all of them are
  updated.

  Background:
    Given a 4.18.3 cluster with 3 control-plane nodes and 3 workers
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    When I ask for published insights

  @own
  Scenario: The insight of a pool goes through Pending and Progressing to Updated
    Then within 5 minutes the insight about MachineConfigPool/worker has condition Updating False with reason "Updated" and message "3 of 3 nodes are updated"
    And the insight about MachineConfigPool/worker has "assessment" "Completed"
    And the insight about MachineConfigPool/worker has "completion" "100"
    And the insight about MachineConfigPool/worker has "scopeType" "WorkerPool"
    And the insight about MachineConfigPool/master has "scopeType" "ControlPlane"
    When I update to 4.18.7
    # The MachineConfigPool has not changed yet. Its insight follows the ClusterVersion.
    Then within 2 minutes the insight about MachineConfigPool/worker has condition Updating False with reason "Pending"
    And the insight about MachineConfigPool/worker has "assessment" "Pending"
    And the insight about MachineConfigPool/worker has "summaries[3].type" "Outdated"
    And the insight about MachineConfigPool/worker has "summaries[3].count" "3"
    And within 3 hours the insight about MachineConfigPool/worker has condition Updating True with reason "Progressing"
    And within 10 minutes the insight about MachineConfigPool/worker has "summaries[4].count" "1"
    And within 1 hour the insight about MachineConfigPool/worker has "completion" "33"
    And within 1 minute MachineConfigPool/worker field "status.updatedMachineCount" is "1"
    And the insight about MachineConfigPool/worker has "assessment" "Progressing"
    And within 1 hour the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
    And within 1 hour the insight about MachineConfigPool/master has "completion" "100"
    And within 1 minute condition Updating of the insight about MachineConfigPool/worker was False, True, False in turn

  # NODES-28
  Scenario: A paused pool is Excluded, and a health insight warns about its outdated nodes
    When I pause pool worker
    And I update to 4.18.7
    Then within 2 minutes the insight about MachineConfigPool/worker has condition Updating False with reason "Paused"
    And the insight about MachineConfigPool/worker has "assessment" "Excluded"
    And the insight about MachineConfigPool/worker has "summaries[5].count" "3"
    And there is a health insight about MachineConfigPool/worker with level "Warning" and summary "Outdated nodes in a paused pool 'worker' will not be updated"
    And there is no health insight about MachineConfigPool/master
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    When I unpause pool worker
    Then within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Pending"
    And within 3 minutes there is no health insight about MachineConfigPool/worker

  # NODES-60
  Scenario: A node whose update fails degrades the insight of its pool
    When node worker-0 cannot update its system with message "pinging container registry: connection refused"
    And I update to 4.18.7
    Then within 3 hours the insight about MachineConfigPool/worker has condition Healthy False with reason "NodesDegraded" and message "1 of 3 nodes are degraded"
    And the insight about MachineConfigPool/worker has "assessment" "Degraded"
    And within 1 minute there is a health insight about Node/worker-0 with level "Error" and summary "Node worker-0 is degraded"
    And within 5 minutes there is a health insight about MachineConfigPool/worker with level "Error" and summary "Pool 'worker' is degraded"
    And MachineConfigPool/worker condition NodeDegraded is True
    When node worker-0 recovers
    Then within 1 hour the insight about MachineConfigPool/worker has condition Healthy True with reason "AsExpected"

  @own
  Scenario: The resource UpdateStatus shows the same states as the insights
    Then UpdateStatus/cluster field "status.workerPools[0].name" is "worker"
    And UpdateStatus/cluster field "status.workerPools[0].conditions[0].reason" is "Updated"
    And UpdateStatus/cluster field "status.controlPlane.conditions[0].reason" is "ClusterVersionNotProgressing"
    And UpdateStatus/cluster field "status.controlPlane.poolResource.name" is "master"
    When I update to 4.18.7
    Then within 2 minutes UpdateStatus/cluster field "status.controlPlane.conditions[0].reason" is "ClusterVersionProgressing"
    And UpdateStatus/cluster field "status.workerPools[0].conditions[0].reason" is "Pending"
    And UpdateStatus/cluster condition Complete is True
    And the insight about MachineConfigPool/worker has condition Updating False with reason "Pending"
