//! The agreement of objects in a quiet cluster.

use std::collections::BTreeSet;

use windtunnel_core::alert::AlertState;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DAEMON_SETS, DEPLOYMENTS, MACHINE_CONFIG_NODES,
    MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES, PODS,
};
use windtunnel_core::{Object, Resource, View, condition, text_of};
use windtunnel_openshift::mco;
use windtunnel_openshift::mco::annotations::{
    CURRENT_CONFIG, DESIRED_CONFIG, DESIRED_DRAIN, LAST_APPLIED_DRAIN, RELEASE_VERSION, STATE,
    UPDATE_IN_PROGRESS,
};

use super::convergence;
use super::machine_configs;
use super::operators;
use super::pools::{self, text};
use super::rule::{ObjectFinding, Rule, Scene};
use crate::record::WriteEvent;

/// The conditions that every ClusterOperator has.
const CONDITIONS: [&str; 3] = ["Available", "Degraded", "Progressing"];

/// Alerts whose cause a converged cluster cannot have.
const ALERTS: [&str; 5] = [
    "ClusterOperatorDegraded",
    "ClusterOperatorDown",
    "KubeNodeNotReady",
    "KubeNodeUnreachable",
    "MCCDrainError",
];

/// The namespaces whose workloads belong to the release.
const OPENSHIFT: &str = "openshift-";

/// The rule about quiet clusters.
#[derive(Default)]
pub(super) struct Settled {
    /// The MachineConfigNodes with a rejected write, until a later one reports the MachineConfig. The components of the
    /// machine-config operator print the error and go on (`Error making MCN for`).
    unreported: BTreeSet<String>,
}

impl Rule for Settled {
    fn id(&self) -> String {
        "settled".to_owned()
    }

    fn before(&mut self, _: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if !write.key.is_kind(&MACHINE_CONFIG_NODES) {
            return None;
        }
        let name = &write.key.name;
        if write.code >= 400 {
            self.unreported.insert(name.clone());
        } else if write.removes() || reports_config(write) {
            self.unreported.remove(name);
        }
        None
    }

    fn quiet(&mut self, scene: &Scene<'_>) -> Vec<ObjectFinding> {
        let view = scene.view;
        if convergence::is_refused(view) {
            return Vec::new();
        }
        let mut found = of_version(view);
        found.extend(view.list(&CLUSTER_OPERATORS).filter_map(|operator| of_operator(operator, view)));
        found.extend(view.list(&MACHINE_CONFIG_POOLS).filter_map(|pool| of_pool(pool, view)));
        found.extend(view.list(&NODES).filter_map(|node| self.of_node(node, view)));
        found.extend(view.list(&PODS).filter_map(|pod| of_pod(pod, view)));
        found.extend(of_workloads(view));
        found.extend(machine_configs::superfluous(view));
        let firing = scene.alerts.iter().filter(|alert| alert.state == AlertState::Firing);
        let wrong = firing.filter(|alert| ALERTS.contains(&alert.name()));
        found.extend(
            wrong.map(|alert| ObjectFinding::new(format!("alert {}", alert.name()), "fires without a cause")),
        );
        found
    }
}

impl Settled {
    /// A node has the MachineConfig of its pool, unless the pool is paused.
    fn of_node(&self, node: &Object, view: &View) -> Option<ObjectFinding> {
        let pool = pools::pool_of(node, view).filter(|pool| pool["spec"]["paused"] != true)?;
        let config = pool.text("/spec/configuration/name");
        let [current, desired, state] = [CURRENT_CONFIG, DESIRED_CONFIG, STATE].map(|key| text(node, key));
        let taints = node.list("/spec/taints");
        let how = if current != config || desired != config {
            format!("has {current} and should have {desired}, but its pool has {config}")
        } else if state != "Done" {
            format!("has its MachineConfig, but its state is {state}")
        } else if text(node, DESIRED_DRAIN) != text(node, LAST_APPLIED_DRAIN) {
            "has a drain request that nobody fulfils".to_owned()
        } else if taints.iter().any(|taint| taint["key"] == UPDATE_IN_PROGRESS) {
            format!("is updated, but has the taint {UPDATE_IN_PROGRESS}")
        } else {
            let is_reported = !self.unreported.contains(node.name());
            return is_reported.then(|| of_config_node(node, config, view)).flatten();
        };
        Some(finding_about(node, &NODES, how))
    }
}

fn finding_about(object: &Object, kind: &Resource, how: impl Into<String>) -> ObjectFinding {
    let namespace = object.namespace();
    let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    ObjectFinding::new(format!("{}/{namespace}{}", kind.kind, object.name()), how)
}

/// Returns how a status is behind the spec of its object.
fn behind(object: &Object) -> Option<String> {
    let (observed, generation) = (object.number("/status/observedGeneration")?, object.generation());
    (observed < generation)
        .then(|| format!("observedGeneration is {observed}, but generation is {generation}"))
}

fn of_version(view: &View) -> Vec<ObjectFinding> {
    let Some(version) = view.get(&CLUSTER_VERSIONS, "", "version") else { return Vec::new() };
    let desired = version.text("/status/desired/version");
    let newest = version.list("/status/history").first();
    // A reason says why the message is another one.
    let message = |kind: &str| {
        let found =
            condition::find_in_status(version, kind).filter(|found| text_of(found, "reason").is_empty());
        found.map_or("", |found| text_of(found, "message")).to_owned()
    };
    let mut found = Vec::new();
    let mut check = |holds: bool, how: String| {
        if !holds {
            found.push(finding_about(version, &CLUSTER_VERSIONS, how));
        }
    };
    let reached = newest.map_or("", |newest| text_of(newest, "version"));
    check(desired == reached, format!("desired is {desired}, but the history has {reached}"));
    check(condition::is_true(version, "Available"), "is not Available".to_owned());
    let (available, progressing) = (message("Available"), message("Progressing"));
    check(
        available.is_empty() || available == format!("Done applying {desired}"),
        format!("is at {desired}, but Available has the message: {available}"),
    );
    check(
        progressing.is_empty() || progressing == format!("Cluster version is {desired}"),
        format!("is at {desired}, but Progressing has the message: {progressing}"),
    );
    let has_time = newest.is_none_or(|newest| !text_of(newest, "completionTime").is_empty());
    check(has_time, "the newest release in its history is Completed without a completionTime".to_owned());
    found
}

fn of_operator(operator: &Object, view: &View) -> Option<ObjectFinding> {
    let missing = CONDITIONS.iter().find(|kind| condition::find_in_status(operator, kind).is_none());
    if let Some(missing) = missing {
        return Some(finding_about(operator, &CLUSTER_OPERATORS, format!("has no condition {missing}")));
    }
    let desired = payload_version(view)?;
    let reported = operators::version(operator);
    (!reported.is_empty() && reported != desired).then(|| {
        finding_about(
            operator,
            &CLUSTER_OPERATORS,
            format!("reports version {reported}, but the cluster is at {desired}"),
        )
    })
}

/// Returns the version of the cluster, if most operators report it. The payload of a user may have none of them.
fn payload_version(view: &View) -> Option<&str> {
    let desired = view.get(&CLUSTER_VERSIONS, "", "version")?.text("/status/desired/version");
    let operators =
        view.list(&CLUSTER_OPERATORS).map(operators::version).filter(|version| !version.is_empty());
    let (same, other): (Vec<&str>, Vec<&str>) = operators.partition(|version| *version == desired);
    (same.len() > other.len()).then_some(desired)
}

fn of_pool(pool: &Object, view: &View) -> Option<ObjectFinding> {
    let members: Vec<&Object> = pools::members(pool, view).collect();
    let count = |field: &str| pool["status"][field].as_u64().and_then(|count| usize::try_from(count).ok());
    let is_paused = pool["spec"]["paused"] == true;
    let config = pool.text("/spec/configuration/name");
    let updated = members.iter().filter(|node| text(node, CURRENT_CONFIG) == config).count();
    let unavailable = members.iter().filter(|node| pools::is_unavailable(node)).count();
    let counts = [
        ("machineCount", members.len()),
        ("updatedMachineCount", updated),
        ("readyMachineCount", updated),
        ("unavailableMachineCount", unavailable),
        ("degradedMachineCount", 0),
    ];
    let wrong = counts.iter().find_map(|(field, wanted)| {
        let found = count(field)?;
        (found != *wanted).then(|| format!("{field} is {found}, but its nodes make {wanted}"))
    });
    let how = behind(pool).or(wrong).or_else(|| {
        let has = pool.text("/status/configuration/name");
        (!is_paused && has != config).then(|| format!("its status has {has}, but its nodes have {config}"))
    });
    let how = how.or_else(|| {
        let is_updating = !is_paused && condition::is_true(pool, "Updating");
        is_updating.then(|| "has Updated=True and Updating=True".to_owned())
    });
    let how = how.or_else(|| outdated_release(pool, view).filter(|_| !is_paused));
    Some(finding_about(pool, &MACHINE_CONFIG_POOLS, how?))
}

/// Returns how the MachineConfig of a pool is from another release than the cluster.
fn outdated_release(pool: &Object, view: &View) -> Option<String> {
    let desired = payload_version(view)?;
    let config = view.get(&MACHINE_CONFIGS, "", pool.text("/spec/configuration/name"))?;
    let release = config.annotation(RELEASE_VERSION)?;
    (release != desired)
        .then(|| format!("has a MachineConfig of release {release}, but the cluster is at {desired}"))
}

/// The places of a MachineConfigNode that name the MachineConfig of its node.
const CONFIG_VERSIONS: [&str; 3] =
    ["/spec/configVersion/desired", "/status/configVersion/current", "/status/configVersion/desired"];

/// Whether a write changes a MachineConfig in a MachineConfigNode.
fn reports_config(write: &WriteEvent) -> bool {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return false };
    CONFIG_VERSIONS.iter().any(|place| before.text(place) != after.text(place))
}

/// The MachineConfigNode of a node has the same MachineConfig, unless it is left over.
fn of_config_node(node: &Object, config: &str, view: &View) -> Option<ObjectFinding> {
    if !mco::maintains_config_nodes(view) {
        return None;
    }
    let progress = view.get(&MACHINE_CONFIG_NODES, "", node.name())?;
    let wrong = CONFIG_VERSIONS
        .iter()
        .map(|place| progress.text(place))
        .find(|found| !found.is_empty() && *found != config);
    let how =
        wrong.map(|found| format!("has {found}, but its node has {config}")).or_else(|| behind(progress))?;
    Some(finding_about(progress, &MACHINE_CONFIG_NODES, how))
}

fn of_pod(pod: &Object, view: &View) -> Option<ObjectFinding> {
    let node = pod.text("/spec/nodeName");
    let is_known = node.is_empty() || view.get(&NODES, "", node).is_some();
    let has_nodes = view.list(&NODES).next().is_some();
    (has_nodes && !is_known)
        .then(|| finding_about(pod, &PODS, format!("is on node {node}, which does not exist")))
}

/// The workloads of the release are rolled out.
fn of_workloads(view: &View) -> Vec<ObjectFinding> {
    let is_own = |object: &&Object| object.namespace().starts_with(OPENSHIFT) && object["status"].is_object();
    let deployments =
        view.list(&DEPLOYMENTS).filter(is_own).filter(|object| object["spec"]["paused"] != true);
    let of_deployment = |object: &Object| {
        let wanted = object.number("/spec/replicas").unwrap_or(1);
        let counts = ["replicas", "updatedReplicas", "availableReplicas"];
        behind(object).or_else(|| wrong_count(object, &counts, wanted))
    };
    let daemon_sets = view.list(&DAEMON_SETS).filter(is_own);
    let of_daemon_set = |object: &Object| {
        let wanted = object.number("/status/desiredNumberScheduled").unwrap_or(0);
        let counts = ["currentNumberScheduled", "updatedNumberScheduled", "numberAvailable"];
        behind(object).or_else(|| wrong_count(object, &counts, wanted))
    };
    let deployments =
        deployments.filter_map(|object| Some(finding_about(object, &DEPLOYMENTS, of_deployment(object)?)));
    let daemon_sets =
        daemon_sets.filter_map(|object| Some(finding_about(object, &DAEMON_SETS, of_daemon_set(object)?)));
    deployments.chain(daemon_sets).collect()
}

fn wrong_count(object: &Object, fields: &[&str], wanted: i64) -> Option<String> {
    fields.iter().find_map(|field| {
        let found = object["status"][*field].as_i64().unwrap_or(0);
        (found != wanted).then(|| format!("{field} is {found}, but should be {wanted}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::FEATURE_GATES;

    use super::*;
    use crate::oracles::testing::Story;

    const RULE: &str = "settled";

    fn conditions(statuses: &[(&str, &str)]) -> Value {
        statuses.iter().map(|(kind, status)| json!({ "type": kind, "status": status })).collect()
    }

    fn version() -> Value {
        json!({
            "metadata": { "name": "version" },
            "status": {
                "desired": { "version": "4.18.3" },
                "history": [{ "state": "Completed", "version": "4.18.3", "completionTime": "t" }],
                "conditions": conditions(&[("Available", "True"), ("Progressing", "False")]),
            },
        })
    }

    fn operator(version: &str) -> Value {
        let statuses = [("Available", "True"), ("Degraded", "False"), ("Progressing", "False")];
        let versions = [json!({ "name": "operator", "version": version })];
        json!({ "metadata": { "name": "dns" }, "status": { "conditions": conditions(&statuses), "versions": versions } })
    }

    fn node(current: &str) -> Value {
        let annotations = json!({ (CURRENT_CONFIG): current, (DESIRED_CONFIG): current, (STATE): "Done" });
        json!({
            "metadata": { "name": "w0", "labels": { "role": "worker" }, "annotations": annotations },
            "status": { "conditions": conditions(&[("Ready", "True")]) },
        })
    }

    fn pool(count: usize) -> Value {
        json!({
            "metadata": { "name": "worker" },
            "spec": { "nodeSelector": { "matchLabels": { "role": "worker" } }, "configuration": { "name": "a" } },
            "status": {
                "configuration": { "name": "a" }, "machineCount": count, "updatedMachineCount": 1,
                "conditions": conditions(&[("Updated", "True"), ("Degraded", "False")]),
            },
        })
    }

    fn deployment(observed: i64) -> Value {
        json!({
            "metadata": { "namespace": "openshift-dns", "name": "d", "generation": 2 },
            "status": { "observedGeneration": observed, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 },
        })
    }

    /// A cluster in which all objects agree.
    fn story() -> Story {
        Story::new()
            .write(1, "a", &CLUSTER_VERSIONS, version())
            .write(1, "a", &CLUSTER_OPERATORS, operator("4.18.3"))
            .write(1, "a", &NODES, node("a"))
            .write(1, "a", &MACHINE_CONFIG_POOLS, pool(1))
            .write(1, "a", &DEPLOYMENTS, deployment(2))
    }

    #[test]
    fn a_quiet_cluster_in_which_all_objects_agree_is_settled() {
        assert_eq!(story().findings(RULE), Vec::<String>::new());
    }

    #[test]
    fn objects_that_disagree_are_reported() {
        let mut undone = version();
        undone["status"]["conditions"][1]["message"] = json!("Working towards 4.18.3");
        let mut silent = operator("4.18.3");
        silent["metadata"]["name"] = json!("etcd");
        silent["status"]["conditions"] = conditions(&[("Available", "True")]);
        let mut tainted = node("a");
        tainted["spec"]["taints"] = json!([{ "key": UPDATE_IN_PROGRESS }]);
        let pod = json!({ "metadata": { "namespace": "n", "name": "p" }, "spec": { "nodeName": "w7" } });
        for (resource, object, expected) in [
            (
                &CLUSTER_VERSIONS,
                undone,
                "ClusterVersion/version: is at 4.18.3, but Progressing has the message: Working towards 4.18.3",
            ),
            (&CLUSTER_OPERATORS, silent, "ClusterOperator/etcd: has no condition Degraded"),
            (&NODES, tainted, "Node/w0: is updated, but has the taint UpdateInProgress"),
            (
                &MACHINE_CONFIG_POOLS,
                pool(2),
                "MachineConfigPool/worker: machineCount is 2, but its nodes make 1",
            ),
            (
                &DEPLOYMENTS,
                deployment(1),
                "Deployment/openshift-dns/d: observedGeneration is 1, but generation is 2",
            ),
            (&PODS, pod, "Pod/n/p: is on node w7, which does not exist"),
        ] {
            assert_eq!(story().write(2, "a", resource, object).findings(RULE), [expected]);
        }
    }

    #[test]
    fn a_machine_config_node_follows_its_node_unless_it_is_left_over() {
        let progress = json!({
            "metadata": { "name": "w0" }, "spec": { "configVersion": { "desired": "before" } },
        });
        let gate = |feature_set: &str| json!({ "metadata": { "name": "cluster" }, "spec": { "featureSet": feature_set } });
        let preview = story().write(1, "a", &FEATURE_GATES, gate("TechPreviewNoUpgrade")).write(
            2,
            "a",
            &MACHINE_CONFIG_NODES,
            progress.clone(),
        );
        assert_eq!(preview.findings(RULE), ["MachineConfigNode/w0: has before, but its node has a"]);
        let custom = story().write(1, "a", &MACHINE_CONFIG_NODES, progress).write(
            2,
            "a",
            &FEATURE_GATES,
            gate("CustomNoUpgrade"),
        );
        assert!(custom.findings(RULE).is_empty());
    }

    #[test]
    fn an_operator_is_behind_if_most_others_are_not() {
        let named = |name: &str, version: &str| {
            let mut operator = operator(version);
            operator["metadata"]["name"] = json!(name);
            operator
        };
        let behind = |others: usize| {
            let story = story().write(2, "a", &CLUSTER_OPERATORS, named("etcd", "4.18.1"));
            (0..others).fold(story, |story, index| {
                story.write(2, "a", &CLUSTER_OPERATORS, named(&format!("o{index}"), "4.18.3"))
            })
        };
        assert!(behind(0).findings(RULE).is_empty(), "a payload need not have all operators");
        let expected = "ClusterOperator/etcd: reports version 4.18.1, but the cluster is at 4.18.3";
        assert_eq!(behind(2).findings(RULE), [expected]);
    }

    #[test]
    fn a_cluster_with_work_left_is_not_judged() {
        let story = story().write(2, "a", &MACHINE_CONFIG_POOLS, {
            let mut updating = pool(2);
            updating["status"]["conditions"][0]["status"] = json!("False");
            updating
        });
        assert!(story.findings(RULE).is_empty());
    }
}
