//! Faults on request: chosen requests are answered with trouble, before anything else is looked at but who asks.

use windtunnel_core::Resource;
use windtunnel_core::requests::faults::{InjectedError, RequestAttributes, RequestFault, RequestFilter};

use super::kinds::Kind;
use super::request::{Body, Method, Request, ResourcePath};
use super::server::ApiServer;
use super::status::Refused;

/// Faults that were injected and are not over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Vec<RequestFault>);

impl ApiServer {
    /// Answers chosen requests with trouble from now on. Of several faults that a request meets the first one counts it.
    pub fn fail(&mut self, fault: RequestFault) {
        self.faults.0.push(fault);
    }

    /// Answers these requests as they should be again, or all (`None`).
    pub fn heal(&mut self, requests: Option<&RequestFilter>) {
        self.faults.0.retain(|fault| requests.is_some_and(|healed| fault.requests != *healed));
    }
}

impl Faults {
    /// The injected error of a request, if there is one.
    pub(super) fn meet(
        &mut self,
        request: &Request<'_>,
        kind: &Kind,
        path: &ResourcePath<'_>,
    ) -> Option<Refused> {
        if self.0.is_empty() {
            return None;
        }
        let name = name(request, path);
        let asked = RequestAttributes {
            verb: verb(request, path),
            kind: &kind.resource.kind,
            name,
            subresource: &path.subresource,
            agent: &request.user_agent,
            user: &request.user.user,
        };
        let fault = self.0.iter_mut().find(|fault| {
            let creates = fault.trouble == InjectedError::Conflict
                && !["update", "patch", "delete"].contains(&asked.verb);
            !creates && fault.requests.matches(&asked)
        })?;
        let refused = fault.hits.count_match().then(|| answer(fault, &kind.resource, name));
        self.0.retain(|fault| !fault.hits.is_over());
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
        InjectedError::TooManyRequests => {
            let text = "the server has received too many requests and has asked us to try again later";
            Refused::overloaded(&said(text), fault.retry_after)
        }
        InjectedError::InternalError => Refused::internal_error(&said("context deadline exceeded")),
        InjectedError::EtcdTimedOut => Refused::internal(said("etcdserver: request timed out")),
        InjectedError::Unavailable => {
            Refused::unavailable(&said("the server is currently unable to handle the request"))
        }
        InjectedError::Timeout if fault.message.is_empty() => Refused::timed_out(),
        InjectedError::Timeout => {
            let mut refused = Refused::timed_out();
            refused.message = format!("Timeout: {}", fault.message);
            refused
        }
        InjectedError::Conflict if fault.message.is_empty() => Refused::modified(resource, name),
        InjectedError::Conflict => Refused::conflict(resource, &resource.plural, name, &fault.message),
    }
}
