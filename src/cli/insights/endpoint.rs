//! Answers `/healthz`, `/readyz` and `/metrics` over HTTP, for kubelets and Prometheus.

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::Full;

use super::monitor::Monitor;
use crate::cli::endpoint::{PLAIN, response};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the response to a request.
pub(super) fn answer(method: &Method, path: &str, monitor: &Monitor) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "expected GET\n".to_owned());
    }
    match path {
        "/healthz" | "/livez" => checked(monitor.healthy()),
        "/readyz" => checked(monitor.ready()),
        "/metrics" => response(StatusCode::OK, OPEN_METRICS, monitor.metrics()),
        _ => response(StatusCode::NOT_FOUND, PLAIN, "expected /healthz, /readyz or /metrics\n".to_owned()),
    }
}

fn checked(check: Result<(), String>) -> Response<Full<Bytes>> {
    match check {
        Ok(()) => response(StatusCode::OK, PLAIN, "ok".to_owned()),
        Err(why) => response(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, why + "\n"),
    }
}
