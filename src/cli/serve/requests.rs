//! `/windtunnel/requests`: GET reads the requests of each user, and how much of its rights they used.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_apiserver::service::{PathEndpoint, Shared};
use windtunnel_apiserver::{ApiServer, Method};
use windtunnel_core::Rejection;

/// The endpoint of a server.
struct RequestsEndpoint(Shared);

/// Counts the requests of a server from now on, and serves the counts.
pub(super) fn counted(shared: &Shared) -> Shared {
    shared.with(ApiServer::count_requests);
    shared.with_endpoint(Arc::new(RequestsEndpoint(shared.clone())))
}

impl PathEndpoint for RequestsEndpoint {
    fn path(&self) -> &'static str {
        "/windtunnel/requests"
    }

    fn answer(&self, method: Method, _: &[u8]) -> Result<Value, Rejection> {
        if method == Method::Get {
            return Ok(json!({ "users": self.0.with(ApiServer::access_report) }));
        }
        Err(Rejection {
            code: 405,
            reason: "MethodNotAllowed".to_owned(),
            message: "the requests of users support GET".to_owned(),
            details: Value::Null,
        })
    }
}
