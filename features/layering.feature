@nodes @mcp
Feature: Pools with custom images of the operating system
  From 4.18 on, a MachineOSConfig makes the cluster build an image for a pool. Nodes wait for it, and get it with a
  reboot.

  Background:
    Given insights are published
    And a 4.20.1 cluster with 3 control-plane nodes and 1 worker
    And release 4.20.3 exists

  @own
  Scenario: A build that fails twice succeeds with the third attempt
    When I apply this object:
      """
      apiVersion: v1
      kind: Secret
      metadata: {name: push, namespace: openshift-machine-config-operator}
      type: kubernetes.io/dockerconfigjson
      stringData: {.dockerconfigjson: '{"auths": {"registry.example.com": {"auth": "cHVzaDpwdXNo"}}}'}
      """
    And image builds of pool worker fail 2 times
    And I apply this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineOSConfig
      metadata: {name: worker}
      spec:
        machineConfigPool: {name: worker}
        imageBuilder: {imageBuilderType: Job}
        renderedImagePushSecret: {name: push}
        renderedImagePushSpec: registry.example.com/os/worker:latest
      """
    Then within 2 minutes MachineConfigPool/worker condition Updating is True with message matching /^Pool is waiting for OS image build to complete \(mosb: worker-/
    And within 35 minutes MachineOSConfig/worker field "status.currentImagePullSpec" is /^registry\.example\.com\/os\/worker@sha256:[0-9a-f]{64}$/
    And within 20 minutes MachineConfigPool/worker condition Updated is True
    And Node/worker-0 field "metadata.annotations['machineconfiguration.openshift.io/state']" is "Done"
    And the insight about Node/worker-0 has condition Updating False with reason "Completed"

  @own
  Scenario: A worker is pending while the image of the new release is built
    When I apply this object:
      """
      apiVersion: v1
      kind: Secret
      metadata: {name: push, namespace: openshift-machine-config-operator}
      type: kubernetes.io/dockerconfigjson
      stringData: {.dockerconfigjson: '{"auths": {"registry.example.com": {"auth": "cHVzaDpwdXNo"}}}'}
      """
    And I apply this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineOSConfig
      metadata: {name: worker}
      spec:
        machineConfigPool: {name: worker}
        imageBuilder: {imageBuilderType: Job}
        renderedImagePushSecret: {name: push}
        renderedImagePushSpec: registry.example.com/os/worker:latest
      """
    Then within 2 minutes MachineConfigPool/worker condition Updated is False
    And within 45 minutes MachineConfigPool/worker condition Updated is True
    When I update to 4.20.3
    Then within 3 hours MachineConfigPool/worker condition Updating is True with message matching /^Pool is waiting for OS image build to complete \(mosb: worker-/
    And within 1 minute the insight about Node/worker-0 has condition Updating False with reason "Pending"
    And within 25 minutes MachineConfigPool/worker condition Updating is True with message matching /^Pool is waiting for nodes to apply OS image \(mosb: worker-/
    And within 40 minutes MachineConfigPool/worker condition Updated is True with message matching /^All nodes are updated with MachineConfig rendered-worker-\S+ \/ Image registry\.example\.com\/os\/worker@sha256:/
    And within 1 minute the insight about Node/worker-0 has condition Updating False with reason "Completed"
