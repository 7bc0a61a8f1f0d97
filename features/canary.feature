Feature: A canary
  A scenario with the tag @canary passes only if one of its steps fails. This one expects an update to a
  non-existent digest to start. If that ever happens, the results of all other features are worthless.

  @canary @own
  Scenario: Canary: an update to a non-existent digest starts
    Given a 4.20.1 cluster with 1 control-plane node and 0 workers
    And insights are published
    When I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000"
    Then within 10 minutes the insight about ClusterVersion/version has condition Updating True
