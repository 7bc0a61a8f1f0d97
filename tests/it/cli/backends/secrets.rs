//! Secrets of a live cluster: steps can use their values, but a run never prints or writes them.

use kube::api::{Api, PostParams};
use serde_json::json;

use super::Cluster;
use crate::cli::serve::{client, run};

/// Values of a Secret, plain and in base64.
const LONG: (&str, &str) = ("correct-horse-battery", "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5");
const SHORT: (&str, &str) = ("pw7", "cHc3");

const SCENARIO: &str = r"
name: secrets
cluster: {version: 4.14.1, nodes: {control-plane: 1, workers: 0}}
timeline:
- run: oc get secret login -n default -o yaml
- run: oc get secrets -n default -o json
- run:
    command: oc get secret login -n default -o jsonpath={.data.pin}
    prints: cHc3
- run: oc get secret login -n default -o jsonpath={.data.password}
- keep: {as: password}
- run:
    command: oc get configmap copy -n default -o jsonpath={.data.copy}
    prints: $(kept password)
- run:
    command: oc get secret login -n default -o yaml
    prints: a text that is missing
";

#[test]
fn reports_contain_no_values_of_secrets() {
    let cluster = Cluster::bare();
    let environment = &cluster.environment;
    environment.write("s.yaml", SCENARIO);
    run(async {
        let client = client(&environment.read("config")).await;
        let (secrets, maps) = (Api::default_namespaced(client.clone()), Api::default_namespaced(client));
        let secret = json!({ "metadata": { "name": "login" },
            "data": { "password": LONG.1, "pin": SHORT.1, "enabled": "dHJ1ZQ==" } });
        let secret: k8s_openapi::api::core::v1::Secret = serde_json::from_value(secret).unwrap();
        secrets.create(&PostParams::default(), &secret).await.unwrap();
        let map = json!({ "metadata": { "name": "copy" }, "data": { "copy": LONG.1 } });
        let map: k8s_openapi::api::core::v1::ConfigMap = serde_json::from_value(map).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
    });
    let place =
        ["run", "s.yaml", "--backend", "kubeconfig", "--kubeconfig", "config", "--context", "windtunnel"];
    let pace = ["--speed", "100000x", "--writes-per-second", "5000"];
    let written = ["--record", "r.jsonl", "--junit", "j.xml", "--html", "p.html"];
    let output = environment.run(&[&place[..], &pace, &written].concat());
    // All steps but the last one saw the real values.
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stdout.contains("a text that is missing"), "{output}");
    let texts = [("stdout", output.stdout), ("stderr", output.stderr)].into_iter();
    let files = ["r.jsonl", "j.xml", "p.html"].map(|name| (name, environment.read(name)));
    for (place, text) in texts.chain(files) {
        for value in [LONG.0, LONG.1, SHORT.1] {
            assert!(!text.contains(value), "{place} contains {value}");
        }
    }
    let record = environment.read("r.jsonl");
    // The rest of the output is recorded.
    assert!(record.contains("UkVEQUNURUQ="), "{record}");
    assert!(record.contains("password: "), "{record}");
}
