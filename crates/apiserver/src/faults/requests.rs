//! Faults of requests: errors before the server checks anything but access, and answers that are lost.

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::requests::faults::{
    ErrorFault, FaultEffect, Hits, KillMoment, LostAnswer, RandomFaultKind, RequestAttributes, RequestFault,
    RequestFilter,
};
use windtunnel_core::{Resource, name_of};

use super::{Faults, Incident};
use crate::call::RequestInfo;
use crate::kinds::Kind;
use crate::rejection::BoxedRejection;
use crate::request::{Body, Request, ResourcePath, Via, body};

/// The `Retry-After` of random 429 answers, in seconds.
const RETRY_AFTER: u32 = 1;

/// The effect of a fault on a request.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The server answers with an error instead.
    Refuse(BoxedRejection),
    /// The connection closes, and the server does nothing.
    Drop,
    /// The server executes the write, and the answer is lost.
    AfterWrite(LostAnswer),
}

/// A request to a kind, as faults select it.
#[derive(Debug, Clone, Copy)]
struct Selected<'a> {
    attributes: RequestAttributes<'a>,
    resource: &'a Resource,
    namespace: &'a str,
}

impl Faults {
    /// The fault of a request, if one matches it. Counts the match.
    pub(crate) fn verdict(&mut self, info: &RequestInfo<'_>) -> Option<Verdict> {
        if self.is_empty() {
            return None;
        }
        let RequestInfo { kind, path, request, now, .. } = info;
        let name = name(request, kind, path);
        let attributes = RequestAttributes {
            verb: info.verb(),
            kind: &kind.resource.kind,
            name: &name,
            subresource: &path.subresource,
            agent: &request.user_agent,
            user: &request.user.user,
            program: request.user.program(),
        };
        let selected = Selected { attributes, resource: &kind.resource, namespace: &path.namespace };
        if self.has_lost_quorum && kind.rules.stored {
            return Some(verdict(&fault_of(ErrorFault::Timeout.into()), &selected));
        }
        let verdict = self.injected(&selected, request.user.process(), *now);
        if verdict.is_some() || !kind.rules.stored || request.via != Via::Client {
            return verdict;
        }
        self.random(&selected, || is_conditional(request, &kind.resource.kind), *now)
    }

    /// The injected fault of a request by this process. If several faults match it, the first one counts it.
    fn injected(&mut self, request: &Selected<'_>, process: &str, now: Time) -> Option<Verdict> {
        let active = self.active.iter_mut().find(|active| applies(&active.fault, &request.attributes))?;
        let fault = &mut active.fault;
        let verdict = fault.hits.count_match().then(|| {
            let verdict = verdict(fault, request);
            let effect = verdict.effect();
            let (name, Selected { attributes, namespace, .. }) = (fault.effect.name(), request);
            self.incidents.add(|| Incident::new(now, name, attributes, namespace, effect));
            if let FaultEffect::Kill(moment) = fault.effect {
                self.killer.kill(process, &described(moment, request));
            }
            verdict
        });
        self.active.retain(|active| !active.fault.hits.is_over());
        verdict
    }

    /// The random fault of a request.
    fn random(
        &mut self,
        request: &Selected<'_>,
        is_conditional: impl Fn() -> bool,
        now: Time,
    ) -> Option<Verdict> {
        let writes = is_write(request.attributes.verb);
        let (kind, after_write) = self.random.as_mut()?.draw(&request.attributes, |kind| match kind {
            RandomFaultKind::Conflict => writes && is_conditional(),
            RandomFaultKind::TooManyRequests
            | RandomFaultKind::InternalError
            | RandomFaultKind::Timeout
            | RandomFaultKind::Dropped => true,
            _ => false,
        })?;
        let effect = match (kind, after_write && writes) {
            (RandomFaultKind::Conflict, _) => ErrorFault::Conflict.into(),
            (RandomFaultKind::TooManyRequests, _) => ErrorFault::TooManyRequests.into(),
            (RandomFaultKind::InternalError, _) => ErrorFault::InternalError.into(),
            (RandomFaultKind::Timeout, false) => ErrorFault::Timeout.into(),
            (RandomFaultKind::Timeout, true) => FaultEffect::Lost(LostAnswer::TimeoutAfterWrite),
            (_, false) => FaultEffect::Lost(LostAnswer::Dropped),
            (_, true) => FaultEffect::Lost(LostAnswer::DroppedAfterWrite),
        };
        let verdict = verdict(&fault_of(effect), request);
        let effect = verdict.effect();
        let Selected { attributes, namespace, .. } = request;
        self.incidents.add(|| Incident::new(now, kind.name(), attributes, namespace, effect));
        Some(verdict)
    }
}

impl Verdict {
    /// The effect on the client, for the list of incidents.
    fn effect(&self) -> String {
        match self {
            Self::Refuse(rejection) => format!("answered {}", rejection.code),
            Self::Drop => "closed the connection, nothing was done".to_owned(),
            Self::AfterWrite(LostAnswer::TimeoutAfterWrite) => "handled the write, answered 504".to_owned(),
            Self::AfterWrite(_) => "handled the write, closed the connection without an answer".to_owned(),
        }
    }
}

/// A fault of one request.
fn fault_of(effect: FaultEffect) -> RequestFault {
    RequestFault {
        requests: RequestFilter::default(),
        effect,
        hits: Hits::new(1, Some(1)),
        message: String::new(),
        retry_after: RETRY_AFTER,
    }
}

/// The effect of a fault on a request.
fn verdict(fault: &RequestFault, request: &Selected<'_>) -> Verdict {
    match fault.effect {
        FaultEffect::Error(error) => {
            Verdict::Refuse(answer(error, fault, request.resource, request.attributes.name))
        }
        FaultEffect::Lost(LostAnswer::Dropped)
        | FaultEffect::Watch(_)
        | FaultEffect::SkewedClock(_)
        | FaultEffect::Kill(KillMoment::Before) => Verdict::Drop,
        FaultEffect::Kill(KillMoment::After) => Verdict::AfterWrite(LostAnswer::DroppedAfterWrite),
        FaultEffect::Lost(lost) => Verdict::AfterWrite(lost),
    }
}

/// Whether a fault can happen to a request.
fn applies(fault: &RequestFault, request: &RequestAttributes<'_>) -> bool {
    let can_happen = match fault.effect {
        FaultEffect::Error(ErrorFault::Conflict) => ["update", "patch", "delete"].contains(&request.verb),
        FaultEffect::Error(_) => true,
        FaultEffect::Lost(lost) => !lost.follows_a_write() || is_write(request.verb),
        FaultEffect::Watch(_) | FaultEffect::SkewedClock(_) => false,
        FaultEffect::Kill(_) => !request.program.is_empty() && is_write(request.verb),
    };
    can_happen && fault.requests.matches(request)
}

/// The write at which a program is killed, such as `before create ConfigMap default/a`.
fn described(moment: KillMoment, request: &Selected<'_>) -> String {
    let when = if moment == KillMoment::Before { "before" } else { "after" };
    let Selected { attributes: RequestAttributes { verb, kind, name, .. }, namespace, .. } = request;
    let slash = if namespace.is_empty() || name.is_empty() { "" } else { "/" };
    format!("{when} {verb} {kind} {namespace}{slash}{name}")
}

fn is_write(verb: &str) -> bool {
    ["create", "update", "patch", "delete", "deletecollection"].contains(&verb)
}

/// Whether a write names the resource version that it expects. Only such a write can conflict with another one.
fn is_conditional(request: &Request<'_>, kind: &str) -> bool {
    let names_version = |object: &Value| {
        let version = |value: &Value| value.as_str().is_some_and(|version| !version.is_empty());
        version(&object["metadata"]["resourceVersion"])
            || version(&object["preconditions"]["resourceVersion"])
    };
    match &request.body {
        Body::Value(value) => names_version(value),
        Body::Bytes(text) => body::peek(text, &request.content_type, kind, names_version).unwrap_or_default(),
        Body::Empty | Body::Delete(_) => false,
    }
}

/// The name of the object in the path, or of the object to create.
fn name<'a>(request: &'a Request<'_>, kind: &Kind, path: &'a ResourcePath<'_>) -> Cow<'a, str> {
    match &request.body {
        Body::Value(object) if path.name.is_empty() => Cow::Borrowed(name_of(object)),
        Body::Bytes(text) if path.name.is_empty() => {
            let of_object = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
            let name = body::peek(text, &request.content_type, &kind.resource.kind, of_object);
            Cow::Owned(name.flatten().unwrap_or_default())
        }
        _ => Cow::Borrowed(&path.name),
    }
}

/// The error of a fault, with the message of a kube-apiserver unless the fault has its own.
fn answer(error: ErrorFault, fault: &RequestFault, resource: &Resource, name: &str) -> BoxedRejection {
    let message = |default: &str| {
        if fault.message.is_empty() { default.to_owned() } else { fault.message.clone() }
    };
    match error {
        ErrorFault::TooManyRequests => {
            let text = "the server has received too many requests and has asked us to try again later";
            BoxedRejection::overloaded(&message(text), fault.retry_after)
        }
        ErrorFault::InternalError => BoxedRejection::internal_error(&message("context deadline exceeded")),
        ErrorFault::EtcdTimedOut => BoxedRejection::internal(message("etcdserver: request timed out")),
        ErrorFault::Unavailable => {
            BoxedRejection::unavailable(&message("the server is currently unable to handle the request"))
        }
        ErrorFault::Timeout if fault.message.is_empty() => BoxedRejection::timed_out(),
        ErrorFault::Timeout => {
            let mut rejection = BoxedRejection::timed_out();
            rejection.message = format!("Timeout: {}", fault.message);
            rejection
        }
        ErrorFault::Conflict if fault.message.is_empty() => BoxedRejection::modified(resource, name),
        ErrorFault::Conflict => BoxedRejection::conflict(resource, &resource.plural, name, &fault.message),
    }
}
