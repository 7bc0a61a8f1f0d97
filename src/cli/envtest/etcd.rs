//! What stands in for etcd: it says that it is well, and keeps nothing, for our API server needs none.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::flags::{self, Flags};
use super::until_signal;
use crate::cli::{hint, say};

/// Which etcd it says that it is.
const VERSION: &str = "3.6.0";

/// Flags that are obeyed.
const OBEYED: [&str; 1] = ["listen-client-urls"];

/// Flags that change nothing: there is no peer, no data and no log.
const IGNORED: [&str; 20] = [
    "advertise-client-urls",
    "auto-compaction-mode",
    "auto-compaction-retention",
    "cert-file",
    "client-cert-auth",
    "data-dir",
    "initial-advertise-peer-urls",
    "initial-cluster",
    "initial-cluster-state",
    "initial-cluster-token",
    "key-file",
    "listen-peer-urls",
    "log-level",
    "log-outputs",
    "logger",
    "name",
    "quota-backend-bytes",
    "snapshot-count",
    "trusted-ca-file",
    "unsafe-no-fsync",
];

/// Answers at the URLs for clients until a signal comes.
///
/// # Errors
/// An address cannot be listened on.
pub(super) fn main(words: &[String]) -> Result<(), String> {
    let flags = Flags::read(words);
    if flags.has("version") {
        say(&format!("etcd Version: {VERSION}\nwindtunnel stands in for it\n"));
        return Ok(());
    }
    if flags.ask_for_help() {
        let about = format!("windtunnel's etcd {VERSION} reports that it is healthy and keeps nothing.");
        say(&flags::help(&about, "etcd", &OBEYED, &IGNORED));
        return Ok(());
    }
    let known = [&OBEYED[..], &IGNORED].concat();
    let unknown: Vec<&str> = flags.others(&known).collect();
    if !unknown.is_empty() {
        hint(&format!("windtunnel's etcd ignores flags that it does not know: --{}", unknown.join(", --")));
    }
    let urls = flags.get("listen-client-urls").unwrap_or("http://127.0.0.1:2379").to_owned();
    let start = async {
        for url in urls.split(',') {
            let address =
                url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/').to_owned();
            let failed = |error| format!("--listen-client-urls: {address}: cannot listen: {error}");
            let socket = TcpListener::bind(&address).await.map_err(failed)?;
            tokio::spawn(answer_all(socket));
        }
        hint("windtunnel stands in for etcd: it keeps nothing");
        Ok(())
    };
    until_signal(start, async |()| {})
}

async fn answer_all(socket: TcpListener) {
    loop {
        let Ok((stream, _)) = socket.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let answered = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
        tokio::spawn(async move {
            // Who goes away in the middle of an answer misses nothing.
            let _ = answered.await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (code, text) = match request.uri().path() {
        "/health" | "/livez" | "/readyz" => (200, r#"{"health":"true","reason":""}"#.to_owned()),
        "/version" => (200, format!(r#"{{"etcdserver":"{VERSION}","etcdcluster":"{VERSION}"}}"#)),
        _ => (404, "windtunnel stands in for etcd: it keeps nothing\n".to_owned()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    Ok(response)
}
