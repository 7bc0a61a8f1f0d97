@insights
Feature: Insights about nodes
  The published insights show for each node whether its update is pending, which phase it is in, and whether
  it has failed.

  Background:
    Given a 4.18.3 cluster with 3 control-plane nodes and 3 workers
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    When I ask for published insights

  # NODES-36
  Scenario: The insight of a node goes through Pending, Draining and Updating to Completed
    Then within 5 minutes the insight about Node/worker-0 has condition Updating False with reason "Completed" and message "The node is updated"
    And the insight about Node/worker-0 has "version" "4.18.3"
    And the insight about Node/worker-0 has "scopeType" "WorkerPool"
    And the insight about Node/master-0 has "scopeType" "ControlPlane"
    And the insight about Node/master-0 has "poolResource.name" "master"
    When I update to 4.18.7
    # The Node has not changed yet. Its insight follows the ClusterVersion.
    Then within 2 minutes the insight about Node/worker-0 has condition Updating False with reason "Pending" and message "The update of the node is pending"
    And within 3 hours the insight about Node/worker-0 has condition Updating True with reason "Draining" and message "The node is draining"
    And the insight about Node/worker-0 has "estToComplete" "10m0s"
    And the insight about Node/worker-0 has condition Available True
    And within 10 minutes the insight about Node/worker-0 has condition Updating True with reason "Updating" and message "The node is updating"
    And within 1 hour the insight about Node/worker-0 has condition Updating False with reason "Completed"
    And the insight about Node/worker-0 has "version" "4.18.7"
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.7"
    And the insight about Node/worker-0 has "estToComplete" "0s"
    And within 2 hours the insight about Node/worker-2 has condition Updating False with reason "Completed"
    And within 1 minute condition Updating of the insight about Node/worker-0 was False, True, False in turn

  # NODES-28
  Scenario: Nodes of a paused pool are Paused until the pool resumes
    When I pause pool worker
    And I update to 4.18.7
    Then within 2 minutes the insight about Node/worker-0 has condition Updating False with reason "Paused" and message "The update of the node is paused"
    And the insight about Node/master-0 has condition Updating False with reason "Pending"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 1 hour the insight about Node/master-2 has condition Updating False with reason "Completed"
    And the insight about Node/worker-0 has condition Updating False with reason "Paused"
    When I unpause pool worker
    Then within 1 minute the insight about Node/worker-2 has condition Updating False with reason "Pending"

  # NODES-60
  Scenario: The insight of a node reports why its update fails
    When node worker-0 cannot update its system with message "pinging container registry: connection refused"
    And I update to 4.18.7
    Then within 3 hours the insight about Node/worker-0 has condition Degraded True with message matching /pinging container registry: connection refused/
    And the insight about Node/worker-0 has condition Updating True
    And the insight about Node/worker-0 has "message" /^Failed to update OS/
    And the insight about Node/worker-1 has condition Degraded False with reason "AsExpected"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Degraded"
    When node worker-0 recovers
    Then within 1 hour the insight about Node/worker-0 has condition Degraded False

  @own
  Scenario: A cordoned node is unavailable
    Then within 5 minutes the insight about Node/worker-1 has condition Available True with message "The node is available"
    When I cordon node worker-1
    Then within 1 minute the insight about Node/worker-1 has condition Available False with reason "Node is marked unschedulable"
    And the insight about Node/worker-1 has "message" "Node is marked unschedulable"
    And Node/worker-1 field "spec.unschedulable" is "true"
    And the insight about Node/worker-0 has condition Available True
    When I uncordon node worker-1
    Then within 1 minute the insight about Node/worker-1 has condition Available True
    And within 1 minute condition Available of the insight about Node/worker-1 was True, False, True in turn
