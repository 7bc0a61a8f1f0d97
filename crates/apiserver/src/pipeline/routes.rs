//! The routes of built-in kinds: the methods and media types of each path (`APIInstaller`, and `CurlyRouter` of go-restful).
//!
//! The router rejects a request before its endpoint sees it, in this order: unknown path, method, patch type, accepted media
//! types. Custom resources have no router.

use crate::call::Call;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::accept::{self, DOCUMENTS, LISTS};
use crate::request::{JSON_PATCH, MERGE_PATCH, Method, STRATEGIC_PATCH};

/// The media types of patches, which must match exactly.
const PATCHES: [&str; 4] = [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, "application/apply-patch+yaml"];
/// The media types of logs.
const LOGS: [&str; 4] =
    ["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
/// The media types of connections, whose answers are not of the server.
const CONNECTIONS: [&str; 1] = ["*/*"];

/// Checks a call against the routes of its kind.
///
/// # Errors
/// 404, 405, 415 or 406.
pub(super) fn check(call: &Call<'_>, minor: u32) -> Outcome<()> {
    if call.kind.custom.is_some() {
        return Ok(());
    }
    let methods = methods(call, minor);
    if methods.is_empty() {
        return Err(BoxedRejection::unknown_resource());
    }
    if !methods.contains(&call.request.method) {
        return Err(BoxedRejection::method_not_allowed());
    }
    let is_patch_of_object = call.request.method == Method::Patch && !is_connection(call);
    if is_patch_of_object && !is_patch(&call.request.content_type) {
        return Err(BoxedRejection::patch_type());
    }
    accept::check_routed(&call.request.accept, produced(call))
}

/// The methods of the path of a call; empty if there is no such path.
fn methods(call: &Call<'_>, minor: u32) -> Vec<Method> {
    let (path, rules) = (call.path, &call.kind.rules);
    let of_kind = |verbs: &[&str]| {
        let served = verbs.iter().filter(|verb| rules.verbs.contains(verb));
        served.filter_map(|verb| method(verb)).collect()
    };
    let is_across_namespaces =
        call.kind.resource.namespaced && path.namespace.is_empty() && !path.has_empty_namespace;
    match (path.watch, &*path.name, &*path.subresource) {
        (true, _, "") => of_kind(&["watch"]),
        (true, ..) => Vec::new(),
        (false, "", _) if is_across_namespaces => of_kind(&["list"]),
        (false, "", _) => of_kind(&["list", "create", "deletecollection"]),
        (false, _, "") => of_kind(&["get", "update", "patch", "delete"]),
        (false, _, "status") if rules.status => vec![Method::Get, Method::Put, Method::Patch],
        (false, _, name) => of_subresource(call, name, minor),
    }
}

/// The methods of a subresource. Only a proxy has paths below its own.
fn of_subresource(call: &Call<'_>, path: &str, minor: u32) -> Vec<Method> {
    let (name, is_below) = path.split_once('/').map_or((path, false), |(name, _)| (name, true));
    let mut served = call.kind.subresources.iter().filter(|known| known.since <= minor);
    let found = served.find(|known| known.name == name && (!is_below || name == "proxy"));
    let Some(found) = found else { return Vec::new() };
    let methods = found.verbs.iter().filter_map(|verb| method(verb));
    // Discovery does not list these methods of a proxy.
    methods.chain((name == "proxy").then_some(Method::Options)).collect()
}

/// The method of a verb.
fn method(verb: &str) -> Option<Method> {
    match verb {
        "get" | "list" | "watch" => Some(Method::Get),
        "create" => Some(Method::Post),
        "update" => Some(Method::Put),
        "patch" => Some(Method::Patch),
        "delete" | "deletecollection" => Some(Method::Delete),
        _ => None,
    }
}

/// Whether a `Content-Type` header names a media type of patches. Unlike a decoder, the router accepts a list.
fn is_patch(header: &str) -> bool {
    header.split(',').any(|given| {
        let given = given.split(';').next().unwrap_or_default().trim_matches(' ');
        PATCHES.contains(&given)
    })
}

/// Whether a call connects to a container or a program.
pub(super) fn is_connection(call: &Call<'_>) -> bool {
    let subresource = call.path.subresource.split('/').next().unwrap_or_default();
    call.kind.custom.is_none() && matches!(subresource, "attach" | "exec" | "portforward" | "proxy")
}

/// The media types of the route of a call.
fn produced(call: &Call<'_>) -> &'static [&'static str] {
    let is_list = call.request.method == Method::Get && (call.path.name.is_empty() || call.path.watch);
    match &*call.path.subresource {
        _ if is_connection(call) => &CONNECTIONS,
        "log" => &LOGS,
        _ if is_list => &LISTS,
        _ => &DOCUMENTS,
    }
}
