//! Answers of webhooks over HTTPS that are no reviews, and the requests that webhooks get. The messages are those of a
//! kube-apiserver 1.36, which was asked with the same answers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use windtunnel_apiserver::https::Webhooks;
use windtunnel_apiserver::{ApiServer, Method, Request};
use windtunnel_core::Identity;

use super::requests::now;
use super::webhook_calls::certificates;

/// A webhook that answers with bytes.
struct Hook {
    address: SocketAddr,
    bundle: String,
    /// The heads of the requests.
    requests: Arc<Mutex<Vec<String>>>,
}

/// A request: its path and its review.
type Answer = fn(&str, &Value) -> String;

fn hook(answer: Answer) -> Hook {
    let (bundle, config) = certificates(&["127.0.0.1"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let (head, review) = read(&mut stream).await;
                let path = head.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
                let (path, answer) = (path.to_owned(), answer(path, &review));
                seen.lock().unwrap().push(head);
                let _ = stream.write_all(answer.as_bytes()).await;
                end(stream, &path).await;
            }
        });
    });
    Hook { address, bundle, requests }
}

/// Ends a connection: with the last message of TLS, without it, or within another one.
async fn end(mut stream: TlsStream<TcpStream>, path: &str) {
    let _ = stream.flush().await;
    if path.starts_with("/silent") {
        return;
    }
    if path.starts_with("/cut") {
        let (mut stream, _) = stream.into_inner();
        let _ = stream.write_all(&[23, 3, 3, 0, 99, 1, 2]).await;
        return;
    }
    let _ = stream.shutdown().await;
}

/// Reads a request: its head, and its review.
async fn read(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().split_once("content-length: ").map(|(_, rest)| rest.to_owned());
            let length = length.and_then(|rest| rest.lines().next().and_then(|line| line.parse().ok()));
            if body.len() >= length.unwrap_or(0) {
                return (head.to_owned(), serde_json::from_str(body).unwrap_or_default());
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return (text, Value::Null);
        }
    }
}

fn response(code: u16, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {code} X\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn allowed(review: &Value) -> Value {
    json!({ "apiVersion": review["apiVersion"], "kind": "AdmissionReview",
        "response": { "uid": review["request"]["uid"], "allowed": true } })
}

fn post(server: &mut ApiServer, path: &str, body: &Value) -> (u16, Value) {
    let reply = server.handle(&Request::new(Method::Post, path, &Identity::admin()).with_body(body), now());
    (reply.code, reply.json().unwrap())
}

/// The message about a ConfigMap whose creation a webhook with this address must allow; empty if it did.
fn create(config: &Value) -> String {
    let mut server = ApiServer::builder().hooks(Webhooks).build(now());
    let webhook = json!({ "name": "w.example.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": config, "timeoutSeconds": 5, "rules": [{ "operations": ["CREATE"], "apiGroups": [""],
            "apiVersions": ["v1"], "resources": ["configmaps"] }] });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let configuration = json!({ "metadata": { "name": "c" }, "webhooks": [webhook] });
    assert_eq!(post(&mut server, path, &configuration).0, 201);
    let map = json!({ "metadata": { "name": "m" } });
    let (code, body) = post(&mut server, "/api/v1/namespaces/default/configmaps", &map);
    assert!(matches!(code, 201 | 500), "{body}");
    let start = "Internal error occurred: failed calling webhook \"w.example.io\": ";
    let message = body["message"].as_str().unwrap_or_default();
    message.strip_prefix(start).unwrap_or(message).to_owned()
}

impl Hook {
    /// The message about a ConfigMap if the webhook is called at a path.
    fn message_at(&self, path: &str) -> String {
        let url = format!("https://{}{path}", self.address);
        let message = create(&json!({ "url": url, "caBundle": self.bundle }));
        message.replace(&self.address.to_string(), "HOOK").replace("failed to call webhook: ", "")
    }
}

/// The paths of answers that are reviews.
const GOOD: [&str; 9] = [
    "/text",
    "/created",
    "/partial",
    "/yaml",
    "/chunked",
    "/no-type",
    "/no-length",
    "/redirect-307",
    "/unknown-fields",
];

#[test]
fn answers_of_any_form_are_reviews_if_they_can_be_decoded() {
    let hook = hook(|path, review| {
        let body = allowed(review).to_string();
        match path {
            "/text" => response(200, "text/plain; charset=utf-8", &body),
            "/created" => response(201, "application/json", &format!("\n {body}")),
            "/partial" => response(206, "application/json", &body),
            "/yaml" => {
                let (version, uid) = (&review["apiVersion"], &review["request"]["uid"]);
                let text = format!(
                    "apiVersion: {version}\nkind: AdmissionReview\nresponse: {{uid: {uid}, allowed: true}}\n"
                );
                response(200, "application/yaml", &text)
            }
            "/chunked" => format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                body.len()
            ),
            "/no-type" => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
            "/no-length" => format!("HTTP/1.0 200 OK\n\n{body}"),
            "/redirect-307" => {
                "HTTP/1.1 307 X\r\nLocation: ../text?a=b\r\nContent-Length: 0\r\n\r\n".to_owned()
            }
            _ => response(200, "application/json", &body.replacen('{', "{\"more\":1,", 1)),
        }
    });
    for path in GOOD {
        assert_eq!(hook.message_at(path), "", "{path}");
    }
}

const NO_TYPE: &str = "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type \
    struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

/// Statuses of HTTP, the type and the content of the body, and the message.
const STATUSES: [(u16, &str, &str, &str); 16] = [
    (
        500,
        "text/plain",
        " some\n\"text\" \n",
        "an error on the server (\"some\\n\\\"text\\\"\") has prevented the request from succeeding",
    ),
    (
        502,
        "application/json",
        "{\"a\":1}",
        "an error on the server (\"unknown\") has prevented the request from succeeding",
    ),
    (500, "text/plain", "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"why\"}", "why"),
    (404, "application/json", "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"why\"}", "why"),
    (404, "text/html", "<html>", "the server could not find the requested resource"),
    (400, "text/plain", "x", "the server rejected our request for an unknown reason"),
    (401, "text/plain", "x", "the server has asked for the client to provide credentials"),
    (403, "text/plain", "not you", "not you"),
    (
        406,
        "application/json",
        "{}",
        "the server was unable to respond with a content type that the client supports",
    ),
    (409, "text/plain", "x", "the server reported a conflict"),
    (422, "text/plain", "x", "the server rejected our request due to an error in our request"),
    (503, "text/plain", "x", "the server is currently unable to handle the request"),
    (
        504,
        "text/plain",
        "x",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
    (
        418,
        "text/plain",
        "x",
        "the server responded with the status code 418 but did not return more information",
    ),
    (204, "text/plain", "", "0-length response with status code: 204 and content type: text/plain"),
    (200, "a/b; =", "{}", "Internal error occurred: mime: invalid media parameter"),
];

#[test]
fn statuses_of_http_have_the_messages_of_the_rest_client() {
    let hook = hook(|path, _| {
        let index: usize = path.trim_start_matches('/').parse().unwrap();
        let (code, content_type, body, _) = STATUSES[index];
        response(code, content_type, body)
    });
    for (index, (code, _, _, message)) in STATUSES.into_iter().enumerate() {
        assert_eq!(hook.message_at(&format!("/{index}")), message, "{code}");
    }
}

/// Bodies of answers, and the messages.
const BODIES: [(&str, &str); 15] = [
    ("", "0-length response with status code: 200 and content type: application/json"),
    ("<html>", NO_TYPE),
    ("null", "received invalid webhook response: webhook response was absent"),
    ("{}", "received invalid webhook response: webhook response was absent"),
    (
        "{\"a\":tru}",
        "couldn't get version/kind; json parse error: invalid character '}' in literal true (expecting 'e')",
    ),
    ("{\"a\"", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
    ("<a>\nb: c: d", "yaml: line 2: mapping values are not allowed in this context"),
    (
        "{\"kind\":1}",
        "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
    ),
    ("{\"apiVersion\":\"a/b/c\"}", "unexpected GroupVersion string: a/b/c"),
    (
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}",
        "no kind \"Pod\" is registered for version \"v1\" in scheme \"k8s.io/apiserver/pkg/util/webhook/client.go:71\"",
    ),
    (
        "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\"}",
        "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ),
    (
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}",
        "converting (v1.Status) to (v1.AdmissionReview): unknown conversion",
    ),
    (
        "{\"response\":{\"allowed\":\"yes\"}}",
        "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
    ),
    (
        "{\"response\":{\"status\":{\"details\":{\"causes\":[{\"field\":1}]}}}}",
        "json: cannot unmarshal number into Go struct field StatusCause.response.status.details.causes.field of type string",
    ),
    ("{\"response\":{\"patch\":\"***\"}}", "illegal base64 data at input byte 0"),
];

#[test]
fn bodies_that_are_no_reviews_have_the_messages_of_the_decoder() {
    let hook = hook(|path, _| {
        let index: usize = path.trim_start_matches('/').parse().unwrap();
        response(200, "application/json", BODIES[index].0)
    });
    for (index, (body, message)) in BODIES.into_iter().enumerate() {
        assert_eq!(hook.message_at(&format!("/{index}")), message, "{body}");
    }
}

/// Answers that are no HTTP, and the messages after the URL.
const BROKEN: [(&str, &str); 7] = [
    ("", "EOF"),
    ("HTTP/1.1 20", "net/http: HTTP/1.x transport connection broken: malformed HTTP status code \"20\""),
    (
        "garbage\r\n\r\n",
        "net/http: HTTP/1.x transport connection broken: malformed HTTP response \"garbage\"",
    ),
    (
        "HTTQ/1.1 200 OK\r\n\r\n",
        "net/http: HTTP/1.x transport connection broken: malformed HTTP version \"HTTQ/1.1\"",
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n",
        "net/http: HTTP/1.x transport connection broken: bad Content-Length \"abc\"",
    ),
    (
        "HTTP/1.1 307 X\r\nContent-Length: 0\r\nLocation: /a%zz\r\n\r\n",
        "failed to parse Location header \"/a%zz\": parse \"/a%zz\": invalid URL escape \"%zz\"",
    ),
    ("HTTP/1.1 302 X\r\nContent-Length: 0\r\nLocation: /6\r\n\r\n", "stopped after 10 redirects"),
];

#[test]
fn broken_connections_have_the_messages_of_go() {
    let hook = hook(|path, _| {
        let index: usize = path.trim_start_matches('/').parse().unwrap();
        BROKEN[index].0.to_owned()
    });
    for (index, (answer, message)) in BROKEN.into_iter().enumerate() {
        let url =
            if answer.contains("/6") { "/6".to_owned() } else { format!("https://HOOK/{index}?timeout=5s") };
        assert_eq!(hook.message_at(&format!("/{index}")), format!("Post \"{url}\": {message}"), "{answer}");
    }
    let short = self::hook(|_, _| "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_owned());
    let message = "unexpected error when reading response body. Please retry. Original error: unexpected EOF";
    assert_eq!(short.message_at("/"), message);
}

/// A body that ends with the connection may end without the last message of TLS, as with many servers in Python, but not within
/// another message: then something is lost.
#[test]
fn a_connection_may_end_without_the_last_message_of_tls() {
    let hook = hook(|path, review| {
        let body = allowed(review).to_string();
        if path.ends_with("-length") {
            return response(200, "application/json", &body);
        }
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{body}")
    });
    let cut = "unexpected error when reading response body. Please retry. Original error: unexpected EOF";
    for (path, message) in [("/silent", ""), ("/silent-length", ""), ("/cut", cut), ("/cut-length", "")] {
        assert_eq!(hook.message_at(path), message, "{path}");
    }
    let silent = self::hook(|_, _| String::new());
    assert_eq!(silent.message_at("/silent"), "Post \"https://HOOK/silent?timeout=5s\": EOF");
}

#[test]
fn a_webhook_gets_a_clean_path_and_the_headers_of_the_real_server() {
    let hook = hook(|_, review| response(200, "application/json", &allowed(review).to_string()));
    for (path, asked) in [
        ("", "/"),
        ("/", "/"),
        ("//x", "/x"),
        ("/x/", "/x"),
        ("/a/../x", "/x"),
        ("/a//b/.", "/a/b"),
        ("/x%20y%2Fz", "/x%20y/z"),
        ("/%7e|", "/~%7C"),
    ] {
        assert_eq!(hook.message_at(path), "");
        let head = hook.requests.lock().unwrap().pop().unwrap();
        let mut lines = head.split("\r\n");
        assert_eq!(lines.next().unwrap(), format!("POST {asked}?timeout=5s HTTP/1.1"), "{path}");
        let mut headers: Vec<String> = lines.map(str::to_lowercase).collect();
        headers.retain(|header| !header.starts_with("content-length: "));
        headers.sort_unstable();
        let host = format!("host: {}", hook.address);
        let expected = [
            "accept-encoding: gzip",
            "accept: application/json, */*",
            "content-type: application/json",
            &host,
            "user-agent: kube-apiserver-admission",
        ];
        assert_eq!(headers, expected);
    }
}

#[test]
fn an_overloaded_webhook_is_called_again_when_it_wants_to() {
    let hook = hook(|_, review| {
        static CALLS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        if CALLS.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2 {
            return "HTTP/1.1 503 X\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n".to_owned();
        }
        response(200, "application/json", &allowed(review).to_string())
    });
    assert_eq!(hook.message_at("/x"), "");
    assert_eq!(hook.requests.lock().unwrap().len(), 3);
    let busy = self::hook(|_, _| "HTTP/1.1 429 X\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n".to_owned());
    let message = "the server has received too many requests and has asked us to try again later";
    assert_eq!(busy.message_at("/x"), message);
    assert_eq!(busy.requests.lock().unwrap().len(), 11, "the first call and ten more");
}

#[test]
fn a_bundle_without_certificates_cannot_be_used() {
    let message = create(&json!({ "url": "https://127.0.0.1:1/", "caBundle": "eA==" }));
    let why = "unable to load root certificates: unable to parse bytes as PEM block";
    assert_eq!(message, format!("could not get REST client: {why}"));
}

#[test]
fn conversion_webhooks_fail_over_http_with_the_same_messages() {
    for (path, why) in [
        ("/500", "failed: an error on the server (\"unknown\") has prevented the request from succeeding"),
        ("/html", format!("failed: {NO_TYPE}").as_str()),
        (
            "/type",
            "failed: json: cannot unmarshal string into Go struct field ConversionReview.response of type \
             v1.ConversionResponse",
        ),
        (
            "/empty",
            "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
        ),
        ("/none", "returned 0 objects, expected 1"),
        ("/metadata", "returned invalid object: must have the same name: a != "),
    ] {
        let hook = hook(|path, review| {
            let converted = |objects: Value| {
                json!({ "apiVersion": review["apiVersion"], "kind": "ConversionReview",
                    "response": { "uid": review["request"]["uid"], "result": { "status": "Success" },
                        "convertedObjects": objects } })
                .to_string()
            };
            match path {
                "/500" => response(500, "application/json", "{}"),
                "/html" => response(200, "text/html", "<html>"),
                "/type" => response(200, "application/json", "{\"response\":\"x\"}"),
                "/empty" => response(200, "application/json", "{}"),
                "/none" => response(200, "application/json", &converted(json!([]))),
                _ => {
                    let object = json!({ "apiVersion": "example.io/v2", "kind": "Host" });
                    response(200, "application/json", &converted(json!([object])))
                }
            }
        });
        assert_eq!(convert(&hook, path), format!("conversion webhook for example.io/v1, Kind=Host {why}"));
    }
}

/// The message about an object that a conversion webhook at a path converts.
fn convert(hook: &Hook, path: &str) -> String {
    let mut server = ApiServer::builder().hooks(Webhooks).build(now());
    let version = |name: &str, storage: bool| {
        json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": { "type": "object",
            "x-kubernetes-preserve-unknown-fields": true } } })
    };
    let config = json!({ "url": format!("https://{}{path}", hook.address), "caBundle": hook.bundle });
    let definition = json!({ "metadata": { "name": "hosts.example.io" }, "spec": { "group": "example.io",
        "scope": "Namespaced", "names": { "plural": "hosts", "kind": "Host" },
        "versions": [version("v1", true), version("v2", false)],
        "conversion": { "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": config } } } });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(post(&mut server, definitions, &definition).0, 201);
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Host", "metadata": { "name": "a" } });
    let (code, body) = post(&mut server, "/apis/example.io/v1/namespaces/default/hosts", &object);
    assert_eq!(code, 201, "{body}");
    let path = "/apis/example.io/v2/namespaces/default/hosts/a";
    let reply = server.handle(&Request::new(Method::Get, path, &Identity::admin()), now());
    assert_eq!(reply.code, 500);
    reply.json().unwrap()["message"].as_str().unwrap().to_owned()
}
