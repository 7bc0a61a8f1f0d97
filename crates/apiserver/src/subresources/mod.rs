//! Subresources with a body or an answer of their own: scale, binding, eviction, logs and others.
//!
//! `status` and `finalize` are updates of the object (`verbs/update.rs`).

mod binding;
mod connect;
mod container;
mod eviction;
mod log;
mod parts;
mod proxy;
mod scale;

use serde_json::{Value, json};

use super::kinds::custom::ScalePaths;
use super::kinds::typed;
use super::metadata;
use super::reply::Reply;
use super::request::{Body, Method, Text};
use super::server::ApiServer;
use super::status::{Outcome, Refused};
use crate::call::{Call, body_type};
use crate::request::body::parse;

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
            Method::Get => "get",
            Method::Post => "create",
            Method::Put => "update",
            Method::Patch => "patch",
            Method::Delete => "delete",
            Method::Other => "",
        };
        if !found.verbs.contains(&verb) {
            return Err(Refused::method_not_allowed());
        }
        let reply = match found.name {
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

/// Reads and decodes the body of a subresource with a type of its own.
fn read_body(call: &Call<'_>, types: &[(&str, &str)], kind: &str) -> Outcome<Value> {
    let mut value = match &call.request.body {
        Body::Value(value) => (*value).clone(),
        Body::Bytes(bytes) => parse(bytes, &call.request.content_type, kind)?,
        Body::Empty | Body::Delete(_) => parse(&Text::default(), "", kind)?,
    };
    if !value.is_object() {
        value = json!({});
    }
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (given, version) = (text("kind"), text("apiVersion"));
    let (group, default_version) = types.first().copied().unwrap_or_default();
    let api_version = |(group, version): &(&str, &str)| {
        if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") }
    };
    let known = version.is_empty() || types.iter().any(|accepted| api_version(accepted) == version);
    if !known || (!given.is_empty() && given != kind) {
        body_type::check((group, default_version, kind), &given, &version)?;
    }
    typed::decode_as(group, default_version, kind, &mut value).map_err(|why| {
        Refused::bad_request(format!(
            "{kind} in version \"{default_version}\" cannot be handled as a {kind}: {why}"
        ))
    })?;
    let namespace = metadata::text(&value, "namespace");
    if !namespace.is_empty() && namespace != call.path.namespace {
        return Err(Refused::other_namespace());
    }
    Ok(value)
}

/// The answer to a successful binding or eviction.
fn success() -> Reply {
    Reply::value(
        201,
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }),
    )
}
