//! The lines on nodes and pools made from published insights alone, against those of the real client.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use windtunnel::base::yaml;
use windtunnel::dump::{Dump, Source};
use windtunnel::insights::assess::node;
use windtunnel::insights::snapshot::{self, Insights};
use windtunnel::model::{Object, Resource};
use windtunnel::status::published::sections_on_nodes;
use windtunnel::status::{Details, Inputs, KINDS, Moment, render};

use super::{OUTPUTS, changed, files, folders, golden, inputs};

const PREFIX: &str = "machineconfiguration.openshift.io/";

/// What a controller publishes for these files, once in the ConfigMap.
fn published(files: BTreeMap<String, String>) -> Insights {
    let dump =
        Dump::read(files.into_iter().map(|(path, text)| Source { path, text }), snapshot::KINDS).unwrap();
    // The API has no ClusterVersion of another name, which `oc` does not mind in a file.
    let named = |object: &Object| {
        let mut object: Value = Value::clone(object);
        if object["kind"] == "ClusterVersion" {
            object["metadata"]["name"] = json!("version");
        }
        Object::new(object)
    };
    let list = |resource: &Resource| -> Vec<Object> { dump.list(resource).map(named).collect() };
    let now = Inputs::gather(list).unwrap().mock_now();
    let insights = snapshot::of_objects(list, Vec::new(), 33, now).unwrap();
    let text = |insight| json!(yaml::to_string(insight).unwrap());
    let data: serde_json::Map<String, Value> =
        insights.iter().map(|(key, insight)| (key.clone(), text(insight))).collect();
    let found = snapshot::published(Some(&json!({ "data": data })), None).unwrap();
    assert_eq!(found.len(), insights.len());
    found
}

/// The sections on nodes in what the client printed; the one line where that is all.
fn sections_of(output: &str) -> String {
    if output.starts_with("The cluster is not updating.") {
        return output.to_owned();
    }
    let starts = ["All control plane nodes", "Control Plane Nodes\n", "= Worker Upgrade =\n"];
    let start = starts.iter().filter_map(|start| output.find(&format!("\n{start}"))).min();
    let end = output.find("\n= Update Health =").unwrap();
    start.filter(|start| *start < end).map_or(String::new(), |start| output[start + 1..end].to_owned())
}

/// Why insights cannot tell all that the client tells of a cluster; nothing where they can.
fn lacks(files: &BTreeMap<String, String>) -> Option<&'static str> {
    let sources = files.iter().map(|(path, text)| Source { path: path.clone(), text: text.clone() });
    let dump = Dump::read(sources, KINDS).unwrap();
    let list = |resource: &Resource| -> Vec<Object> { dump.list(resource).cloned().collect() };
    let inputs = Inputs::gather(list).unwrap();
    let pools = &inputs.machine_config_pools;
    let history = inputs.cluster_version.list("/status/history");
    let target = |name: &str| {
        let config = inputs.machine_configs.iter().find(|config| config.name() == name);
        let version = config.and_then(|config| config.annotation(&format!("{PREFIX}release-image-version")));
        history.first().is_some_and(|newest| version.is_some_and(|version| newest["version"] == version))
    };
    let wants = |node: &Object, pool: &Object| {
        let desired = node.annotation(&format!("{PREFIX}desiredConfig")).unwrap_or_default();
        desired != pool.text("/spec/configuration/name") && target(desired)
    };
    let read: Vec<node::Pool> = pools.iter().map(|pool| node::Pool::read(pool)).collect();
    let is_strange = |found: &Object| {
        let name = node::pool_of(&node::Node::read(found), read.iter()).map(|pool| pool.name.clone());
        pools.iter().any(|pool| Some(pool.name()) == name.as_deref() && wants(found, pool))
    };
    if history.len() > 1 && history[0]["version"] == history[1]["version"] {
        Some("the architecture changes")
    } else if inputs.nodes.iter().any(is_strange) {
        Some("a node is on its way to another MachineConfig than its pool")
    } else {
        None
    }
}

/// What we print for a cluster with its pools in the order in which the API lists them; nothing where the files have that order.
fn in_order(files: &BTreeMap<String, String>, details: Details) -> Option<String> {
    let mut inputs = inputs(files.clone());
    if inputs.machine_config_pools.is_sorted_by_key(|pool| pool.name().to_owned()) {
        return None;
    }
    inputs.machine_config_pools.sort_by_key(|pool| pool.name().to_owned());
    Some(render(&inputs, Moment::at(inputs.mock_now()), details).unwrap().text)
}

#[test]
#[expect(clippy::print_stdout, reason = "a test tells what it leaves out")]
fn the_lines_on_nodes_and_pools_of_every_recorded_cluster_follow_from_insights() {
    let (mut same, mut left_out, mut differ) = (0, Vec::new(), Vec::new());
    for suite in ["upgrade-status", "upgrade-status-made", "upgrade-status-variants"] {
        let Some(path) = golden(suite) else { continue };
        for folder in folders(&path) {
            let files = if suite.ends_with("variants") { changed(&folder) } else { files(&folder) };
            let lacks = lacks(&files);
            let insights = published(files.clone());
            for (file, details) in OUTPUTS {
                let real = match in_order(&files, details) {
                    Some(text) => sections_of(&text),
                    None => sections_of(&fs::read_to_string(folder.join(file)).unwrap()),
                };
                let ours = sections_on_nodes(insights.values(), details);
                match lacks {
                    _ if ours == real => same += 1,
                    Some(why) => left_out.push(format!("{} {file}: {why}", folder.display())),
                    None => {
                        differ.push(format!("{} {file}\n--- ours\n{ours}--- real\n{real}", folder.display()));
                    }
                }
            }
        }
    }
    println!("{same} texts are the same, {} lack facts:\n{}", left_out.len(), left_out.join("\n"));
    assert!(differ.is_empty(), "{} texts differ:\n{}", differ.len(), differ.join("\n"));
    assert!(left_out.len() * 4 < same, "too many lack facts");
}
