//! Random CRDs, and objects that more or less fit them, on servers whose minor changes.

mod objects;
pub(super) mod rules;
mod schema;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method};

use super::campaign::campaign;
use super::checked_server::{APPLY, Answer, JSON, MERGE, STRATEGIC, ask, server};
use super::dice::Dice;
use objects::fitting;
use schema::{NAMES, root};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.fuzz.io";
const QUERIES: &[&str] = &["", "", "", "?dryRun=All", "?fieldValidation=Strict", "?fieldValidation=Ignore"];
const VERSIONS: &[&str] = &["v1", "v1", "v1", "v1beta1"];

/// A CRD with random versions.
fn definition(dice: &mut Dice, scope: &str, most: usize) -> Value {
    let mut versions = vec![version(dice, "v1")];
    if most > 1 && dice.one_in(3) {
        versions.push(version(dice, "v1beta1"));
    }
    let stored = if dice.one_in(30) { versions.len() } else { dice.index(versions.len()) };
    for (number, version) in versions.iter_mut().enumerate() {
        version["storage"] = json!(number == stored);
    }
    let spec = json!({ "group": "fuzz.io", "scope": scope, "versions": versions,
        "names": { "plural": "things", "singular": "thing", "kind": "Thing", "shortNames": ["th"], "categories": ["all"] },
        "preserveUnknownFields": dice.one_in(20) });
    json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.fuzz.io" }, "spec": spec })
}

fn version(dice: &mut Dice, name: &str) -> Value {
    let mut version =
        json!({ "name": name, "served": !dice.one_in(10), "schema": { "openAPIV3Schema": root(dice) } });
    if dice.one_in(2) {
        version["subresources"]["status"] = json!({});
    }
    if dice.one_in(4) {
        version["subresources"]["scale"] = json!({ "specReplicasPath": path(dice), "statusReplicasPath": path(dice),
            "labelSelectorPath": path(dice) });
    }
    if dice.one_in(2) {
        let types = ["string", "integer", "number", "boolean", "date"];
        version["additionalPrinterColumns"] = (0..dice.number(1, 3))
            .map(|number| json!({ "name": format!("C{number}"), "type": dice.pick(&types), "jsonPath": path(dice) }))
            .collect();
    }
    if dice.one_in(4) {
        version["selectableFields"] = json!([{ "jsonPath": path(dice) }]);
    }
    if dice.one_in(8) {
        version["deprecated"] = json!(true);
    }
    version
}

fn path(dice: &mut Dice) -> String {
    let tail = ["", "", "[0]", "[*].k", "[?(@.k==\"a\")]", "['a']", "..k", ".length"];
    let start = dice.pick(&[".spec", ".status", ".metadata", "{.spec}", ""]);
    format!("{start}.{}{}", dice.pick(NAMES), dice.pick(&tail))
}

/// An object of a version of the current CRD.
fn object(dice: &mut Dice, definition: &Value, version: &str) -> Value {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let schema = versions
        .filter(|found| found["name"] == version)
        .map(|found| found["schema"]["openAPIV3Schema"].clone())
        .next();
    let mut object = fitting(dice, &schema.unwrap_or(json!({ "type": "object" })), 6);
    if !object.is_object() {
        object = json!({});
    }
    object["apiVersion"] = json!(format!("fuzz.io/{version}"));
    object["kind"] = json!("Thing");
    object["metadata"] = json!({ "name": dice.pick(&["a", "b"]) });
    if dice.one_in(6) { dice.damaged(object, 2) } else { object }
}

/// A cluster with a CRD.
struct FuzzCluster {
    server: ApiServer,
    dice: Dice,
    scope: &'static str,
    definition: Value,
    /// The most versions of a CRD.
    versions: usize,
}

impl FuzzCluster {
    fn new(campaign: &str, seed: u64) -> Self {
        let mut dice = Dice::new(campaign, seed);
        let scope = dice.pick(&["Cluster", "Namespaced"]);
        Self { server: server(dice.minor()), dice, scope, definition: Value::Null, versions: 2 }
    }

    /// Replaces the CRD, or keeps the old one if the new one is rejected.
    fn define(&mut self) -> Result<bool, String> {
        let mut definition = definition(&mut self.dice, self.scope, self.versions);
        let answer = if self.definition.is_null() {
            ask(&mut self.server, Method::Post, DEFINITIONS, "", &definition)?
        } else {
            let stored = ask(&mut self.server, Method::Get, DEFINITION, "", &Value::Null)?;
            definition["metadata"]["resourceVersion"] = stored.version().clone();
            ask(&mut self.server, Method::Put, DEFINITION, "", &definition)?
        };
        if answer.is_good() {
            self.definition = definition;
        }
        Ok(answer.is_good())
    }

    fn collection(&mut self, version: &str) -> String {
        let namespace = if self.scope == "Cluster" { "" } else { "/namespaces/default" };
        format!("/apis/fuzz.io/{version}{namespace}/things")
    }

    /// Sends a random request for an object. If the server accepts the object, checks that a read returns it
    /// unchanged and that an update with it changes nothing.
    fn step(&mut self) -> Result<(), String> {
        let version = self.dice.pick(VERSIONS);
        let body = object(&mut self.dice, &self.definition, version);
        let collection = self.collection(version);
        let name = body["metadata"]["name"].as_str().unwrap_or("a").to_owned();
        let part = self.dice.pick(&["", "", "", "/status", "/scale"]);
        let query = self.dice.pick(QUERIES);
        let path = format!("{collection}/{name}{part}");
        let action = self.dice.number(0, 9);
        let answer = match action {
            0..=3 => ask(&mut self.server, Method::Post, &format!("{collection}{query}"), "", &body)?,
            4 | 5 => self.update(&path, query, body)?,
            6 => self.apply(&path, query, &body)?,
            7 => self.patch(&path, query, body)?,
            8 => self.read(&collection, &path)?,
            _ => ask(&mut self.server, Method::Delete, &path, "", &Value::Null)?,
        };
        if answer.is_good() && part.is_empty() && query != "?dryRun=All" && answer.body["kind"] == "Thing" {
            let exists = self.check_read(&path, &answer)?;
            // Reads and deletions do not validate: the object may be older than the CRD.
            if exists && action < 8 {
                self.check_rewrite(&path, &answer)?;
            }
        }
        Ok(())
    }

    fn update(&mut self, path: &str, query: &str, mut body: Value) -> Result<Answer, String> {
        let stored = ask(&mut self.server, Method::Get, path, "", &Value::Null)?;
        if body["metadata"].is_object() {
            body["metadata"]["resourceVersion"] = stored.version().clone();
        }
        ask(&mut self.server, Method::Put, &format!("{path}{query}"), "", &body)
    }

    fn apply(&mut self, path: &str, query: &str, body: &Value) -> Result<Answer, String> {
        let separator = if query.is_empty() { "?" } else { "&" };
        let manager = self.dice.pick(&["one", "two"]);
        let path = format!("{path}{query}{separator}fieldManager={manager}&force={}", self.dice.one_in(2));
        ask(&mut self.server, Method::Patch, &path, APPLY, body)
    }

    fn patch(&mut self, path: &str, query: &str, body: Value) -> Result<Answer, String> {
        let media = self.dice.pick(&[MERGE, MERGE, JSON, STRATEGIC]);
        let body = match media {
            JSON => {
                let (at, from) = (self.dice.place(&body), self.dice.place(&body));
                let value = body.pointer(&self.dice.place(&body)).cloned();
                json!([{ "op": self.dice.pick(&["add", "replace", "remove", "copy", "move", "test"]), "path": at,
                    "from": from, "value": value }])
            }
            _ => body,
        };
        ask(&mut self.server, Method::Patch, &format!("{path}{query}"), media, &body)
    }

    /// Lists as a Table, lists by a field, watches, and reads a document or an object.
    fn read(&mut self, collection: &str, path: &str) -> Result<Answer, String> {
        let admin = windtunnel_core::Identity::admin();
        let table = windtunnel_apiserver::Request::new(Method::Get, collection, &admin)
            .with_accept("application/json;as=Table;v=v1;g=meta.k8s.io");
        super::checked_server::send(&mut self.server, &table)?;
        let field = path_of_selector(&self.definition);
        let queries = [
            format!("{collection}?fieldSelector={field}%3Da"),
            format!("{collection}?watch=true"),
            "/openapi/v2".to_owned(),
            "/openapi/v3/apis/fuzz.io/v1".to_owned(),
            path.to_owned(),
        ];
        let query = &queries[self.dice.index(queries.len())];
        ask(&mut self.server, Method::Get, query, "", &Value::Null)
    }

    /// Whether a path is of the storage version: other versions lose fields that it does not know.
    fn is_stored_as(&self, path: &str) -> bool {
        let mut versions = self.definition["spec"]["versions"].as_array().into_iter().flatten();
        let stored = versions.find(|version| version["storage"] == true);
        let name = stored.and_then(|version| version["name"].as_str()).unwrap_or_default();
        path.contains(&format!("/{name}/"))
    }

    /// Checks that a read returns the object of a response. Returns whether the object exists.
    fn check_read(&mut self, path: &str, answer: &Answer) -> Result<bool, String> {
        let stored = ask(&mut self.server, Method::Get, path, "", &Value::Null)?;
        if stored.code == 404 {
            return Ok(false);
        }
        if stored.body != answer.body {
            return Err(format!("{path}: answered {}, read {}", answer.body, stored.body));
        }
        Ok(true)
    }

    /// Checks that an update with an accepted object leaves it unchanged.
    fn check_rewrite(&mut self, path: &str, answer: &Answer) -> Result<(), String> {
        if self.definition.to_string().contains("oldSelf") || !self.is_stored_as(path) {
            return Ok(());
        }
        let rewritten = ask(&mut self.server, Method::Put, path, "", &answer.body)?;
        if !rewritten.is_good() || rewritten.body != answer.body {
            return Err(format!(
                "{path}: {} when written again: {}, {}",
                answer.body, rewritten.body, self.definition
            ));
        }
        Ok(())
    }
}

/// Replaces the CRD repeatedly, with random requests in between.
fn check_schemas(seed: u64) -> Result<(), String> {
    let mut cluster = FuzzCluster::new("schemas", seed);
    for _ in 0..6 {
        cluster.define()?;
        for _ in 0..12 {
            cluster.step()?;
        }
        if cluster.dice.one_in(2) {
            let minor = cluster.dice.minor();
            cluster.server.set_kubernetes_minor(minor);
        }
    }
    Ok(())
}

#[test]
fn accepted_objects_read_back_and_update_unchanged() {
    campaign("schemas::accepted_objects_read_back_and_update_unchanged", 25, check_schemas);
}

#[test]
fn an_object_that_is_older_than_its_crd_can_be_read() {
    // In this case, an object is read after a CRD that requires a missing field.
    assert_eq!(check_schemas(9_785_165_413_876_703_897), Ok(()));
}

#[test]
fn reapplying_an_object_of_a_random_schema_changes_nothing() {
    campaign("schemas::reapplying_an_object_of_a_random_schema_changes_nothing", 25, |seed| {
        let mut cluster = FuzzCluster::new("apply-again", seed);
        // Fields that the storage version does not know would be lost.
        cluster.versions = 1;
        while !cluster.define()? || has_unchecked_default(&cluster.definition) {}
        for _ in 0..12 {
            let body = object(&mut cluster.dice, &cluster.definition, "v1");
            let name = body["metadata"]["name"].as_str().unwrap_or("a").to_owned();
            let path = format!(
                "{}/{name}?fieldManager={}&force=true",
                cluster.collection("v1"),
                cluster.dice.pick(&["one", "two"])
            );
            let mut first = ask(&mut cluster.server, Method::Patch, &path, APPLY, &body)?;
            // An applied empty list is owned by nobody, and an empty map disappears with its last entry.
            // Unowned fields get an owner with the next apply.
            let empty = ["[]", "{}"].iter().any(|empty| body.to_string().contains(empty));
            for _ in 0..2 {
                if first.is_good() && (empty || first.body["metadata"]["managedFields"].is_null()) {
                    first = ask(&mut cluster.server, Method::Patch, &path, APPLY, &body)?;
                }
            }
            if !first.is_good() || cluster.definition.to_string().contains("oldSelf") {
                continue;
            }
            let second = ask(&mut cluster.server, Method::Patch, &path, APPLY, &body)?;
            if second.code != 200 || second.body != first.body {
                return Err(format!(
                    "{body} applied: {}; applied again: {}, {}",
                    first.body, second.body, cluster.definition
                ));
            }
        }
        Ok(())
    });
}

/// Whether there is a default below `additionalProperties`, where API servers do not check defaults for
/// unknown fields: such a default is added and pruned in turn.
fn has_unchecked_default(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            name == "additionalProperties" && value.to_string().contains("\"default\":")
                || has_unchecked_default(value)
        }),
        Value::Array(list) => list.iter().any(has_unchecked_default),
        _ => false,
    }
}

fn path_of_selector(definition: &Value) -> String {
    let path = definition.pointer("/spec/versions/0/selectableFields/0/jsonPath").and_then(Value::as_str);
    path.unwrap_or(".metadata.name").trim_start_matches('.').replace(['/', '~'], "-")
}
