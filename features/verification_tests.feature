Feature: Steps of verification-tests, unchanged

  Background:
    Given a 4.14.1 cluster
    And insights are published
    And release 4.14.8 exists

  # @author geliu@redhat.com
  # @case_id OCP-22606
  @upgrade-check @admin @upgrade
  Scenario: OCP-22606:Etcd etcd-operator and cluster works well after upgrade
    Given I switch to cluster admin pseudo user
    When I run "oc adm upgrade --to 4.14.8"
    Given I wait up to 7200 seconds for the steps to pass:
    """
    When I run the :get admin command with:
      | resource      | clusterversion                                      |
      | resource_name | version                                             |
      | o             | jsonpath={.status.conditions[?(.type=='Progressing')].message} |
    Then the step should succeed
    And the output should contain "Cluster version is 4.14.8"
    """
    Then the expression should be true> cluster_operator("etcd").condition(cached: false, type: 'Progressing')['status'] == "False"
    And the expression should be true> cluster_operator("etcd").condition(type: 'Available')['status'] == "True"
    And the status of condition "Degraded" for "etcd" operator is: False
    And the "etcd" operator version matches the current cluster version
    When I run the :get admin command with:
      | resource | co/etcd |
      | o        | wide    |
    Then the output should match "etcd +4\.14\.8 +True +False +False"
    And within 1 minute the insight about ClusterOperator/etcd has condition Updating False with reason "Updated"
    And the insight about ClusterOperator/etcd has condition Healthy True with reason "AsExpected"

  @own
  Scenario: A value is stored in the clipboard and compared with the output of a command
    Given evaluation of `cluster_version('version').version` is stored in the :version clipboard
    When I run the :get admin command with:
      | resource | clusterversion |
    Then the step should succeed
    And the output should contain:
      | NAME                  |
      | <%= cb.version %>     |
      | Cluster version is 4. |
    And the output should not contain:
      | Working towards |
      | Error           |
    When I run the :get admin command with:
      | resource      | configmap |
      | resource_name | none      |
      | n             | default   |
    Then the step should fail
    And the output should contain "not found"
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
    And there was never a health insight

  @own
  Scenario: A pod becomes ready, and a patch pauses a pool
    Given I use the "openshift-cluster-version" project
    Then a pod becomes ready with labels:
      | k8s-app=cluster-version-operator |
    When as admin I successfully merge patch resource "machineconfigpool/worker" with:
      | {"spec": {"paused": true}} |
    Then MachineConfigPool/worker field "spec.paused" is "true"
    And the insight about MachineConfigPool/worker has condition Updating False with reason "Updated"
    # The pool is paused, but none of its nodes is outdated.
    And there is no health insight about MachineConfigPool/worker

  @own
  Scenario: Objects are created from a test data file, and their pods are counted
    Given I obtain test data file "pods/web.yaml"
    And I use the "default" project
    When I run the :create client command with:
      | f | web.yaml |
    Then the step should succeed
    And status becomes :running of exactly 2 pods labeled:
      | app=web |
    And status becomes :running of 1 pod labeled:
      | app=web |
    And Deployment/default/web condition Available is True
    And within 1 minute the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"

  @own
  Scenario: A first user creates a project and pods from a file with other values
    Given I switch to the first user
    When I run the :new_project client command with:
      | project_name | shop           |
      | description  | Where to shop. |
    Then the step should succeed
    When I run oc create over "pods/pod.yaml" replacing paths:
      | ["metadata"]["name"]           | till                   |
      | ["metadata"]["labels"]["shop"] | <%= project.name %>    |
    Then the step should succeed
    And a pod becomes ready with labels:
      | shop=shop |
    When I run the :get client command with:
      | resource      | pod  |
      | resource_name | till |
      | o             | yaml |
    And evaluation of `@result[:parsed]['metadata']['labels']['shop']` is stored in the :owner clipboard
    Then the output should match:
      | name: till              |
      | namespace: +<%= cb.owner %> |
    And the output should match:
      """
      phase: (Running|Pending)
      """
    And the insight about ClusterVersion/version has condition Updating False with reason "ClusterVersionNotProgressing"
