//! The service-ca operator and its controller in one. It issues certificates for Services that request one,
//! and injects the CA bundle for their clients.
//!
//! A deleted signer is recreated, and all certificates are reissued with it. The real controller also
//! annotates each Service with the signer, injects bundles into APIServices, webhooks and CRDs, and rotates
//! an old signer. None of this is simulated.

#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::{Time, after, rfc3339};
use windtunnel_core::resources::{CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, SECRETS, SERVICES};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, Identity, Key, Object, View, Write};

use crate::certificate::{BUNDLE_KEY, Certificate};
use crate::release;

/// The ClusterOperator of this operator.
pub const CLUSTER_OPERATOR: &str = "service-ca";

/// Namespace of the signer's Secret.
const NAMESPACE: &str = "openshift-service-ca";
const SIGNER: &str = "signing-key";
/// Annotations by which a Service requests a certificate in the named Secret, and a ConfigMap requests the
/// bundle.
const WANTS_CERTIFICATE: &str = "service.beta.openshift.io/serving-cert-secret-name";
const WANTS_BUNDLE: &str = "service.beta.openshift.io/inject-cabundle";
/// Annotations of Secrets with their Service and their expiry.
const SERVICE_NAME: &str = "service.beta.openshift.io/originating-service-name";
const SERVICE_UID: &str = "service.beta.openshift.io/originating-service-uid";
const EXPIRY: &str = "service.beta.openshift.io/expiry";
const VALIDITY: SignedDuration = SignedDuration::from_hours(2 * 365 * 24);

/// The issuer of certificates for Services.
#[derive(Debug, Clone)]
pub struct ServiceCa {
    namespace: String,
    deployment: String,
    streams: Streams,
    queue: WorkQueue,
    started: bool,
}

impl ServiceCa {
    /// The controller of the operator with these facts. It starts once the operator is deployed.
    pub fn new(facts: &release::OperatorFacts, streams: &Streams) -> Self {
        Self {
            namespace: facts.namespace.clone(),
            deployment: facts.deployment.clone(),
            streams: *streams,
            queue: WorkQueue::default(),
            started: false,
        }
    }

    fn operator(&self) -> Key {
        DEPLOYMENTS.key(&self.namespace, &self.deployment)
    }

    fn notice(&mut self, change: &Change, view: &View) {
        if change.key == signer() || change.key == self.operator() {
            self.add_all(view);
        } else if change.key.is_kind(&SECRETS) {
            let states = [Some(&change.object), change.old.as_ref()].into_iter().flatten();
            for name in states.filter_map(|secret| secret.annotation(SERVICE_NAME)) {
                self.queue.add(SERVICES.key(&change.key.namespace, name));
            }
        } else if wants(&change.object) {
            self.queue.add(change.key.clone());
        }
    }

    fn add_all(&mut self, view: &View) {
        self.queue.add(signer());
        for kind in [SERVICES, CONFIG_MAPS] {
            let requesting = view.list(&kind).filter(|object| wants(object));
            requesting.for_each(|object| self.queue.add(kind.key_of(object)));
        }
    }

    /// The writes that create a missing signer.
    fn new_signer(&self, view: &View, now: Time) -> Vec<Write> {
        if view.get_key(&NAMESPACES.key("", NAMESPACE)).is_none() {
            return vec![Write::create(&NAMESPACES, json!({ "metadata": { "name": NAMESPACE } }))];
        }
        let subject = format!("openshift-service-serving-signer@{}", now.as_second());
        let key = self.streams.stream(&format!("service-ca-signer/{now}")).uuid();
        let metadata = json!({ "namespace": NAMESPACE, "name": SIGNER });
        vec![Write::create(&SECRETS, secret(&metadata, &Certificate::of_signer(subject, key)))]
    }

    /// The write that gives a Service a certificate of this signer, if it has none.
    fn certify(&self, service: &Object, signer: &Certificate, view: &View, now: Time) -> Option<Write> {
        let name = service.annotation(WANTS_CERTIFICATE)?;
        let found = view.get(&SECRETS, service.namespace(), name);
        let is_good = |certificate: &Certificate| certificate.signed_by == signer.key;
        if found.and_then(|found| Certificate::in_secret(found)).as_ref().is_some_and(is_good) {
            return None;
        }
        let (namespace, service_name) = (service.namespace(), service.name());
        let key = self.streams.stream(&format!("service-ca/{namespace}/{service_name}/{now}")).uuid();
        let subject = format!("{service_name}.{namespace}.svc");
        let certificate = Certificate { subject, key, signed_by: signer.key.clone() };
        let annotations = json!({
            (SERVICE_NAME): service_name,
            (SERVICE_UID): service.uid(),
            (EXPIRY): rfc3339(after(now, VALIDITY)),
        });
        Some(match found {
            Some(found) => {
                let mut renewed = found.to_value();
                renewed["data"] = certificate.secret_data();
                for (name, value) in annotations.as_object().into_iter().flatten() {
                    renewed["metadata"]["annotations"][name] = value.clone();
                }
                Write::update(&SECRETS, renewed)
            }
            None => {
                let owner = json!({
                    "apiVersion": "v1", "kind": "Service", "name": service_name, "uid": service.uid(),
                });
                let metadata = json!({
                    "namespace": namespace, "name": name, "annotations": annotations, "ownerReferences": [owner],
                });
                Write::create(&SECRETS, secret(&metadata, &certificate))
            }
        })
    }
}

/// The write that replaces a ConfigMap's data by the signer's certificate.
fn inject(map: &Object, signer: &Certificate) -> Option<Write> {
    let data = json!({ (BUNDLE_KEY): signer.pem() });
    if map["data"] == data {
        return None;
    }
    let mut map = map.to_value();
    map["data"] = data;
    Some(Write::update(&CONFIG_MAPS, map))
}

fn secret(metadata: &Value, certificate: &Certificate) -> Value {
    json!({ "metadata": metadata, "type": "kubernetes.io/tls", "data": certificate.secret_data() })
}

fn signer() -> Key {
    SECRETS.key(NAMESPACE, SIGNER)
}

/// Returns whether a Service or a ConfigMap requests something.
fn wants(object: &Object) -> bool {
    object.annotation(WANTS_CERTIFICATE).is_some() || object.annotation(WANTS_BUNDLE) == Some("true")
}

impl Reconcile for ServiceCa {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, subject: &Key, view: &View, now: Time) -> Vec<Write> {
        if view.get_key(&self.operator()).is_none() {
            return Vec::new();
        }
        let Some(signer_of_all) = view.get_key(&signer()).and_then(|secret| Certificate::in_secret(secret))
        else {
            return if *subject == signer() { self.new_signer(view, now) } else { Vec::new() };
        };
        let Some(object) = view.get_key(subject).filter(|object| wants(object)) else { return Vec::new() };
        let write = if subject.is_kind(&SERVICES) {
            self.certify(object, &signer_of_all, view, now)
        } else {
            inject(object, &signer_of_all)
        };
        write.into_iter().collect()
    }
}

impl Actor for ServiceCa {
    fn name(&self) -> &'static str {
        "service-ca"
    }

    fn identity(&self) -> Identity {
        Identity::service_account(&self.namespace, &self.deployment)
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [SECRETS, SERVICES, CONFIG_MAPS].map(Interest::Kind);
        kinds.into_iter().chain([Interest::Object(self.operator())]).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) {
            self.add_all(input.view);
        }
        for change in input.changes {
            self.notice(change, input.view);
        }
        self.queue.process_answers(input.answers, input.now);
        self.reconcile(input)
    }
}
