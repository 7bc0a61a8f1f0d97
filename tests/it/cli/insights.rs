//! `windtunnel insights` beside a served cluster that updates.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use windtunnel_core::clock::{Clock as _, WallClock};
use windtunnel_openshift::manifests;

use super::environment::TestEnvironment;
use super::serve::{Served, client, run};

const NAMESPACE: &str = "openshift-update-status-controller";

/// Terms short enough to wait for.
const TERMS: [&str; 3] = [
    "--leader-elect-lease-duration=15s",
    "--leader-elect-renew-deadline=10s",
    "--leader-elect-retry-period=1s",
];

/// The running controller, killed if a test fails.
pub(super) struct Controller {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Controller {
    pub(super) fn start(environment: &TestEnvironment, arguments: &[&str]) -> Self {
        let arguments = [&["insights", "--listen", "127.0.0.1:0"], &TERMS[..], arguments].concat();
        let mut child =
            environment.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut controller = Self { address: String::new(), child, stdout };
        let line = controller.next_line();
        let address = line.strip_prefix("listening on http://").unwrap_or_else(|| panic!("found {line:?}"));
        address.trim_end().clone_into(&mut controller.address);
        controller
    }

    /// The next line of its standard output.
    pub(super) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Status code and body of a response of its endpoint.
    fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn leads(&self) -> bool {
        self.get("/metrics").1.contains("update_status_controller_leader 1\n")
    }

    pub(super) fn end(mut self, signal: &str) -> (ExitStatus, String) {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap(), err)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a condition, with a timeout that is long enough for a busy machine.
pub(super) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// A cluster with its administrator's client.
pub(super) struct Cluster {
    pub(super) client: kube::Client,
}

impl Cluster {
    pub(super) fn api(&self, object: &Value) -> Api<DynamicObject> {
        let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap_or(("", "v1"));
        let kind = object["kind"].as_str().unwrap();
        let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if kind == "UpdateStatus" {
            "updatestatuses".clone_into(&mut resource.plural);
        }
        match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub(super) async fn create(&self, object: &Value) {
        let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        self.api(object).create(&PostParams::default(), &typed).await.unwrap();
    }

    /// A field of an object; null if the object does not exist.
    async fn read(&self, object: Value, field: &str) -> Value {
        let name = object["metadata"]["name"].as_str().unwrap();
        let found = self.api(&object).get_opt(name).await.unwrap();
        found.map(|found| found.data[field].clone()).unwrap_or_default()
    }

    pub(super) async fn published(&self) -> [Value; 2] {
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "status-api-cm-prototype", "namespace": NAMESPACE},
        });
        let update_status = json!({
            "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateStatus", "metadata": {"name": "cluster"},
        });
        [self.read(config_map, "data").await, self.read(update_status, "status").await]
    }

    /// A kubeconfig of the controller's service account, with a token from the API server.
    async fn kubeconfig(&self, admin: &str) -> String {
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/update-status-controller/token");
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(request.to_string().into_bytes())
            .unwrap();
        let answer: Value = self.client.request(request).await.unwrap();
        let mut config: Value = windtunnel_core::yaml::from_str(admin).unwrap();
        config["users"][0]["user"] = json!({"token": answer["status"]["token"]});
        config.to_string()
    }
}

/// An updating cluster with the manifests of the controller, but without its Deployment.
pub(super) async fn updating(environment: &TestEnvironment) -> Cluster {
    let admin = environment.read("admin");
    let cluster = Cluster { client: client(&admin).await };
    for object in manifests::objects("update-status-controller") {
        if object["kind"] != "Deployment" {
            cluster.create(object).await;
        }
    }
    cluster
        .create(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "status-api-cm-prototype", "namespace": NAMESPACE},
        }))
        .await;
    environment.write("config", cluster.kubeconfig(&admin).await);
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {}});
    let patch = Patch::Merge(json!({"spec": {"desiredUpdate": {"version": "4.18.4"}}}));
    cluster.api(&version).patch("version", &PatchParams::default(), &patch).await.unwrap();
    cluster
}

#[test]
fn insights_are_published_with_the_service_account_and_a_second_process_takes_over() {
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "20x", "--kubeconfig", "admin"];
    let _served = Served::start(&environment, &arguments);
    run(async {
        let cluster = updating(&environment).await;
        let first = Controller::start(&environment, &["--kubeconfig", "config"]);
        until("published", async || {
            let [config_map, update_status] = cluster.published().await;
            let insights = &update_status["controlPlane"]["informers"][0]["insights"];
            let has_target =
                |text: &Value| text.as_str().is_some_and(|text| text.contains("version: \"4.18.4\""));
            has_target(&config_map["usc.cpi.cv-version"])
                && config_map["usc.ni.node-worker-0"].is_string()
                && insights.as_array().is_some_and(|insights| insights.len() > 30)
                && update_status["workerPools"][0]["name"] == "worker"
        })
        .await;
        until("ready", async || first.get("/readyz").0 == 200).await;
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "update-status-controller-lock", "namespace": NAMESPACE},
        });
        let lease = cluster.read(lease, "spec").await;
        let renewed: jiff::Timestamp = lease["renewTime"].as_str().unwrap().parse().unwrap();
        let behind = WallClock.now().duration_since(renewed);
        assert!(behind.as_hours() > 20, "renewed at {renewed}, which is not by the cluster's clock");
        assert_eq!(first.get("/healthz"), (200, "ok".to_owned()));
        assert_eq!(first.get("/").0, 404);
        let metrics = first.get("/metrics").1;
        for line in [
            "update_status_controller_leader 1\n",
            "update_status_controller_insights{informer=\"ni\",type=\"Node\"} 6\n",
            "update_status_controller_publishes_total{kind=\"ConfigMap\"} ",
            "update_status_controller_publishes_total{kind=\"UpdateStatus\"} ",
            "update_status_controller_publish_failures_total 0\n",
        ] {
            assert!(metrics.contains(line), "no `{line}` in {metrics}");
        }
        let status = |more: &[&str]| environment.run(&[&["status", "--kubeconfig", "admin"], more].concat());
        assert!(status(&["--from-insights"]).stdout.contains("\nWorker Pool Nodes: worker\nNAME "));
        for more in [&["-o", "json"][..], &["-o", "json", "--from-insights"]] {
            let insights: Value = serde_json::from_str(&status(more).stdout).unwrap();
            assert_eq!(insights["usc.ni.node-worker-0"]["node"]["name"], "worker-0", "{more:?}");
        }
        let once = environment.run(&["insights", "--kubeconfig", "config", "--once", "-o", "json"]);
        let insights: Value = serde_json::from_str(&once.stdout).unwrap();
        assert_eq!(insights["usc.cpi.cv-version"]["type"], "ClusterVersion");
        assert!(once.stderr.contains("nothing is published: "), "{once}");
        let second = Controller::start(&environment, &["--kubeconfig", "config"]);
        until("standing by", async || second.get("/readyz").0 == 200).await;
        assert!(first.leads() && !second.leads());
        first.end("-KILL");
        until("taken over", async || second.leads()).await;
        let third = Controller::start(&environment, &["--kubeconfig", "config"]);
        let (status, err) = second.end("-TERM");
        let expected =
            "no --prometheus: there are no insights on alerts\nnow the leader\nno longer the leader\n";
        assert_eq!((status.code(), err.as_str()), (Some(0), expected));
        until("taken over again", async || third.leads() && third.get("/readyz").0 == 200).await;
        let (status, _) = third.end("-INT");
        assert_eq!(status.code(), Some(0));
    });
}

#[test]
fn startup_errors_of_the_controller_are_reported() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--bare", "--kubeconfig", "bare"]);
    let check = |arguments: &[&str], code: i32, expected: &str| {
        let output = environment.run(&[&["insights"], arguments].concat());
        assert_eq!(output.code, Some(code), "{arguments:?} {output}");
        assert!(output.stderr.contains(expected), "{arguments:?} {output}");
    };
    check(&[], 2, "error: expected --kubeconfig FILE, or to run in a pod of the cluster: ");
    check(&["--kubeconfig", "none"], 2, "error: ");
    let bare = ["--kubeconfig", "bare"];
    let terms = "expected --leader-elect-lease-duration > --leader-elect-renew-deadline";
    check(&[&bare[..], &["--leader-elect-retry-period", "200s"]].concat(), 2, terms);
    check(&[&bare[..], &["--leader-elect-retry-period", "20ms"]].concat(), 2, "expected whole seconds");
    check(&[&bare[..], &["--listen", &address]].concat(), 2, &format!("error: --listen {address}: "));
    check(&[&bare[..], &["--once", "--dry-run"]].concat(), 1, "error: cluster");
    let endpoint = ["--deliveries-listen", "127.0.0.1:0"];
    check(&[&bare[..], &endpoint].concat(), 2, "--tls-cert <FILE>");
    let missing = ["--tls-cert", "none", "--tls-key", "none", "--listen", "127.0.0.1:0"];
    check(&[&bare[..], &endpoint, &missing].concat(), 2, "error: none: ");
    check(&["--once", "--dry-run", "--output", "text"], 2, "[possible values: yaml, json]");
}

/// A Prometheus that rejects the first few queries, and the queries that it received.
struct Prometheus {
    url: String,
    queries: std::sync::mpsc::Receiver<String>,
}

impl Prometheus {
    fn start(rejections: usize, alerts: &Value) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let body = json!({"status": "success", "data": {"alerts": alerts}}).to_string();
        let (sender, queries) = std::sync::mpsc::channel();
        // The thread ends with the process of the tests.
        std::thread::spawn(move || {
            for (number, stream) in socket.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let (status, body) = if number < rejections {
                    ("503 Service Unavailable", "not yet")
                } else {
                    ("200 OK", body.as_str())
                };
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                if sender.send(head.join("\n")).is_err() {
                    return;
                }
            }
        });
        Self { url, queries }
    }
}

#[test]
fn alerts_of_a_prometheus_become_insights_while_the_cluster_updates() {
    let labels =
        json!({"alertname": "KubeNodeNotReady", "severity": "warning", "namespace": "openshift-monitoring"});
    let annotations = json!({"summary": "Node is not ready."});
    // This is later than any time of the cluster.
    let since = "2999-01-01T00:00:00Z";
    let alert = |state: &str| json!({"labels": labels, "annotations": annotations, "state": state, "activeAt": since});
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "20x", "--kubeconfig", "admin"];
    let _served = Served::start(&environment, &arguments);
    run(async {
        let _cluster = updating(&environment).await;
        let look = |prometheus: &Prometheus| {
            let once = ["insights", "--kubeconfig", "config", "--once", "--dry-run", "-o", "json"];
            environment.run(&[&once[..], &["--prometheus", &prometheus.url]].concat())
        };
        let firing = Prometheus::start(0, &json!([alert("firing")]));
        until("alert published", async || {
            look(&firing).stdout.contains("Alert is firing: Node is not ready.")
        })
        .await;
        let query = firing.queries.recv().unwrap();
        assert!(query.starts_with("GET /api/v1/alerts"), "{query}");
        assert!(query.to_lowercase().contains("authorization: bearer "), "{query}");
        let output = look(&Prometheus::start(0, &json!([alert("pending")])));
        assert!(!output.stdout.contains("Alert is firing"), "{output}");
        let output = look(&Prometheus::start(usize::MAX, &json!([])));
        assert_eq!(output.code, Some(0), "{output}");
        assert!(output.stderr.contains("alerts: "), "{output}");
        assert!(output.stdout.contains("usc.cpi.cv-version"), "{output}");
    });
}
