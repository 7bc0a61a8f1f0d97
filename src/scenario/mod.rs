//! The scenario language: parses YAML into a [`plan::Plan`], or reports all errors. Nothing here runs
//! anything.
//!
//! `docs/scenario-language.md` describes the language; a test of this module parses its examples.
//!
//! A new key of the language needs its parser here, a row in `schema.yaml`, a text in `step_text.rs` if it is a
//! step, and an example in `docs/scenario-language.md`.
//!
//! * `environment/`: `cluster`, `releases`, `images`, `update-service`, `programs`
//! * `timeline/`: the steps, also `try` and `retry`
//! * `expectations/`: `expect`
//! * `fault/`: `fault` and `heal`
//! * `lint/`: warnings about valid scenarios
//! * `error.rs`: the errors of a file, with line and column
//! * `rewrite.rs`: replaces expected texts in the file (`--update`)
//! * `split_upgrade.rs`: `windtunnel split-upgrade`, which splits a scenario into one before the update and one after it

use jiff::SignedDuration;
use semver::Version;
use serde_json::Value;
use windtunnel_core::limits::SPAN_MAX;
use windtunnel_core::text::{parse_duration, truncate};
use windtunnel_core::yaml;
use windtunnel_openshift::graph::UpdateService;
use windtunnel_openshift::release::Release;

mod environment;
mod error;
mod expectations;
mod fault;
mod kinds;
mod labels;
pub mod lint;
mod object;
mod parameters;
mod reader;
mod rewrite;
mod source;
pub mod split_upgrade;
mod step_text;
mod timeline;

#[cfg(test)]
mod tests;

pub use environment::graph_data::BlockedEdgeFile;
pub use error::{ScenarioError, ScenarioErrors};
pub use kinds::Kinds;
pub use object::Star;
#[cfg(feature = "gherkin")]
pub(crate) use reader::version_hint;
pub use rewrite::{Rewritten, with_text};
pub use source::{Folders, Releases};

use crate::plan::{self, Plan, scripts};
use environment::{cluster, graph_data, images, metrics, programs, update_service};
use expectations::{command, insight, invariants, restored};
use reader::Reader;

const KEYS: &[&str] = &[
    "name",
    "description",
    "ids",
    "tags",
    "strict",
    parameters::KEY,
    "cluster",
    "releases",
    "images",
    "metrics",
    "update-service",
    "programs",
    "invariants",
    "timeline",
];

/// Parses a scenario. Errors and the plan refer to the file as `file_name`. For a text with a table of
/// parameters, this returns the first row's scenario.
///
/// # Errors
/// All errors, in the order of the text.
pub fn parse(file_name: &str, text: &str, releases: &dyn Releases) -> Result<Plan, ScenarioErrors> {
    parse_all(file_name, text, releases).map(|mut plans| plans.swap_remove(0))
}

/// Parses all scenarios of a text: one for each row of its table of parameters, or one without a table; never
/// none.
///
/// # Errors
/// As [`parse`].
pub fn parse_all(file_name: &str, text: &str, releases: &dyn Releases) -> Result<Vec<Plan>, ScenarioErrors> {
    let mut reader = Reader::new(file_name, releases);
    let tree = match yaml::parse_tree(text) {
        Ok((tree, duplicate_key)) => {
            if let Some(error) = duplicate_key {
                reader.error_at(error.line, error.column, error.message);
            }
            tree
        }
        Err(_) => return Err(structure_problems(reader, text)),
    };
    let trees = parameters::expand(&mut reader, &tree);
    // After a malformed table, further errors would mislead.
    let trees = if reader.has_problems() && tree.get(parameters::KEY).is_some() { Vec::new() } else { trees };
    let plans: Vec<Plan> =
        trees.iter().filter_map(|tree| reader.next_scenario(|reader| plan(reader, tree))).collect();
    let errors = reader.into_errors();
    if errors.0.is_empty() { Ok(plans) } else { Err(errors) }
}

/// Returns the errors in the structure of a text that is no YAML, and the other errors of the text.
fn structure_problems(mut reader: Reader<'_>, text: &str) -> ScenarioErrors {
    let yaml::Repaired { errors, tree, is_complete } = yaml::explain_structure(text);
    for error in errors {
        let error = error.with_advice_on_size("move steps into other files with `include`");
        reader.error_at(error.line, error.column, error.message);
    }
    if let Some(tree) = tree.filter(|tree| tree.get(parameters::KEY).is_none()) {
        reader.next_scenario(|reader| plan(reader, &tree));
    }
    let mut errors = reader.into_errors();
    // A key may be missing because its line has an error.
    errors.0.retain(|error| is_complete || !is_about_absence(&error.message));
    errors
}

/// Returns whether an error says that something is missing.
fn is_about_absence(message: &str) -> bool {
    message.contains(" needs `") || message.ends_with("found nothing")
}

/// Returns the JSON Schema (draft 2020-12) of scenarios, for editors.
pub fn schema() -> Value {
    yaml::from_str(include_str!("schema.yaml")).unwrap_or_else(|error| panic!("schema.yaml:{error}"))
}

/// Parses `Kind/name` or `Kind/namespace/name`; `star` decides whether the name may end in `*`.
///
/// # Errors
/// The expected syntax, and the nearest kind.
pub fn object_ref(kinds: &Kinds, text: &str, star: Star) -> Result<plan::ObjectRef, String> {
    object::parse_reference(kinds, text, star)
}

/// Parses the object that a health insight is about: like [`object_ref`], or `Alert/name`, optionally with the
/// namespace in the labels of the alert.
///
/// # Errors
/// The expected syntax, and the nearest kind.
pub fn about_ref(kinds: &Kinds, text: &str) -> Result<plan::ObjectRef, String> {
    insight::parse_about(kinds, text)
}

/// Parses a reference to an insight: `Kind/name` of its resource, or a kind alone.
///
/// # Errors
/// The expected syntax, and the nearest kind.
pub fn insight_ref(text: &str) -> Result<plan::InsightRef, String> {
    insight::parse(text)
}

/// Parses a difference that may remain after a rollback: a kind, an object, a path of all objects, or `PATH of OBJECT`.
///
/// # Errors
/// The expected syntax, and the nearest kind.
pub fn ignored(kinds: &Kinds, text: &str) -> Result<plan::Ignored, String> {
    restored::parse_ignored(kinds, text)
}

/// Parses a command such as `oc adm upgrade --to-latest`. `image_of` returns the image of a release, for
/// `$(image 4.16.5)`.
///
/// # Errors
/// The expected syntax, and the nearest name.
pub fn command_line(
    line: &str,
    image_of: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<plan::CommandLine, String> {
    command::parse(line, image_of)
}

/// Loads a folder of graph data into an update service. `versions` are those that exist in the run.
///
/// # Errors
/// All errors of the folder's files. An error of the folder itself has the position 1:1 of `file_name`.
pub fn graph_data(
    file_name: &str,
    folder: &str,
    versions: &[Version],
    service: &mut UpdateService,
    releases: &dyn Releases,
) -> Result<(), ScenarioErrors> {
    let mut reader = Reader::new(file_name, releases);
    match yaml::parse_tree(&Value::from(folder).to_string()) {
        Ok((node, _)) => graph_data::read_into(&mut reader, &node, versions, service),
        Err(error) => reader.error_at(error.line, error.column, error.message),
    }
    let errors = reader.into_errors();
    if errors.0.is_empty() { Ok(()) } else { Err(errors) }
}

/// Loads all blocked edges of a folder of graph data, for releases that exist or not. Errors of its files are
/// returned beside the edges; an expression with an error is among the rules of its edge.
///
/// # Errors
/// There are no such files.
pub fn blocked_edges(
    folder: &str,
    releases: &dyn Releases,
) -> Result<(Vec<BlockedEdgeFile>, ScenarioErrors), String> {
    let mut reader = Reader::new("", releases);
    let edges = match yaml::parse_tree(&Value::from(folder).to_string()) {
        Ok((node, _)) => graph_data::read_all_blocked(&mut reader, &node),
        Err(error) => return Err(error.to_string()),
    };
    let errors = reader.into_errors();
    match errors.0.iter().find(|error| error.file.is_empty()) {
        Some(error) => Err(error.message.clone()),
        None => Ok((edges, errors)),
    }
}

/// Parses a positive span of virtual time; `example` shows the syntax in the error message.
///
/// # Errors
/// The expected syntax, and the text found.
pub fn duration(text: &str, example: &str) -> Result<SignedDuration, String> {
    match parse_duration(text).filter(SignedDuration::is_positive) {
        None => Err(format!("expected a duration such as {example}, found `{}`", truncate(text, 60))),
        Some(span) if span > SPAN_MAX => {
            Err(format!("expected at most {} hours of cluster time, found `{text}`", SPAN_MAX.as_hours()))
        }
        Some(span) => Ok(span),
    }
}

/// Parses a Kubernetes object from YAML. Its kind must be among `kinds`, and its metadata must have a name and,
/// for a namespaced kind, a namespace. A definition adds its kind to `kinds`.
///
/// # Errors
/// All errors, by lines and columns of `text`.
pub fn object(kinds: &mut Kinds, text: &str) -> Result<Value, ScenarioErrors> {
    let mut reader = Reader::new("", &Release::find);
    reader.kinds = std::mem::take(kinds);
    let object = match yaml::parse_tree(text) {
        Ok((tree, None)) => object::parse_object(&mut reader, &tree),
        Ok((_, Some(error))) | Err(error) => {
            let error = error.with_advice_on_size("write a smaller object");
            reader.error_at(error.line, error.column, error.message);
            None
        }
    };
    *kinds = std::mem::take(&mut reader.kinds);
    match (object, reader.into_errors()) {
        (Some(object), errors) if errors.0.is_empty() => Ok(object),
        (_, errors) => Err(errors),
    }
}

/// Parses a list of programs, as `programs` of a scenario has them. Paths are relative to `file`.
///
/// # Errors
/// All errors, by lines and columns of `text`.
pub fn programs(file: &str, text: &str) -> Result<Vec<plan::ProgramPlan>, ScenarioErrors> {
    let mut reader = Reader::new(file, &Release::find);
    let found = match yaml::parse_tree(text) {
        Ok((tree, None)) => programs::read(&mut reader, &tree),
        Ok((_, Some(error))) | Err(error) => {
            let error = error.with_advice_on_size("list fewer programs");
            reader.error_at(error.line, error.column, error.message);
            Vec::new()
        }
    };
    let errors = reader.into_errors();
    if errors.0.is_empty() { Ok(found) } else { Err(errors) }
}

/// Parses a plan. If the reader has errors afterwards, the plan may be incomplete and must not be used.
fn plan(reader: &mut Reader<'_>, tree: &yaml::Node) -> Option<Plan> {
    let map = reader.map(tree, "a scenario", KEYS)?;
    reader.releases_everywhere().iter().for_each(|release| reader.kinds.define_all_of(release));
    let name =
        map.required(reader, "name", "the scenario's name").and_then(|node| reader.text(node, "a name"));
    let description = map.get("description").and_then(|node| reader.text(node, "a sentence"));
    let ids = map.get("ids").map(|node| ids(reader, node)).unwrap_or_default();
    let tags = map.get("tags").map(|node| reader.texts(node, "a tag")).unwrap_or_default();
    let strict = map.get("strict").and_then(|node| reader.flag(node));
    let cluster = map.required(reader, "cluster", "the initial cluster");
    let mut cluster = cluster::read(reader, cluster, map.get("releases"));
    if let (Some(node), Some(cluster)) = (map.get("update-service"), &mut cluster) {
        update_service::read_into(reader, node, cluster);
    }
    if let (Some(node), Some(cluster)) = (map.get("images"), &mut cluster) {
        cluster.workloads = images::read(reader, node);
    }
    if let (Some(node), Some(cluster)) = (map.get("metrics"), &mut cluster) {
        cluster.metrics = metrics::read(reader, node);
    }
    if let (Some(node), Some(cluster)) = (map.get("programs"), &mut cluster) {
        cluster.programs = programs::read(reader, node);
    }
    if let (Some(node), Some(cluster)) = (map.get("invariants"), &mut cluster) {
        cluster.invariants = invariants::read(reader, node);
    }
    let versions: Vec<Version> = cluster.as_ref().map(cluster::versions).unwrap_or_default();
    let timeline = map.required(reader, "timeline", "the steps");
    let timeline = timeline.map(|node| timeline::read(reader, node, &versions)).unwrap_or_default();
    if let Some(cluster) = &mut cluster {
        cluster.programs.extend(scripts(&timeline));
    }
    let mut plan = Plan {
        name: name?,
        description: description.unwrap_or_default(),
        ids,
        tags,
        strict,
        file: reader.file().to_owned(),
        cluster: cluster?,
        timeline,
    };
    cluster::start_from(reader, map.get("cluster"), &mut plan);
    Some(plan)
}

/// Returns whether this is the id of an issue or a test case, such as `OCP-22641`, of an issue or pull request of a
/// repository, such as `okd#1724`, or of a risk of the update graph, such as `risk#PreRelease`. `NODES-12` is a case of
/// nodes and pools in `docs/coverage.md`.
pub fn is_id(text: &str) -> bool {
    const NUMBERED: &[&str] = &["NODES-", "OCP-", "OTA-", "OCPBUGS-"];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
    };
    let risk = text.strip_prefix("risk#").unwrap_or_default();
    NUMBERED.iter().any(|shape| text.strip_prefix(shape).is_some_and(is_number))
        || text.split_once('#').is_some_and(|(repository, number)| is_name(repository) && is_number(number))
        || (risk.starts_with(|c: char| c.is_ascii_uppercase())
            && risk.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn ids(reader: &mut Reader<'_>, node: &yaml::Node) -> Vec<String> {
    let mut found = Vec::new();
    for item in reader.list(node, "ids") {
        let Some(id) = reader.text(item, "an id such as `OTA-1321`") else { continue };
        if is_id(&id) {
            found.push(id);
        } else {
            reader.error(
                item,
                format!(
                    "expected an id such as `OCP-22641`, `OTA-1321`, `OCPBUGS-29340`, `okd#1724` or `risk#PreRelease`, found `{id}`"
                ),
            );
        }
    }
    found
}
