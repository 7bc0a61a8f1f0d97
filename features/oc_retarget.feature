@intent @update
Feature: Explicit targets and retargets
  An administrator requests another target than the recommended one, also while an update is in progress. The
  client or the cluster rejects or records the request.

  Background:
    Given insights are published

  # OCP-25473
  Scenario: During an update, the client warns about another target, and the cluster rejects another minor
    Given a 4.19.3 cluster
    And release 4.19.9 exists
    And release 4.19.12 exists
    And release 4.20.1 exists
    When 5 minutes pass
    And I run "oc adm upgrade --to 4.19.9"
    Then within 30 minutes ClusterVersion condition Progressing is True with message matching /, waiting on etcd$/
    When I run "oc adm upgrade --to-image $(image 4.19.12)"
    Then it is refused with a text with "the cluster is already upgrading:"
    And it is refused with a text with "If you want to upgrade anyway, use --allow-upgrade-with-warnings."
    When I run "oc adm upgrade --to-image $(image 4.20.1) --allow-upgrade-with-warnings"
    Then it prints "Requested update to 4.20.1"
    And within 10 minutes ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message containing "4.20.1"
    And ClusterVersion condition Progressing is True with message matching /^Working towards 4\.19\.9/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The cluster does not meet the preconditions of release 4.20.1"
    And the insight about ClusterVersion/version has "versions.target.version" "4.19.9"
    When I run "oc adm upgrade"
    Then it prints /ReleaseAccepted=False\n\n  Reason: PreconditionChecks\n  Message: Preconditions failed for payload loaded version="4\.20\.1"/
    When I run "oc adm upgrade --clear"
    Then it prints "Cancelled requested upgrade to 4.20.1"
    And within 10 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And within 2 minutes there is no health insight with summary /preconditions/
    And the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"

  # OCP-24663
  Scenario: An unsigned release is rejected until the request is cleared
    Given a 4.16.1 cluster
    And release 4.16.5 exists but is not recommended
    And release 4.16.5 has no OpenPGP signature
    When 5 minutes pass
    And I run "oc adm upgrade --to-image $(image 4.16.5) --allow-explicit-upgrade"
    Then it warns "warning: The requested upgrade image is not one of the available updates. You have used --allow-explicit-upgrade for the update to proceed anyway"
    And within 2 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message containing "failure=The update cannot be verified:"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /^No trusted key has signed release / and description /The update cannot be verified:/
    When I run "oc adm upgrade --clear"
    Then it prints a text with "Cancelled requested upgrade to quay.io/"
    And within 2 minutes there is no health insight

  # OCP-21588
  Scenario: A forced update is not verified
    Given a 4.16.1 cluster
    And release 4.16.5 exists but is not recommended
    And release 4.16.5 has no OpenPGP signature
    When 5 minutes pass
    And I run "oc adm upgrade --to-image $(image 4.16.5)"
    Then it is refused with a text with "specify --allow-explicit-upgrade to continue with the update"
    And ClusterVersion field "status.history[1].version" is ""
    When I run "oc adm upgrade --to-image $(image 4.16.5) --allow-explicit-upgrade --force"
    Then it warns a text with "warning: --force overrides cluster verification of your supplied release image"
    And within 10 minutes ClusterVersion field "status.history[0].version" is "4.16.5"
    And ClusterVersion field "status.history[0].verified" is "false"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.16.5"
    And there was never a health insight

  # OCP-60397
  Scenario: A request for several architectures is recorded and cleared
    Given a 4.16.1 cluster
    When 5 minutes pass
    And I run "oc adm upgrade --to-multi-arch"
    Then it prints "Requested update to multi cluster architecture"
    And ClusterVersion field "spec.desiredUpdate.architecture" is "Multi"
    And ClusterVersion field "spec.desiredUpdate.version" is "4.16.1"
    When I run "oc adm upgrade --to-multi-arch"
    Then it is refused with "info: Update to multi cluster architecture has already been requested"
    When I run "oc adm upgrade --clear"
    Then it prints "Cleared the update field, still at 4.16.1"
    And condition Updating of the insight about ClusterVersion/version was False in turn
    And there was never a health insight
