//! Given, When or Then: the steps of verification-tests about test data and pods

use std::path::Path;

use cucumber::gherkin::StepType;
use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::yaml;

use super::Call;
use super::aliases::{command_of, filled};
use super::definition::{Definition, Make, given, planned, step};
use crate::plan::{Action, CommandCheck, PlannedStep, Retry, Run, Step, TextMatch};
use crate::scenario::{self, Kinds};
use crate::steps::world::ClusterWorld;

/// The time limit for pods.
const PODS_WAIT: SignedDuration = SignedDuration::from_mins(15);

/// The phases of pods (`PodPhase`).
const PHASES: [&str; 5] = ["Pending", "Running", "Succeeded", "Failed", "Unknown"];

/// The folders that may contain test data, relative to the feature.
const FOLDERS: [&str; 4] = ["testdata", "../testdata", "../../testdata", "../../../testdata"];

pub(in crate::steps) const STEPS: &[Definition] = &[
    given(
        r#"I obtain test data file "([^"]+)""#,
        "Loads a file from the folder `testdata` next to the feature, or next to one of the three folders \
         above it. Later steps use the last part of its name.",
        &[r#"I obtain test data file "networking/list_for_pods.json""#],
        |world, call| {
            let [path] = call.values();
            let path = filled(&path);
            let text = folder_text(world, &path)?;
            let name = Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or(path);
            world.test_data.insert(name, text);
            Ok(())
        },
    ),
    step(
        StepType::When,
        r"I run the :(?:create|apply) (?:admin |client )?command with:",
        "Creates or changes the objects of a test data file that was obtained before, and requires \
         success. In the table, `f` is the file's name, and `n` or `namespace` the default namespace of \
         the objects.",
        &["I run the :create client command with:", "I run the :apply client command with:"],
        Make::Steps(|world, call| {
            let (mut file, mut project) = (None, world.project.clone());
            for [flag, value] in call.pairs("a flag")? {
                match flag.as_str() {
                    "f" | "filename" => file = Some(filled(value)),
                    "n" | "namespace" => project = filled(value),
                    other => {
                        let known = "f, filename, n, namespace";
                        return Err(format!("unknown flag `{other}`: expected one of {known}"));
                    }
                }
            }
            let file = file.ok_or_else(|| "expected a row with `f` and a file".to_owned())?;
            let text = world.test_data.get(&file).cloned();
            let text = text.ok_or_else(|| {
                format!("`{file}` is not loaded: add `Given I obtain test data file \"{file}\"`")
            })?;
            let project = if project.is_empty() { "default" } else { &project };
            let objects = objects(&mut world.kinds, &file, &text, project)?;
            Ok(apply_all(world, call, objects))
        }),
    ),
    step(
        StepType::Then,
        r"status becomes :(pending|running|succeeded|failed|unknown) of( exactly)? (\d+) pods? labeled:",
        "At least this many pods of the project with all labels of the table reach a status within 15 \
         minutes; with `exactly`, no more than that.",
        &["status becomes :running of 3 pods labeled:", "status becomes :running of exactly 1 pods labeled:"],
        Make::Step(|world, call| {
            let [status, exactly, count] = call.values();
            let labels: Vec<&str> = call.rows()?.iter().flatten().map(String::as_str).collect();
            let words = [
                "oc",
                "get",
                "pods",
                "--namespace",
                world.default_namespace(),
                "--selector",
                &labels.join(","),
                "--output",
                "jsonpath={.items[*].status.phase}",
            ];
            let is_wanted = |phase: &&str| phase.eq_ignore_ascii_case(&status);
            let phase = PHASES.iter().find(|phase| is_wanted(phase)).copied().unwrap_or_default();
            let others: Vec<&str> = PHASES.iter().filter(|phase| !is_wanted(phase)).copied().collect();
            let others = format!("(?:(?:{}) ?)*", others.join("|"));
            let pattern = if exactly.is_empty() {
                format!(r"/(?:\b{phase}\b.*){{{count}}}/")
            } else {
                format!("/^{others}(?:{phase} ?{others}){{{count}}}$/")
            };
            let pattern = TextMatch::parse(&pattern)?;
            let run = Run {
                command: command_of(world, words)?,
                checks: vec![CommandCheck::Code(0), CommandCheck::Prints(pattern)],
            };
            Ok(Step::Retry(Retry { within: PODS_WAIT, steps: vec![planned("pods", Step::Run(run))] }))
        }),
    ),
];

/// Returns the text of a file that was obtained before, or of one in a folder `testdata`.
pub(super) fn file_text(world: &ClusterWorld, path: &str) -> Result<String, String> {
    world.test_data.get(path).cloned().map_or_else(|| folder_text(world, path), Ok)
}

/// Returns the text of a file in a folder `testdata`.
fn folder_text(world: &ClusterWorld, path: &str) -> Result<String, String> {
    let found = FOLDERS.iter().find_map(|folder| world.feature_file_text(&format!("{folder}/{path}")).ok());
    found.ok_or_else(|| {
        format!(
            "no file `{path}` in a folder `testdata` next to the feature or above it; above the folders of the command line it \
             needs `--allow-folder DIR`"
        )
    })
}

/// Returns the steps that create or change objects.
pub(super) fn apply_all(world: &mut ClusterWorld, call: &Call<'_>, objects: Vec<Value>) -> Vec<PlannedStep> {
    world.created = true;
    objects.into_iter().map(|object| call.planned(Step::Act(Action::Apply(object)))).collect()
}

/// Returns the objects of a YAML or JSON file with any number of documents or lists; `project` is their
/// default namespace.
pub(super) fn objects(
    kinds: &mut Kinds,
    file: &str,
    text: &str,
    project: &str,
) -> Result<Vec<Value>, String> {
    let documents: Vec<Value> = yaml::from_str_multi(text).map_err(|error| format!("{file}:{error}"))?;
    let documents = documents.into_iter().filter(|document| !document.is_null());
    let listed = documents.flat_map(|document| match document["items"].as_array() {
        Some(items) => items.clone(),
        None => vec![document],
    });
    listed
        .map(|mut object| {
            let is_namespaced = kinds.find_for_object(&object).is_ok_and(|resource| resource.namespaced);
            if is_namespaced && object["metadata"].is_object() && object["metadata"]["namespace"].is_null() {
                object["metadata"]["namespace"] = json!(project);
            }
            scenario::object(kinds, &object.to_string()).map_err(|errors| {
                let messages: Vec<String> = errors.0.into_iter().map(|error| error.message).collect();
                format!("{file}: {}", messages.join("; "))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_without_a_namespace_get_the_project() {
        let text = "kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n\
                    - {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n---\n\
                    {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"c\", \"namespace\": \"d\"}}\n";
        let found = objects(&mut Kinds::default(), "f.yaml", text, "p").unwrap();
        let places: Vec<_> = found.iter().map(|object| object["metadata"].clone()).collect();
        let expected = [
            json!({ "name": "a", "namespace": "p" }),
            json!({ "name": "b" }),
            json!({ "name": "c", "namespace": "d" }),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn reports_invalid_objects_with_the_file_name() {
        let error = |text: &str| objects(&mut Kinds::default(), "f.yaml", text, "p").unwrap_err();
        assert!(error("a: [").starts_with("f.yaml:"), "{}", error("a: ["));
        let unknown = error("{apiVersion: v1, kind: Configmap, metadata: {name: a}}");
        assert!(
            unknown.starts_with("f.yaml: unknown kind `Configmap`; did you mean `ConfigMap`?"),
            "{unknown}"
        );
    }
}
