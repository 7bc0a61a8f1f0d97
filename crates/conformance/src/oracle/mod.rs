//! The kinds that the oracle serves, with their schemas. The oracle is the server that is right by definition.

mod schema;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::player::{Connection, Server};

pub use schema::{Schemas, Shape};

/// One kind in one version.
#[derive(Debug, Clone)]
pub struct Kind {
    /// The group and version, such as `v1` or `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The plural.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// The verbs.
    pub verbs: Vec<String>,
    /// The subresources.
    pub subresources: Vec<String>,
}

impl Kind {
    /// The path of a list of these objects, in the namespace of the case.
    pub fn path(&self) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let namespace = if self.namespaced { "/namespaces/${ns}" } else { "" };
        format!("{root}/{}{namespace}/{}", self.api_version, self.plural)
    }

    /// Whether there is a subresource.
    pub fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|known| known == subresource)
    }
}

/// The kinds and schemas of the oracle.
#[derive(Debug, Default)]
pub struct OracleKinds {
    kinds: BTreeMap<(String, String), Kind>,
    schemas: Schemas,
}

impl OracleKinds {
    /// Asks a server for its kinds and schemas.
    pub async fn load(server: &Server) -> Result<Self, String> {
        let mut connection = server.connect();
        let mut oracle = Self::default();
        let groups = get(&mut connection, "/apis").await?;
        let groups = groups["groups"].as_array().into_iter().flatten();
        let versions = groups.flat_map(|group| group["versions"].as_array().into_iter().flatten());
        let versions = versions.filter_map(|version| version["groupVersion"].as_str());
        let paths = versions.map(|version| format!("/apis/{version}"));
        for path in std::iter::once("/api/v1".to_owned()).chain(paths.collect::<Vec<_>>()) {
            let version = path.split('/').skip(2).collect::<Vec<_>>().join("/");
            // A group of custom resources may be gone by now.
            let Ok(kinds) = get(&mut connection, &path).await else { continue };
            let Ok(document) = get(&mut connection, &format!("/openapi/v3{path}")).await else { continue };
            oracle.add_kinds(&version, &kinds);
            oracle.schemas.add(&document);
        }
        Ok(oracle)
    }

    fn add_kinds(&mut self, version: &str, list: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let resources = || list["resources"].as_array().into_iter().flatten();
        for resource in resources().filter(|resource| !text(&resource["name"]).contains('/')) {
            let plural = text(&resource["name"]);
            let prefix = format!("{plural}/");
            let names = resources().map(|other| text(&other["name"]));
            let verbs = resource["verbs"].as_array().into_iter().flatten();
            let kind = Kind {
                api_version: version.to_owned(),
                kind: text(&resource["kind"]),
                namespaced: resource["namespaced"] == true,
                verbs: verbs.map(text).collect(),
                subresources: names
                    .filter_map(|name| name.strip_prefix(&prefix).map(str::to_owned))
                    .collect(),
                plural,
            };
            self.kinds.insert((kind.api_version.clone(), kind.kind.clone()), kind);
        }
    }

    /// The kind of an object.
    pub fn kind_of(&self, object: &Value) -> Option<&Kind> {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        self.kinds.get(&(text("apiVersion"), text("kind")))
    }

    /// All kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.values()
    }

    /// The schema of an object.
    pub fn schema(&self, kind: &Kind) -> Shape<'_> {
        self.schemas.root(&kind.api_version, &kind.kind)
    }
}

async fn get(connection: &mut Connection<'_>, path: &str) -> Result<Value, String> {
    let answer = connection.ask(&serde_json::json!({"path": path})).await;
    if answer.status == 200 {
        Ok(answer.body)
    } else {
        Err(format!("GET {path}: {} {}", answer.status, answer.body))
    }
}
