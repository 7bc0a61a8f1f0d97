//! Faults on request: chosen requests are answered with trouble, before anything else is looked at but who asks.

use windtunnel_core::Resource;
use windtunnel_core::requests::faults::{Asked, RequestFault, Requests, Trouble};

use super::kinds::Kind;
use super::request::{Body, Method, Request, ResourcePath};
use super::server::ApiServer;
use super::status::Refused;

impl ApiServer {
    /// Answers chosen requests with trouble from now on. Of several faults that a request meets the first one counts it.
    pub fn fail(&mut self, fault: RequestFault) {
        self.faults.push(fault);
    }

    /// Answers these requests as they should be again, or all (`None`).
    pub fn heal(&mut self, requests: Option<&Requests>) {
        self.faults.retain(|fault| requests.is_some_and(|healed| fault.requests != *healed));
    }

    /// The trouble that a request meets, if it is one of those.
    pub(super) fn trouble(
        &mut self,
        request: &Request<'_>,
        kind: &Kind,
        path: &ResourcePath<'_>,
    ) -> Option<Refused> {
        if self.faults.is_empty() {
            return None;
        }
        let name = name(request, path);
        let asked = Asked {
            verb: verb(request, path),
            kind: &kind.resource.kind,
            name,
            subresource: &path.subresource,
            agent: &request.user_agent,
            user: &request.user.user,
        };
        let fault = self.faults.iter_mut().find(|fault| {
            let creates =
                fault.trouble == Trouble::Conflict && !["update", "patch", "delete"].contains(&asked.verb);
            !creates && fault.requests.have(&asked)
        })?;
        let refused = fault.hits.strike().then(|| answer(fault, &kind.resource, name));
        self.faults.retain(|fault| !fault.hits.is_over());
        refused
    }
}

/// The name of the object that is asked for, or that shall be created.
fn name<'a>(request: &'a Request<'_>, path: &'a ResourcePath<'_>) -> &'a str {
    match &request.body {
        Body::Value(object) if path.name.is_empty() => {
            object["metadata"]["name"].as_str().unwrap_or_default()
        }
        _ => &path.name,
    }
}

/// The verb, as RBAC names it.
fn verb(request: &Request<'_>, path: &ResourcePath<'_>) -> &'static str {
    let watches = path.watch || matches!(request.query.get("watch"), "true" | "1");
    match (request.method, path.name.is_empty()) {
        (Method::Get, _) if watches => "watch",
        (Method::Get, true) => "list",
        (Method::Get, false) => "get",
        (Method::Post, _) => "create",
        (Method::Put, _) => "update",
        (Method::Patch, _) => "patch",
        (Method::Delete, false) => "delete",
        (Method::Delete, true) => "deletecollection",
        (Method::Other, _) => "",
    }
}

/// The answer, in the words of a kube-apiserver where no others are given.
fn answer(fault: &RequestFault, resource: &Resource, name: &str) -> Refused {
    let said = |otherwise: &str| {
        if fault.message.is_empty() { otherwise.to_owned() } else { fault.message.clone() }
    };
    match fault.trouble {
        Trouble::TooManyRequests => {
            let text = "the server has received too many requests and has asked us to try again later";
            Refused::overloaded(&said(text), fault.retry_after)
        }
        Trouble::InternalError => Refused::internal_error(&said("context deadline exceeded")),
        Trouble::EtcdTimedOut => Refused::internal(said("etcdserver: request timed out")),
        Trouble::Unavailable => {
            Refused::unavailable(&said("the server is currently unable to handle the request"))
        }
        Trouble::Timeout if fault.message.is_empty() => Refused::timed_out(),
        Trouble::Timeout => {
            let mut refused = Refused::timed_out();
            refused.message = format!("Timeout: {}", fault.message);
            refused
        }
        Trouble::Conflict if fault.message.is_empty() => Refused::modified(resource, name),
        Trouble::Conflict => Refused::conflict(resource, &resource.plural, name, &fault.message),
    }
}
