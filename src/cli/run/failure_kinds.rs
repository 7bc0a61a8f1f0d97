//! Twenty failing suites and the kind that each of them gets. `docs/how-to/failure-kinds.md` has the rules.

use crate::backends::BackendError;
use crate::cli::Releases;
use crate::engine::{SessionError, run_plan};
use crate::record::FailureKind::{self, Product, Scenario, Tool};
use crate::report::{CANARY, ScenarioResult};
use crate::scenario;

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

/// Timelines of a cluster with release 4.18.3 that knows 4.18.5.
const TIMELINES: &[(&str, FailureKind, &str)] = &[
    ("a wrong version in a command", Scenario, "- run: oc adm upgrade --to 4.18.99\n"),
    ("an unknown release", Scenario, "- update: {to: 4.18.99}\n"),
    (
        "a typo in the name of an operator",
        Scenario,
        "- expect: {object: ClusterOperator/etdc, condition: {type: Progressing, status: \"True\"}, within: 1m}\n",
    ),
    ("a typo in the name of a node", Scenario, "- expect: {node: woker-0, phase: Updated, within: 1m}\n"),
    (
        "a typo in the name of an insight's node",
        Scenario,
        "- expect: {insight: Node/woker-0, condition: {type: Updating, status: \"True\"}, within: 1m}\n",
    ),
    (
        "a typo in a namespace",
        Scenario,
        "- expect: {object: Deployment/openshift-etdc/etcd-operator, condition: {type: Available, status: \"True\"}, within: 1m}\n",
    ),
    (
        "a typo in the name of an alert",
        Scenario,
        "- expect: {alert: {name: ClusterOperatorDegradde, state: firing}, within: 1m}\n",
    ),
    (
        "a typo in a reason",
        Scenario,
        "- fault: {operator: dns, is: degraded, reason: BrokenParts, message: no}\n\
                 - expect: {object: ClusterOperator/dns, condition: {type: Degraded, reason: BrokenPrats}, within: 10m}\n",
    ),
    (
        "a field that no definition has",
        Scenario,
        "- expect: {object: MachineConfigPool/worker, fields: {status.xylophone: 3}, within: 1m}\n",
    ),
    (
        "a field of the schema without a value",
        Product,
        "- expect: {object: ClusterVersion/version, fields: {\"status.conditionalUpdates[0].conditions[0].type\": x}, within: 1m}\n",
    ),
    (
        "a wait that is too short",
        Product,
        "- update: {to: 4.18.5}\n- expect: {update: complete, within: 1m}\n",
    ),
    (
        "a paused pool",
        Product,
        "- patch: {object: MachineConfigPool/worker, merge: {spec: {paused: true}}}\n- update: {to: 4.18.5}\n\
                 - expect: {object: MachineConfigPool/worker, condition: {type: Updating, status: \"True\"}, within: 2h}\n",
    ),
    (
        "a digest that does not exist",
        Product,
        "- update: {image: \"quay.io/o/r@sha256:0000000000000000000000000000000000000000000000000000000000000000\", force: true}\n\
                 - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"True\"}, within: 10m}\n",
    ),
    (
        "a degraded operator",
        Product,
        "- fault: {operator: dns, is: degraded, reason: Broken, message: no}\n- update: {to: 4.18.5}\n\
                 - expect: {update: complete, within: 1h}\n",
    ),
    (
        "an expectation that held before",
        Scenario,
        "- update: {to: 4.18.5}\n\
                 - expect: {object: ClusterOperator/dns, condition: {type: Available, status: \"True\"}, within: 1m}\n",
    ),
    (
        "a field that does not exist",
        Scenario,
        "- expect: {object: ClusterVersion/version, fields: {status.histroy: a}}\n",
    ),
    (
        "a rejected object",
        Scenario,
        "- apply: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: missing, name: a}}\n",
    ),
    (
        "an object that is not there",
        Scenario,
        "- patch: {object: MachineConfigPool/wroker, merge: {spec: {paused: true}}}\n",
    ),
    ("a moment that is past", Scenario, "- advance: 10m\n- at: 5m\n"),
    ("a fault of a missing operator", Scenario, "- heal: {operator: dsn}\n"),
    ("a file that is missing", Scenario, "- expect: {status: {matches: missing/text.txt}}\n"),
];

/// Errors that no timeline of a test can cause in this process.
fn errors() -> Vec<(&'static str, FailureKind, SessionError)> {
    let unmet = |text: &str| SessionError::ExpectationFailed(text.to_owned());
    vec![
        ("a budget that blocks a drain", Product, unmet("seen: Updated=False \"\"")),
        (
            "a gate without acknowledgement",
            Product,
            unmet("seen: ReleaseAccepted=False \"AdminAckRequired\""),
        ),
        ("a program that ends", Product, SessionError::ProgramEnded("it panicked".to_owned())),
        ("missing rights", Product, unmet("seen: nothing\n  rejected: create of ConfigMap/a by p: 403 no")),
        (
            "a cluster that cannot be created",
            Tool,
            SessionError::Backend(BackendError::Failed("timeout".to_owned())),
        ),
        ("a hot loop of controllers", Product, SessionError::HotLoop { requests: 9999 }),
        ("a broken invariant", Product, SessionError::InvariantBroken("x broke `y`".to_owned())),
        ("a status that differs from its snapshot", Product, unmet("seen: line 3 differs")),
        (
            "simulated actors without progress",
            Tool,
            SessionError::NoProgress { actor: "a".to_owned(), steps: 9 },
        ),
    ]
}

#[test]
fn each_failing_suite_has_a_kind() {
    for (name, expected, timeline) in TIMELINES {
        assert_eq!(run(timeline, &[]), Some(*expected), "{name}");
    }
    for (name, expected, error) in errors() {
        assert_eq!(error.kind(), expected, "{name}");
    }
}

#[test]
fn a_canary_that_passes_is_a_failure_of_the_scenario() {
    assert_eq!(run("- advance: 1m\n", &[CANARY]), Some(Scenario));
}
