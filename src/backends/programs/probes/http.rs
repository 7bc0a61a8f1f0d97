//! A probe by a GET request.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;
use tokio::time::timeout;

use super::{dial, io_error};

/// The user agent of kubelets.
const AGENT: &str = "kube-probe";

/// The request of a probe.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) is_tls: bool,
    pub(super) port: u16,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
}

/// Sends the request to the loopback; `url` and `address` are for messages.
///
/// # Errors
/// The message of a kubelet for a probe that fails.
pub(super) async fn get(request: Request, url: &str, address: &str, limit: Duration) -> Result<(), String> {
    match timeout(limit, status(request)).await {
        Err(_) => Err(format!(
            "Get \"{url}\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        )),
        Ok(Ok(status)) if (200..400).contains(&status) => Ok(()),
        Ok(Ok(status)) => Err(format!("HTTP probe failed with statuscode: {status}")),
        Ok(Err(error)) => Err(format!("Get \"{url}\": {}", reason(&*error, address))),
    }
}

type HttpError = Box<dyn std::error::Error + Send + Sync>;

async fn status(request: Request) -> Result<u16, HttpError> {
    let scheme = if request.is_tls { "https" } else { "http" };
    let server = format!("{scheme}://127.0.0.1:{}", request.port);
    let mut config = kube::Config::new(server.parse()?);
    config.accept_invalid_certs = true;
    // Otherwise the certificates of this machine are read for each probe.
    config.root_cert = Some(Vec::new());
    // A client of kube itself would repeat a request with a status such as 503.
    let client = Client::builder(TokioExecutor::new()).build(config.rustls_https_connector()?);
    let mut get = http::Request::get(format!("{server}{}", request.path))
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "*/*");
    for (name, value) in request.headers {
        get = get.header(name, value);
    }
    Ok(client.request(get.body(Empty::<Bytes>::new())?).await?.status().as_u16())
}

fn reason(error: &(dyn std::error::Error + Send + Sync + 'static), address: &str) -> String {
    match io_error(error) {
        Some(error) => dial(address, error),
        None => error.to_string(),
    }
}
