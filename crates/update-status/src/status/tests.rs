//! The status of small clusters: YAML in, text out.

use serde_json::Value;
use windtunnel_core::yaml;

use super::*;

const NOW: &str = "2024-01-01T01:00:00Z";

/// A ClusterVersion that has been updating from 4.16.1 to 4.16.2 since an hour before [`NOW`].
const UPDATING: &str = "
status:
  desired: {version: 4.16.2}
  history:
  - {state: Partial, version: 4.16.2, image: b, startedTime: '2024-01-01T00:00:00Z'}
  - {state: Completed, version: 4.16.1, image: a, startedTime: '2023-01-01T00:00:00Z',
     completionTime: '2023-01-01T00:30:00Z'}
  conditions:
  - {type: Progressing, status: 'True', lastTransitionTime: '2024-01-01T00:00:00Z'}
";

fn object(text: &str) -> Object {
    Object::new(yaml::from_str::<Value>(text).unwrap())
}

/// A payload operator at a version, with this status of `Progressing` and additional conditions.
fn operator(name: &str, version: &str, progressing: &str, more: &str) -> Object {
    object(&format!(
        "
metadata: {{name: {name}, annotations: {{include.release.openshift.io/self-managed-high-availability: 'true'}}}}
status:
  versions: [{{name: operator, version: {version}}}]
  conditions:
  - {{type: Progressing, status: '{progressing}', lastTransitionTime: '2024-01-01T00:30:00Z'}}
  {more}
"
    ))
}

const AVAILABLE: &str = "- {type: Available, status: 'True'}";

fn text(inputs: &Inputs, details: Details) -> String {
    render(inputs, Moment::at(NOW.parse().unwrap()), details).unwrap().text
}

/// The text up to the section on update health.
fn progress(inputs: &Inputs, details: Details) -> String {
    let text = text(inputs, details);
    text.split_once("\n= Update Health =\n").map_or(text.clone(), |(progress, _)| progress.to_owned())
}

fn check(inputs: &Inputs, details: Details, expected: &str) {
    assert_eq!(progress(inputs, details), expected);
}

fn check_refused(inputs: &Inputs, expected: &str) {
    let error = render(inputs, Moment::at(NOW.parse().unwrap()), Details::None).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_update_in_progress_is_printed_as_labelled_lines() {
    let operators = vec![
        operator("dns", "4.16.2", "False", AVAILABLE),
        operator("etcd", "4.16.1", "True", AVAILABLE),
        operator("ingress", "4.16.1", "False", ""),
        operator(
            "network",
            "4.16.1",
            "Unknown",
            "- {type: Available, status: 'True'}\n  - {type: Degraded, status: 'True'}",
        ),
    ];
    check(
        &Inputs::new(object(UPDATING), operators),
        Details::Operators,
        "= Control Plane =
Assessment:      Progressing
Target Version:  4.16.2 (from 4.16.1)
Updating:        etcd
Completion:      25% (1 operators updated, 1 updating, 1 waiting)
Duration:        1h (Est. Time Remaining: 22m)
Operator Health: 2 Healthy, 1 Unavailable, 1 Available but degraded

Updating Cluster Operators
NAME   SINCE   REASON   MESSAGE
etcd   30m     -        
",
    );
}

#[test]
fn continuation_lines_of_a_message_are_aligned_with_its_column() {
    let progressing = operator(
        "etcd",
        "4.16.1",
        "False",
        "- {type: Progressing, status: 'True', reason: AReasonOfTwentyOneChr, message: \"one\\ntwo\"}",
    );
    let text = progress(&Inputs::new(object(UPDATING), vec![progressing]), Details::All);
    let (_, table) = text.split_once("Updating Cluster Operators\n").unwrap();
    assert_eq!(
        table,
        "NAME   SINCE            REASON                 MESSAGE
etcd   2562047h47m16s   AReasonOfTwentyOn...   one
                                               two
"
    );
}

#[test]
fn operators_outside_the_payload_do_not_count() {
    let outside_payload = object("{metadata: {name: mine}, status: {versions: [], conditions: []}}");
    let done = operator("dns", "4.16.2", "False", AVAILABLE);
    check(
        &Inputs::new(object(UPDATING), vec![outside_payload, done]),
        Details::All,
        "= Control Plane =\nUpdate to 4.16.2 successfully completed at 2024-01-01T01:00:00Z (duration: 1h)\n",
    );
}

#[test]
fn the_machine_config_operator_is_updated_only_with_the_image_of_its_deployment() {
    let mut mco = operator("machine-config", "4.16.2", "True", AVAILABLE).to_value();
    let versions =
        yaml::from_str("[{name: operator, version: 4.16.2}, {name: operator-image, version: new}]");
    mco["status"]["versions"] = versions.unwrap();
    let mut inputs = Inputs::new(object(UPDATING), vec![Object::new(mco)]);
    let is_done = |inputs: &Inputs| text(inputs, Details::None).contains("successfully completed");
    assert!(!is_done(&inputs), "no deployment");
    for (image, done) in [("old", false), ("new", true)] {
        inputs.machine_config_operator = Some(object(&format!(
            "spec: {{template: {{spec: {{containers: [{{name: machine-config-operator, image: {image}}}]}}}}}}"
        )));
        assert_eq!(is_done(&inputs), done, "{image}");
    }
}

#[test]
fn a_cluster_without_progressing_is_updating_only_if_a_worker_is_outdated() {
    let mut idle = object(UPDATING).to_value();
    idle["status"]["conditions"][0]["status"] = "False".into();
    let mut inputs = Inputs::new(Object::new(idle), vec![operator("dns", "4.16.2", "False", AVAILABLE)]);
    check(&inputs, Details::All, "The cluster is not updating.\n");
    inputs.machine_config_pools = vec![
        object("{metadata: {name: master}, spec: {nodeSelector: {matchLabels: {role: master}}}}"),
        object("{metadata: {name: worker}, spec: {nodeSelector: {matchLabels: {role: worker}}}}"),
    ];
    inputs.machine_configs = vec![object(
        "metadata: {name: old, annotations: {machineconfiguration.openshift.io/release-image-version: 4.16.1}}",
    )];
    let behind = |role: &str| {
        object(&format!(
            "metadata: {{name: n, labels: {{role: {role}}}, annotations: {{machineconfiguration.openshift.io/currentConfig: old}}}}"
        ))
    };
    inputs.nodes = vec![behind("master"), behind("nobody")];
    check(&inputs, Details::All, "The cluster is not updating.\n");
    inputs.nodes.push(behind("worker"));
    let text = text(&inputs, Details::All);
    assert!(text.starts_with("= Control Plane =\nUpdate to 4.16.2 successfully completed"), "{text}");
}

#[test]
fn mock_now_is_just_after_the_latest_condition_transition() {
    let inputs = Inputs::new(object(UPDATING), vec![operator("dns", "4.16.2", "False", AVAILABLE)]);
    assert_eq!(inputs.mock_now().to_string(), "2024-01-01T00:30:00.000368975Z");
    assert_eq!(Inputs::new(object("{}"), Vec::new()).mock_now(), ZERO_TIME);
}

#[test]
fn renders_a_status_for_an_empty_operator() {
    let progressing = "status: {conditions: [{type: Progressing, status: 'True'}]}";
    check(
        &Inputs::new(object(progressing), vec![object("{}")]),
        Details::None,
        "= Control Plane =\nUpdate to unknown successfully completed at 0001-01-01T00:00:00Z (duration: now)\n",
    );
}

#[test]
fn reports_an_error_where_oc_fails_or_crashes() {
    let dns = || vec![operator("dns", "4.16.1", "True", AVAILABLE)];
    check_refused(
        &Inputs::new(object("{}"), Vec::new()),
        "no cluster operator information available - you must be connected to an OpenShift version 4 server",
    );
    check_refused(
        &Inputs::new(object("{}"), dns()),
        "no current Progressing info, see `oc describe clusterversion` for more details.",
    );
    let mut inputs = Inputs::new(object(UPDATING), dns());
    inputs.nodes = vec![object("metadata: {name: n}")];
    check_refused(
        &inputs,
        "there are nodes but no MachineConfigPool `master`, without which `oc adm upgrade status` crashes",
    );
    inputs.machine_config_pools = vec![object("metadata: {name: master}")];
    check_refused(
        &inputs,
        "node n belongs to no MachineConfigPool, and there is none named `worker`, without which `oc adm upgrade status` crashes",
    );
    inputs.machine_config_pools = vec![object(
        "{metadata: {name: broken}, spec: {nodeSelector: {matchExpressions: [{key: a, operator: Like}]}}}",
    )];
    check_refused(&inputs, "failed to get label selector from the pool: broken");
    let without_time = UPDATING.replacen("Partial", "Completed", 1);
    check_refused(
        &Inputs::new(object(&without_time), dns()),
        "the newest entry of ClusterVersion status.history is Completed but has no completionTime, without which `oc adm upgrade status` crashes",
    );
    let idle = without_time.replace("status: 'True'", "status: 'False'");
    check(&Inputs::new(object(&idle), dns()), Details::None, NOT_UPDATING);
}

#[test]
fn gathers_inputs_by_kind() {
    let deployment =
        |namespace: &str, name: &str| object(&format!("metadata: {{namespace: {namespace}, name: {name}}}"));
    let list = |resource: &Resource| match &*resource.kind {
        "ClusterVersion" => vec![object("metadata: {name: other}"), object("metadata: {name: version}")],
        "Deployment" => {
            vec![deployment("a", MACHINE_CONFIG_OPERATOR), deployment(MCO_NAMESPACE, MACHINE_CONFIG_OPERATOR)]
        }
        _ => vec![object(&format!("metadata: {{name: {}}}", resource.plural))],
    };
    let inputs = Inputs::gather(list).unwrap();
    assert_eq!(inputs.cluster_version.name(), "version");
    assert_eq!(inputs.cluster_operators[0].name(), "clusteroperators");
    assert_eq!(inputs.machine_config_pools[0].name(), "machineconfigpools");
    assert_eq!(inputs.machine_configs[0].name(), "machineconfigs");
    assert_eq!(inputs.nodes[0].name(), "nodes");
    assert_eq!(inputs.machine_config_operator.unwrap().namespace(), MCO_NAMESPACE);
    assert_eq!(Inputs::gather(|_| Vec::new()).unwrap_err(), StatusError::NoClusterVersion);
}
