@nodes
Feature: Nodes during an update
  The machine-config operator updates the nodes after all other operators. Pools update in parallel, and each
  node is drained and rebooted.

  Background:
    Given insights are published

  # NODES-1
  Scenario: Each pool gets one rendered configuration, and its nodes update one after the other
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
    # The configuration in the status of a pool is the one that all of its nodes have.
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
    # The kubelet reports its new version before the daemon marks the node Done.
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.7"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Working"
    And within 1 minute Node/worker-0 condition Ready is True with reason "KubeletReady"
    And within 1 minute Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Done"
    And Node/worker-0 annotation "machineconfiguration.openshift.io/lastAppliedDrain" is /^uncordon-rendered-worker-/
    And within 10 seconds the insight about Node/worker-0 has condition Updating False with reason "Completed"
    And node worker-0 was Updated, Pending, Draining, Updating, Draining, Updating, Updated in turn

  # NODES-71
  Scenario: The update completes with the control plane, while workers still update
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
  Scenario: A paused worker pool keeps its release, and the update completes without it
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
  Scenario: A paused control plane degrades the operator after half an hour
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
  Scenario: A cordoned worker blocks its pool, and nothing reports it as an error
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
  Scenario: With maxUnavailable 2, nodes update one at a time beside a cordoned node
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
  Scenario: A changed file degrades its node and its pool
    Given a 4.18.3 cluster
    When node worker-1 drifts with message "content mismatch for file "/etc/chrony.conf""
    Then within 20 seconds MachineConfigPool/worker condition NodeDegraded is True with reason "1 nodes are reporting degraded status on sync" and message matching /^Node worker-1 is reporting: "unexpected on-disk state validating against rendered-worker-\S+: content mismatch for file \\"/etc/chrony\.conf\\""$/
    And MachineConfigPool/worker condition Degraded is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Healthy False with reason "NodesDegraded"
    And within 1 minute there is a health insight about Node/worker-1 with level "Error" and impact "Update Stalled" and summary "Node worker-1 is degraded" and description /content mismatch for file "\/etc\/chrony\.conf"/

  # NODES-60
  Scenario: A failed update of the operating system is retried until it succeeds
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
  Scenario: An unreconcilable node takes one place, and the others update beside it
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

  # The operator waits half an hour for degraded pools before it reports Degraded.
  # NODES-63, NODES-73, NODES-74
  Scenario: A degraded worker pool keeps the operator on its old version
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When node worker-2 degrades with message "no space left on device"
    And I update to 4.18.7
    Then within 35 minutes ClusterOperator/machine-config condition Degraded is True with reason "RequiredPoolsFailed" and message matching /^Failed to resync 4\.18\.3 because: /
    And within 10 seconds the insight about ClusterOperator/machine-config has condition Healthy False with reason "Degraded"
    And the insight about ClusterOperator/machine-config has condition Updating False with reason "Pending"
    And within 1 hour MachineConfigPool/master condition Updated is False
    And within 1 hour MachineConfigPool/master condition Updated is True with message matching /rendered-master-/
    And within 1 hour ClusterOperator/machine-config condition Degraded is True with reason "RequiredPoolsFailed" and message matching /^Unable to apply 4\.18\.7: .*MachineConfigPool worker is not ready, retrying\. Status: \(pool degraded: true total: 3, ready \d, updated: \d, unavailable: \d\)\]$/
    And ClusterOperator/machine-config field "status.versions[0].version" is "4.18.3"
    And the insight about ClusterOperator/machine-config has condition Updating True with reason "Progressing"
    And there is a health insight about Node/worker-2 with level "Error" and description /no space left on device/
    And ClusterOperator/machine-config condition Available is True
    When node worker-2 recovers
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 2 minutes there is no health insight about Node/worker-2
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  # NODES-81, NODES-86
  Scenario: A rollback brings updated nodes back to the old release
    Given a 4.18.3 cluster with 3 control-plane nodes and 6 workers
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And node worker-0 is Updated
    And node worker-5 is Pending
    # The newer operator continues to update nodes until the older one replaces it.
    When I update to 4.18.3 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.3"
    And within 2 hours MachineConfigPool/worker condition Updated is True
    And condition Updated of MachineConfigPool/master was True, False, True, False, True in turn
    And node master-0 was Updated, Pending, Draining, Updating, Draining, Updating, Updated, Pending, Draining, Updating, Draining, Updating, Updated in turn
    And within 1 minute condition Updating of the insight about Node/master-0 was False, True, False, True, False in turn
    And the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

  # NODES-24, NODES-50
  Scenario: A cluster without workers updates, and its empty worker pool is Updated
    Given a 4.18.3 cluster with 3 control-plane nodes and 0 workers
    And release 4.18.7 exists
    When I update to 4.18.7
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And MachineConfigPool/worker condition Updated is True
    And MachineConfigPool/worker field "status.machineCount" is "0"
    And node master-1 was Updated, Pending, Draining, Updating, Draining, Updating, Updated in turn
    And the insight about MachineConfigPool/worker has "assessment" "Completed"
    And the insight about MachineConfigPool/worker has "summaries[0].count" "0"
    And within 1 minute the insight about Node/master-1 has "version" "4.18.7"

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
  Scenario Outline: Up to 4.15, Upgradeable is False while pools update (<from>)
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
  Scenario: A custom MachineConfig is rolled out without an update
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
    # All configurations belong to the same release, so the phases of the nodes do not change.
    And node worker-0 was Updated in turn
    And condition Updating of the insight about Node/worker-0 was False in turn
    And the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"

  # NODES-51
  Scenario: SSH keys and nmstate files reach nodes without a reboot
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
    # The pool controller does not set Degraded on a pool that never had a configuration.
    And the insight about MachineConfigPool/infra has "assessment" "Completed"
    And the insight about MachineConfigPool/infra has "summaries[0].count" "0"
    And there is no health insight about MachineConfigPool/infra
