//! Programs that answer at paths of the server's own address, each behind a proxy that authenticates and authorizes its
//! clients (kube-rbac-proxy).

use std::borrow::Cow;

use bytes::Bytes;
use windtunnel_core::Identity;
use windtunnel_core::clock::Time;

use crate::access::{Access, Attributes};
use crate::kinds::objects::Objects;
use crate::outbound::upstream::{PathRequest, Permission, PodResponse, Programs};
use crate::reply::{Reply, ReplyBody};
use crate::request::{Body, Method, Query, Request, Target};

const FORM: &str = "application/x-www-form-urlencoded";

/// The reply of the program at the path of a request; `None` if no program answers there.
pub(crate) fn answer(
    programs: &Programs,
    access: &mut Access,
    objects: Objects<'_>,
    request: &Request<'_>,
    now: Time,
) -> Option<Reply> {
    let upstream = programs.any()?;
    let path = path(&request.target)?;
    let permission = upstream.permission(&path)?;
    let verb = match request.method {
        Method::Get => "get",
        Method::Post => "create",
        _ => return Some(reply(PodResponse::text(405, "Method Not Allowed\n"))),
    };
    if request.user == &Identity::anonymous() {
        return Some(reply(PodResponse::text(401, "Unauthorized\n")));
    }
    if !access.may(objects, request.user, &attributes(verb, permission)) {
        let Permission { resource, subresource, .. } = permission;
        let user = &request.user.user;
        let why =
            format!("Forbidden (user={user}, verb={verb}, resource={resource}, subresource={subresource})");
        return Some(reply(PodResponse::text(403, why + "\n")));
    }
    let parameters = parameters(request);
    let asked = PathRequest { path: &path, parameters: &parameters, view: objects.view(), now };
    upstream.serve(&asked).map(reply)
}

/// The access that a program asks for.
fn attributes(verb: &'static str, wanted: Permission) -> Attributes<'static> {
    Attributes {
        verb: verb.into(),
        group: wanted.group.into(),
        resource: wanted.resource.into(),
        subresource: wanted.subresource.into(),
        namespace: wanted.namespace.into(),
        name: wanted.name.into(),
        path: None,
    }
}

fn reply(response: PodResponse) -> Reply {
    let PodResponse { code, content_type, body } = response;
    Reply::new(code, ReplyBody::Bytes { content_type, bytes: Bytes::from(body) })
}

/// The path of a request; `None` if it cannot be that of a program. `/api/v1/query` looks like a resource, and
/// `/api/v1/label/NAME/values` like one with a subresource.
fn path<'a>(target: &'a Target<'_>) -> Option<Cow<'a, str>> {
    match target {
        Target::Path(path) => Some(Cow::Borrowed(path)),
        Target::Resource(path)
            if path.group.is_empty() && path.namespace.is_empty() && path.name.is_empty() =>
        {
            Some(Cow::Owned(format!("/api/{}/{}", path.version, path.resource)))
        }
        Target::Resource(path) if path.group.is_empty() && path.resource == "label" => {
            Some(Cow::Owned(format!("/api/{}/label/{}/{}", path.version, path.name, path.subresource)))
        }
        Target::Resource(_) => None,
    }
}

/// The parameters of the URL, then those of a form in the body.
fn parameters(request: &Request<'_>) -> Query {
    match &request.body {
        Body::Bytes(text) if request.content_type.starts_with(FORM) => {
            request.query.followed_by(Query::parse(&String::from_utf8_lossy(text)))
        }
        _ => request.query.clone(),
    }
}
