//! The signing controller issues certificates for approved CertificateSigningRequests.

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::CERTIFICATE_SIGNING_REQUESTS as REQUESTS;
use windtunnel_core::{Identity, Key, Object, View, Write};

use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// Signs requests with the key of an authority.
pub trait CertificateSigner: Debug + Send + Sync {
    /// The certificate for a request, as PEM in base64; `None` if the signer is not one of this authority.
    ///
    /// # Errors
    /// The reason why the request never gets a certificate.
    fn sign(&self, request: &Object, now: Time) -> Result<Option<String>, String>;
}

/// The signing controller of kube-controller-manager.
#[derive(Debug, Clone)]
pub struct CertificateSigningController {
    signer: Arc<dyn CertificateSigner>,
    queue: WorkQueue,
    started: bool,
}

impl CertificateSigningController {
    /// Creates a controller that signs with the key of `signer`.
    pub fn new(signer: Arc<dyn CertificateSigner>) -> Self {
        Self { signer, queue: WorkQueue::default(), started: false }
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for request in input.view.list(&REQUESTS) {
                self.queue.add(REQUESTS.key("", request.name()));
            }
        }
        for change in input.changes {
            self.queue.add(change.key.clone());
        }
        self.queue.process_answers(input.answers, input.now);
    }
}

/// Whether a request is approved, and has neither a certificate nor a failure.
fn is_waiting(request: &Object) -> bool {
    let has = |kind: &str| {
        let conditions = request.conditions();
        conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    has("Approved") && !has("Denied") && !has("Failed") && request.text("/status/certificate").is_empty()
}

impl Reconcile for CertificateSigningController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(request) = view.get_key(key).filter(|request| is_waiting(request)) else {
            return Vec::new();
        };
        let mut changed = request.to_value();
        match self.signer.sign(request, now) {
            Ok(None) => return Vec::new(),
            Ok(Some(certificate)) => changed["status"]["certificate"] = json!(certificate),
            Err(why) => {
                let failed = json!({
                    "type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why,
                    "lastUpdateTime": rfc3339(now),
                });
                if let Some(Value::Array(conditions)) = changed.pointer_mut("/status/conditions") {
                    conditions.push(failed);
                }
            }
        }
        vec![Write::update_status(&REQUESTS, changed)]
    }
}

impl Actor for CertificateSigningController {
    fn name(&self) -> &'static str {
        "certificatesigningrequest-signing-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "certificate-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(REQUESTS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rig;

    /// Signs requests of `ours`, and rejects those of `picky`.
    #[derive(Debug)]
    struct Signer;

    impl CertificateSigner for Signer {
        fn sign(&self, request: &Object, _: Time) -> Result<Option<String>, String> {
            match request.text("/spec/signerName") {
                "ours" => Ok(Some("cGVt".to_owned())),
                "picky" => Err("no".to_owned()),
                _ => Ok(None),
            }
        }
    }

    #[test]
    fn approved_requests_get_a_certificate_or_fail() {
        let mut rig = Rig::new();
        rig.seat(|| Box::new(CertificateSigningController::new(Arc::new(Signer))));
        let approved = json!([{ "type": "Approved", "status": "True" }]);
        for (name, conditions) in
            [("ours", &approved), ("picky", &approved), ("other", &approved), ("new", &json!([]))]
        {
            let signer = if name == "new" { "ours" } else { name };
            let status = json!({ "conditions": conditions });
            let request =
                json!({ "metadata": { "name": name }, "spec": { "signerName": signer }, "status": status });
            rig.put(&REQUESTS, request);
        }
        rig.run(1);
        let status = |name: &str| rig.view.get(&REQUESTS, "", name).unwrap()["status"].clone();
        assert_eq!(status("ours")["certificate"], "cGVt");
        assert_eq!(status("picky")["conditions"][1]["message"], "no");
        assert_eq!(status("other"), json!({ "conditions": approved }));
        assert_eq!(status("new"), json!({ "conditions": [] }));
    }
}
