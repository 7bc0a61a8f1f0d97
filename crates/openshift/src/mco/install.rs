//! The operator's objects other than MachineConfigs: pools, the ControllerConfig, and RBAC objects of
//! controller and daemons. An installed cluster starts with the same objects and with nodes that are done.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_controllers::machine::Disk;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CONTROLLER_CONFIGS, DAEMON_SETS, MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS, NODES, PROXIES, SERVICE_ACCOUNTS,
};
use windtunnel_core::{Object, Resource, View, Write, name_of};

use super::annotations::{
    CONTROL_PLANE_TOPOLOGY, CURRENT_CONFIG, DESIRED_CONFIG, DESIRED_DRAIN, LAST_APPLIED_DRAIN,
    LAST_OBSERVED_SERVER_CA, REASON, REQUIRED, ROLE, STATE,
};
use super::cluster_files::ClusterFiles;
use super::node_settings::controller::applied_configs;
use super::render::render_succeeded;
use super::rendered::{self, Images, Rendered};
use super::templates::Settings;
use super::{
    CONTROLLER, DAEMON, NAMESPACE, controller_config, daemon_set, layering, membership, pool, registries,
    templates,
};
use crate::manifests::MajorMinor;
use crate::release::Release;

const ROLES: [&str; 2] = [membership::MASTER, membership::WORKER];
/// From this minor on daemons record whether the certificates of API servers are being rotated.
const ANNOTATES_SERVER_CA: MajorMinor = (4, 16);
const GROUP: &str = "machineconfiguration.openshift.io";

/// The writes that update these objects to a release.
pub(super) fn writes(release: &Release, view: &View) -> Vec<Write> {
    let mut writes = Vec::new();
    let pools = ROLES.map(|role| (MACHINE_CONFIG_POOLS, pool(role)));
    for (resource, object) in access(release.line()).into_iter().chain(pools) {
        if view.get_key(&resource.key_of(&object)).is_none() {
            writes.push(Write::create(&resource, object));
        }
    }
    writes.push(controller_config::write(release, view));
    writes
}

/// The pool of a role, without a configuration yet.
fn pool(role: &str) -> Value {
    let mut labels = json!({ "machineconfiguration.openshift.io/mco-built-in": "" });
    labels[format!("pools.operator.machineconfiguration.openshift.io/{role}")] = json!("");
    if role == membership::MASTER {
        labels[REQUIRED] = json!("");
    }
    let node_role = format!("node-role.kubernetes.io/{role}");
    json!({
        "apiVersion": MACHINE_CONFIG_POOLS.api_version(),
        "kind": MACHINE_CONFIG_POOLS.kind,
        "metadata": { "name": role, "labels": labels },
        "spec": {
            "machineConfigSelector": { "matchLabels": { (ROLE): role } },
            "nodeSelector": { "matchLabels": { (node_role): "" } },
            "paused": false,
        },
    })
}

/// The MachineConfigPool with which an administrator gives the workers of a role their own pool.
/// `max_unavailable` is a number or a percentage.
pub fn custom_pool(role: &str, is_paused: bool, max_unavailable: Option<&str>) -> Value {
    let node_role = format!("node-role.kubernetes.io/{role}");
    let mut object = json!({
        "apiVersion": MACHINE_CONFIG_POOLS.api_version(),
        "kind": MACHINE_CONFIG_POOLS.kind,
        "metadata": { "name": role },
        "spec": {
            "machineConfigSelector": {
                "matchExpressions": [{ "key": ROLE, "operator": "In", "values": [membership::WORKER, role] }],
            },
            "nodeSelector": { "matchLabels": { (node_role): "" } },
            "paused": is_paused,
        },
    });
    if let Some(text) = max_unavailable {
        object["spec"]["maxUnavailable"] =
            text.parse::<u32>().map_or_else(|_| json!(text), |number| json!(number));
    }
    object
}

/// Roles and bindings of the controller, the daemons and the builder, and the builder's ServiceAccount.
fn access(line: MajorMinor) -> Vec<(Resource, Value)> {
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({ "apiGroups": groups, "resources": resources, "verbs": verbs });
    let reads = ["get", "list", "watch"];
    let changes = ["get", "list", "watch", "create", "update", "patch"];
    let controller = json!([
        rule(&[""], &["nodes"], &["get", "list", "watch", "patch", "update"]),
        rule(&[""], &["pods"], &reads),
        rule(&[""], &["pods/eviction"], &["create"]),
        rule(&[""], &["secrets"], &reads),
        rule(&["config.openshift.io"], &["imagedigestmirrorsets", "images", "imagetagmirrorsets"], &reads),
        rule(&["operator.openshift.io"], &["imagecontentsourcepolicies"], &reads),
        rule(&[""], &["events"], &["create", "patch", "update"]),
        rule(&["apps"], &["daemonsets"], &reads),
        rule(&[GROUP], &["*"], &changes),
        rule(&[GROUP], &["machineconfigs"], &["delete"]),
        rule(
            &["operator.openshift.io"],
            &["machineconfigurations", "machineconfigurations/status"],
            &changes
        ),
    ]);
    let daemon = json!([
        rule(&[""], &["nodes"], &["get", "list", "watch", "patch", "update"]),
        rule(&[""], &["events"], &["create", "patch", "update"]),
        rule(
            &[GROUP],
            &["machineconfigs", "controllerconfigs", "machineconfigpools", "pinnedimagesets"],
            &reads
        ),
        rule(&[GROUP], &["machineconfignodes", "machineconfignodes/status"], &changes),
    ]);
    let builder = json!([
        rule(&[""], &["configmaps", "secrets"], &["*"]),
        rule(&[""], &["pods"], &["get", "list", "create", "delete", "watch"]),
        rule(&[GROUP], &["*"], &["*"]),
        rule(&["batch"], &["jobs"], &["*"]),
    ]);
    let mut all = Vec::new();
    let mut holders = vec![(CONTROLLER, controller), (DAEMON, daemon)];
    if line >= layering::FIRST {
        holders.push((layering::BUILDER, builder));
        let metadata = json!({ "name": layering::BUILDER, "namespace": NAMESPACE });
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata });
        all.push((SERVICE_ACCOUNTS, account));
    }
    for (name, rules) in holders {
        let group = "rbac.authorization.k8s.io";
        let version = format!("{group}/v1");
        all.push((
            CLUSTER_ROLES,
            json!({ "apiVersion": version, "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules }),
        ));
        all.push((
            CLUSTER_ROLE_BINDINGS,
            json!({
                "apiVersion": version,
                "kind": "ClusterRoleBinding",
                "metadata": { "name": name },
                "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": name },
                "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE }],
            }),
        ));
    }
    all
}

/// Why a pool cannot be rendered with the MachineConfigs and settings of users in `applied`; `None` if it can. `pool` is one of
/// the cluster's, and the templates are those of workers or of the control plane.
pub fn render_problem(release: &Release, feature_set: &str, pool: &Value, applied: &View) -> Option<String> {
    let files = ClusterFiles::of(applied, &Value::Null, Vec::new());
    let role = if name_of(pool) == membership::MASTER { membership::MASTER } else { membership::WORKER };
    let settings = Settings { cgroup_mode: "", feature_set, files: &files };
    let templates = templates::machine_configs(role, release, None, settings);
    let own = own_configs(pool, applied, release);
    let all: Vec<&Value> = templates.iter().chain(&own).collect();
    let (os, extensions) = (release.os_image(), release.extensions_image());
    let images = Images { os: &os, extensions: &extensions };
    rendered::render(None, name_of(pool), &all, images, release.line()).err()
}

/// A pool with the labels and the selector of MachineConfigs that users gave it.
fn as_applied(mut pool: Value, applied: &View) -> Value {
    let Some(found) = applied.get(&MACHINE_CONFIG_POOLS, "", name_of(&pool)) else { return pool };
    for (label, value) in found["metadata"]["labels"].as_object().into_iter().flatten() {
        pool["metadata"]["labels"][label] = value.clone();
    }
    let selector = &found["spec"]["machineConfigSelector"];
    if selector.is_object() {
        pool["spec"]["machineConfigSelector"] = selector.clone();
    }
    pool
}

/// The MachineConfigs of users for a pool, and those of their settings of nodes.
fn own_configs(pool: &Value, applied: &View, release: &Release) -> Vec<Value> {
    let pool = Object::new(pool.clone());
    let settings: Vec<Object> =
        applied_configs(&pool, applied, release).into_iter().map(Object::new).collect();
    let configs = applied.list(&MACHINE_CONFIGS).chain(&settings);
    let selected =
        configs.filter(|config| membership::selects(&pool["spec"]["machineConfigSelector"], config));
    selected.map(Object::to_value).collect()
}

/// The pools and nodes of an installed cluster.
#[derive(Debug)]
pub struct InstalledPools {
    release: Release,
    feature_set: String,
    /// The pools without status, in the order of their creation.
    pools: Vec<Value>,
    /// The configuration of each pool, by its name.
    rendered: BTreeMap<String, Rendered>,
    files: ClusterFiles,
}

impl InstalledPools {
    /// The installed objects of `release` with a feature set and with [`custom_pool`]s. `cluster` has the other objects
    /// from which files of nodes follow: the Proxy, the pull secret, and mirrors. `applied` has MachineConfigs and settings of
    /// nodes that users created, and that the nodes have already; and pools, whose labels and selectors count.
    pub fn of(
        release: &Release,
        feature_set: &str,
        custom: Vec<Value>,
        cluster: &View,
        applied: &View,
    ) -> Self {
        let registries = registries::files(cluster, release.line(), &release.image).unwrap_or_default();
        let proxy = cluster.get(&PROXIES, "", "cluster").map_or(&Value::Null, |proxy| &proxy["status"]);
        let files = ClusterFiles::of(cluster, proxy, registries);
        let settings = Settings { cgroup_mode: "", feature_set, files: &files };
        let configs = ROLES.map(|role| templates::machine_configs(role, release, None, settings));
        let pools = ROLES.map(pool).into_iter().chain(custom);
        let pools: Vec<Value> = pools.map(|pool| as_applied(pool, applied)).collect();
        let (os, extensions) = (release.os_image(), release.extensions_image());
        let images = Images { os: &os, extensions: &extensions };
        let rendered = pools.iter().filter_map(|pool| {
            let name = name_of(pool);
            // A custom pool has the configuration of workers.
            let templates: Vec<&Value> = configs[usize::from(name != membership::MASTER)].iter().collect();
            let own = own_configs(pool, applied, release);
            let all: Vec<&Value> = templates.iter().copied().chain(&own).collect();
            // Nodes do not have a configuration that cannot be rendered: the controller reports it.
            let rendered = rendered::render(None, name, &all, images, release.line())
                .or_else(|_| Rendered::merge_configs(name, &templates, images, release.line()));
            debug_assert!(rendered.is_ok(), "{rendered:?}");
            Some((name.to_owned(), rendered.ok()?))
        });
        let rendered = rendered.collect();
        Self { release: release.clone(), feature_set: feature_set.to_owned(), pools, rendered, files }
    }

    /// The configuration of a pool; that of workers for a pool from elsewhere.
    fn rendered(&self, pool: &str) -> &Rendered {
        self.rendered.get(pool).unwrap_or_else(|| &self.rendered[membership::WORKER])
    }

    /// The disk of a node in this pool.
    pub fn disk(&self, pool: &str) -> Disk {
        let rendered = self.rendered(pool);
        let os_image = rendered.spec["osImageURL"].as_str().map(str::to_owned);
        Disk {
            config: rendered.name.clone(),
            os_image: os_image.unwrap_or_else(|| self.release.os_image()),
            ..Disk::default()
        }
    }

    /// All objects that an installation leaves, except nodes. The pools report all `nodes` as updated since `since`.
    /// `infrastructure` and `proxy` are those of the cluster, or null.
    pub fn objects(
        &self,
        nodes: &[Object],
        infrastructure: &Value,
        proxy: &Value,
        since: Time,
    ) -> Vec<(Resource, Value)> {
        let mut objects = access(self.release.line());
        let settings = Settings { cgroup_mode: "", feature_set: &self.feature_set, files: &self.files };
        objects.push((DAEMON_SETS, daemon_set::installed(&self.release, nodes.len())));
        let config = controller_config::controller_config(&self.release, infrastructure, proxy);
        objects.push((CONTROLLER_CONFIGS, config));
        for role in ROLES {
            let configs = templates::machine_configs(role, &self.release, None, settings);
            objects.extend(configs.into_iter().map(|config| (MACHINE_CONFIGS, config)));
        }
        let all: Vec<Object> = self.pools.iter().cloned().map(Object::new).collect();
        let all: Vec<&Object> = all.iter().collect();
        let done =
            self.pools.iter().map(|pool| (MACHINE_CONFIG_POOLS, self.done_pool(pool, &all, nodes, since)));
        objects.extend(done);
        objects
    }

    /// The rendered MachineConfigs of the installed pools. The pools in `view`, which exist already, own them.
    pub fn rendered_configs(&self, view: &View) -> Vec<(Resource, Value)> {
        let (commit, version) = (self.release.machine_config_commit(), self.release.version.to_string());
        let pools = self.pools.iter().map(name_of);
        let pools = pools.filter_map(|name| view.get(&MACHINE_CONFIG_POOLS, "", name));
        let object = |pool: &Object| self.rendered(pool.name()).object(pool, &commit, &version);
        pools.map(|pool| (MACHINE_CONFIGS, object(pool))).collect()
    }

    /// A pool whose nodes have been done since a moment; `all` are the pools of the cluster.
    fn done_pool(&self, pool: &Value, all: &[&Object], nodes: &[Object], since: Time) -> Value {
        let mut object = pool.clone();
        let name = name_of(pool);
        object["spec"]["configuration"] = self.rendered(name).reference();
        let mut conditions = Vec::new();
        pool::conditions::set(&mut conditions, &render_succeeded(), since);
        object["status"]["conditions"] = Value::Array(conditions);
        let mut shared = object.clone();
        shared["metadata"]["generation"] = json!(1);
        let shared = Object::new(shared);
        let members = nodes
            .iter()
            .filter(|node| matches!(membership::pool_of(node, all), Ok(Some(own)) if own == name))
            .map(|node| (node.name().to_owned(), super::node::NodeState::of(node, None)))
            .collect();
        object["status"] = pool::status(&shared, &members, None, self.release.line(), since);
        // The installation changed these two last.
        if let Some(conditions) = object["status"]["conditions"].as_array_mut() {
            conditions.sort_by_key(|condition| {
                condition["type"].as_str().is_some_and(|kind| kind.starts_with("Updat"))
            });
        }
        object
    }
}

/// Sets the annotations of a `node` in this pool that is done with its installation.
pub fn annotate_node(node: &mut Value, pool: &str, topology: &str, installed: &InstalledPools) {
    if node["metadata"]["labels"][membership::OS] == membership::WINDOWS {
        return;
    }
    annotate_done_node(node, &installed.rendered(pool).name, topology, installed.release.line());
}

/// Sets the annotations of a `node` that has had this rendered MachineConfig since its installation by a release
/// of a minor.
pub fn annotate_done_node(node: &mut Value, config: &str, topology: &str, line: MajorMinor) {
    debug_assert_eq!(node["kind"], NODES.kind.as_ref());
    let drain = format!("uncordon-{config}");
    node["metadata"]["annotations"] = json!({
        (CONTROL_PLANE_TOPOLOGY): topology,
        (CURRENT_CONFIG): config,
        (DESIRED_CONFIG): config,
        (DESIRED_DRAIN): drain,
        (LAST_APPLIED_DRAIN): drain,
        (REASON): "",
        (STATE): "Done",
    });
    if line >= ANNOTATES_SERVER_CA {
        node["metadata"]["annotations"][LAST_OBSERVED_SERVER_CA] = json!("false");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semver::Version;
    use windtunnel_core::resources::KUBELET_CONFIGS;
    use windtunnel_core::{Change, ChangeKind};

    fn installed(version: &str) -> InstalledPools {
        installed_with(version, &View::default())
    }

    fn installed_with(version: &str, applied: &View) -> InstalledPools {
        InstalledPools::of(
            &Release::find(&Version::parse(version).unwrap()).unwrap(),
            "",
            Vec::new(),
            &View::default(),
            applied,
        )
    }

    #[test]
    fn nodes_have_the_configs_of_users_that_can_be_rendered() {
        let config = |name: &str, spec: Value| {
            let metadata = json!({ "name": name, "labels": { (ROLE): membership::WORKER } });
            (MACHINE_CONFIGS, json!({ "kind": MACHINE_CONFIGS.kind, "metadata": metadata, "spec": spec }))
        };
        let settings = (
            KUBELET_CONFIGS,
            json!({
                "kind": KUBELET_CONFIGS.kind,
                "metadata": { "name": "more-pods", "uid": "k" },
                "spec": {
                    "kubeletConfig": { "maxPods": 500 },
                    "machineConfigPoolSelector": { "matchLabels": { "size": "large" } },
                },
            }),
        );
        let pool = (
            MACHINE_CONFIG_POOLS,
            json!({ "kind": MACHINE_CONFIG_POOLS.kind, "metadata": { "name": "worker", "labels": { "size": "large" } } }),
        );
        let arguments = config("50-arguments", json!({ "kernelArguments": ["quiet"] }));
        let broken = config("50-broken", json!({ "kernelType": "fast" }));
        let sources = |objects: &[&(Resource, Value)]| {
            let mut view = View::default();
            for (resource, object) in objects {
                let (key, object) = (resource.key_of(object), Object::new(object.clone()));
                view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
            }
            installed_with("4.18.3", &view).rendered("worker").sources.clone()
        };
        let found = sources(&[&arguments, &settings, &pool]);
        assert!(found.contains(&"50-arguments".to_owned()), "{found:?}");
        assert!(found.contains(&"99-worker-generated-kubelet".to_owned()), "{found:?}");
        let found = sources(&[&settings]);
        assert!(!found.contains(&"99-worker-generated-kubelet".to_owned()), "{found:?}");
        let found = sources(&[&arguments, &broken]);
        assert!(!found.iter().any(|name| name.starts_with("50-")), "{found:?}");
    }

    #[test]
    fn nodes_have_the_server_ca_annotation_from_4_16_on() {
        for (version, expected) in [("4.15.0", None), ("4.16.0", Some("false"))] {
            let mut node = json!({ "kind": "Node", "metadata": { "name": "w" } });
            annotate_node(&mut node, membership::WORKER, "HighlyAvailable", &installed(version));
            assert_eq!(Object::new(node).annotation(LAST_OBSERVED_SERVER_CA), expected, "{version}");
        }
    }

    #[test]
    fn the_pools_own_the_rendered_machineconfigs_that_they_name() {
        let installed = installed("4.18.3");
        let objects = installed.objects(&[], &Value::Null, &Value::Null, Time::UNIX_EPOCH);
        let mut view = View::default();
        for (_, mut pool) in objects.into_iter().filter(|(resource, _)| *resource == MACHINE_CONFIG_POOLS) {
            pool["metadata"]["uid"] = pool["metadata"]["name"].clone();
            let key = MACHINE_CONFIG_POOLS.key_of(&pool);
            let change = Change { kind: ChangeKind::Added, key, object: Object::new(pool), old: None };
            view.apply(&change);
        }
        let configs = installed.rendered_configs(&view);
        let pools: Vec<&Object> = view.list(&MACHINE_CONFIG_POOLS).collect();
        assert_eq!(configs.len(), pools.len());
        for (pool, (_, config)) in pools.iter().zip(&configs) {
            assert_eq!(pool["spec"]["configuration"]["name"], config["metadata"]["name"]);
            assert_eq!(config["metadata"]["ownerReferences"][0]["uid"], pool.uid());
        }
    }

    #[test]
    fn an_installed_pool_keeps_the_order_of_its_conditions() {
        let objects = installed("4.16.0").objects(&[], &Value::Null, &Value::Null, Time::UNIX_EPOCH);
        let pool = objects.iter().find(|(resource, _)| *resource == MACHINE_CONFIG_POOLS).unwrap();
        let kinds = pool.1["status"]["conditions"].as_array().unwrap().iter().map(|found| &found["type"]);
        let expected = ["RenderDegraded", "NodeDegraded", "Degraded", "Updated", "Updating"];
        assert!(kinds.eq(&expected));
        assert_eq!(pool.1["status"]["observedGeneration"], 1);
    }

    #[test]
    fn an_installed_pool_has_render_degraded_false() {
        let objects = installed("4.16.0").objects(&[], &Value::Null, &Value::Null, Time::UNIX_EPOCH);
        let pools = objects.iter().filter(|(resource, _)| *resource == MACHINE_CONFIG_POOLS);
        for (_, pool) in pools {
            let condition =
                windtunnel_core::condition::find_in_status(&Object::new(pool.clone()), "RenderDegraded")
                    .cloned();
            assert_eq!(condition.map(|found| found["status"].clone()), Some(json!("False")));
        }
    }
}
