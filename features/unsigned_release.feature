@signature
Feature: A release without a release signature
  The cluster-version operator rejects the release. A forced update installs it, and the history records the
  accepted risk.

  Background:
    Given insights are published

  # OCP-24663
  Scenario: An unsigned release is rejected until the update is forced
    Given a 4.16.1 cluster
    And release 4.16.5 exists
    And release 4.16.5 has no OpenPGP signature
    When I update to 4.16.5
    Then within 2 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /The update cannot be verified: unable to verify sha256:[0-9a-f]{64} against keyrings: verifier-public-key-redhat$/
    And throughout 10 minutes ClusterVersion field "status.history" does not change
    And there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "No trusted key has signed release 4.16.5"
    When I update to 4.16.5 by force
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And within 2 minutes there is no health insight
    And within 5 minutes the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.16.5"
    And ClusterVersion field "status.history[0].verified" is "false"
    And ClusterVersion field "status.history[0].acceptedRisks" is /^Target release version="4\.16\.5" image="\S+" cannot be verified, but continuing anyway because the update was forced: unable to verify/

  @own
  Scenario: The update starts when the signature appears
    Given a 4.18.3 cluster
    And release 4.18.7 exists
    When release 4.18.7 loses its OpenPGP signature for 30 minutes
    And I update to 4.18.7
    Then within 2 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message containing "The update cannot be verified"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "No trusted key has signed release 4.18.7"
    When 31 minutes pass
    Then within 10 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And within 2 minutes there is no health insight
    And within 5 minutes the insight about ClusterVersion/version has condition Updating True with reason "ClusterVersionProgressing"
