@insights
Feature: Insights about operators
  The published insights show for each operator whether it has the release of the cluster and whether it is
  healthy.

  Background:
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    When I ask for published insights
    Then within 5 minutes the insight about ClusterOperator/etcd has condition Updating False with reason "Updated"

  @own
  Scenario: The insight of an operator goes through Pending and Progressing to Updated
    When I update to 4.18.7
    # The ClusterOperator has not changed yet. Its insight follows the ClusterVersion.
    Then within 2 minutes the insight about ClusterOperator/machine-config has condition Updating False with reason "Pending"
    And within 30 minutes the insight about ClusterOperator/etcd has condition Updating True with reason "Progressing" and message "Working towards 4.18.7"
    And within 30 minutes the insight about ClusterOperator/etcd has condition Updating False with reason "Updated"
    And the insight about ClusterOperator/etcd has condition Healthy True with reason "AsExpected"
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 1 minute the insight about ClusterOperator/machine-config has condition Updating False with reason "Updated"
    And within 1 minute condition Updating of the insight about ClusterOperator/etcd was False, True, False in turn

  # OCP-41728
  Scenario: A degraded operator is unhealthy until it recovers
    When operator etcd degrades
    Then within 30 minutes the insight about ClusterOperator/etcd has condition Healthy False with reason "Degraded"
    And ClusterOperator/etcd condition Degraded is True
    And the insight about ClusterOperator/dns has condition Healthy True
    When operator etcd recovers
    Then within 30 minutes the insight about ClusterOperator/etcd has condition Healthy True with reason "AsExpected"
