//! Contents of namespaces.

use serde_json::json;
use windtunnel_core::resources::{CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS};
use windtunnel_core::{Object, Write};

use super::{RootCaPublisher, ServiceAccountsController};
use crate::testing::Rig;

fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.put(&NAMESPACES, json!({ "metadata": { "name": "old" } }));
    rig.seat(|| Box::new(ServiceAccountsController::new()));
    rig.seat(|| Box::new(RootCaPublisher::new("PEM")));
    rig.run(1);
    rig.put(&NAMESPACES, json!({ "metadata": { "name": "young" } }));
    rig.run(1);
    rig
}

fn certificate(rig: &Rig, namespace: &str) -> Option<String> {
    let map = rig.view.get(&CONFIG_MAPS, namespace, "kube-root-ca.crt");
    map.map(|map| map.text("/data/ca.crt").to_owned())
}

#[test]
fn each_namespace_has_the_service_account_and_the_certificate() {
    let rig = rig();
    for namespace in ["old", "young"] {
        let account = rig.view.get(&SERVICE_ACCOUNTS, namespace, "default");
        assert_eq!(account.map(Object::namespace), Some(namespace));
        assert_eq!(certificate(&rig, namespace).as_deref(), Some("PEM"));
    }
}

#[test]
fn recreates_deleted_objects_and_reverts_changes() {
    let mut rig = rig();
    rig.write(&Write::delete(&SERVICE_ACCOUNTS, "old", "default"));
    rig.write(&Write::delete(&CONFIG_MAPS, "young", "kube-root-ca.crt"));
    let patch = json!({ "data": { "ca.crt": "another" } });
    rig.write(&Write::merge_patch(&CONFIG_MAPS, "old", "kube-root-ca.crt", patch));
    rig.run(1);
    assert!(rig.view.get(&SERVICE_ACCOUNTS, "old", "default").is_some());
    assert_eq!(certificate(&rig, "old").as_deref(), Some("PEM"));
    assert_eq!(certificate(&rig, "young").as_deref(), Some("PEM"));
}

#[test]
fn ignores_terminating_namespaces() {
    let mut rig = rig();
    let mut namespace = rig.view.get(&NAMESPACES, "", "old").unwrap().to_value();
    namespace["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:02Z");
    rig.write(&Write::update(&NAMESPACES, namespace));
    rig.write(&Write::delete(&SERVICE_ACCOUNTS, "old", "default"));
    rig.write(&Write::delete(&CONFIG_MAPS, "old", "kube-root-ca.crt"));
    rig.run(60);
    assert!(rig.view.get(&SERVICE_ACCOUNTS, "old", "default").is_none());
    assert_eq!(certificate(&rig, "old"), None);
}
