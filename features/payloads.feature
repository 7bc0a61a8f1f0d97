@retrieval
Feature: Payloads that come late, come broken or are not what was asked for
  What is fetched must be readable and of the version that was asked for; until then nothing of the cluster changes.

  Scenario Outline: A slow registry is waited for, by the operator of <from>
    Given a <from> cluster
    And release <to> exists
    And pulling release <to> is slow
    When I update to <to>
    Then throughout 1 minute ClusterVersion field "status" does not change
    And within 2 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "<to>"

    Examples:
      | from   | to     |
      | 4.16.1 | 4.16.5 |
      | 4.20.1 | 4.20.5 |

  Scenario: A registry that is out of service is told of when the pod's deadline is over
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    And pulling release 4.20.5 finds the registry unavailable
    When I update to 4.20.5
    Then within 1 minute Pod/openshift-cluster-version/version-* has status "Init:RegistryUnavailable"
    And within 3 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /pod version-4\.20\.5-\w{5} failed with reason "DeadlineExceeded" and message "Pod was active on the node longer than the specified deadline" and status initcontainer cleanup is waiting with reason "ImagePullBackOff" and message "Back-off pulling image "\S+": RegistryUnavailable: /

  Scenario: An image name that no registry can have
    Given a 4.20.1 cluster
    When I update to image "quay.io/openshift-release-dev/ocp,release:4.20.5" by force
    Then within 1 minute Pod/openshift-cluster-version/version-* has status "Init:InvalidImageName"
    And within 3 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /failed with reason "DeadlineExceeded" .* and status initcontainer cleanup is waiting with reason "InvalidImageName" and message "Failed to apply default image tag /

  Scenario: A payload that cannot be read
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    And the payload of release 4.20.5 is corrupt
    When I update to 4.20.5
    Then within 1 minute ClusterVersion condition ReleaseAccepted is False with reason "LoadPayload" and message matching /^Loading payload failed version="4\.20\.5" image="\S+" failure=Error loading manifests from \/etc\/cvo\/updatepayloads\/[\w-]{22}: /
    And throughout 10 minutes ClusterVersion field "status.history" does not change
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.20.1"

  Scenario: An image of another version than was asked for
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

  # Signatures are about digests: a mirror of the image is as good.
  Scenario: An image in another repository stays the one that was asked for
    Given a 4.20.1 cluster
    And release 4.20.5 exists
    When I update to image "mirror.example.com:5000/ocp/release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6"
    Then within 2 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "Payload loaded version="4.20.5" image="mirror.example.com:5000/ocp/release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6""
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.20.5"
    And ClusterVersion field "status.desired.image" is "mirror.example.com:5000/ocp/release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6"
    And ClusterVersion field "status.history[0].image" is "mirror.example.com:5000/ocp/release@sha256:f90e9bee4a574a2de3bfaa328f01ce6d7796149eac7f013daa9b265875324bd6"
    And ClusterVersion field "status.history[0].verified" is "true"
    And ClusterVersion field "status.history[1].version" is "4.20.1"
    And ClusterVersion field "status.history[2]" is ""
