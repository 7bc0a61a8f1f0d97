//! The attributes of a request that authorizers look at (`authorizer.Attributes`), and the 403 error of a rejection.

use std::borrow::Cow;

use crate::gotext::quote;
use crate::names;
use crate::rejection::BoxedRejection;
use crate::request::{Method, Query, Request, ResourcePath, Target};
use crate::selector::FieldSelector;

/// A user to authorize: the name and all groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) user: &'a str,
    pub(crate) groups: &'a [&'a str],
}

/// The verb and the object or path of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes<'a> {
    pub(crate) verb: Cow<'a, str>,
    pub(crate) group: Cow<'a, str>,
    pub(crate) resource: Cow<'a, str>,
    pub(crate) subresource: Cow<'a, str>,
    /// Empty for cluster-scoped requests.
    pub(crate) namespace: Cow<'a, str>,
    /// Empty for a collection.
    pub(crate) name: Cow<'a, str>,
    /// The path of a non-resource request; all fields above except the verb are then empty.
    pub(crate) path: Option<Cow<'a, str>>,
}

impl<'a> Attributes<'a> {
    /// Derives them from a request (`RequestInfoFactory.NewRequestInfo`).
    pub(crate) fn from_request(request: &'a Request<'_>) -> Self {
        match &request.target {
            Target::Path(path) => Self {
                verb: Cow::Borrowed(method(request.method)),
                path: Some(Cow::Borrowed(path)),
                ..Self::default()
            },
            Target::Resource(path) => Self::from_resource(request.method, path, &request.query),
        }
    }

    fn from_resource(method: Method, path: &'a ResourcePath<'_>, query: &'a Query) -> Self {
        let mut name = Cow::Borrowed(&*path.name);
        let verb = match method {
            Method::Get | Method::Options | Method::Other if path.watch => "watch",
            Method::Get if path.name.is_empty() => {
                if let Some(only) = named_by_selector(query) {
                    name = Cow::Owned(only);
                }
                if watches(query) { "watch" } else { "list" }
            }
            Method::Delete if path.name.is_empty() => "deletecollection",
            Method::Get => "get",
            Method::Post => "create",
            Method::Put => "update",
            Method::Patch => "patch",
            Method::Delete => "delete",
            Method::Options | Method::Other => "",
        };
        // A namespace object counts as an object in the namespace of its own name. So does a Project, which is one.
        let is_namespace = !path.name.is_empty()
            && matches!(
                (&*path.group, &*path.resource),
                ("", "namespaces") | ("project.openshift.io", "projects")
            );
        let namespace = if is_namespace { &path.name } else { &path.namespace };
        // The rest of the path after the subresource, as in `proxy/x/y`, does not matter for authorization.
        let subresource = path.subresource.split('/').next().unwrap_or_default();
        Self {
            verb: Cow::Borrowed(verb),
            group: Cow::Borrowed(&path.group),
            resource: Cow::Borrowed(&path.resource),
            subresource: Cow::Borrowed(subresource),
            namespace: Cow::Borrowed(namespace),
            name,
            path: None,
        }
    }

    /// The 403 error of a request that no authorizer allows. `reason` is the authorizers' reason, or empty.
    pub(crate) fn forbidden(&self, user: &str, reason: &str) -> BoxedRejection {
        let mut why = format!("User {} cannot {} ", quote(user), self.verb);
        if let Some(path) = &self.path {
            why += &format!("path {}", quote(path));
        } else {
            let resource = match &*self.subresource {
                "" => self.resource.to_string(),
                subresource => format!("{}/{subresource}", self.resource),
            };
            why += &format!("resource {} in API group {} ", quote(&resource), quote(&self.group));
            why += &match &*self.namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {}", quote(namespace)),
            };
        }
        if !reason.is_empty() {
            why += &format!(": {reason}");
        }
        BoxedRejection::not_allowed(&self.group, &self.resource, &self.name, &why)
    }
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Put => "put",
        Method::Patch => "patch",
        Method::Delete => "delete",
        Method::Options | Method::Other => "options",
    }
}

fn watches(query: &Query) -> bool {
    match query.get("watch") {
        "" => query.all("watch").next().is_some(),
        text => !matches!(text, "0" | "false" | "False" | "FALSE" | "f" | "F"),
    }
}

/// The name in a `metadata.name` field selector. Such a list counts as a request for that object.
fn named_by_selector(query: &Query) -> Option<String> {
    let selector = query.get("fieldSelector");
    if selector.is_empty() {
        return None;
    }
    FieldSelector::only_named(selector).filter(|name| names::path_segment(name).is_empty())
}

#[cfg(test)]
mod tests {
    use windtunnel_core::Identity;

    use super::*;

    #[test]
    fn attributes_have_verb_resource_name_and_namespace() {
        let who = Identity::admin();
        for (method, path, expected) in [
            (Method::Get, "/api/v1/nodes", "list nodes// in "),
            (Method::Get, "/api/v1/nodes/n", "get nodes//n in "),
            (Method::Get, "/api/v1/nodes?watch=1", "watch nodes// in "),
            (Method::Get, "/api/v1/nodes?watch=false", "list nodes// in "),
            (Method::Get, "/api/v1/watch/nodes/n", "watch nodes//n in "),
            (Method::Get, "/api/v1/nodes?fieldSelector=metadata.name%3Dn", "list nodes//n in "),
            (Method::Get, "/api/v1/nodes?fieldSelector=metadata.name!%3Dn", "list nodes// in "),
            (Method::Delete, "/api/v1/namespaces/a/pods", "deletecollection pods// in a"),
            (Method::Delete, "/api/v1/namespaces/a/pods/p", "delete pods//p in a"),
            (Method::Post, "/api/v1/namespaces/a/pods/p/eviction", "create pods/eviction/p in a"),
            (Method::Get, "/api/v1/namespaces/a/pods/p/proxy/x/y", "get pods/proxy/p in a"),
            (Method::Put, "/api/v1/namespaces/a/status", "update namespaces/status/a in a"),
            (Method::Get, "/api/v1/namespaces/a", "get namespaces//a in a"),
            (Method::Get, "/apis/apps/v1", "get path /apis/apps/v1"),
            (Method::Post, "/version", "post path /version"),
        ] {
            let request = Request::new(method, path, &who);
            let asked = Attributes::from_request(&request);
            let actual = asked.path.as_ref().map_or_else(
                || {
                    let Attributes { resource, subresource, name, namespace, .. } = &asked;
                    format!("{} {resource}/{subresource}/{name} in {namespace}", asked.verb)
                },
                |path| format!("{} path {path}", asked.verb),
            );
            assert_eq!(actual, expected, "{path}");
        }
    }
}
