//! Tests of the conversion of objects of removed versions.

use super::*;

#[track_caller]
fn check(text: &str, expected: &Value) {
    let object: Value = windtunnel_core::yaml::from_str(text).unwrap();
    assert_eq!(conversions(&object).first(), Some(expected), "{text}");
}

#[test]
fn objects_of_removed_versions_are_converted() {
    check(
        "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, spec: {selector: {}}}",
        &json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"selector": {"matchExpressions": [
            {"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": "Exists"}]}}}),
    );
    check(
        "{apiVersion: flowcontrol.apiserver.k8s.io/v1beta1, kind: PriorityLevelConfiguration, spec: {limited: {assuredConcurrencyShares: 5}}}",
        &json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
            "spec": {"limited": {"nominalConcurrencyShares": 5}}}),
    );
    check(
        "{apiVersion: extensions/v1beta1, kind: Ingress, spec: {backend: {serviceName: a, servicePort: 80}}}",
        &json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}}),
    );
    check(
        "{apiVersion: discovery.k8s.io/v1beta1, kind: EndpointSlice, endpoints: [{topology: {kubernetes.io/hostname: n}}, 5]}",
        &json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "endpoints": [{"nodeName": "n", "deprecatedTopology": {"kubernetes.io/hostname": "n"}}, 5]}),
    );
    check(
        "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, spec: {version: v1, subresources: {status: {}}}}",
        &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"versions": [
            {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}),
    );
    check(
        "{apiVersion: batch/v1beta1, kind: CronJob, spec: 5}",
        &json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": 5}),
    );
}

#[test]
fn objects_without_a_replacement_are_not_converted() {
    for text in [
        "{apiVersion: v1, kind: Node}",
        "{apiVersion: policy/v1, kind: PodDisruptionBudget}",
        "{apiVersion: policy/v1beta1, kind: PodSecurityPolicy}",
        "{apiVersion: autoscaling/v2beta1, kind: HorizontalPodAutoscaler}",
        "{kind: Node}",
    ] {
        assert!(conversions(&windtunnel_core::yaml::from_str(text).unwrap()).is_empty(), "{text}");
    }
}

#[test]
fn kinds_without_a_definition_get_one_without_a_schema() {
    let object = |text: &str| windtunnel_core::yaml::from_str::<Value>(text).unwrap();
    let objects = [
        object("{apiVersion: template.openshift.io/v1, kind: Template, metadata: {name: a, namespace: n}}"),
        object("{apiVersion: example.io/v1, kind: Policy, metadata: {name: a}}"),
        object("{apiVersion: example.io/v2, kind: Policy, metadata: {name: b}}"),
        object("{apiVersion: storage.k8s.io/v9, kind: StorageClass, metadata: {name: c}}"),
        object("{apiVersion: v1, kind: Unknown, metadata: {name: d}}"),
    ];
    let definitions = definitions_without_schema(&objects);
    let shape = |definition: &Value| {
        let versions = definition["spec"]["versions"].as_array().unwrap().len();
        let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
        (name, definition["spec"]["scope"].as_str().unwrap().to_owned(), versions)
    };
    let expected =
        [("policies.example.io", "Cluster", 2), ("templates.template.openshift.io", "Namespaced", 1)]
            .map(|(name, scope, versions)| (name.to_owned(), scope.to_owned(), versions));
    assert_eq!(definitions.iter().map(shape).collect::<Vec<_>>(), expected);
}
