@rollback @restored
Feature: What is left over of an update that was taken back
  After an update within a minor and the way back, the cluster is what it was. Changes by an administrator in between stay.

  @own
  Scenario: A z-stream update that is taken back leaves nothing
    Given a 4.20.1 cluster with 1 control-plane node and 0 workers
    And release 4.20.5 exists
    When I keep the cluster as "before"
    And I update to 4.20.5
    Then within 3 hours the update is complete
    When I update to 4.20.1
    Then within 3 hours the cluster is restored
    And the cluster is restored to its start
    And the cluster is restored to 4.20.1

  @own
  Scenario: A label that was added during the update stays
    Given a 4.20.1 cluster with 1 control-plane node and 0 workers
    And release 4.20.5 exists
    When I keep the cluster as "before"
    And I update to 4.20.5
    Then within 3 hours the update is complete
    When I label Node/master-0 with "disk=ssd"
    And I update to 4.20.1
    Then within 3 hours the cluster is restored to "before" except "metadata.labels of Node, Secret"
