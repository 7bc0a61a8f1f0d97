//! Programs beside the API. Each answers one path of a shared server, for users who may access the path.

use bytes::Bytes;
use serde_json::Value;
use windtunnel_core::Rejection;

use super::Shared;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::{Reply, ReplyBody};
use crate::request::{Body, Method, Request, Target};

/// A program that answers the requests to one path.
pub trait PathEndpoint: Send + Sync {
    /// The path, with its leading slash. A path of a resource never matches.
    fn path(&self) -> &str;

    /// The JSON answer to a request.
    ///
    /// # Errors
    /// The rejection, which clients get as a Status.
    fn answer(&self, method: Method, body: &[u8]) -> Result<Value, Rejection>;
}

impl Shared {
    /// The reply of the program beside the API; `None` for other paths.
    pub(super) fn endpoint_reply(&self, request: &Request<'_>) -> Option<Outcome<Reply>> {
        let Target::Path(path) = &request.target else { return None };
        let endpoint = self.endpoints.iter().find(|endpoint| path == endpoint.path())?;
        let access = self.lock().check_path_access(request);
        Some(access.and_then(|()| reply(&**endpoint, request)))
    }
}

fn reply(endpoint: &dyn PathEndpoint, request: &Request<'_>) -> Outcome<Reply> {
    let body = match &request.body {
        Body::Bytes(text) => text,
        _ => &[][..],
    };
    let answer = endpoint.answer(request.method, body).map_err(|rejection| {
        BoxedRejection::by_webhook(rejection.code, &rejection.reason, rejection.message, None)
    })?;
    let bytes = Bytes::from(answer.to_string() + "\n");
    Ok(Reply::new(200, ReplyBody::Bytes { content_type: "application/json", bytes }))
}
