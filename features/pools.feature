@nodes
Feature: Pools of nodes
  A MachineConfigPool selects nodes, updates them in a fixed order and a limited number at once, and starts no
  update while it is paused.

  Background:
    Given insights are published

  # NODES-10
  Scenario: With maxUnavailable 50%, two of five workers update at once
    Given a 4.18.3 cluster with 3 control-plane nodes and 5 workers
    And release 4.18.7 exists
    When I let 50% of the nodes of pool worker be unavailable
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker field "status.unavailableMachineCount" is "2"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/desiredDrain" is /^uncordon-/
    And within 1 minute the insight about MachineConfigPool/worker has "summaries[2].count" "2"
    And the insight about Node/worker-1 has condition Updating True
    And Node/worker-2 annotation "machineconfiguration.openshift.io/state" is "Done"
    And the insight about Node/worker-2 has condition Updating False with reason "Pending"
    And throughout 5 minutes MachineConfigPool/worker field "status.unavailableMachineCount" is /^[012]$/
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

  # NODES-9
  Scenario: Nodes update in the order of their zones, nodes without a zone last
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I apply this object:
      """
      {apiVersion: v1, kind: Node, metadata: {name: worker-0, labels: {topology.kubernetes.io/zone: b}}}
      """
    And I apply this object:
      """
      {apiVersion: v1, kind: Node, metadata: {name: worker-2, labels: {topology.kubernetes.io/zone: a}}}
      """
    And I update to 4.18.7
    Then within 3 hours node worker-2 is Draining
    And node worker-0 is Pending
    And within 5 seconds the insight about Node/worker-2 has condition Updating True with reason "Draining"
    And the insight about Node/worker-0 has condition Updating False with reason "Pending"
    And within 20 minutes node worker-0 is Draining
    And node worker-2 is Updated
    And node worker-1 is Pending
    And within 5 seconds the insight about Node/worker-0 has condition Updating True with reason "Draining"
    And the insight about Node/worker-2 has condition Updating False with reason "Completed"

  # NODES-14
  Scenario: A worker that is not ready blocks its pool
    Given a 4.18.3 cluster
    When node worker-1 becomes not ready with message "container runtime is down"
    And I apply this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfig
      metadata: {name: 99-worker-own, labels: {machineconfiguration.openshift.io/role: worker}}
      spec: {kernelArguments: [own=1], config: {ignition: {version: 3.4.0}}}
      """
    Then within 5 minutes MachineConfigPool/worker condition Updating is True
    When 1 hour passes
    Then MachineConfigPool/worker condition Updating is True
    And MachineConfigPool/worker condition Degraded is False
    And MachineConfigPool/worker field "status.updatedMachineCount" is "0"
    And MachineConfigPool/worker field "status.unavailableMachineCount" is "1"
    And there is a health insight about Node/worker-1 with level "Warning" and impact "Update Speed" and summary "Node worker-1 is not ready" and description /container runtime is down/
    When node worker-1 recovers
    Then within 1 hour MachineConfigPool/worker condition Updated is True
    And within 1 minute there is no health insight about Node/worker-1

  # NODES-15
  Scenario: A worker under disk pressure counts as unavailable
    Given a 4.18.3 cluster
    When node worker-1 comes under disk pressure
    Then within 10 seconds MachineConfigPool/worker field "status.unavailableMachineCount" is "1"
    And MachineConfigPool/worker field "status.readyMachineCount" is "2"
    And MachineConfigPool/worker condition Updated is False
    And within 1 minute the insight about Node/worker-1 has condition Available False with reason "Disk pressure"
    And within 2 minutes there is a health insight about Node/worker-1 with level "Warning" and impact "Update Speed" and summary "Node worker-1 has disk pressure"
    When node worker-1 recovers
    Then within 10 seconds MachineConfigPool/worker condition Updated is True
    And within 2 minutes there is no health insight

  # NODES-19
  Scenario: With maxUnavailable 2, two control-plane nodes update at once
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I let 2 of the nodes of pool master be unavailable
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/master field "status.unavailableMachineCount" is "2"
    And within 1 minute the insight about MachineConfigPool/master has "summaries[2].count" "2"
    And the insight about Node/master-0 has condition Updating True
    And the insight about Node/master-1 has condition Updating True

  # NODES-20
  Scenario: Workers do not wait for the control plane
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours node worker-0 is Draining
    And within 20 minutes MachineConfigPool/worker condition Updated is True
    And MachineConfigPool/master condition Updating is True
    And within 10 seconds the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
    And the insight about MachineConfigPool/master has condition Updating True with reason "Progressing"
    And ClusterOperator/machine-config condition Progressing is True with message "Working towards 4.18.7"

  # NODES-21
  Scenario: A custom pool takes its nodes from the worker pool, and both pools update in parallel
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I apply this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfigPool
      metadata: {name: infra}
      spec:
        machineConfigSelector:
          matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, infra]}]
        nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ""}}
      """
    And I apply this object:
      """
      {apiVersion: v1, kind: Node, metadata: {name: worker-2, labels: {node-role.kubernetes.io/infra: ""}}}
      """
    Then within 30 seconds MachineConfigPool/infra field "status.machineCount" is "1"
    And within 30 seconds MachineConfigPool/worker field "status.machineCount" is "2"
    And within 20 minutes MachineConfigPool/infra condition Updated is True with message matching /^All nodes are updated with MachineConfig rendered-infra-[0-9a-f]{32}$/
    And within 1 minute the insight about Node/worker-2 has "poolResource.name" "infra"
    And the insight about MachineConfigPool/infra has "summaries[0].count" "1"
    And the insight about MachineConfigPool/worker has "summaries[0].count" "2"
    When I update to 4.18.7
    Then within 3 hours MachineConfigPool/infra field "status.unavailableMachineCount" is "1"
    And within 30 seconds MachineConfigPool/worker field "status.unavailableMachineCount" is "1"
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And within 30 minutes MachineConfigPool/infra condition Updated is True
    And within 1 minute the insight about MachineConfigPool/infra has condition Updating False with reason "Updated"

  # NODES-22, NODES-23
  Scenario: A node that two custom pools select is in neither, and a control-plane node stays in its pool
    Given a 4.18.3 cluster
    And this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfigPool
      metadata: {name: infra}
      spec:
        machineConfigSelector:
          matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, infra]}]
        nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ""}}
      """
    And this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfigPool
      metadata: {name: storage}
      spec:
        machineConfigSelector:
          matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, storage]}]
        nodeSelector: {matchLabels: {node-role.kubernetes.io/storage: ""}}
      """
    When I apply this object:
      """
      {apiVersion: v1, kind: Node, metadata: {name: worker-0, labels: {node-role.kubernetes.io/infra: "", node-role.kubernetes.io/storage: ""}}}
      """
    And I apply this object:
      """
      {apiVersion: v1, kind: Node, metadata: {name: master-0, labels: {node-role.kubernetes.io/infra: ""}}}
      """
    Then within 30 seconds MachineConfigPool/worker field "status.machineCount" is "2"
    And MachineConfigPool/infra field "status.machineCount" is "0"
    And MachineConfigPool/infra condition Updated is True
    And MachineConfigPool/storage field "status.machineCount" is "0"
    And MachineConfigPool/master field "status.machineCount" is "3"
    And the insight about Node/worker-0 has "poolResource.name" "infra"
    And the insight about Node/master-0 has "poolResource.name" "master"

  # NODES-25
  Scenario: Waiting nodes have the taint UpdateInProgress until their turn comes
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker condition Updating is True
    And within 1 second Node/worker-2 field "spec.taints[0].key" is "UpdateInProgress"
    And Node/worker-2 field "spec.taints[0].effect" is "PreferNoSchedule"
    And the insight about Node/worker-2 has condition Updating False with reason "Pending"
    And the insight about Node/worker-2 has condition Available True with message "The node is available"
    And Node/worker-1 field "spec.taints[0].key" is "UpdateInProgress"
    And within 1 minute Node/worker-0 field "spec.unschedulable" is "true"
    And Node/worker-0 field "spec.taints[0].key" is "node.kubernetes.io/unschedulable"
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And Node/worker-2 field "spec.taints" is ""
    And within 1 minute the insight about Node/worker-2 has condition Updating False with reason "Completed"

  # NODES-26
  Scenario: A node that is deleted during its update makes room for the next
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours node worker-0 is Draining
    When I delete Node/worker-0
    Then within 10 seconds MachineConfigPool/worker field "status.machineCount" is "2"
    And there is no insight about Node/worker-0
    And the insight about MachineConfigPool/worker has "summaries[0].count" "2"
    And within 20 seconds node worker-1 is Draining

  # NODES-29
  Scenario: A pool that is paused during an update finishes the current node and starts no other
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours node worker-0 is Draining
    When I pause pool worker
    Then within 10 seconds MachineConfigPool/worker condition Updating is False with message matching /^Pool is paused; will not update to MachineConfig rendered-worker-/
    And within 20 minutes node worker-0 is Updated
    And within 10 seconds MachineConfigPool/worker field "status.updatedMachineCount" is "1"
    And throughout 1 hour MachineConfigPool/worker field "status" does not change
    And node worker-1 is Paused
    And the insight about Node/worker-1 has condition Updating False with reason "Paused"
    And the insight about MachineConfigPool/worker has "assessment" "Excluded"
    And the insight about MachineConfigPool/worker has "completion" "33"
    And there is a health insight about MachineConfigPool/worker with level "Warning" and summary "Outdated nodes in a paused pool 'worker' will not be updated"
    And Node/worker-1 field "spec.taints[0].key" is "UpdateInProgress"
    When I unpause pool worker
    Then within 1 hour MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has "completion" "100"

  # NODES-30
  Scenario: A pool that is paused while its last node updates still becomes Updated
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours node worker-0 is Draining
    When I pause pool worker
    Then within 10 seconds MachineConfigPool/worker condition Updating is False with message matching /^Pool is paused/
    And within 20 minutes MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
    And there was never a health insight about MachineConfigPool/worker with level "Warning"

  # NODES-35
  Scenario: A pool that was paused during two updates brings its nodes straight to the second release
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.5 exists
    And release 4.18.7 exists
    When I pause pool worker
    And I update to 4.18.5
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.5"
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And the insight about Node/worker-0 has condition Updating False with reason "Paused"
    And the insight about Node/worker-0 has "version" "4.18.3"
    When I unpause pool worker
    Then within 30 minutes MachineConfigPool/worker condition Updated is True
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.7"
    And node worker-0 was Updated, Paused, Pending, Draining, Updating, Draining, Updating, Updated in turn
    And within 1 minute the insight about Node/worker-0 has "version" "4.18.7"
    And condition Updating of the insight about Node/worker-0 was False, True, False in turn

  # NODES-8
  Scenario: A machine that joins a paused pool gets the old configuration and waits with the others
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.7 exists
    When I pause pool worker
    And I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    When machine worker-1 joins with "zone=b"
    Then within 10 minutes Node/worker-1 condition Ready is True
    And Node/worker-1 field "metadata.labels.zone" is "b"
    And within 1 minute the insight about Node/worker-1 has condition Updating False with reason "Paused"
    And within 1 minute the insight about Node/worker-1 has "version" "4.18.3"
    When I unpause pool worker
    Then within 1 hour MachineConfigPool/worker condition Updated is True
    And MachineConfigPool/worker field "status.updatedMachineCount" is "2"
    And within 1 minute the insight about Node/worker-1 has "version" "4.18.7"

  # NODES-31
  Scenario: A paused control plane degrades the operator at once if only a MachineConfig changed
    Given a 4.18.3 cluster
    When I pause pool master
    And I apply this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfig
      metadata:
        name: 50-master-quiet
        labels: {machineconfiguration.openshift.io/role: master}
      spec:
        config: {ignition: {version: 3.2.0}}
        kernelArguments: [quiet]
      """
    Then within 30 seconds ClusterOperator/machine-config condition Degraded is True with reason "RequiredPoolsFailed" and message "Failed to resync 4.18.3 because: error required MachineConfigPool master is paused and cannot sync until it is unpaused"
    And ClusterOperator/machine-config condition Progressing is False with message "Error while reconciling 4.18.3"
    And within 1 minute the insight about ClusterOperator/machine-config has condition Healthy False with reason "Degraded"
    And within 6 minutes there is a health insight about ClusterOperator/machine-config with level "Warning" and impact "API Availability" and summary "Cluster Operator machine-config is degraded (RequiredPoolsFailed)"
    # All nodes have the release of the cluster, so none is outdated.
    And there is no health insight about MachineConfigPool/master
    When I unpause pool master
    Then within 1 hour ClusterOperator/machine-config condition Degraded is False
    And ClusterOperator/machine-config condition Progressing is False with message "Cluster version is 4.18.3"
    And within 2 minutes there is no health insight

  # NODES-27
  Scenario: A node that changes its pool during an update gets the configuration of the new pool
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    And this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfigPool
      metadata: {name: infra}
      spec:
        machineConfigSelector:
          matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, infra]}]
        nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ""}}
      """
    When I update to 4.18.7
    Then within 3 hours node worker-0 is Draining
    When I apply this object:
      """
      {apiVersion: v1, kind: Node, metadata: {name: worker-0, labels: {node-role.kubernetes.io/infra: ""}}}
      """
    Then within 15 seconds MachineConfigPool/worker field "status.machineCount" is "2"
    And within 10 seconds node worker-1 is Draining
    And within 30 minutes MachineConfigPool/infra condition Updated is True
    And Node/worker-0 annotation "machineconfiguration.openshift.io/currentConfig" is /^rendered-infra-/
    And within 1 minute the insight about Node/worker-0 has "poolResource.name" "infra"
    And the insight about Node/worker-0 has "version" "4.18.7"
