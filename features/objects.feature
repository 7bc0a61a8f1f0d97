Feature: Objects of any kind
  Steps create, label, annotate, patch and delete objects of every kind, also of kinds that a scenario defines itself.

  Background:
    Given a 4.18.3 cluster with 1 control-plane node and 2 workers
    And insights are published

  @own
  Scenario: A kind of a definition is known from then on
    When I apply this object:
      """
      apiVersion: apiextensions.k8s.io/v1
      kind: CustomResourceDefinition
      metadata: {name: lamps.example.com}
      spec:
        group: example.com
        scope: Namespaced
        names: {kind: Lamp, plural: lamps, singular: lamp, listKind: LampList, shortNames: [lp]}
        versions:
        - name: v1
          served: true
          storage: true
          schema:
            openAPIV3Schema:
              type: object
              properties: {spec: {type: object, properties: {colour: {type: string, enum: [red, green]}}}}
      """
    And I apply this object:
      """
      {apiVersion: example.com/v1, kind: Lamp, metadata: {namespace: default, name: hall}, spec: {colour: red}}
      """
    Then Lamp/default/hall field "spec.colour" is "red"
    When I patch Lamp/default/hall with '{"spec": {"colour": "green"}}'
    Then Lamp/default/hall field "spec.colour" is "green"
    When I run "oc get lp -n default -o name"
    Then it prints "lamp.example.com/hall"
    When I delete Lamp/default/hall
    Then Lamp/default/hall does not exist
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"

  @own
  Scenario: Labels, annotations and patches
    When I label Node/worker-* with "tier=gold, zone=a"
    And I label Node/worker-1 with "tier-"
    And I run "oc get nodes -l tier=gold,zone=a -o name"
    Then it prints "node/worker-0"
    When I patch MachineConfigPool/worker with:
      """
      spec: {maxUnavailable: 50%}
      """
    Then MachineConfigPool/worker field "spec.maxUnavailable" is "50%"
    When I patch Pod/openshift-cluster-version/cluster-version-operator-* with '{"metadata": {"labels": {"watched": "yes"}}}'
    And I run "oc get pods -n openshift-cluster-version -l watched=yes -o name"
    Then it prints /^pod\/cluster-version-operator-/
    And the insight about MachineConfigPool/worker has condition Updating False

  @own
  Scenario: An annotation starts a fault, and its removal ends the fault
    When I annotate ClusterOperator/dns with "windtunnel.dev/fault=degraded, windtunnel.dev/fault-message=no answer"
    Then within 1 minute ClusterOperator/dns condition Degraded is True with message "no answer"
    And within 1 minute the insight about ClusterOperator/dns has condition Healthy False
    When I annotate ClusterOperator/dns with "windtunnel.dev/fault-"
    Then within 1 minute ClusterOperator/dns condition Degraded is False
    When I try to apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterOperator
      metadata: {name: dns, annotations: {windtunnel.dev/fault: degradd}}
      """
    Then it is refused with a text with "unknown fault "degradd"; did you mean `degraded`?"
    And within 5 minutes the insight about ClusterOperator/dns has condition Healthy True

  @own
  Scenario: Faults at a moment and for a time
    When at 5 minutes operator dns degrades with message "no answer" for 15 minutes
    Then within 1 minute ClusterOperator/dns condition Degraded is True with message "no answer"
    When at 10 minutes node worker-0 becomes not ready for 10 minutes
    Then within 1 minute Node/worker-0 condition Ready is False
    And throughout 8 minutes ClusterOperator/dns condition Degraded is True
    When at 22 minutes I cordon node worker-1
    Then ClusterOperator/dns condition Degraded is False
    And Node/worker-0 condition Ready is True
    And Node/worker-1 field "spec.unschedulable" is "true"
    And the insight about ClusterOperator/dns has condition Healthy True

  @own @nodes
  Scenario: A custom pool with nodes and labels from the start
    Given a pool infra with 2 nodes
    And a paused pool canary with 1 node
    And node infra-1 has the label "disk=ssd"
    And release 4.18.7 exists
    When I run "oc get nodes -l disk=ssd -o name"
    Then it prints "node/infra-1"
    And MachineConfigPool/infra field "status.updatedMachineCount" is "2"
    And within 1 minute the insight about MachineConfigPool/infra has condition Updating False with reason "Updated"
    When I update to 4.18.7
    Then within 3 hours node infra-0 is Updating
    And within 1 hour MachineConfigPool/infra condition Updated is True
    And within 1 minute the insight about Node/canary-0 has condition Updating False with reason "Paused"
