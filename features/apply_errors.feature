@apply
Feature: Manifests that the API server rejects
  The cluster-version operator reports a manifest that it cannot apply, and continues as soon as it can.

  Background:
    Given insights are published

  @own
  Scenario: Missing permissions: Failing has the reason UpdatePayloadResourceForbidden
    Given a 4.19.3 cluster
    When I apply this object:
      """
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: no-workloads}
      rules:
      - {apiGroups: ["", config.openshift.io, coordination.k8s.io], resources: ["*"], verbs: ["*"]}
      - {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}
      """
    And I apply this object:
      """
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRoleBinding
      metadata: {name: no-workloads}
      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: no-workloads}
      subjects:
      - {kind: ServiceAccount, name: default, namespace: openshift-cluster-version}
      """
    And I delete ClusterRoleBinding/cluster-version-operator
    And I delete Deployment/openshift-dns-operator/dns-operator
    Then within 10 minutes ClusterVersion condition Failing is True with reason "UpdatePayloadResourceForbidden" and message matching /^Could not update deployment "openshift-dns-operator\/dns-operator" \(\d+ of \d+\): the server has forbidden updates to this resource$/
    And ClusterVersion condition Progressing is False with reason "UpdatePayloadResourceForbidden" and message "Error while reconciling 4.19.3: the server is rejecting updates"
    And ClusterVersion condition Available is True with message "Done applying 4.19.3"
    # No update is in progress, so none fails.
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And the insight about ClusterVersion/version has "assessment" "Completed"
    When I apply this object:
      """
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRoleBinding
      metadata: {name: cluster-version-operator}
      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
      subjects:
      - {kind: ServiceAccount, name: default, namespace: openshift-cluster-version}
      """
    Then within 10 minutes ClusterVersion condition Failing is False
    And ClusterVersion condition Progressing is False with message "Cluster version is 4.19.3"
    And Deployment/openshift-dns-operator/dns-operator exists
    And there was never a health insight about ClusterVersion/version

  @own
  Scenario: An admission policy that denies a manifest stalls the update
    Given a 4.19.3 cluster
    And release 4.19.5 exists
    When I apply this object:
      """
      apiVersion: admissionregistration.k8s.io/v1
      kind: ValidatingAdmissionPolicy
      metadata: {name: frozen}
      spec:
        matchConstraints:
          resourceRules:
          - {apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}
        validations:
        - {expression: "object.metadata.name != 'dns-operator'", message: nobody touches this}
      """
    And I apply this object:
      """
      apiVersion: admissionregistration.k8s.io/v1
      kind: ValidatingAdmissionPolicyBinding
      metadata: {name: frozen}
      spec: {policyName: frozen, validationActions: [Deny]}
      """
    And I update to 4.19.5
    Then within 2 hours ClusterVersion condition Failing is True with reason "UpdatePayloadResourceInvalid" and message matching /^Could not update deployment "openshift-dns-operator\/dns-operator" \(\d+ of \d+\): the object is invalid, possibly due to local cluster configuration$/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary /is failing to proceed with the update \(UpdatePayloadResourceInvalid\)$/
    And the insight about ClusterVersion/version has "assessment" "Degraded"
    And within 30 minutes ClusterVersion condition Progressing is True with reason "UpdatePayloadResourceInvalid" and message "Unable to apply 4.19.5: some cluster configuration is invalid"
    When I delete ValidatingAdmissionPolicyBinding/frozen
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.19.5"
    And ClusterVersion condition Failing is False
    And within 2 minutes there is no health insight about ClusterVersion/version
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  @own
  Scenario: An unreachable webhook: Failing has the reason UpdatePayloadClusterError
    Given a 4.19.3 cluster
    When I apply this object:
      """
      apiVersion: admissionregistration.k8s.io/v1
      kind: ValidatingWebhookConfiguration
      metadata: {name: gone}
      webhooks:
      - name: gone.example.com
        admissionReviewVersions: [v1]
        sideEffects: None
        failurePolicy: Fail
        clientConfig: {url: "https://webhook.example.com/validate"}
        rules:
        - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
      """
    And I delete Deployment/openshift-dns-operator/dns-operator
    Then within 10 minutes ClusterVersion condition Failing is True with reason "UpdatePayloadClusterError" and message containing "the server is reporting an internal error"
    And ClusterVersion condition Progressing is False with reason "UpdatePayloadClusterError" and message "Error while reconciling 4.19.3: the control plane is reporting an internal error"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    When I delete ValidatingWebhookConfiguration/gone
    Then within 10 minutes ClusterVersion condition Failing is False
    And there was never a health insight about ClusterVersion/version

  @own
  Scenario: The API server protects required objects, and a deleted ClusterOperator is recreated
    Given a 4.19.3 cluster
    When I try to delete ClusterVersion/version
    Then it is refused with a text with "deleting required clusterversions.config.openshift.io resource, named version, is not allowed"
    When I try to delete FeatureGate/cluster
    Then it is refused with a text with "deleting required featuregates.config.openshift.io resource, named cluster, is not allowed"
    When I try to delete Namespace/openshift-cluster-version
    Then it is refused with a text with "this namespace may not be deleted"
    When I delete ClusterOperator/dns
    Then within 1 minute there is no insight about ClusterOperator/dns
    And within 10 minutes ClusterOperator/dns condition Available is True
    And within 5 minutes the insight about ClusterOperator/dns has condition Updating False with reason "Updated"
    And ClusterVersion condition Available is True
    And the insight about ClusterVersion/version has "versions.target.version" "4.19.3"

  # OCP-51973
  Scenario: The operator does not recreate a deleted Deployment that is overridden
    Given a 4.19.3 cluster
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec:
        overrides:
        - {kind: Deployment, group: apps, namespace: openshift-dns-operator, name: dns-operator, unmanaged: true}
      """
    And I delete Deployment/openshift-dns-operator/dns-operator
    Then within 1 minute ClusterVersion condition Progressing is True with message matching /^Working towards 4\.19\.3/
    And within 10 minutes ClusterVersion condition Upgradeable is False with reason "ClusterVersionOverridesSet"
    And throughout 20 minutes Deployment/openshift-dns-operator/dns-operator does not exist
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {overrides: []}
      """
    Then within 1 minute Deployment/openshift-dns-operator/dns-operator exists
