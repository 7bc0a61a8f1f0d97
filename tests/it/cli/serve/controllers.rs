//! `windtunnel serve --bare --controllers`: what controllers add to an API server, in real time and over the
//! socket.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{Condition, await_condition, conditions::is_deleted};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{Served, TestEnvironment, client, run};

/// The longest wait, so that a failing test ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until an object meets a condition. Returns it, or `None` if it was deleted.
pub(super) async fn wait<K>(api: Api<K>, name: &str, condition: impl Condition<K>) -> Option<K>
where
    K: Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + kube::Resource + 'static,
{
    let waited = tokio::time::timeout(PATIENCE, await_condition(api, name, condition)).await;
    waited.unwrap_or_else(|_| panic!("{name} did not meet the condition in time")).unwrap()
}

pub(super) fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

/// A ConfigMap with its owner.
fn config_map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owners = owner.map(|owner| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid })
    });
    let owners: Vec<Value> = owners.into_iter().collect();
    object(json!({ "metadata": { "name": name, "ownerReferences": owners } }))
}

pub(super) fn web() -> Deployment {
    let labels = json!({ "app": "web" });
    object(json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    }))
}

/// Deletes an owner, and waits until its dependent is deleted.
pub(crate) async fn collect_garbage(client: &Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let create = PostParams::default();
    let owner = maps.create(&create, &config_map("owner", None)).await.unwrap();
    let dependent = maps.create(&create, &config_map("dependent", Some(&owner))).await.unwrap();
    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    wait(maps, "dependent", is_deleted(&dependent.metadata.uid.unwrap())).await;
}

#[test]
fn only_the_named_controllers_run() {
    let environment = TestEnvironment::new();
    let chosen = "garbage-collector-controller,namespace-controller";
    let flags = ["--bare", "--controllers", chosen, "--kubeconfig", "config"];
    let served = Served::start(&environment, &flags);
    run(async {
        let client = client(&environment.read("config")).await;
        let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
        deployments.create(&PostParams::default(), &web()).await.unwrap();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let mine: Namespace = object(json!({ "metadata": { "name": "mine" } }));
        let mine = namespaces.create(&PostParams::default(), &mine).await.unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "mine");
        maps.create(&PostParams::default(), &config_map("inside", None)).await.unwrap();
        namespaces.delete("mine", &DeleteParams::default()).await.unwrap();
        wait(namespaces, "mine", is_deleted(&mine.metadata.uid.unwrap())).await;
        assert_eq!(maps.get_opt("inside").await.unwrap(), None);
        collect_garbage(&client).await;
        let sets: Api<ReplicaSet> = Api::default_namespaced(client);
        assert_eq!(sets.list(&ListParams::default()).await.unwrap().items, []);
    });
    served.signal("-TERM");
    let (status, out, err) = served.end();
    assert_eq!((status.code(), out.as_str(), err.as_str()), (Some(0), "", ""));
}

#[test]
fn all_controllers_create_pods_and_publish_the_certificate_of_the_server() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--bare", "--controllers", "all", "--kubeconfig", "config"]);
    run(async {
        let client = client(&environment.read("config")).await;
        let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
        deployments.create(&PostParams::default(), &web()).await.unwrap();
        let has_both = |deployment: Option<&Deployment>| {
            let status = deployment.and_then(|deployment| deployment.status.as_ref());
            status.and_then(|status| status.replicas) == Some(2)
        };
        wait(deployments, "web", has_both).await;
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        assert_eq!(pods.list(&ListParams::default().labels("app=web")).await.unwrap().items.len(), 2);
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let is_there = |map: Option<&ConfigMap>| map.is_some();
        let published = wait(maps, "kube-root-ca.crt", is_there).await.unwrap().data.unwrap();
        assert!(published["ca.crt"].starts_with("-----BEGIN CERTIFICATE-----"));
    });
}

#[test]
fn an_unknown_controller_is_reported() {
    let environment = TestEnvironment::new();
    let check = |arguments: &[&str], expected: &str| {
        let output = environment.run(arguments);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check(
        &["serve", "--controllers", "job-controler"],
        "unknown controller `job-controler`; did you mean `job-controller`?",
    );
    check(&["serve", "--version", "4.18.3", "--controllers", "all"], "'--controllers <NAME>'");
    check(&["envtest", "assets", "--controllers", "jobs"], "invalid value 'jobs' for '--controllers <NAME>'");
}

#[test]
fn an_approved_request_gets_a_certificate_with_which_its_user_is_authenticated() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--bare", "--controllers", "all", "--kubeconfig", "config"]);
    let key = rcgen::KeyPair::generate().unwrap();
    let mut wanted = rcgen::CertificateParams::default();
    wanted.distinguished_name.push(rcgen::DnType::CommonName, "jane");
    wanted.distinguished_name.push(rcgen::DnType::OrganizationName, "testers");
    let pem = wanted.serialize_request(&key).unwrap().pem().unwrap();
    run(async {
        let config = environment.read("config");
        let client = client(&config).await;
        let requests: Api<CertificateSigningRequest> = Api::all(client);
        let request = object(json!({ "metadata": { "name": "jane" }, "spec": {
            "request": STANDARD.encode(pem), "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        } }));
        let mut request = requests.create(&PostParams::default(), &request).await.unwrap();
        request.status = Some(object(json!({ "conditions": [{
            "type": "Approved", "status": "True", "reason": "Test", "message": "by a test",
        }] })));
        requests.replace_subresource("approval", "jane", &PostParams::default(), &request).await.unwrap();
        let certificate = |request: Option<&CertificateSigningRequest>| {
            request.and_then(|request| request.status.as_ref()?.certificate.clone())
        };
        let signed = wait(requests, "jane", |request: Option<&CertificateSigningRequest>| {
            certificate(request).is_some()
        });
        let certificate = certificate(signed.await.as_ref()).unwrap().0;
        let mut config = Kubeconfig::from_yaml(&config).unwrap();
        let auth = config.auth_infos[0].auth_info.as_mut().unwrap();
        *auth = AuthInfo {
            client_certificate_data: Some(STANDARD.encode(certificate)),
            client_key_data: Some(STANDARD.encode(key.serialize_pem()).into()),
            ..AuthInfo::default()
        };
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
        let reviews: Api<SelfSubjectReview> = Api::all(Client::try_from(config).unwrap());
        let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
        let who = review.status.unwrap().user_info.unwrap();
        assert_eq!(who.username.as_deref(), Some("jane"));
        assert_eq!(who.groups.unwrap(), ["testers", "system:authenticated"]);
    });
}
