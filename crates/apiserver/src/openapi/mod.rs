//! OpenAPI: one document for each group and version (`/openapi/v3`), or one for all of them (`/openapi/v2`).
//!
//! Types of built-in kinds come from `facts`, those of custom resources from their definitions, each
//! with descriptions.

mod custom;
mod descriptions;
mod names;
mod operations;
mod parameters;
mod protobuf;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use windtunnel_core::clock::Time;

use self::custom::Source;
use super::discovery;
use super::kinds::Kind;
use super::kinds::catalog::Catalog;
use super::rejection::{BoxedRejection, Outcome};
use super::reply::{Reply, ReplyBody, encode};
use super::request::Request;
use super::store::{Store, TableId};
use crate::profile::since;
use crate::reply::documents::{Document, Documents, Stamp};

const JSON: &str = "application/json";
/// The content type of a protobuf document. The `@` in the name that clients request is invalid in a media
/// type, and Go's parser rejects a response with it.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const V2_PROTOBUF_ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// How long clients may cache a document that they request by its hash.
const FOREVER: SignedDuration = SignedDuration::from_hours(365 * 24);

/// The two versions of OpenAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    V2,
    V3,
}

impl Form {
    /// A reference to a schema.
    fn reference(self, name: &str) -> Value {
        match self {
            Self::V2 => json!({ "$ref": format!("#/definitions/{name}") }),
            Self::V3 => json!({ "$ref": format!("#/components/schemas/{name}") }),
        }
    }

    /// A reference that may have sibling properties.
    fn property(self, name: &str) -> Value {
        match self {
            Self::V2 => self.reference(name),
            Self::V3 => json!({ "allOf": [self.reference(name)] }),
        }
    }
}

/// The API that the documents describe.
#[derive(Debug)]
pub(crate) struct Described<'a> {
    pub(crate) documents: &'a mut Documents,
    pub(crate) catalog: &'a Catalog,
    pub(crate) store: &'a Store,
    pub(crate) minor: u32,
    /// The table of CustomResourceDefinitions, and their epoch.
    pub(crate) definitions: (TableId, u64),
}

/// Serves `/openapi/...`; `rest` is the rest of the path.
pub(super) fn answer(
    api: &mut Described<'_>,
    request: &Request<'_>,
    rest: &[&str],
    now: Time,
) -> Outcome<Reply> {
    match rest {
        ["v3"] => Ok(index(api, request)),
        ["v3", "api", version] => Ok(versioned(api, request, "", version, now)),
        ["v3", "apis", group, version] => Ok(versioned(api, request, group, version, now)),
        ["v3", ..] => Ok(Reply::new(404, ReplyBody::Empty)),
        ["v2"] => Ok(everything(api, request)),
        _ => Err(BoxedRejection::unknown_path()),
    }
}

/// The index with the URL of the document of each group and version.
fn index(api: &mut Described<'_>, request: &Request<'_>) -> Reply {
    let mut paths = Map::new();
    for group in discovery::groups(api.catalog) {
        for version in &group.versions {
            let path = path(&group.name, version);
            let Some(document) = api.openapi_v3(&group.name, version) else { continue };
            let url = format!("/openapi/v3/{path}?hash={}", document.hash);
            paths.insert(path, json!({ "serverRelativeURL": url }));
        }
    }
    let document = Document::new(encode::document(&json!({ "paths": paths })));
    document.reply(JSON, &request.if_none_match)
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// The document of a group and version. Requested by its hash it is immutable; an outdated hash is redirected
/// to the current one.
fn versioned(api: &mut Described<'_>, request: &Request<'_>, group: &str, version: &str, now: Time) -> Reply {
    let Some(document) = api.openapi_v3(group, version) else {
        return Reply::new(404, ReplyBody::Empty);
    };
    let requested_hash = request.query.get("hash");
    if !requested_hash.is_empty() && requested_hash != document.hash {
        let mut reply = Reply::new(301, ReplyBody::Text(String::new()));
        let url = format!("/openapi/v3/{}?hash={}", path(group, version), document.hash);
        reply.headers.push(("location", url));
        return reply;
    }
    let mut reply = document.reply(JSON, &request.if_none_match);
    if !requested_hash.is_empty() {
        reply.headers.push(("cache-control", "public, immutable".to_owned()));
        let expires = now.checked_add(FOREVER).unwrap_or(Time::MAX);
        reply.headers.push(("expires", expires.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()));
    }
    reply
}

/// Serves `/openapi/v2` as JSON, or as protobuf to clients that prefer it.
fn everything(api: &mut Described<'_>, request: &Request<'_>) -> Reply {
    let stamp = (api.definitions.1, api.minor);
    let accepted = request.accept.split(',').map(str::trim);
    let protobuf = accepted
        .take_while(|clause| !clause.starts_with(JSON))
        .any(|clause| [V2_PROTOBUF, V2_PROTOBUF_ASKED].iter().any(|name| clause.starts_with(name)));
    let mut documents = std::mem::take(&mut *api.documents);
    let document = if protobuf {
        documents.get(stamp, "openapi v2 protobuf", || protobuf::document(&api.openapi_v2()).into())
    } else {
        documents.get(stamp, "openapi v2", || encode::document(&api.openapi_v2()))
    };
    *api.documents = documents;
    let mut reply = document.reply(if protobuf { V2_PROTOBUF } else { JSON }, &request.if_none_match);
    reply.headers.push(("cache-control", "no-cache, private".to_owned()));
    reply
}

impl Described<'_> {
    /// The document of a group and version; `None` if no kinds are served.
    fn openapi_v3(&mut self, group: &str, version: &str) -> Option<Arc<Document>> {
        let kinds = discovery::kinds(self.catalog, group, version);
        let kinds: Vec<&Kind> = kinds.filter(|kind| !kind.is_aggregated()).collect();
        // The document of a group changes when one of its definitions is replaced or removed.
        let newest = kinds.iter().map(|kind| kind.epoch()).max()?;
        let stamp: Stamp = (newest << 16 | kinds.len() as u64, self.minor);
        let mut documents = std::mem::take(&mut *self.documents);
        let document = documents.get(stamp, &format!("openapi v3 {group}/{version}"), || {
            encode::document(&self.document(&kinds, Form::V3))
        });
        *self.documents = documents;
        Some(document)
    }

    fn openapi_v2(&self) -> Value {
        let kinds: Vec<&Kind> = self.catalog.served().map(AsRef::as_ref).collect();
        self.document(&kinds, Form::V2)
    }

    /// The document of the given kinds.
    fn document(&self, kinds: &[&Kind], form: Form) -> Value {
        let mut schemas: BTreeMap<String, Value> = BTreeMap::new();
        let mut paths = Map::new();
        // The types of aggregated API servers are unknown.
        for kind in kinds.iter().filter(|kind| !kind.is_aggregated()) {
            if kind.custom.is_some() {
                let version = self.version_definition(kind).unwrap_or_default();
                schemas.extend(custom::schemas(kind, &Source { version, minor: self.minor }, form));
            } else {
                types::add_kind(&mut schemas, kind, form, self.minor);
            }
            operations::add(&mut paths, kind, form, self.minor);
        }
        types::add_shared(&mut schemas, form);
        let has_scale =
            |kind: &&Kind| kind.custom.as_ref().is_some_and(|custom| custom.version.scale.is_some());
        if kinds.iter().any(has_scale) {
            types::add_scale(&mut schemas, form);
        }
        let version = match form {
            Form::V3 if self.minor >= since::EFFECTIVE_VERSION => format!("1.{}", self.minor),
            _ => format!("v1.{}.0", self.minor),
        };
        let info = if form == Form::V3 && kinds.iter().any(|kind| kind.custom.is_some()) {
            json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" })
        } else {
            json!({ "title": "Kubernetes", "version": version })
        };
        match form {
            Form::V2 => json!({
                "swagger": "2.0", "info": info, "paths": paths, "definitions": schemas,
                "security": [{ "BearerToken": [] }],
                "securityDefinitions": { "BearerToken": {
                    "type": "apiKey", "name": "authorization", "in": "header",
                    "description": "The token of a user or of a service account.",
                } },
            }),
            Form::V3 => {
                json!({ "openapi": "3.0.0", "info": info, "paths": paths, "components": { "schemas": schemas } })
            }
        }
    }

    /// The version of a custom resource in its definition.
    fn version_definition(&self, kind: &Kind) -> Option<Value> {
        let name = format!("{}.{}", kind.resource.plural, kind.resource.group);
        let definition = self.store.get(self.definitions.0, "", &name)?.served();
        let versions = definition["spec"]["versions"].as_array()?;
        versions.iter().find(|version| version["name"] == *kind.resource.version).cloned()
    }
}
