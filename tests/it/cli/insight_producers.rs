//! The example producers beside a served cluster and `windtunnel insights`: one delivers objects, one over HTTPS.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use windtunnel_apiserver::https::Authority;
use windtunnel_core::yaml;

use super::environment::TestEnvironment;
use super::insights::{Cluster, Controller, until, updating};
use super::serve::{Served, run};
use crate::update_status::deliveries::token_of;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/insight_producer");

/// Builds the Rust example, and returns its path.
fn built_example() -> PathBuf {
    let build = ["build", "--quiet", "--example", "insight_producer"];
    let built =
        Command::new(env!("CARGO")).args(build).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Path::new(env!("CARGO_BIN_EXE_windtunnel")).with_file_name("examples").join("insight_producer")
}

/// A command with no environment but the path: proxies are not for the loopback.
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// Standard output of a successful command.
fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A token of the ServiceAccount of an example.
async fn token(cluster: &Cluster, namespace: &str, audiences: &[&str]) -> String {
    token_of(&cluster.client, namespace, "insight-producer", audiences).await
}

/// Writes the kubeconfig `producer` with a token.
fn write_kubeconfig(environment: &TestEnvironment, admin: &str, token: &str) {
    let mut config: Value = yaml::from_str(admin).unwrap();
    config["users"][0]["user"] = json!({"token": token});
    environment.write("producer", config.to_string());
}

/// Registers both examples as their file does, once their kinds are served.
async fn register(cluster: &Cluster) {
    let kind =
        json!({"apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer", "metadata": {}});
    until("the kinds are served", async || cluster.api(&kind).list(&ListParams::default()).await.is_ok())
        .await;
    let registration = fs::read_to_string(format!("{FOLDER}/registration.yaml")).unwrap();
    let objects: Vec<Value> = yaml::from_str_multi(&registration).unwrap();
    for object in objects {
        cluster.create(&object).await;
    }
}

/// The uids of an informer in the UpdateStatus.
async fn uids(cluster: &Cluster, informer: &str) -> Vec<String> {
    let [_, status] = cluster.published().await;
    let informers = status["controlPlane"]["informers"].as_array().cloned().unwrap_or_default();
    let insights =
        informers.iter().find(|found| found["name"] == informer).map(|found| found["insights"].clone());
    let insights = insights.unwrap_or_default().as_array().cloned().unwrap_or_default();
    insights.iter().map(|insight| insight["uid"].as_str().unwrap().to_owned()).collect()
}

/// A Deployment whose replica never starts.
fn deployment() -> Value {
    let labels = json!({"app": "web"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "workloads"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {"no": "node"},
                    "containers": [{"name": "web", "image": "quay.io/example/web"}],
                },
            },
        },
    })
}

/// Sends a delivery with curl. Returns status code, headers and body.
fn post(environment: &TestEnvironment, url: &str, arguments: &[&str]) -> String {
    let always = ["--silent", "--show-error", "--include", "--cacert", "ca.pem", "--max-time", "60"];
    let output =
        command("curl").args(always).args(arguments).arg(url).current_dir(environment.work()).output();
    stdout(&output.unwrap())
}

#[test]
fn the_example_producers_deliver_objects_and_over_https() {
    let example = built_example();
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "20x", "--kubeconfig", "admin"];
    let _served = Served::start(&environment, &arguments);
    let authority = Authority::generate().unwrap();
    let certificate = authority.server_certificate(&["127.0.0.1".to_owned()]).unwrap();
    environment.write("ca.pem", authority.certificate_pem());
    environment.write("tls.crt", certificate.chain_pem);
    environment.write("tls.key", certificate.key_pem);
    run(async {
        let cluster = updating(&environment).await;
        register(&cluster).await;
        cluster.create(&deployment()).await;
        let tls = ["--tls-cert", "tls.crt", "--tls-key", "tls.key"];
        let mut controller = Controller::start(
            &environment,
            &[&["--kubeconfig", "config", "--deliveries-listen", "127.0.0.1:0"], &tls[..]].concat(),
        );
        let endpoint = controller.next_line();
        let endpoint = endpoint.trim_end().strip_prefix("taking deliveries on ").unwrap().to_owned();

        let admin = environment.read("admin");
        write_kubeconfig(&environment, &admin, &token(&cluster, "workloads", &[]).await);
        let deliver = || {
            let mut command = command(&example);
            command
                .args(["workloads", "workloads", "--once"])
                .env("KUBECONFIG", environment.work().join("producer"));
            stdout(&command.output().unwrap())
        };
        until("an object is delivered", async || deliver() == "delivered 1 insights\n").await;
        until("it is published", async || uids(&cluster, "workloads").await == ["web"]).await;

        environment.write("token", token(&cluster, "backup", &["update-status-controller"]).await);
        environment.write("old", "");
        let mut touch = Command::new("touch");
        touch.args(["-d", "2 days ago", "old"]).current_dir(environment.work());
        assert!(touch.status().unwrap().success());
        let script = |file: &str| {
            let mut command = command("sh");
            command.arg(format!("{FOLDER}/producer.sh")).arg(file).current_dir(environment.work());
            command.env("ENDPOINT", &endpoint).env("CA", "ca.pem").env("TOKEN_FILE", "token");
            stdout(&command.output().unwrap())
        };
        let answer: Value = serde_json::from_str(&script("old")).unwrap();
        assert_eq!(answer["insights"], 1, "{answer}");
        until("it is published", async || uids(&cluster, "backup").await == ["backup-is-old"]).await;

        for arguments in [&["--kubeconfig", "admin"][..], &["--kubeconfig", "admin", "--from-insights"]] {
            let printed = environment.run(&[&["status"], arguments].concat()).stdout;
            assert!(printed.contains("\n= Health Reported by Other Producers =\nLEVEL "), "{printed}");
            assert!(printed.contains(" workloads   Deployment web lacks 1 replicas\n"), "{printed}");
            assert!(
                printed.contains(" backup      The last backup of etcd is older than a day\n"),
                "{printed}"
            );
        }
        let oc = environment.run(&["adm", "upgrade", "status", "--kubeconfig", "admin"]).stdout;
        assert!(oc.contains("= Update Health =") && !oc.contains("Other Producers"), "{oc}");

        environment.write("new", "");
        assert!(script("new").starts_with("{\"expires\":"));
        until("it is withdrawn", async || uids(&cluster, "backup").await.is_empty()).await;
        let scale = Patch::Merge(json!({"spec": {"replicas": 0}}));
        cluster.api(&deployment()).patch("web", &PatchParams::default(), &scale).await.unwrap();
        until("nothing is missing", async || deliver() == "delivered 0 insights\n").await;
        until("it is withdrawn", async || uids(&cluster, "workloads").await.is_empty()).await;

        check_rejections(&environment, &cluster, &endpoint).await;
        let (status, log) = controller.end("-TERM");
        assert_eq!(status.code(), Some(0));
        assert!(log.contains("rejected insight of a delivery of informer \"backup\": 403: "), "{log}");
    });
}

/// The endpoint rejects everything else, and stores nothing.
async fn check_rejections(environment: &TestEnvironment, cluster: &Cluster, endpoint: &str) {
    let url = |informer: &str| format!("{endpoint}/v1alpha1/informers/{informer}/insights");
    let secret = environment.read("token");
    let bearer = format!("Authorization: Bearer {secret}");
    let is_json = ["-H", "Content-Type: application/json"];
    let post_with =
        |informer: &str, more: &[&str]| post(environment, &url(informer), &[&is_json[..], more].concat());
    let empty = ["--data", "{\"insights\": []}"];
    let mut liar: Value = json!({
        "uid": "a",
        "health": {
            "startedAt": "2024-01-01T00:00:00Z",
            "scope": {
                "type": "ControlPlane",
                "resources": [{"group": "config.openshift.io", "resource": "clusterversions", "name": "version"}],
            },
            "impact": {"level": "Critical", "type": "Data Loss", "summary": "s"},
            "remediation": {"reference": "https://example.com"},
        },
    });
    let lie = json!({"insights": [liar]}).to_string();
    liar["health"]["impact"]["level"] = json!("Fatal");
    let broken = json!({"insights": [liar]}).to_string();
    environment.write("huge", "x".repeat(70_000));
    let authorized = |data: &str| post_with("backup", &["-H", &bearer, "--data", data]);
    for (answer, code, expected) in [
        (post(environment, endpoint, &[]), 404, "expected /v1alpha1/informers/NAME/insights"),
        (post(environment, &url("backup"), &[]), 405, "allow: POST"),
        (post(environment, &url("backup"), &empty), 415, "expected Content-Type: application/json"),
        (post_with("backup", &empty), 401, "expected `Authorization: Bearer TOKEN`"),
        (
            post_with("backup", &["-H", "Authorization: Bearer x", empty[0], empty[1]]),
            401,
            "the token is invalid",
        ),
        (
            post_with("workloads", &["-H", &bearer, empty[0], empty[1]]),
            403,
            "may not create updateinformers/insights",
        ),
        (
            post_with("backup", &["-H", &bearer, "--data-binary", "@huge"]),
            413,
            "a delivery has at most 65536 bytes",
        ),
        (authorized(&broken), 422, "insights[0].health.impact.level"),
        (authorized(&lie), 403, "insights[0].health.impact.level: Critical is above Warning"),
    ] {
        let start = format!("HTTP/1.1 {code} ");
        assert!(
            answer.contains(&start) && answer.contains(expected),
            "expected {code} {expected}, found {answer}"
        );
    }
    let limited = (0..20).map(|_| authorized("{")).find(|answer| answer.contains("HTTP/1.1 429 "));
    let limited = limited.expect("deliveries have a limit");
    assert!(limited.contains("retry-after: "), "{limited}");
    let insight = json!({
        "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInsight",
        "metadata": {"namespace": "openshift-update-status-controller"},
    });
    assert!(cluster.api(&insight).list(&ListParams::default()).await.unwrap().items.is_empty());
}
