//! Tests of passes over unhealthy objects.

use serde_json::json;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;

use super::*;

#[test]
fn an_installation_continues_past_degraded_operators_and_then_reconciles() {
    let tasks = vec![operator("20", "dns"), config_map("20", "dns", "a")];
    let mut cluster = Cluster::new(ApplyMode::Initializing, tasks);
    cluster.report("dns", "True", &[]);
    cluster.run(1);
    assert_eq!(cluster.log, ["0 create ConfigMap/a"]);
    assert_eq!(cluster.failure(), ("ClusterOperatorDegraded", "Cluster operator dns is degraded"));
    assert_eq!((cluster.apply.progress.completed, cluster.apply.mode), (0, ApplyMode::Initializing));
    cluster.run(R);
    assert_eq!((cluster.apply.progress.completed, cluster.apply.mode), (0, ApplyMode::Reconciling));
    cluster.healthy("dns");
    cluster.run(R);
    assert_eq!((cluster.failure(), cluster.apply.progress.completed), (("", ""), 1));
}

#[test]
fn a_deployment_that_cannot_roll_out_is_a_failure() {
    let metadata = json!({ "name": "d", "namespace": "ns" });
    let wanted = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata });
    for (conditions, reason, message) in [
        (
            json!([{ "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota" }]),
            "WorkloadNotProgressing",
            "deployment ns/d has a replica failure FailedCreate: quota",
        ),
        (
            json!([{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "late" }]),
            "WorkloadNotProgressing",
            "deployment ns/d is Progressing=False: ProgressDeadlineExceeded: late",
        ),
        (
            json!([
                { "type": "Available", "status": "False", "reason": "Few", "message": "0 of 1" },
                { "type": "Progressing", "status": "False", "reason": "Stuck", "message": "no room" },
            ]),
            "WorkloadNotAvailable",
            "deployment ns/d is not available Few (0 of 1) and not progressing Stuck (no room)",
        ),
        (json!([{ "type": "Available", "status": "False" }]), "", ""),
    ] {
        let mut cluster = Cluster::new(ApplyMode::Updating, vec![object("20", "a", wanted.clone())]);
        let mut existing = wanted.clone();
        existing["status"] = json!({ "conditions": conditions });
        cluster.put(&windtunnel_core::resources::DEPLOYMENTS, existing);
        // The first write adds the owner reference. The next pass checks the health.
        cluster.run(2 * R + 60);
        assert_eq!(cluster.failure(), (reason, message));
    }
}

#[test]
fn a_definition_must_be_established() {
    let wanted = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "gadgets.x" },
    });
    for (conditions, message) in [
        (
            json!([{ "type": "Established", "status": "False", "reason": "Installing", "message": "not yet" }]),
            "CustomResourceDefinition gadgets.x is not established: Installing: not yet",
        ),
        (json!([]), "CustomResourceDefinition gadgets.x does not declare an Established status condition"),
    ] {
        let mut cluster = Cluster::new(ApplyMode::Updating, vec![object("20", "a", wanted.clone())]);
        let mut existing = wanted.clone();
        existing["status"] = json!({ "conditions": conditions });
        cluster.put(&CUSTOM_RESOURCE_DEFINITIONS, existing);
        cluster.run(2 * R + 60);
        assert_eq!(cluster.failure(), ("CustomResourceDefinitionNotEstablished", message));
    }
}

#[test]
fn a_clusteroperator_without_expected_versions_fails_the_pass() {
    let without_versions = |name| {
        let mut task = operator("20", name);
        let TaskKind::ClusterOperator(operator) = &mut task.what else { panic!("{task:?} is no operator") };
        operator.versions.clear();
        task
    };
    let mut cluster =
        Cluster::new(ApplyMode::Updating, vec![without_versions("dns"), without_versions("etcd")]);
    cluster.healthy("dns");
    cluster.healthy("etcd");
    cluster.run(1);
    assert_eq!(
        cluster.failure(),
        ("ClusterOperatorsNoVersions", "Cluster operators dns, etcd do not declare expected versions")
    );
}
