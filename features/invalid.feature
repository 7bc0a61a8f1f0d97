@invalid
Feature: An invalid ClusterVersion spec
  The cluster-version operator reports the errors in a condition and continues with its release. The
  administrator can clear the request.

  Background:
    Given insights are published

  # OCPBUGS-78061
  Scenario: An unavailable version makes the spec invalid, and the cluster keeps its release
    Given a 4.16.1 cluster
    And release 4.16.5 exists
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {desiredUpdate: {version: 4.16.9}}
      """
    Then within 1 minute ClusterVersion condition Invalid is True with reason "InvalidClusterVersion" and message matching /^The cluster version is invalid: spec\.desiredUpdate\.version: Invalid value: "4\.16\.9": when image is empty the update must be an available update$/
    And ClusterVersion condition Progressing is False with reason "InvalidClusterVersion" and message "Stopped at 4.16.1: the cluster version is invalid"
    And ClusterVersion condition Failing is False
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And ClusterVersion field "spec.desiredUpdate.version" is "4.16.9"
    When I clear the update request
    Then within 1 minute ClusterVersion condition Progressing is False with message "Cluster version is 4.16.1"
    And there was never a health insight

  # OCPBUGS-78061
  Scenario: Several errors are listed line by line, and the current update continues
    Given a 4.16.1 cluster
    And release 4.16.5 exists
    When I update to 4.16.5
    Then within 10 minutes ClusterVersion condition Progressing is True with message matching /^Working towards 4\.16\.5/
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {upstream: ":nowhere", clusterID: me}
      """
    Then within 1 minute ClusterVersion condition Invalid is True with reason "InvalidClusterVersion" and message matching /^The cluster version is invalid:\n\* spec\.upstream: .*\n\* spec\.clusterID: Invalid value: "me": must be an RFC4122-variant UUID\n$/
    And ClusterVersion condition Progressing is True with reason "InvalidClusterVersion" and message "Reconciling 4.16.5: the cluster version is invalid"
    And within 5 seconds the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And within 3 hours ClusterVersion condition Progressing is False with reason "InvalidClusterVersion" and message "Stopped at 4.16.5: the cluster version is invalid"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.16.5"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
