//! The Proxy of the planned cluster, as its installer sets it up.

use serde_json::{Value, json};
use windtunnel_core::{Write, resources};
use windtunnel_openshift::operators;

use super::infrastructure;
use crate::plan::ClusterPlan;

/// The Proxy of the plan with its status; null if the plan has none, since the default Proxy is empty.
pub(super) fn planned(plan: &ClusterPlan) -> Value {
    let Some(proxy) =
        plan.objects.iter().map(|planned| &planned.object).find(|object| is_cluster_proxy(object))
    else {
        return Value::Null;
    };
    let mut proxy = proxy.clone();
    proxy["status"] = operators::proxy_status(&proxy, &infrastructure(plan)).unwrap_or_default();
    proxy
}

/// The write that sets the status of an object of the plan, if that is the Proxy.
pub(super) fn status(plan: &ClusterPlan, object: &Value) -> Option<Write> {
    let status =
        is_cluster_proxy(object).then(|| operators::proxy_status(object, &infrastructure(plan)))??;
    let patch = json!([{ "op": "add", "path": "/status", "value": status }]);
    Some(Write::json_patch_status(&resources::PROXIES, "", "cluster", patch))
}

pub(super) fn is_cluster_proxy(object: &Value) -> bool {
    object["kind"] == resources::PROXIES.kind.as_ref() && object["metadata"]["name"] == "cluster"
}
