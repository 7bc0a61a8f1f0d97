//! Paths other than resources: discovery, OpenAPI, version, health, metrics.

pub(super) mod health;
mod metrics;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::clock::Time;

use super::reply::{Reply, ReplyBody};
use super::request::{Method, Request, ResourcePath};
use super::status::{Outcome, Refused};
use super::{discovery, openapi};
use crate::access::Access;
use crate::kinds::catalog::Catalog;
use crate::openapi::Described;
use crate::profile::Profile;
use crate::reply::documents::Documents;
use crate::request::accept::{self, Media, Objects, Offer};
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
    fn document(&self, request: &Request<'_>, path: &str) -> Option<Reply> {
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
        missing: &Refused,
    ) -> Reply {
        let found = match (missing.code, &*path.group, &*path.name) {
            (404, "", "") => self.document(request, &format!("/api/{}/{}", path.version, path.resource)),
            _ => None,
        };
        found.unwrap_or_else(|| Reply::refused(missing))
    }
}

/// Content types of aggregated discovery by version.
const AGGREGATED: [(&str, &str); 2] = [
    ("v2", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
    ("v2beta1", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
];

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
    /// Serves a path that is not a resource. Some handlers of a real server ignore the method.
    pub(crate) fn answer(&mut self, request: &Request<'_>, path: &str, now: Time) -> Outcome<Reply> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if let ["openapi", rest @ ..] = parts.as_slice() {
            return openapi::answer(&mut self.described(), request, rest, now);
        }
        if let [probe @ ("healthz" | "livez" | "readyz"), check @ ..] = parts.as_slice() {
            return health::answer(probe, &check.join("/"), &request.query, self.store.stalled());
        }
        let body = match parts.as_slice() {
            [] => json!({ "paths": self.index() }),
            ["version"] => version_info(self.profile.minor, self.paths.git_version.as_deref()),
            ["metrics"] => return Ok(self.paths.metrics.answer(self.catalog, self.store)),
            ["openid", "v1", "jwks"] => {
                only_get(request)?;
                let mut reply = Reply::value(200, self.access.key_set());
                reply.headers.push(("cache-control", "public, max-age=3600".to_owned()));
                return Ok(reply);
            }
            [".well-known", "openid-configuration"] => self.access.configuration(),
            [root @ ("api" | "apis")] => return self.discovery_root(request, root),
            ["apis", group] => discovery::group(self.catalog, group)?,
            ["api", version] => discovery::resource_list(self.catalog, "", version)?,
            ["apis", group, version] => discovery::resource_list(self.catalog, group, version)?,
            _ => return self.paths.document(request, path).ok_or_else(Refused::unknown_path),
        };
        let any_method = matches!(parts.as_slice(), [] | ["apis", _]);
        if !any_method {
            only_get(request)?;
        }
        with_accepted_media(request, Reply::value(200, body))
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
        if root == "api" {
            only_get(request)?;
        }
        let served = self.profile.discovery;
        let wanted = accept::discovery_version(&request.accept, "APIGroupDiscoveryList", served);
        let core = root == "api";
        let Some((version, content_type)) =
            AGGREGATED.into_iter().find(|(version, _)| Some(*version) == wanted)
        else {
            let body = if core { discovery::versions() } else { discovery::group_list(self.catalog) };
            let mut reply = with_accepted_media(request, Reply::value(200, body))?;
            reply.headers.push(("vary", "Accept".to_owned()));
            return Ok(reply);
        };
        let stamp = (self.definitions.1, self.profile.minor);
        let catalog = self.catalog;
        let document = self.documents.get(stamp, &format!("{root} {version}"), || {
            Media::Json.encode(&discovery::aggregated(catalog, core, version))
        });
        let mut reply = document.reply(content_type, &request.if_none_match);
        reply.headers.push(("cache-control", "public".to_owned()));
        Ok(reply)
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
    if request.method == Method::Get { Ok(()) } else { Err(Refused::method_not_allowed()) }
}

/// Encodes a response in a format that the client accepts.
fn with_accepted_media(request: &Request<'_>, mut reply: Reply) -> Outcome<Reply> {
    let offer = Offer { objects: Objects::BuiltIn, list: false, watch: false };
    let (media, _) = accept::negotiate(&request.accept, offer)?;
    let pretty = media == Media::Json && accept::is_pretty(&request.query, &request.user_agent);
    reply.media = if pretty { Media::PrettyJson } else { media };
    Ok(reply)
}

/// The version info of a kube-apiserver 1.`minor`. `git_version` is its full version, such as `v1.31.4`.
fn version_info(minor: u32, git_version: Option<&str>) -> Value {
    json!({
        "major": "1", "minor": minor.to_string(),
        "gitVersion": git_version.map_or_else(|| format!("v1.{minor}.0"), str::to_owned),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.24.0", "compiler": "gc", "platform": "linux/amd64",
    })
}
