//! The update service and Prometheus of a served cluster.

use http::Request;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{Served, TestEnvironment, run};

const GRAPH_DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/graph-data");

pub(super) async fn config(environment: &TestEnvironment) -> Config {
    let kubeconfig = Kubeconfig::from_yaml(&environment.read("config")).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap()
}

/// Status code and body of a request.
pub(super) async fn send(config: &Config, request: http::request::Builder, body: &str) -> (u16, Value) {
    let client = Client::try_from(config.clone()).unwrap();
    let request = request.body(body.as_bytes().to_vec()).unwrap();
    let response = client.send(request.map(kube::client::Body::from)).await.unwrap();
    let code = response.status().as_u16();
    let bytes = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

pub(super) async fn get(config: &Config, path: &str) -> (u16, Value) {
    send(config, Request::get(path), "").await
}

#[test]
fn a_served_cluster_has_an_update_service_with_the_given_graph_data() {
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--release", "4.18.4", "--kubeconfig", "config"];
    let mut served = Served::start(&environment, &[&arguments[..], &["--graph-data", GRAPH_DATA]].concat());
    let line = served.line();
    let url = line.strip_prefix("update service ").unwrap_or_else(|| panic!("found {line:?}"));
    let (server, path) = url.split_at(url.find("/api/").unwrap());
    assert_eq!(path, "/api/upgrades_info/v1/graph");
    run(async {
        let service = Config::new(server.parse().unwrap());
        let (code, graph) = get(&service, &format!("{path}?channel=stable-4.18&arch=amd64&id=x")).await;
        let versions: Vec<&Value> =
            graph["nodes"].as_array().unwrap().iter().map(|node| &node["version"]).collect();
        assert_eq!((code, versions), (200, vec![&json!("4.18.3"), &json!("4.18.4")]));
        let risks = graph["conditionalEdges"][0]["risks"].as_array().unwrap();
        let names: Vec<&Value> = risks.iter().map(|risk| &risk["name"]).collect();
        assert_eq!(names, ["AzureDiskResize", "BornLate", "CephBalancer", "LargeClusterWatch", "ManyNodes"]);
        assert_eq!(graph["edges"], json!([]), "the only update has risks");
        assert_eq!(get(&service, "/api/upgrades_info/graph?channel=none").await.1["nodes"], json!([]));
        assert_eq!(get(&service, path).await.0, 400);
        assert_eq!(get(&service, "/graph").await.0, 404);
        let versions: Api<DynamicObject> = Api::all_with(
            Client::try_from(config(&environment).await).unwrap(),
            &ApiResource::from_gvk(&GroupVersionKind::gvk("config.openshift.io", "v1", "ClusterVersion")),
        );
        let version = versions.get("version").await.unwrap();
        let offered = &version.data["status"]["conditionalUpdates"][0]["risks"];
        assert_eq!(offered, &graph["conditionalEdges"][0]["risks"], "the operator and clients get the same");
    });
}

#[test]
fn a_served_cluster_has_kinds_that_no_component_uses() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--version", "4.18.3", "--kubeconfig", "config"]);
    run(async {
        let config = config(&environment).await;
        for path in [
            "config.openshift.io/v1/oauths",
            "image.openshift.io/v1/imagestreams",
            "machine.openshift.io/v1beta1/machines",
            "machine.openshift.io/v1beta1/machinesets",
            "security.openshift.io/v1/securitycontextconstraints",
            "user.openshift.io/v1/groups",
            "user.openshift.io/v1/identities",
            "user.openshift.io/v1/users",
        ] {
            let (code, list) = get(&config, &format!("/apis/{path}")).await;
            assert!(code == 200 && list["items"].is_array(), "{path}: {list}");
        }
        let (_, ingress) = get(&config, "/apis/config.openshift.io/v1/ingresses/cluster").await;
        assert_eq!(ingress["spec"]["domain"], "apps.wind.example.com", "{ingress}");
    });
}

#[test]
fn prometheus_of_a_served_cluster_answers_behind_its_route() {
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "60x", "--kubeconfig", "config"];
    let mut served = Served::start(&environment, &arguments);
    let (_, line) = (served.line(), served.line());
    let expected =
        format!("Prometheus {}/api/v1/query (Route openshift-monitoring/thanos-querier)", served.url);
    assert_eq!(line, expected);
    run(async {
        let config = config(&environment).await;
        let route = "/apis/route.openshift.io/v1/namespaces/openshift-monitoring/routes/thanos-querier";
        let host = get(&config, route).await.1["status"]["ingress"][0]["host"].clone();
        assert_eq!(format!("https://{}", host.as_str().unwrap()), served.url);
        let result = |body: &Value| body["data"]["result"][0]["value"][1].clone();
        let (code, body) = get(&config, "/api/v1/query?query=count(kube_node_info)").await;
        assert_eq!((code, result(&body)), (200, json!("6")), "{body}");
        let form = Request::post("/api/v1/query").header("Content-Type", "application/x-www-form-urlencoded");
        let (_, body) =
            send(&config, form, "query=max(cluster_version%7Btype%3D%22current%22%7D)+%3E+bool+0").await;
        assert_eq!(result(&body), json!("1"), "{body}");
        let start = get(&config, "/api/v1/query?query=time()").await.1["data"]["result"][1].clone();
        let start = start.as_str().unwrap().to_owned();
        let (code, body) = get(&config, "/api/v1/query?query=grp(a)").await;
        assert_eq!((code, &body["errorType"]), (400, &json!("bad_data")));
        let operators: Api<DynamicObject> = Api::all_with(
            Client::try_from(config.clone()).unwrap(),
            &ApiResource::from_gvk(&GroupVersionKind::gvk("config.openshift.io", "v1", "ClusterOperator")),
        );
        let fault = json!({ "metadata": { "annotations": { "windtunnel.dev/fault": "degraded" } } });
        operators.patch("etcd", &PatchParams::default(), &Patch::Merge(fault)).await.unwrap();
        let is_reported = |body: &Value| {
            let mut alerts = body["data"]["alerts"].as_array().unwrap().iter();
            alerts.any(|alert| {
                alert["labels"]["alertname"] == "ClusterOperatorDegraded" && alert["labels"]["name"] == "etcd"
            })
        };
        let reported = async {
            while !is_reported(&get(&config, "/api/v1/alerts").await.1) {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), reported).await.expect("no alert");
        check_the_past(&config, &start).await;
        let (code, rules) = get(&config, "/api/v1/rules").await;
        assert!(code == 200 && rules["data"]["groups"][0]["rules"][0]["name"].is_string(), "{rules}");
    });
    let status = environment.run(&["adm", "upgrade", "status", "--kubeconfig", "config"]);
    assert!(!status.stdout.contains("Unable to fetch alerts"), "{status}");
}

/// Range queries and series of the time since `start`, in which etcd became degraded.
async fn check_the_past(config: &Config, start: &str) {
    let query = "max(cluster_operator_conditions%7Bname%3D%22etcd%22,condition%3D%22Degraded%22%7D)";
    let path = format!("/api/v1/query_range?query={query}&start={start}&step=5&end=");
    let values = async |end: &str| {
        let (code, body) = get(config, &format!("{path}{end}")).await;
        assert_eq!((code, &body["data"]["resultType"]), (200, &json!("matrix")), "{body}");
        let points = body["data"]["result"][0]["values"].as_array().unwrap().clone();
        points.iter().map(|point| point[1].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // The alert may be reported before the scrape is.
    let end = loop {
        let (_, body) = get(config, "/api/v1/query?query=time()").await;
        let end = body["data"]["result"][1].as_str().unwrap().to_owned();
        if values(&end).await.last().is_some_and(|last| last == "1") {
            break end;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    let values = values(&end).await;
    assert!(values.len() > 2 && values[0] == "0", "{values:?}");
    let increase =
        format!("/api/v1/query?query=changes({}[1d])%20%3E%200", query.replace("max(", "").replace(')', ""));
    assert_eq!(get(config, &increase).await.0, 200);
    let (code, body) =
        get(config, &format!("/api/v1/query_range?query=up&start={start}&end={end}&step=0")).await;
    assert_eq!((code, &body["status"], &body["errorType"]), (400, &json!("error"), &json!("bad_data")));
    let (_, body) = get(config, &format!("/api/v1/series?match%5B%5D=kube_node_role&start={start}")).await;
    // Nodes of the control plane have two roles.
    assert_eq!(body["data"].as_array().unwrap().len(), 9, "{body}");
    let (_, body) = get(config, "/api/v1/label/role/values").await;
    assert_eq!(body["data"], json!(["control-plane", "master", "worker"]));
    let (_, body) = get(config, "/api/v1/labels?match%5B%5D=kube_node_role").await;
    assert_eq!(body["data"], json!(["__name__", "node", "role"]));
}

#[test]
fn prometheus_checks_the_rights_of_its_clients() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--version", "4.18.3", "--kubeconfig", "config"]);
    run(async {
        let admin = config(&environment).await;
        let mut other = admin.clone();
        other.auth_info.impersonate = Some("dev".to_owned());
        let (code, why) = get(&other, "/api/v1/alerts").await;
        let expected = "Forbidden (user=dev, verb=get, resource=prometheuses, subresource=api)\n";
        assert_eq!((code, why), (403, json!(expected)));
        let (code, why) = send(&other, Request::post("/api/v1/query?query=up"), "").await;
        assert_eq!((code, why.as_str().unwrap().contains("verb=create")), (403, true));
        let namespace = "/apis/rbac.authorization.k8s.io/v1/namespaces/openshift-monitoring";
        let rules = [json!({
            "apiGroups": ["monitoring.coreos.com"], "resources": ["prometheuses/api"],
            "resourceNames": ["k8s"], "verbs": ["get"],
        })];
        let role = json!({ "metadata": { "name": "viewer" }, "rules": rules });
        let binding = json!({
            "metadata": { "name": "viewer" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dev" }],
        });
        for (plural, object) in [("roles", role), ("rolebindings", binding)] {
            let (code, why) =
                send(&admin, Request::post(format!("{namespace}/{plural}")), &object.to_string()).await;
            assert_eq!(code, 201, "{why}");
        }
        assert_eq!(get(&other, "/api/v1/alerts").await.0, 200);
        assert_eq!(send(&other, Request::post("/api/v1/query?query=up"), "").await.0, 403);
        let mut anonymous = admin.clone();
        anonymous.auth_info = kube::config::AuthInfo::default();
        assert_eq!(get(&anonymous, "/api/v1/alerts").await.0, 401);
        assert_eq!(send(&admin, Request::delete("/api/v1/alerts"), "").await.0, 405);
    });
}

#[test]
fn invalid_graph_data_is_reported_at_the_start() {
    let environment = TestEnvironment::with(&[("data/channels/s.yaml", "name: s\nversion: [4.18.3]\n")]);
    let output = environment.run(&["serve", "--port", "0", "--version", "4.18.3", "--graph-data", "data"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert!(
        output.stderr.contains("error: data/channels/s.yaml:2:1: a channel has no key `version`"),
        "{output}"
    );
    let output = environment.run(&["serve", "--port", "0", "--bare", "--graph-data", "data"]);
    assert!(output.stderr.contains("cannot be used with"), "{output}");
}
