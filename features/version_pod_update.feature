@update
Feature: An update whose payload a pod fetches
  From 4.19 on, the cluster-version operator fetches a payload with a pod that it watches, without a Job. The
  insights follow such an update from its request to its last node, and report why a payload cannot be
  fetched.

  Background:
    Given a 4.20.1 cluster with 3 control-plane nodes and 3 workers
    And the feature set "DevPreviewNoUpgrade"
    And release 4.20.5 exists
    When I ask for published insights

  # OTA-1269
  Scenario: The update completes, and insights follow operators, pools and nodes
    Then within 5 minutes the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And the insight about ClusterVersion/version has "assessment" "Completed"
    And the insight about Node/worker-0 has "version" "4.20.1"
    And alert "UpdateAvailable" is firing
    When I update to 4.20.5
    Then within 1 minute Pod/openshift-cluster-version/version-4.20.5-* exists
    And within 2 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message matching /version="4\.20\.5"/
    And within 1 minute ClusterVersion condition Progressing is True with message matching /Working towards 4\.20\.5/
    And ClusterVersion field "status.history[0].version" is "4.20.5"
    And ClusterVersion field "status.history[0].state" is "Partial"
    And within 1 minute the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.20.1"
    And the insight about ClusterVersion/version has "versions.target.version" "4.20.5"
    And the insight about ClusterOperator/machine-config has condition Updating False with reason "Pending"
    And the insight about Node/worker-0 has condition Updating False with reason "Pending"
    And within 30 minutes ClusterOperator/etcd condition Progressing is True with message "Working towards 4.20.5"
    And within 10 seconds the insight about ClusterOperator/etcd has condition Updating True with reason "Progressing"
    And within 2 hours MachineConfigPool/worker condition Updating is True
    And within 10 seconds the insight about MachineConfigPool/worker has condition Updating True with reason "Progressing"
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.20.5"
    And ClusterVersion field "status.history[0].state" is "Completed"
    And ClusterVersion field "status.history[1].version" is "4.20.1"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"
    And within 1 hour MachineConfigPool/worker condition Updated is True
    And Node/worker-0 field "status.nodeInfo.kubeletVersion" is "v1.33.5"
    And within 1 minute the insight about Node/worker-0 has condition Updating False with reason "Completed"
    And the insight about Node/worker-0 has "version" "4.20.5"
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn
    And condition Updating of the insight about ClusterOperator/etcd was False, True, False in turn
    And node worker-0 was Updated, Pending, Draining, Updating, Draining, Updating, Updated in turn
    And node worker-0 was rebooted 1 time
    And Job/openshift-cluster-version/version-* never existed
    And ClusterVersion condition Failing was never True
    And there was never a health insight

  # OTA-1321
  Scenario: A non-existent digest: insights report the pod's error until the request is cleared
    When I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000" by force
    Then within 1 minute Pod/openshift-cluster-version/version-* has status "Init:ErrImagePull"
    And within 1 minute ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /pod version-\S+ failed at pending .* initcontainer cleanup is waiting with reason "ErrImagePull" and message ".*manifest unknown"$/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /^The payload of release quay\.io\S+ cannot be retrieved$/ and description /ErrImagePull.*manifest unknown/
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.20.1"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    When I clear the update request
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And within 2 minutes there is no health insight
    When I update to 4.20.5
    Then within 3 hours the update is complete
    And ClusterVersion field "status.history[0].version" is "4.20.5"
    And ClusterVersion field "status.history[1].version" is "4.20.1"
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn
