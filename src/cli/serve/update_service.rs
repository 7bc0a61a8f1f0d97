//! The update service of a simulated cluster, over plain HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use windtunnel_apiserver::Query;
use windtunnel_openshift::environment::{Environment, GRAPH_PATHS, GraphAnswer};

use crate::cli::endpoint::{Endpoint, PLAIN, response};

const JSON: &str = "application/json";

/// Starts to listen on a port of the loopback interface.
///
/// # Errors
/// It cannot listen on the port.
pub(super) async fn listen(port: u16, environment: Arc<Environment>) -> Result<Endpoint, String> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let answer = move |request: &Request<Incoming>| answer(request, &environment);
    Endpoint::listen("--update-service-port", address, Arc::new(answer)).await
}

/// Returns the URL for `spec.upstream` of a ClusterVersion.
pub(super) fn url(endpoint: &Endpoint) -> String {
    format!("http://{}{}", endpoint.address(), GRAPH_PATHS[0])
}

fn answer(request: &Request<Incoming>, environment: &Environment) -> Option<Response<Full<Bytes>>> {
    if request.method() != Method::GET {
        return Some(response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "expected GET\n".to_owned()));
    }
    if !GRAPH_PATHS.contains(&request.uri().path()) {
        let expected = format!("expected {}\n", GRAPH_PATHS.join(" or "));
        return Some(response(StatusCode::NOT_FOUND, PLAIN, expected));
    }
    let parameters = Query::parse(request.uri().query().unwrap_or_default());
    match environment.answer_graph(parameters.pairs()) {
        GraphAnswer::Json(code, body) => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Some(response(status, JSON, body.to_string()))
        }
        GraphAnswer::Page => Some(response(StatusCode::OK, "text/html", "<html></html>\n".to_owned())),
        GraphAnswer::Nothing => None,
    }
}
