//! Tests of pod admission by SecurityContextConstraints.

use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{self, NAMESPACES, PODS, SECURITY_CONTEXT_CONSTRAINTS};
use windtunnel_core::{Identity, Write};

use super::{CHOSEN, Range, SecurityContextConstraints};
use crate::manifests;

fn now() -> Time {
    "2024-01-01T00:00:00Z".parse().unwrap()
}

/// An API server with a cluster's SCCs and their RBAC objects.
fn server(openshift: bool) -> ApiServer {
    let builder = ApiServer::builder();
    let plugin = SecurityContextConstraints::default();
    let builder = if openshift { builder.admission_plugin(plugin) } else { builder };
    let mut server = builder.build(now());
    let definition = manifests::crd("securitycontextconstraints.security.openshift.io", (4, 18)).unwrap();
    let admin = Identity::admin();
    let mut create = |object: &Value| {
        let write = Write::create(resources::find_for_object(object).unwrap(), object.clone());
        server.write(&write, &admin, now()).unwrap();
    };
    create(definition);
    for file in ["-access", "-access-v2", "", "-v2"] {
        manifests::payload(&format!("security-context-constraints{file}"), (4, 20))
            .iter()
            .for_each(&mut create);
    }
    server
}

fn pod(namespace: &str, annotations: &Value, spec: Value) -> Write {
    let mut spec = spec;
    if spec["containers"].is_null() {
        spec["containers"] = json!([{ "name": "one", "image": "one" }]);
    }
    let metadata = json!({ "generateName": "one-", "namespace": namespace, "annotations": annotations });
    Write::create(&PODS, json!({ "metadata": metadata, "spec": spec }))
}

/// The SCC that admits a pod, or the error.
fn admitted(server: &mut ApiServer, user: &Identity, write: &Write) -> String {
    match server.write(write, user, now()) {
        Ok(pod) => pod["metadata"]["annotations"][CHOSEN].as_str().unwrap_or("none").to_owned(),
        Err(rejection) => rejection.message,
    }
}

fn controller() -> Identity {
    Identity::service_account("kube-system", "replicaset-controller")
}

fn plain() -> Value {
    json!({})
}

#[test]
fn a_pod_gets_the_strictest_scc_that_it_meets_and_may_use() {
    let mut server = server(true);
    let admin = Identity::admin();
    let binding = |name: &str, role: &str| {
        json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "default" }],
        })
    };
    for (name, role) in [("trusted", "system:openshift:scc:privileged"), ("master", "cluster-admin")] {
        let write = Write::create(&resources::CLUSTER_ROLE_BINDINGS, binding(name, role));
        server.write(&write, &admin, now()).unwrap();
    }
    let host = json!({ "hostNetwork": true, "volumes": [{ "name": "a", "hostPath": { "path": "/" } }] });
    let non_root = json!({ "securityContext": { "runAsNonRoot": true } });
    let root = json!({ "securityContext": { "runAsUser": 0 } });
    for (account, spec, expected) in [
        ("default", plain(), "restricted-v2"),
        ("default", non_root, "restricted-v2"),
        ("trusted", plain(), "restricted-v2"),
        ("trusted", host.clone(), "privileged"),
        ("trusted", root.clone(), "privileged"),
        ("master", plain(), "anyuid"),
        ("master", root, "anyuid"),
        ("master", host, "hostaccess"),
        ("master", json!({ "hostNetwork": true }), "hostnetwork-v2"),
    ] {
        let mut spec = spec;
        spec["serviceAccountName"] = json!(account);
        let found = admitted(&mut server, &controller(), &pod("default", &json!({}), spec.clone()));
        assert_eq!(found, expected, "{account} {spec}");
    }
    // The requester's own permissions count for any account. Kubelets may create the mirror pods of static
    // pods.
    assert_eq!(admitted(&mut server, &admin, &pod("default", &json!({}), plain())), "anyuid");
    let node = Identity::new("system:node:one", &["system:nodes"]);
    let mirror = json!({ "kubernetes.io/config.mirror": "a", "kubernetes.io/config.source": "file" });
    let node_spec = json!({ "nodeName": "one", "hostNetwork": true });
    assert_eq!(admitted(&mut server, &node, &pod("default", &mirror, node_spec)), "privileged");
}

#[test]
fn a_rejected_pod_gets_the_errors_of_all_sccs() {
    let mut server = server(true);
    let context = json!({
        "privileged": true, "allowPrivilegeEscalation": true, "runAsUser": 0,
        "capabilities": { "add": ["NET_BIND_SERVICE", "SYS_ADMIN"] },
    });
    let container = json!({
        "name": "one", "image": "one", "ports": [{ "containerPort": 80, "hostPort": 80 }], "securityContext": context,
    });
    let spec = json!({ "hostPID": true, "containers": [container], "volumes": [{ "name": "a", "nfs": { "server": "a", "path": "/" } }] });
    let why = admitted(&mut server, &controller(), &pod("default", &json!({}), spec));
    let denied = |name: &str| format!("provider \"{name}\": Forbidden: not usable by user or serviceaccount");
    let restricted = |what: &str| format!("provider restricted-v2: {what}");
    let expected = [
        denied("anyuid"),
        restricted(".spec.securityContext.hostPID: Invalid value: true: Host PID is not allowed to be used"),
        "spec.volumes[0]: Invalid value: \"nfs\": nfs volumes are not allowed to be used".to_owned(),
        restricted(".containers[0].runAsUser: Invalid value: 0: must be in the ranges: []"),
        restricted(".containers[0].privileged: Invalid value: true: Privileged containers are not allowed"),
        restricted(
            ".containers[0].capabilities.add: Invalid value: \"SYS_ADMIN\": capability may not be added",
        ),
        restricted(
            ".containers[0].allowPrivilegeEscalation: Invalid value: true: Allowing privilege escalation for containers is not \
            allowed",
        ),
        restricted(
            ".containers[0].containers[0].hostPort: Invalid value: 80: Host ports are not allowed to be used",
        ),
        denied("restricted"),
        denied("nonroot-v2"),
        denied("nonroot"),
        denied("hostmount-anyuid"),
        denied("hostnetwork-v2"),
        denied("hostnetwork"),
        denied("hostaccess"),
        denied("privileged"),
    ];
    let expected = format!(
        "pods \"one-\" is forbidden: unable to validate against any security context constraint: [{}]",
        expected.join(", ")
    );
    assert_eq!(why, expected);
}

#[test]
fn a_pod_can_require_one_scc() {
    let mut server = server(true);
    let mut wants = |name: &str| {
        let annotations = json!({ "openshift.io/required-scc": name });
        admitted(&mut server, &controller(), &pod("default", &annotations, plain()))
    };
    assert_eq!(wants("restricted-v2"), "restricted-v2");
    assert_eq!(
        wants("privileged"),
        "pods \"one-\" is forbidden: unable to validate against any security context constraint: provider \"privileged\": \
            Forbidden: not usable by user or serviceaccount"
    );
    assert_eq!(
        wants("other"),
        "pods \"one-\" is forbidden: failed to retrieve the required SCC \"other\": \
            securitycontextconstraints.security.openshift.io \"other\" not found"
    );
}

#[test]
fn pods_in_low_run_levels_windows_pods_and_plain_kubernetes_need_no_scc() {
    let mut kubernetes = server(false);
    assert_eq!(admitted(&mut kubernetes, &controller(), &pod("default", &json!({}), plain())), "none");
    let mut server = server(true);
    for (level, expected) in [("0", "none"), ("1", "none"), ("", "restricted-v2"), ("2", "restricted-v2")] {
        let name = format!("level{level}");
        let labels = json!({ "openshift.io/run-level": level });
        let namespace = json!({ "metadata": { "name": name, "labels": labels } });
        server.write(&Write::create(&NAMESPACES, namespace), &Identity::admin(), now()).unwrap();
        assert_eq!(admitted(&mut server, &controller(), &pod(&name, &json!({}), plain())), expected);
    }
    let windows = json!({ "os": { "name": "windows" } });
    assert_eq!(admitted(&mut server, &controller(), &pod("default", &json!({}), windows)), "none");
}

#[test]
fn rejects_all_pods_if_a_standard_scc_is_missing() {
    let mut server = server(true);
    let delete = Write::delete(&SECURITY_CONTEXT_CONSTRAINTS, "", "nonroot");
    server.write(&delete, &Identity::admin(), now()).unwrap();
    assert_eq!(
        admitted(&mut server, &controller(), &pod("default", &json!({}), plain())),
        "pods \"one-\" is forbidden: securitycontextconstraints.security.openshift.io cache is missing nonroot"
    );
}

#[test]
fn parses_both_forms_of_user_id_ranges() {
    let range = Range::parse("1000620000/10000");
    assert_eq!(range, Range::parse("1000620000-1000629999"));
    assert!(range.is_some());
    assert_eq!(["", "1", "a/b", "9223372036854775807/2"].map(Range::parse), [None; 4]);
    let mut server = server(true);
    let ranged = json!({ "metadata": {
        "name": "ranged", "annotations": { "openshift.io/sa.scc.uid-range": "1000620000/10000" },
    } });
    server.write(&Write::create(&NAMESPACES, ranged), &Identity::admin(), now()).unwrap();
    let spec = |user: i64| json!({ "securityContext": { "runAsUser": user } });
    let mut admits = |user| admitted(&mut server, &controller(), &pod("ranged", &json!({}), spec(user)));
    assert_eq!(admits(1_000_620_001), "restricted-v2");
    assert!(admits(1_000).contains("1000: must be in the ranges: [1000620000, 1000629999]"));
}
