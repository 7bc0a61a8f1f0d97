//! Subresources with a body or an answer of their own: scale, binding, eviction, logs and others.
//!
//! `status` and `finalize` are updates of the object (`verbs/update.rs`).
//!
//! `log.rs` and `proxy.rs` ask an [`Upstream`](crate::Upstream) for the answer of a pod.

mod binding;
mod connect;
mod container;
mod eviction;
mod log;
mod parts;
mod proxy;
mod scale;

use serde_json::json;

use super::kinds::custom::ScalePaths;
use super::rejection::{BoxedRejection, Outcome};
use super::reply::Reply;
use super::request::Method;
use super::server::ApiServer;
use crate::call::Call;

impl ApiServer {
    /// Answers a request to a subresource; `None` if the verbs of the object handle it.
    pub(crate) fn subresource(&mut self, call: &mut Call<'_>) -> Outcome<Option<Reply>> {
        if call.kind.is_resource("", "bindings") {
            return self.bindings(call).map(Some);
        }
        if call.path.subresource.is_empty() {
            return Ok(None);
        }
        if call.path.subresource == "scale" && call.kind.custom.is_some() {
            return scale::custom_paths(call).map_or(Ok(None), |paths| self.scale(call, &paths).map(Some));
        }
        let name = call.path.subresource.split('/').next().unwrap_or_default();
        let minor = self.profile.minor;
        let mut served = call.kind.subresources.iter().filter(|known| known.since <= minor);
        let Some(found) = served.find(|known| known.name == name) else {
            return Ok(None);
        };
        let verb = match call.request.method {
            // Only the routes of proxies have the second one.
            Method::Get | Method::Options => "get",
            Method::Post => "create",
            Method::Put => "update",
            Method::Patch => "patch",
            Method::Delete => "delete",
            Method::Other => "",
        };
        if !found.verbs.contains(&verb) {
            return Err(BoxedRejection::method_not_allowed());
        }
        let found = found.name;
        if matches!(found, "exec" | "attach" | "portforward" | "proxy") {
            self.admit_connecting(call)?;
        }
        let reply = match found {
            "scale" => self.scale(call, &ScalePaths::of_workloads()),
            "binding" => self.bind(call),
            "eviction" => self.evict(call),
            "log" => self.log(call),
            "token" => self.request_token(call),
            "ephemeralcontainers" | "resize" | "approval" => self.object_part(call),
            "exec" | "attach" | "portforward" => self.connect(call),
            "proxy" => self.proxy(call),
            _ => return Ok(None),
        };
        reply.map(Some)
    }
}

/// The answer to a successful binding or eviction.
fn success() -> Reply {
    Reply::value(
        201,
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }),
    )
}
