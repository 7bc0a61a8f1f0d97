@update
Feature: A z-stream update
  The insights follow a z-stream update from its start, through the operators of each run level, to its end.

  Background:
    Given a 4.14.1 cluster with 3 control-plane nodes and 3 workers
    And the feature set "DevPreviewNoUpgrade"
    And release 4.14.8 exists
    When I ask for published insights

  # OTA-1269
  Scenario: ClusterVersion and its insight report the update
    Then within 5 minutes the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    When I update to 4.14.8
    Then within 2 minutes ClusterVersion condition Progressing is True with message matching /Working towards 4\.14\.8/
    And ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message matching /version="4\.14\.8"/
    And ClusterVersion field "status.history[0].state" is "Partial"
    And within 1 minute the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.14.1"
    And the insight about ClusterVersion/version has "versions.target.version" "4.14.8"
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.14.8"
    And ClusterVersion field "status.history[0].state" is "Completed"
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn

  @own
  Scenario: Operators are updated run level by run level
    When I update to 4.14.8
    Then within 10 minutes ClusterVersion condition Progressing is True with reason "ClusterOperatorUpdating" and message matching /, waiting on etcd$/
    And ClusterOperator/kube-apiserver condition Progressing is False
    And within 10 seconds the insight about ClusterOperator/etcd has condition Updating True with reason "Progressing"
    And the insight about ClusterOperator/kube-apiserver has condition Updating False with reason "Pending"
    And within 30 minutes ClusterOperator/kube-apiserver condition Progressing is True with message "Working towards 4.14.8"
    And ClusterOperator/etcd condition Progressing is False with message "Deployed 4.14.8"
    And within 90 minutes ClusterVersion condition Progressing is True with message matching /, waiting on machine-config$/
    And ClusterOperator/dns condition Progressing is False with message "Deployed 4.14.8"
    And the insight about ClusterOperator/dns has condition Updating False with reason "Updated"

  @own
  Scenario: The cluster-version operator replaces itself during the update
    When I update to 4.14.8
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.14.8"
    And these writes were made in this order:
      | by                       | verb   | object                                                        | part   | code |
      | administrator            | patch  | ClusterVersion                                                |        | 200  |
      | cluster-version-operator | create | Job/openshift-cluster-version/version-4.14.8-*                |        | 201  |
      | cluster-version-operator | update | Deployment/openshift-cluster-version/cluster-version-operator | itself | 200  |
      | replicaset-controller    | delete | Pod/openshift-cluster-version/cluster-version-operator-*      |        | 200  |
      | cluster-version-operator | update | Lease/openshift-cluster-version/version                       |        | 200  |
      | replicaset-controller    | create | Pod/openshift-cluster-version/cluster-version-operator-*      |        | 201  |
      | cluster-version-operator | update | ClusterVersion                                                | status | 200  |
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn
    And there was never a health insight about ClusterVersion/version

  # OCP-70838
  Scenario: An update reaches 45%, completes and is rolled back
    When I update to 4.14.8
    And the update reaches 45% of operators
    Then the status contains /Completion: +(4[5-9]|5[0-9])% /
    And within 10 seconds the insight about ClusterVersion/version has "completion" /^(4[5-9]|5\d)$/
    And within 3 hours the update is complete
    And ClusterVersion field "status.history[0].version" is "4.14.8"
    When I roll back
    Then within 3 hours the update is complete
    And ClusterVersion field "status.history[0].version" is "4.14.1"
    And ClusterVersion field "status.history[1].version" is "4.14.8"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.14.1"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.14.8"
