//! `windtunnel status` for insights of a run, from its record and from files.

use serde_json::{Value, json};

use super::environment::TestEnvironment;

/// An update with published insights.
const UPDATE: &str = "name: s
cluster: {version: 4.18.1, feature-set: DevPreviewNoUpgrade}
releases: {4.18.5: {}}
timeline:
- publish-insights
- update: {to: 4.18.5}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: 'True'}, within: 10m}
- expect: {object: MachineConfigPool/worker, condition: {type: Updating, status: 'True'}, within: 3h}
- expect: {object: MachineConfigPool/worker, condition: {type: Updated, status: 'True'}, within: 3h}
";

/// A run without published insights, in a cluster without the controller.
const UNPUBLISHED: &str = "name: s
cluster: {version: 4.18.1}
releases: {}
timeline:
- advance: 1m
";

/// The error if nothing is published.
const NONE: &str = "error: there are no published insights on the ClusterVersion: expected them in the ConfigMap \
                    openshift-update-status-controller/status-api-cm-prototype or in the UpdateStatus cluster\n";

fn insights(environment: &TestEnvironment, arguments: &[&str]) -> Value {
    let output = environment.run(&[&["status", "-o", "json"], arguments].concat());
    assert_eq!(output.code, Some(0), "{output}");
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn published_insights_and_objects_give_the_same_status_of_nodes_and_pools() {
    let environment = TestEnvironment::with(&[("s.yaml", UPDATE)]);
    let run = environment.run(&["run", "--quiet", "--record", "s.jsonl", "s.yaml"]);
    assert_eq!(run.code, Some(0), "{run}");
    let mut seen = String::new();
    for minute in (0..70).step_by(5) {
        let at = &format!("{minute}m");
        let status = |more: &[&str]| environment.run(&[&["status", "s.jsonl", "--at", at], more].concat());
        let (of_objects, of_insights) = (status(&[]).stdout, status(&["--from-insights"]).stdout);
        assert!(of_objects.contains(&of_insights), "at {at}\n{of_insights}--- of objects\n{of_objects}");
        seen += &of_insights;
    }
    for word in
        ["The cluster is not updating.", "Control Plane Nodes\n", " Pending ", " Updating ", " Updated "]
    {
        assert!(seen.contains(word), "never `{word}`: {seen}");
    }
    let computed = insights(&environment, &["s.jsonl", "--at", "20m"]);
    let found = insights(&environment, &["s.jsonl", "--at", "20m", "--from-insights"]);
    let keys = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<String>>();
    assert_eq!(keys(&computed), keys(&found));
    let reasons = |of: &Value| -> Vec<Value> {
        let conditions = |insight: &Value| insight["node"]["conditions"][0]["reason"].clone();
        of.as_object().unwrap().values().map(conditions).collect()
    };
    assert_eq!(reasons(&computed), reasons(&found));
    let yaml = environment.run(&["status", "s.jsonl", "--at", "20m", "--from-insights", "-o", "yaml"]).stdout;
    assert!(yaml.starts_with("usc.cpi.co-authentication:\n  uid: co-authentication\n"), "{yaml}");
    // The ConfigMap in a dump gives the same text as the record.
    let data: serde_json::Map<String, Value> = found
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, insight)| (key.clone(), json!(windtunnel_core::yaml::to_string(insight).unwrap())))
        .collect();
    let metadata =
        json!({"name": "status-api-cm-prototype", "namespace": "openshift-update-status-controller"});
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    environment.write("dump/cm.json", config_map.to_string());
    let of_dump = environment.run(&["status", "--from", "dump", "--from-insights"]).stdout;
    assert_eq!(of_dump, environment.run(&["status", "s.jsonl", "--at", "20m", "--from-insights"]).stdout);
}

#[test]
fn missing_insights_are_reported() {
    let environment = TestEnvironment::with(&[("s.yaml", UNPUBLISHED)]);
    environment.run(&["run", "--quiet", "--record", "s.jsonl", "s.yaml"]);
    let output = environment.run(&["status", "s.jsonl", "--from-insights"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(2), NONE));
    let computed = insights(&environment, &["s.jsonl"]);
    assert_eq!(computed["usc.cpi.cv-version"]["clusterVersion"]["assessment"], "Completed");
}

#[test]
fn an_empty_config_map_does_not_mean_that_the_cluster_is_not_updating() {
    let metadata =
        json!({"name": "status-api-cm-prototype", "namespace": "openshift-update-status-controller"});
    let empty = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string();
    let environment = TestEnvironment::with(&[("dump/cm.json", &empty)]);
    let output = environment.run(&["status", "--from", "dump", "--from-insights"]);
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (Some(2), "", NONE));
    let conditions = json!([{"type": "Updating", "status": "True", "reason": "R", "message": "m"}]);
    let insight = json!({"uid": "cv-version", "acquiredAt": "2024-01-01T00:00:00Z", "type": "ClusterVersion",
        "clusterVersion": {"conditions": conditions, "assessment": "Progressing", "completion": 7,
            "resource": {"resource": "clusterversions", "name": "version"},
            "versions": {"previous": {"version": "4.18.3"}, "target": {"version": "4.18.7"}}}});
    let informers = json!([{"name": "cpi", "insights": [insight]}]);
    let update_status = json!({"apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateStatus",
        "metadata": {"name": "cluster"}, "status": {"controlPlane": {"informers": informers}}});
    environment.write("dump/us.json", update_status.to_string());
    let found = insights(&environment, &["--from", "dump", "--from-insights"]);
    assert_eq!(found["usc.cpi.cv-version"]["clusterVersion"]["completion"], 7);
}
