@reconcile
Feature: The operator reverts manual changes
  The cluster-version operator compares the cluster with its payload every few minutes, also while it rejects
  an update.

  Background:
    Given insights are published

  # OCP-46017
  Scenario: A scaled Deployment is restored while an update is rejected
    Given a 4.17.3 cluster
    And the update channel "stable-4.18"
    And release 4.18.2 exists
    When operator marketplace becomes not upgradeable with reason "Busy" and message "not now"
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "Busy"
    When I update to 4.18.2
    Then within 10 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks"
    When I apply this object:
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {namespace: openshift-marketplace, name: marketplace-operator}
      spec: {replicas: 3}
      """
    Then within 20 minutes Deployment/openshift-marketplace/marketplace-operator field "spec.replicas" is "1"
    And ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks"
    And there is a health insight about ClusterVersion/version with level "Warning" and summary "The cluster does not meet the preconditions of release 4.18.2" and description /Busy/
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"

  # OCP-70931
  Scenario: Only fields of a ClusterOperator that the payload sets are restored
    Given a 4.19.3 cluster
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterOperator
      metadata:
        name: etcd
        annotations: {include.release.openshift.io/self-managed-high-availability: "false", mine: stays}
      """
    Then within 10 minutes ClusterOperator/etcd field "metadata.annotations['include.release.openshift.io/self-managed-high-availability']" is "true"
    And ClusterOperator/etcd field "metadata.annotations.mine" is "stays"
    And ClusterOperator/etcd field "status.relatedObjects[0].name" is "openshift-etcd-operator"
    And the insight about ClusterOperator/etcd has condition Updating False with reason "Updated"
    And condition Healthy of the insight about ClusterOperator/etcd was True in turn

  # OCP-51973
  Scenario: An overridden Deployment keeps manual changes while an update is rejected
    Given a 4.17.3 cluster
    And the update channel "stable-4.18"
    And release 4.18.2 exists
    When operator marketplace becomes not upgradeable with reason "Busy" and message "not now"
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "Busy"
    When I update to 4.18.2
    Then within 10 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks"
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec:
        overrides:
        - {kind: Deployment, group: apps, namespace: openshift-network-operator, name: network-operator, unmanaged: true}
      """
    # While a release is rejected, the operator takes overrides for its next pass.
    And 10 minutes pass
    And I apply this object:
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {namespace: openshift-network-operator, name: network-operator}
      spec: {replicas: 3}
      """
    Then throughout 8 minutes Deployment/openshift-network-operator/network-operator field "spec.replicas" is "3"
    And there is a health insight about ClusterVersion/version with level "Warning" and summary "The cluster does not meet the preconditions of release 4.18.2"
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {overrides: null}
      """
    Then within 10 minutes Deployment/openshift-network-operator/network-operator field "spec.replicas" is "1"
    And within 10 minutes the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"

  # OCP-46724
  Scenario Outline: A Deployment that was scaled to <replicas> is restored
    Given a 4.19.3 cluster
    When I apply this object:
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {namespace: openshift-ingress-operator, name: ingress-operator}
      spec: {replicas: <replicas>}
      """
    Then within 10 minutes Deployment/openshift-ingress-operator/ingress-operator field "spec.replicas" is "1"
    And the insight about ClusterOperator/ingress has condition Healthy True with reason "AsExpected"
    And there was never a health insight

    Examples:
      | replicas |
      | 0        |
      | 2        |

  @own
  Scenario: Deleted objects are recreated
    Given a 4.19.3 cluster
    When I delete Deployment/openshift-dns-operator/dns-operator
    And I delete ClusterOperator/dns
    Then Deployment/openshift-dns-operator/dns-operator does not exist
    And within 10 seconds there is no insight about ClusterOperator/dns
    And within 10 minutes Deployment/openshift-dns-operator/dns-operator exists
    And within 10 minutes ClusterOperator/dns condition Available is True
    And within 1 minute the insight about ClusterOperator/dns has condition Healthy True with reason "AsExpected"

  # OCP-56072
  Scenario: The cluster-version operator does not restart on an idle cluster
    Given a 4.19.3 cluster
    When 1 day passes
    Then Pod/openshift-cluster-version/cluster-version-operator-* field "status.containerStatuses[0].restartCount" is "0"
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.19.3"
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight
