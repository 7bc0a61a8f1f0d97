//! The readiness data in an AgenticRun: nine independent checks that report facts without judging them.

use serde_json::{Map, Value, json};
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CUSTOM_RESOURCE_DEFINITIONS, MACHINE_CONFIG_POOLS, NODES, POD_DISRUPTION_BUDGETS,
    PODS, PROXIES,
};
use windtunnel_core::{Object, Resource, View, condition, node, pod, pool};

const NETWORKS: Resource = Resource::cluster("config.openshift.io", "v1", "Network", "networks");
const API_SERVERS: Resource = Resource::cluster("config.openshift.io", "v1", "APIServer", "apiservers");
const REQUEST_COUNTS: Resource =
    Resource::cluster("apiserver.openshift.io", "v1", "APIRequestCount", "apirequestcounts");
const SUBSCRIPTIONS: Resource =
    Resource::namespaced("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions");
const SERVICE_VERSIONS: Resource = Resource::namespaced(
    "operators.coreos.com",
    "v1alpha1",
    "ClusterServiceVersion",
    "clusterserviceversions",
);
/// The API server's error for a resource that it does not serve.
const NOT_SERVED: &str = "the server could not find the requested resource";
/// The maximum of history entries in the report.
const HISTORY_MAX: usize = 5;

/// The result of a check, or its error.
type CheckResult = Result<Value, String>;

/// The report for an update from `current` to `target`.
pub(super) fn report(cluster_version: &Object, current: &str, target: &str, view: &View) -> Value {
    let checks: [(&str, CheckResult); 9] = [
        ("cluster_conditions", Ok(cluster_conditions(cluster_version, current))),
        ("operator_health", Ok(operator_health(view))),
        ("api_deprecations", Ok(api_deprecations(view, target))),
        ("node_capacity", Ok(node_capacity(view))),
        ("pdb_drain", Ok(budgets(view))),
        ("etcd_health", etcd_health(view)),
        ("network", network(view)),
        ("crd_compat", Ok(definitions(view))),
        ("olm_operator_lifecycle", installed_operators(view)),
    ];
    let total = checks.len();
    let ok = checks.iter().filter(|(_, found)| found.is_ok()).count();
    let checks: Map<String, Value> =
        checks.into_iter().map(|(name, found)| (name.to_owned(), with_check_status(found))).collect();
    json!({
        "current_version": current,
        "target_version": target,
        "checks": checks,
        "meta": { "total_checks": total, "checks_ok": ok, "checks_errored": total - ok, "elapsed_seconds": 0 },
    })
}

/// Adds the status of a check to its data. The elapsed time is 0 because checks read from informer caches.
fn with_check_status(found: CheckResult) -> Value {
    match found {
        Ok(mut data) => {
            data["_status"] = json!("ok");
            data["_elapsed_seconds"] = json!(0);
            data
        }
        Err(error) => json!({ "_status": "error", "_error": error, "_elapsed_seconds": 0 }),
    }
}

fn is_served(view: &View, resource: &Resource) -> bool {
    let name = format!("{}.{}", resource.plural, resource.group);
    view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", &name).is_some()
}

/// All conditions of an object by type.
fn conditions(object: &Object) -> Value {
    let entry = |condition: &Value| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let details = json!({
            "status": text("status"), "reason": text("reason"), "message": text("message"),
            "last_transition": text("lastTransitionTime"),
        });
        (text("type").to_owned(), details)
    };
    object.conditions().iter().map(entry).collect::<Map<_, _>>().into()
}

/// The objects whose condition has this status, with its reason and message.
fn with_condition<'a>(objects: impl Iterator<Item = &'a Object>, kind: &str, status: &str) -> Vec<Value> {
    let matches = objects.filter_map(|object| {
        let found = condition::find_with_status(object, kind, status)?;
        Some(json!({ "name": object.name(), "reason": found["reason"], "message": found["message"] }))
    });
    matches.collect()
}

fn cluster_conditions(cluster_version: &Object, current: &str) -> Value {
    let all = conditions(cluster_version);
    let upgradeable = &all["Upgradeable"];
    let text = |field: &str| upgradeable[field].as_str().unwrap_or_default();
    let is_progressing = all["Progressing"]["status"] == "True";
    let history = cluster_version.list("/status/history").iter().take(HISTORY_MAX);
    let history: Vec<Value> = history
        .map(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default();
            json!({
                "version": text("version"), "state": text("state"),
                "startedTime": text("startedTime"), "completionTime": text("completionTime"),
            })
        })
        .collect();
    json!({
        "upgradeable": { "status": text("status"), "reason": text("reason"), "message": text("message") },
        "update_in_progress": is_progressing,
        "recent_history": history,
        "channel": cluster_version.text("/spec/channel"),
        "cluster_id": cluster_version.text("/spec/clusterID"),
        "summary": {
            "upgradeable": text("status") == "True", "update_in_progress": is_progressing, "current_version": current,
        },
        "conditions": all,
    })
}

fn operator_health(view: &View) -> Value {
    let operators = || view.list(&CLUSTER_OPERATORS);
    let not_upgradeable = with_condition(operators(), "Upgradeable", "False");
    let degraded = with_condition(operators(), "Degraded", "True");
    let not_available = with_condition(operators(), "Available", "False");
    let pools: Vec<Value> = view
        .list(&MACHINE_CONFIG_POOLS)
        .map(|pool| {
            let count = |field: &str| pool.number(&format!("/status/{field}")).unwrap_or(0);
            json!({
                "name": pool.name(),
                "paused": pool::is_paused(pool),
                "machine_count": count("machineCount"),
                "ready_count": count("readyMachineCount"),
                "updated_count": count("updatedMachineCount"),
                "degraded": condition::is_true(pool, "Degraded"),
                "updating": condition::is_true(pool, "Updating"),
            })
        })
        .collect();
    let count_where = |field: &str| pools.iter().filter(|pool| pool[field] == true).count();
    json!({
        "summary": {
            "total_operators": operators().count(), "not_upgradeable_count": not_upgradeable.len(),
            "degraded_count": degraded.len(), "not_available_count": not_available.len(),
        },
        "mcp_summary": {
            "paused": count_where("paused"), "degraded": count_where("degraded"), "updating": count_where("updating"),
        },
        "not_upgradeable": not_upgradeable,
        "degraded": degraded,
        "not_available": not_available,
        "machine_config_pools": pools,
    })
}

/// APIs that still get requests and are removed in the target release (blockers) or deprecated (warnings).
fn api_deprecations(view: &View, target: &str) -> Value {
    if !is_served(view, &REQUEST_COUNTS) {
        return json!({
            "warning": "APIRequestCount resource not available",
            "blocker_apis": [], "warning_apis": [], "summary": { "blockers": 0, "warnings": 0 },
        });
    }
    let line = |version: &str| -> Option<(u64, u64)> {
        let mut numbers = version.split(['.', '-']).map(|part| part.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    };
    let (mut blockers, mut warnings, mut total) = (Vec::new(), Vec::new(), 0);
    for count in view.list(&REQUEST_COUNTS) {
        total += 1;
        let requests = count.number("/status/requestCount").unwrap_or(0);
        if requests == 0 {
            continue;
        }
        let removed = count.text("/status/removedInRelease");
        if !removed.is_empty() && line(removed).zip(line(target)).is_some_and(|(removed, to)| removed <= to) {
            let blocker = json!({
                "resource": count.name(), "removed_in_release": removed, "request_count": requests,
            });
            blockers.push(blocker);
        }
        if let Some(found) = condition::find_with_status(count, "Deprecated", "True") {
            let warning = json!({
                "resource": count.name(), "request_count": requests, "message": found["message"],
            });
            warnings.push(warning);
        }
    }
    json!({
        "summary": { "blockers": blockers.len(), "warnings": warnings.len(), "total": total },
        "blocker_apis": blockers,
        "warning_apis": warnings,
    })
}

fn node_capacity(view: &View) -> Value {
    let total = view.list(&NODES).count();
    let ready = view.list(&NODES).filter(|node| condition::is_true(node, "Ready")).count();
    let cordoned = view.list(&NODES).filter(|node| node::is_unschedulable(node)).count();
    json!({
        "total_nodes": total,
        "ready_nodes": ready,
        "unschedulable_nodes": cordoned,
        "summary": {
            "total": total, "ready": ready, "not_ready": total - ready, "unschedulable": cordoned,
        },
    })
}

/// PodDisruptionBudgets that allow no disruption.
fn budgets(view: &View) -> Value {
    let number = |budget: &Object, field: &str| budget.number(&format!("/status/{field}")).unwrap_or(0);
    let blocks =
        |budget: &&Object| number(budget, "disruptionsAllowed") == 0 && number(budget, "currentHealthy") > 0;
    let describe = |budget: &Object| {
        json!({
            "name": budget.name(),
            "namespace": budget.namespace(),
            // The real check reports these two fields only if they are percentages.
            "max_unavailable": budget.text("/spec/maxUnavailable"),
            "min_available": budget.text("/spec/minAvailable"),
            "current_healthy": number(budget, "currentHealthy"),
            "desired_healthy": number(budget, "desiredHealthy"),
            "disruptions_allowed": 0,
        })
    };
    let total = view.list(&POD_DISRUPTION_BUDGETS).count();
    let blocking: Vec<Value> = view.list(&POD_DISRUPTION_BUDGETS).filter(blocks).map(describe).collect();
    json!({
        "total_pdbs": total,
        "summary": { "total": total, "blocking": blocking.len() },
        "blocking_pdbs": blocking,
    })
}

fn etcd_health(view: &View) -> CheckResult {
    let operator = view.get(&CLUSTER_OPERATORS, "", "etcd").ok_or_else(|| {
        "failed to get etcd ClusterOperator: clusteroperators.config.openshift.io \"etcd\" not found"
            .to_owned()
    })?;
    let pods = view.list_in(&PODS, "openshift-etcd").filter(|pod| pod.label("app") == Some("etcd"));
    let members: Vec<Value> = pods
        .map(|pod| {
            let phase = pod::phase(pod);
            json!({
                "name": pod.name(), "node": pod::node_name(pod), "phase": phase,
                "ready": phase == "Running",
            })
        })
        .collect();
    Ok(json!({
        "operator_conditions": conditions(operator),
        "healthy_members": members.iter().filter(|member| member["ready"] == true).count(),
        "total_members": members.len(),
        "members": members,
        "summary": {
            "operator_available": condition::is_true(operator, "Available"),
            "operator_degraded": condition::is_true(operator, "Degraded"),
        },
    }))
}

fn network(view: &View) -> CheckResult {
    let failed = |why: &str| format!("failed to get Network config: {why}");
    if !is_served(view, &NETWORKS) {
        return Err(failed(NOT_SERVED));
    }
    let network = view.get(&NETWORKS, "", "cluster");
    let network = network.ok_or_else(|| failed("networks.config.openshift.io \"cluster\" not found"))?;
    let kind = network.text("/status/networkType");
    let mut found = json!({
        "network_type": kind,
        "summary": { "network_type": kind, "is_sdn": kind == "OpenShiftSDN" },
    });
    if let Some(proxy) = view.get(&PROXIES, "", "cluster") {
        found["proxy"] = json!({
            "http_proxy": proxy.text("/spec/httpProxy"),
            "https_proxy": proxy.text("/spec/httpsProxy"),
            "no_proxy": proxy.text("/spec/noProxy"),
        });
    }
    let profile =
        view.get(&API_SERVERS, "", "cluster").map(|object| object.text("/spec/tlsSecurityProfile/type"));
    match profile {
        Some("") => found["tls_profile"] = json!("Intermediate"),
        Some(profile) => found["tls_profile"] = json!(profile),
        None => found["errors"] = json!([{ "section": "apiserver_tls", "error": NOT_SERVED }]),
    }
    Ok(found)
}

/// CustomResourceDefinitions with objects stored in a version that is no longer served.
fn definitions(view: &View) -> Value {
    let mut issues = Vec::new();
    for definition in view.list(&CUSTOM_RESOURCE_DEFINITIONS) {
        let versions = definition.list("/spec/versions");
        for stored in definition.list("/status/storedVersions") {
            if !versions.iter().any(|version| version["name"] == *stored && version["served"] == true) {
                let issue = "stored version no longer served";
                issues.push(json!({ "crd": definition.name(), "stored_version": stored, "issue": issue }));
            }
        }
    }
    let total = view.list(&CUSTOM_RESOURCE_DEFINITIONS).count();
    json!({
        "total_crds": total,
        "summary": { "total_crds": total, "version_issues": issues.len() },
        "version_issues": issues,
    })
}

/// Operators installed by the Operator Lifecycle Manager. Its package server is not simulated, so the
/// `packagemanifests` section is always an error.
fn installed_operators(view: &View) -> CheckResult {
    if !is_served(view, &SUBSCRIPTIONS) {
        return Err(format!("failed to list subscriptions: {NOT_SERVED}"));
    }
    let operators: Vec<Value> = view.list(&SUBSCRIPTIONS).map(|one| installed_operator(one, view)).collect();
    let count_where = |field: &str, value: Value| operators.iter().filter(|one| one[field] == value).count();
    Ok(json!({
        "summary": {
            "total_operators": operators.len(),
            "pending_upgrades": count_where("pending_upgrade", json!(true)),
            "manual_approval": count_where("install_plan_approval", json!("Manual")),
            "incompatible_with_target": 0,
        },
        "operators": operators,
        "errors": [{ "section": "packagemanifests", "error": NOT_SERVED }],
    }))
}

fn installed_operator(subscription: &Object, view: &View) -> Value {
    let text = |pointer: &str| subscription.text(pointer);
    let (installed, current) = (text("/status/installedCSV"), text("/status/currentCSV"));
    let approval = match text("/spec/installPlanApproval") {
        "" => "Automatic",
        approval => approval,
    };
    let is_pending = !current.is_empty() && !installed.is_empty() && current != installed;
    let mut operator = json!({
        "name": subscription.name(),
        "namespace": subscription.namespace(),
        "channel": text("/spec/channel"),
        "source": text("/spec/source"),
        "source_namespace": text("/spec/sourceNamespace"),
        "package": text("/spec/name"),
        "install_plan_approval": approval,
        "state": text("/status/state"),
        "installed_csv": installed,
        "pending_upgrade": is_pending,
    });
    if let Some(version) = view.get(&SERVICE_VERSIONS, subscription.namespace(), installed) {
        operator["installed_version"] = json!(version.text("/spec/version"));
        operator["csv_phase"] = json!(version.text("/status/phase"));
        operator["csv_display_name"] = json!(version.text("/spec/displayName"));
    }
    if is_pending {
        operator["pending_csv"] = json!(current);
    }
    operator
}
