//! Paths other than resources: discovery, OpenAPI, version, health, metrics.

pub(super) mod health;
mod metrics;
mod releases;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::clock::Time;

use super::rejection::{BoxedRejection, Outcome};
use super::reply::{Reply, ReplyBody, encode};
use super::request::{Method, Request, ResourcePath};
use super::{discovery, openapi};
use crate::access::Access;
use crate::kinds::catalog::Catalog;
use crate::kinds::typed::go_order::GoOrder;
use crate::openapi::Described;
use crate::profile::{Profile, since};
use crate::reply::documents::Documents;
use crate::request::accept::{self, DOCUMENTS, Media};
use crate::store::{Store, TableId};
pub(crate) use metrics::Metrics;

/// The responses of paths that are not of resources.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paths {
    metrics: Metrics,
    /// The full version, if it is not derived from the minor.
    git_version: Option<String>,
    /// Documents of servers behind this one, by path.
    documents: BTreeMap<String, String>,
}

impl Paths {
    pub(crate) fn new(git_version: Option<String>, documents: BTreeMap<String, String>) -> Self {
        Self { metrics: Metrics::default(), git_version, documents }
    }

    pub(crate) fn metrics(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    /// Serves `GET path` with this JSON from now on.
    pub(crate) fn set_document(&mut self, path: String, json: String) {
        self.documents.insert(path, json);
    }

    /// The document at a path, for GET requests.
    pub(crate) fn document(&self, request: &Request<'_>, path: &str) -> Option<Reply> {
        only_get(request).ok()?;
        let bytes = self.documents.get(path)?.clone().into();
        let body = ReplyBody::Bytes { content_type: "application/json", bytes };
        Some(Reply { body, ..Reply::value(200, json!({})) })
    }

    /// The response if a resource path has no kind: a document whose path looks like that of a resource, or
    /// the error.
    pub(crate) fn document_or_error(
        &self,
        request: &Request<'_>,
        path: &ResourcePath<'_>,
        missing: &BoxedRejection,
    ) -> Reply {
        let found = match (missing.code, &*path.group, &*path.name) {
            (404, "", "") => self.document(request, &format!("/api/{}/{}", path.version, path.resource)),
            _ => None,
        };
        found.unwrap_or_else(|| Reply::rejection(missing))
    }
}

/// Content types of aggregated discovery by format and version.
const AGGREGATED: [(Media, &str, &str); 4] = [
    (Media::Json, "v2", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
    (Media::Json, "v2beta1", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
    (Media::Yaml, "v2", "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
    (Media::Yaml, "v2beta1", "application/yaml;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
];
const JSON: &str = "application/json";
/// The media type of the keys of tokens.
const KEY_SET: &str = "application/jwk-set+json";

/// The parts of a server that these paths show.
#[derive(Debug)]
pub(crate) struct Served<'a> {
    pub(crate) paths: &'a Paths,
    pub(crate) documents: &'a mut Documents,
    pub(crate) catalog: &'a Catalog,
    pub(crate) store: &'a Store,
    pub(crate) profile: &'a Profile,
    pub(crate) access: &'a Access,
    /// The table of CustomResourceDefinitions, and their epoch.
    pub(crate) definitions: (TableId, u64),
}

impl Served<'_> {
    /// Serves a path that is not a resource. Some handlers of a real server ignore the method, and some compare the path
    /// exactly; the router ignores slashes at its ends.
    pub(crate) fn answer(&mut self, request: &Request<'_>, path: &str, now: Time) -> Outcome<Reply> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let is_exact = !path.ends_with('/');
        match parts.as_slice() {
            ["" | "index.html"] if is_exact || path == "/" => Ok(raw(json!({ "paths": self.index() }))),
            ["metrics"] if is_exact => Ok(self.paths.metrics.answer(self.catalog, self.store)),
            ["openapi", rest @ ..] if is_exact => openapi::answer(&mut self.described(), request, rest, now),
            [probe @ ("healthz" | "livez" | "readyz"), check @ ..] if is_exact => {
                health::answer(probe, &check.join("/"), &request.query, self.store.stalled())
            }
            ["apis"] if is_exact => self.discovery_root(request, "apis"),
            ["apis"] => document(request, discovery::group_list(&self.groups())),
            ["apis", group] => document(request, discovery::group(&self.groups(), group)?),
            ["apis", group, version] if !self.catalog.is_builtin(group) => {
                document(request, discovery::resource_list(self.catalog, group, version)?)
            }
            _ => match self.routed(request, &parts) {
                Some(routed) => routed,
                None => self.paths.document(request, path).ok_or_else(BoxedRejection::unknown_path),
            },
        }
    }

    /// Serves a path of the router; `None` if no web service of it has that path.
    fn routed(&mut self, request: &Request<'_>, parts: &[&str]) -> Option<Outcome<Reply>> {
        Some(match parts {
            ["version"] => check_route(request, &[JSON])
                .map(|()| version(&version_info(self.profile.minor, self.paths.git_version.as_deref()))),
            [".well-known", "openid-configuration"] => check_route(request, &[JSON]).map(|()| {
                let configuration = self.access.configuration();
                let bytes = encode::document(&GoOrder::document("OpenIDConfiguration", &configuration));
                let configuration = Reply::new(200, ReplyBody::Bytes { content_type: JSON, bytes });
                Reply { headers: vec![key_caching()], ..configuration }
            }),
            ["openid", "v1", "jwks"] => check_route(request, &[KEY_SET]).map(|()| {
                let bytes = encode::document(&self.access.key_set());
                let keys = Reply::new(200, ReplyBody::Bytes { content_type: KEY_SET, bytes });
                Reply { headers: vec![key_caching()], ..keys }
            }),
            ["api"] => check_route(request, &DOCUMENTS).and_then(|()| self.discovery_root(request, "api")),
            ["api", version] => self.versioned(request, "", version),
            ["apis", group, version] => self.versioned(request, group, version),
            ["version" | "api", ..]
            | [".well-known", "openid-configuration", ..]
            | ["openid", "v1", "jwks", ..] => Err(BoxedRejection::unknown_resource()),
            _ => return None,
        })
    }

    /// Serves the resources of a group and version that the router knows.
    fn versioned(&self, request: &Request<'_>, group: &str, version: &str) -> Outcome<Reply> {
        let list = discovery::resource_list(self.catalog, group, version)?;
        check_route(request, &DOCUMENTS)?;
        document(request, list)
    }

    /// The API that OpenAPI describes.
    fn described(&mut self) -> Described<'_> {
        Described {
            documents: &mut *self.documents,
            catalog: self.catalog,
            store: self.store,
            minor: self.profile.minor,
            definitions: self.definitions,
        }
    }

    /// Serves `/api` and `/apis`: aggregated discovery if the client requests it, otherwise only the groups.
    fn discovery_root(&mut self, request: &Request<'_>, root: &str) -> Outcome<Reply> {
        let served = self.profile.discovery;
        let wanted = accept::discovery_version(&request.accept, "APIGroupDiscoveryList", served);
        let core = root == "api";
        let Some((media, version, content_type)) =
            AGGREGATED.into_iter().find(|(media, version, _)| Some((*media, *version)) == wanted)
        else {
            let body = if core { discovery::versions() } else { discovery::group_list(&self.groups()) };
            return document(request, body);
        };
        let stamp = (self.definitions.1, self.profile.minor);
        let (catalog, groups) = (self.catalog, self.groups());
        // Groups of other servers come and go without a new definition.
        let key = format!("{root} {content_type} {groups:?}");
        let document = self.documents.get(stamp, &key, || {
            media.encode(&GoOrder::object(&discovery::aggregated(catalog, &groups, core, version)))
        });
        let mut reply = document.reply(content_type, &request.if_none_match);
        reply.headers.push(("cache-control", "public".to_owned()));
        Ok(reply)
    }

    /// The groups of this server and of others.
    fn groups(&self) -> Vec<discovery::Group> {
        discovery::all_groups(self.catalog, self.store)
    }

    /// All paths (`/`).
    fn index(&self) -> Vec<String> {
        let mut paths: Vec<String> = [
            "/.well-known/openid-configuration",
            "/api",
            "/apis",
            "/apis/",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/openapi/v3/",
            "/openid/v1/jwks",
            "/version",
        ]
        .map(str::to_owned)
        .into();
        for group in discovery::groups(self.catalog) {
            let root =
                if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) };
            paths.extend(group.versions.iter().map(|version| format!("{root}/{version}")));
            paths.push(root);
        }
        paths.extend(health::paths());
        paths.sort();
        paths.dedup();
        paths
    }
}

fn only_get(request: &Request<'_>) -> Outcome<()> {
    if request.method == Method::Get { Ok(()) } else { Err(BoxedRejection::method_not_allowed()) }
}

/// The header with the time for which clients may cache the keys of tokens.
fn key_caching() -> (&'static str, String) {
    ("cache-control", "public, max-age=3600".to_owned())
}

/// Checks a request to a path that the router serves for GET, in these media types.
fn check_route(request: &Request<'_>, produced: &[&str]) -> Outcome<()> {
    only_get(request)?;
    accept::check_routed(&request.accept, produced)
}

/// A document in a format that the client accepts.
fn document(request: &Request<'_>, body: Value) -> Outcome<Reply> {
    Ok(Reply { media: accept::document_media(request)?, ..Reply::value(200, body) })
}

/// A document that is always indented JSON (`WriteRawJSON`).
fn raw(body: Value) -> Reply {
    Reply { media: Media::PrettyJson, ..Reply::value(200, body) }
}

/// The reply with a version info.
fn version(info: &Value) -> Reply {
    let bytes = Media::PrettyJson.encode(&GoOrder::document("VersionInfo", info));
    Reply::new(200, ReplyBody::Bytes { content_type: JSON, bytes })
}

/// The version info of a kube-apiserver 1.`minor`. `git_version` is its full version, such as `v1.31.4`.
fn version_info(minor: u32, git_version: Option<&str>) -> Value {
    let git_version = git_version.map_or_else(|| format!("v1.{minor}.0"), str::to_owned);
    let mut info = json!({
        "major": "1", "minor": minor.to_string(),
        "gitCommit": releases::commit(&git_version),
        "gitVersion": git_version, "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.24.0", "compiler": "gc", "platform": "linux/amd64",
    });
    if minor >= since::EMULATED_VERSION {
        for (name, minor) in [("emulation", minor), ("minCompatibility", minor - 1)] {
            info[format!("{name}Major")] = json!("1");
            info[format!("{name}Minor")] = json!(minor.to_string());
        }
    }
    info
}
