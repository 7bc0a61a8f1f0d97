//! Kinds of aggregated API servers: reads of computed objects, and requests that become those of a stored kind.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::requests::aggregated::{AggregatedReply, AggregatedRequest};
use windtunnel_core::{Identity, Object, Rejection, Resource, Write};

use super::Step;
use crate::access::Attributes;
use crate::call::attempt::Attempt;
use crate::call::{Call, RequestInfo, decode};
use crate::kinds::Kind;
use crate::kinds::objects::Objects;
use crate::kinds::view::View;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::lazy_object::LazyObject;
use crate::reply::{List, Reply, ReplyBody};
use crate::request::{Body, Method, Request, ResourcePath, Target};
use crate::selector::{Selector, Visible};
use crate::server::ApiServer;
use crate::store::Stored;

impl ApiServer {
    /// Advances a write of a kind that shows a stored one: it writes the stored object. Access was checked for the kind of the
    /// request. `None` for other requests.
    pub(super) fn advance_alias(
        &mut self,
        kind: &Kind,
        request: &Request<'_>,
        now: Time,
        attempt: &mut Attempt,
    ) -> Option<Step> {
        let View::Alias(stored) = &kind.view else { return None };
        let Target::Resource(path) = &request.target else { return None };
        if request.method == Method::Get {
            return None;
        }
        let body = renamed_body(kind, stored, &request.body);
        let target = Target::Resource(ResourcePath {
            group: Cow::Borrowed(&stored.group),
            version: Cow::Borrowed(&stored.version),
            resource: Cow::Borrowed(&stored.plural),
            ..path.clone()
        });
        let body = body.as_ref().map_or_else(|| request.body.clone(), Body::Value);
        let request = Request { target, body, ..request.clone() };
        let step = self.advance_granted(&request, Ok(()), now, attempt);
        Some(match step {
            Step::Done(mut reply) => {
                if let ReplyBody::Object(object) = &reply.body {
                    reply.body = ReplyBody::Object(kind.as_served(object));
                }
                Step::Done(reply)
            }
            calls @ Step::Calls(_) => calls,
        })
    }

    /// The objects of a kind that a user sees, if it shows a stored one and the user may not read all of them.
    pub(super) fn visible(&mut self, info: &RequestInfo<'_>) -> Option<Visible> {
        let View::Alias(stored) = &info.kind.view else { return None };
        if !info.path.name.is_empty() || info.request.method != Method::Get {
            return None;
        }
        let user = info.request.user;
        let Self { access, catalog, store, .. } = self;
        let objects = Objects { catalog, store };
        let mut may = |namespace: &str, name: &str| {
            let attributes = Attributes {
                verb: "get".into(),
                group: stored.group.clone(),
                resource: stored.plural.clone(),
                namespace: Cow::Owned(namespace.to_owned()),
                name: Cow::Owned(name.to_owned()),
                ..Attributes::default()
            };
            access.allows(objects, user, &attributes)
        };
        if may("", "") {
            return None;
        }
        let all: Vec<String> = store.list(info.kind.table, "").map(|(_, name, _)| name.to_owned()).collect();
        let names: BTreeSet<String> = all.into_iter().filter(|name| may(name, name)).collect();
        Some(Visible { names: Arc::new(names), requester: user.user.clone() })
    }

    /// Answers a request to a kind of an aggregated API server, as far as that computes the answer.
    pub(super) fn aggregated_reply(&mut self, call: &mut Call<'_>) -> Outcome<Option<Reply>> {
        let Some(aggregated) = self.aggregated.0.clone() else { return Ok(None) };
        let is_computed = call.info.kind.view == View::Computed;
        // `users/~` is the user of the request.
        if !is_computed && call.info.path.name != "~" {
            return Ok(None);
        }
        match call.info.request.method {
            Method::Get if !call.info.is_watch() => {
                let Self { catalog, store, .. } = &*self;
                let objects = Objects { catalog, store };
                let stored = |resource: &Resource| objects.list(resource);
                let read = aggregated.read(&request_of(&call.info, &stored));
                match read {
                    Some(AggregatedReply::Answer(answer)) => Ok(Some(Reply::value(200, answer))),
                    Some(AggregatedReply::Objects(objects)) => self.computed(&call.info, objects).map(Some),
                    None if is_computed => Err(BoxedRejection::method_not_allowed()),
                    None => Ok(None),
                }
            }
            Method::Post if is_computed => {
                let body = decode::body(call)?;
                let Self { catalog, store, .. } = &*self;
                let objects = Objects { catalog, store };
                let stored = |resource: &Resource| objects.list(resource);
                let writes = aggregated.create(&request_of(&call.info, &stored), &body).map_err(refused)?;
                self.make(&call.info, &writes, call.options.dry_run).map(Some)
            }
            _ if is_computed => Err(BoxedRejection::method_not_allowed()),
            _ => Ok(None),
        }
    }

    /// The reply to a read of computed objects.
    fn computed(&self, info: &RequestInfo<'_>, objects: Vec<Value>) -> Outcome<Reply> {
        let kind = &info.kind;
        if !info.path.name.is_empty() {
            let found = objects.into_iter().find(|object| object["metadata"]["name"] == *info.path.name);
            let missing = || BoxedRejection::not_found(&kind.named_in_errors(), &info.path.name);
            return Ok(Reply::object(200, Stored::new(found.ok_or_else(missing)?, None)));
        }
        let selector = Selector::of_options(kind, &info.request.query, false, &self.profile)?;
        let objects = objects.into_iter().filter(|object| selector.matches(object));
        Ok(Reply::new(
            200,
            ReplyBody::List(List {
                api_version: kind.resource.api_version(),
                kind: kind.list_kind.clone(),
                metadata: json!({}),
                items: objects.map(|object| LazyObject::Loaded(Stored::new(object, None))).collect(),
                typed_items: false,
                metadata_only: None,
            }),
        ))
    }

    /// Makes the writes of a create. The object of the first one is the answer.
    fn make(&mut self, info: &RequestInfo<'_>, writes: &[Write], dry_run: bool) -> Outcome<Reply> {
        let mut first = None;
        for write in writes.iter().take(if dry_run { 1 } else { usize::MAX }) {
            let mut request = Request::from_write(write, &ADMIN);
            if dry_run {
                request.query = crate::request::Query::parse("dryRun=All");
            }
            let reply = self.handle(&request, info.now);
            match &reply.body {
                ReplyBody::Object(made) if !reply.is_refusal() => {
                    first = first.or_else(|| Some(made.clone()));
                }
                _ => drop(reply.into_object().map_err(refused)?),
            }
        }
        let stored = first.unwrap_or_default();
        let shown = self.catalog.served().find(|kind| {
            let View::Alias(alias) = &kind.view else { return false };
            kind.resource.group == info.kind.resource.group && stored["kind"] == *alias.kind
        });
        let shown = shown.map_or_else(|| stored.clone(), |kind| kind.as_served(&stored));
        Ok(Reply::object(201, shown))
    }
}

/// The user of the writes that a create makes.
static ADMIN: std::sync::LazyLock<Identity> = std::sync::LazyLock::new(Identity::admin);

fn refused(rejection: Rejection) -> BoxedRejection {
    let Rejection { code, reason, message, details } = rejection;
    let details = Some(details).filter(|details| !details.is_null());
    BoxedRejection::by_webhook(code, &reason, message, details)
}

fn request_of<'a>(
    info: &'a RequestInfo<'_>,
    stored: &'a dyn Fn(&Resource) -> Vec<Object>,
) -> AggregatedRequest<'a> {
    AggregatedRequest {
        resource: &info.kind.resource,
        namespace: &info.path.namespace,
        name: &info.path.name,
        user: info.request.user,
        now: info.now,
        stored,
    }
}

/// The body of a write with the type of the stored kind; `None` to leave it unchanged.
fn renamed_body(kind: &Kind, stored: &Resource, body: &Body<'_>) -> Option<Value> {
    let mut value = match body {
        Body::Value(value) => (*value).clone(),
        Body::Bytes(text) => serde_json::from_slice(text).ok()?,
        Body::Empty | Body::Delete(_) => return None,
    };
    if value["kind"] != *kind.resource.kind {
        return None;
    }
    value["kind"] = json!(stored.kind);
    value["apiVersion"] = json!(stored.api_version());
    Some(value)
}
