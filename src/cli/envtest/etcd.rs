//! A substitute for etcd: it reports that it is healthy and stores nothing, since windtunnel's API server
//! needs no etcd.

use std::convert::Infallible;
use std::path::Path;

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
use crate::cli::{print_notice, print_output};

/// The version of etcd that it reports.
const VERSION: &str = "3.6.0";

/// Flags with an effect.
const SUPPORTED: [&str; 1] = ["listen-client-urls"];

/// Flags without an effect: there are no peers, no data and no logs.
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

/// Serves the client URLs until a signal. `called` is the path by which this program was started.
///
/// # Errors
/// It cannot listen on an address.
pub(super) fn main(called: &Path, words: &[String]) -> Result<(), String> {
    let flags = Flags::read(words);
    if flags.has("version") {
        print_output(&format!("etcd Version: {VERSION}\nsimulated by windtunnel\n"));
        return Ok(());
    }
    if flags.requests_help() {
        let about = format!("windtunnel's etcd {VERSION} reports that it is healthy and stores nothing.");
        print_output(&flags::help(&about, "etcd", &SUPPORTED, &IGNORED));
        return Ok(());
    }
    let known = [&SUPPORTED[..], &IGNORED].concat();
    let unknown: Vec<&str> = flags.others(&known).collect();
    if !unknown.is_empty() {
        print_notice(&format!("windtunnel's etcd ignores unknown flags: --{}", unknown.join(", --")));
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
        print_notice("windtunnel simulates etcd and stores nothing");
        Ok(())
    };
    until_signal(called, start, async |()| {})
}

async fn answer_all(socket: TcpListener) {
    loop {
        let Ok((stream, _)) = socket.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
        tokio::spawn(async move {
            // A client may disconnect during an answer.
            let _ = connection.await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (code, text) = match request.uri().path() {
        "/health" | "/livez" | "/readyz" => (200, r#"{"health":"true","reason":""}"#.to_owned()),
        "/version" => (200, format!(r#"{{"etcdserver":"{VERSION}","etcdcluster":"{VERSION}"}}"#)),
        _ => (404, "windtunnel simulates etcd and stores nothing\n".to_owned()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    Ok(response)
}
