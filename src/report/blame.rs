//! A JUnit suite that names the causes of failed updates. It has one test case for each possible cause;
//! without failures all of them pass, so that every run has the same test cases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};
use regex::Regex;
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS};
use windtunnel_core::text::visible;
use windtunnel_core::{Object, View, condition};

use super::ScenarioResult;
use crate::record::{FailureKind, Record};

const SUITE: &str = "cluster upgrade";
/// The causes that are neither operators nor ids: the update as a whole, and the cluster-version operator.
const OVERALL: &str = "overall";
const OPERATOR: &str = "cvo";
/// The operator that updates nodes.
const NODES: &str = "machine-config";

/// The messages of ClusterVersion that name the operators it waits for.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static WAITS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)(?:waiting (?:up to \d+ minutes )?on|exceeded \d+ minutes for these operators:|[Cc]luster operators?) ([a-z][a-z, -]*?)(?: (?:is|are|over|to) |$|; |, -)",
    )
    .expect("pattern")
});

/// Renders the suite `cluster upgrade` from results and their records.
///
/// # Errors
/// An error of the XML writer, which writes to memory.
pub fn render(results: &[(&ScenarioResult, Option<&Record>)]) -> Result<String, SerializeError> {
    let mut failures: BTreeMap<String, Vec<&ScenarioResult>> = BTreeMap::new();
    let mut known: BTreeSet<String> = [OVERALL, OPERATOR].map(str::to_owned).into();
    for (result, record) in results {
        known.extend(result.ids.iter().cloned());
        let view = record.map(|record| record.view_at(record.end())).unwrap_or_default();
        known.extend(view.list(&CLUSTER_OPERATORS).map(|operator| operator.name().to_owned()));
        if result.failed() {
            for blame in blames(&view, result) {
                failures.entry(blame).or_default().push(result);
            }
        }
    }
    known.extend(failures.keys().cloned());
    let mut suite = TestSuite::new(SUITE);
    suite.add_test_cases(known.iter().map(|blame| case(blame, failures.get(blame))));
    let mut report = Report::new("windtunnel");
    report.add_test_suite(suite);
    Ok(visible(&report.to_string()?).into_owned())
}

fn case(blame: &str, failures: Option<&Vec<&ScenarioResult>>) -> TestCase {
    let status = match failures {
        None => TestCaseStatus::success(),
        Some(results) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(format!("openshift cluster upgrade failed at {blame}"));
            let lines = results
                .iter()
                .map(|result| format!("{}: {}: {}", result.file, result.name, result.headline()));
            status.set_description(lines.collect::<Vec<_>>().join("\n"));
            status
        }
    };
    let mut case = TestCase::new(format!("upgrade should succeed: {blame}"), status);
    case.set_classname(SUITE);
    case
}

/// Returns the causes of a failure: the ids of the scenario, the update as a whole, and by the phase of the update at the
/// end its component. A failure of the scenario or the tool is of no component.
fn blames(view: &View, result: &ScenarioResult) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = result.ids.iter().cloned().chain([OVERALL.to_owned()]).collect();
    if matches!(result.failure_kind, None | Some(FailureKind::Product)) {
        found.extend(components(view));
    }
    found
}

/// Returns the components that the phase of the update belongs to: the operators that ClusterVersion waits for; or else the
/// machine-config operator while nodes are updated; or else the cluster-version operator, which retrieves, verifies and
/// checks the payload.
fn components(view: &View) -> BTreeSet<String> {
    let cluster_version = view.cluster_version();
    let waited_for = cluster_version.map(|object| waited_for(view, object)).unwrap_or_default();
    if !waited_for.is_empty() {
        return waited_for;
    }
    let is_rejected = cluster_version.is_some_and(|object| {
        condition::find_in_status(object, "ReleaseAccepted").is_some_and(|found| found["status"] == "False")
            || condition::is_true(object, "Failing")
    });
    let updates_nodes = || {
        view.list(&MACHINE_CONFIG_POOLS)
            .any(|pool| !condition::is_true(pool, "Updated") || condition::is_true(pool, "Degraded"))
    };
    let component = if !is_rejected && updates_nodes() { NODES } else { OPERATOR };
    [component.to_owned()].into()
}

/// Returns the existing operators that the messages of Progressing and Failing name.
fn waited_for(view: &View, cluster_version: &Object) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for kind in ["Failing", "Progressing"] {
        let Some(condition) = condition::find_in_status(cluster_version, kind) else { continue };
        for captures in WAITS.captures_iter(condition["message"].as_str().unwrap_or_default()) {
            let names = captures[1].split(',').map(str::trim);
            let there = names.filter(|name| view.get(&CLUSTER_OPERATORS, "", name).is_some());
            found.extend(there.map(str::to_owned));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::CLUSTER_VERSIONS;
    use windtunnel_core::{Change, ChangeKind, Resource};

    use super::*;

    /// Compares the operators that these messages of Failing and Progressing name, in a cluster with three
    /// operators.
    fn check(messages: [&str; 2], expected: &[&str]) {
        let mut view = View::default();
        for name in ["dns", "etcd", "kube-apiserver"] {
            let object = json!({ "metadata": { "name": name } });
            add(&mut view, &CLUSTER_OPERATORS, object);
        }
        let conditions = ["Failing", "Progressing"].iter().zip(messages);
        let conditions: Vec<_> =
            conditions.map(|(kind, message)| json!({ "type": kind, "message": message })).collect();
        let cluster_version = Object::new(json!({ "status": { "conditions": conditions } }));
        let found: Vec<String> = waited_for(&view, &cluster_version).into_iter().collect();
        assert_eq!(found, expected, "{messages:?}");
    }

    fn add(view: &mut View, resource: &Resource, object: Value) {
        let key = resource.key("", object["metadata"]["name"].as_str().unwrap_or_default());
        view.apply(&Change { key, kind: ChangeKind::Added, old: None, object: Object::new(object) });
    }

    #[test]
    fn nodes_are_the_machine_config_operators_and_payloads_the_cluster_version_operators() {
        let condition = |kind: &str, status: &str| json!([{ "type": kind, "status": status }]);
        for (accepted, updated, expected) in
            [("True", "False", NODES), ("False", "False", OPERATOR), ("True", "True", OPERATOR)]
        {
            let mut view = View::default();
            let version = json!({
                "metadata": { "name": "version" },
                "status": { "conditions": condition("ReleaseAccepted", accepted) },
            });
            add(&mut view, &CLUSTER_VERSIONS, version);
            let pool = json!({
                "metadata": { "name": "worker" },
                "status": { "conditions": condition("Updated", updated) },
            });
            add(&mut view, &MACHINE_CONFIG_POOLS, pool);
            let found: Vec<String> = components(&view).into_iter().collect();
            assert_eq!(found, [expected], "{accepted} {updated}");
        }
    }

    #[test]
    fn a_failure_of_the_scenario_is_of_no_component() {
        let failure_kind = Some(FailureKind::Scenario);
        let result = ScenarioResult { failure_kind, ..ScenarioResult::default() };
        assert_eq!(blames(&View::default(), &result), [OVERALL.to_owned()].into());
    }

    #[test]
    fn finds_operators_in_messages_of_the_cluster_version() {
        check(
            ["", "Working towards 4.14.8: 9 of 860 done (1% complete), waiting on etcd, kube-apiserver"],
            &["etcd", "kube-apiserver"],
        );
        check(
            ["", "Unable to apply 4.18.5: wait has exceeded 40 minutes for these operators: dns"],
            &["dns"],
        );
        check(["Cluster operator dns is degraded", ""], &["dns"]);
        check(["Cluster operators dns, etcd are not available", ""], &["dns", "etcd"]);
        check(["", "Working towards 4.14.8: waiting up to 40 minutes on etcd"], &["etcd"]);
        check(["", "waiting on etcd over 30 minutes which is longer than expected"], &["etcd"]);
        check(["", "Cluster version is 4.14.8"], &[]);
        check(["", "waiting on somebody else"], &[]);
    }
}
