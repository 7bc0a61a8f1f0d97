Feature: Pods that fail
  Probes of a pod's containers fail, or its containers crash repeatedly, until the pod recovers.

  Background:
    Given insights are published

  @own
  Scenario: A pod that is not ready makes its Deployment unavailable until it recovers
    Given a 4.18.3 cluster
    When pod openshift-cluster-version/cluster-version-operator-* becomes unready with message "dial tcp 10.0.0.1:9099: connect: connection refused"
    # The container becomes unready after three failed probes.
    Then throughout 29 seconds Pod/openshift-cluster-version/cluster-version-operator-* condition Ready is True
    And within 2 seconds Pod/openshift-cluster-version/cluster-version-operator-* condition Ready is False with reason "ContainersNotReady" and message "containers with unready status: [cluster-version-operator]"
    And Event/openshift-cluster-version/cluster-version-operator-* field "message" is /^Readiness probe failed: dial tcp 10\.0\.0\.1:9099/
    And Pod/openshift-cluster-version/cluster-version-operator-* has status "Running"
    And Deployment/openshift-cluster-version/cluster-version-operator condition Available is False
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    When pod openshift-cluster-version/cluster-version-operator-* recovers
    Then within 1 second Pod/openshift-cluster-version/cluster-version-operator-* condition Ready is True
    And Deployment/openshift-cluster-version/cluster-version-operator condition Available is True
    And there was never a health insight

  @own
  Scenario: The kubelet restarts a crashing container with a growing back-off
    Given a 4.18.3 cluster
    When pod openshift-cluster-version/cluster-version-operator-* crashes
    Then within 5 seconds Pod/openshift-cluster-version/cluster-version-operator-* has status "Error"
    And within 1 minute Pod/openshift-cluster-version/cluster-version-operator-* has status "CrashLoopBackOff"
    And Pod/openshift-cluster-version/cluster-version-operator-* field "status.phase" is "Running"
    And Pod/openshift-cluster-version/cluster-version-operator-* field "status.containerStatuses[0].state.waiting.message" is /^back-off 10s restarting failed container=cluster-version-operator pod=cluster-version-operator-/
    And within 15 minutes Pod/openshift-cluster-version/cluster-version-operator-* field "status.containerStatuses[0].state.waiting.message" is /^back-off 5m0s restarting failed container/
    When pod openshift-cluster-version/cluster-version-operator-* recovers
    Then within 6 minutes Pod/openshift-cluster-version/cluster-version-operator-* has status "Running"
    And throughout 20 minutes Pod/openshift-cluster-version/cluster-version-operator-* condition Ready is True
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  @own
  Scenario: The kubelet restarts a container that is not live
    Given a 4.18.3 cluster
    When pod openshift-cluster-version/cluster-version-operator-* is not live
    Then within 40 seconds Pod/openshift-cluster-version/cluster-version-operator-* field "status.containerStatuses[0].restartCount" is "1"
    And Pod/openshift-cluster-version/cluster-version-operator-* field "status.containerStatuses[0].lastState.terminated.exitCode" is "143"
    And within 40 seconds Pod/openshift-cluster-version/cluster-version-operator-* has status "CrashLoopBackOff"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight
