//! Injected request faults: matching requests get an error, before the server checks anything but access.

use windtunnel_core::Resource;
use windtunnel_core::requests::faults::{InjectedError, RequestAttributes, RequestFault, RequestFilter};

use crate::kinds::Kind;
use crate::request::{Body, Method, Request, ResourcePath};
use crate::server::ApiServer;
use crate::status::Refused;

/// The injected faults that are still active.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Vec<RequestFault>);

impl ApiServer {
    /// Injects a fault. If several faults match a request, the first one counts it.
    pub fn fail(&mut self, fault: RequestFault) {
        self.faults.0.push(fault);
    }

    /// Heals the faults of these requests, or all faults (`None`).
    pub fn heal(&mut self, requests: Option<&RequestFilter>) {
        self.faults.0.retain(|fault| requests.is_some_and(|healed| fault.requests != *healed));
    }
}

impl Faults {
    /// The injected error of a request, if a fault matches it. Counts the match.
    pub(crate) fn injected_error(
        &mut self,
        request: &Request<'_>,
        kind: &Kind,
        path: &ResourcePath<'_>,
    ) -> Option<Refused> {
        if self.0.is_empty() {
            return None;
        }
        let name = name(request, path);
        let attributes = RequestAttributes {
            verb: verb(request, path),
            kind: &kind.resource.kind,
            name,
            subresource: &path.subresource,
            agent: &request.user_agent,
            user: &request.user.user,
        };
        let fault = self.0.iter_mut().find(|fault| {
            let cannot_conflict = fault.trouble == InjectedError::Conflict
                && !["update", "patch", "delete"].contains(&attributes.verb);
            !cannot_conflict && fault.requests.matches(&attributes)
        })?;
        let refused = fault.hits.count_match().then(|| answer(fault, &kind.resource, name));
        self.0.retain(|fault| !fault.hits.is_over());
        refused
    }
}

/// The name of the object in the path, or of the object to create.
fn name<'a>(request: &'a Request<'_>, path: &'a ResourcePath<'_>) -> &'a str {
    match &request.body {
        Body::Value(object) if path.name.is_empty() => {
            object["metadata"]["name"].as_str().unwrap_or_default()
        }
        _ => &path.name,
    }
}

/// The RBAC verb of a request.
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

/// The error of a fault, with the message of a kube-apiserver unless the fault has its own.
fn answer(fault: &RequestFault, resource: &Resource, name: &str) -> Refused {
    let message = |default: &str| {
        if fault.message.is_empty() { default.to_owned() } else { fault.message.clone() }
    };
    match fault.trouble {
        InjectedError::TooManyRequests => {
            let text = "the server has received too many requests and has asked us to try again later";
            Refused::overloaded(&message(text), fault.retry_after)
        }
        InjectedError::InternalError => Refused::internal_error(&message("context deadline exceeded")),
        InjectedError::EtcdTimedOut => Refused::internal(message("etcdserver: request timed out")),
        InjectedError::Unavailable => {
            Refused::unavailable(&message("the server is currently unable to handle the request"))
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
