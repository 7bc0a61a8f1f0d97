//! The server over HTTPS, with kube's client and with a bare HTTP/2 connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::https::{self, Authority, Serving, Settings};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Clock as _, WallClock};
use windtunnel_core::{Identity, Write, resources};

pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("no answer") })
}

async fn serve() -> (Shared, Serving) {
    let shared = Shared::new(ApiServer::builder().build(WallClock.now()), Arc::new(WallClock));
    let serving = https::serve(shared.clone(), Settings::default()).await.unwrap();
    (shared, serving)
}

/// A client from the server's kubeconfig, after `change` has edited its credentials.
pub(super) async fn client(serving: &Serving, change: impl FnOnce(&mut AuthInfo)) -> kube::Client {
    let mut config = Kubeconfig::from_yaml(&serving.kubeconfig()).unwrap();
    change(config.auth_infos[0].auth_info.as_mut().unwrap());
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

pub(super) async fn admin(serving: &Serving) -> kube::Client {
    client(serving, |_| {}).await
}

pub(super) fn config_map(name: &str, data: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "text": data } })).unwrap()
}

/// Sends a request and reads the whole response.
pub(super) async fn ask(
    client: &kube::Client,
    request: http::request::Builder,
    body: Vec<u8>,
) -> http::Response<Bytes> {
    let response = client.send(request.body(body.into()).unwrap()).await.unwrap();
    let (head, body) = response.into_parts();
    http::Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}

fn json_of(response: &http::Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap()
}

#[test]
fn a_client_writes_reads_and_watches() {
    run(async {
        let (_, serving) = serve().await;
        let maps: Api<ConfigMap> = Api::default_namespaced(admin(&serving).await);
        let mut seen = watcher(maps.clone(), watcher::Config::default()).applied_objects().boxed();
        maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
        assert_eq!(seen.try_next().await.unwrap().unwrap().metadata.name.as_deref(), Some("a"));
        maps.create(&PostParams::default(), &config_map("b", "2")).await.unwrap();
        assert_eq!(seen.try_next().await.unwrap().unwrap().metadata.name.as_deref(), Some("b"));
        assert_eq!(maps.list(&ListParams::default()).await.unwrap().items.len(), 2);
        serving.stop().await;
    });
}

#[test]
fn clients_authenticate_by_token_or_certificate() {
    run(async {
        let (_, serving) = serve().await;
        let ask_as = async |change: Box<dyn FnOnce(&mut AuthInfo)>| {
            let client = client(&serving, change).await;
            ask(&client, http::Request::get("/api/v1/namespaces"), Vec::new()).await.status().as_u16()
        };
        assert_eq!(ask_as(Box::new(|_| {})).await, 200);
        assert_eq!(ask_as(Box::new(|auth| auth.token = Some("wrong".to_owned().into()))).await, 401);
        let with_certificate_of = |authority: &Authority| {
            let issued = authority.client("jane", Some("system:masters")).unwrap();
            let encode = |pem: String| {
                use base64::Engine as _;
                base64::engine::general_purpose::STANDARD.encode(pem)
            };
            Box::new(move |auth: &mut AuthInfo| {
                auth.token = None;
                auth.client_certificate_data = Some(encode(issued.certificate_pem));
                auth.client_key_data = Some(encode(issued.key_pem).into());
            })
        };
        assert_eq!(ask_as(with_certificate_of(serving.authority())).await, 200);
        let same_key = Authority::from_key_pem(&serving.authority().key_pem()).unwrap();
        assert_eq!(ask_as(with_certificate_of(&same_key)).await, 200);
        assert_eq!(ask_as(with_certificate_of(&Authority::generate().unwrap())).await, 401);
    });
}

#[test]
fn limits_return_the_errors_of_a_kube_apiserver() {
    run(async {
        let (_, serving) = serve().await;
        let client = admin(&serving).await;
        let post = || {
            http::Request::post("/api/v1/namespaces/default/configmaps")
                .header("Content-Type", "application/json")
        };
        let large = ask(&client, post(), vec![b' '; 4 << 20]).await;
        assert_eq!(large.status(), 413);
        assert_eq!(json_of(&large)["reason"], "RequestEntityTooLarge");
        let soon = ask(&client, http::Request::get("/api/v1/pods?timeout=soon"), Vec::new()).await;
        assert_eq!(soon.status(), 400);
        let text = "invalid timeout specified in the request URL - time: invalid duration \"soon\"";
        assert_eq!(json_of(&soon)["message"], text);
        let header = "x".repeat(1 << 20);
        let long = http::Request::get("/api").header("X-Long", header).body(Vec::new().into()).unwrap();
        // The server may close the connection before the client has written everything.
        if let Ok(answer) = client.send(long).await {
            assert_eq!(answer.status(), 431);
        }
        assert_eq!(ask(&client, http::Request::get("/version"), Vec::new()).await.status(), 200);
    });
}

#[test]
fn an_unchanged_document_is_answered_with_304_and_no_body() {
    run(async {
        let (_, serving) = serve().await;
        let client = admin(&serving).await;
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let get = || http::Request::get("/apis").header("Accept", accept);
        let first = ask(&client, get(), Vec::new()).await;
        let tag = first.headers()["etag"].clone();
        let second = ask(&client, get().header("If-None-Match", tag), Vec::new()).await;
        assert_eq!((second.status().as_u16(), second.body().len()), (304, 0));
        assert!(!second.headers().contains_key("content-type"));
        assert_ne!(first.headers()["audit-id"], second.headers()["audit-id"]);
    });
}

#[test]
fn head_is_answered_without_a_body() {
    run(async {
        let (_, serving) = serve().await;
        let (client, token) = (admin(&serving).await, format!("Bearer {}", serving.token()));
        let sender = http2(&serving).await;
        for (path, code) in [("/healthz", 200), ("/api/v1/namespaces", 405), ("/nothing", 404)] {
            let first = ask(&client, http::Request::head(path), Vec::new()).await;
            let request = http::Request::head(format!("https://localhost{path}"));
            let request = request.header("Authorization", &token).body(Full::new(Bytes::new())).unwrap();
            let second = sender.clone().send_request(request).await.unwrap();
            let length = first.headers()["content-length"].clone();
            assert_ne!(length, "0", "{path}");
            for answer in [first.status(), second.status()] {
                assert_eq!(answer.as_u16(), code, "{path}");
            }
            assert_eq!(second.headers()["content-length"], length, "{path}");
            assert_eq!(second.into_body().collect().await.unwrap().to_bytes().len(), 0, "{path}");
            assert_eq!(first.body().len(), 0, "{path}");
        }
        // Both connections stay usable.
        assert_eq!(ask(&client, http::Request::get("/version"), Vec::new()).await.status(), 200);
    });
}

#[test]
fn long_responses_are_compressed_for_clients_that_accept_gzip() {
    run(async {
        let (shared, serving) = serve().await;
        let map = json!({ "metadata": { "name": "a", "namespace": "default" }, "data": { "k": "v".repeat(200_000) } });
        shared
            .write(&Write::create(&resources::CONFIG_MAPS, map), &Identity::admin(), WallClock.now())
            .unwrap();
        let client = admin(&serving).await;
        let get = || http::Request::get("/api/v1/namespaces/default/configmaps");
        let plain = ask(&client, get(), Vec::new()).await;
        assert!(!plain.headers().contains_key("content-encoding"));
        let small = ask(&client, get().header("Accept-Encoding", "gzip"), Vec::new()).await;
        assert_eq!(small.headers()["content-encoding"], "gzip");
        assert!(small.body().len() < 5_000 && plain.body().len() > 200_000);
    });
}

#[test]
fn stopping_ends_watches_cleanly_and_closes_the_socket() {
    run(async {
        let (_, serving) = serve().await;
        let (client, address) = (admin(&serving).await, serving.address());
        let request =
            http::Request::get("/api/v1/namespaces?watch=true&timeoutSeconds=600").body(Vec::new()).unwrap();
        let mut lines = Box::pin(client.request_stream(request).await.unwrap().lines());
        for _ in 0..4 {
            lines.try_next().await.unwrap().expect("an existing namespace");
        }
        serving.stop().await;
        assert_eq!(lines.try_next().await.unwrap(), None);
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    });
}

/// An HTTP/2 connection that trusts the server's authority.
async fn http2<B>(serving: &Serving) -> hyper::client::conn::http2::SendRequest<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static,
{
    let mut roots = rustls::RootCertStore::empty();
    let authority = serving.authority().certificate_pem();
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = tokio::net::TcpStream::connect(serving.address()).await.unwrap();
    let name = "localhost".try_into().unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

#[test]
fn http_2_serves_many_requests_beside_an_unread_watch() {
    run(async {
        let (_, serving) = serve().await;
        let sender = http2(&serving).await;
        let token = format!("Bearer {}", serving.token());
        let request = |method: &str, path: &str, body: String| {
            http::Request::builder()
                .method(method)
                .uri(format!("https://localhost{path}"))
                .header("Authorization", &token)
                .header("Content-Type", "application/json")
                .body(Full::new(Bytes::from(body)))
                .unwrap()
        };
        let path = "/api/v1/namespaces/default/configmaps";
        let watch = sender.clone().send_request(request("GET", &format!("{path}?watch=true"), String::new()));
        let watch = watch.await.unwrap();
        let creates = (0..300).map(|number| {
            let body =
                json!({ "metadata": { "name": format!("m{number}") }, "data": { "k": "v".repeat(10_000) } });
            sender.clone().send_request(request("POST", path, body.to_string()))
        });
        let answers: Vec<_> = futures::future::join_all(creates).await;
        assert!(answers.into_iter().all(|answer| answer.unwrap().status() == 201));
        let mut body = watch.into_body();
        let (mut lines, mut bytes) = (0, 0);
        while lines < 300 {
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            lines += frame.split(|byte| *byte == b'\n').count() - 1;
            bytes += frame.len();
        }
        assert!(bytes > 3_000_000);
    });
}

#[test]
fn an_incomplete_request_body_blocks_no_other_request() {
    run(async {
        let (_, serving) = serve().await;
        let mut sender = http2(&serving).await;
        let stuck = futures::stream::pending::<Result<http_body::Frame<Bytes>, std::io::Error>>();
        let request =
            http::Request::post("https://localhost/api/v1/namespaces/default/configmaps?timeout=1s")
                .header("Authorization", format!("Bearer {}", serving.token()))
                .header("Content-Type", "application/json")
                .body(Box::pin(http_body_util::StreamBody::new(stuck)))
                .unwrap();
        let slow = tokio::spawn(sender.send_request(request));
        let namespaces: Api<Namespace> = Api::all(admin(&serving).await);
        assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 4);
        assert_eq!(slow.await.unwrap().unwrap().status(), 504);
    });
}
