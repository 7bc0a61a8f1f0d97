//! The scenario language: YAML text in, a [`plan::Plan`] or all of its problems out. Nothing here runs anything.
//!
//! The language is described in `docs/scenario-language.md`, whose examples are read by a test of this module.

use jiff::SignedDuration;
use semver::Version;
use serde_json::Value;
use windtunnel_core::limits::SPAN_MAX;
use windtunnel_core::text::{parse_duration, truncate};
use windtunnel_core::yaml;
use windtunnel_openshift::graph::UpdateService;
use windtunnel_openshift::release::Release;

mod again;
mod cluster;
mod command;
mod expectation;
mod fault;
mod graph_data;
mod images;
mod include;
mod insight;
mod invariants;
pub mod lint;
mod metrics;
mod monitoring;
mod object;
mod parameters;
mod problem;
mod reader;
mod sentence;
mod source;
mod status_text;
mod step;
pub mod twins;
mod update_service;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use object::Star;
pub use problem::{Problem, Problems};
pub use source::{Folders, Releases};

use crate::plan::{self, Plan};
use reader::Reader;

const KEYS: &[&str] = &[
    "name",
    "description",
    "ids",
    "tags",
    parameters::KEY,
    "cluster",
    "releases",
    "images",
    "metrics",
    "update-service",
    "invariants",
    "timeline",
];

/// Reads a scenario; `file_name` is what problems and the plan call the file. Where the text has a table of parameters, this is
/// its first row.
///
/// # Errors
/// All problems of the text, in its order.
pub fn read(file_name: &str, text: &str, releases: &dyn Releases) -> Result<Plan, Problems> {
    read_all(file_name, text, releases).map(|mut plans| plans.swap_remove(0))
}

/// Reads all scenarios that a text is: as many as its table of parameters has rows, or one; never none.
///
/// # Errors
/// As [`read`].
pub fn read_all(file_name: &str, text: &str, releases: &dyn Releases) -> Result<Vec<Plan>, Problems> {
    let mut reader = Reader::new(file_name, releases);
    let tree = match yaml::tree(text) {
        Ok((tree, twice)) => {
            if let Some(error) = twice {
                reader.problem_at(error.line, error.column, error.message);
            }
            tree
        }
        Err(error) => {
            reader.problem_at(error.line, error.column, error.message);
            return Err(reader.into_problems());
        }
    };
    let trees = parameters::expand(&mut reader, &tree);
    // With a table that is none, nothing else can be told.
    let trees = if reader.is_content() || tree.get(parameters::KEY).is_none() { trees } else { Vec::new() };
    let plans: Vec<Plan> =
        trees.iter().filter_map(|tree| reader.again(|reader| plan(reader, tree))).collect();
    let problems = reader.into_problems();
    if problems.0.is_empty() { Ok(plans) } else { Err(problems) }
}

/// The shape of a scenario as a JSON Schema (draft 2020-12), for editors.
pub fn schema() -> Value {
    yaml::from_str(include_str!("schema.yaml")).unwrap_or_else(|error| panic!("schema.yaml:{error}"))
}

/// Reads `Kind/name` or `Kind/namespace/name`; `star` tells whether the name may end in `*`.
///
/// # Errors
/// What was expected, and the nearest kind.
pub fn object_ref(text: &str, star: Star) -> Result<plan::ObjectRef, String> {
    object::parse(text, star)
}

/// Reads `Kind/name` of what an insight is about, or a kind alone.
///
/// # Errors
/// What was expected, and the nearest kind.
pub fn insight_ref(text: &str) -> Result<plan::InsightRef, String> {
    insight::parse(text)
}

/// Reads a command such as `oc adm upgrade --to-latest`. `image_of` answers `$(image 4.16.5)`: the image of that release.
///
/// # Errors
/// What was expected, and the nearest name.
pub fn command_line(
    line: &str,
    image_of: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<plan::CommandLine, String> {
    command::parse(line, image_of)
}

/// Reads a folder of graph data that a file names into an update service; `versions` are those that exist in the run.
///
/// # Errors
/// All problems of the folder's files; those of the folder itself are told at the start of the file.
pub fn graph_data(
    file_name: &str,
    folder: &str,
    versions: &[Version],
    service: &mut UpdateService,
    releases: &dyn Releases,
) -> Result<(), Problems> {
    let mut reader = Reader::new(file_name, releases);
    match yaml::tree(&Value::from(folder).to_string()) {
        Ok((node, _)) => graph_data::read_into(&mut reader, &node, versions, service),
        Err(error) => reader.problem_at(error.line, error.column, error.message),
    }
    let problems = reader.into_problems();
    if problems.0.is_empty() { Ok(()) } else { Err(problems) }
}

/// Reads a span of virtual time that a step may ask for; `example` is how one is written where the text stands.
///
/// # Errors
/// What was expected, and what was found.
pub fn duration(text: &str, example: &str) -> Result<SignedDuration, String> {
    match parse_duration(text).filter(SignedDuration::is_positive) {
        None => Err(format!("expected a duration such as {example}, found `{}`", truncate(text, 60))),
        Some(span) if span > SPAN_MAX => {
            Err(format!("expected at most {} hours of cluster time, found `{text}`", SPAN_MAX.as_hours()))
        }
        Some(span) => Ok(span),
    }
}

/// Reads a Kubernetes object from YAML: its kind must be known, and its metadata must say where it goes.
///
/// # Errors
/// All problems, by lines and columns of `text`.
pub fn object(text: &str) -> Result<Value, Problems> {
    let mut reader = Reader::new("", &Release::find);
    let object = match yaml::tree(text) {
        Ok((tree, None)) => object::whole(&mut reader, &tree),
        Ok((_, Some(error))) | Err(error) => {
            reader.problem_at(error.line, error.column, error.message);
            None
        }
    };
    match (object, reader.into_problems()) {
        (Some(object), problems) if problems.0.is_empty() => Ok(object),
        (_, problems) => Err(problems),
    }
}

/// The plan; with problems in the reader it may have holes and must not be used.
fn plan(reader: &mut Reader<'_>, tree: &yaml::Node) -> Option<Plan> {
    let map = reader.map(tree, "a scenario", KEYS)?;
    let name =
        map.required(reader, "name", "the scenario's name").and_then(|node| reader.text(node, "a name"));
    let description = map.get("description").and_then(|node| reader.text(node, "a sentence"));
    let ids = map.get("ids").map(|node| ids(reader, node)).unwrap_or_default();
    let tags = map.get("tags").map(|node| reader.texts(node, "a tag")).unwrap_or_default();
    let cluster = map.required(reader, "cluster", "the cluster to begin with");
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
    if let (Some(node), Some(cluster)) = (map.get("invariants"), &mut cluster) {
        cluster.invariants = invariants::read(reader, node);
    }
    let versions: Vec<Version> = cluster.as_ref().map(cluster::versions).unwrap_or_default();
    let timeline = map.required(reader, "timeline", "what to do and expect");
    let timeline = timeline.map(|node| step::timeline(reader, node, &versions)).unwrap_or_default();
    Some(Plan {
        name: name?,
        description: description.unwrap_or_default(),
        ids,
        tags,
        file: reader.file().to_owned(),
        cluster: cluster?,
        timeline,
    })
}

/// Whether this is the id of an issue or a test case, such as `OCP-22641`, or of a risk of the update graph, such as
/// `risk#PreRelease`. `NODES-12` is a case of nodes and pools that `docs/coverage.md` tells.
pub fn is_id(text: &str) -> bool {
    const NUMBERED: &[&str] = &["NODES-", "OCP-", "OTA-", "OCPBUGS-", "release#"];
    let number = NUMBERED.iter().find_map(|shape| text.strip_prefix(shape));
    let risk = text.strip_prefix("risk#").unwrap_or_default();
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        || (risk.starts_with(|c: char| c.is_ascii_uppercase())
            && risk.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Issue and test-case ids.
fn ids(reader: &mut Reader<'_>, node: &yaml::Node) -> Vec<String> {
    let mut found = Vec::new();
    for item in reader.list(node, "ids") {
        let Some(id) = reader.text(item, "an id such as `OTA-1321`") else { continue };
        if is_id(&id) {
            found.push(id);
        } else {
            reader.problem(
                item,
                format!(
                    "expected an id such as `OCP-22641`, `OTA-1321`, `OCPBUGS-29340`, `release#50743` or `risk#PreRelease`, found `{id}`"
                ),
            );
        }
    }
    found
}
