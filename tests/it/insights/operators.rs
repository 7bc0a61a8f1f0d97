//! The operators of recorded clusters, from their files to the published insights.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use windtunnel::dump::{Dump, Source};
use windtunnel_core::clock::Time;
use windtunnel_update_status::controller::snapshot;
use windtunnel_update_status::insight::Detail;

use super::each_cluster;
use crate::recordings::shared;

/// The files that insights on operators need.
const FILES: [&str; 3] = ["clusterversion.yaml", "clusteroperators.yaml", "mco-deployment.yaml"];

/// The insights on the operators of a cluster by name, as JSON.
fn insights(cluster: &str, now: Time) -> BTreeMap<String, Value> {
    let folder = shared(&format!("golden/upgrade-status/{cluster}")).unwrap();
    let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let sources =
        FILES.iter().filter_map(|file| Some(Source { path: (*file).to_owned(), text: text(file)? }));
    let dump = Dump::parse(sources, snapshot::KINDS).unwrap();
    let list = |resource: &_| dump.list(resource).cloned().collect();
    let insights = snapshot::insights_from_objects(list, Vec::new(), 33, now).unwrap();
    let operators = insights.into_values().filter_map(|insight| match insight.detail {
        Detail::ClusterOperator(found) => Some((found.name.clone(), serde_json::to_value(found).unwrap())),
        _ => None,
    });
    operators.collect()
}

#[test]
fn the_operators_of_recorded_clusters_are_assessed_as_the_recorded_controller_did() {
    each_cluster(|name, recorded| {
        let all = recorded["clusterOperators"].as_object().unwrap();
        assert!(!all.is_empty(), "{name} has no operators");
        // The recorded controller skipped operators outside of the payload, and failed without the image of
        // the machine-config operator.
        let (assessed, skipped): (Vec<_>, Vec<_>) = all.iter().partition(|(_, insight)| insight.is_object());
        for (operator, why) in skipped {
            let why = why.as_str().unwrap();
            assert!(why == "filtered" || why.starts_with("error: "), "{name} {operator}: {why}");
        }
        let assessed: BTreeMap<String, Value> =
            assessed.into_iter().map(|(operator, insight)| (operator.clone(), insight.clone())).collect();
        assert_eq!(insights(name, recorded["now"].as_str().unwrap().parse().unwrap()), assessed, "{name}");
    });
}
