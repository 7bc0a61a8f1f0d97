@update @rollback
Feature: Updates and rollbacks between all adjacent minors
  Every update to the next minor completes. A rollback completes only if the API server still accepts the
  stored status. It rejects status writes with capability values that the older ClusterVersion schema does not
  list, unless the kube-apiserver ratchets status writes (from 4.18 on): then it tolerates unchanged values.

  Background:
    Given insights are published

  @own
  Scenario Outline: An update from <older> to <newer> completes
    Given a <older> cluster with 1 control-plane node and 0 workers
    And the update channel "stable-<minor>"
    And release <newer> exists
    When I update to <newer>
    Then within 10 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "<newer>"
    And within 2 minutes the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And the insight about ClusterVersion/version has "versions.target.version" "<newer>"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <newer>"
    And ClusterVersion field "status.history[0].state" is "Completed"
    And ClusterVersion condition Failing is False
    And ClusterVersion condition Available is True with message "Done applying <newer>"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And condition Updating of the insight about ClusterVersion/version was False, True, False in turn

    Examples:
      | older   | newer  | minor |
      | 4.10.10 | 4.11.4 | 4.11  |
      | 4.11.10 | 4.12.4 | 4.12  |
      | 4.12.10 | 4.13.4 | 4.13  |
      | 4.13.10 | 4.14.4 | 4.14  |
      | 4.14.10 | 4.15.4 | 4.15  |
      | 4.15.10 | 4.16.4 | 4.16  |
      | 4.16.10 | 4.17.4 | 4.17  |
      | 4.17.10 | 4.18.4 | 4.18  |
      | 4.18.10 | 4.19.4 | 4.19  |
      | 4.19.10 | 4.20.4 | 4.20  |
      | 4.20.10 | 4.21.4 | 4.21  |
      | 4.21.10 | 4.22.4 | 4.22  |
      | 4.22.10 | 5.0.1  | 5.0   |

  # release#43984
  Scenario Outline: An update from <older> to <newer> implicitly enables new capabilities
    The older operator enables capabilities that only the newer ClusterVersion schema lists. The API server
    rejects this status until the operator has applied the newer CustomResourceDefinition.
    Given a <older> cluster with 1 control-plane node and 0 workers
    And the baseline capability set "<baseline>"
    And release <newer> exists
    When I update to <newer> by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <newer>"
    And ClusterVersion condition ImplicitlyEnabledCapabilities is True with reason "CapabilitiesImplicitlyEnabled" and message "The following capabilities could not be disabled: <implicit>"
    And these writes were made in this order:
      | by                       | object                                                       | part   | code | message                                                               |
      | cluster-version-operator | ClusterVersion                                               | status | 422  | /enabledCapabilities\\[\\d+\\]: Unsupported value: "<first>": supported/ |
      | cluster-version-operator | CustomResourceDefinition/clusterversions.config.openshift.io |        | 200  |                                                                       |
      | cluster-version-operator | ClusterVersion                                               | status | 200  |                                                                       |
    # The rejected values were never stored, so the status does not freeze.
    And there was never a health insight with level "Critical"
    And within 1 minute the insight about ClusterVersion/version has "completion" "100"

    Examples:
      | older   | newer  | baseline | first                  | implicit                                  |
      | 4.11.10 | 4.12.4 | v4.11    | CSISnapshot            | CSISnapshot, Console, Insights, Storage   |
      | 4.12.10 | 4.13.4 | v4.12    | NodeTuning             | NodeTuning                                |
      | 4.13.10 | 4.14.4 | v4.13    | Build                  | Build, DeploymentConfig, ImageRegistry    |
      | 4.14.10 | 4.15.4 | v4.14    | CloudCredential        | CloudCredential, OperatorLifecycleManager |
      | 4.15.10 | 4.16.4 | v4.15    | CloudControllerManager | CloudControllerManager, Ingress           |

  # 4.10 has no capabilities: its schema has no list that could reject a name.
  # release#39897
  Scenario: A rollback from 4.11.4 to 4.10.10 completes, and the capabilities leave the status
    Given a 4.10.10 cluster with 1 control-plane node and 0 workers
    And release 4.11.4 exists
    Then ClusterVersion field "status.capabilities" is ""
    When I update to 4.11.4 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.11.4"
    And ClusterVersion field "status.capabilities.enabledCapabilities[0]" is "baremetal"
    And ClusterVersion condition ImplicitlyEnabledCapabilities is False with reason "AsExpected"
    When I update to 4.10.10 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.10.10"
    And ClusterVersion field "status.history[0].state" is "Completed"
    And ClusterVersion field "status.capabilities" is ""
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.10.10"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.11.4"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And there was never a health insight with level "Critical"

  # release#43984 release#39897
  Scenario Outline: A rollback from <newer> to <older> freezes the status on unknown capabilities
    Given a <older> cluster with 1 control-plane node and 0 workers
    And release <newer> exists
    When I update to <newer> by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <newer>"
    When I update to <older> by force
    And 10 minutes pass
    Then there is a health insight about ClusterVersion/version with level "Critical" and impact "Update Stalled" and description /<foreign>/
    Then throughout 3 hours ClusterVersion field "status" does not change
    And ClusterVersion condition Progressing is True with message containing "Working towards <older>"
    And these writes were made in this order since the start:
      | by                       | object                                                       | part   | code | message                                                                                                                  |
      | cluster-version-operator | CustomResourceDefinition/clusterversions.config.openshift.io |        | 200  |                                                                                                                          |
      | cluster-version-operator | CustomResourceDefinition/clusterversions.config.openshift.io |        | 200  |                                                                                                                          |
      | cluster-version-operator | ClusterVersion                                               | status | 422  | /knownCapabilities\\[\\d+\\]: Unsupported value: "<foreign>": supported values: "openshift-samples", "baremetal"/           |
      | cluster-version-operator | ClusterVersion                                               | status | 422  | /"version" is invalid: \\[?(status\\.)?capabilities\\.enabledCapabilities\\[\\d+\\]: Unsupported value: "[A-Z]\\w+": supp/ |

    Examples:
      | older   | newer  | foreign         |
      | 4.11.10 | 4.12.4 | CSISnapshot     |
      | 4.12.10 | 4.13.4 | NodeTuning      |
      | 4.13.10 | 4.14.4 | MachineAPI      |
      | 4.14.10 | 4.15.4 | CloudCredential |
      | 4.15.10 | 4.16.4 | Ingress         |

  # release#43984
  Scenario Outline: A rollback from <newer> to <older> completes
    Given a <older> cluster with 1 control-plane node and 0 workers
    And release <newer> exists
    When I update to <newer> by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <newer>"
    When I update to <older> by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <older>"
    And ClusterVersion field "status.history[0].state" is "Completed"
    And ClusterVersion field "status.history[0].acceptedRisks" is /^Forced through blocking failures: Multiple precondition checks failed:\s\* Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": <older> is less than the current target <newer> and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended/
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "<older>"
    And the insight about ClusterVersion/version has "versions.previous.version" "<newer>"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And there was never a health insight with level "Critical"

    Examples:
      | older   | newer  |
      | 4.16.10 | 4.17.4 |
      | 4.19.10 | 4.20.4 |
      | 4.20.10 | 4.21.4 |
      | 4.21.10 | 4.22.4 |
      | 4.22.10 | 5.0.1  |

  # The kube-apiserver of 4.18 ratchets status writes, the one of 4.17 does not.
  # release#43984
  Scenario: A rollback from 4.18.4 to 4.17.10 freezes the status once kube-apiserver is rolled back
    Given a 4.17.10 cluster
    And release 4.18.4 exists
    When I update to 4.18.4 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.18.4"
    When I update to 4.17.10 by force
    Then within 1 hour ClusterVersion condition Progressing is True with message matching /^Working towards 4\.17\.10: .* waiting on kube-apiserver$/
    And there is no health insight with level "Critical"
    When 1 hour passes
    Then there is a health insight about ClusterVersion/version with level "Critical" and description /OperatorLifecycleManagerV1/
    Then throughout 3 hours ClusterVersion field "status" does not change
    And ClusterOperator/machine-config field "status.versions[0].version" is "4.17.10"
    And these writes were made in this order since the start:
      | by                       | object                                                       | part   | code | message                                                                                        |
      | cluster-version-operator | CustomResourceDefinition/clusterversions.config.openshift.io |        | 200  |                                                                                                |
      | cluster-version-operator | CustomResourceDefinition/clusterversions.config.openshift.io |        | 200  |                                                                                                |
      | cluster-version-operator | ClusterVersion                                               | status | 200  |                                                                                                |
      | cluster-version-operator | ClusterVersion                                               | status | 422  | /enabledCapabilities\\[\\d+\\]: Unsupported value: "OperatorLifecycleManagerV1": supported values/ |

  # release#43984: the machine-config controller of 4.18 does not read the Ignition configuration 3.5.0 that 4.19 rendered.
  Scenario: A rollback from 4.19.4 to 4.18.10 stops at the rendered configurations of 4.19
    Given a 4.18.10 cluster with 1 control-plane node and 0 workers
    And release 4.19.4 exists
    When I update to 4.19.4 by force
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.19.4"
    When I update to 4.18.10 by force
    Then within 3 hours MachineConfigPool/master condition RenderDegraded is True with message containing "unknown version. Supported spec versions: 2.2, 3.0, 3.1, 3.2, 3.3, 3.4"
    And within 2 hours ClusterVersion condition Failing is True with message containing "machine-config"
    And the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
