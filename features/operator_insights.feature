@insights
Feature: Insights about operators
  Whoever reads the published insights knows of each operator whether it has the release that the cluster is to have, and
  whether it is well.

  Background:
    Given a 4.18.3 cluster with 3 control-plane nodes and 1 worker
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.7 exists
    When I ask for published insights
    Then within 5 minutes the insight about ClusterOperator/etcd has condition Updating False with reason "Updated"

  @own
  Scenario: An operator waits, is updated and done
    When I update to 4.18.7
    # Nothing about the operator changes then: its insight follows the ClusterVersion.
    Then within 2 minutes the insight about ClusterOperator/machine-config has condition Updating False with reason "Pending"
    And within 30 minutes the insight about ClusterOperator/etcd has condition Updating True with reason "Progressing" and message "Working towards 4.18.7"
    And within 30 minutes the insight about ClusterOperator/etcd has condition Updating False with reason "Updated"
    And the insight about ClusterOperator/etcd has condition Healthy True with reason "AsExpected"
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.7"
    And within 1 minute the insight about ClusterOperator/machine-config has condition Updating False with reason "Updated"
    And within 1 minute condition Updating of the insight about ClusterOperator/etcd was False, True, False in turn

  # OCP-41728
  Scenario: An operator that degrades is not healthy until it recovers
    When operator etcd degrades
    Then within 30 minutes the insight about ClusterOperator/etcd has condition Healthy False with reason "Degraded"
    And ClusterOperator/etcd condition Degraded is True
    And the insight about ClusterOperator/dns has condition Healthy True
    When operator etcd recovers
    Then within 30 minutes the insight about ClusterOperator/etcd has condition Healthy True with reason "AsExpected"
