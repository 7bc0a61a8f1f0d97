//! What a run must never do to a cluster that others have.

use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use super::{Cluster, client, run};

/// A scenario, which is recorded.
const SCENARIO: &str = "name: n\ncluster: {version: 4.14.1, nodes: {control-plane: 1, workers: 1}}\n\
                        timeline:\n- advance: 2m\n";

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_cluster_is_not_touched_unless_it_is_named() {
    let cluster = Cluster::bare();
    let before = cluster.objects();
    let refused = |arguments: &[&str], expected: &str| {
        let output =
            cluster.environment.run(&[&["test", "f.feature", "--backend", "kubeconfig"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    refused(
        &["--kubeconfig", "config"],
        "name the cluster by --context, so that none is touched by mistake; there is `windtunnel`",
    );
    refused(&["--kubeconfig", "config", "--context", "other"], "other");
    refused(&["--kubeconfig", "absent", "--context", "windtunnel"], "absent");
    assert_eq!(cluster.objects(), before);
}

#[test]
fn a_cluster_with_a_cluster_version_of_others_is_refused_whatever_the_flags() {
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
        assert!(output.stderr.contains("is not touched whatever the flags"), "{output}");
    }
    assert_eq!(nodes(), before);
}

#[test]
fn nodes_and_secrets_of_others_are_left_alone_and_told_to_nobody() {
    let cluster = Cluster::bare();
    cluster.environment.write("s.yaml", SCENARIO);
    let kubeconfig = cluster.environment.read("config");
    let (node, secret) = run(async {
        let client = client(&kubeconfig).await;
        let node: Node =
            from(json!({ "metadata": { "name": "real-0" }, "spec": { "providerID": "real://0" } }));
        let node = Api::all(client.clone()).create(&PostParams::default(), &node).await.unwrap();
        let secret: Secret =
            from(json!({ "metadata": { "name": "s" }, "stringData": { "password": "hunter2" } }));
        let secrets: Api<Secret> = Api::namespaced(client, "default");
        (node, secrets.create(&PostParams::default(), &secret).await.unwrap())
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
            assert!(!text.contains(secret), "{secret} is told");
        }
    }
    assert_eq!(cluster.environment.read("config"), kubeconfig);
    assert_eq!(cluster.objects(), before);
    run(async {
        let client = client(&kubeconfig).await;
        assert_eq!(Api::<Node>::all(client.clone()).get("real-0").await.unwrap(), node);
        assert_eq!(Api::<Secret>::namespaced(client, "default").get("s").await.unwrap(), secret);
    });
}
