@faults
Feature: Faults during an update
  Requests are rejected, programs crash, watches are silent, and machines reboot. The update completes
  nevertheless.

  Background:
    Given a 4.18.3 cluster
    And insights are published
    And release 4.18.7 exists

  @own
  Scenario Outline: The cluster-version operator recovers from the API error <error>
    When the API server answers <error> to the next 2 updates of ClusterVersion by cluster-version-operator
    And I update to 4.18.7
    Then within 10 minutes ClusterVersion condition Progressing is True with message matching /^Working towards 4\.18\.7: /
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And ClusterVersion condition Failing is False
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn
    And there was never a health insight about ClusterVersion/version

    Examples:
      | error             |
      | conflict          |
      | too-many-requests |
      | unavailable       |
      | etcd-timed-out    |
      | timeout           |

  @own
  Scenario: The API server fails all requests for two minutes, and the client gets the error
    When the API server answers internal-error to all requests for 2 minutes
    And I try to apply this object:
      """
      {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
      """
    Then it is refused with "Internal error occurred: context deadline exceeded"
    When the API server recovers
    And I apply this object:
      """
      {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
      """
    Then ConfigMap/default/a exists
    And throughout 2 minutes the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And throughout 2 minutes the insight about Node/worker-0 has condition Available True

  @own
  Scenario: The cluster-version operator crashes right after it reports the update
    When cluster-version-operator crashes after its next update of ClusterVersion
    And I update to 4.18.7
    Then within 1 minute Pod/openshift-cluster-version/cluster-version-operator-* field "status.containerStatuses[0].restartCount" is "1"
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And ClusterVersion field "status.history[1].version" is "4.18.3"
    And within 1 minute the insight about ClusterVersion/version has "versions.previous.version" "4.18.3"
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn

  # NODES-44
  Scenario: A machine-config daemon crashes during its node's update
    When machine-config-daemon/worker-0 crashes before patch number 2 of Node/worker-0
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker condition Updated is False
    And within 10 minutes the insight about Node/worker-0 has condition Updating True
    And within 2 hours MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
    And condition Updating of the insight about Node/worker-0 was False, True, False in turn
    And there was never a health insight about Node/worker-0

  @own
  Scenario: The update completes after another candidate held the Lease
    When I update to 4.18.7
    And 5 minutes pass
    And cluster-version-operator loses its lease for 5 minutes
    Then Lease/openshift-cluster-version/version field "spec.holderIdentity" is "another-candidate"
    And throughout 4 minutes the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  @own
  Scenario: An operator with silent watches starts the update late
    When cluster-version-operator sees nothing new for 10 minutes
    And I update to 4.18.7
    Then throughout 9 minutes ClusterVersion condition Progressing is False with message "Cluster version is 4.18.3"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And within 2 minutes ClusterVersion condition Progressing is True
    And within 1 minute the insight about ClusterVersion/version has condition Updating True
    And the insight about ClusterVersion/version has "versions.target.version" "4.18.7"
    When the watches of cluster-version-operator are dropped
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"

  @own
  Scenario: Controllers that act last or late delay the update, and do not break it
    When machine-config-controller/drain takes its turns last
    And machine-config-controller/node takes its turns 10 seconds late
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker condition Updated is False
    And within 2 hours MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
    And within 10 minutes ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"

  @own
  Scenario: A controller crashes when the second worker gets its target
    When at change 2 of MachineConfigPool/worker machine-config-controller/node crashes before its next write
    And at change 1 of Node/worker-0 machine-config-daemon/worker-0 sees nothing new for 2 minutes
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker condition Updated is False
    And within 2 hours MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
    And within 10 minutes ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"

  @own
  Scenario: Workers with extra reboots or a wrong clock complete the update
    When node worker-0 reboots 2 times more than it should
    And the clock of node worker-1 is 10 minutes behind
    And I update to 4.18.7
    Then within 3 hours MachineConfigPool/worker condition Updated is False
    And within 30 minutes the insight about Node/worker-0 has condition Updating True with reason "Updating"
    And within 2 hours MachineConfigPool/worker condition Updated is True
    And within 1 minute the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.31.7"

  @own
  Scenario: A worker that cannot be drained keeps its release until it recovers
    When node worker-0 cannot be drained
    And I update to 4.18.7
    Then within 3 hours Node/worker-0 field "spec.unschedulable" is "true"
    And throughout 30 minutes node worker-0 is Draining
    And there is a health insight about Node/worker-0 with level "Warning" and impact "Update Speed" and summary "Node worker-0 drains for too long"
    And the insight about Node/worker-0 has condition Updating True with reason "Draining"
    When node worker-0 recovers
    Then within 2 hours MachineConfigPool/worker condition Updated is True
    And there is no health insight about Node/worker-0

  @own
  Scenario: A pool whose rendered configuration flips shows no update
    When the configuration of pool worker flips 2 times
    Then within 1 minute MachineConfigPool/worker condition Updating is True
    And within 2 hours MachineConfigPool/worker condition Updated is True
    And MachineConfigPool/worker field "status.degradedMachineCount" is "0"
    # All these configurations belong to the same release, so this is no update.
    And condition Updating of the insight about MachineConfigPool/worker was False in turn
    And the insight about MachineConfigPool/worker has "assessment" "Completed"

  @own
  Scenario: An unreachable webhook stops an operator from reporting its release
    When a webhook for updates of ClusterOperator/dns status is unreachable for 3 hours
    And I update to 4.18.7
    Then within 2 hours ClusterVersion condition Progressing is True with message containing "waiting on dns"
    And within 2 hours there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled"
    And within 4 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 2 minutes there is no health insight about ClusterVersion/version

  @own
  Scenario: Objects stored in an unknown version block the update of their CustomResourceDefinition
    Given a 4.17.4 cluster
    And insights are published
    And release 4.18.7 exists
    When CustomResourceDefinition clusterversions.config.openshift.io has objects stored in another version
    And I update to 4.18.7
    Then within 2 hours ClusterVersion condition Failing is True with message matching /^Could not update customresourcedefinition "clusterversions\.config\.openshift\.io" /
    And within 10 minutes there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled"
    When CustomResourceDefinition clusterversions.config.openshift.io recovers
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 2 minutes there is no health insight about ClusterVersion/version

  @own
  Scenario: A new CustomResourceDefinition whose names are taken fails the update
    Given a 4.19.4 cluster
    And insights are published
    And release 4.20.3 exists
    When CustomResourceDefinition machineconfignodes.machineconfiguration.openshift.io finds its names taken
    And I update to 4.20.3
    Then within 3 hours ClusterVersion condition Failing is True with message containing "machineconfignodes.machineconfiguration.openshift.io"
    And within 10 minutes there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled"
    And CustomResourceDefinition/machineconfignodes.machineconfiguration.openshift.io condition NamesAccepted is False with reason "PluralConflict"
    When CustomResourceDefinition machineconfignodes.machineconfiguration.openshift.io recovers
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.20.3"
    And within 2 minutes there is no health insight about ClusterVersion/version

  @own
  Scenario Outline: The update status controller reports the update although its watches <how>
    When watches of ClusterVersion by update-status-controller <how> for 10 minutes
    And I update to 4.18.7
    Then within 15 minutes the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 2 minutes condition Updating of the insight about ClusterVersion/version was False, True, False in turn

    Examples:
      | how                   |
      | see the past          |
      | lose changes          |
      | are 30 seconds late   |
      | are 2 events behind   |
      | end                   |
      | expire                |
      | repeat                |
