@insights
Feature: Health insights
  A health insight reports a problem of an update once it has lasted long enough, until it is over. A healthy
  update has none.

  @own
  Scenario: A healthy update has no health insights
    Given a 4.18.3 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    When I ask for published insights
    And I update to 4.18.7
    Then within 10 minutes the insight about ClusterVersion/version has condition Updating True
    And the insight about ClusterVersion/version has "assessment" "Progressing"
    And within 40 minutes the insight about ClusterVersion/version has "completion" /^[4-9]\d$/
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 1 minute the insight about ClusterVersion/version has "completion" "100"
    And within 2 hours the insight about MachineConfigPool/worker has "completion" "100"
    And there was never a health insight

  # OTA-1418
  Scenario: An annotation forces a health insight
    Given a 4.18.3 cluster
    And the feature set "DevPreviewNoUpgrade"
    When I ask for published insights
    And I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version, annotations: {usc.openshift.io/force-health-insight: ""}}
      """
    Then within 1 minute there is a health insight about ClusterVersion/version with level "Info" and impact "None" and summary "Forced health insight for ClusterVersion version"
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version, annotations: {usc.openshift.io/force-health-insight: null}}
      """
    Then throughout 50 seconds there is a health insight about ClusterVersion/version
    And within 20 seconds there is no health insight
    And ClusterVersion annotation "usc.openshift.io/force-health-insight" is ""

  # OTA-1321, OCP-21771
  Scenario: A non-existent digest: the insight adds the pod's error to the operator's deadline
    Given a 4.18.3 cluster
    And the feature set "DevPreviewNoUpgrade"
    When I ask for published insights
    And I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000" by force
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /Job was active longer than specified deadline"$/
    And within 2 minutes there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /^The payload of release quay\.io.* cannot be retrieved$/ and description /deadline.* \| pod version-.*manifest unknown/
    When I clear the update request
    Then within 10 minutes there is no health insight

  # OCP-24663
  Scenario: An unsigned release: the insight says that no trusted key signed it
    Given a 4.20.1 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.20.3 exists
    And release 4.20.3 has no OpenPGP signature
    When I ask for published insights
    And I update to 4.20.3
    Then within 2 minutes there is a health insight about ClusterVersion/version with impact "Update Stalled" and summary "No trusted key has signed release 4.20.3" and description /The update cannot be verified: unable to verify sha256:/
    And there is no health insight with summary /cannot be retrieved/
    And ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload"

  @own
  Scenario: Unmet preconditions cause an insight
    Given a 4.19.3 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.21.1 exists but is not recommended
    When I ask for published insights
    And I update to 4.21.1
    Then within 5 minutes there is a health insight about ClusterVersion/version with level "Warning" and summary "The cluster does not meet the preconditions of release 4.21.1" and description /MultipleMinorVersionsUpdate/
    And ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks"

  @own
  Scenario: A payload of another version causes an insight
    Given a 4.18.3 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    And the payload of release 4.18.7 is of version 4.18.8
    When I ask for published insights
    And I update to 4.18.7
    Then within 5 minutes there is a health insight about ClusterVersion/version with impact "Update Stalled" and summary /^Release 4\.18\.7 is not accepted \(VerifyPayloadVersion\)$/
    And ClusterVersion condition ReleaseAccepted is False with reason "VerifyPayloadVersion"

  @own
  Scenario: An unavailable operator fails and stalls the update, and its insight escalates to Error
    Given a 4.18.1 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.5 exists
    When I ask for published insights
    And operator storage becomes unavailable with reason "NoProvisioner" and message "No storage provisioner is running"
    Then throughout 5 minutes there is no health insight about ClusterOperator/storage
    And within 30 seconds there is a health insight about ClusterOperator/storage with level "Warning" and impact "API Availability" and summary "Cluster Operator storage is unavailable (NoProvisioner)" and description "No storage provisioner is running"
    And throughout 14 minutes there is no health insight about ClusterOperator/storage with level "Error"
    And within 2 minutes there is a health insight about ClusterOperator/storage with level "Error"
    When I update to 4.18.5
    Then within 2 hours there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /is failing to proceed with the update \(ClusterOperatorNotAvailable\)$/
    And the insight about ClusterVersion/version has "assessment" "Degraded"
    And within 6 hours there is a health insight about ClusterVersion/version with impact "Update Stalled" and summary /is stalled$/ and description /these are not: dns, machine-config, network$/
    # Prometheus fires alerts as well. That about the operator is no insight because it began before the update.
    And there is a health insight with level "Warning" and impact "Unknown" and summary "Alert is firing: Cluster operator has been degraded for 30 minutes." and description /The version operator is degraded because ClusterOperatorNotAvailable/
    And there is no health insight with summary "Alert is firing: Cluster operator has not been available for 10 minutes."
    When operator storage recovers
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.5"
    And within 2 minutes there is no health insight

  # OCP-41728
  Scenario: A degraded operator and an alert that starts during the update cause insights
    Given a 4.20.1 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.20.5 exists
    When I ask for published insights
    And I update to 4.20.5
    And 1 minute passes
    And operator image-registry degrades with reason "NoReplicas" and message "no replicas"
    Then within 7 minutes there is a health insight about ClusterOperator/image-registry with level "Warning" and summary "Cluster Operator image-registry is degraded (NoReplicas)"
    And throughout 30 minutes there is no health insight about ClusterOperator/image-registry with level "Error"
    And within 10 minutes there is a health insight about ClusterOperator/image-registry with level "Error"
    And there is a health insight with level "Warning" and impact "Unknown" and summary "Alert is firing: Cluster operator has been degraded for 30 minutes." and description /^Alert started firing during the update\. The alert description is: The image-registry operator is degraded because NoReplicas/
    And alert "ClusterOperatorDegraded" about "image-registry" is firing
    When operator image-registry recovers
    Then within 3 minutes there is no health insight with summary /^Alert is firing/

  @own
  Scenario: An update that replaces an incomplete one causes an insight
    Given a 4.18.3 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    And release 4.18.9 exists
    When I ask for published insights
    And I update to 4.18.7
    And 10 minutes pass
    And I update to 4.18.9
    Then within 5 minutes there is a health insight about ClusterVersion/version with level "Warning" and impact "None" and summary "Previous update to 4.18.7 never completed, last complete update was 4.18.3"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.9"
    And within 2 minutes there is no health insight

  # NODES-14
  Scenario: Nodes that are not ready or do not return from a reboot cause insights
    Given a 4.18.3 cluster with 3 control-plane nodes and 2 workers
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    When I ask for published insights
    And node worker-1 becomes not ready with message "container runtime is down"
    Then throughout 4 minutes there is no health insight about Node/worker-1
    And within 2 minutes there is a health insight about Node/worker-1 with level "Warning" and impact "Update Speed" and summary "Node worker-1 is not ready" and description /message ".*container runtime is down/
    And there is a health insight about MachineConfigPool/worker
    When node worker-1 recovers
    Then within 3 minutes there is no health insight
    When node worker-0 does not return
    And I update to 4.18.7
    Then within 3 hours Node/worker-0 annotation "machineconfiguration.openshift.io/post-config-action" is "Rebooting"
    And throughout 14 minutes there is no health insight about Node/worker-0
    # Drains of masters evict the update status controller, which measures from its own return.
    And within 8 minutes there is a health insight about Node/worker-0 with level "Warning" and impact "Update Speed" and summary "Node worker-0 does not come back from its reboot"
    And within 1 hour there is a health insight about Node/worker-0 with level "Error"
    When node worker-0 recovers
    Then within 1 hour there is no health insight about Node/worker-0

  # NODES-53, NODES-55
  Scenario: A drain that does not end causes insights that escalate to Error
    Given a 4.19.3 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.19.7 exists
    And this object:
      """
      apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: one, namespace: openshift-cluster-version}
      spec: {minAvailable: 1, selector: {matchLabels: {k8s-app: cluster-version-operator}}}
      """
    When I ask for published insights
    And I update to 4.19.7
    Then within 3 hours the insight about Node/master-0 has condition Updating True with reason "Draining"
    And throughout 9 minutes there is no health insight about Node/master-0
    And within 2 minutes there is a health insight about Node/master-0 with level "Warning" and impact "Update Speed" and summary "Node master-0 drains for too long"
    And within 1 hour there is a health insight about Node/master-0 with level "Error" and summary "Node master-0 drains for too long"
    And within 5 minutes there is a health insight about Node/master-0 with level "Error" and impact "Update Stalled" and summary "Node master-0 is degraded" and description /^failed to drain node: master-0 after 1 hour/
    And within 5 minutes there is a health insight about MachineConfigPool/master with level "Error" and summary "Pool 'master' is degraded"
    And Node/master-0 field "spec.unschedulable" is "true"
    And MachineConfigPool/master condition Degraded is True

  # NODES-28
  Scenario: Paused pools cause insights
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    And this object:
      """
      apiVersion: machineconfiguration.openshift.io/v1
      kind: MachineConfigPool
      metadata: {name: infra}
      spec: {paused: true, nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ""}}}
      """
    When I ask for published insights
    And I pause pool worker
    And I update to 4.18.7
    Then within 2 minutes there is a health insight about MachineConfigPool/worker with level "Warning" and impact "Update Stalled" and summary "Outdated nodes in a paused pool 'worker' will not be updated"
    And within 2 minutes there is a health insight about MachineConfigPool/infra with level "Info" and impact "None" and summary "Pool 'infra' is paused"
    And MachineConfigPool/worker field "spec.paused" is "true"
    When I unpause pool worker
    Then within 2 minutes there is no health insight about MachineConfigPool/worker

  @own
  Scenario: Without the ConfigMap, the resource UpdateStatus contains the health insights
    Given a 4.18.3 cluster
    And the feature set "DevPreviewNoUpgrade"
    When operator etcd degrades with reason "Bad"
    Then within 7 minutes there is a health insight about ClusterOperator/etcd with level "Warning" and summary "Cluster Operator etcd is degraded (Bad)"
    When operator etcd recovers
    Then within 3 minutes there is no health insight
    And ConfigMap/openshift-update-status-controller/status-api-cm-prototype does not exist
