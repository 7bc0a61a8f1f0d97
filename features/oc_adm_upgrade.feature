@intent
Feature: Requests and answers of `oc adm upgrade`
  The client rejects requests that it knows to be wrong, and passes the others to the cluster.

  Background:
    Given insights are published

  # OCP-43178
  Scenario: `oc adm upgrade channel` sets and clears the channel
    Given a 4.16.1 cluster
    When I run "oc adm upgrade channel stable-4.16"
    Then it prints "info: Cluster is already in stable-4.16 (no change)"
    When I run "oc adm upgrade channel no-such-channel"
    Then it is refused with "the requested channel "no-such-channel" is not one of the available channels (candidate-4.16, eus-4.16, fast-4.16, stable-4.16), you must pass --allow-explicit-channel to continue"
    When I run "oc adm upgrade channel fast-4.16 candidate-4.16"
    Then it is refused with a text with "multiple positional arguments given"
    When I run "oc adm upgrade channel"
    Then it is refused with a text with "You are requesting to clear the update channel."
    And ClusterVersion field "spec.channel" is "stable-4.16"
    When I run "oc adm upgrade channel fast-4.16"
    Then it prints ""
    And ClusterVersion field "spec.channel" is "fast-4.16"
    When I run "oc adm upgrade channel no-such-channel --allow-explicit-channel"
    Then it warns /^warning: The requested channel "no-such-channel" is not one of the available channels .* Setting the update channel to "no-such-channel"\.$/
    When I run "oc adm upgrade channel --allow-explicit-channel"
    Then it warns "warning: Clearing channel "no-such-channel"; cluster will no longer request available update recommendations."
    And within 5 minutes ClusterVersion condition RetrievedUpdates is False with reason "NoChannel"
    When I run "oc adm upgrade channel"
    Then it prints "info: Cluster channel is already clear (no change)"
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  # OCP-43172
  Scenario: `oc adm upgrade` prints the upstream and the channel
    Given a 4.16.1 cluster
    When I run "oc adm upgrade"
    Then it prints:
      """
      Cluster version is 4.16.1

      Upstream is unset, so the cluster will use an appropriate default.
      Channel: stable-4.16 (available channels: candidate-4.16, eus-4.16, fast-4.16, stable-4.16)
      No updates available. You may still upgrade to a specific release image with --to-image or wait for new updates to be available.
      """
    When I run "oc adm upgrade channel --allow-explicit-channel"
    And 5 minutes pass
    And I run "oc adm upgrade"
    Then it warns:
      """
      warning: Cannot display available updates:
        Reason: NoChannel
        Message: The update channel has not been configured.
      """
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  # OCP-21771
  Scenario: A cluster outside the update graph needs an explicit image
    Given a 4.16.1 cluster
    And the update channel "lonely-4.16"
    And release 4.16.5 exists
    And the update channel "lonely-4.16" lists 4.16.5
    When 5 minutes pass
    And I run "oc adm upgrade --to 4.16.5"
    Then it is refused with a text with "currently reconciling cluster version 4.16.1 not found in the "lonely-4.16" channel"
    And it is refused with a text with "specify --to-image to continue with the update."
    When I run "oc adm upgrade --to-image $(image 4.16.5)"
    Then it is refused with a text with "specify --allow-explicit-upgrade to continue with the update."
    When I run "oc adm upgrade --to-image quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000 --allow-explicit-upgrade --force"
    Then it prints "Requested update to release image quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000"
    And within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message containing "sha256:0000000000000000000000000000000000000000000000000000000000000000"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /^The payload of release quay\.io\S+ cannot be retrieved$/ and description /manifest unknown/
    And the insight about ClusterVersion/version has "versions.target.version" "4.16.1"
    And ClusterVersion field "status.desired.version" is "4.16.1"
    And ClusterVersion field "status.availableUpdates" is ""
    When I run "oc adm upgrade --clear"
    Then it prints "Cancelled requested upgrade to quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000"
    And within 5 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And within 2 minutes there is no health insight

  # OCP-47175
  Scenario: Without recommended updates, each kind of request gets its own answer
    Given a 4.16.1 cluster
    And release 4.16.5 exists but is not recommended
    When 5 minutes pass
    Then ClusterVersion condition RetrievedUpdates is True
    When I run "oc adm upgrade --to-latest"
    Then it prints "info: Cluster is already at the latest available version 4.16.1"
    When I run "oc adm upgrade --to 4.16.5"
    Then it is refused with "no recommended updates, specify --to-image to continue with the update or wait for new updates to be available."
    When I run "oc adm upgrade --to-image $(image 4.16.5)"
    Then it is refused with "no recommended updates, specify --allow-explicit-upgrade to continue with the update or wait for new updates to be available."
    When I run "oc adm upgrade --to-latest --allow-not-recommended"
    Then it is refused with "no recommended or conditional updates, specify --to-image to continue with an update or wait for new updates to be available."
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  # OCP-60396
  Scenario: `--to-multi-arch` excludes other targets, and an empty request is invalid
    Given a 4.16.1 cluster
    And release 4.16.5 exists
    When 5 minutes pass
    And I run "oc adm upgrade --to-multi-arch --to-latest"
    Then it is refused with "--to-multi-arch may not be used with --to, --to-image, or --to-latest"
    And it exits with code 1
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {desiredUpdate: {force: true}}
      """
    Then within 1 minute ClusterVersion condition Invalid is True with reason "InvalidClusterVersion"
    And ClusterVersion condition Progressing is False with reason "InvalidClusterVersion"
    When I run "oc adm upgrade --to-multi-arch"
    Then it is refused with a text with "the cluster version object is invalid, you must correct the invalid state first:"
    When I run "oc adm upgrade --clear"
    Then it prints "Cancelled requested upgrade to <unknown>"
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight

  # OCP-70838, OCP-23799
  Scenario Outline: `oc adm upgrade rollback` stays within the minor (<from> to <to>)
    Given a <from> cluster
    And release <to> exists
    When I run "oc adm upgrade rollback"
    Then it is refused with a text with "unknown command "rollback""
    When 5 minutes pass
    And I run "oc adm upgrade --to <to>"
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is <to>"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "<to>"
    And the insight about ClusterVersion/version has "versions.previous.version" "<from>"
    When I run "OC_ENABLE_CMD_UPGRADE_ROLLBACK=true oc adm upgrade rollback"
    Then it <answer>

    Examples:
      | from   | to     | answer                                                                                                                                                                                                       |
      | 4.16.1 | 4.16.5 | prints "Requested rollback from 4.16.5 to 4.16.1"                                                                                                                                                            |
      | 4.16.1 | 4.17.0 | is refused with "4.16.1 is less than the current target 4.17.0 and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended." |
