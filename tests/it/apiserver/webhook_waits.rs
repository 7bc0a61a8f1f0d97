//! Requests that wait for several webhooks, and for webhooks that never answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use windtunnel_apiserver::https::{self, Serving, Settings};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{ApiServer, HookCall, HookError, HookResponse, Hooks};
use windtunnel_core::clock::{Clock as _, WallClock};
use windtunnel_core::{Identity, Resource, Write};

use super::https::{ask, run};

const VALIDATING: Resource = Resource::cluster(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Webhooks that all answer when enough of them have been called.
struct Meeting {
    barrier: Barrier,
    calls: Arc<AtomicUsize>,
}

impl Hooks for Meeting {
    fn call(&self, _: &HookCall) -> Result<Value, HookError> {
        Err(HookError("the server does not wait for others".to_owned()))
    }

    fn start(self: Arc<Self>, call: HookCall) -> HookResponse {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::SeqCst);
            self.barrier.wait().await;
            let response = json!({ "allowed": true, "uid": call.review["request"]["uid"] });
            Ok(
                json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response }),
            )
        })
    }
}

/// A server over HTTPS with webhooks of one address, which answer when `enough` of them are called.
async fn serve(webhooks: &[&str], enough: usize) -> (Serving, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let meeting = Meeting { barrier: Barrier::new(enough), calls: Arc::clone(&calls) };
    let mut server = ApiServer::builder().hooks(meeting).build(WallClock.now());
    let webhook = |name: &&str| {
        json!({ "name": format!("{name}.example.io"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": { "url": "https://127.0.0.1:9/check" },
            "rules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["configmaps"] }] })
    };
    let webhooks: Vec<Value> = webhooks.iter().map(webhook).collect();
    let configuration = json!({ "metadata": { "name": "hooks" }, "webhooks": webhooks });
    server.write(&Write::create(&VALIDATING, configuration), &Identity::admin(), WallClock.now()).unwrap();
    let shared = Shared::new(server, Arc::new(WallClock));
    (https::serve(shared, Settings::default()).await.unwrap(), calls)
}

/// A client that repeats no request.
async fn client(serving: &Serving) -> kube::Client {
    let config = Kubeconfig::from_yaml(&serving.kubeconfig()).unwrap();
    let mut config =
        kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

/// Creates a ConfigMap with these query parameters. Returns the code, the message, and whether it exists then.
async fn create(serving: &Serving, query: &str) -> (u16, String, bool) {
    let client = client(serving).await;
    let post = http::Request::post(format!("{MAPS}{query}")).header("Content-Type", "application/json");
    let reply = ask(&client, post, json!({ "metadata": { "name": "m" } }).to_string().into_bytes()).await;
    let body: Value = serde_json::from_slice(reply.body()).unwrap();
    let message = body["message"].as_str().unwrap_or_default().to_owned();
    let found = ask(&client, http::Request::get(format!("{MAPS}/m")), Vec::new()).await;
    (reply.status().as_u16(), message, found.status() == 200)
}

#[test]
fn validating_webhooks_are_called_at_the_same_time_and_each_on_its_own() {
    run(async {
        // The three have the same address, and get the same object.
        let (serving, calls) = serve(&["a", "b", "c"], 3).await;
        assert_eq!(create(&serving, "").await, (201, String::new(), true));
        assert_eq!(calls.load(Ordering::SeqCst), 3);
        serving.stop().await;
    });
}

#[test]
fn a_request_ends_with_its_timeout_while_a_webhook_is_silent() {
    run(async {
        let (serving, calls) = serve(&["a"], 2).await;
        let text = "Timeout: request did not complete within requested timeout - context deadline exceeded";
        assert_eq!(create(&serving, "?timeout=1s").await, (504, text.to_owned(), false));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        serving.stop().await;
    });
}
