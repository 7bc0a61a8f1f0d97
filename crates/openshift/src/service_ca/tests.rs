//! Tests of issuing and reissuing certificates.

use serde_json::{Value, json};
use windtunnel_controllers::testing::Rig;
use windtunnel_core::resources::{CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, SECRETS, SERVICES};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Object, Write};

use super::{EXPIRY, NAMESPACE, SERVICE_NAME, SERVICE_UID, SIGNER, ServiceCa};
use crate::certificate::Certificate;
use crate::release::OperatorFacts;

fn facts() -> OperatorFacts {
    OperatorFacts {
        cluster_operator: super::CLUSTER_OPERATOR.to_owned(),
        namespace: "openshift-service-ca-operator".to_owned(),
        deployment: "service-ca-operator".to_owned(),
        ..OperatorFacts::default()
    }
}

fn deployment() -> Value {
    let facts = facts();
    json!({ "metadata": { "namespace": facts.namespace, "name": facts.deployment }, "spec": { "replicas": 1 } })
}

fn requesting(name: &str, annotations: &Value) -> Value {
    json!({ "metadata": { "namespace": "web", "name": name, "annotations": annotations } })
}

/// A Service that requests a certificate and one that does not, and the same for ConfigMaps.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.put(&NAMESPACES, json!({ "metadata": { "name": "web" } }));
    let certificate = json!({ "service.beta.openshift.io/serving-cert-secret-name": "web-tls" });
    rig.put(&SERVICES, requesting("web", &certificate));
    rig.put(&SERVICES, requesting("other", &json!({})));
    for (name, wish) in [("trusted", "true"), ("other", "false")] {
        let mut map = requesting(name, &json!({ "service.beta.openshift.io/inject-cabundle": wish }));
        map["data"] = json!({ "own": "stays" });
        rig.put(&CONFIG_MAPS, map);
    }
    rig.seat(|| Box::new(ServiceCa::new(&facts(), &Streams::new(1))));
    rig
}

fn secret<'a>(rig: &'a Rig, namespace: &str, name: &str) -> Option<&'a Object> {
    rig.view.get(&SECRETS, namespace, name)
}

fn certificate(rig: &Rig, namespace: &str, name: &str) -> Certificate {
    Certificate::in_secret(secret(rig, namespace, name).unwrap()).unwrap()
}

/// The signer. Asserts that all requested certificates and bundles are up to date.
fn signer(rig: &Rig) -> Certificate {
    let signer = certificate(rig, NAMESPACE, SIGNER);
    assert_eq!(signer.signed_by, signer.key);
    let served = certificate(rig, "web", "web-tls");
    assert_eq!((&*served.subject, &served.signed_by), ("web.web.svc", &signer.key));
    let map = |name| &rig.view.get(&CONFIG_MAPS, "web", name).unwrap()["data"];
    assert_eq!(*map("trusted"), json!({ "service-ca.crt": signer.pem() }));
    assert_eq!(*map("other"), json!({ "own": "stays" }));
    signer
}

#[test]
fn issues_certificates_and_bundles_only_on_request() {
    let mut rig = rig();
    rig.run(60);
    assert_eq!(rig.writes, 0, "the operator is not deployed yet: {:#?}", rig.log);
    rig.put(&DEPLOYMENTS, deployment());
    rig.run(60);
    assert_eq!(signer(&rig).subject, "openshift-service-serving-signer@1704067260");
    let made = secret(&rig, "web", "web-tls").unwrap();
    assert_eq!(made["type"], "kubernetes.io/tls");
    assert_eq!(made.annotation(SERVICE_NAME), Some("web"));
    assert_eq!(made.annotation(SERVICE_UID), Some(rig.view.get(&SERVICES, "web", "web").unwrap().uid()));
    assert_eq!(made.annotation(EXPIRY), Some("2025-12-31T00:01:00Z"));
    assert_eq!(made["metadata"]["ownerReferences"][0]["name"], "web");
    assert_eq!(rig.view.list(&SECRETS).count(), 2);
    let writes = rig.writes;
    rig.run(3600);
    assert_eq!(rig.writes, writes, "all requests are fulfilled");
}

#[test]
fn a_deleted_signer_is_recreated_and_its_certificates_reissued() {
    let mut rig = rig();
    rig.put(&DEPLOYMENTS, deployment());
    rig.run(60);
    let (before, served) = (signer(&rig), certificate(&rig, "web", "web-tls"));
    rig.write(&Write::delete(&SECRETS, NAMESPACE, SIGNER));
    rig.run(60);
    assert_ne!(signer(&rig).key, before.key);
    assert_ne!(certificate(&rig, "web", "web-tls").key, served.key);
}

#[test]
fn restores_changed_and_deleted_certificates_and_bundles() {
    let mut rig = rig();
    rig.put(&DEPLOYMENTS, deployment());
    rig.run(60);
    let before = signer(&rig);
    let foreign = json!({ "data": Certificate::of_signer("elsewhere", "a").secret_data() });
    rig.write(&Write::merge_patch(&SECRETS, "web", "web-tls", foreign));
    rig.write(&Write::merge_patch(&CONFIG_MAPS, "web", "trusted", json!({ "data": { "own": "changed" } })));
    rig.run(60);
    assert_eq!(signer(&rig), before);
    rig.write(&Write::delete(&SECRETS, "web", "web-tls"));
    rig.run(60);
    assert_eq!(signer(&rig), before);
}
