//! Given, When or Then: the steps of verification-tests about users, projects and clipboards

use std::sync::LazyLock;

use cucumber::gherkin::StepType;
use regex::Regex;
use serde_json::{Value, json};

use super::Call;
use super::aliases::{PROJECT, filled};
use super::definition::{Definition, Make, given, planned, step, when};
use super::test_data::{apply_all, file_text, objects};
use crate::plan::{Action, Keep, PlannedStep, Step, ValueSource, path};
use crate::steps::world::ClusterWorld;

pub(in crate::steps) const STEPS: &[Definition] = &[
    given(
        r"I switch to (?:the )?(?:first|second|third|fourth) user",
        "Has no effect: all steps run as the cluster administrator.",
        &["I switch to the first user"],
        |_, _| Ok(()),
    ),
    step(
        StepType::Given,
        r"I have a project",
        "Creates a project named `project`, and uses it in the steps that follow.",
        &["I have a project"],
        Make::Steps(|world, call| Ok(create_project(world, call, "project", &json!({})))),
    ),
    step(
        StepType::When,
        r"I run the :new_project (?:admin |client )?command with:",
        "Creates a project, and uses it in the steps that follow. In the table, `project_name` is \
         required; `description` and `display_name` become annotations.",
        &["I run the :new_project client command with:"],
        Make::Steps(|world, call| {
            let (mut name, mut annotations) = (String::new(), json!({}));
            for [flag, value] in call.pairs("a flag")? {
                let value = filled(value);
                match flag.as_str() {
                    "project_name" => name = value,
                    "description" => annotations["openshift.io/description"] = json!(value),
                    "display_name" => annotations["openshift.io/display-name"] = json!(value),
                    other => {
                        return Err(format!(
                            "unknown flag `{other}`: expected one of project_name, description, display_name"
                        ));
                    }
                }
            }
            if name.is_empty() {
                return Err("expected a row with `project_name`".to_owned());
            }
            Ok(create_project(world, call, &name, &annotations))
        }),
    ),
    step(
        StepType::When,
        r#"I run oc create(?: as admin)? over (?:ERB )?(?:test file )?"([^"]+)" replacing paths:"#,
        "Creates or changes the objects of a file, with other values at the paths of the table, and \
         requires success. The file is one that was obtained before, or one in a folder `testdata`.",
        &[r#"I run oc create over "pod.yaml" replacing paths:"#],
        Make::Steps(|world, call| {
            let [file] = call.values();
            let mut values = Vec::new();
            for [place, value] in call.pairs("a path")? {
                values.push((ruby_path(place)?, filled(value)));
            }
            let text = file_text(world, &file)?;
            let project = world.default_namespace().to_owned();
            let mut objects = objects(&mut world.kinds, &file, &text, &project)?;
            for object in &mut objects {
                values.iter().try_for_each(|(place, value)| set(object, place, value))?;
            }
            Ok(apply_all(world, call, objects))
        }),
    ),
    when(
        r"evaluation of `([^`]+)` is stored in the :(\w+) clipboard",
        "Keeps a value: the output of the last command, a part of its JSON or YAML, the version of the \
         cluster, the name of the project, or a text. Later steps of verification-tests refer to it as \
         `<%= cb.name %>`.",
        &[
            "evaluation of `cluster_version('version').version` is stored in the :version clipboard",
            "evaluation of `@result[:parsed]['status']['desired']['version']` is stored in the :target clipboard",
            "evaluation of `project.name` is stored in the :here clipboard",
        ],
        |_, call| {
            let [what, name] = call.values();
            let what = source(&what)?;
            Ok(Step::Keep(Keep { name, what }))
        },
    ),
];

/// Returns the steps that create a project, which later steps use.
fn create_project(
    world: &mut ClusterWorld,
    call: &Call<'_>,
    name: &str,
    annotations: &Value,
) -> Vec<PlannedStep> {
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": name, "annotations": annotations },
    });
    let keep = Keep { name: PROJECT.to_owned(), what: ValueSource::Text(name.to_owned()) };
    name.clone_into(&mut world.project);
    world.created = true;
    let create = call.planned(Step::Act(Action::Apply(namespace)));
    vec![create, planned("the project", Step::Keep(keep))]
}

fn source(expression: &str) -> Result<ValueSource, String> {
    let expression = expression.trim();
    let quoted = |mark| expression.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    if let Some(text) = quoted('"').or_else(|| quoted('\'')) {
        return Ok(ValueSource::Text(filled(text)));
    }
    if let Some(place) = expression.strip_prefix("@result[:parsed]") {
        let parts: Vec<String> = ruby_path(place)?.iter().map(Part::path).collect();
        let field = parts.concat().trim_start_matches('.').to_owned();
        path::validate(&field).map_err(|error| error.to_string())?;
        return Ok(ValueSource::OutputField(field));
    }
    Ok(match expression {
        "@result[:response]" | "@result[:response].strip" | "@result[:stdout]" => ValueSource::Output,
        "project.name" => ValueSource::Text(format!("$(kept {PROJECT})")),
        "cluster_version('version').version" | "cluster_version(\"version\").version" => {
            ValueSource::Field(super::aliases::cluster_version(), super::aliases::VERSION.to_owned())
        }
        number if number.parse::<f64>().is_ok() => ValueSource::Text(number.to_owned()),
        other => {
            return Err(format!(
                "cannot evaluate `{other}`: expected `@result[:response]`, `@result[:parsed]['a']['b']`, \
                 `cluster_version('version').version`, `project.name`, or a text in quotes"
            ));
        }
    })
}

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Key(String),
    Index(usize),
}

impl Part {
    /// Returns the part in the syntax of paths of scenarios.
    fn path(&self) -> String {
        match self {
            Self::Index(index) => format!("[{index}]"),
            Self::Key(key) if key.chars().all(|letter| letter.is_ascii_alphanumeric()) => format!(".{key}"),
            Self::Key(key) => format!("[\"{key}\"]"),
        }
    }
}

/// Parses `["metadata"]["name"]` or `['items'][0]`.
fn ruby_path(text: &str) -> Result<Vec<Part>, String> {
    #[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
    static PART: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"^\[(?:["']([^"']+)["']|(\d+))\]"#).expect("pattern"));
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let found = PART
            .captures(rest)
            .ok_or_else(|| format!("expected a path such as `[\"metadata\"][\"name\"]`, found `{text}`"))?;
        parts.push(match (found.get(1), found.get(2).and_then(|index| index.as_str().parse().ok())) {
            (Some(key), _) => Part::Key(key.as_str().to_owned()),
            (None, index) => Part::Index(index.unwrap_or(usize::MAX)),
        });
        rest = &rest[found[0].len()..];
    }
    Ok(parts)
}

/// Sets the value at a path, which is created where it is missing. A number or `true` becomes that if the old value
/// is of this type.
fn set(object: &mut Value, place: &[Part], text: &str) -> Result<(), String> {
    let mut target = object;
    for part in place {
        target = match part {
            Part::Key(key) if target.is_object() || target.is_null() => &mut target[key.as_str()],
            Part::Index(index) => {
                target.get_mut(*index).ok_or_else(|| format!("the list has no item {index}"))?
            }
            Part::Key(key) => {
                return Err(format!("`{key}` cannot be set: the value that should contain it is no map"));
            }
        };
    }
    *target = match target {
        Value::String(_) => json!(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(place: &str, text: &str) -> Result<Value, String> {
        let mut object =
            json!({ "metadata": { "name": "a" }, "spec": { "replicas": 1, "list": [{ "x": true }] } });
        let place = ruby_path(place)?;
        set(&mut object, &place, text)?;
        Ok(object)
    }

    #[test]
    fn sets_values_at_paths_of_the_old_type() {
        assert_eq!(with("[\"metadata\"][\"name\"]", "7").unwrap()["metadata"]["name"], "7");
        assert_eq!(with("['spec']['replicas']", "3").unwrap()["spec"]["replicas"], 3);
        assert_eq!(with("['spec']['list'][0]['x']", "false").unwrap()["spec"]["list"][0]["x"], false);
        assert_eq!(with("['spec']['new']['deep']", "a: b").unwrap()["spec"]["new"]["deep"], "a: b");
    }

    #[test]
    fn reports_paths_that_lead_nowhere() {
        assert_eq!(with("['spec']['list'][4]", "1"), Err("the list has no item 4".to_owned()));
        assert_eq!(
            with("['metadata']['name']['x']", "1"),
            Err("`x` cannot be set: the value that should contain it is no map".to_owned())
        );
        assert_eq!(
            with("metadata.name", "1"),
            Err("expected a path such as `[\"metadata\"][\"name\"]`, found `metadata.name`".to_owned())
        );
    }

    #[test]
    fn evaluates_the_usual_expressions() {
        let check = |expression: &str, expected: &str| {
            let found = source(expression).map_or_else(|error| error, |found| format!("{found:?}"));
            assert!(found.starts_with(expected), "{expression}: {found}");
        };
        check("@result[:response]", "Output");
        check("@result[:parsed]['a']['b.c/d'][0]", "OutputField(\"a[\\\"b.c/d\\\"][0]\")");
        check("\"4.18\"", "Text(\"4.18\")");
        check("project.name", "Text(\"$(kept project)\")");
        check("pod.ip", "cannot evaluate `pod.ip`: expected `@result[:response]`");
    }
}
