//! Tests of each shape in which programs write objects.

use super::*;

/// Reads one file and returns its objects as `apiVersion kind namespace/name`.
fn objects(path: &str, text: &str) -> Vec<String> {
    let (dump, problems) = Dump::read_all([Source { path: path.to_owned(), text: text.to_owned() }]);
    assert_eq!(problems, Vec::<String>::new(), "{path}");
    let name = |object: &Object| {
        let (namespace, name) = (object.namespace(), object.name());
        format!("{} {} {namespace}/{name}", object.text("/apiVersion"), object.text("/kind"))
    };
    dump.objects().map(|(_, object)| name(object)).collect()
}

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_eq!(objects(path, text), expected, "{path}");
}

/// An object without a kind.
const KINDLESS: &str = r#"{"metadata": {"name": "x"}, "spec": {}}"#;

#[test]
fn paths_of_insights_archives_have_the_kind() {
    for (path, expected) in [
        ("config/version.json", "config.openshift.io/v1 ClusterVersion /x"),
        ("insights/config/apiserver.json", "config.openshift.io/v1 APIServer /x"),
        ("config/ingress.json", "config.openshift.io/v1 Ingress /x"),
        ("config/network.json", "config.openshift.io/v1 Network /x"),
        ("config/oauth.json", "config.openshift.io/v1 OAuth /x"),
        ("config/clusteroperator/dns.json", "config.openshift.io/v1 ClusterOperator /x"),
        (
            "config/clusteroperator/imageregistry.operator.openshift.io/config/cluster.json",
            "imageregistry.operator.openshift.io/v1 Config /x",
        ),
        (
            "config/clusteroperator/imageregistry.operator.openshift.io/imagepruner/cluster.json",
            "imageregistry.operator.openshift.io/v1 ImagePruner /x",
        ),
        ("config/node/a.json", "v1 Node /x"),
        ("config/pod/openshift-dns/x.json", "v1 Pod openshift-dns/x"),
        ("config/pdbs/openshift-etcd/x.json", "policy/v1 PodDisruptionBudget openshift-etcd/x"),
        ("config/crd/x.json", "apiextensions.k8s.io/v1 CustomResourceDefinition /x"),
        ("config/storage/storageclasses/x.json", "storage.k8s.io/v1 StorageClass /x"),
        ("config/persistentvolumes/x.json", "v1 PersistentVolume /x"),
        (
            "config/validatingwebhookconfigurations/x.json",
            "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration /x",
        ),
        ("config/securitycontextconstraint/x.json", "security.openshift.io/v1 SecurityContextConstraints /x"),
        ("config/clusterrolebinding/x.json", "rbac.authorization.k8s.io/v1 ClusterRoleBinding /x"),
        (
            "cluster-scoped-resources/rbac.authorization.k8s.io/clusterroles/x.json",
            "rbac.authorization.k8s.io/v1 ClusterRole /x",
        ),
        ("conditional/namespaces/n/imagestreams/x.json", "image.openshift.io/v1 ImageStream n/x"),
        ("conditional/namespaces/n/pods/x/x.json", "v1 Pod n/x"),
        (
            "machinesets/openshift-machine-api/x.json",
            "machine.openshift.io/v1beta1 MachineSet openshift-machine-api/x",
        ),
    ] {
        check(path, KINDLESS, &[expected]);
    }
}

#[test]
fn a_name_at_the_top_is_that_of_the_object() {
    let controller = r#"{"apiVersion": "operator.openshift.io/v1", "kind": "IngressController", "name": "default", "spec": {}}"#;
    check(
        "config/clusteroperator/operator.openshift.io/ingresscontroller/openshift-ingress-operator/default.json",
        controller,
        &["operator.openshift.io/v1 IngressController openshift-ingress-operator/default"],
    );
    // A field of this name in a complete object stays.
    let named = r#"{"apiVersion": "v1", "kind": "Node", "name": "a", "metadata": {"name": "b"}}"#;
    check("a.json", named, &["v1 Node /b"]);
}

#[test]
fn files_of_an_insights_archive_become_one_config_map() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let (dump, problems) = Dump::read_all([
        source("config/configmaps/openshift-config/a/invoker", "x"),
        source("config/configmaps/openshift-config/a/config.json", "{\"b\": 1}"),
        source("config/configmaps/kube-system/c/d", "e"),
    ]);
    assert!(problems.is_empty(), "{problems:?}");
    let maps: Vec<Value> = dump.objects().map(|(_, object)| object["data"].clone()).collect();
    assert_eq!(maps, [json!({"d": "e"}), json!({"invoker": "x", "config.json": "{\"b\": 1}"})]);
    assert_eq!((dump.inventory.kept(), dump.inventory.count(Class::Read)), (2, 3));
}

#[test]
fn lists_of_support_bundles_are_read() {
    let list = r#"{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a", "namespace": "n"}}]}"#;
    check("cluster-resources/pods/n.json", list, &["v1 Pod n/a"]);
    let empty = r#"{"kind": "VolumeAttachmentList", "apiVersion": "storage.k8s.io/v1", "items": null}"#;
    check("cluster-resources/volumeattachments.json", empty, &[]);
    let untagged = r#"{"Items": [{"metadata": {"name": "a"}}]}"#;
    check("cluster-resources/nodes.json", untagged, &["v1 Node /a"]);
    check(
        "cluster-resources/pvcs/n.json",
        r#"[{"metadata": {"name": "a", "namespace": "n"}}]"#,
        &["v1 PersistentVolumeClaim n/a"],
    );
    check(
        "cluster-resources/custom-resources/machinesets.machine.openshift.io/n.json",
        r#"[{"metadata": {"name": "a", "namespace": "n"}}]"#,
        &["machine.openshift.io/v1beta1 MachineSet n/a"],
    );
}

#[test]
fn lists_of_sonobuoy_and_others_are_read() {
    let array = r#"[{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]"#;
    check("resources/cluster/core_v1_nodes.json", array, &["v1 Node /a", "v1 Node /b"]);
    check("resources/ns/n/apps_v1_deployments.json", KINDLESS, &["apps/v1 Deployment n/x"]);
    check("resources/ns/n/Endpoints.json", array, &["v1 Endpoints /a", "v1 Endpoints /b"]);
    check("n/pods.json", array, &["v1 Pod /a", "v1 Pod /b"]);
    let velero = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n"}}"#;
    check("resources/pods/namespaces/n/a.json", velero, &["v1 Pod n/a"]);
    check("resources/deployments.apps/namespaces/n/x.json", KINDLESS, &["apps/v1 Deployment n/x"]);
    check("resources/namespaces/cluster/x.json", KINDLESS, &["v1 Namespace /x"]);
    check("sos_commands/kubernetes/kubectl_get_-o_json_nodes", velero, &["v1 Pod n/a"]);
}

#[test]
fn objects_without_the_tags_of_go_are_read() {
    let request =
        r#"{"TypeMeta": {}, "ObjectMeta": {"name": "csr", "uid": "u"}, "Spec": {"SignerName": "s"}}"#;
    let (dump, _) = Dump::read_all([Source {
        path: "config/certificatesigningrequests/csr.json".to_owned(),
        text: request.to_owned(),
    }]);
    let (_, object) = dump.objects().next().unwrap();
    assert_eq!(object.text("/kind"), "CertificateSigningRequest");
    assert_eq!((object.uid(), object.text("/spec/signerName")), ("u", "s"));
}

#[test]
fn several_values_of_json_in_one_file_are_read() {
    let node =
        |name: &str| format!(r#"{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{name}"}}}}"#);
    check("a.jsonl", &format!("{}\n{}\n", node("a"), node("b")), &["v1 Node /a", "v1 Node /b"]);
    let dump = format!(
        "{}\n==== START logs for container c of pod n/p ====\n{{oops\n==== END logs for container c of pod n/p ====\n{}\n",
        node("a"),
        node("b")
    );
    check("cluster-info-dump.json", &dump, &["v1 Node /a", "v1 Node /b"]);
    check("a.yaml", &format!("{}\n---\n{}\n", node("a"), node("b")), &["v1 Node /a", "v1 Node /b"]);
    let (_, problems) =
        Dump::read_all([Source { path: "a.json".to_owned(), text: format!("{}\n{{\"a\": }}", node("a")) }]);
    assert_eq!(problems, ["a.json:2:7: expected JSON: expected value"]);
}

#[test]
fn the_last_state_in_a_list_of_changes_counts() {
    let change = |kind: &str, name: &str| {
        format!(
            r#"{{"type": "{kind}", "object": {{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{name}"}}}}}}"#
        )
    };
    let changes =
        [change("ADDED", "a"), change("ADDED", "b"), change("MODIFIED", "a"), change("DELETED", "b")];
    check("watch.json", &changes.join("\n"), &["v1 Node /a"]);
}

#[test]
fn json_in_answers_of_etcd_is_read() {
    // The values are `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}` and the start of protobuf.
    let answer = r#"{"kvs": [{"key": "L3g=", "value": "eyJhcGlWZXJzaW9uIjoidjEiLCJraW5kIjoiTm9kZSIsIm1ldGFkYXRhIjp7Im5hbWUiOiJhIn19"},
        {"key": "L3k=", "value": "azhzAAo="}]}"#;
    let (dump, problems) = Dump::read_all([Source { path: "etcd.json".to_owned(), text: answer.to_owned() }]);
    assert_eq!(dump.objects().count(), 1);
    assert_eq!(problems, ["etcd.json: an object in protobuf, the encoding of etcd; expected JSON"]);
}

#[test]
fn alerts_are_found_in_all_their_places() {
    let alerts = |files: &[(&str, &str)]| {
        let source =
            |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: (*text).to_owned() };
        Dump::read_all(files.iter().map(source)).0.alerts.unwrap()
    };
    let prometheus =
        r#"{"status":"success","data":{"alerts":[{"labels":{"alertname":"A"},"state":"firing"}]}}"#;
    for path in ["monitoring/alerts.json", "monitoring/prometheus/alerts.json"] {
        assert!(alerts(&[(path, prometheus)]).contains("\"A\""));
    }
    let insights = |name: &str| {
        format!(
            r#"[{{"labels": {{"alertname": "{name}"}}, "startsAt": "2024-01-01T00:00:00Z", "status": {{"state": "active"}}}}]"#
        )
    };
    let (active, silenced) = (insights("B"), insights("C"));
    let files = [("config/alerts.json", active.as_str()), ("config/silenced_alerts.json", silenced.as_str())];
    let both: Value = serde_json::from_str(&alerts(&files)).unwrap();
    let list = both["data"]["alerts"].as_array().unwrap();
    assert_eq!(
        (list.len(), &list[0]["state"], &list[0]["activeAt"]),
        (2, &json!("firing"), &json!("2024-01-01T00:00:00Z"))
    );
    let metrics = "# TYPE ALERTS untyped\nALERTS{alertname=\"D\",alertstate=\"firing\",summary=\"a \\\"b\\\", c\"} 1 1700000000000\nALERTS{broken\n";
    let of_metrics: Value = serde_json::from_str(&alerts(&[("config/metrics", metrics)])).unwrap();
    let expected = json!([{"labels": {"alertname": "D", "summary": "a \"b\", c"}, "annotations": {}, "state": "firing", "value": "1e+00"}]);
    assert_eq!(of_metrics["data"]["alerts"], expected);
    // The answer of Prometheus is complete.
    let with_rules =
        [files[0], files[1], ("monitoring/prometheus/rules.json", r#"{"data": {"groups": []}}"#)];
    assert_eq!(alerts(&with_rules), r#"{"data":{"alerts":[]},"status":"success"}"#);
}

#[test]
fn role_bindings_of_openshift_are_corrected() {
    let binding = r#"{"metadata": {"name": "b"}, "userNames": null, "groupNames": ["g"],
        "subjects": [{"kind": "SystemGroup", "name": "g"}], "roleRef": {"name": "r"}}"#;
    let (dump, _) = Dump::read_all([Source {
        path: "config/clusterrolebinding/b.json".to_owned(),
        text: binding.to_owned(),
    }]);
    let (_, object) = dump.objects().next().unwrap();
    let group = "rbac.authorization.k8s.io";
    assert_eq!(object["roleRef"], json!({"apiGroup": group, "kind": "ClusterRole", "name": "r"}));
    assert_eq!(object["subjects"], json!([{"apiGroup": group, "kind": "Group", "name": "g"}]));
    assert!(object["groupNames"].is_null());
}
