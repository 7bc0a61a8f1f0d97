@nodes
Feature: Nodes on their way to another release
  The machine-config operator brings nodes to another release when all else is there: pool by pool, node by node, each by way of
  a drain and a reboot.

  Background:
    Given insights are published

  # NODES-1
  Scenario: Every pool gets one configuration, and every node takes its turn
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I keep MachineConfigPool/worker field "status.configuration.name" as "before"
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker condition Updating is True with message matching /^All nodes are updating to MachineConfig rendered-worker-[0-9a-f]{32}$/
    And MachineConfigPool/worker condition Updated is False
    And MachineConfigPool/worker field "status.updatedMachineCount" is "0"
    And within 10 seconds the insight about MachineConfigPool/worker has condition Updating True with reason "Progressing"
    And the insight about MachineConfigPool/worker has "completion" "0"
    When I keep MachineConfigPool/worker field "spec.configuration.name" as "after"
    Then within 30 minutes MachineConfigPool/worker field "status.updatedMachineCount" is "1"
    And within 10 seconds the insight about MachineConfigPool/worker has "completion" "33"
    And within 30 minutes MachineConfigPool/worker field "status.updatedMachineCount" is "2"
    # It is of the pool what all of its nodes have.
    And MachineConfigPool/worker field "status.configuration.name" is "$(kept before)"
    And within 30 minutes MachineConfigPool/worker condition Updated is True with message matching /^All nodes are updated with MachineConfig rendered-worker-/
    And MachineConfigPool/worker field "status.configuration.name" is "$(kept after)"
    And MachineConfigPool/worker field "status.readyMachineCount" is "3"
    And MachineConfigPool/worker field "status.unavailableMachineCount" is "0"
    And condition Updated of MachineConfigPool/worker was True, False, True in turn
    And within 30 minutes condition Updating of MachineConfigPool/master was False, True, False in turn
    And within 1 minute condition Updating of the insight about MachineConfigPool/worker was False, True, False in turn
    And the insight about MachineConfigPool/worker has "completion" "100"

  # NODES-36, NODES-37, NODES-38, NODES-39
  Scenario: A node is cordoned, drained, rebooted and uncordoned
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 2 hours Node/worker-0 annotation "machineconfiguration.openshift.io/desiredDrain" is /^drain-rendered-worker-/
    And within 10 seconds Node/worker-0 field "spec.unschedulable" is "true"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Working"
    And the insight about Node/worker-0 has condition Updating True with reason "Draining" and message "The node is draining"
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.3"
    And within 3 minutes Node/worker-0 annotation "machineconfiguration.openshift.io/post-config-action" is "Rebooting"
    And the insight about Node/worker-0 has condition Updating True with reason "Updating"
    And within 5 minutes Node/worker-0 condition Ready is False with reason "KubeletNotReady"
    # Other versions are told before the daemon says that the node is done.
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.7"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Working"
    And within 20 seconds Node/worker-0 condition Ready is True with reason "KubeletReady"
    And within 1 minute Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Done"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/lastAppliedDrain" is /^uncordon-rendered-worker-/
    And within 10 seconds the insight about Node/worker-0 has condition Updating False with reason "Completed"
    And node worker-0 was Updated, Pending, Draining, Updating, Draining, Updating, Updated in turn

  # NODES-71
  Scenario: The cluster is of the release when the control plane is, while workers go on
    Given a 4.18.3 cluster with 3 control-plane nodes and 6 workers
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And ClusterOperator/machine-config condition Available is True with message matching /^Cluster has deployed \[\{operator 4\.18\.7\} \{operator-image quay\.io/
    And MachineConfigPool/master condition Updated is True
    And MachineConfigPool/worker condition Updating is True
    And within 1 minute the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And the insight about MachineConfigPool/worker has condition Updating True with reason "Progressing"
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

  # NODES-28, NODES-32
  Scenario: A pool that is paused stays where it is, and the update is complete all the same
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I pause pool worker
    And I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And MachineConfigPool/worker condition Updated is False
    And MachineConfigPool/worker condition Updating is False with message matching /^Pool is paused; will not update to MachineConfig rendered-worker-/
    And MachineConfigPool/worker field "status.unavailableMachineCount" is "0"
    And ClusterOperator/machine-config condition Upgradeable is True
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And the insight about MachineConfigPool/worker has "assessment" "Excluded"
    And there is a health insight about MachineConfigPool/worker with level "Warning" and impact "Update Stalled" and summary "Outdated nodes in a paused pool 'worker' will not be updated"
    When I unpause pool worker
    Then within 10 seconds MachineConfigPool/worker condition Updating is True
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And within 2 minutes there is no health insight about MachineConfigPool/worker

  # NODES-31
  Scenario: A control plane that is paused is told of after half an hour
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I pause pool master
    And I update to 4.18.7
    Then within 3 hours ClusterOperator/machine-config condition Progressing is True with message "Working towards 4.18.7"
    And throughout 29 minutes ClusterOperator/machine-config condition Degraded is False
    And within 2 minutes ClusterOperator/machine-config condition Degraded is True with reason "RequiredPoolsFailed" and message matching /^Unable to apply 4\.18\.7: error during syncRequiredMachineConfigPools: \[context deadline exceeded, MachineConfigPool master has not progressed to latest configuration: controller version mismatch for rendered-master-\S+ expected \S+ has \S+: <unknown>, retrying\]$/
    And ClusterOperator/machine-config condition Progressing is True with message "Unable to apply 4.18.7"
    And within 1 second the insight about ClusterOperator/machine-config has condition Healthy False with reason "Degraded"
    And there is a health insight about MachineConfigPool/master with level "Warning" and summary "Outdated nodes in a paused pool 'master' will not be updated"
    And the insight about Node/master-0 has condition Updating False with reason "Paused"
    And within 1 minute ClusterOperator/machine-config condition Progressing is True with message "Working towards 4.18.7"
    When I unpause pool master
    Then within 1 hour ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And ClusterOperator/machine-config condition Degraded is False
    And within 2 minutes there is no health insight about MachineConfigPool/master

  # NODES-12
  Scenario: A worker that somebody cordoned keeps its pool from going on, without any complaint
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I cordon node worker-2
    And I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And MachineConfigPool/worker condition Updating is True
    And MachineConfigPool/worker condition Degraded is False
    And MachineConfigPool/worker field "status.updatedMachineCount" is "0"
    And MachineConfigPool/worker field "status.unavailableMachineCount" is "1"
    And throughout 2 hours MachineConfigPool/worker field "status" does not change
    And the insight about Node/worker-2 has condition Available False with reason "Node is marked unschedulable"
    And the insight about MachineConfigPool/worker has "assessment" "Pending"
    And there is no health insight
    When I uncordon node worker-2
    Then within 1 hour MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about Node/worker-2 has condition Updating False with reason "Completed"

  # NODES-13
  Scenario: With room for two, one goes at a time beside a cordoned node, which is left
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I let 2 of the nodes of pool worker be unavailable
    And I cordon node worker-0
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker field "status.updatedMachineCount" is "1"
    And within 30 minutes MachineConfigPool/worker field "status.updatedMachineCount" is "2"
    When 1 hour passes
    Then MachineConfigPool/worker condition Updating is True
    And Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Done"
    And Node/worker-0 field "spec.unschedulable" is "true"
    And the insight about Node/worker-0 has condition Updating False with reason "Pending"
    And the insight about Node/worker-0 has condition Available False with reason "Node is marked unschedulable"
    And the insight about MachineConfigPool/worker has "completion" "67"

  # NODES-58
  Scenario: A file that somebody changed degrades its node, the pool and with it the operator
    Given a 4.18.3 cluster
    When node worker-1 drifts with message "content mismatch for file "/etc/chrony.conf""
    Then within 20 seconds MachineConfigPool/worker condition NodeDegraded is True with reason "1 nodes are reporting degraded status on sync" and message matching /^Node worker-1 is reporting: "unexpected on-disk state validating against rendered-worker-\S+: content mismatch for file \\"/etc/chrony\.conf\\""$/
    And MachineConfigPool/worker condition Degraded is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Healthy False with reason "NodesDegraded"
    And within 1 minute there is a health insight about Node/worker-1 with level "Error" and impact "Update Stalled" and summary "Node worker-1 is degraded" and description /content mismatch for file "\/etc\/chrony\.conf"/

  # NODES-60
  Scenario: An update of the operating system that fails is tried again until it works
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When node worker-0 cannot update its system with message "pinging container registry: connection refused"
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker condition NodeDegraded is True with message matching /^Node worker-0 is reporting: "Failed to update OS to quay\.io\S+ after retries: pinging container registry: connection refused: timed out waiting for the condition"$/
    And Node/worker-0 field "spec.unschedulable" is "true"
    And within 1 minute the insight about Node/worker-0 has condition Degraded True with message matching /pinging container registry: connection refused/
    And the insight about MachineConfigPool/worker has "summaries[6].count" "1"
    And there is a health insight about Node/worker-0 with level "Error" and summary "Node worker-0 is degraded"
    When node worker-0 recovers
    Then within 30 minutes MachineConfigPool/worker field "status.updatedMachineCount" is "1"
    And MachineConfigPool/worker condition NodeDegraded is False
    And within 30 minutes MachineConfigPool/worker condition Updated is True
    And within 2 minutes there is no health insight about Node/worker-0
    And the insight about MachineConfigPool/worker has condition Healthy True with reason "AsExpected"

  # NODES-17
  Scenario: One that cannot be reconciled takes one place, others go on beside it
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When I let 2 of the nodes of pool worker be unavailable
    And node worker-0 cannot be reconciled
    And I update to 4.18.7
    Then within 3 hours Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Unreconcilable"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/reason" is /^can't reconcile config rendered-worker-\S+ with rendered-worker-\S+: configs .* are not reconcilable: ignition disks section contains changes$/
    And Node/worker-0 field "spec.unschedulable" is ""
    And within 30 minutes MachineConfigPool/worker field "status.updatedMachineCount" is "2"
    And MachineConfigPool/worker condition Degraded is True
    And ClusterOperator/machine-config condition Upgradeable is False with reason "DegradedPool" and message matching /please see `oc get mcp` for further details and resolve before upgrading$/
    And there is a health insight about Node/worker-0 with level "Error" and impact "Update Stalled" and description /not reconcilable: ignition disks section contains changes/
    And there is a health insight about MachineConfigPool/worker with level "Error" and summary "Pool 'worker' is degraded"
    And the insight about MachineConfigPool/worker has "completion" "67"

  # The drain is asked for, and then waits for the other half hour until the budget of the control plane is over.
  # NODES-63, NODES-73, NODES-74
  Scenario: A worker pool that is degraded keeps the operator from being of the release
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When node worker-2 degrades with message "no space left on device"
    And I update to 4.18.7
    Then within 2 hours MachineConfigPool/master condition Updated is True with message matching /rendered-master-/
    And within 3 hours ClusterOperator/machine-config condition Degraded is True with reason "RequiredPoolsFailed" and message matching /MachineConfigPool worker is not ready, retrying\. Status: \(pool degraded: true total: 3, ready \d, updated: \d, unavailable: \d\)\]$/
    And ClusterOperator/machine-config field "status.versions[0].version" is "4.18.3"
    And within 1 minute the insight about ClusterOperator/machine-config has condition Updating False with reason "Pending"
    And within 10 seconds the insight about ClusterOperator/machine-config has condition Healthy False with reason "Degraded"
    And there is a health insight about Node/worker-2 with level "Error" and description /no space left on device/
    And ClusterOperator/machine-config condition Available is True
    When node worker-2 recovers
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 2 minutes there is no health insight about Node/worker-2
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  # NODES-81, NODES-86
  Scenario: Nodes that are of the new release go back to the old one, and only these
    Given a 4.18.3 cluster with 3 control-plane nodes and 6 workers
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And node worker-0 is Updated
    And node worker-5 is Pending
    # Until the older operator is there, the newer one goes on.
    When I update to 4.18.3 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.3"
    And within 2 hours MachineConfigPool/worker condition Updated is True
    And condition Updated of MachineConfigPool/master was True, False, True, False, True in turn
    And node master-0 was Updated, Pending, Draining, Updating, Draining, Updating, Updated, Pending, Draining, Updating, Draining, Updating, Updated in turn
    And within 1 minute condition Updating of the insight about Node/master-0 was False, True, False, True, False in turn
    And the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

  # NODES-24, NODES-50
  Scenario: A control plane alone, whose worker pool is empty
    Given a 4.18.3 cluster with 3 control-plane nodes and 0 workers
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And MachineConfigPool/worker condition Updated is True
    And MachineConfigPool/worker field "status.machineCount" is "0"
    And node master-1 was Updated, Pending, Draining, Updating, Draining, Updating, Updated in turn
    And within 1 minute the insight about MachineConfigPool/worker has "assessment" "Completed"
    And the insight about MachineConfigPool/worker has "summaries[0].count" "0"
    And the insight about Node/master-1 has "version" "4.18.7"

  # NODES-49
  Scenario: A single node is not drained
    Given a 4.18.3 cluster with 1 control-plane node and 0 workers
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And Node/master-0 annotation "machineconfiguration.openshift.io/desiredDrain" is /^uncordon-/
    And Node/master-0 annotation "machineconfiguration.openshift.io/controlPlaneTopology" is "SingleReplica"
    And node master-0 was Updated, Pending, Draining, Updating, Updated in turn
    And within 1 minute the insight about Node/master-0 has "version" "4.18.7"
    And there was never a health insight about Node/master-0

  # NODES-72
  Scenario Outline: An earlier release says at once that it goes on, a later one when it waits for pools (<from>)
    Given a <from> cluster
    And release <to> exists
    When I update to <to>
    Then within 3 hours MachineConfigPool/master condition Updating is True
    And ClusterOperator/machine-config condition Progressing is True with message "Working towards <to>"
    And ClusterOperator/machine-config condition Upgradeable is <upgradeable>
    And within 1 minute the insight about MachineConfigPool/master has condition Updating True with reason "Progressing"
    And the insight about ClusterOperator/machine-config has condition Updating True with reason "Progressing"

    Examples:
      | from   | to     | upgradeable                                                                                                                               |
      | 4.15.1 | 4.15.5 | False with reason "PoolUpdating" and message "One or more machine config pools are updating, please see `oc get mcp` for further details" |
      | 4.18.1 | 4.18.5 | True                                                                                                                                      |

  @own
  Scenario: A MachineConfig of somebody's own is rendered, and rolled out without an update
    Given a 4.18.3 cluster
    When I apply this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfig
      metadata:
        name: 50-worker-quiet
        labels: {machineconfiguration.openshift.io/role: worker}
      spec:
        config: {ignition: {version: 3.2.0}}
        kernelArguments: [quiet]
      """
    Then within 15 seconds MachineConfigPool/worker condition Updating is True
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And MachineConfigPool/master condition Updated is True
    # All are of the same release, so nothing of this shows in their phases.
    And node worker-0 was Updated in turn
    And condition Updating of the insight about Node/worker-0 was False in turn
    And the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

  # NODES-51
  Scenario: What is only reloaded reaches nodes without a reboot
    Given a 4.18.3 cluster
    When I apply this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfig
      metadata:
        name: 99-worker-team-key
        labels: {machineconfiguration.openshift.io/role: worker}
      spec:
        config:
          ignition: {version: 3.2.0}
          passwd: {users: [{name: core, sshAuthorizedKeys: [ssh-ed25519 AAAA]}]}
          storage: {files: [{path: /etc/nmstate/openshift/worker-0.yml, mode: 420, contents: {source: "data:,interfaces%3A%20%5B%5D"}}]}
      """
    Then within 3 minutes MachineConfigPool/worker condition Updated is False
    And within 3 minutes MachineConfigPool/worker condition Updated is True
    And Node/worker-0 condition Ready is True
    And these writes were made in this order:
      | by                                 | object        | part | code |
      | machine-config-daemon/worker-0     | Node/worker-0 |      | 200  |
    And condition Updating of the insight about Node/worker-0 was False in turn
    And there was never a health insight

  # NODES-7
  Scenario: A pool that selects no MachineConfig cannot be rendered
    Given a 4.18.3 cluster
    When I apply this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfigPool
      metadata: {name: infra}
      spec:
        machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: infra}}
        nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ""}}
      """
    Then within 10 seconds MachineConfigPool/infra condition RenderDegraded is True with message "Failed to render configuration for pool infra: no MachineConfigs found matching selector machineconfiguration.openshift.io/role=infra"
    # Nodes have nothing to wait for there: a pool is degraded from when it has a configuration.
    And the insight about MachineConfigPool/infra has "assessment" "Completed"
    And the insight about MachineConfigPool/infra has "summaries[0].count" "0"
    And there is no health insight about MachineConfigPool/infra
