@nodes @rollback
Feature: Nodes during a rollback
  A cluster is rolled back or retargeted before, while or after its nodes update. The scenarios show which
  configuration each node ends with, and which nodes stay untouched.

  Background:
    Given insights are published

  # NODES-79
  Scenario: A rollback before the turn of the nodes touches no node
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I update to 4.18.7
    And 20 minutes pass
    Then MachineConfigPool/master condition Updated is True
    When I update to 4.18.3 by force
    Then within 10 minutes there is a health insight about ClusterVersion/version with level "Warning" and impact "None" and summary "Previous update to 4.18.7 never completed, last complete update was 4.18.3"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.3"
    And condition Updated of MachineConfigPool/worker was True in turn
    And condition Updated of MachineConfigPool/master was True in turn
    And condition Ready of Node/worker-0 was True in turn
    And condition Available of the insight about Node/worker-0 was True in turn
    And condition Updating of the insight about MachineConfigPool/worker was False in turn

  # NODES-82
  Scenario: Nodes return to the rendered configuration that they had before the update
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.7 exists
    When I keep Node/worker-0 field "metadata.annotations['machineconfiguration.openshift.io/currentConfig']" as "had"
    And I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 1 hour node worker-0 is Updated
    When I update to 4.18.3 by force
    Then within 3 hours ClusterOperator/machine-config condition Progressing is True with message "Working towards 4.18.3"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.3"
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.3"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/currentConfig" is "$(kept had)"
    And node worker-0 was Updated, Pending, Draining, Updating, Draining, Updating, Updated, Pending, Draining, Updating, Draining, Updating, Updated in turn
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.18.3"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.18.7"
    And within 1 minute condition Updating of the insight about Node/worker-0 was False, True, False, True, False in turn

  # NODES-80, NODES-85
  Scenario: A rollback during the control plane's update completes before its nodes are back
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours MachineConfigPool/master field "status.updatedMachineCount" is "1"
    When I update to 4.18.3 by force
    Then within 20 minutes there is a health insight about ClusterVersion/version with level "Warning" and impact "None" and summary "Previous update to 4.18.7 never completed, last complete update was 4.18.3"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.3"
    And within 3 hours MachineConfigPool/master condition Updated is True with message matching /rendered-master-/
    And Node/master-0 field "status.nodeInfo.kubeletVersion" is "v1.31.3"
    And within 1 minute the insight about MachineConfigPool/master has condition Updating False with reason "Updated"
    And the insight about Node/master-0 has "version" "4.18.3"

  # NODES-90
  Scenario: All workers reach the third release if the target changes while they update
    Given a 4.18.3 cluster with 3 control-plane nodes and 6 workers
    And release 4.18.7 exists
    And release 4.18.9 exists
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And node worker-0 is Updated
    When I pause pool worker
    And 30 minutes pass
    And I update to 4.18.9
    Then within 10 minutes node worker-0 is Paused
    And within 1 minute the insight about Node/worker-0 has condition Updating False with reason "Paused"
    And there is a health insight about MachineConfigPool/worker with level "Warning" and impact "Update Stalled" and summary "Outdated nodes in a paused pool 'worker' will not be updated"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.9"
    When I unpause pool worker
    Then within 1 hour MachineConfigPool/worker condition Updated is True
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.9"
    And Node/worker-5 field "status.nodeInfo.kubeletVersion" is "v1.31.9"
    And node worker-5 was Updated, Pending, Paused, Pending, Draining, Updating, Draining, Updating, Updated in turn
    And within 1 minute the insight about Node/worker-5 has "version" "4.18.9"
    And within 2 minutes there is no health insight about MachineConfigPool/worker

  # NODES-89
  Scenario: A rollback and a new update with a paused pool leave its updated nodes untouched
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 1 hour node worker-0 is Updated
    When I pause pool worker
    And I update to 4.18.3 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.3"
    And node worker-0 is Paused
    And within 1 minute the insight about Node/worker-0 has condition Updating False with reason "Paused"
    And there is a health insight about MachineConfigPool/worker with level "Warning" and summary "Outdated nodes in a paused pool 'worker' will not be updated"
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And node worker-0 is Updated
    And within 30 seconds MachineConfigPool/worker condition Updated is True
    When I unpause pool worker
    And 1 hour passes
    Then node worker-0 was Updated, Pending, Draining, Updating, Draining, Updating, Updated, Paused, Updated in turn
    And condition Updating of the insight about Node/worker-0 was False, True, False in turn
    And there is no health insight

  # NODES-84
  Scenario: A rollback recovers a node that cannot be reconciled with the new release
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.7 exists
    When node worker-0 cannot be reconciled
    And I update to 4.18.7
    Then within 3 hours Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Unreconcilable"
    And within 1 minute there is a health insight about Node/worker-0 with level "Error" and impact "Update Stalled" and summary "Node worker-0 is degraded" and description /not reconcilable/
    When I update to 4.18.3 by force
    Then within 3 hours MachineConfigPool/worker condition Updated is True
    And Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Done"
    And condition Ready of Node/worker-0 was True in turn
    And within 2 minutes there is no health insight about Node/worker-0
    And the insight about Node/worker-0 has condition Updating False with reason "Completed"
