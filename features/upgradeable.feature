@upgradeable
Feature: Conditions that block a minor update
  The condition Upgradeable collects the reasons against an update to the next minor. While it is False, a
  precondition rejects such an update. Patch updates continue, except that overrides block them before 4.22.

  Background:
    Given insights are published

  # OCP-44827
  Scenario: A minor update waits until the administrator acknowledges its changes
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
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The cluster does not meet the preconditions of release 4.15.3" and description /Some APIs go away\./
    When I apply this object:
      """
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: admin-acks, namespace: openshift-config}
      data: {ack-4.14-apis-removed: "true"}
      """
    Then within 5 minutes ClusterVersion has no condition Upgradeable
    And within 10 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "4.15.3"
    And within 2 minutes there is no health insight

  @own
  Scenario: A patch update needs no acknowledgement
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
    And within 5 minutes the insight about ClusterVersion/version has "versions.target.version" "4.14.12"
    And there was never a health insight

  # OCPBUGS-42880
  Scenario: An admin gate that appears during a minor update does not block its patches
    Given a 4.19.3 cluster
    And release 4.20.1 exists
    And release 4.20.5 exists
    When I update to 4.20.1
    Then within 30 minutes ClusterVersion condition Progressing is True with message matching /^Working towards 4\.20\.1/
    When I apply this object:
      """
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: admin-gates, namespace: openshift-config-managed}
      data: {ack-4.19-apis-removed: Some APIs go away.}
      """
    Then within 10 minutes ClusterVersion condition Upgradeable is False with message containing "Some APIs go away."
    When I update to 4.20.5
    Then within 10 minutes ClusterVersion field "status.history[0].version" is "4.20.5"
    And ClusterVersion field "status.history[0].acceptedRisks" is /"MinorVersionClusterUpdateInProgress": Retarget to 4\.20\.5 while a minor version update from 4\.19\.3 to 4\.20\.1 is in progress/
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.20.5"
    And there is a health insight about ClusterVersion/version with level "Warning" and impact "None" and summary "Previous update to 4.20.1 never completed, last complete update was 4.19.3"

  @own
  Scenario: An operator that waits for an annotation blocks the next minor
    Given a 4.18.1 cluster
    And release 4.19.1 exists
    When operator cloud-credential becomes not upgradeable with reason "MissingUpgradeableAnnotation" and message "Annotate the cluster object."
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "MissingUpgradeableAnnotation" and message "Cluster operator cloud-credential should not be upgraded between minor versions: Annotate the cluster object."
    When I update to 4.19.1
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "MissingUpgradeableAnnotation"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and summary "The cluster does not meet the preconditions of release 4.19.1" and description /Annotate the cluster object\./
    When operator cloud-credential recovers
    Then within 10 minutes ClusterVersion condition ReleaseAccepted is True with message containing "4.19.1"
    And within 2 minutes there is no health insight

  # OTA-1860
  Scenario Outline: Overrides block a patch update of <from>
    Given a <from> cluster
    And release <to> exists
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec:
        overrides:
        - {kind: Deployment, group: apps, namespace: openshift-network-operator, name: network-operator, unmanaged: true}
      """
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "ClusterVersionOverridesSet"
    When I update to <to>
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with message containing "<to>"
    And ClusterVersion field "status.conditions" is /failed because of .*ClusterVersionOverridesSet.*: Disabling ownership via cluster version overrides prevents upgrades\. Pl/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and summary "The cluster does not meet the preconditions of release <to>"
    And throughout 5 minutes ClusterVersion field "status.history[0].version" is "<from>"

    Examples:
      | from   | to     |
      | 4.13.3 | 4.13.9 |
      | 4.21.3 | 4.21.9 |

  # OTA-1860
  Scenario Outline: Overrides do not block a patch update of <from>
    Given a <from> cluster
    And release <to> exists
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec:
        overrides:
        - {kind: Deployment, group: apps, namespace: openshift-network-operator, name: network-operator, unmanaged: true}
      """
    Then within 5 minutes ClusterVersion condition Upgradeable is False with reason "<reason>"
    When I update to <to>
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is True with message containing "<to>"
    And ClusterVersion field "status.history[0].acceptedRisks" is /failed because of .*ClusterVersionOverridesSet.*: Retarget from <from> to <to> is not blocked by/
    And within 5 minutes the insight about ClusterVersion/version has condition Updating True
    And there was never a health insight

    Examples:
      | from   | to     | reason                     |
      | 4.22.3 | 4.22.9 | ClusterVersionOverridesSet |
      | 5.0.0  | 5.0.3  | ClusterVersionOverrides    |

  # OTA-861
  Scenario Outline: From 4.19 on, Upgradeable is False while an update is in progress (<from>)
    Given a <from> cluster
    And release <to> exists
    When I update to <to>
    Then within 5 minutes ClusterVersion condition Progressing is True
    And within <time> ClusterVersion condition Upgradeable is False with reason "<reason>" and message "An update is already in progress and the details are in the Progressing condition<end>"
    And within 1 minute the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <to>"
    And alert "ClusterNotUpgradeable" is not firing
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn
    And there was never a health insight about ClusterVersion/version

    Examples:
      | from   | to     | time      | reason                 | end |
      | 4.19.3 | 4.19.9 | 5 minutes | UpdateInProgress       |     |
      | 5.0.0  | 5.0.3  | 5 seconds | ClusterVersionUpdating | .   |

  @own
  Scenario: From 4.23 on, Upgradeable reports a blocked minor update at once
    Given a 5.0.0 cluster
    When 10 minutes pass
    And operator cloud-credential becomes not upgradeable with reason "MissingUpgradeableAnnotation" and message "Annotate the cluster object."
    Then within 5 seconds ClusterVersion condition Upgradeable is False with reason "RiskNameNotCompatibleWithReasonProperty" and message "Annotate the cluster object."
    When operator cloud-credential recovers
    Then within 5 seconds ClusterVersion has no condition Upgradeable
    When I apply this object:
      """
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: admin-gates, namespace: openshift-config-managed}
      data: {ack-5.0-apis: Some APIs go away.}
      """
    Then within 5 seconds ClusterVersion condition Upgradeable is False with message "Some APIs go away."
    When I delete ConfigMap/openshift-config/admin-acks
    Then within 5 seconds ClusterVersion condition Upgradeable is False with reason "AdminAckUnknown" and message containing "Failed to retrieve ConfigMap admin-acks from namespace openshift-config: configmap "
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight

  @own
  Scenario: The gate in the payload of 4.18 blocks the update to 4.19 until it is acknowledged
    Given a 4.18.12 cluster
    And the admin gates are not acknowledged
    And release 4.19.3 exists
    Then within 10 minutes ClusterVersion condition Upgradeable is False with reason "AdminAckRequired" and message matching /^Kubernetes 1\.32 and therefore OpenShift 4\.19 remove several APIs/
    When I update to 4.19.3
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "AdminAckRequired"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled"
    When I patch ConfigMap/openshift-config/admin-acks with '{"data": {"ack-4.18-kube-1.32-api-removals-in-4.19": "true"}}'
    Then within 15 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "4.19.3"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.19.3"
