//! The objects of an installed and settled cluster, as an installer leaves them.

mod gates;
mod nodes;
mod proxy;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use semver::Version;
use serde_json::{Map, Value, json};
use windtunnel_controllers::registry::{Image, digest_of};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{self, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::{Change, ChangeKind, Object, Resource, View, Write, name_of};
use windtunnel_openshift::cvo::{self, InstalledPayload, Surroundings};
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::release::{Architecture, OperatorFacts, Release};
use windtunnel_openshift::{manifests, mco, operators, signature};
use windtunnel_update_status::insight::published;

use crate::plan::{ClusterPlan, PlannedObject, Platform, PoolPlan, ReleasePlan};
use nodes::nodes;
pub(super) use nodes::{labels_of, machines, set_os_info};

/// How long before the run the installation began and ended.
const STARTED_AGO: SignedDuration = SignedDuration::from_hours(25);
const COMPLETED_AGO: SignedDuration = SignedDuration::from_hours(24);

/// The CRD of ClusterVersion.
const CLUSTER_VERSIONS: &str = "clusterversions.config.openshift.io";

/// The environment of the planned cluster: registry, releases and update service.
pub(super) fn environment(plan: &ClusterPlan) -> Environment {
    let workloads = plan.workloads.clone();
    let metrics = plan.metrics.clone();
    let keyrings = plan.keyrings.clone();
    let mut environment = Environment {
        payload_workloads: plan.payload_workloads,
        node_leases: plan.node_leases,
        workloads,
        metrics,
        keyrings,
        without: plan.without.clone(),
        processes: plan.programs.iter().filter_map(|program| program.place.containers()).cloned().collect(),
        ..Environment::default()
    };
    let mut add = |version: &Version, payload: Release, image: Image| {
        for pullspec in [&payload.image, &payload.multi_image()] {
            if let Some(digest) = digest_of(pullspec) {
                environment.registry.images.insert(digest.to_owned(), image.clone());
            }
        }
        let operands = operators::static_pod_images(&payload).chain(operators::operand_images(&payload));
        for component in operands.chain(operator_images(&payload)) {
            let digest = digest_of(&component).unwrap_or_default().to_owned();
            environment.registry.images.insert(digest, Image::default());
        }
        environment.releases.insert(version.clone(), payload);
    };
    add(&plan.release.version, plan.release.clone(), Image::default());
    for planned in &plan.releases {
        add(&planned.release.version, payload_of(planned), planned.image.clone());
    }
    let recommended = plan.releases.iter().filter(|planned| planned.recommended);
    environment.recommended = recommended.map(|planned| planned.release.version.clone()).collect();
    environment.service = plan.update_service.clone();
    environment
}

/// The images of operators' Deployments. If a cluster has its own controllers, pods run them.
fn operator_images(release: &Release) -> impl Iterator<Item = String> {
    let operators = release.components.iter().filter_map(|component| component.operator.as_ref());
    operators.flat_map(|operator| {
        [release.architecture, Architecture::Multi]
            .map(|machines| release.image_for(&operator.deployment, machines))
    })
}

/// The payload in the image of a planned release.
fn payload_of(planned: &ReleasePlan) -> Release {
    let other = planned.payload_version.as_ref().and_then(|version| Release::find(version).ok());
    let release = &planned.release;
    other.map_or_else(|| release.clone(), |other| Release { image: release.image.clone(), ..other })
}

/// The payload that installs the planned cluster.
pub(super) fn payload(plan: &ClusterPlan) -> InstalledPayload<'_> {
    InstalledPayload::of(&plan.release, &plan.feature_set, &json!({ "spec": cluster_version_spec(plan) }))
}

/// The writes that create the ClusterVersion, which owns everything else, and its prerequisites, in order.
pub(super) fn first_writes(plan: &ClusterPlan, installed: &InstalledPayload<'_>, now: Time) -> Vec<Write> {
    // The payload contains the operator's own Deployment, with its image.
    let base = manifests::objects("base").iter();
    let base = base.filter(|object| object["kind"] != "Deployment" && !is_custom(object));
    let base = base.filter(|object| object["kind"] != "Secret" || !plan.has(object));
    let mut writes: Vec<Write> =
        base.cloned().map(|object| gates::filled(plan, object)).filter_map(create).collect();
    writes.extend(installed.definition(CLUSTER_VERSIONS).cloned().and_then(create));
    let cluster_version = cluster_version(plan, now);
    if plan.installed {
        writes.extend(with_status(&resources::CLUSTER_VERSIONS, cluster_version));
    } else {
        writes.push(Write::create(&resources::CLUSTER_VERSIONS, cluster_version));
    }
    writes
}

/// The writes that create the rest of the cluster, in order.
pub(super) fn writes(
    plan: &ClusterPlan,
    installed: &InstalledPayload<'_>,
    cluster_version: &Value,
    now: Time,
) -> Vec<Write> {
    let (infrastructure, proxy) = (infrastructure(plan), proxy::planned(plan));
    let surroundings = Surroundings { proxy: &proxy, infrastructure: &infrastructure };
    let mut objects = installed.objects(cluster_version, surroundings);
    if !plan.installed {
        objects.retain(|(_, object)| is_bootstrapped(object));
    }
    let of_kind = |kind: Resource| move |object: &(Resource, Value)| object.0 == kind;
    let (crds, others): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(of_kind(resources::CUSTOM_RESOURCE_DEFINITIONS));
    let (namespaces, others): (Vec<_>, Vec<_>) = others.into_iter().partition(of_kind(resources::NAMESPACES));
    let created = |(resource, object): (Resource, Value)| Write::create(&resource, object);
    let mut writes: Vec<Write> = crds.into_iter().map(created).collect();
    let base = manifests::objects("base").iter().filter(|object| is_custom(object) && !plan.has(object));
    writes.extend(base.cloned().filter_map(create));
    writes.extend(create(feature_gate(&plan.feature_set)));
    writes.extend(with_status(&resources::INFRASTRUCTURES, infrastructure.clone()));
    for operator in installed.operators().filter(|_| plan.installed) {
        let object = cluster_operator(plan, operator, cluster_version, now);
        writes.extend(with_status(&resources::CLUSTER_OPERATORS, object));
    }
    let nodes = nodes(plan, installed, now);
    for node in &nodes {
        writes.extend(with_status(&resources::NODES, node.to_value()));
    }
    writes.extend(namespaces.into_iter().map(created));
    // The installer creates them. Manifests may be in them, such as the rights of Prometheus.
    writes.extend(operators::operand_namespaces(&plan.release));
    writes.extend(others.into_iter().map(created));
    if let Some(pools) = pools(plan, installed).filter(|_| plan.installed) {
        for (resource, object) in pools.objects(&nodes, &infrastructure, &proxy, now - COMPLETED_AGO) {
            match object.get("status") {
                Some(_) => writes.extend(with_status(&resource, object)),
                None => writes.push(Write::create(&resource, object)),
            }
        }
    }
    writes.extend(mirrored_signatures(plan));
    if plan.insights {
        writes.extend(update_status_controller(plan));
    }
    writes
}

/// The writes that create the rendered MachineConfigs of the pools in `view`, which own them.
pub(super) fn rendered_configs(
    plan: &ClusterPlan,
    installed: &InstalledPayload<'_>,
    view: &View,
) -> Vec<Write> {
    let Some(pools) = pools(plan, installed).filter(|_| plan.installed) else { return Vec::new() };
    let configs = pools.rendered_configs(view).into_iter();
    configs.map(|(resource, object)| Write::create(&resource, object)).collect()
}

/// The update status controller in addition to the release's objects, and the ConfigMap that requests its
/// insights. Objects of the cluster's feature set exist already. The UpdateStatus CRD is left out, because
/// the controller would then publish the same insights twice.
fn update_status_controller(plan: &ClusterPlan) -> Vec<Write> {
    let objects = cvo::update_status_controller_objects(&plan.release);
    let objects = objects.filter(|(resource, _)| *resource != resources::CUSTOM_RESOURCE_DEFINITIONS);
    let mut writes: Vec<Write> = objects.map(|(resource, object)| Write::create(&resource, object)).collect();
    writes.extend(create(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": published::NAMESPACE, "name": published::CONFIG_MAP },
    })));
    writes
}

/// The pools of the cluster's nodes, if the payload defines pools.
fn pools(plan: &ClusterPlan, installed: &InstalledPayload<'_>) -> Option<mco::InstalledPools> {
    let custom = |pool: &PoolPlan| mco::custom_pool(&pool.name, pool.paused, pool.max_unavailable.as_deref());
    let custom = || plan.pools.iter().map(custom).collect();
    installed.definition(mco::POOLS).map(|_| {
        let applied = view_of(plan.past.objects.iter().chain(&plan.past.pools).cloned());
        let cluster = known_to_installer(plan);
        mco::InstalledPools::of(&plan.release, &plan.feature_set, custom(), &cluster, &applied)
    })
}

/// The objects that the installer knows when it sets up the nodes: those of the plan and of its past, and the pull secret.
fn known_to_installer(plan: &ClusterPlan) -> View {
    let base = manifests::objects("base").iter().filter(|object| !plan.has(object)).cloned();
    let planned =
        plan.objects.iter().map(|planned| &planned.object).filter(|object| !proxy::is_cluster_proxy(object));
    let objects = base.chain(planned.cloned()).chain([proxy::planned(plan)]).map(Object::new);
    view_of(objects.chain(plan.past.objects.iter().cloned()))
}

/// The objects of known kinds.
fn view_of(objects: impl Iterator<Item = Object>) -> View {
    let mut view = View::default();
    for object in objects {
        let Some(resource) = resources::find_with_preview(&object) else { continue };
        view.apply(&Change { kind: ChangeKind::Added, key: resource.key_of(&object), object, old: None });
    }
    view
}

/// Whether an object's kind is a custom resource.
fn is_custom(object: &Value) -> bool {
    let group = object["apiVersion"].as_str().and_then(|version| version.split_once('/'));
    group.is_some_and(|(group, _)| group.contains('.') && !group.ends_with(".k8s.io"))
}

/// Whether an object exists before the cluster-version operator installs the rest: the operator itself, and
/// the CRDs that it cannot work without.
fn is_bootstrapped(object: &Value) -> bool {
    let name = name_of(object);
    match object["kind"].as_str() {
        Some("CustomResourceDefinition") => {
            name.ends_with(".config.openshift.io") || name.ends_with(".monitoring.coreos.com")
        }
        // Prometheus scrapes the operator from the beginning.
        Some("Deployment" | "Service" | "ServiceMonitor") => name == cvo::NAME,
        _ => false,
    }
}

/// The ConfigMap with the signatures of the images that mirroring tools copied.
fn mirrored_signatures(plan: &ClusterPlan) -> Option<Write> {
    let mut data = json!({});
    for planned in plan.releases.iter().filter(|planned| planned.signature_config_map) {
        let digest = digest_of(&planned.release.image).unwrap_or_default();
        let document = signature::document(digest, signature::KEYRING);
        data[format!("{}1", signature::key_prefix(digest))] = json!(STANDARD.encode(document));
    }
    if data.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    create(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "mirrored-release-signatures",
            "namespace": signature::NAMESPACE,
            "labels": { (signature::LABEL): "" },
        },
        "binaryData": data,
    }))
}

/// The plan's additional objects, with the writes that create each.
pub(super) fn planned_writes(plan: &ClusterPlan) -> impl Iterator<Item = (&PlannedObject, Write)> {
    plan.objects.iter().flat_map(|planned| {
        let writes = create_planned(plan, planned.object.clone())
            .into_iter()
            .chain(proxy::status(plan, &planned.object));
        writes.map(move |write| (planned, write))
    })
}

/// The write that creates an object, if its kind is known.
fn create(object: Value) -> Option<Write> {
    resources::find_with_preview(&object).map(|resource| Write::create(&resource, object))
}

/// The write that creates an object of the plan, if its kind is known, or defined by the plan's objects or
/// payload.
fn create_planned(plan: &ClusterPlan, object: Value) -> Option<Write> {
    let payload = plan.release.payload.iter().flat_map(|payload| &payload.manifests);
    let objects = plan.objects.iter().map(|planned| &planned.object);
    let definitions = objects.chain(payload.map(|manifest| &*manifest.object));
    let definitions = definitions.filter(|object| object["kind"] == *CUSTOM_RESOURCE_DEFINITIONS.kind);
    let resource = resources::find_or_defined(&object, definitions)?;
    Some(Write::create(&resource, object))
}

/// Creates an object and then sets its status, which creation drops. A merge patch could not set nulls.
fn with_status(resource: &Resource, object: Value) -> [Write; 2] {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    let patch = json!([{ "op": "add", "path": "/status", "value": object["status"] }]);
    [Write::create(resource, object), Write::json_patch_status(resource, &namespace, &name, patch)]
}

fn feature_gate(feature_set: &str) -> Value {
    let mut object = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "FeatureGate",
        "metadata": { "name": "cluster" },
        "spec": {},
    });
    if !feature_set.is_empty() {
        object["spec"]["featureSet"] = json!(feature_set);
    }
    object
}

/// The Infrastructure as the installer creates it. A single control-plane node is a topology of its own.
fn infrastructure(plan: &ClusterPlan) -> Value {
    // Without workers, the control plane runs their workloads.
    let workers = if plan.all_workers() == 0 { plan.control_plane_nodes } else { plan.all_workers() };
    let Platform { kind, region } = &plan.platform;
    let mut platform = json!({ "type": kind });
    if !region.is_empty() {
        platform[kind.to_lowercase()] = json!({ "region": region });
    }
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": { "name": "cluster" },
        "spec": { "cloudConfig": { "name": "" }, "platformSpec": { "type": kind } },
        "status": {
            "infrastructureName": "wind-x7k2p",
            "apiServerURL": "https://api.wind.example.com:6443",
            "apiServerInternalURI": "https://api-int.wind.example.com:6443",
            "etcdDiscoveryDomain": "",
            "controlPlaneTopology": topology(plan.control_plane_nodes),
            "infrastructureTopology": topology(workers),
            "platform": kind,
            "platformStatus": platform,
        },
    })
}

fn conditions(list: &[Condition], at: Time) -> Vec<Value> {
    let mut conditions = Vec::new();
    for condition in list {
        condition::set(&mut conditions, condition, at);
    }
    conditions
}

fn cluster_version_spec(plan: &ClusterPlan) -> Value {
    let id = plan.past.cluster_id.as_deref().unwrap_or("7e0b4f5c-3d2a-4c1b-9a6e-5f8d7c6b5a40");
    let mut spec = json!({ "clusterID": id, "channel": plan.channel });
    if !plan.baseline_capability_set.is_empty() {
        spec["capabilities"]["baselineCapabilitySet"] = json!(plan.baseline_capability_set);
    }
    if !plan.additional_enabled_capabilities.is_empty() {
        spec["capabilities"]["additionalEnabledCapabilities"] = json!(plan.additional_enabled_capabilities);
    }
    spec
}

fn cluster_version(plan: &ClusterPlan, now: Time) -> Value {
    let release = &plan.release;
    let version = release.version.to_string();
    let before_release = [
        Condition::new("RetrievedUpdates", "True", "", ""),
        Condition::new(
            "ImplicitlyEnabledCapabilities",
            "False",
            "AsExpected",
            "Capabilities match configured spec",
        ),
    ];
    let applied = [
        Condition::new("Available", "True", "", format!("Done applying {version}")),
        Condition::new("Failing", "False", "", ""),
        Condition::new("Progressing", "False", "", format!("Cluster version is {version}")),
    ];
    let list: Vec<Condition> =
        before_release.into_iter().chain(cvo::installed_release(release)).chain(applied).collect();
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": { "name": "version" },
        "spec": cluster_version_spec(plan),
        "status": {
            "desired": release.as_status(),
            "history": history(plan, now),
            "observedGeneration": 1,
            "versionHash": "",
            "availableUpdates": null,
            "conditions": conditions(&list, now - COMPLETED_AGO),
        },
    })
}

/// The update history of the cluster, or only its installation.
fn history(plan: &ClusterPlan, now: Time) -> Vec<Value> {
    if !plan.past.history.is_empty() {
        return plan.past.history.clone();
    }
    vec![json!({
        "state": "Completed",
        "startedTime": rfc3339(now - STARTED_AGO),
        "completionTime": rfc3339(now - COMPLETED_AGO),
        "version": plan.release.version.to_string(),
        "image": plan.release.image,
        "verified": false,
    })]
}

fn cluster_operator(
    plan: &ClusterPlan,
    operator: &OperatorFacts,
    cluster_version: &Value,
    now: Time,
) -> Value {
    let (release, platform) = (&plan.release, &plan.platform.kind);
    let version = release.version.to_string();
    let versions = release.versions_of(operator).into_iter();
    let versions: Vec<Value> =
        versions.map(|(name, version)| json!({ "name": name, "version": version })).collect();
    let as_expected = |kind: &str, status: &str| Condition::new(kind, status, "AsExpected", "All is well");
    let common = [
        as_expected("Available", "True"),
        Condition::new("Progressing", "False", "AsExpected", format!("Deployed {version}")),
        as_expected("Degraded", "False"),
        as_expected("Upgradeable", "True"),
    ];
    let mut conditions = conditions(&common, now - COMPLETED_AGO);
    for own in operator.own_conditions(platform, &version) {
        condition::set(&mut conditions, &own, now - COMPLETED_AGO);
    }
    let mut object = cvo::installed_cluster_operator(operator, cluster_version);
    object["status"] = json!({ "versions": versions, "conditions": conditions });
    let related = operator.related_objects();
    if related.is_array() {
        object["status"]["relatedObjects"] = related;
    }
    object
}

fn topology(replicas: u32) -> &'static str {
    if replicas == 1 { "SingleReplica" } else { "HighlyAvailable" }
}

#[cfg(test)]
mod tests {
    use windtunnel_controllers::environment::NodeEnvironment as _;
    use windtunnel_controllers::registry::Pull;

    use super::*;

    #[test]
    fn the_registry_has_the_images_of_all_operators() {
        let release = Release::find(&Version::parse("4.18.3").unwrap()).unwrap();
        let environment = environment(&ClusterPlan::new(release.clone()));
        let pull = |component: &str| environment.image(&release.image_of(component)).pull;
        assert_eq!([pull("dns-operator"), pull("no-such-operator")], [Pull::Succeeds, Pull::ManifestUnknown]);
    }
}
