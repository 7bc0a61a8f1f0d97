//! Given, When or Then: the steps of verification-tests

use std::sync::LazyLock;

use cucumber::gherkin::StepType;
use jiff::SignedDuration;
use regex::Regex;
use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, PODS};

use super::definition::{Definition, Make, given, planned, step, then, when};
use crate::plan::{
    Action, Check, CommandCheck, CommandLine, Expectation, ExpectedState, ExpectedTime, Keep, ObjectRef,
    Retry, Run, Step, TextMatch, ValueSource,
};
use crate::steps::phrase::{condition, whole};
use crate::steps::world::ClusterWorld;
use crate::steps::{dry_run, gherkin};

/// The time limit for a pod to become ready, if the step names none.
const PODS_READY: SignedDuration = SignedDuration::from_mins(15);

/// The clipboard with the name of the current project (`<%= project.name %>`).
pub(super) const PROJECT: &str = "project";

/// The name under which a step stores the version that it compares.
const CURRENT: &str = "current-cluster-version";

/// The ClusterVersion field with the current version, or with the target of an update in progress.
pub(super) const VERSION: &str = "status.history[0].version";

const EXPRESSION: &str = concat!(
    r#"the expression should be true> cluster_operator\(['"]([\w-]+)['"]\)\.condition"#,
    r#"\((?:cached: false, )?type: ['"](\w+)['"]\)\['status'\] == ['"](True|False|Unknown)['"]"#,
);

const EXAMPLE: &str = "the expression should be true> \
     cluster_operator(\"etcd\").condition(type: 'Available')['status'] == \"True\"";

pub(in crate::steps) const STEPS: &[Definition] = &[
    when(
        r"I wait up to (\d+) seconds for the steps to pass:",
        "Repeats the steps of the doc string in cluster time until all of them pass.",
        &["I wait up to 300 seconds for the steps to pass:"],
        |world, call| {
            let [seconds] = call.values();
            let steps = gherkin::steps(call.docstring()?)?;
            if steps.is_empty() {
                return Err("expected steps in the doc string".to_owned());
            }
            let within = SignedDuration::from_secs(whole(&seconds)?);
            let steps = dry_run::nested(world, &steps)?;
            Ok(Step::Retry(Retry { within, steps }))
        },
    ),
    given(
        r"I switch to cluster admin pseudo user",
        "Has no effect: all steps run as the cluster administrator.",
        &["I switch to cluster admin pseudo user"],
        |_, _| Ok(()),
    ),
    given(
        r#"I use the "([^"]+)" project"#,
        "Sets the default namespace of the steps that follow.",
        &[r#"I use the "openshift-cluster-version" project"#],
        |world, call| {
            let [project] = call.values();
            world.project = project;
            Ok(())
        },
    ),
    when(
        r"I run the :get (?:admin |client )?command with:",
        "Runs `oc get` with the flags of the table: `resource`, `resource_name`, `n` or `namespace`, `o` \
         or `output`, `l`, and `all_namespaces`. A failure fails only the later steps that check the \
         outcome.",
        &["I run the :get admin command with:"],
        |world, call| {
            let (mut words, mut flags, mut project) =
                (vec![String::new()], Vec::new(), world.project.clone());
            for [name, value] in call.pairs("a flag")? {
                let value = filled(value);
                match name.as_str() {
                    "resource" => words[0] = value,
                    "resource_name" => words.push(value),
                    "n" | "namespace" => project = value,
                    "o" | "output" => flags.push(format!("--output={value}")),
                    "l" | "selector" => flags.push(format!("--selector={value}")),
                    "all_namespaces" if value == "true" => flags.push("--all-namespaces".to_owned()),
                    other => {
                        let known = "resource, resource_name, n, namespace, o, output, l, selector, all_namespaces: true";
                        return Err(format!("unknown flag `{other}`: expected one of {known}"));
                    }
                }
            }
            if !project.is_empty() {
                flags.push(format!("--namespace={project}"));
            }
            let words = ["oc", "get"].into_iter().chain(words.iter().chain(&flags).map(String::as_str));
            Ok(Step::Run(Run { command: command_of(world, words)?, checks: Vec::new() }))
        },
    ),
    step(
        StepType::Given,
        r"I upgrade my cluster to:",
        "Runs `oc adm upgrade` with the flags of the table, and requires success. The flags are `to` or \
         `to_image`, and `allow_explicit_upgrade`, `allow_upgrade_with_warnings` and `force` with the \
         value `true`.",
        &["I upgrade my cluster to:"],
        Make::Step(|world, call| {
            const VALUES: [&str; 2] = ["to", "to_image"];
            const SWITCHES: [&str; 3] = ["allow_explicit_upgrade", "allow_upgrade_with_warnings", "force"];
            let mut words = ["oc", "adm", "upgrade"].map(str::to_owned).to_vec();
            for [name, value] in call.pairs("a flag")? {
                let flag = name.replace('_', "-");
                match value.as_str() {
                    value if VALUES.contains(&name.as_str()) => {
                        words.push(format!("--{flag}={}", filled(value)));
                    }
                    "true" if SWITCHES.contains(&name.as_str()) => words.push(format!("--{flag}")),
                    "false" if SWITCHES.contains(&name.as_str()) => {}
                    other => {
                        let known = VALUES.iter().chain(&SWITCHES).copied().collect::<Vec<_>>().join(", ");
                        return Err(format!(
                            "unknown flag `{name}` with the value `{other}`: expected one of {known}"
                        ));
                    }
                }
            }
            let command = command_of(world, words.iter().map(String::as_str))?;
            Ok(Step::Run(Run { command, checks: vec![CommandCheck::Code(0)] }))
        }),
    ),
    step(
        StepType::Then,
        r"the step should (succeed|fail)",
        "The last command succeeded or failed.",
        &["the step should succeed"],
        Make::Steps(|world, call| {
            let [how] = call.values();
            match (world.created, &*how) {
                (true, "succeed") => Ok(Vec::new()),
                (true, _) => Err("the last action created objects and did not fail".to_owned()),
                (false, "succeed") => Ok(vec![call.planned(command_now(CommandCheck::Code(0)))]),
                (false, _) => Ok(vec![call.planned(command_now(CommandCheck::Fails))]),
            }
        }),
    ),
    then(
        r#"the output should( not)? contain "(.+)""#,
        "The output of the last command contains a text, or does not contain it.",
        &[r#"the output should contain "Cluster version is""#, r#"the output should not contain "error""#],
        |_, call| {
            let [not, text] = call.values();
            let check = CommandCheck::Says(part(&not, &text));
            Ok(ExpectedState::Command(vec![check]))
        },
    ),
    then(
        r"the output should( not)? contain:",
        "The output of the last command contains the texts of the table, or none of them.",
        &["the output should contain:"],
        |_, call| {
            let [not] = call.values();
            let cells = call.rows()?.iter().flatten();
            let checks = cells.map(|text| CommandCheck::Says(part(&not, text))).collect();
            Ok(ExpectedState::Command(checks))
        },
    ),
    then(
        r#"the output should match "(.+)""#,
        "The output of the last command matches a regular expression.",
        &[r#"the output should match "Progressing .*False""#],
        |_, call| {
            let [pattern] = call.values();
            Ok(ExpectedState::Command(vec![says_match(&pattern)?]))
        },
    ),
    then(
        r"the output should match:",
        "The output of the last command matches every regular expression of the table, or the one in the \
         doc string.",
        &["the output should match:"],
        |_, call| {
            let checks = match call.rows() {
                Ok(rows) => {
                    rows.iter().flatten().map(|pattern| says_match(pattern)).collect::<Result<_, _>>()?
                }
                Err(_) => vec![says_match(call.docstring()?.trim_end())?],
            };
            Ok(ExpectedState::Command(checks))
        },
    ),
    then(
        r#"the status of condition "?(\w+)"? for "?([\w-]+)"? operator is: (True|False|Unknown)"#,
        "A condition of a ClusterOperator.",
        &[r#"the status of condition "Degraded" for "etcd" operator is: False"#],
        |_, call| {
            let [kind, operator, status] = call.values();
            operator_condition(&operator, &kind, &status)
        },
    ),
    then(EXPRESSION, "A condition of a ClusterOperator, as a Ruby expression.", &[EXAMPLE], |_, call| {
        let [operator, kind, status] = call.values();
        operator_condition(&operator, &kind, &status)
    }),
    step(
        StepType::Then,
        r#"the "([\w-]+)" operator version matches the current cluster version"#,
        "A ClusterOperator reports the current version of the cluster.",
        &[r#"the "machine-config" operator version matches the current cluster version"#],
        Make::Step(|_, call| {
            let [operator] = call.values();
            let version = ValueSource::Field(cluster_version(), VERSION.to_owned());
            let keep = Keep { name: CURRENT.to_owned(), what: version };
            let value = TextMatch::Equals(format!("$(kept {CURRENT})"));
            let what = ExpectedState::Object(
                cluster_operator(&operator),
                vec![Check::Field { path: "status.versions[0].version".to_owned(), value }],
            );
            let expect = Step::Expect(Expectation { what, when: ExpectedTime::Now });
            let steps = vec![planned("version", Step::Keep(keep)), planned("version", expect)];
            Ok(Step::Retry(Retry { within: SignedDuration::ZERO, steps }))
        }),
    ),
    step(
        StepType::Then,
        r"a pod becomes ready with labels:",
        "A pod in the project with the labels of the table becomes ready within 15 minutes.",
        &["a pod becomes ready with labels:"],
        Make::Step(|world, call| {
            let mut checks = vec![condition("Ready", "True", "")?];
            for cell in call.rows()?.iter().flatten() {
                let (key, value) = cell
                    .split_once('=')
                    .ok_or_else(|| format!("expected a label such as `app=etcd`, found `{cell}`"))?;
                let path = format!("metadata.labels[\"{key}\"]");
                checks.push(Check::Field { path, value: TextMatch::Equals(value.to_owned()) });
            }
            let namespace = world.default_namespace().to_owned();
            let pods = ObjectRef { resource: PODS, namespace, name: "*".to_owned() };
            let (what, when) = (ExpectedState::Object(pods, checks), ExpectedTime::Within(PODS_READY));
            Ok(Step::Expect(Expectation { what, when }))
        }),
    ),
    when(
        r#"as admin I successfully merge patch resource "([^"/]+)/([^"]+)" with:"#,
        "Merges the JSON in the table into an object, and requires success.",
        &[r#"as admin I successfully merge patch resource "machineconfigpool/worker" with:"#],
        |world, call| {
            let [kind, name] = call.values();
            let resource = world.kinds.find_by_any_name(&kind)?;
            let cells: Vec<&String> = call.rows()?.iter().flatten().collect();
            let [cell] = cells.as_slice() else {
                return Err("expected one cell with JSON".to_owned());
            };
            let mut patch: Value = serde_json::from_str(cell)
                .map_err(|error| format!("expected JSON, found `{cell}`: {error}"))?;
            let Some(map) = patch.as_object_mut() else {
                return Err(format!("expected a JSON object, found `{cell}`"));
            };
            map.insert("apiVersion".to_owned(), json!(resource.api_version()));
            map.insert("kind".to_owned(), json!(resource.kind));
            let namespace = resource.namespaced.then(|| world.project.clone());
            let metadata = map.entry("metadata").or_insert_with(|| json!({}));
            metadata["name"] = json!(name);
            if let Some(namespace) = namespace {
                metadata["namespace"] = json!(namespace);
            }
            Ok(Step::Act(Action::Apply(patch)))
        },
    ),
];

pub(super) fn cluster_version() -> ObjectRef {
    ObjectRef { resource: CLUSTER_VERSIONS, namespace: String::new(), name: "version".to_owned() }
}

fn cluster_operator(name: &str) -> ObjectRef {
    ObjectRef { resource: CLUSTER_OPERATORS, namespace: String::new(), name: name.to_owned() }
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

/// Returns the expectation of the last command, now.
fn command_now(check: CommandCheck) -> Step {
    Step::Expect(Expectation { what: ExpectedState::Command(vec![check]), when: ExpectedTime::Now })
}

/// Returns the check that the output matches a regular expression.
fn says_match(pattern: &str) -> Result<CommandCheck, String> {
    Ok(CommandCheck::Says(TextMatch::parse(&format!("/{}/", filled(pattern)))?))
}

fn operator_condition(operator: &str, kind: &str, status: &str) -> Result<ExpectedState, String> {
    Ok(ExpectedState::Object(cluster_operator(operator), vec![condition(kind, status, "")?]))
}

/// Returns the command of these words.
pub(super) fn command_of<'w>(
    world: &ClusterWorld,
    words: impl IntoIterator<Item = &'w str>,
) -> Result<CommandLine, String> {
    world.command_line(&shlex::try_join(words).map_err(|error| error.to_string())?)
}
