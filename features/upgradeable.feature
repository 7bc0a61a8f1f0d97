@upgradeable
Feature: What stands in the way of another minor
  The condition Upgradeable gathers what speaks against an update to the next minor; a precondition refuses one for as long
  as it is False. Patches go on.

  Scenario: An administrator has to agree to what the next minor brings
    Given a 4.14.8 cluster
    And release 4.15.3 exists
    And release 4.14.12 exists
    When I apply this object:
      """
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: admin-gates, namespace: openshift-config-managed}
      data: {ack-4.14-apis-removed: Some APIs go away.}
      """
    Then within 10 minutes ClusterVersion condition Upgradeable is False with reason "AdminAckRequired" and message "Some APIs go away."
    When I update to 4.15.3
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message matching /: Precondition "ClusterVersionUpgradeable" failed because of "AdminAckRequired": Some APIs go away\.$/
    When I apply this object:
      """
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: admin-acks, namespace: openshift-config}
      data: {ack-4.14-apis-removed: "true"}
      """
    Then within 10 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "4.15.3"

  Scenario: A patch needs no agreement
    Given a 4.14.8 cluster
    And release 4.14.12 exists
    When I apply this object:
      """
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: admin-gates, namespace: openshift-config-managed}
      data: {ack-4.14-apis-removed: Some APIs go away.}
      """
    And 10 minutes pass
    When I update to 4.14.12
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "4.14.12"

  Scenario: While an update is under way there is no other, from 4.19 on
    Given a 4.19.3 cluster
    And release 4.19.9 exists
    When I update to 4.19.9
    Then within 30 minutes ClusterVersion condition Upgradeable is False with reason "UpdateInProgress" and message "An update is already in progress and the details are in the Progressing condition"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.19.9"
