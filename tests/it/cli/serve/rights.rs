//! `windtunnel rbac` for a served cluster, and `serve --perturb`.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::super::environment::TestEnvironment;
use super::{Served, client, run};

const USER: &str = "system:serviceaccount:default:mine";

/// A client of the administrator that acts as the ServiceAccount.
async fn as_service_account(kubeconfig: &str) -> kube::Client {
    let config = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let mut config =
        kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.impersonate = Some(USER.to_owned());
    kube::Client::try_from(config).unwrap()
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[test]
fn rbac_lists_used_and_unused_rules_and_refused_requests() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--bare", "--kubeconfig", "k"]);
    let kubeconfig = environment.read("k");
    run(async {
        let admin = client(&kubeconfig).await;
        let role = json!({ "metadata": { "name": "mine" },
            "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list", "delete"] }] });
        let binding = json!({ "metadata": { "name": "mine" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mine" },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "mine" }] });
        let roles: Api<ClusterRole> = Api::all(admin.clone());
        roles.create(&PostParams::default(), &object(role)).await.unwrap();
        let bindings: Api<ClusterRoleBinding> = Api::all(admin);
        bindings.create(&PostParams::default(), &object(binding)).await.unwrap();
        let mine = as_service_account(&kubeconfig).await;
        Api::<Pod>::all(mine.clone()).list(&ListParams::default()).await.unwrap();
        let maps: Api<ConfigMap> = Api::default_namespaced(mine);
        maps.get("a").await.unwrap_err();
    });
    let output = environment.run(&["rbac", "--kubeconfig", "k"]);
    insta::assert_snapshot!(output, @"
    exit 0
    system:serviceaccount:default:mine: 2 requests, 1 refused
      ClusterRole/mine by ClusterRoleBinding/mine
        rule 1, 1 request: list pods
          unused: delete pods
      refused once: get configmaps a in default
    ");
    assert_eq!(environment.run(&["rbac", "--kubeconfig", "k", "--user", "mine", "--strict"]).code, Some(1));
    let output = environment.run(&["rbac", "--kubeconfig", "k", "--user", "mine", "--format", "json"]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["users"][0]["rules"][0]["unused"], json!(["delete pods"]));
    let output = environment.run(&["rbac", "--kubeconfig", "k", "--user", "other"]);
    assert!(
        output.code == Some(1) && output.stderr.contains("user other: it has sent no request"),
        "{output}"
    );
}

#[test]
fn a_perturbed_server_drops_connections_and_clients_connect_again() {
    let environment = TestEnvironment::new();
    let faults = "drop,429,500,timeout,seed=1,rate=30%,kind=ConfigMap";
    let flags = ["--bare", "--kubeconfig", "k", "--perturb", faults, "--fault-log", "faults.log"];
    let served = Served::start(&environment, &flags);
    let kubeconfig = environment.read("k");
    let (mut failed, mut created) = (0, 0);
    run(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(client(&kubeconfig).await);
        for number in 0..60 {
            let map = object(json!({ "metadata": { "name": format!("m{number}") } }));
            match maps.create(&PostParams::default(), &map).await {
                Ok(_) => created += 1,
                Err(_) => failed += 1,
            }
        }
        let stored = loop {
            if let Ok(list) = maps.list(&ListParams::default()).await {
                break list.items.len();
            }
        };
        assert!(failed > 0 && created > 30, "{failed} failed, {created} created");
        assert!(stored > created, "some writes are done although the client got no answer");
    });
    served.signal("-TERM");
    let (status, _, stderr) = served.end();
    assert!(status.success(), "{stderr}");
    assert_eq!(
        stderr.lines().find(|line| line.starts_with("faults: ")),
        Some("faults: 429,500,timeout,drop,seed=1,rate=30%,kind=ConfigMap",)
    );
    let log = environment.read("faults.log");
    for expected in ["drop: create ConfigMap", "429: create ConfigMap", "500: create", "timeout: create"] {
        assert!(log.contains(expected), "{expected} is missing in {log}");
    }
}
