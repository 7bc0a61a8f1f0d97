@retrieval
Feature: A release image that cannot be retrieved
  If the operator of a release watches the version pod, ReleaseAccepted names the pod's error. The rest of the
  cluster does not change, and clearing the request ends the problem.

  Background:
    Given insights are published

  # OTA-1321, OCP-21771
  Scenario: A non-existent digest: ReleaseAccepted names the pod's error
    Given a 4.20.1 cluster
    When 2 minutes pass
    And I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000" by force
    Then within 1 minute Pod/openshift-cluster-version/version-* has status "Init:ErrImagePull"
    And within 1 minute ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /initcontainer cleanup is waiting with reason "ErrImagePull" and message ".*manifest unknown"$/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /^The payload of release quay\.io\S+ cannot be retrieved$/ and description /ErrImagePull.*manifest unknown/
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.20.1"
    When I clear the update request
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And throughout 20 minutes ClusterVersion condition Progressing is False with message "Cluster version is 4.20.1"
    And there is no health insight
    And condition Updating of the insight about ClusterVersion/version was False in turn

  # OCP-22641
  Scenario: An older operator watches its Job and reports only a deadline
    Given a 4.14.1 cluster
    When 2 minutes pass
    And I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000" by force
    Then within 1 minute Pod/openshift-cluster-version/version-* has status "Init:ErrImagePull"
    And within 1 minute Pod/openshift-cluster-version/version-* has status "Init:ImagePullBackOff"
    And within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /Job was active longer than specified deadline"$/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and description /deadline.* \| pod version-.*manifest unknown/
    When I clear the update request
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And within 2 minutes there is no health insight

  # OTA-1307, NODES-93
  Scenario Outline: From 4.19 on, ReleaseAccepted names the pod's error instead of a deadline (<version>)
    Given a <version> cluster
    When I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000" by force
    Then within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching <message>
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /^The payload of release quay\.io\S+ cannot be retrieved$/ and description /manifest unknown/

    Examples:
      | version | message                                                                      |
      | 4.12.9  | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ |
      | 4.13.9  | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ |
      | 4.14.9  | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ |
      | 4.15.9  | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ |
      | 4.16.9  | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ |
      | 4.17.9  | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ |
      | 4.18.9  | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ |
      | 4.19.2  | /update: fetching update payload: pod .* waiting with reason "ErrImagePull"/   |
      | 4.20.2  | /update: fetching update payload: pod .* waiting with reason "ErrImagePull"/   |
      | 4.21.2  | /update: fetching update payload: pod .* waiting with reason "ErrImagePull"/   |
      | 4.22.2  | /update: fetching update payload: pod .* waiting with reason "ErrImagePull"/   |

  # OTA-1304, NODES-92
  @signature
  Scenario Outline: An image policy rejects a release without a Sigstore signature, <how>
    Given a 4.20.1 cluster
    And release 4.20.3 exists
    And release 4.20.3 has no Sigstore signature
    And this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterImagePolicy
      metadata: {name: openshift}
      spec:
        scopes: [quay.io/openshift-release-dev/ocp-release]
        policy:
          rootOfTrust:
            policyType: PublicKey
            publicKey: {keyData: LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KLS0tLS1FTkQgUFVCTElDIEtFWS0tLS0tCg==}
      """
    When <request>
    Then within 2 minutes Pod/openshift-cluster-version/version-* has status "Init:SignatureValidationFailed"
    And within 1 minute ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching /A signature was required, but no signature exists"$/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The payload of release 4.20.3 cannot be retrieved" and description /SignatureValidationFailed/

    Examples:
      | how           | request                      |
      | as requested  | I update to 4.20.3           |
      | also by force | I update to 4.20.3 by force  |

  # OTA-1321, OTA-1304, NODES-92
  @signature
  Scenario Outline: The public key of an image policy rejects a signature <how> (<version>)
    Given a <version> cluster
    And the feature set "TechPreviewNoUpgrade"
    And release <target> exists
    And the Sigstore signature of release <target> is <how>
    And this object:
      """
      apiVersion: config.openshift.io/<api>
      kind: ClusterImagePolicy
      metadata: {name: openshift}
      spec:
        scopes: [quay.io/openshift-release-dev/ocp-release]
        policy:
          rootOfTrust:
            policyType: PublicKey
            publicKey: {keyData: LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KLS0tLS1FTkQgUFVCTElDIEtFWS0tLS0tCg==}
      """
    When I update to <target>
    Then within 2 minutes Pod/openshift-cluster-version/version-* has status "Init:SignatureValidationFailed"
    And within 5 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message matching <message>
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The payload of release <target> cannot be retrieved" and description <description>

    Examples: The operator watches the pod
      | version | target | api      | how                  | message                                                                                                                                          | description                    |
      | 4.20.1  | 4.20.3 | v1       | by another key       | /"SignatureValidationFailed" and message ".*Source image rejected: cryptographic signature verification failed: invalid signature when validating ASN.1 encoded signature"$/ | /SignatureValidationFailed/    |
      | 4.20.1  | 4.20.3 | v1       | for another identity | /Source image rejected: Signature for identity .*registry.example.com.releases.ocp-release.* is not accepted"$/ | /SignatureValidationFailed/    |
      | 4.19.2  | 4.19.5 | v1alpha1 | by another key       | /Source image rejected: cryptographic signature verification failed/                                                                             | /SignatureValidationFailed/    |

    Examples: The operator watches a Job
      | version | target | api      | how                  | message                                                               | description                                          |
      | 4.17.9  | 4.17.12 | v1alpha1 | by another key      | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ | /cryptographic signature verification failed/ |
      | 4.18.9  | 4.18.12 | v1alpha1 | for another identity | /update: deadline exceeded, .*"Job was active longer than specified deadline"$/ | /Signature for identity/                      |

  # OCP-24663
  @signature
  Scenario: An unsigned release is rejected before the operator creates a pod
    Given a 4.20.1 cluster
    And release 4.20.3 exists
    And release 4.20.3 has no OpenPGP signature
    When I update to 4.20.3
    Then within 2 minutes ClusterVersion condition ReleaseAccepted is False with reason "RetrievePayload" and message containing "The update cannot be verified: unable to verify sha256:"
    And Pod/openshift-cluster-version/version-* does not exist
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "No trusted key has signed release 4.20.3"
    And there is no health insight with summary /cannot be retrieved/
