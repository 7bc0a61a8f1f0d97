@rollback
Feature: A rollback across a change of the capability enum
  4.14 added values to the capability enum of ClusterVersion. A rollback to 4.13 restores the older enum while
  the values stay in the status. The API server then rejects every status write, unless it ratchets.

  # release#43984
  # NODES-91
  Scenario: The status freezes, and an insight reports it
    Given a 4.13.20 cluster
    And the feature set "DevPreviewNoUpgrade"
    And the baseline capability set "v4.13"
    And release 4.14.1 exists
    When I ask for published insights
    And I update to 4.14.1 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.14.1"
    When I update to 4.13.20 by force
    Then within 10 minutes there is a health insight with level "Critical" and summary /Build, DeploymentConfig, ImageRegistry, MachineAPI/
    And throughout 3 hours ClusterVersion field "status" does not change
    And these writes were made in this order since the start:
      | by                       | object                                                     | part   | code | message                                                    |
      | cluster-version-operator | ClusterVersion                                             | status | 422  | /enabledCapabilities\\[0\\]: Unsupported value: "Build"/     |
      | cluster-version-operator | CustomResourceDefinition/clusterversions.config.openshift.io |      | 200  |                                                            |
      | cluster-version-operator | ClusterVersion                                             | status | 200  |                                                            |
      | cluster-version-operator | CustomResourceDefinition/clusterversions.config.openshift.io |      | 200  |                                                            |
      | cluster-version-operator | ClusterVersion                                             | status | 422  | /knownCapabilities\\[\\d+\\]: Unsupported value/              |

  # release#43984
  Scenario: The error for a single unknown value has no brackets
    Given a 4.14.1 cluster
    And insights are published
    And the baseline capability set "v4.13"
    And release 4.13.20 exists but is not recommended
    When 5 minutes pass
    And I update to 4.13.20 by force
    And 10 minutes pass
    Then there is a health insight about ClusterVersion/version with level "Critical" and impact "Update Stalled" and description /MachineAPI/
    And these writes were made in this order:
      | by                       | object         | part   | code | message |
      | cluster-version-operator | ClusterVersion | status | 422  | /^ClusterVersion\\.config\\.openshift\\.io "version" is invalid: status\\.capabilities\\.enabledCapabilities\\[3\\]: Unsupported value: "MachineAPI": supported values: "openshift-samples", "baremetal", "marketplace", "Console", "Insights", "Storage", "CSISnapshot", "NodeTuning"$/ |

  # release#43984
  Scenario: On Kubernetes 1.33 the rollback completes
    Given a 4.13.20 cluster
    And insights are published
    And the kube-apiserver stays at Kubernetes 1.33
    And the baseline capability set "v4.13"
    And release 4.14.1 exists
    When I update to 4.14.1 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.14.1"
    When I update to 4.13.20 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.13.20"
    And ClusterVersion field "status.history[0].state" is "Completed"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.13.20"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And there was never a health insight with level "Critical"
