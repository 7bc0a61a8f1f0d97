//! The cost of insights: the update status controller beside an API server in which every node changes once.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Time, VirtualClock};
use windtunnel_core::{Identity, Write, resources};
use windtunnel_openshift::manifests;
use windtunnel_update_status::controller::{self, Parts};

use crate::measure::{Table, Timing, thousands};
use crate::nodes::exponent;

/// Nodes that change in hundreds, as in a cluster in which a tenth of the nodes may be unavailable.
const IN_HUNDREDS: &[u32] = &[500, 1_000, 2_000, 5_000];
/// Nodes that change one after the other, so that each is published alone.
const ONE_BY_ONE: &[u32] = &[500, 1_000];
/// The pause before the next nodes change. Earlier changes are published by then.
const PAUSE: Duration = Duration::from_secs(2);
/// The numbers of nodes in a trial.
const TRIAL: &[u32] = &[20, 40];
/// The limit of the exponent: above it, a node of a large cluster costs more than one of a small cluster.
const EXPONENT: &str = "at most 1.15";
/// The argument that makes this program print the memory of a cluster.
pub(crate) const RESIDENT: &str = "--resident";
const NAMESPACE: &str = "openshift-update-status-controller";

pub(crate) fn measure(table: &mut Table) -> Result<(), String> {
    let ways = [("in hundreds", 100, IN_HUNDREDS), ("one by one", 1, ONE_BY_ONE)];
    for (how, group, sizes) in ways {
        let mut points = Vec::new();
        for &nodes in if table.is_trial() { TRIAL } else { sizes } {
            let with = changes(table, nodes, group, true)?;
            let without = changes(table, nodes, group, false)?;
            let cost = with.less(without);
            let each = cost.cpu.as_secs_f64() * 1e6 / f64::from(nodes);
            let requirement = if nodes == 5_000 { "under 2 s" } else { "" };
            let figure = format!("{} µs a node", thousands(each));
            points.push((nodes, cost.cpu));
            table.row(&format!("insights on {nodes} nodes that change {how}"), cost, figure, requirement);
        }
        table.note(
            &format!("exponent of time by nodes, {how}"),
            &format!("{:.2}", exponent(&points)),
            EXPONENT,
        );
    }
    memory(table)
}

/// The memory of whole clusters, each in its own process, because freed memory stays with a process.
fn memory(table: &mut Table) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let taken = |nodes: u32| {
        let child = std::process::Command::new(&program).args([RESIDENT, &nodes.to_string()]).output();
        let stdout = child.map_err(|error| error.to_string())?.stdout;
        String::from_utf8_lossy(&stdout).trim().parse::<u64>().map_err(|error| error.to_string())
    };
    let empty = taken(0)?;
    let mut points = Vec::new();
    for &nodes in if table.is_trial() { TRIAL } else { IN_HUNDREDS } {
        let bytes = taken(nodes)?.saturating_sub(empty).max(1);
        let figure = format!("{} MB", bytes / 1_000_000);
        table.note(&format!("memory of {nodes} nodes with their insights"), &figure, "");
        // The unit does not matter to the slope.
        points.push((nodes, Duration::from_micros(bytes)));
    }
    table.note("exponent of memory by nodes", &format!("{:.2}", exponent(&points)), EXPONENT);
    Ok(())
}

/// Prints the most bytes that a cluster of `nodes` nodes and the controller took while all nodes changed.
pub(crate) fn resident(nodes: u32) -> Result<(), String> {
    let cluster = Cluster::new(nodes, true)?;
    cluster.change_all(100)?;
    println!("{}", crate::measure::resident_kb("VmHWM:") * 1024);
    Ok(())
}

/// How long it takes to change every node once, with or without the controller.
fn changes(table: &Table, nodes: u32, group: u32, is_watched: bool) -> Result<Timing, String> {
    let prepare = || Cluster::new(nodes, is_watched);
    table.time(prepare, |cluster| {
        let cluster = cluster?;
        cluster.change_all(group)?;
        cluster.check(is_watched).map(|()| cluster)
    })
}

/// A cluster of `nodes` nodes that updates to another release.
struct Cluster {
    runtime: tokio::runtime::Runtime,
    server: Shared,
    nodes: u32,
}

impl Cluster {
    fn new(nodes: u32, is_watched: bool) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let server = runtime.block_on(async {
            let now = Time::UNIX_EPOCH;
            let clock = VirtualClock::starting_at(now);
            let server = Shared::new(ApiServer::builder().build(now), clock.clone());
            for crd in manifests::crds((4, 18)) {
                create(&server, crd)?;
            }
            let own = manifests::objects("update-status-controller").iter();
            for crd in own.filter(|object| object["kind"] == "CustomResourceDefinition") {
                create(&server, crd)?;
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
            for object in objects(nodes) {
                create(&server, &object)?;
            }
            if is_watched {
                let client = server.client(&Identity::admin());
                tokio::spawn(controller::run(Parts { client, clock, alerts: None, observer: Arc::new(()) }));
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok::<_, String>(server)
        })?;
        Ok(Self { runtime, server, nodes })
    }

    /// Changes every node, `group` of them at a time.
    fn change_all(&self, group: u32) -> Result<(), String> {
        self.runtime.block_on(async {
            for number in 0..self.nodes {
                let config = json!({"machineconfiguration.openshift.io/currentConfig": "new"});
                let patch = json!({"metadata": {"annotations": config}});
                let write = Write::merge_patch(&resources::NODES, "", &name(number), patch);
                let written = self.server.write(&write, &Identity::admin(), self.server.now());
                written.map_err(|rejection| rejection.to_string())?;
                if number % group == group - 1 {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok(())
        })
    }

    /// Checks that the published insights show all nodes as updated.
    fn check(&self, is_watched: bool) -> Result<(), String> {
        let config_map = self.runtime.block_on(async {
            let client = self.server.client(&Identity::admin());
            Api::<ConfigMap>::namespaced(client, NAMESPACE).get("status-api-cm-prototype").await
        });
        let data = config_map.map_err(|error| error.to_string())?.data.unwrap_or_default();
        let pool = data.get("usc.ni.mcp-worker").map_or("", String::as_str);
        if is_watched && !pool.contains("completion: 100") {
            return Err(format!("unexpected insight on the pool: {pool}"));
        }
        Ok(())
    }
}

fn name(number: u32) -> String {
    format!("ip-10-0-{}-{}.ec2.internal", number / 256, number % 256)
}

fn create(server: &Shared, object: &Value) -> Result<(), String> {
    let (api_version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
    let resource = resources::find(api_version.unwrap_or_default(), kind.unwrap_or_default());
    let resource = resource.ok_or_else(|| format!("unknown kind {kind:?}"))?;
    let mut writes = vec![Write::create(&resource, object.clone())];
    if object.get("status").is_some() && resource != resources::CUSTOM_RESOURCE_DEFINITIONS {
        let status = json!({"status": object["status"]});
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        writes.push(Write::merge_patch_status(&resource, "", name, status));
    }
    for write in writes {
        let written = server.write(&write, &Identity::admin(), server.now());
        written.map_err(|rejection| rejection.to_string())?;
    }
    Ok(())
}

fn objects(nodes: u32) -> Vec<Value> {
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let config = |name: &str, version: &str| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {
                "name": name,
                "annotations": {"machineconfiguration.openshift.io/release-image-version": version},
            },
            "spec": {},
        })
    };
    let history = json!([{
        "state": "Partial", "version": "4.18.4", "image": "i", "verified": true,
        "startedTime": "2023-12-31T00:00:00Z", "completionTime": null,
    }]);
    let progressing = json!([{
        "type": "Progressing", "status": "True", "lastTransitionTime": "2023-12-31T01:00:00Z",
    }]);
    let mut objects = vec![
        namespace(NAMESPACE),
        namespace("openshift-cluster-version"),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "status-api-cm-prototype", "namespace": NAMESPACE},
        }),
        config("old", "4.18.3"),
        config("new", "4.18.4"),
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "worker"},
            "spec": {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}}},
        }),
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "spec": {"clusterID": "c"},
            "status": {
                "availableUpdates": [], "conditions": progressing, "history": history, "observedGeneration": 1,
                "versionHash": "", "desired": {"version": "4.18.4", "image": "i"},
            },
        }),
    ];
    objects.extend((0..nodes).map(|number| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name(number),
                "labels": {"node-role.kubernetes.io/worker": ""},
                "annotations": {
                    "machineconfiguration.openshift.io/state": "Done",
                    "machineconfiguration.openshift.io/currentConfig": "old",
                    "machineconfiguration.openshift.io/desiredConfig": "new",
                },
            },
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        })
    }));
    objects
}
