//! Compares the update status controller's assessments with those of the real one, and checks its manifests.

mod documents;
mod operators;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, yaml};
use windtunnel_update_status::assessment::progress::Progress;
use windtunnel_update_status::assessment::{cluster_operator, cluster_version, health, node};
use windtunnel_update_status::insight::{Detail, Insight};

use crate::recordings::{entries, ours, shared, shared_or_skip};

/// Passes each recorded vector of a file in `tests/insights` to a check, with its line, then those of the larger
/// file in `../shared`.
fn each_vector(file: &str, check: impl Fn(&Value, &str)) {
    let text = fs::read_to_string(ours(&format!("insights/{file}.jsonl"))).unwrap();
    let more = shared(&format!("golden/status-insights/{file}.jsonl"));
    let more = more.map(|path| fs::read_to_string(path).unwrap()).unwrap_or_default();
    assert!(!text.trim().is_empty(), "no vectors in {file}");
    for line in text.lines().chain(more.lines()) {
        check(&serde_json::from_str(line).unwrap(), line);
    }
}

/// Passes the name of each recorded cluster, and the real controller's output, to a check. There must be
/// some.
fn each_cluster(check: impl Fn(&str, &Value)) {
    let Some(folder) = shared_or_skip("golden/status-insights/clusters") else { return };
    for path in entries(&folder) {
        let recorded = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        check(path.file_stem().unwrap().to_str().unwrap(), &recorded);
    }
}

/// The ClusterVersion of a recorded cluster, whose file has a list or the object itself.
fn dumped_cluster_version(cluster: &str) -> Value {
    let dump = shared(&format!("golden/upgrade-status/{cluster}/clusterversion.yaml")).unwrap();
    let object: Value = yaml::from_str(&fs::read_to_string(dump).unwrap()).unwrap();
    if object["items"].is_array() { object["items"][0].clone() } else { object }
}

/// Both assessments of a ClusterVersion, as JSON.
fn assess(object: &Value, now: &str) -> (Value, Vec<Value>) {
    let now: Time = now.parse().unwrap();
    let status = serde_json::to_value(cluster_version::upstream(object, now)).unwrap();
    let mut findings = health::Findings::new(health::PriorInsights { now, earlier: &|_| None });
    health::assess_cluster_version(&health::Facts::new(object), &mut findings);
    // The recorded controller had no other health insight.
    let forced = findings.found().into_iter().filter(|found| found.cause.name == "Forced health insight");
    (status, forced.map(|found| serde_json::to_value(&found.insight).unwrap()).collect())
}

#[test]
fn cluster_versions_are_assessed_as_the_recorded_controller_did() {
    each_vector("clusterversion", |vector, line| {
        let input = &vector["in"]["clusterVersion"];
        let mut conditions = Vec::new();
        if let Some(fields) = input["progressing"].as_object() {
            let mut condition = json!(fields);
            condition["type"] = json!("Progressing");
            conditions.push(condition);
        }
        let object = json!({
            "metadata": {"name": input["name"], "annotations": input["annotations"]},
            "status": {"history": input["history"], "conditions": conditions},
        });
        let (status, health) = assess(&object, vector["in"]["now"].as_str().unwrap());
        assert_eq!(status, vector["out"], "{line}");
        assert_eq!(health, vector["health"].as_array().cloned().unwrap_or_default(), "{line}");
    });
}

#[test]
fn cluster_operators_are_assessed_as_the_recorded_controller_did() {
    each_vector("clusteroperator", |vector, line| {
        let (input, now) = (&vector["in"], vector["in"]["now"].as_str().unwrap().parse().unwrap());
        let object = json!({"metadata": {"name": input["clusterOperator"]["name"]}, "status": input["clusterOperator"]["status"]});
        let operator = cluster_operator::Operator::read(&object);
        let is_machine_config = operator.name == cluster_operator::MACHINE_CONFIG;
        let image = if is_machine_config { input["mcoImage"].as_str().unwrap() } else { "" };
        let insight =
            cluster_operator::assess(&operator, input["targetVersion"].as_str().unwrap(), image, now);
        assert_eq!(serde_json::to_value(insight).unwrap(), vector["out"], "{line}");
    });
}

/// The node insight of a recorded vector's input.
fn assess_node(input: &Value) -> Value {
    let [facts, pool] = [&input["node"], &input["pool"]];
    let object = json!({
        "metadata": {"name": facts["name"], "annotations": facts["annotations"]},
        "spec": {"unschedulable": facts["unschedulable"]},
        "status": {"conditions": facts["conditions"]},
    });
    let pool = json!({
        "metadata": {"name": pool["name"], "labels": pool["labels"], "annotations": pool["annotations"]},
        "spec": {"paused": pool["paused"]},
    });
    let releases = node::Releases {
        of: &|name| input["machineConfigVersions"][name].as_str(),
        newest: input["mostRecentVersion"].as_str().unwrap(),
        migrates: false,
    };
    let now: Time = input["now"].as_str().unwrap().parse().unwrap();
    let insight = node::upstream(&node::Node::read(&object), &node::Pool::read(&pool), releases, now);
    serde_json::to_value(insight).unwrap()
}

#[test]
fn nodes_are_assessed_as_the_recorded_controller_did() {
    each_vector("node", |vector, line| {
        assert_eq!(assess_node(&vector["in"]), vector["out"], "{line}");
    });
}

#[test]
fn the_cluster_versions_of_recorded_clusters_are_assessed_as_the_recorded_controller_did() {
    each_cluster(|name, recorded| {
        let object = dumped_cluster_version(name);
        let (status, _) = assess(&object, recorded["now"].as_str().unwrap());
        assert_eq!(status, recorded["clusterVersion"], "{name}");
    });
}

/// The objects of a recorded cluster in this file.
fn dumped(cluster: &str, file: &str) -> Vec<Value> {
    let dump = shared(&format!("golden/upgrade-status/{cluster}/{file}.yaml")).unwrap();
    let list: Value = yaml::from_str(&fs::read_to_string(&dump).unwrap()).unwrap();
    list["items"].as_array().unwrap().clone()
}

#[test]
fn the_nodes_of_recorded_clusters_are_assessed_as_the_recorded_controller_did() {
    each_cluster(|name, recorded| {
        let cluster_version = dumped_cluster_version(name);
        let pools: Vec<_> = dumped(name, "machineconfigpools").iter().map(node::Pool::read).collect();
        let releases: BTreeMap<String, String> = dumped(name, "machineconfigs")
            .iter()
            .filter_map(|config| {
                let name = config["metadata"]["name"].as_str().unwrap().to_owned();
                node::release_of(config).map(|release| (name, release.to_owned()))
            })
            .collect();
        let release_of = |config: &str| releases.get(config).map(String::as_str);
        let newest = cluster_version::target_version(&cluster_version);
        let releases = node::Releases { of: &release_of, newest, migrates: false };
        let now: Time = recorded["now"].as_str().unwrap().parse().unwrap();
        let mut insights = json!({});
        for object in dumped(name, "nodes").iter().map(node::Node::read) {
            let pool = node::pool_of(&object, pools.iter()).unwrap();
            insights[&object.name] =
                serde_json::to_value(node::upstream(&object, pool, releases, now)).unwrap();
        }
        assert_ne!(insights, json!({}), "{name} has no nodes");
        assert_eq!(insights, recorded["nodes"], "{name}");
    });
}

#[test]
fn texts_are_unchanged_after_a_round_trip_through_the_config_map() {
    let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
    each_vector("yaml-scalars", |scalar, _| {
        let object =
            json!({"metadata": {"name": "version"}, "status": {"history": [{"version": scalar["in"]}]}});
        let detail = Detail::ClusterVersion(cluster_version::upstream(&object, now));
        let insight = Insight { uid: "cv-version".to_owned(), acquired_at: now, detail };
        let published = yaml::to_string(&insight).unwrap();
        assert_eq!(yaml::from_str::<Insight>(&published).unwrap(), insight, "{published}");
    });
}

#[test]
fn the_crd_of_4_13_freezes_a_status_with_the_capabilities_of_4_14() {
    let [old, new] = [(4, 13), (4, 14)].map(|minor| {
        let is_cluster_version =
            |crd: &&Value| crd["metadata"]["name"] == "clusterversions.config.openshift.io";
        windtunnel_openshift::manifests::crds(minor).find(is_cluster_version).unwrap()
    });
    let list = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/capabilities/properties\
                /enabledCapabilities/items/enum";
    let capabilities = json!({"enabledCapabilities": new.pointer(list).unwrap()});
    let object = json!({"metadata": {"name": "version"}, "status": {"capabilities": capabilities}});
    let summaries = |crd: &Value, minor| {
        let facts =
            health::Facts { crd: Some(crd), kubernetes_minor: Some(minor), ..health::Facts::new(&object) };
        let now = "2024-01-01T00:00:00Z".parse().unwrap();
        let mut findings = health::Findings::new(health::PriorInsights { now, earlier: &|_| None });
        health::assess_cluster_version(&facts, &mut findings);
        findings.found().into_iter().map(|found| found.insight.impact.summary).collect::<Vec<_>>()
    };
    let wanted = "ClusterVersion version can no longer be written: its CRD does not know capabilities Build, \
                  DeploymentConfig, ImageRegistry, MachineAPI";
    assert_eq!(summaries(old, 26), [wanted]);
    assert!(summaries(old, 31).is_empty());
    assert!(summaries(new, 27).is_empty());
}

/// All documents of the controller's manifests.
fn manifests() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/update-status-controller");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| yaml::from_str_multi(&fs::read_to_string(path).unwrap()).unwrap()).collect()
}

#[test]
fn the_manifests_install_the_controller_in_dev_preview_clusters_only() {
    let manifests = manifests();
    let kinds: Vec<&str> = manifests.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    let wanted = [
        "Namespace",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "CustomResourceDefinition",
        "CustomResourceDefinition",
        "Deployment",
        "NetworkPolicy",
        "Service",
    ];
    assert_eq!(kinds, wanted);
    for object in &manifests {
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(annotations["release.openshift.io/feature-set"], "DevPreviewNoUpgrade", "{object}");
        assert_eq!(
            annotations["include.release.openshift.io/self-managed-high-availability"], "true",
            "{object}"
        );
    }
}

/// All variants of `whole` in which `replacement` replaces one value.
fn variants(whole: &Value, replacement: &Value) -> Vec<Value> {
    let mut all = vec![replacement.clone()];
    match whole {
        Value::Object(fields) => {
            for (name, value) in fields {
                all.extend(variants(value, replacement).into_iter().map(|inner| {
                    let mut copy = whole.clone();
                    copy[name] = inner;
                    copy
                }));
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                all.extend(variants(value, replacement).into_iter().map(|inner| {
                    let mut copy = whole.clone();
                    copy[at] = inner;
                    copy
                }));
            }
        }
        _ => {}
    }
    all
}

#[test]
fn malformed_objects_have_insights() {
    let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
    let lists = json!({"enabledCapabilities": {"items": {"enum": ["Console"]}}});
    let schema = json!({"properties": {"status": {"properties": {"capabilities": {"properties": lists}}}}});
    let whole = json!({
        "object": {
            "metadata": {"name": "version", "annotations": {
                "usc.openshift.io/force-health-insight": "", "include.release.openshift.io/x": "true",
            }},
            "spec": {"desiredUpdate": {"version": "4.14.1"}},
            "status": {
                "conditions": [
                    {"type": "Progressing", "status": "True"},
                    {"type": "Failing", "status": "True", "reason": "R", "lastTransitionTime": "2024-01-01T00:00:00Z"},
                    {"type": "ReleaseAccepted", "status": "False", "reason": "RetrievePayload", "message": "version=\"\""},
                ],
                "history": [
                    {"state": "Partial", "startedTime": "2024-01-01T00:00:00Z", "version": "4.14.1"},
                    {"state": "Partial", "version": "4.14.0"},
                ],
                "capabilities": {"enabledCapabilities": ["Build"]},
            },
        },
        "crd": {"spec": {"versions": [{"served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}},
    });
    let count = |whole: &Value| {
        let (cluster_version, crd) = (&whole["object"], whole.get("crd"));
        let operator = cluster_operator::Operator::read(cluster_version);
        let object = Object::new(cluster_version.clone());
        let progress = Progress::compute(&object, [&operator].into_iter(), "", now);
        let status = cluster_version::assess(cluster_version, progress.as_ref(), now);
        assert_eq!(status.conditions.len(), 1, "{whole}");
        let progress = progress.as_ref();
        let facts = health::Facts {
            crd,
            progress,
            kubernetes_minor: Some(27),
            ..health::Facts::new(cluster_version)
        };
        let mut findings = health::Findings::new(health::PriorInsights { now, earlier: &|_| None });
        health::assess_cluster_version(&facts, &mut findings);
        findings.found().len()
    };
    assert_eq!(count(&whole), 5);
    let replacements =
        [json!(null), json!(7), json!("\u{e9}\" \u{1f980}"), json!([[]]), json!({"": {}}), json!(true)];
    for object in replacements.iter().flat_map(|replacement| variants(&whole, replacement)) {
        assert!(count(&object) <= 5, "{object}");
    }
}
