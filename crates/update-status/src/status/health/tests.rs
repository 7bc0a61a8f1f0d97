//! Update health of small clusters: YAML in, section out.

use serde_json::{Value, json};
use windtunnel_core::{Object, yaml};

use super::*;
use crate::status::{AlertsResponse, render};

const NOW: &str = "2024-01-01T01:00:00Z";

/// An update from 4.16.1 to 4.16.2 that started an hour before [`NOW`], with this condition `Failing`.
fn updating(failing: &str) -> Inputs {
    let version = format!(
        "
metadata: {{name: version}}
status:
  desired: {{version: 4.16.2}}
  history:
  - {{state: Partial, version: 4.16.2, image: b, startedTime: '2024-01-01T00:00:00Z'}}
  - {{state: Completed, version: 4.16.1, image: a, startedTime: '2023-01-01T00:00:00Z',
     completionTime: '2023-01-01T00:30:00Z'}}
  conditions:
  - {{type: Progressing, status: 'True', lastTransitionTime: '2024-01-01T00:00:00Z'}}
  {failing}
"
    );
    Inputs::new(object(&version), vec![operator("dns", "")])
}

const WELL: &str = "- {type: Failing, status: 'False'}";

fn object(text: &str) -> Object {
    Object::new(yaml::from_str::<Value>(text).unwrap())
}

fn operator(name: &str, conditions: &str) -> Object {
    object(&format!(
        "
metadata: {{name: {name}, annotations: {{include.release.openshift.io/self-managed-high-availability: 'true'}}}}
status: {{versions: [{{name: operator, version: 4.16.1}}], conditions: [{conditions}]}}
"
    ))
}

fn health(inputs: &Inputs, details: Details) -> String {
    let text = render(inputs, Moment::at(NOW.parse().unwrap()), details).unwrap().text;
    text.split_once("= Update Health =\n").unwrap().1.to_owned()
}

/// The rows of the table without its header.
fn rows(inputs: &Inputs) -> Vec<String> {
    let text = health(inputs, Details::None);
    let (table, _) = text.split_once("\n\n").unwrap_or((&text, ""));
    let words = |row: &str| {
        row.split("   ").filter(|cell| !cell.is_empty()).map(str::trim).collect::<Vec<_>>().join(" | ")
    };
    table.lines().skip(1).map(words).collect()
}

fn check(inputs: &Inputs, expected: &[&str]) {
    assert_eq!(rows(inputs), expected);
}

#[test]
fn reports_that_the_update_proceeds_well_if_there_are_no_problems() {
    let well = "SINCE   LEVEL   IMPACT   MESSAGE\n1h      Info    None     Update is proceeding well\n";
    for details in [Details::None, Details::All, Details::Health] {
        assert_eq!(health(&updating(WELL), details), well);
    }
}

#[test]
fn reports_a_failing_cluster_version_or_a_missing_failing_condition() {
    check(
        &updating(
            "- {type: Failing, status: 'True', reason: R, message: m, lastTransitionTime: '2024-01-01T00:59:30Z'}",
        ),
        &[
            "30s | Warning | Update Stalled | Cluster Version version is failing to proceed with the update (R)",
        ],
    );
    check(
        &updating("- {type: Failing, status: Unknown, message: m}"),
        &[
            "- | Warning | Update Stalled | Cluster Version version may be failing to proceed with the update ()",
        ],
    );
    check(
        &updating(""),
        &["now | Warning | Update Stalled | Cluster Version version has no Failing condition"],
    );
    check(
        &updating("- {type: Failing, status: 'True', reason: R}"),
        &["1h | Info | None | Update is proceeding well"],
    );
}

#[test]
fn operator_problems_are_warnings_after_five_minutes_and_errors_later() {
    let at = |kind: &str, status: &str, minute: &str| {
        let mut inputs = updating(WELL);
        inputs.cluster_operators.push(operator(
            "etcd",
            &format!("{{type: {kind}, status: '{status}', reason: R, lastTransitionTime: '2024-01-01T00:{minute}Z'}}"),
        ));
        rows(&inputs).join("; ")
    };
    let well = "1h | Info | None | Update is proceeding well";
    assert_eq!(at("Available", "False", "55:00"), well);
    assert_eq!(
        at("Available", "False", "54:59"),
        "5m1s | Warning | API Availability | Cluster Operator etcd is unavailable (R)"
    );
    assert_eq!(
        at("Available", "False", "39:59"),
        "20m1s | Error | API Availability | Cluster Operator etcd is unavailable (R)"
    );
    assert_eq!(at("Available", "Unknown", "00:00"), well);
    assert_eq!(at("Degraded", "True", "55:00"), well);
    assert_eq!(
        at("Degraded", "True", "20:00"),
        "40m | Warning | API Availability | Cluster Operator etcd is degraded (R)"
    );
    assert_eq!(
        at("Degraded", "True", "19:59"),
        "40m1s | Error | API Availability | Cluster Operator etcd is degraded (R)"
    );
}

#[test]
fn details_indent_continuation_lines_with_a_comma() {
    let mut inputs = updating(WELL);
    inputs.cluster_operators = vec![operator(
        "etcd",
        "{type: Available, status: 'False', message: \"one\\ntwo\"}, {type: Degraded, status: 'True', reason: R}",
    )];
    let entry = |word: &str, runbook: &str, reason: &str, description: &str| {
        format!(
            "Message: Cluster Operator etcd is {word} ({reason})
  Since:       -
  Level:       Error
  Impact:      API Availability
  Reference:   https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/{runbook}.md
  Resources:
    clusteroperators.config.openshift.io: etcd
  Description: {description}
"
        )
    };
    let expected = [
        entry("unavailable", "ClusterOperatorDown", "", "one\n               , two"),
        entry("degraded", "ClusterOperatorDegraded", "R", "<no message>"),
    ];
    assert_eq!(health(&inputs, Details::Health), expected.join("\n"));
}

fn alert(name: &str, severity: &str, state: &str, active_at: &str) -> Value {
    json!({ "labels": { "alertname": name, "severity": severity }, "state": state, "activeAt": active_at,
        "annotations": { "message": format!("{name} has words.") } })
}

#[test]
fn reports_alerts_that_started_during_the_update_or_affect_updates() {
    let (before, during) = ("2023-12-31T23:59:59Z", "2024-01-01T00:30:00.5Z");
    let mut inputs = updating(WELL);
    inputs.alerts = AlertsResponse::Answer(json!({ "data": { "alerts": [
        alert("Old", "critical", "firing", before),
        alert("AtStart", "critical", "firing", "2024-01-01T00:00:00Z"),
        alert("New", "critical", "firing", during),
        alert("Waiting", "warning", "pending", during),
        alert("Shy", "info", "firing", during),
        alert("", "warning", "firing", during),
        alert("PodDisruptionBudgetLimit", "warning", "firing", before),
        alert("PodDisruptionBudgetAtLimit", "warning", "firing", ""),
    ] } }));
    check(
        &inputs,
        &[
            "29m59s | Critical | Unknown | Alert is firing: New",
            "1h0m1s | Warning | Unknown | Alert is firing: PodDisruptionBudgetLimit",
            "- | Warning | Unknown | Alert is firing: PodDisruptionBudgetAtLimit",
        ],
    );
    let text = health(&inputs, Details::Health);
    assert!(text.contains(
        "Description: Alert started firing during the update. The alert description is: New has words.\n"
    ));
    assert!(text.contains(
        "Description: Alert known to affect updates has been firing since before the update started. "
    ));
    assert!(text.contains("Reference:   <alert does not have a runbook_url annotation>\n"));
    inputs.alerts = AlertsResponse::Unfetched("nobody knows".to_owned());
    let report = render(&inputs, Moment::at(NOW.parse().unwrap()), Details::None).unwrap();
    assert_eq!(
        report.complaint.unwrap(),
        "Unable to fetch alerts, ignoring alerts in 'Update Health':  nobody knows\n"
    );
}

/// A cluster with one master node with these annotations; the prefix of the machine-config operator is added
/// to each name.
fn with_node(annotations: &[(&str, &str)], rest: &str) -> Inputs {
    let mut node = object(rest).to_value();
    node["metadata"] = json!({ "name": "machine-0", "labels": { "role": "master" }, "annotations": {} });
    for (name, value) in annotations {
        node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{name}")] = json!(value);
    }
    let mut inputs = updating(WELL);
    inputs.nodes = vec![Object::new(node)];
    inputs.machine_config_pools = vec![
        object("{metadata: {name: master}, spec: {nodeSelector: {matchLabels: {role: master}}}}"),
        object("{metadata: {name: worker}}"),
    ];
    inputs
}

const DONE: [(&str, &str); 3] = [("currentConfig", "a"), ("desiredConfig", "a"), ("state", "Done")];

#[test]
fn reports_a_node_once_its_problem_lasts() {
    let unready = |since: &str, more: &str| {
        with_node(
            &DONE,
            &format!(
                "{{spec: {{unschedulable: true}}, status: {{conditions: [{more}
                  {{type: Ready, status: 'False', message: \"say \\\"no\\\"\", lastTransitionTime: '2024-01-01T00:{since}Z'}}]}}}}"
            ),
        )
    };
    check(&unready("55:01", ""), &["1h | Info | None | Update is proceeding well"]);
    let inputs = unready(
        "55:00",
        "{type: DiskPressure, status: Unknown, lastTransitionTime: '2024-01-01T00:59:30Z'},",
    );
    check(
        &inputs,
        &[
            "5m | Warning | Update Speed | Node machine-0 has disk pressure | Node machine-0 is not ready | Node is marked unschedulable",
        ],
    );
    let text = health(&inputs, Details::All);
    assert!(text.contains("\n    nodes: machine-0\n  Description: Node has a DiskPressure!=False condition with Reason \"Disk pressure\" and message \"\" | Node has a Ready!=True condition with Reason \"Not ready\" and message \"say \\\"no\\\"\" | Node is marked unschedulable\n"), "{text}");
    let cordoned = with_node(&DONE, "{spec: {unschedulable: true}}");
    check(&cordoned, &["1h | Info | None | Update is proceeding well"]);
}

#[test]
fn reports_a_degraded_node_only_with_the_reason_of_its_daemon() {
    let degraded = [("desiredConfig", "b"), ("state", "Degraded"), ("reason", "machine-0 does not drain")];
    let inputs = with_node(&degraded, "{}");
    check(&inputs, &["- | Error | Update Stalled | Node machine-0 is degraded"]);
    assert!(health(&inputs, Details::Health).contains("Description: machine-0 does not drain\n"));
    check(&with_node(&degraded[..2], "{}"), &["1h | Info | None | Update is proceeding well"]);
}

#[test]
fn reports_an_interrupted_update_until_the_control_plane_is_updated() {
    let mut inputs = updating(WELL);
    let mut version = inputs.cluster_version.to_value();
    version["status"]["history"][1]["state"] = json!("Partial");
    inputs.cluster_version = Object::new(version.clone());
    let message = "Previous update to 4.16.1 never completed, last complete update was";
    check(&inputs, &[&format!("1h | Warning | None | {message} unknown")]);
    let older =
        json!([{ "state": "Partial", "version": "4.16.0" }, { "state": "Completed", "version": "4.15.9" }]);
    version["status"]["history"].as_array_mut().unwrap().extend(older.as_array().unwrap().clone());
    inputs.cluster_version = Object::new(version);
    check(&inputs, &[&format!("1h | Warning | None | {message} 4.15.9")]);
    inputs.cluster_operators = vec![Object::new(json!({ "metadata": { "name": "mine" } }))];
    check(&inputs, &["1h | Info | None | Update is proceeding well"]);
}
