//! Twenty failing suites and the kind that each of them gets. `docs/how-to/failure-kinds.md` has the rules.

use crate::backends::BackendError;
use crate::cli::Releases;
use crate::engine::{SessionError, run_plan};
use crate::record::FailureKind::{self, Product, Scenario, Tool};
use crate::report::{CANARY, ScenarioResult};
use crate::scenario;

/// The source of a failure.
enum Source {
    /// A timeline of a cluster with release 4.18.3 that knows 4.18.5.
    Timeline(&'static str),
    /// An error that no timeline of a test can cause in this process.
    Error(SessionError),
}
use Source::{Error, Timeline};

const CLUSTER: &str = "name: n\ncluster: {version: 4.18.3, insights: true, nodes: {control-plane: 1, workers: 1}}\n\
                       releases: {4.18.5: {}}\ntimeline:\n";

/// Returns the kind of the failure of a timeline; `None` if it passes.
fn run(timeline: &str, tags: &[&str]) -> Option<FailureKind> {
    let releases = Releases::read(&[]).unwrap();
    let mut plans = match scenario::parse_all("a.yaml", &format!("{CLUSTER}{timeline}"), &releases) {
        Ok(plans) => plans,
        Err(problems) => {
            return ScenarioResult::of_invalid_file("a.yaml", &problems.to_string(), 1).failure_kind;
        }
    };
    plans[0].strict = Some(true);
    let result = match run_plan(&plans[0], 1) {
        Ok(outcome) => ScenarioResult::from_record(&outcome.record, "a.yaml"),
        Err(error) => return Some(error.kind()),
    };
    let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    result.of_scenario(None, &tags, &[]).judge_canary().failure_kind
}

fn cases() -> Vec<(&'static str, FailureKind, Source)> {
    let unmet = |text: &str| Error(SessionError::ExpectationFailed(text.to_owned()));
    vec![
        ("a wrong version in a command", Scenario, Timeline("- run: oc adm upgrade --to 4.18.99\n")),
        ("an unknown release", Scenario, Timeline("- update: {to: 4.18.99}\n")),
        (
            "a typo in the name of an operator",
            Scenario,
            Timeline(
                "- expect: {object: ClusterOperator/etdc, condition: {type: Progressing, status: \"True\"}, within: 1m}\n",
            ),
        ),
        (
            "a wait that is too short",
            Product,
            Timeline("- update: {to: 4.18.5}\n- expect: {update: complete, within: 1m}\n"),
        ),
        (
            "a paused pool",
            Product,
            Timeline(
                "- patch: {object: MachineConfigPool/worker, merge: {spec: {paused: true}}}\n- update: {to: 4.18.5}\n\
                 - expect: {object: MachineConfigPool/worker, condition: {type: Updating, status: \"True\"}, within: 2h}\n",
            ),
        ),
        ("a budget that blocks a drain", Product, unmet("seen: Updated=False \"\"")),
        (
            "a digest that does not exist",
            Product,
            Timeline(
                "- update: {image: \"quay.io/o/r@sha256:0000000000000000000000000000000000000000000000000000000000000000\", force: true}\n\
                 - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"True\"}, within: 10m}\n",
            ),
        ),
        (
            "a gate without acknowledgement",
            Product,
            unmet("seen: ReleaseAccepted=False \"AdminAckRequired\""),
        ),
        (
            "a degraded operator",
            Product,
            Timeline(
                "- fault: {operator: dns, is: degraded, reason: Broken, message: no}\n- update: {to: 4.18.5}\n\
                 - expect: {update: complete, within: 1h}\n",
            ),
        ),
        ("a program that ends", Product, Error(SessionError::ProgramEnded("it panicked".to_owned()))),
        ("missing rights", Product, unmet("seen: nothing\n  rejected: create of ConfigMap/a by p: 403 no")),
        (
            "an expectation that held before",
            Scenario,
            Timeline(
                "- update: {to: 4.18.5}\n\
                 - expect: {object: ClusterOperator/dns, condition: {type: Available, status: \"True\"}, within: 1m}\n",
            ),
        ),
        (
            "a field that does not exist",
            Product,
            Timeline("- expect: {object: ClusterVersion/version, fields: {status.histroy: a}}\n"),
        ),
        (
            "a rejected object",
            Scenario,
            Timeline("- apply: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: missing, name: a}}\n"),
        ),
        (
            "an object that is not there",
            Scenario,
            Timeline("- patch: {object: MachineConfigPool/wroker, merge: {spec: {paused: true}}}\n"),
        ),
        ("a moment that is past", Scenario, Timeline("- advance: 10m\n- at: 5m\n")),
        ("a fault of a missing operator", Scenario, Timeline("- heal: {operator: dsn}\n")),
        (
            "a cluster that cannot be created",
            Tool,
            Error(SessionError::Backend(BackendError::Failed("timeout".to_owned()))),
        ),
        ("a hot loop of controllers", Product, Error(SessionError::HotLoop { requests: 9999 })),
        ("a broken invariant", Product, Error(SessionError::InvariantBroken("x broke `y`".to_owned()))),
        ("a file that is missing", Scenario, Timeline("- expect: {status: {matches: missing/text.txt}}\n")),
        ("a status that differs from its snapshot", Product, unmet("seen: line 3 differs")),
        (
            "simulated actors without progress",
            Tool,
            Error(SessionError::NoProgress { actor: "a".to_owned(), steps: 9 }),
        ),
    ]
}

#[test]
fn each_failing_suite_has_a_kind() {
    for (name, expected, source) in cases() {
        let found = match source {
            Timeline(text) => run(text, &[]),
            Error(error) => Some(error.kind()),
        };
        assert_eq!(found, Some(expected), "{name}");
    }
}

#[test]
fn a_canary_that_passes_is_a_failure_of_the_scenario() {
    assert_eq!(run("- advance: 1m\n", &[CANARY]), Some(Scenario));
}
