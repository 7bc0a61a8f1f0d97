//! The example producers beside a served cluster and `windtunnel insights`: one delivers objects, one over HTTPS.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use windtunnel_apiserver::https::Authority;
use windtunnel_core::yaml;
use windtunnel_openshift::manifests;

use super::environment::TestEnvironment;
use super::insights::{Cluster, Controller, until, updating};
use super::serve::{Served, run};
use crate::update_status::deliveries::token_of;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/insight_producer");

const NAMESPACE: &str = "openshift-update-status-controller";

/// Builds the Rust example with the profile of the program, and returns its path.
fn built_example() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_windtunnel"));
    let profile = if program.parent().unwrap().ends_with("release") { "release" } else { "dev" };
    let build = ["build", "--quiet", "--profile", profile, "--example", "insight_producer"];
    let mut cargo = Command::new(env!("CARGO"));
    // With the variables that Cargo sets for tests, it would build ring, and all that needs it, again.
    let is_set_for_tests = |name: &str| name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_set_for_tests)) {
        cargo.env_remove(name);
    }
    let built = cargo.args(build).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program.with_file_name("examples").join("insight_producer")
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

/// The manifest of a kind.
fn shipped(kind: &str) -> &'static Value {
    let mut objects = manifests::objects("update-status-controller").iter();
    objects.find(|object| object["kind"] == kind).unwrap()
}

/// The place of the certificate in the pod of the Deployment, after checks that its Service leads to the endpoint.
fn mount_path() -> String {
    let (deployment, service) = (shipped("Deployment"), shipped("Service"));
    let pod = &deployment["spec"]["template"];
    for (label, value) in service["spec"]["selector"].as_object().unwrap() {
        assert_eq!(&pod["metadata"]["labels"][label], value);
    }
    let container = &pod["spec"]["containers"][0];
    let target = &service["spec"]["ports"][0]["targetPort"];
    let port = container["ports"].as_array().unwrap().iter().find(|port| port["name"] == *target).unwrap();
    let arguments: Vec<&str> =
        container["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
    assert!(arguments.contains(&&*format!("--deliveries-listen=0.0.0.0:{}", port["containerPort"])));
    let allowed = &shipped("NetworkPolicy")["spec"]["ingress"][0]["ports"][0]["port"];
    assert_eq!(allowed, target);
    let volume = &pod["spec"]["volumes"][0];
    let secret = &service["metadata"]["annotations"]["service.beta.openshift.io/serving-cert-secret-name"];
    assert_eq!(&volume["secret"]["secretName"], secret);
    assert_eq!(container["volumeMounts"][0]["name"], volume["name"]);
    let path = container["volumeMounts"][0]["mountPath"].as_str().unwrap();
    for expected in [format!("--tls-cert={path}/tls.crt"), format!("--tls-key={path}/tls.key")] {
        assert!(arguments.contains(&&*expected), "{arguments:?}");
    }
    path.to_owned()
}

#[test]
fn the_shipped_deployment_takes_deliveries_with_the_certificate_of_its_service() {
    let mounted = mount_path();
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "20x", "--kubeconfig", "admin"];
    let _served = Served::start(&environment, &arguments);
    run(async {
        let cluster = updating(&environment).await;
        register(&cluster).await;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "update-status-controller-serving-cert", "namespace": NAMESPACE},
        });
        until("the service CA issues a certificate", async || {
            let found = cluster.api(&secret).get_opt("update-status-controller-serving-cert").await.unwrap();
            found.is_some_and(|found| found.data["data"]["tls.crt"].is_string())
        })
        .await;
        // Simulated certificates are none for TLS, so the test issues one for the name that the service CA would use.
        let host = format!("update-status-controller.{NAMESPACE}.svc");
        let authority = Authority::generate().unwrap();
        let certificate = authority.server_certificate(std::slice::from_ref(&host)).unwrap();
        environment.write("ca.pem", authority.certificate_pem());
        let folder = environment.work().join("mounted");
        fs::create_dir(&folder).unwrap();
        let place = folder.display().to_string();
        let arguments = shipped("Deployment")["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        let arguments: Vec<String> = arguments.as_array().unwrap()[2..]
            .iter()
            .map(|argument| {
                argument.as_str().unwrap().replace(&mounted, &place).replace("0.0.0.0:8443", "127.0.0.1:0")
            })
            .collect();
        let arguments: Vec<&str> =
            arguments.iter().map(String::as_str).chain(["--kubeconfig", "config"]).collect();
        let mut controller = Controller::start(&environment, &arguments);
        let endpoint = controller.next_line();
        let port = endpoint.trim_end().rsplit(':').next().unwrap().to_owned();
        fs::write(folder.join("tls.key"), certificate.key_pem).unwrap();
        fs::write(folder.join("tls.crt"), certificate.chain_pem).unwrap();

        let bearer = format!(
            "Authorization: Bearer {}",
            token(&cluster, "backup", &["update-status-controller"]).await
        );
        let url = format!("https://{host}:{port}/v1alpha1/informers/backup/insights");
        let resolve = format!("{host}:{port}:127.0.0.1");
        let deliver = |data: &str| {
            let json = "Content-Type: application/json";
            let arguments = ["--resolve", &resolve, "-H", &bearer, "-H", json, "--data", data];
            post(&environment, &url, &arguments)
        };
        let answer = deliver(r#"{"insights": [{}]}"#);
        assert!(answer.contains("HTTP/1.1 422 "), "{answer}");
        let informer = json!({
            "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer", "metadata": {"name": "backup"},
        });
        let rejected = async || {
            let found = cluster.api(&informer).get("backup").await.unwrap();
            let conditions = found.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let rejected = conditions.iter().find(|condition| condition["type"] == "DeliveryRejected");
            rejected.map(|condition| condition["reason"].clone()).unwrap_or_default()
        };
        until("the rejection is reported", async || rejected().await == "InvalidBody").await;
        let answer = deliver(r#"{"insights": []}"#);
        assert!(answer.contains("HTTP/1.1 200 "), "{answer}");
        until("the next delivery ends the report", async || rejected().await == "AsExpected").await;
        let (status, log) = controller.end("-TERM");
        assert_eq!(status.code(), Some(0));
        assert!(log.contains("deliveries start when the certificate and its key exist"), "{log}");
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
