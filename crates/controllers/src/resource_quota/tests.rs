//! Quotas with the objects that they limit.

use serde_json::{Value, json};
use windtunnel_core::Write;
use windtunnel_core::clock::rfc3339;
use windtunnel_core::resources::{CONFIG_MAPS, DEPLOYMENTS, PERSISTENT_VOLUME_CLAIMS, PODS, RESOURCE_QUOTAS};

use super::ResourceQuotaController;
use crate::testing::Rig;

fn with_quota(spec: &Value) -> Rig {
    let mut rig = Rig::new();
    rig.seat(|| Box::new(ResourceQuotaController::new()));
    rig.put(&RESOURCE_QUOTAS, json!({ "metadata": { "namespace": "ns", "name": "q" }, "spec": spec }));
    rig.run(1);
    rig
}

fn used(rig: &mut Rig) -> Value {
    rig.run(1);
    rig.view.get(&RESOURCE_QUOTAS, "ns", "q").unwrap()["status"]["used"].clone()
}

fn pod(name: &str, cpu: &str, deadline: Option<i64>) -> Value {
    let resources = json!({ "requests": { "cpu": cpu }, "limits": { "memory": "1Gi" } });
    json!({
        "metadata": { "namespace": "ns", "name": name },
        "spec": { "containers": [{ "name": "c", "resources": resources }], "activeDeadlineSeconds": deadline },
    })
}

#[test]
fn the_status_has_the_limits_and_the_usage() {
    let hard = json!({ "pods": "5", "requests.cpu": "2", "count/deployments.apps": "3", "configmaps": "1" });
    let mut rig = with_quota(&json!({ "hard": hard }));
    let none = json!({ "pods": "0", "requests.cpu": "0", "count/deployments.apps": "0", "configmaps": "0" });
    assert_eq!(used(&mut rig), none);
    assert_eq!(rig.view.get(&RESOURCE_QUOTAS, "ns", "q").unwrap()["status"]["hard"], hard);

    rig.put(&PODS, pod("a", "500m", None));
    rig.put(&PODS, pod("b", "1", None));
    rig.put(&DEPLOYMENTS, json!({ "metadata": { "namespace": "ns", "name": "d" } }));
    rig.put(&CONFIG_MAPS, json!({ "metadata": { "namespace": "ns", "name": "m" } }));
    rig.put(&CONFIG_MAPS, json!({ "metadata": { "namespace": "elsewhere", "name": "m" } }));
    let some =
        json!({ "pods": "2", "requests.cpu": "1500m", "count/deployments.apps": "1", "configmaps": "1" });
    assert_eq!(used(&mut rig), some);

    rig.write(&Write::merge_patch_status(&PODS, "ns", "a", json!({ "status": { "phase": "Succeeded" } })));
    assert_eq!(used(&mut rig)["requests.cpu"], "1", "a finished pod uses nothing");
    let fewer = json!({ "spec": { "hard": { "configmaps": null, "pods": "1" } } });
    rig.write(&Write::merge_patch(&RESOURCE_QUOTAS, "ns", "q", fewer));
    assert_eq!(used(&mut rig), json!({ "pods": "1", "requests.cpu": "1", "count/deployments.apps": "1" }));
}

#[test]
fn scopes_select_pods_and_a_class_selects_claims() {
    let hard = json!({ "pods": "5", "gold.storageclass.storage.k8s.io/requests.storage": "10Gi" });
    let mut rig = with_quota(&json!({ "hard": hard }));
    let claim = |name: &str, class: &str| {
        let resources = json!({ "requests": { "storage": "1Gi" } });
        let spec = json!({ "storageClassName": class, "resources": resources });
        json!({ "metadata": { "namespace": "ns", "name": name }, "spec": spec })
    };
    rig.put(&PERSISTENT_VOLUME_CLAIMS, claim("a", "gold"));
    rig.put(&PERSISTENT_VOLUME_CLAIMS, claim("b", "silver"));
    rig.put(&PODS, pod("a", "1", None));
    let all = json!({ "pods": "1", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi" });
    assert_eq!(used(&mut rig), all);

    let mut rig = with_quota(&json!({ "hard": { "pods": "5" }, "scopes": ["Terminating"] }));
    rig.put(&PODS, pod("a", "1", None));
    rig.put(&PODS, pod("b", "1", Some(60)));
    assert_eq!(used(&mut rig), json!({ "pods": "1" }));
}

#[test]
fn a_resync_notices_that_the_deletion_of_a_pod_is_overdue() {
    let mut rig = with_quota(&json!({ "hard": { "pods": "5" } }));
    let mut stuck = pod("a", "1", None);
    stuck["metadata"]["deletionTimestamp"] = json!(rfc3339(rig.now));
    stuck["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    stuck["metadata"]["finalizers"] = json!(["example.com/f"]);
    rig.put(&PODS, stuck);
    assert_eq!(used(&mut rig), json!({ "pods": "1" }));
    rig.run(300);
    assert_eq!(used(&mut rig), json!({ "pods": "0" }));
}
