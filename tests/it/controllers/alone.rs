//! Each Kubernetes controller alone beside an API server, as in the tests of other projects. No controller
//! needs the others.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, Namespace, Node, Pod, ReplicationController, ResourceQuota, Service, ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::cleanup::garbage_collector::GarbageCollector;
use windtunnel_controllers::cleanup::namespaces::NamespaceController;
use windtunnel_controllers::cleanup::pod_gc::PodGarbageCollector;
use windtunnel_controllers::endpoints::{EndpointSliceController, EndpointsController};
use windtunnel_controllers::kubelet::Kubelet;
use windtunnel_controllers::node_lifecycle::NodeLifecycleController;
use windtunnel_controllers::resource_quota::ResourceQuotaController;
use windtunnel_controllers::scheduler::Scheduler;
use windtunnel_controllers::service_accounts::{RootCaPublisher, ServiceAccountsController};
use windtunnel_controllers::workloads::daemon_sets::DaemonSetController;
use windtunnel_controllers::workloads::deployments::DeploymentController;
use windtunnel_controllers::workloads::disruption::DisruptionController;
use windtunnel_controllers::workloads::jobs::JobController;
use windtunnel_controllers::workloads::replica_sets::ReplicaSetController;
use windtunnel_controllers::workloads::stateful_sets::StatefulSetController;
use windtunnel_controllers::workloads::ttl_after_finished::TtlAfterFinishedController;
use windtunnel_controllers::{Actor, runner};
use windtunnel_core::Identity;
use windtunnel_core::clock::{Time, VirtualClock};
use windtunnel_core::rng::Streams;
use windtunnel_openshift::environment::Environment;

use super::{config_map, create, pass, put_ready};

/// A server with one controller beside it.
fn beside(controller: impl Actor + 'static) -> kube::Client {
    let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
    let server = Shared::new(ApiServer::builder().build(now), VirtualClock::starting_at(now));
    tokio::spawn(runner::run(server.clone(), vec![Box::new(controller)]));
    server.client(&Identity::admin())
}

/// A pod template with the labels `app: web`, and the selector that finds its pods.
fn web() -> (Value, Value) {
    let labels = json!({ "app": "web" });
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
    (json!({ "metadata": { "labels": labels }, "spec": spec }), json!({ "matchLabels": labels }))
}

/// Creates a ready node without the taint of new nodes.
async fn put_node(client: &kube::Client, name: &str) {
    let ready = json!({ "type": "Ready", "status": "True" });
    let status = json!({ "allocatable": { "pods": "10" }, "conditions": [ready] });
    let nodes: Api<Node> = Api::all(client.clone());
    create(&nodes, json!({ "metadata": { "name": name }, "status": status })).await;
    let untaint = Patch::Merge(json!({ "spec": { "taints": null } }));
    nodes.patch(name, &PatchParams::default(), &untaint).await.unwrap();
}

async fn pods(client: &kube::Client) -> Vec<Pod> {
    Api::<Pod>::default_namespaced(client.clone()).list(&ListParams::default()).await.unwrap().items
}

#[tokio::test(start_paused = true)]
async fn the_garbage_collector_deletes_objects_without_owners() {
    let client = beside(GarbageCollector::new());
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let owner = create(&maps, config_map("owner", None)).await;
    create(&maps, config_map("dependent", Some(&owner))).await;
    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    pass(1).await;
    assert!(maps.get_opt("dependent").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_namespace_controller_empties_a_namespace() {
    let client = beside(NamespaceController::new());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    create(&namespaces, json!({ "metadata": { "name": "doomed" } })).await;
    create(&Api::<ConfigMap>::namespaced(client, "doomed"), config_map("c", None)).await;
    namespaces.delete("doomed", &DeleteParams::default()).await.unwrap();
    pass(30).await;
    assert!(namespaces.get_opt("doomed").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_job_controller_creates_pods_and_counts_those_that_have_ended() {
    let client = beside(JobController::with_minor(33));
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "restartPolicy": "Never" });
    let spec = json!({ "parallelism": 2, "completions": 3, "template": { "spec": spec } });
    create(&jobs, json!({ "metadata": { "name": "sum" }, "spec": spec })).await;
    pass(1).await;
    assert_eq!(pods(&client).await.len(), 2, "two run in parallel");
    for _ in 0..2 {
        for pod in pods(&client).await {
            let ended = Patch::Merge(json!({ "status": { "phase": "Succeeded" } }));
            let name = pod.metadata.name.unwrap();
            let api: Api<Pod> = Api::default_namespaced(client.clone());
            api.patch_status(&name, &PatchParams::default(), &ended).await.unwrap();
        }
        pass(1).await;
    }
    let status = jobs.get("sum").await.unwrap().status.unwrap();
    assert_eq!((status.succeeded, pods(&client).await.len()), (Some(3), 3));
    let types: Vec<String> =
        status.conditions.unwrap().into_iter().map(|condition| condition.type_).collect();
    assert_eq!(types, ["SuccessCriteriaMet", "Complete"]);
}

#[tokio::test(start_paused = true)]
async fn each_workload_controller_creates_its_own_objects() {
    let (template, selector) = web();
    let spec = json!({ "replicas": 2, "selector": selector, "template": template });
    let metadata = json!({ "name": "web" });
    let object = json!({ "metadata": metadata, "spec": spec });

    let client = beside(DeploymentController::new(&Streams::new(1)));
    create(&Api::<Deployment>::default_namespaced(client.clone()), object.clone()).await;
    pass(1).await;
    let sets =
        Api::<ReplicaSet>::default_namespaced(client).list(&ListParams::default()).await.unwrap().items;
    assert_eq!(sets.iter().filter_map(|set| set.spec.replicas).collect::<Vec<_>>(), [2]);

    let client = beside(ReplicaSetController::new());
    create(&Api::<ReplicaSet>::default_namespaced(client.clone()), object).await;
    pass(1).await;
    assert_eq!(pods(&client).await.len(), 2);

    let client = beside(DaemonSetController::new(&Streams::new(1)));
    for node in ["a", "b", "c"] {
        put_node(&client, node).await;
    }
    let spec = json!({ "selector": selector, "template": template });
    create(
        &Api::<DaemonSet>::default_namespaced(client.clone()),
        json!({ "metadata": metadata, "spec": spec }),
    )
    .await;
    pass(1).await;
    assert_eq!(pods(&client).await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn replication_controllers_and_stateful_sets_have_their_pods() {
    let (template, selector) = web();
    let client = beside(ReplicaSetController::for_replication_controllers());
    let spec = json!({ "replicas": 2, "template": template });
    let controllers: Api<ReplicationController> = Api::default_namespaced(client.clone());
    create(&controllers, json!({ "metadata": { "name": "web" }, "spec": spec })).await;
    pass(1).await;
    assert_eq!(pods(&client).await.len(), 2);
    assert_eq!(controllers.get("web").await.unwrap().status.unwrap().replicas, 2);

    let client = beside(StatefulSetController::new());
    let spec = json!({
        "replicas": 2, "serviceName": "web", "podManagementPolicy": "Parallel", "selector": selector, "template": template,
    });
    let sets: Api<StatefulSet> = Api::default_namespaced(client.clone());
    create(&sets, json!({ "metadata": { "name": "web" }, "spec": spec })).await;
    pass(1).await;
    let names: Vec<_> = pods(&client).await.into_iter().filter_map(|pod| pod.metadata.name).collect();
    assert_eq!(names, ["web-0", "web-1"]);
    let status = sets.get("web").await.unwrap().status.unwrap();
    let revisions: Api<ControllerRevision> = Api::default_namespaced(client);
    assert_eq!(revisions.get(&status.update_revision.unwrap()).await.unwrap().revision, Some(1));
}

#[tokio::test(start_paused = true)]
async fn quotas_limit_only_with_their_controller_if_the_server_leaves_it_the_limits() {
    let quota = json!({ "metadata": { "name": "q" }, "spec": { "hard": { "configmaps": "1" } } });
    for (actors, expected) in
        [(Vec::new(), true), (vec![Box::new(ResourceQuotaController::new()) as Box<dyn Actor>], false)]
    {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let server = ApiServer::builder().quota_controller(true).build(now);
        let server = Shared::new(server, VirtualClock::starting_at(now));
        tokio::spawn(runner::run(server.clone(), actors));
        let client = server.client(&Identity::admin());
        create(&Api::<ResourceQuota>::default_namespaced(client.clone()), quota.clone()).await;
        pass(1).await;
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        create(&maps, config_map("a", None)).await;
        let second: ConfigMap = serde_json::from_value(config_map("b", None)).unwrap();
        assert_eq!(maps.create(&PostParams::default(), &second).await.is_ok(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn finished_jobs_are_deleted_after_their_ttl() {
    let client = beside(TtlAfterFinishedController::new());
    let jobs: Api<Job> = Api::default_namespaced(client);
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "restartPolicy": "Never" });
    let spec = json!({ "ttlSecondsAfterFinished": 60, "template": { "spec": spec } });
    create(&jobs, json!({ "metadata": { "name": "sum" }, "spec": spec })).await;
    let at = "2024-01-01T00:00:00Z";
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": at });
    let conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
    let status = json!({ "startTime": at, "completionTime": at, "conditions": conditions });
    let done = Patch::Merge(json!({ "status": status }));
    jobs.patch_status("sum", &PatchParams::default(), &done).await.unwrap();
    pass(50).await;
    assert!(jobs.get("sum").await.unwrap().metadata.deletion_timestamp.is_none());
    pass(20).await;
    let job = jobs.get_opt("sum").await.unwrap();
    assert!(job.is_none_or(|job| job.metadata.deletion_timestamp.is_some()));
}

#[tokio::test(start_paused = true)]
async fn the_disruption_controller_reports_allowed_disruptions() {
    let client = beside(DisruptionController::new());
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    for name in ["a", "b"] {
        put_ready(&pods, name).await;
    }
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(client);
    let spec = json!({ "minAvailable": 1, "selector": web().1 });
    create(&budgets, json!({ "metadata": { "name": "web" }, "spec": spec })).await;
    pass(1).await;
    let status = budgets.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.current_healthy, status.disruptions_allowed), (Some(2), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn the_node_lifecycle_controller_taints_a_node_whose_kubelet_is_silent() {
    let client = beside(NodeLifecycleController::new());
    let nodes: Api<Node> = Api::all(client.clone());
    put_node(&client, "a").await;
    // Pods are only evicted while some node is ready.
    put_node(&client, "b").await;
    let renewed = json!({ "renewTime": "2024-01-01T00:00:00.000000Z", "leaseDurationSeconds": 40 });
    create(
        &Api::<Lease>::namespaced(client, "kube-node-lease"),
        json!({ "metadata": { "name": "a" }, "spec": renewed }),
    )
    .await;
    pass(30).await;
    let taints = |node: Node| -> Vec<String> {
        let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        taints.into_iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect()
    };
    assert_eq!(taints(nodes.get("a").await.unwrap()), Vec::<String>::new());
    pass(30).await;
    let node = nodes.get("a").await.unwrap();
    let ready = node.status.as_ref().unwrap().conditions.as_ref().unwrap();
    let ready = ready.iter().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_deref()), ("Unknown", Some("NodeStatusUnknown")));
    let unreachable = "node.kubernetes.io/unreachable";
    assert_eq!(taints(node), [format!("{unreachable}:NoSchedule"), format!("{unreachable}:NoExecute")]);
}

#[tokio::test(start_paused = true)]
async fn namespaces_get_a_service_account_and_the_certificate_of_the_server() {
    let client = beside(ServiceAccountsController::new());
    create(&Api::<Namespace>::all(client.clone()), json!({ "metadata": { "name": "n" } })).await;
    pass(1).await;
    assert!(Api::<ServiceAccount>::namespaced(client, "n").get("default").await.is_ok());

    let client = beside(RootCaPublisher::new("a certificate"));
    create(&Api::<Namespace>::all(client.clone()), json!({ "metadata": { "name": "n" } })).await;
    pass(1).await;
    let map = Api::<ConfigMap>::namespaced(client, "n").get("kube-root-ca.crt").await.unwrap();
    assert_eq!(map.data.unwrap()["ca.crt"], "a certificate");
}

#[tokio::test(start_paused = true)]
async fn services_get_their_endpoints() {
    let service = json!({
        "metadata": { "name": "web" },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
    });
    let slices = beside(EndpointSliceController::new());
    let endpoints = beside(EndpointsController::new());
    for client in [&slices, &endpoints] {
        create(&Api::<Service>::default_namespaced(client.clone()), service.clone()).await;
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        put_ready(&pods, "a").await;
        let reached =
            Patch::Merge(json!({ "status": { "podIP": "10.0.0.7", "podIPs": [{ "ip": "10.0.0.7" }] } }));
        pods.patch_status("a", &PatchParams::default(), &reached).await.unwrap();
    }
    pass(5).await;
    let of_web = ListParams::default().labels("kubernetes.io/service-name=web");
    let found = Api::<EndpointSlice>::default_namespaced(slices).list(&of_web).await.unwrap();
    let addresses: Vec<String> = found
        .items
        .into_iter()
        .flat_map(|slice| slice.endpoints.unwrap_or_default())
        .flat_map(|endpoint| endpoint.addresses)
        .collect();
    assert_eq!(addresses, ["10.0.0.7"]);
    let found = Api::<Endpoints>::default_namespaced(endpoints).get("web").await.unwrap();
    let subsets = found.subsets.unwrap_or_default().into_iter();
    let addresses = subsets.flat_map(|subset| subset.addresses.unwrap_or_default());
    assert_eq!(addresses.map(|address| address.ip).collect::<Vec<_>>(), ["10.0.0.7"]);
}

#[tokio::test(start_paused = true)]
async fn the_scheduler_the_kubelet_and_the_pod_garbage_collector_work_alone() {
    let pod =
        json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let bound = |to: &str| {
        let mut pod = pod.clone();
        pod["spec"]["nodeName"] = json!(to);
        pod
    };

    let client = beside(Scheduler::new());
    put_node(&client, "a").await;
    let all: Api<Pod> = Api::default_namespaced(client);
    create(&all, pod.clone()).await;
    pass(1).await;
    assert_eq!(all.get("p").await.unwrap().spec.unwrap().node_name.as_deref(), Some("a"));

    let client = beside(Kubelet::new("a", Arc::new(Environment::default()), &Streams::new(1)));
    put_node(&client, "a").await;
    let all: Api<Pod> = Api::default_namespaced(client);
    create(&all, bound("a")).await;
    pass(30).await;
    assert_eq!(all.get("p").await.unwrap().status.unwrap().phase.as_deref(), Some("Running"));

    let client = beside(PodGarbageCollector::new());
    let all: Api<Pod> = Api::default_namespaced(client);
    create(&all, bound("nowhere")).await;
    pass(120).await;
    assert!(all.get_opt("p").await.unwrap().is_none(), "the node of the pod does not exist");
}
