//! Webhook calls over HTTPS: trust, timeouts and Services.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{self, ServerConfig, crypto::ring};
use windtunnel_apiserver::https::Webhooks;
use windtunnel_apiserver::{ApiServer, Method, Request};
use windtunnel_core::Identity;

use super::requests::now;

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

/// A webhook on its own thread, for as long as the test runs.
struct Hook {
    address: SocketAddr,
    /// The certificate of its CA, as in the `caBundle` of configurations.
    bundle: String,
    calls: Arc<AtomicU32>,
}

/// Starts a webhook with a certificate for `names`. It answers each request after `delay`.
fn hook(names: &[&str], delay: Duration, answer: fn(&Value) -> Value) -> Hook {
    hook_with(certificates(names), delay, answer)
}

fn hook_with(certificates: (String, ServerConfig), delay: Duration, answer: fn(&Value) -> Value) -> Hook {
    let (bundle, config) = certificates;
    let calls = Arc::new(AtomicU32::new(0));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let count = Arc::clone(&calls);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, count) = (acceptor.clone(), Arc::clone(&count));
                tokio::spawn(async move {
                    // A client that does not trust the certificate disconnects here.
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = hyper::service::service_fn(move |request| {
                        count.fetch_add(1, Ordering::SeqCst);
                        respond(request, delay, answer)
                    });
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
    });
    Hook { address, bundle, calls }
}

async fn respond(
    request: http::Request<hyper::body::Incoming>,
    delay: Duration,
    answer: fn(&Value) -> Value,
) -> Result<http::Response<Full<Bytes>>, hyper::Error> {
    assert_eq!((request.method(), request.uri().path()), (&http::Method::POST, "/check"));
    let body = request.into_body().collect().await?.to_bytes();
    tokio::time::sleep(delay).await;
    let review: Value = serde_json::from_slice(&body).unwrap();
    let mut response = answer(&review["request"]);
    response["uid"] = review["request"]["uid"].clone();
    let review =
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response });
    Ok(http::Response::new(Full::new(review.to_string().into())))
}

/// A CA certificate, and the configuration of a TLS server with a certificate from that CA.
pub(super) fn certificates(names: &[&str]) -> (String, ServerConfig) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let own = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(names).unwrap().signed_by(&own, &issuer).unwrap();
    (STANDARD.encode(authority.pem()), tls(&certificate, &own))
}

/// The configuration of a TLS server with a certificate that is its own authority, as `openssl req -x509` makes it.
fn own_authority(names: &[&str]) -> (String, ServerConfig) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (STANDARD.encode(certificate.pem()), tls(&certificate, &key))
}

fn tls(certificate: &Certificate, key: &KeyPair) -> ServerConfig {
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der())),
        )
        .unwrap()
}

fn allowed(_: &Value) -> Value {
    json!({ "allowed": true })
}

fn by_url(hook: &Hook) -> Value {
    json!({ "url": format!("https://{}/check", hook.address), "caBundle": hook.bundle })
}

fn webhook(config: &Value, changes: &Value) -> Value {
    let mut webhook = json!({ "name": "w.example.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": config, "rules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["configmaps"] }] });
    for (field, value) in changes.as_object().into_iter().flatten() {
        webhook[field] = value.clone();
    }
    webhook
}

fn post(server: &mut ApiServer, path: &str, body: &Value) -> (u16, Value) {
    let reply = server.handle(&Request::new(Method::Post, path, &Identity::admin()).with_body(body), now());
    (reply.code, reply.json().unwrap())
}

/// A server that calls its webhooks over HTTPS.
fn server(kind: &str, webhooks: &[Value]) -> ApiServer {
    let mut server = ApiServer::builder().hooks(Webhooks).build(now());
    let configuration = json!({ "metadata": { "name": "c" }, "webhooks": webhooks });
    let (code, body) =
        post(&mut server, &format!("{CONFIGURATIONS}/{kind}webhookconfigurations"), &configuration);
    assert_eq!(code, 201, "{body}");
    server
}

fn create(server: &mut ApiServer) -> (u16, Value) {
    post(server, "/api/v1/namespaces/default/configmaps", &json!({ "metadata": { "name": "m" } }))
}

/// The part after the URL in the error of a webhook that was not reached.
fn why(server: &mut ApiServer, url: &str) -> String {
    let (code, body) = create(server);
    let text = body["message"].as_str().unwrap_or_default();
    let start = format!(
        "Internal error occurred: failed calling webhook \"w.example.io\": failed to call webhook: Post \"{url}\": "
    );
    assert_eq!(code, 500, "{text}");
    text.strip_prefix(&start).unwrap_or(text).to_owned()
}

#[test]
fn a_webhook_is_trusted_only_by_the_ca_bundle_of_its_configuration() {
    let hook = hook(
        &["127.0.0.1"],
        Duration::ZERO,
        |request| json!({ "allowed": request["name"] != "m", "status": { "message": "not this one" } }),
    );
    let mut trusting = server("validating", &[webhook(&by_url(&hook), &json!({}))]);
    let (code, body) = create(&mut trusting);
    assert_eq!(code, 400);
    assert_eq!(body["message"], "admission webhook \"w.example.io\" denied the request: not this one");
    let other = certificates(&["127.0.0.1"]).0;
    let url = format!("https://{}/check", hook.address);
    let mut doubting =
        server("validating", &[webhook(&json!({ "url": url, "caBundle": other }), &json!({}))]);
    // The other authority has the same name.
    assert_eq!(
        why(&mut doubting, &format!("{url}?timeout=10s")),
        "tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of \"x509: \
         ECDSA verification failure\" while trying to verify candidate authority certificate \"rcgen self signed cert\")"
    );
    assert_eq!(hook.calls.load(Ordering::SeqCst), 1);
}

#[test]
fn a_webhook_may_be_its_own_authority_for_its_own_names() {
    let server = |hook: &Hook, bundle: &str| {
        let url = format!("https://{}/check", hook.address);
        server("validating", &[webhook(&json!({ "url": url, "caBundle": bundle }), &json!({}))])
    };
    let hook_for = |name| hook_with(own_authority(&[name]), Duration::ZERO, allowed);
    let hook = hook_for("127.0.0.1");
    assert_eq!(create(&mut server(&hook, &hook.bundle)).0, 201);
    let url = format!("https://{}/check?timeout=10s", hook.address);
    let other = own_authority(&["127.0.0.1"]).0;
    assert!(why(&mut server(&hook, &other), &url).starts_with("tls: "));
    let misnamed = hook_for("elsewhere.example.io");
    let url = format!("https://{}/check?timeout=10s", misnamed.address);
    assert_eq!(
        why(&mut server(&misnamed, &misnamed.bundle), &url),
        "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain \
         any IP SANs"
    );
}

/// The message about a webhook with the certificate of `names`, if the configuration has this certificate instead of its
/// authority. It is no authority, as the one that envtest makes.
fn with_leaf_in_bundle(names: &[&str], change: fn(&mut CertificateParams)) -> String {
    let mut params =
        CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    change(&mut params);
    let (authority, key) = (CertificateParams::default(), KeyPair::generate().unwrap());
    let (issuer, own) = (Issuer::new(authority, key), KeyPair::generate().unwrap());
    let certificate = params.signed_by(&own, &issuer).unwrap();
    let hook =
        hook_with((STANDARD.encode(certificate.pem()), tls(&certificate, &own)), Duration::ZERO, allowed);
    let mut server = server("validating", &[webhook(&by_url(&hook), &json!({}))]);
    let (code, body) = create(&mut server);
    let text = body["message"].as_str().unwrap_or_default();
    assert_eq!(code, if text.is_empty() { 201 } else { 500 });
    text.rsplit_once("x509: ").map(|(_, why)| why).unwrap_or_default().to_owned()
}

#[test]
fn a_bundle_may_have_the_certificate_of_the_webhook_itself() {
    assert_eq!(with_leaf_in_bundle(&["127.0.0.1", "localhost"], |_| {}), "");
    let unnamed = "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs";
    assert_eq!(with_leaf_in_bundle(&["localhost"], |_| {}), unnamed);
    let expire = |params: &mut CertificateParams| params.not_after = rcgen::date_time_ymd(2020, 1, 2);
    let expired = with_leaf_in_bundle(&["127.0.0.1"], expire);
    assert!(expired.starts_with("certificate has expired or is not yet valid: current time "), "{expired}");
    assert!(expired.ends_with("Z is after 2020-01-02T00:00:00Z"), "{expired}");
    let for_clients = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    };
    let misused = "certificate specifies an incompatible key usage";
    assert_eq!(with_leaf_in_bundle(&["127.0.0.1"], for_clients), misused);
}

#[test]
fn a_webhook_timeout_rejects_the_request_unless_failures_are_ignored() {
    let hook = hook(&["127.0.0.1"], Duration::from_secs(20), allowed);
    let quick = json!({ "timeoutSeconds": 1 });
    let mut failing = server("validating", &[webhook(&by_url(&hook), &quick)]);
    let url = format!("https://{}/check?timeout=1s", hook.address);
    assert_eq!(why(&mut failing, &url), "context deadline exceeded");
    let ignored = json!({ "timeoutSeconds": 1, "failurePolicy": "Ignore" });
    let mut ignoring = server("validating", &[webhook(&by_url(&hook), &ignored)]);
    assert_eq!(create(&mut ignoring).0, 201);
    assert_eq!(hook.calls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_webhook_service_is_resolved_and_needs_a_certificate_for_its_name() {
    let hook = hook(&["hook.default.svc"], Duration::ZERO, allowed);
    let config = json!({ "caBundle": hook.bundle, "service": { "namespace": "default", "name": "hook", "path": "/check",
        "port": hook.address.port() } });
    let mut server = server("validating", &[webhook(&config, &json!({}))]);
    let url = format!("https://hook.default.svc:{}/check?timeout=10s", hook.address.port());
    assert_eq!(why(&mut server, &url), "service \"hook\" not found");
    let service = |name: &str, external: &str| json!({ "metadata": { "name": name }, "spec": { "type": "ExternalName", "externalName": external } });
    let services = "/api/v1/namespaces/default/services";
    assert_eq!(post(&mut server, services, &service("hook", "127.0.0.1")).0, 201);
    assert_eq!(create(&mut server).0, 201);
    // Another service with the certificate of this one.
    let mut config = config;
    config["service"]["name"] = json!("other");
    let mut server = self::server("validating", &[webhook(&config, &json!({}))]);
    assert_eq!(post(&mut server, services, &service("other", "127.0.0.1")).0, 201);
    let url = format!("https://other.default.svc:{}/check?timeout=10s", hook.address.port());
    assert_eq!(
        why(&mut server, &url),
        "tls: failed to verify certificate: x509: certificate is valid for hook.default.svc, not other.default.svc"
    );
}

#[test]
fn a_webhook_with_reinvocation_is_called_again_after_another_changed_the_object() {
    fn label(request: &Value, name: &str) -> Value {
        let labels = &request["object"]["metadata"]["labels"];
        if labels.get(name).is_some() {
            return json!({ "allowed": true });
        }
        let mut all = if labels.is_object() { labels.clone() } else { json!({}) };
        all[name] = json!("yes");
        let patch = json!([{ "op": "add", "path": "/metadata/labels", "value": all }]);
        json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string()) })
    }
    let first = hook(&["127.0.0.1"], Duration::ZERO, |request| label(request, "first"));
    let second = hook(&["127.0.0.1"], Duration::ZERO, |request| label(request, "second"));
    let reinvoked = json!({ "reinvocationPolicy": "IfNeeded" });
    let other = json!({ "name": "v.example.io" });
    let mut server =
        server("mutating", &[webhook(&by_url(&first), &reinvoked), webhook(&by_url(&second), &other)]);
    let (code, body) = create(&mut server);
    assert_eq!((code, &body["metadata"]["labels"]), (201, &json!({ "first": "yes", "second": "yes" })));
    let calls = [&first, &second].map(|hook| hook.calls.load(Ordering::SeqCst));
    assert_eq!(calls, [2, 1]);
}

#[test]
fn a_refused_connection_has_the_message_of_go() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config =
        json!({ "url": format!("https://{free}/check"), "caBundle": certificates(&["127.0.0.1"]).0 });
    let mut server = server("validating", &[webhook(&config, &json!({}))]);
    let text = format!("dial tcp {free}: connect: connection refused");
    assert_eq!(why(&mut server, &format!("https://{free}/check?timeout=10s")), text);
}
