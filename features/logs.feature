Feature: Logs of simulated programs
  Components print the lines of the real ones.

  Background:
    Given a 4.18.3 cluster with 3 control-plane nodes and 2 workers
    And release 4.18.7 exists

  @own
  Scenario: The operator prints its election and the start of an update
    Given insights are published
    Then the log of pod "openshift-cluster-version/cluster-version-operator" contains "successfully acquired lease"
    When I update to 4.18.7
    Then within 5 minutes the log of pod "openshift-cluster-version/cluster-version-operator" container "cluster-version-operator" contains /apply: 4\.18\.7 on generation \d+ in state Updating/
    And within 2 minutes the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And ClusterVersion condition Progressing is True

  @own
  Scenario: The update status controller prints what it publishes
    Given the feature set "DevPreviewNoUpgrade"
    Then within 2 minutes the log of pod "openshift-update-status-controller/update-status-controller" contains "Status API CM does not exist -> nothing to update"
    When I ask for published insights
    Then within 2 minutes the log of pod "openshift-update-status-controller/update-status-controller" contains "Updated insight in status API (uid=usc.cpi.cv-version)"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And ClusterVersion condition Progressing is False
