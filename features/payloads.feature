@retrieval
Feature: Slow, broken and mismatched payloads
  The operator accepts a payload only if it is readable and has the requested version. Until then, nothing in
  the cluster changes.

  Background:
    Given insights are published

  @own
  Scenario Outline: The operator of <from> waits for a slow registry
    Given a <from> cluster
    And release <to> exists
    And pulling release <to> is slow
    When I update to <to>
    Then throughout 1 minute ClusterVersion field "status" does not change
    And within 2 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "<to>"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "<to>"
    And there was never a health insight

    Examples:
      | from   | to     |
      | 4.16.1 | 4.16.5 |
      | 4.20.1 | 4.20.5 |

  @own
  Scenario: An unavailable registry is reported when the deadline of the version pod expires
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    And pulling release 4.20.5 finds the registry unavailable
    When I update to 4.20.5
    Then within 1 minute Pod/openshift-cluster-version/version-* has status "Init:RegistryUnavailable"
    And within 3 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /pod version-4\.20\.5-\w{5} failed with reason "DeadlineExceeded" and message "Pod was active on the node longer than the specified deadline" and status initcontainer cleanup is waiting with reason "ImagePullBackOff" and message "Back-off pulling image \\"\S+\\": RegistryUnavailable: /
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The payload of release 4.20.5 cannot be retrieved" and description /RegistryUnavailable/

  @own
  Scenario: A manifest with another digest: ReleaseAccepted reports the mismatch
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    And pulling release 4.20.5 finds another digest
    When I update to 4.20.5
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /reason "DeadlineExceeded" .* waiting with reason "ImagePullBackOff" and message ".*Manifest does not match provided manifest digest sha256:[0-9a-f]{64}"$/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The payload of release 4.20.5 cannot be retrieved" and description /Manifest does not match provided manifest digest/

  @own
  Scenario: An invalid image name: ReleaseAccepted reports InvalidImageName
    Given a 4.20.1 cluster
    When I update to image "quay.io/openshift-release-dev/ocp,release:4.20.5" by force
    Then within 1 minute Pod/openshift-cluster-version/version-* has status "Init:InvalidImageName"
    And within 3 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /failed with reason "DeadlineExceeded" .* and status initcontainer cleanup is waiting with reason "InvalidImageName" and message "Failed to apply default image tag /
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /^The payload of release quay\.io\S+ cannot be retrieved$/ and description /InvalidImageName/

  @own
  Scenario Outline: The payload of <to> <defect>: ReleaseAccepted has the reason <reason>
    Given a <from> cluster
    And release <to> exists
    And the payload of release <to> <defect>
    When I update to <to>
    Then within 3 minutes ClusterVersion condition ReleaseAccepted is False with reason "<reason>" and message matching <message>
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary <insight>
    And throughout 10 minutes ClusterVersion field "status.history" does not change
    And ClusterVersion condition Progressing is False with message "Cluster version is <from>"
    And ClusterVersion condition Failing is False

    Examples:
      | from   | to     | defect                                  | reason               | message | insight                                                 |
      | 4.20.1 | 4.20.5 | is corrupt                              | LoadPayload          | /^Loading payload failed version="4.20.5" image=".*" failure=Error loading manifests from .etc.cvo.updatepayloads.[A-Za-z0-9_-]{22}: parse 0000_.*_00_namespace.yaml: error parsing: error converting YAML to JSON: / | "Release 4.20.5 is not accepted (LoadPayload)"          |
      | 4.20.1 | 4.20.5 | has unreadable metadata                 | LoadPayload          | /failure=unmarshal Cincinnati metadata: unexpected end of JSON input$/ | "Release 4.20.5 is not accepted (LoadPayload)"          |
      | 4.20.1 | 4.20.5 | has image references of another version | LoadPayload          | /failure=version from image-references .0.0.1-snapshot. differs from release-metadata .4.20.5.$/ | "Release 4.20.5 is not accepted (LoadPayload)"          |
      | 4.20.1 | 4.20.5 | has no image references                 | RetrievePayload      | /failure=Unable to download and prepare the update: confirming the presence of release-image content in ".etc.cvo.updatepayloads.[A-Za-z0-9_-]{22}": stat .etc.*.release-manifests.image-references: no such file or directory$/ | "The payload of release 4.20.5 cannot be retrieved"     |
      | 4.16.1 | 4.16.5 | has no image references                 | RetrievePayload      | /failure=Unable to download and prepare the update: stat .etc.*.release-manifests.image-references: no such file or directory$/ | "The payload of release 4.16.5 cannot be retrieved"     |
      | 4.20.1 | 4.20.5 | is missing                              | RetrievePayload      | /failed with reason "DeadlineExceeded" .* and status initcontainer copy-operator-manifests-to-temporary-directory is waiting with reason "CrashLoopBackOff" and message "back-off .*s restarting failed container=copy-operator-manifests-to-temporary-directory / | "The payload of release 4.20.5 cannot be retrieved"     |
      | 5.0.1  | 5.0.2  | is missing                              | RetrievePayload      | /failed at pending .* and status initcontainer copy-operator-manifests-to-temporary-directory is terminated with reason "Error" and message "cp: cannot stat '.manifests': No such file or directory.n"$/ | "The payload of release 5.0.2 cannot be retrieved"      |
      | 4.20.1 | 4.20.5 | is of version 4.20.6                    | VerifyPayloadVersion | /^Verifying payload failed version="4.20.5" image=".*" failure=release image version 4.20.6 does not match the expected upstream version 4.20.5$/ | "Release 4.20.5 is not accepted (VerifyPayloadVersion)" |

  @own
  Scenario: An update to an image installs the version in its payload
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    And the payload of release 4.20.5 is of version 4.20.6
    When I update to image "quay.io/openshift-release-dev/ocp-release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6"
    Then within 2 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "Payload loaded version="4.20.6""
    And within 5 minutes ClusterVersion field "status.history[0].version" is "4.20.6"
    And ClusterVersion field "status.history[0].image" is "quay.io/openshift-release-dev/ocp-release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.20.6"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.20.6"
    And the insight about ClusterVersion/version has "versions.previous.version" "4.20.1"

  @own
  Scenario: An image of another version than requested is rejected
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec:
        desiredUpdate:
          version: 4.20.4
          image: quay.io/openshift-release-dev/ocp-release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6
      """
    Then within 1 minute ClusterVersion condition ReleaseAccepted is False with reason "VerifyPayloadVersion" and message matching /^Verifying payload failed version="4\.20\.4" image="\S+" failure=release image version 4\.20\.5 does not match the expected upstream version 4\.20\.4$/
    And throughout 10 minutes ClusterVersion field "status.history" does not change
    And there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "Release 4.20.4 is not accepted (VerifyPayloadVersion)"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"

  # A signature covers a digest, so it also verifies a mirrored image.
  @own
  Scenario: An update to a mirrored image keeps the requested pull spec
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    When I update to image "mirror.example.com:5000/ocp/release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6"
    Then within 2 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "Payload loaded version="4.20.5" image="mirror.example.com:5000/ocp/release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6""
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.20.5"
    And ClusterVersion field "status.desired.image" is "mirror.example.com:5000/ocp/release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6"
    And ClusterVersion field "status.history[0].image" is "mirror.example.com:5000/ocp/release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6"
    And ClusterVersion field "status.desired.channels" is /stable-4\.20/
    And ClusterVersion field "status.history[0].verified" is "true"
    And ClusterVersion field "status.history[1].version" is "4.20.1"
    And ClusterVersion field "status.history[2]" is ""
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.20.5"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  @own
  Scenario: A registry that recovers before the deadline of the version pod only delays the update
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    When pulling release 4.20.5 finds the registry unavailable for 1 minute
    And I update to 4.20.5
    Then within 1 minute Pod/openshift-cluster-version/version-* has status "Init:RegistryUnavailable"
    And within 2 minutes ClusterVersion condition ReleaseAccepted is True with message containing "4.20.5"
    And within 1 minute the insight about ClusterVersion/version has "versions.target.version" "4.20.5"

  @own
  Scenario: The update starts after registry credentials are fixed
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    When pulling release 4.20.5 is unauthorized
    And I update to 4.20.5
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The payload of release 4.20.5 cannot be retrieved"
    When pulling release 4.20.5 is as before
    Then within 15 minutes ClusterVersion condition ReleaseAccepted is True with message containing "4.20.5"
    And within 2 minutes there is no health insight

  @own
  Scenario: The update starts after a corrupt payload is fixed
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    When release 4.20.5 becomes corrupt
    And I update to 4.20.5
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "LoadPayload" and message containing "could not find expected ':'"
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "Release 4.20.5 is not accepted (LoadPayload)"
    When release 4.20.5 recovers
    Then within 15 minutes ClusterVersion condition ReleaseAccepted is True with message containing "4.20.5"
    And within 2 minutes there is no health insight
