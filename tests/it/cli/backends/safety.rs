//! Effects that a run must never have on an existing cluster.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Secret, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use super::{Cluster, client, run};

/// A scenario to record.
const SCENARIO: &str = "name: n\ncluster: {version: 4.14.1, nodes: {control-plane: 1, workers: 1}}\n\
                        releases: {4.14.8: }\n\
                        timeline:\n- update: {to: 4.14.8}\n\
                        - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"False\"}, \
                        fields: {\"status.history[0].version\": 4.14.8, \"status.history[0].state\": Completed}, within: 3h}\n";

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_run_requires_the_name_of_its_context() {
    let cluster = Cluster::bare();
    let before = cluster.objects();
    let rejects = |arguments: &[&str], expected: &str| {
        let output =
            cluster.environment.run(&[&["test", "f.feature", "--backend", "kubeconfig"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    rejects(
        &["--kubeconfig", "config"],
        "--backend kubeconfig requires --context, so that no other cluster is touched; found the context `windtunnel`",
    );
    rejects(&["--kubeconfig", "config", "--context", "other"], "other");
    rejects(&["--kubeconfig", "absent", "--context", "windtunnel"], "absent");
    assert_eq!(cluster.objects(), before);
}

#[test]
fn a_cluster_with_its_own_cluster_version_is_rejected_with_any_flags() {
    let cluster = Cluster::new(&["--version", "4.18.3"]);
    let nodes = || {
        run(async {
            let nodes: Api<Node> = Api::all(client(&cluster.environment.read("config")).await);
            nodes.list(&kube::api::ListParams::default()).await.unwrap().items.len()
        })
    };
    let before = nodes();
    for more in [&["f.feature"][..], &["f.feature", "--keep"], &["f.feature", "--speed", "1x"]] {
        let output = cluster.environment.run(
            &[
                &["test", "--backend", "kubeconfig", "--kubeconfig", "config", "--context", "windtunnel"],
                more,
            ]
            .concat(),
        );
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains("has a ClusterVersion that windtunnel did not write"), "{output}");
        assert!(output.stderr.contains("no flag makes windtunnel use it"), "{output}");
    }
    assert_eq!(nodes(), before);
}

#[test]
fn existing_crds_are_not_overwritten() {
    let cluster = Cluster::bare();
    let kubeconfig = cluster.environment.read("config");
    let name = "servicemonitors.monitoring.coreos.com";
    let uid = run(async {
        let definitions: Api<CustomResourceDefinition> = Api::all(client(&kubeconfig).await);
        let definition = from(json!({
            "metadata": { "name": name },
            "spec": {
                "group": "monitoring.coreos.com",
                "names": { "kind": "ServiceMonitor", "plural": "servicemonitors" },
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "description": "of others" } },
                }],
            },
        }));
        definitions.create(&PostParams::default(), &definition).await.unwrap().metadata.uid
    });
    let before = cluster.objects();
    let output = cluster.test(&["f.feature"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
    assert!(output.stderr.contains(&format!("did not write: {name}")), "{output}");
    assert_eq!(cluster.objects(), before);
    run(async {
        let definitions: Api<CustomResourceDefinition> = Api::all(client(&kubeconfig).await);
        let now = definitions.get(name).await.unwrap();
        assert_eq!((now.metadata.uid, now.metadata.owner_references), (uid, None));
        let schema = now.spec.versions[0].schema.clone().unwrap().open_api_v3_schema.unwrap();
        assert_eq!(schema.description.as_deref(), Some("of others"));
    });
}

#[test]
fn existing_nodes_pods_and_secrets_are_left_alone_and_not_reported() {
    let cluster = Cluster::bare();
    cluster.environment.write("s.yaml", SCENARIO);
    let kubeconfig = cluster.environment.read("config");
    let (node, lease, pod, secret) = run(async {
        let (client, create) = (client(&kubeconfig).await, PostParams::default());
        // Labels that would make a node part of the pools and of the control plane.
        let roles = json!({ "node-role.kubernetes.io/master": "", "node-role.kubernetes.io/worker": "" });
        let node: Node = from(json!({
            "metadata": { "name": "real-0", "labels": roles },
            "spec": { "providerID": "real://0" },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        }));
        let nodes: Api<Node> = Api::all(client.clone());
        let mut created = nodes.create(&create, &node).await.unwrap();
        created.status = node.status;
        let node = nodes.replace_status("real-0", &create, &created).await.unwrap();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let own = from(json!({ "metadata": { "name": "kube-node-lease" } }));
        // It may exist already.
        let _ = namespaces.create(&create, &own).await;
        let lease: Lease = from(json!({
            "metadata": { "name": "real-0" },
            "spec": { "holderIdentity": "real-0", "leaseDurationSeconds": 40 },
        }));
        let leases = Api::namespaced(client.clone(), "kube-node-lease");
        let lease = leases.create(&create, &lease).await.unwrap();
        let account: ServiceAccount = from(json!({ "metadata": { "name": "default" } }));
        Api::namespaced(client.clone(), "default").create(&create, &account).await.unwrap();
        let pod: Pod = from(json!({
            "metadata": { "name": "pending" },
            "spec": { "containers": [{ "name": "c", "image": "i" }] },
        }));
        let pods = Api::namespaced(client.clone(), "default");
        let pod = pods.create(&create, &pod).await.unwrap();
        let secret: Secret =
            from(json!({ "metadata": { "name": "s" }, "stringData": { "password": "hunter2" } }));
        let secrets: Api<Secret> = Api::namespaced(client, "default");
        (node, lease, pod, secrets.create(&create, &secret).await.unwrap())
    });
    let before = cluster.objects();
    let mut arguments = Cluster::arguments(&["s.yaml", "--record", "r.jsonl", "--html", "p.html"]);
    arguments[0] = "run";
    let output = cluster.environment.run(&arguments);
    assert_eq!(output.code, Some(0), "{output}");
    let record = cluster.environment.read("r.jsonl");
    assert!(record.contains("windtunnel.dev/simulated"), "simulated nodes are marked");
    assert!(!record.contains("real-0"), "a node of others is in the record");
    let token =
        kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token: ")).unwrap().trim_matches('"');
    for text in [output.to_string(), record, cluster.environment.read("p.html")] {
        for secret in [token, "hunter2", "aHVudGVyMg"] {
            assert!(!text.contains(secret), "{secret} is printed");
        }
    }
    assert_eq!(cluster.environment.read("config"), kubeconfig);
    assert_eq!(cluster.objects(), before);
    run(async {
        let client = client(&kubeconfig).await;
        assert_eq!(Api::<Node>::all(client.clone()).get("real-0").await.unwrap(), node);
        let leases = Api::<Lease>::namespaced(client.clone(), "kube-node-lease");
        assert_eq!(leases.get("real-0").await.unwrap(), lease);
        assert_eq!(Api::<Pod>::namespaced(client.clone(), "default").get("pending").await.unwrap(), pod);
        assert_eq!(Api::<Secret>::namespaced(client, "default").get("s").await.unwrap(), secret);
    });
}
