@nodes
Feature: MachineConfigNodes follow the updates of nodes
  From 4.20 on, the machine-config operator keeps a MachineConfigNode for each node, and the Node owns it. Its
  conditions follow the node from one MachineConfig to another.

  Background:
    Given insights are published

  @own
  Scenario: The MachineConfigNode of a node without pending changes is Updated
    Given a 4.20.1 cluster
    Then MachineConfigNode/worker-0 condition Updated is True with reason "Updated" and message "Node worker-0 Updated"
    And MachineConfigNode/worker-0 condition Drained is False with reason "NotYetOccurred" and message "This node has not yet entered the Drained phase"
    And MachineConfigNode/worker-0 field "spec.pool.name" is "worker"
    And MachineConfigNode/master-2 field "spec.pool.name" is "master"
    And MachineConfigNode/worker-0 field "metadata.ownerReferences[0].kind" is "Node"
    And MachineConfigNode/worker-0 field "status.configVersion.current" is /^rendered-worker-[0-9a-f]{32}$/
    And within 1 minute the insight about Node/worker-0 has condition Updating False with reason "Completed"
    And the insight about Node/worker-0 has "version" "4.20.1"

  # NODES-36
  Scenario: Conditions follow a node through the phases of an update
    Given a 4.20.1 cluster with 3 control-plane nodes and 1 worker
    And release 4.20.5 exists
    When I update to 4.20.5
    Then within 3 hours MachineConfigNode/worker-0 condition Updated is False with message "Node worker-0 needs an update"
    And MachineConfigNode/worker-0 condition UpdatePrepared is True with message "Update Compatible. Post Cfg Actions: [] Drain Required: true"
    And within 10 seconds the insight about Node/worker-0 has condition Updating True with reason "Draining"
    And within 10 seconds MachineConfigNode/worker-0 condition Cordoned is True with reason "UpdateExecutedCordoned"
    And MachineConfigNode/worker-0 condition Drained is True with reason "UpdateExecutedDrained" and message matching /^Drained node\. The drain is complete as the desired drainer matches current drainer: drain-rendered-worker-/
    And condition Drained of MachineConfigNode/worker-0 was False, Unknown, True in turn
    And within 20 seconds MachineConfigNode/worker-0 condition AppliedFilesAndOS is Unknown with message "Applying files and new OS config to node. OS will  need an update. SSH Keys will not need an update"
    And MachineConfigNode/worker-0 condition UpdateExecuted is Unknown with reason "AppliedFilesAndOS"
    And within 20 seconds the insight about Node/worker-0 has condition Updating True with reason "Updating"
    And within 3 minutes MachineConfigNode/worker-0 condition UpdateExecuted is True
    And MachineConfigNode/worker-0 condition RebootedNode is Unknown with message "Upgrade requires a reboot."
    And the insight about Node/worker-0 has condition Available True with message "The node is away for its update"
    And within 5 minutes MachineConfigNode/worker-0 condition RebootedNode is True with message "Node has rebooted"
    And MachineConfigNode/worker-0 condition Resumed is True
    And within 10 seconds MachineConfigNode/worker-0 condition UpdateComplete is True with reason "Uncordoned"
    And MachineConfigNode/worker-0 condition Uncordoned is True with reason "UpdateCompleteUncordoned"
    And within 1 minute MachineConfigNode/worker-0 condition Updated is True
    And within 10 seconds the insight about Node/worker-0 has condition Updating False with reason "Completed"
    And MachineConfigNode/worker-0 condition Drained is False with message matching /^Action during update to rendered-worker-\S+: Drained node\. /
    And condition UpdateExecuted of MachineConfigNode/worker-0 was False, Unknown, True, False in turn
    And condition UpdatePostActionComplete of MachineConfigNode/worker-0 was False in turn

  # NODES-51
  Scenario: An SSH key reaches a node without a reboot
    Given a 4.20.1 cluster
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
      """
    Then within 3 minutes MachineConfigPool/worker condition Updated is False
    And within 3 minutes MachineConfigPool/worker condition Updated is True
    And condition UpdatePostActionComplete of MachineConfigNode/worker-0 was False, True, False in turn
    And condition RebootedNode of MachineConfigNode/worker-0 was False in turn
    And condition Updating of the insight about Node/worker-0 was False in turn
    And there was never a health insight

  # NODES-58
  Scenario: NodeDegraded reports the daemon's error until the node recovers
    Given a 4.20.1 cluster
    When node worker-1 drifts with message "content mismatch for file "/etc/chrony.conf""
    Then within 20 seconds MachineConfigNode/worker-1 condition NodeDegraded is True with message matching /^Node worker-1 upgrade failure\. unexpected on-disk state validating against rendered-worker-/
    And within 1 minute there is a health insight about Node/worker-1 with level "Error" and impact "Update Stalled" and summary "Node worker-1 is degraded" and description /content mismatch for file/
    And MachineConfigNode/worker-1 condition Updated is False
    When node worker-1 recovers
    Then within 1 minute MachineConfigNode/worker-1 condition Updated is True
    And MachineConfigNode/worker-1 condition NodeDegraded is False
    And within 1 minute the insight about Node/worker-1 has condition Degraded False with reason "AsExpected"
    And within 2 minutes there is no health insight

  # NODES-53
  Scenario: Drained names a pod that cannot be evicted
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    And this object:
      """
      apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: one, namespace: openshift-cluster-version}
      spec: {minAvailable: 1, selector: {matchLabels: {k8s-app: cluster-version-operator}}}
      """
    When I update to 4.20.5
    Then within 3 hours MachineConfigNode/master-0 condition Drained is Unknown with message matching /^Draining node\. The drain will not be complete until desired drainer drain-rendered-master-\S+ matches current drainer uncordon-rendered-master-\S+$/
    And within 2 minutes MachineConfigNode/master-0 condition UpdateExecuted is Unknown with message "Node Drain has not succeeded"
    And MachineConfigNode/master-0 condition Drained is Unknown with message matching /^Error: Node Drain has not succeeded\. Error is: error when evicting pods\/"cluster-version-operator-\S+" -n "openshift-cluster-version": global timeout reached: 1m30s The drain will not be complete/
    And the insight about Node/master-0 has condition Updating True with reason "Draining"
    And within 12 minutes there is a health insight about Node/master-0 with level "Warning" and summary "Node master-0 drains for too long"

  @own
  Scenario: A default 4.18 cluster has no MachineConfigNodes
    Given a 4.18.3 cluster
    Then MachineConfigNode/worker-0 does not exist
    And within 1 minute the insight about Node/worker-0 has condition Updating False with reason "Completed"

  @own
  Scenario: TechPreviewNoUpgrade adds MachineConfigNodes to 4.18
    Given a 4.18.3 cluster
    And the feature set "TechPreviewNoUpgrade"
    Then MachineConfigNode/worker-0 condition Updated is True
    And MachineConfigNode/worker-0 field "apiVersion" is "machineconfiguration.openshift.io/v1alpha1"
    And within 1 minute the insight about Node/worker-0 has condition Updating False with reason "Completed"
    And the insight about Node/worker-0 has "version" "4.18.3"

  @own
  Scenario: An update to 4.20 creates MachineConfigNodes
    Given a 4.19.3 cluster
    And release 4.20.1 exists
    When I update to 4.20.1
    Then within 3 hours MachineConfigNode/worker-0 condition Updated is True
    And within 2 hours MachineConfigPool/worker condition Updated is False
    And within 2 hours MachineConfigPool/worker condition Updated is True with message matching /rendered-worker-/
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.20.1"
    And within 1 minute the insight about Node/worker-0 has "version" "4.20.1"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  @own
  Scenario: Deleting a node deletes its MachineConfigNode
    Given a 4.20.1 cluster
    When I delete Node/worker-2
    Then within 1 minute MachineConfigNode/worker-2 does not exist
    And within 1 minute there is no insight about Node/worker-2
    And within 1 minute the insight about MachineConfigPool/worker has "summaries[0].count" "2"

  @own
  Scenario Outline: From 4.21 on, a pool reports a degraded node twice (<version>)
    Given a <version> cluster
    When node worker-1 degrades with message "no space left on device"
    Then within 20 seconds MachineConfigPool/worker condition NodeDegraded is True with reason "1 nodes are reporting degraded status on sync" and message matching /^<message>$/
    And MachineConfigPool/worker field "status.degradedMachineCount" is "1"
    And MachineConfigPool/worker field "status.certExpirys[0].subject" is "CN=admin-kubeconfig-signer,OU=openshift"
    And within 1 minute there is a health insight about Node/worker-1 with level "Error" and summary "Node worker-1 is degraded" and description /no space left on device/
    And within 1 minute there is a health insight about MachineConfigPool/worker with level "Error" and impact "Update Stalled" and summary "Pool 'worker' is degraded"

    Examples:
      | version | message                                                                                                                                                       |
      | 4.20.1  | Node worker-1 is reporting: "no space left on device"                                                                                                         |
      | 4.21.1  | Node worker-1 is reporting: "Node worker-1 upgrade failure. no space left on device", Node worker-1 is reporting: "no space left on device" |
