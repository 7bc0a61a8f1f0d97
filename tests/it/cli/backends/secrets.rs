//! Secrets of a live cluster: steps can use their values, but a run never prints or writes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, PostParams};
use serde_json::json;

use super::Cluster;
use crate::cli::serve::{client, run};

/// Values of a Secret, plain and in base64.
const LONG: (&str, &str) = ("correct-horse-battery", "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5");
const SHORT: (&str, &str) = ("pw7", "cHc3");
/// A short value that the run itself writes.
const OWN: (&str, &str) = ("OWNPIN7", "T1dOUElONw");

/// Parts of values, each of which must be hidden on its own.
const KEY_LINES: [&str; 2] = [
    "MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi8m1u7c2dQx0m0n9Y9Zr2W0q1A",
    "h3Jc8vbQmM2nWqk0z5rB1TqLw7dXo4yUeR9sKfPgC6tNVuE8aHjS0iZxDl2YbGmF",
];
const PASSWORD: &str = "sw0rd/fish+1";

const SCENARIO: &str = r"
name: secrets
cluster: {version: 4.14.1, nodes: {control-plane: 1, workers: 0}}
timeline:
- apply: {apiVersion: v1, kind: Secret, metadata: {name: own, namespace: default}, stringData: {pin: OWNPIN7}}
- run: oc get secret login -n default -o yaml
- run: oc get secrets -n default -o json
- run: oc get configmap parts -n default -o yaml
- run: oc get configmap parts -n default -o json
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

/// Wraps base64 as the program `base64` does.
fn wrapped(text: &str) -> String {
    text.as_bytes().chunks(76).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n")
}

#[test]
fn reports_contain_no_values_of_secrets() {
    let cluster = Cluster::bare();
    let environment = &cluster.environment;
    environment.write("s.yaml", SCENARIO);
    run(async {
        let client = client(&environment.read("config")).await;
        let (secrets, maps) = (Api::default_namespaced(client.clone()), Api::default_namespaced(client));
        let original = json!({ "kind": "Secret", "data": { "pin": SHORT.1 } }).to_string();
        let secret = json!({ "metadata": { "name": "login", "annotations": { "kapp.k14s.io/original": original } },
            "data": { "password": LONG.1, "pin": SHORT.1, "enabled": "dHJ1ZQ==" } });
        let secret: k8s_openapi::api::core::v1::Secret = serde_json::from_value(secret).unwrap();
        secrets.create(&PostParams::default(), &secret).await.unwrap();
        let key =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", KEY_LINES.join("\n"));
        let login = json!({ "auths": { "quay.io": { "password": PASSWORD } } }).to_string();
        let secret = json!({ "metadata": { "name": "parts" },
            "stringData": { "key": &key, "login": &login } });
        let secret: k8s_openapi::api::core::v1::Secret = serde_json::from_value(secret).unwrap();
        secrets.create(&PostParams::default(), &secret).await.unwrap();
        let data = json!({
            "key": &key,
            "config": format!("client:\n  key: |\n    {}", key.replace('\n', "\n    ")),
            "line": format!("# {}", KEY_LINES[1]),
            "url": "https://robot:sw0rd%2Ffish%2B1@quay.io",
            "basic": STANDARD.encode(format!("robot:{PASSWORD}")),
            "wrapped": wrapped(&STANDARD.encode(&key)),
            "twice": STANDARD.encode(STANDARD.encode(PASSWORD)),
        });
        let applied = json!({ "kind": "ConfigMap", "data": &data }).to_string();
        let parts = json!({ "metadata": { "name": "parts",
            "annotations": { "kubectl.kubernetes.io/last-applied-configuration": applied } }, "data": data });
        let copy = json!({ "metadata": { "name": "copy" }, "data": { "copy": LONG.1 } });
        for map in [parts, copy] {
            let map: k8s_openapi::api::core::v1::ConfigMap = serde_json::from_value(map).unwrap();
            maps.create(&PostParams::default(), &map).await.unwrap();
        }
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
    let encoded = [
        STANDARD.encode(KEY_LINES.join("\n")),
        STANDARD.encode(format!("robot:{PASSWORD}")),
        STANDARD.encode(STANDARD.encode(PASSWORD)),
    ];
    let encoded = encoded.each_ref().map(|text| &text[12..24]);
    let values =
        [LONG.0, LONG.1, SHORT.1, OWN.0, OWN.1, KEY_LINES[0], KEY_LINES[1], PASSWORD, "sw0rd%2Ffish"];
    for (place, text) in texts.chain(files) {
        for value in values.into_iter().chain(encoded) {
            assert!(!text.contains(value), "{place} contains {value}");
        }
    }
    let record = environment.read("r.jsonl");
    // The rest of the output is recorded.
    assert!(record.contains("UkVEQUNURUQ="), "{record}");
    assert!(record.contains("password: "), "{record}");
}
