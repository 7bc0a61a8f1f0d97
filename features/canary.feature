Feature: A canary
  A scenario with the tag @canary passes when one of its steps fails. This one hopes that a digest that nobody has is accepted: if
  it ever comes true, none of the features beside it says anything any more.

  @canary @own
  Scenario: A canary, which must fail
    Given a 4.20.1 cluster with 1 control-plane node and 0 workers
    And insights are published
    When I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000"
    Then within 10 minutes the insight about ClusterVersion/version has condition Updating True
