//! Compares the sections on nodes and pools, rendered from published insights, with those of the real client.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use windtunnel::dump::{Dump, Source};
use windtunnel_core::{Object, Resource, yaml};
use windtunnel_update_status::controller::snapshot::{self, Insights};
use windtunnel_update_status::status::published::sections_on_nodes;
use windtunnel_update_status::status::{Details, Inputs, Moment, render};

use super::{Group, OUTPUTS, inputs, parts};

/// The insights that a controller publishes for these files, read back from the ConfigMap.
fn published(files: BTreeMap<String, String>) -> Insights {
    let dump =
        Dump::parse(files.into_iter().map(|(path, text)| Source { path, text }), snapshot::KINDS).unwrap();
    // The API has no ClusterVersion of another name, but `oc` accepts one in a file.
    let named = |object: &Object| {
        let mut object: Value = Value::clone(object);
        if object["kind"] == "ClusterVersion" {
            object["metadata"]["name"] = json!("version");
        }
        Object::new(object)
    };
    let list = |resource: &Resource| -> Vec<Object> { dump.list(resource).map(named).collect() };
    let now = Inputs::gather(list).unwrap().mock_now();
    let insights = snapshot::insights_from_objects(list, Vec::new(), 33, now).unwrap();
    let text = |insight| json!(yaml::to_string(insight).unwrap());
    let data: serde_json::Map<String, Value> =
        insights.iter().map(|(key, insight)| (key.clone(), text(insight))).collect();
    let found = snapshot::published_insights(Some(&json!({ "data": data })), None).unwrap();
    assert_eq!(found.len(), insights.len());
    found
}

/// The sections on nodes in the client's output, or its only line.
fn sections_of(output: &str) -> String {
    if output.starts_with("The cluster is not updating.") {
        return output.to_owned();
    }
    parts(output)[2].trim_start_matches('\n').to_owned()
}

/// Our output for a cluster with its pools in the order of the API; `None` if the files have that order.
fn in_order(files: &BTreeMap<String, String>, details: Details) -> Option<String> {
    let mut inputs = inputs(files.clone());
    if inputs.machine_config_pools.is_sorted_by_key(|pool| pool.name().to_owned()) {
        return None;
    }
    inputs.machine_config_pools.sort_by_key(|pool| pool.name().to_owned());
    Some(render(&inputs, Moment::at(inputs.mock_now()), details).unwrap().text)
}

#[expect(clippy::print_stdout, reason = "reports the number of texts")]
fn check(groups: &[Group]) {
    let (mut compared, mut differ) = (0, Vec::new());
    for group in groups {
        for folder in group.folders() {
            let files = group.files(&folder);
            let insights = published(files.clone());
            for (file, details) in OUTPUTS {
                let real = match in_order(&files, details) {
                    Some(text) => sections_of(&text),
                    None => sections_of(&fs::read_to_string(folder.join(file)).unwrap()),
                };
                let ours = sections_on_nodes(insights.values(), details);
                if ours != real {
                    differ.push(format!("{} {file}\n--- ours\n{ours}--- real\n{real}", folder.display()));
                }
                compared += 1;
            }
        }
    }
    println!("{compared} texts compared");
    assert!(differ.is_empty(), "{} texts differ:\n{}", differ.len(), differ.join("\n"));
}

#[test]
fn insights_give_the_sections_on_nodes_of_every_generated_cluster() {
    check(&[Group::Made]);
}

#[test]
fn insights_give_the_sections_on_nodes_of_every_real_cluster() {
    check(&[Group::Real, Group::Changed]);
}
