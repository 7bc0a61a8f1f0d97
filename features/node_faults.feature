@nodes
Feature: Nodes that fail
  Each scenario shows a fault that stops a node's update, the objects that report it, and how the node
  continues.

  Background:
    Given insights are published

  # NODES-53, NODES-54
  Scenario: A PodDisruptionBudget blocks a drain, and the pool degrades after an hour
    Given a 4.19.3 cluster
    And release 4.19.7 exists
    And this object:
      """
      apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: one, namespace: openshift-cluster-version}
      spec: {minAvailable: 1, selector: {matchLabels: {k8s-app: cluster-version-operator}}}
      """
    When I update to 4.19.7
    Then within 3 hours Node/master-0 annotation "machineconfiguration.openshift.io/desiredDrain" is /^drain-rendered-master-/
    And within 10 seconds Node/master-0 field "spec.unschedulable" is "true"
    And throughout 59 minutes MachineConfigPool/master condition Degraded is False
    And there is a health insight about Node/master-0 with level "Warning" and impact "Update Speed" and summary "Node master-0 drains for too long"
    And Node/master-0 annotation "machineconfiguration.openshift.io/state" is "Working"
    And within 3 minutes MachineConfigPool/master condition NodeDegraded is True with reason "1 nodes are reporting degraded status on sync" and message matching /^Node master-0 is reporting: "failed to drain node: master-0 after 1 hour\. Please see machine-config-controller logs for more information"$/
    And node master-0 is Draining
    And MachineConfigPool/master field "status.unavailableMachineCount" is "1"
    And within 1 second ClusterOperator/machine-config condition Upgradeable is False with reason "DegradedPool"
    And within 1 minute there is a health insight about Node/master-0 with level "Error" and impact "Update Stalled" and summary "Node master-0 is degraded" and description /^failed to drain node: master-0 after 1 hour/
    When I delete PodDisruptionBudget/openshift-cluster-version/one
    Then within 7 minutes Node/master-0 annotation "machineconfiguration.openshift.io/lastAppliedDrain" is /^drain-rendered-master-/
    And Node/master-0 annotation "machineconfiguration.openshift.io/state" is "Degraded"
    And within 15 minutes node master-0 is Updated
    And within 10 seconds MachineConfigPool/master condition Degraded is False
    And within 2 hours MachineConfigPool/master condition Updated is True
    And there is no health insight about Node/master-0
    And there is no health insight about MachineConfigPool/master

  # NODES-58
  Scenario: A node whose changed file is restored becomes Done without a reboot
    Given a 4.18.3 cluster
    When node worker-1 drifts with message "mode mismatch for file: "/etc/chrony.conf""
    Then within 20 seconds MachineConfigPool/worker condition Degraded is True
    And MachineConfigPool/worker field "status.updatedMachineCount" is "2"
    And MachineConfigPool/worker field "status.degradedMachineCount" is "1"
    And MachineConfigPool/worker condition Updated is False
    And MachineConfigPool/worker condition Updating is True
    And within 1 minute there is a health insight about Node/worker-1 with level "Error" and summary "Node worker-1 is degraded" and description /mode mismatch for file/
    And the insight about MachineConfigPool/worker has condition Healthy False with reason "NodesDegraded"
    When node worker-1 recovers
    Then within 1 minute MachineConfigPool/worker condition Updated is True
    And MachineConfigPool/worker condition Degraded is False
    And condition Ready of Node/worker-1 was True in turn
    And Node/worker-1 field "spec.unschedulable" is ""
    And within 2 minutes there is no health insight
    And the insight about MachineConfigPool/worker has condition Healthy True with reason "AsExpected"

  # NODES-59
  Scenario: A file that was changed before the update blocks its pool, and its node is not cordoned
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When node worker-1 drifts
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/master condition Updated is False
    And Node/worker-1 field "spec.unschedulable" is ""
    And throughout 1 hour MachineConfigPool/worker field "status.updatedMachineCount" is "0"
    And there is a health insight about Node/worker-1 with level "Error" and impact "Update Stalled" and summary "Node worker-1 is degraded"
    And the insight about Node/worker-1 has condition Updating False with reason "Pending"
    When node worker-1 recovers
    Then within 2 hours MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

  # NODES-44
  Scenario: A non-existent desired configuration degrades its node until the pool resets it
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    When I apply this object:
      """
      {apiVersion: v1, kind: Node, metadata: {name: worker-0, annotations: {machineconfiguration.openshift.io/desiredConfig: rendered-worker-none}}}
      """
    Then within 10 seconds Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Degraded"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/reason" is /^machineconfig\.machineconfiguration\.openshift\.io "rendered-worker-none" not found$/
    And Node/worker-0 field "spec.unschedulable" is ""
    And within 5 seconds MachineConfigPool/worker condition Degraded is True
    And within 30 seconds there is a health insight about Node/worker-0 with level "Error" and summary "Node worker-0 is degraded" and description /"rendered-worker-none" not found/
    # The node is neither cordoned nor unavailable, so the pool controller sets the pool's target again.
    And within 2 minutes MachineConfigPool/worker condition Degraded is False
    And Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Done"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/reason" is ""
    And within 2 minutes there is no health insight

  # NODES-47
  Scenario: A worker that is cordoned after its update blocks the rest of its pool
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker field "status.updatedMachineCount" is "1"
    When I cordon node worker-0
    # The update of the next worker has already started.
    Then within 20 minutes MachineConfigPool/worker field "status.updatedMachineCount" is "2"
    And MachineConfigPool/worker field "status.readyMachineCount" is "1"
    And throughout 1 hour node worker-2 is Pending
    And the insight about Node/worker-0 has condition Available False with reason "Node is marked unschedulable"
    And the insight about Node/worker-2 has condition Updating False with reason "Pending"
    And there is no health insight about Node/worker-0
    And MachineConfigPool/worker condition Updating is True
    When I uncordon node worker-0
    Then within 20 minutes MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

  # NODES-46
  Scenario: A node that is uncordoned during its drain is cordoned again
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    And this object:
      """
      apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: one, namespace: openshift-cluster-version}
      spec: {minAvailable: 1, selector: {matchLabels: {k8s-app: cluster-version-operator}}}
      """
    When I update to 4.18.7
    Then within 3 hours Node/master-0 field "spec.unschedulable" is "true"
    When I uncordon node master-0
    Then Node/master-0 field "spec.unschedulable" is ""
    And within 6 seconds Node/master-0 field "spec.unschedulable" is "true"
    And Node/master-0 annotation "machineconfiguration.openshift.io/lastAppliedDrain" is /^uncordon-/
    And the insight about Node/master-0 has condition Updating True with reason "Draining"

  # NODES-39, NODES-40
  Scenario: A rebooted kubelet reports the new version before the daemon is done
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours Node/worker-0 condition Ready is False
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.7"
    And the insight about Node/worker-0 has condition Updating True with reason "Updating"
    And the insight about Node/worker-0 has condition Available True with message "The node is away for its update"
    And throughout 10 seconds Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Working"
    And within 5 minutes node worker-0 is Updated
    And within 10 seconds the insight about Node/worker-0 has condition Updating False with reason "Completed"
    And throughout 2 hours Node/worker-0 field "status.nodeInfo.bootID" does not change

  # NODES-61
  Scenario: A control-plane node that does not return degrades the operator, not the pool
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When node master-0 does not return
    And I update to 4.18.7
    Then within 3 hours ClusterOperator/machine-config condition Degraded is True with reason "RequiredPoolsFailed" and message matching /has not progressed to latest configuration: controller version mismatch for rendered-master-\S+ expected \S+ has \S+: 0 \(ready 0\) out of 3 nodes are updating to latest configuration rendered-master-/
    And MachineConfigPool/master condition Degraded is False
    And there is a health insight about Node/master-0 with level "Warning" and impact "Update Speed" and summary "Node master-0 does not come back from its reboot"
    And MachineConfigPool/master field "status.unavailableMachineCount" is "1"
    And ClusterOperator/machine-config condition Available is True
    And ClusterOperator/machine-config field "status.versions[0].version" is "4.18.3"
    When node master-0 recovers
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And ClusterOperator/machine-config condition Degraded is False
    And there is no health insight about Node/master-0
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  @own
  Scenario: A control-plane node that cannot reboot is degraded but stays Ready
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When node master-0 cannot be rebooted
    And I update to 4.18.7
    Then within 3 hours there is a health insight about Node/master-0 with level "Error" and impact "Update Stalled" and description /reboot command failed, something is seriously wrong/
    And throughout 2 hours Node/master-0 condition Ready is True
    And there is no health insight about Node/master-0 with summary "Node master-0 does not come back from its reboot"
    And the insight about Node/master-0 has condition Degraded True
    When node master-0 recovers
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And there is no health insight about Node/master-0

  @own
  Scenario: A kubelet that is lost fires KubeletHealthState, which becomes an update risk
    Given a 5.0.1 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 5.0.3 exists
    Then within 5 minutes ClusterVersion field "status.availableUpdates[0].version" is "5.0.3"
    When node worker-0 loses its kubelet
    And 85 seconds pass
    Then alert "KubeletHealthState" was never firing
    And within 35 seconds alert "KubeletHealthState" is firing
    And within 10 minutes ClusterVersion field "status.conditionalUpdates[0].risks[0].name" is "KubeletHealthState"
    And the insight about ClusterVersion/version has condition Updating False
    When node worker-0 recovers
    Then within 1 minute alert "KubeletHealthState" is not firing
    And within 10 minutes ClusterVersion field "status.availableUpdates[0].version" is "5.0.3"
    And there was never a health insight

  # NODES-64
  Scenario: A daemon that fails without a reason degrades its pool with an empty message
    Given a 4.18.3 cluster
    When I apply this object:
      """
      {apiVersion: v1, kind: Node, metadata: {name: worker-0, annotations: {machineconfiguration.openshift.io/state: Degraded}}}
      """
    Then within 5 seconds MachineConfigPool/worker condition NodeDegraded is True with reason "1 nodes are reporting degraded status on sync" and message ""
    And within 20 seconds there is a health insight about Node/worker-0 with level "Error" and summary "Node worker-0 is degraded"
    And within 30 seconds MachineConfigPool/worker condition NodeDegraded is False
    And within 2 minutes there is no health insight about Node/worker-0

  # NODES-63
  Scenario: A worker pool that degrades outside an update degrades the operator after half an hour
    Given a 4.18.3 cluster
    When node worker-0 degrades with message "no space left on device"
    Then within 20 seconds ClusterOperator/machine-config condition Upgradeable is False with reason "DegradedPool"
    And within 1 minute there is a health insight about Node/worker-0 with level "Error" and description /no space left on device/
    And within 1 minute there is a health insight about MachineConfigPool/worker with level "Error" and summary "Pool 'worker' is degraded"
    And throughout 29 minutes ClusterOperator/machine-config condition Degraded is False
    And within 2 minutes ClusterOperator/machine-config condition Degraded is True with message matching /^Failed to resync 4\.18\.3 because: error during syncRequiredMachineConfigPools: \[context deadline exceeded, error MachineConfigPool worker is not ready, retrying\. Status: \(pool degraded: true total: 3, ready 2, updated: 2, unavailable: 1\)\]$/
    And ClusterOperator/machine-config field "status.versions[0].version" is "4.18.3"
    And within 6 minutes there is a health insight about ClusterOperator/machine-config with level "Warning" and impact "API Availability" and summary "Cluster Operator machine-config is degraded (RequiredPoolsFailed)"
    And ClusterOperator/machine-config condition Available is True
    When node worker-0 recovers
    Then within 2 minutes ClusterOperator/machine-config condition Degraded is False
    And ClusterOperator/machine-config condition Upgradeable is True
    And within 3 minutes there is no health insight
