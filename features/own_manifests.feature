@reconcile
Feature: Manifests of the cluster-version operator itself
  The operator's namespace and monitoring objects are manifests of the payload like any other. The operator
  applies and restores them.

  Background:
    Given insights are published

  # OCP-41391
  Scenario: Prometheus scrapes the operator's metrics only over HTTPS
    Given a 4.18.1 cluster
    When 5 minutes pass
    Then Deployment/openshift-cluster-version/cluster-version-operator field "spec.template.spec.containers[0].args" is /"--listen=0.0.0.0:9099","--serving-cert-file=.etc.tls.serving-cert.tls.crt","--serving-key-file=.etc.tls.serving-cert.tls.key"/
    And Service/openshift-cluster-version/cluster-version-operator field "spec.ports[0].port" is "9099"
    And ServiceMonitor/openshift-cluster-version/cluster-version-operator field "spec.endpoints[0].scheme" is "https"
    When I apply this object:
      """
      apiVersion: monitoring.coreos.com/v1
      kind: ServiceMonitor
      metadata: {name: cluster-version-operator, namespace: openshift-cluster-version}
      spec: {endpoints: [{port: metrics, scheme: http}]}
      """
    Then within 5 minutes ServiceMonitor/openshift-cluster-version/cluster-version-operator field "spec.endpoints[0].scheme" is "https"
    And alert "ClusterVersionOperatorDown" is not firing
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec:
        overrides:
        - {kind: ServiceMonitor, group: monitoring.coreos.com, namespace: openshift-cluster-version, name: cluster-version-operator, unmanaged: true}
      """
    And I apply this object:
      """
      apiVersion: monitoring.coreos.com/v1
      kind: ServiceMonitor
      metadata: {name: cluster-version-operator, namespace: openshift-cluster-version}
      spec: {endpoints: [{port: metrics, scheme: http}]}
      """
    Then within 12 minutes alert "ClusterVersionOperatorDown" is firing
    And there is no health insight with summary /^Alert is firing/
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: ClusterVersion
      metadata: {name: version}
      spec: {overrides: null}
      """
    Then within 1 minute there is a health insight with summary /^Alert is firing: Cluster version operator has disappeared/
    And within 5 minutes alert "ClusterVersionOperatorDown" is not firing
    And within 1 minute there is no health insight
    When I delete Service/openshift-cluster-version/cluster-version-operator
    Then within 5 minutes Service/openshift-cluster-version/cluster-version-operator exists
    And condition Updating of the insight about ClusterVersion/version was False, Unknown, False, Unknown, False in turn
    And there is no health insight

  # OCP-46922
  Scenario: The operator's namespace has no run level
    Given a 4.18.1 cluster
    When 5 minutes pass
    Then Namespace/openshift-cluster-version field "metadata.labels" is /"openshift.io.run-level":""/
    And Pod/openshift-cluster-version/cluster-version-operator-* annotation "openshift.io/scc" is "hostaccess"
    When I apply this object:
      """
      apiVersion: v1
      kind: Namespace
      metadata: {name: openshift-cluster-version, labels: {openshift.io/run-level: "1", mine: stays}}
      """
    Then within 5 minutes Namespace/openshift-cluster-version field "metadata.labels['openshift.io/run-level']" is ""
    And Namespace/openshift-cluster-version field "metadata.labels.mine" is "stays"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight

  @own
  Scenario: SecurityContextConstraints restrict pods, except in namespaces with a run level
    Given a 4.18.1 cluster
    When I apply this object:
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, namespace: default}
      spec:
        replicas: 1
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: web, image: web}]}
      """
    Then within 2 minutes Pod/default/web-* annotation "openshift.io/scc" is "restricted-v2"
    When I apply this object:
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: agent, namespace: default}
      spec:
        replicas: 1
        selector: {matchLabels: {app: agent}}
        template:
          metadata: {labels: {app: agent}}
          spec: {hostNetwork: true, containers: [{name: agent, image: agent}]}
      """
    Then throughout 2 minutes Pod/default/agent-* does not exist
    And Deployment/default/agent field "status.conditions" is /unable to validate against any security context constraint: .provider .+anyuid.+: Forbidden: not usable by user or serviceaccount, provider restricted-v2: .spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used,/
    When I apply this object:
      """
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRoleBinding
      metadata: {name: agents}
      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:openshift:scc:privileged"}
      subjects: [{kind: ServiceAccount, name: default, namespace: default}]
      """
    Then within 20 minutes Pod/default/agent-* annotation "openshift.io/scc" is "privileged"
    When I apply this object:
      """
      apiVersion: v1
      kind: Namespace
      metadata: {name: beneath, labels: {openshift.io/run-level: "1"}}
      """
    And I apply this object:
      """
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: agent, namespace: beneath}
      spec:
        replicas: 1
        selector: {matchLabels: {app: agent}}
        template:
          metadata: {labels: {app: agent}, annotations: {mine: stays}}
          spec: {hostNetwork: true, containers: [{name: agent, image: agent}]}
      """
    Then within 2 minutes Pod/beneath/agent-* field "metadata.annotations" is /^."mine":"stays".$/
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight

  # OCP-48247
  Scenario: Scraping survives a new service CA key, but not a certificate of another signer
    Given a 4.18.1 cluster
    When 5 minutes pass
    Then Secret/openshift-cluster-version/cluster-version-operator-serving-cert field "type" is "kubernetes.io/tls"
    And Secret/openshift-cluster-version/cluster-version-operator-serving-cert annotation "service.beta.openshift.io/originating-service-name" is "cluster-version-operator"
    When I apply this object:
      """
      apiVersion: monitoring.coreos.com/v1
      kind: PrometheusRule
      metadata: {name: targets, namespace: openshift-monitoring}
      spec:
        groups:
        - name: general.rules
          rules:
          - alert: TargetDown
            expr: 100 * (count(up == 0) by (job, namespace) / count(up) by (job, namespace)) > 10
            for: 15m
            labels: {severity: warning}
            annotations: {summary: Some targets were not reachable from the monitoring server for an extended period of time.}
      """
    And I delete Secret/openshift-service-ca/signing-key
    Then within 1 minute Secret/openshift-service-ca/signing-key exists
    # The operator serves a certificate of the deleted key until it reloads the Secret.
    And within 1 minute alert "ClusterVersionOperatorDown" is pending
    And within 2 minutes alert "ClusterVersionOperatorDown" is not pending
    And throughout 30 minutes alert "ClusterVersionOperatorDown" is not firing
    And alert "TargetDown" was never firing
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight
    When service-ca sees nothing new for 40 minutes
    # A certificate that is signed by `a` instead of the service CA.
    And I apply this object:
      """
      apiVersion: v1
      kind: Secret
      metadata: {name: cluster-version-operator-serving-cert, namespace: openshift-cluster-version}
      data: {tls.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmV5SnpkV0pxWldOMElqb2dJbVZzYzJWM2FHVnlaU0lzSUNKclpYa2lPaUFpWWlJc0lDSnphV2R1WldSQ2VTSTZJQ0poSW4wPQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==}
      """
    Then within 20 minutes alert "ClusterVersionOperatorDown" is firing
    And within 20 minutes alert "TargetDown" is firing
    And within 30 minutes alert "ClusterVersionOperatorDown" is not firing
    And alert "TargetDown" is not firing
    And there was never a health insight

  # OCPBUGS-77762
  Scenario: From 4.22 on, a NetworkPolicy denies all traffic in the operator's namespace by default
    Given a 4.21.1 cluster
    And the update channel "stable-4.22"
    And release 4.22.2 exists
    When 5 minutes pass
    Then NetworkPolicy/openshift-cluster-version/default-deny does not exist
    When I run "oc adm upgrade --to 4.22.2"
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.22.2"
    And NetworkPolicy/openshift-cluster-version/default-deny field "spec.policyTypes" is /\["Ingress","Egress"\]/
    And throughout 10 minutes ClusterVersion condition RetrievedUpdates is True
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn
    And there was never a health insight about ClusterVersion/version
    When I delete NetworkPolicy/openshift-cluster-version/default-deny
    Then within 5 minutes NetworkPolicy/openshift-cluster-version/default-deny exists

  # OTA-1996
  Scenario: Prometheus still scrapes the operator when all components must use TLS 1.3
    Given a 5.0.1 cluster
    And the feature set "TechPreviewNoUpgrade"
    When 5 minutes pass
    And I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: APIServer
      metadata: {name: cluster}
      spec: {tlsAdherence: StrictAllComponents, tlsSecurityProfile: {type: Modern, modern: {}}}
      """
    Then throughout 30 minutes Lease/openshift-cluster-version/version field "spec.holderIdentity" does not change
    And alert "ClusterVersionOperatorDown" was never pending
    And ClusterVersion condition Failing was never True
    And APIServer/cluster field "spec.tlsSecurityProfile.type" is "Modern"
    And APIServer/cluster field "spec.tlsAdherence" is "StrictAllComponents"
    When I try to apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: APIServer
      metadata: {name: cluster}
      spec: {tlsSecurityProfile: {type: Newest}}
      """
    Then it is refused with a text with "spec.tlsSecurityProfile.type: Unsupported value: "Newest": supported values: "Old", "Intermediate", "Modern", "Custom""
    When I try to apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: APIServer
      metadata: {name: cluster}
      spec: {tlsAdherence: null}
      """
    Then it is refused with a text with "tlsAdherence may not be removed once set"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight

  @own
  Scenario: The API server accepts only the encryption types of its release
    Given a 4.12.1 cluster
    And release 4.13.4 exists
    And the update channel "stable-4.13"
    When 5 minutes pass
    And I try to apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: APIServer
      metadata: {name: cluster}
      spec: {encryption: {type: aesgcm}}
      """
    Then it is refused with a text with "spec.encryption.type: Unsupported value: "aesgcm": supported values: "", "identity", "aescbc""
    When I update to 4.13.4
    Then within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.13.4"
    When I apply this object:
      """
      apiVersion: config.openshift.io/v1
      kind: APIServer
      metadata: {name: cluster}
      spec: {encryption: {type: aesgcm}}
      """
    Then APIServer/cluster field "spec.encryption.type" is "aesgcm"
    And APIServer/cluster field "spec.audit.profile" is "Default"
    And within 1 minute condition Updating of the insight about ClusterVersion/version was False, True, False in turn
