//! Given, When or Then: the steps of verification-tests

use std::sync::LazyLock;

use cucumber::gherkin::Step;
use cucumber::{given, then, when};
use jiff::SignedDuration;
use regex::Regex;
use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, PODS};

use crate::plan::{
    self, Action, Check, CommandCheck, Expectation, ExpectedState, ExpectedTime, Keep, ObjectRef,
    PlannedStep, Retry, Run, TextMatch, ValueSource,
};
use crate::steps::phrase::{Timing, condition, docstring};
use crate::steps::world::{ClusterWorld, StepError};
use crate::steps::{dry_run, gherkin};

/// The time limit for a pod to become ready, if the step names none.
const PODS_READY: SignedDuration = SignedDuration::from_mins(15);

/// The clipboard with the name of the current project (`<%= project.name %>`).
pub(super) const PROJECT: &str = "project";

/// The name under which a step stores the version that it compares.
const CURRENT: &str = "current-cluster-version";

/// Repeats the steps of the doc string in cluster time until all of them pass.
///
/// ```gherkin
/// When I wait up to 300 seconds for the steps to pass:
/// ```
#[when(regex = r"^I wait up to (\d+) seconds for the steps to pass:$")]
async fn wait_for_steps(world: &mut ClusterWorld, seconds: i64, step: &Step) -> Result<(), StepError> {
    let steps = gherkin::steps(docstring(step.docstring.as_ref())?).map_err(StepError::Usage)?;
    if steps.is_empty() {
        return Err(StepError::Usage("expected steps in the doc string".to_owned()));
    }
    let (within, steps) = (SignedDuration::from_secs(seconds), dry_run::nested(world, &steps)?);
    world.run_step(&step.value, plan::Step::Retry(Retry { within, steps })).await
}

/// Has no effect: all steps run as the cluster administrator.
///
/// ```gherkin
/// Given I switch to cluster admin pseudo user
/// ```
#[given(regex = r"^I switch to cluster admin pseudo user$")]
fn administrator(_: &mut ClusterWorld) {}

/// Sets the default namespace of the steps that follow.
///
/// ```gherkin
/// Given I use the "openshift-cluster-version" project
/// ```
#[given(regex = r#"^I use the "([^"]+)" project$"#)]
fn use_project(world: &mut ClusterWorld, project: String) {
    world.project = project;
}

/// Runs `oc get` with the flags of the table: `resource`, `resource_name`, `n` or `namespace`, `o` or
/// `output`, `l`, and `all_namespaces`. A failure fails only the later steps that check the outcome.
///
/// ```gherkin
/// When I run the :get admin command with:
/// ```
#[when(regex = r"^I run the :get (?:admin |client )?command with:$")]
async fn run_get(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let (mut words, mut flags, mut project) = (vec![String::new()], Vec::new(), world.project.clone());
    for row in rows(step)? {
        let [name, value] = row.as_slice() else {
            return Err(StepError::Usage("expected two columns: a flag and its value".to_owned()));
        };
        let value = filled(value);
        match name.as_str() {
            "resource" => words[0] = value,
            "resource_name" => words.push(value),
            "n" | "namespace" => project = value,
            "o" | "output" => flags.push(format!("--output={value}")),
            "l" | "selector" => flags.push(format!("--selector={value}")),
            "all_namespaces" if value == "true" => flags.push("--all-namespaces".to_owned()),
            other => {
                let known =
                    "resource, resource_name, n, namespace, o, output, l, selector, all_namespaces: true";
                return Err(StepError::Usage(format!("unknown flag `{other}`: expected one of {known}")));
            }
        }
    }
    if !project.is_empty() {
        flags.push(format!("--namespace={project}"));
    }
    let words = words.iter().chain(&flags).map(String::as_str);
    let line = shlex::try_join(["oc", "get"].into_iter().chain(words))
        .map_err(|error| StepError::Usage(error.to_string()))?;
    run(world, step, &line).await
}

/// Runs `oc adm upgrade` with the flags of the table, and requires success. The flags are `to` or `to_image`,
/// and `allow_explicit_upgrade`, `allow_upgrade_with_warnings` and `force` with the value `true`.
///
/// ```gherkin
/// Given I upgrade my cluster to:
/// ```
#[given(regex = r"^I upgrade my cluster to:$")]
async fn upgrade(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    const VALUES: [&str; 2] = ["to", "to_image"];
    const SWITCHES: [&str; 3] = ["allow_explicit_upgrade", "allow_upgrade_with_warnings", "force"];
    let mut words = ["oc", "adm", "upgrade"].map(str::to_owned).to_vec();
    for row in rows(step)? {
        let [name, value] = row.as_slice() else {
            return Err(StepError::Usage("expected two columns: a flag and its value".to_owned()));
        };
        let flag = name.replace('_', "-");
        match value.as_str() {
            value if VALUES.contains(&name.as_str()) => words.push(format!("--{flag}={}", filled(value))),
            "true" if SWITCHES.contains(&name.as_str()) => words.push(format!("--{flag}")),
            "false" if SWITCHES.contains(&name.as_str()) => {}
            other => {
                let known = VALUES.iter().chain(&SWITCHES).copied().collect::<Vec<_>>().join(", ");
                return Err(StepError::Usage(format!(
                    "unknown flag `{name}` with the value `{other}`: expected one of {known}"
                )));
            }
        }
    }
    let line = shlex::try_join(words.iter().map(String::as_str))
        .map_err(|error| StepError::Usage(error.to_string()))?;
    let command = world.command_line(&line)?;
    world.run_step(&step.value, plan::Step::Run(Run { command, checks: vec![CommandCheck::Code(0)] })).await
}

async fn run(world: &mut ClusterWorld, step: &Step, line: &str) -> Result<(), StepError> {
    let command = world.command_line(line)?;
    world.run_step(&step.value, plan::Step::Run(Run { command, checks: Vec::new() })).await
}

/// The last command succeeded or failed.
///
/// ```gherkin
/// Then the step should succeed
/// ```
#[then(regex = r"^the step should (succeed|fail)$")]
async fn outcome(world: &mut ClusterWorld, how: String, step: &Step) -> Result<(), StepError> {
    if world.created {
        let failed = || StepError::Usage("the last action created objects and did not fail".to_owned());
        return if how == "succeed" { Ok(()) } else { Err(failed()) };
    }
    let check = if how == "succeed" { CommandCheck::Code(0) } else { CommandCheck::Fails };
    command(world, vec![check], step).await
}

/// The output of the last command contains a text, or does not contain it.
///
/// ```gherkin
/// Then the output should contain "Cluster version is"
/// Then the output should not contain "error"
/// ```
#[then(regex = r#"^the output should( not)? contain "(.+)"$"#)]
async fn output_part(
    world: &mut ClusterWorld,
    not: String,
    text: String,
    step: &Step,
) -> Result<(), StepError> {
    let check = CommandCheck::Says(part(&not, &text));
    command(world, vec![check], step).await
}

/// The output of the last command contains the texts of the table, or none of them.
///
/// ```gherkin
/// Then the output should contain:
/// ```
#[then(regex = r"^the output should( not)? contain:$")]
async fn output_parts(world: &mut ClusterWorld, not: String, step: &Step) -> Result<(), StepError> {
    let cells = rows(step)?.iter().flatten();
    let checks = cells.map(|text| CommandCheck::Says(part(&not, text))).collect();
    command(world, checks, step).await
}

/// The output of the last command matches a regular expression.
///
/// ```gherkin
/// Then the output should match "Progressing .*False"
/// ```
#[then(regex = r#"^the output should match "(.+)"$"#)]
async fn output_matches(world: &mut ClusterWorld, pattern: String, step: &Step) -> Result<(), StepError> {
    let pattern = TextMatch::parse(&format!("/{}/", filled(&pattern))).map_err(StepError::Usage)?;
    command(world, vec![CommandCheck::Says(pattern)], step).await
}

/// The output of the last command matches every regular expression of the table, or the one in the doc string.
///
/// ```gherkin
/// Then the output should match:
/// ```
#[then(regex = r"^the output should match:$")]
async fn output_matches_all(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let patterns: Vec<String> = match &step.table {
        Some(_) => rows(step)?.iter().flatten().cloned().collect(),
        None => vec![docstring(step.docstring.as_ref())?.trim_end().to_owned()],
    };
    let checks = patterns.iter().map(|pattern| {
        let pattern = TextMatch::parse(&format!("/{}/", filled(pattern))).map_err(StepError::Usage)?;
        Ok(CommandCheck::Says(pattern))
    });
    let checks = checks.collect::<Result<_, StepError>>()?;
    command(world, checks, step).await
}

/// A condition of a ClusterOperator.
///
/// ```gherkin
/// Then the status of condition "Degraded" for "etcd" operator is: False
/// ```
#[then(regex = r#"^the status of condition "?(\w+)"? for "?([\w-]+)"? operator is: (True|False|Unknown)$"#)]
async fn operator_condition(
    world: &mut ClusterWorld,
    kind: String,
    operator: String,
    status: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Object(cluster_operator(&operator), vec![condition(&kind, &status, "")?]);
    world.expect(&step.value, Timing::default().expectation(what)?).await
}

/// A condition of a ClusterOperator, as a Ruby expression.
///
/// ```gherkin
/// Then the expression should be true> cluster_operator("etcd").condition(type: 'Available')['status'] == "True"
/// ```
#[then(
    regex = r#"^the expression should be true> cluster_operator\(['"]([\w-]+)['"]\)\.condition\((?:cached: false, )?type: ['"](\w+)['"]\)\['status'\] == ['"](True|False|Unknown)['"]$"#
)]
async fn operator_expression(
    world: &mut ClusterWorld,
    operator: String,
    kind: String,
    status: String,
    step: &Step,
) -> Result<(), StepError> {
    operator_condition(world, kind, operator, status, step).await
}

/// A ClusterOperator reports the current version of the cluster.
///
/// ```gherkin
/// Then the "machine-config" operator version matches the current cluster version
/// ```
#[then(regex = r#"^the "([\w-]+)" operator version matches the current cluster version$"#)]
async fn operator_version(world: &mut ClusterWorld, operator: String, step: &Step) -> Result<(), StepError> {
    let planned = |step| PlannedStep { line: 0, column: 0, text: "version".to_owned(), step };
    let version = ValueSource::Field(cluster_version(), VERSION.to_owned());
    let keep = Keep { name: CURRENT.to_owned(), what: version };
    let value = TextMatch::Equals(format!("$(kept {CURRENT})"));
    let what = ExpectedState::Object(
        cluster_operator(&operator),
        vec![Check::Field { path: "status.versions[0].version".to_owned(), value }],
    );
    let expect = plan::Step::Expect(Expectation { what, when: ExpectedTime::Now });
    let steps = vec![planned(plan::Step::Keep(keep)), planned(expect)];
    world.run_step(&step.value, plan::Step::Retry(Retry { within: SignedDuration::ZERO, steps })).await
}

/// A pod in the project with the labels of the table becomes ready within 15 minutes.
///
/// ```gherkin
/// Then a pod becomes ready with labels:
/// ```
#[then(regex = r"^a pod becomes ready with labels:$")]
async fn pod_ready(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let mut checks = vec![condition("Ready", "True", "")?];
    for cell in rows(step)?.iter().flatten() {
        let (key, value) = cell.split_once('=').ok_or_else(|| {
            StepError::Usage(format!("expected a label such as `app=etcd`, found `{cell}`"))
        })?;
        let path = format!("metadata.labels[\"{key}\"]");
        checks.push(Check::Field { path, value: TextMatch::Equals(value.to_owned()) });
    }
    let namespace = if world.project.is_empty() { "default".to_owned() } else { world.project.clone() };
    let pods = ObjectRef { resource: PODS, namespace, name: "*".to_owned() };
    let expectation =
        Expectation { what: ExpectedState::Object(pods, checks), when: ExpectedTime::Within(PODS_READY) };
    world.expect(&step.value, expectation).await
}

/// Merges the JSON in the table into an object, and requires success.
///
/// ```gherkin
/// When as admin I successfully merge patch resource "machineconfigpool/worker" with:
/// ```
#[when(regex = r#"^as admin I successfully merge patch resource "([^"/]+)/([^"]+)" with:$"#)]
async fn merge_patch(
    world: &mut ClusterWorld,
    kind: String,
    name: String,
    step: &Step,
) -> Result<(), StepError> {
    let resource = world.kinds.find_by_any_name(&kind).map_err(StepError::Usage)?;
    let cells: Vec<&String> = rows(step)?.iter().flatten().collect();
    let [cell] = cells.as_slice() else {
        return Err(StepError::Usage("expected one cell with JSON".to_owned()));
    };
    let mut patch: Value = serde_json::from_str(cell)
        .map_err(|error| StepError::Usage(format!("expected JSON, found `{cell}`: {error}")))?;
    let Some(map) = patch.as_object_mut() else {
        return Err(StepError::Usage(format!("expected a JSON object, found `{cell}`")));
    };
    map.insert("apiVersion".to_owned(), json!(resource.api_version()));
    map.insert("kind".to_owned(), json!(resource.kind));
    let namespace = resource.namespaced.then(|| world.project.clone());
    let metadata = map.entry("metadata").or_insert_with(|| json!({}));
    metadata["name"] = json!(name);
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    world.act(&step.value, Action::Apply(patch)).await
}

/// The ClusterVersion field with the current version, or with the target of an update in progress.
pub(super) const VERSION: &str = "status.history[0].version";

pub(super) fn cluster_version() -> ObjectRef {
    ObjectRef { resource: CLUSTER_VERSIONS, namespace: String::new(), name: "version".to_owned() }
}

fn cluster_operator(name: &str) -> ObjectRef {
    ObjectRef { resource: CLUSTER_OPERATORS, namespace: String::new(), name: name.to_owned() }
}

pub(in crate::steps) fn rows(step: &Step) -> Result<&[Vec<String>], StepError> {
    let rows = step.table.as_ref().map(|table| table.rows.as_slice());
    rows.ok_or_else(|| StepError::Usage("expected a table below the step".to_owned()))
}

fn part(not: &str, text: &str) -> TextMatch {
    let text = filled(text);
    if not.is_empty() { TextMatch::Contains(text) } else { TextMatch::Lacks(text) }
}

/// Replaces references to clipboards by the engine's placeholders.
pub(in crate::steps) fn filled(text: &str) -> String {
    #[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
    static CLIPBOARD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"<%=\s*cb\.(\w+)\s*-?%>").expect("pattern"));
    #[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
    static PROJECT_NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"<%=\s*project\.name\s*-?%>").expect("pattern"));
    let text = CLIPBOARD.replace_all(text, "$$(kept $1)");
    PROJECT_NAME.replace_all(&text, format!("$$(kept {PROJECT})")).into_owned()
}

async fn command(world: &mut ClusterWorld, checks: Vec<CommandCheck>, step: &Step) -> Result<(), StepError> {
    world.expect(&step.value, Timing::default().expectation(ExpectedState::Command(checks))?).await
}
