//! The API versions that a server serves.

use serde_json::Value;
use windtunnel_apiserver::{ApiServer, Method, Request};
use windtunnel_core::Identity;
use windtunnel_core::clock::Time;

/// A server, to ask for the versions that it serves.
#[derive(Debug, Clone)]
pub(crate) struct Discovery {
    server: ApiServer,
    now: Time,
}

impl Discovery {
    /// Asks this server.
    pub(super) fn of(server: ApiServer, now: Time) -> Self {
        Self { server, now }
    }

    /// The same server at another minor.
    pub(crate) fn at(&self, minor: u32) -> Self {
        let mut copy = self.clone();
        copy.server.set_kubernetes_minor(minor);
        copy
    }

    /// The x of its Kubernetes 1.x.
    pub(crate) fn minor(&self) -> u32 {
        self.server.profile().minor
    }

    /// The path and the answer of a request for the kinds of a version: the code, and the body or the message.
    pub(crate) fn request(&self, api_version: &str) -> (String, Result<Value, (u16, String)>) {
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let path = format!("/{root}/{api_version}");
        let (mut server, user) = (self.server.clone(), Identity::admin());
        let reply = server.handle(&Request::new(Method::Get, &path, &user), self.now);
        let answer = if reply.is_refusal() {
            let rejection = reply.into_object().err();
            Err(rejection.map_or((404, String::new()), |rejection| (rejection.code, rejection.message)))
        } else {
            Ok(reply.json().unwrap_or_default())
        };
        (path, answer)
    }

    /// Whether the server serves a kind in a version.
    pub(crate) fn serves(&self, api_version: &str, kind: &str) -> bool {
        let (_, answer) = self.request(api_version);
        answer.is_ok_and(|body| {
            body["resources"].as_array().into_iter().flatten().any(|resource| resource["kind"] == kind)
        })
    }
}
