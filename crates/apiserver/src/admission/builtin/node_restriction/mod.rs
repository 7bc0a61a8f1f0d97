//! Limits kubelets to the objects of their own node (`NodeRestriction`).

mod nodes;
mod pods;
mod tokens;

use serde_json::Value;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::{Resource, text_of};

use super::certificates::subject;
use crate::gotext::quote;
use crate::profile::since;

/// Kubelets are users with this name prefix in this group.
const USER: &str = "system:node:";
const GROUP: &str = "system:nodes";
const LEASE_NAMESPACE: &str = "kube-node-lease";
/// The signers of certificates for kubelets.
const KUBELET_SIGNERS: [&str; 2] =
    ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NodeRestriction;

impl AdmissionPlugin for NodeRestriction {
    fn name(&self) -> &'static str {
        "NodeRestriction"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_node = request.user.groups.iter().any(|group| group == GROUP);
        let Some(node) = request.user.user.strip_prefix(USER).filter(|_| is_node) else { return Ok(()) };
        if request.operation == AdmissionOperation::Connect {
            return Ok(());
        }
        if node.is_empty() {
            let user = quote(&request.user.user);
            return Err(forbidden(format!("could not determine node from user {user}")));
        }
        check(&mut Kubelet { node, request, object, cluster })
    }
}

fn check(kubelet: &mut Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let (request, minor) = (kubelet.request, kubelet.cluster.kubernetes_minor());
    match (&*request.resource.group, &*request.resource.plural) {
        ("", "pods") => pods::check(kubelet),
        ("", "nodes") => nodes::check(kubelet),
        ("", "persistentvolumeclaims") => check_claim(kubelet),
        ("", "serviceaccounts") => tokens::check(kubelet),
        ("coordination.k8s.io", "leases") => check_lease(kubelet),
        ("storage.k8s.io", "csinodes") => check_csi_node(kubelet),
        ("resource.k8s.io", "resourceslices") => check_slice(kubelet),
        ("certificates.k8s.io", "certificatesigningrequests")
            if minor >= since::KUBELET_CERTIFICATES_CHECKED =>
        {
            check_certificate(kubelet)
        }
        _ => Ok(()),
    }
}

/// A write of a kubelet.
struct Kubelet<'a> {
    /// The name of its node.
    node: &'a str,
    request: &'a AdmissionRequest<'a>,
    /// The object to write; null for a deletion.
    object: &'a Value,
    cluster: &'a mut dyn AdmittingCluster,
}

fn forbidden(why: impl Into<String>) -> AdmissionRejection {
    AdmissionRejection::Forbidden(why.into())
}

/// The error of the lists that the server keeps, which name kinds in the singular.
fn not_found(kind: &Resource, name: &str) -> AdmissionRejection {
    let singular = kind.kind.to_lowercase();
    AdmissionRejection::NotFound(
        Box::new(Resource { plural: singular.into(), ..kind.clone() }),
        name.to_owned(),
    )
}

fn reject<T>(why: impl Into<String>) -> Result<T, AdmissionRejection> {
    Err(forbidden(why))
}

impl Kubelet<'_> {
    /// The node in quotes.
    fn quoted(&self) -> String {
        quote(self.node)
    }

    fn is(&self, operation: AdmissionOperation) -> bool {
        self.request.operation == operation
    }

    /// The name of the object, which a new one has in its body only.
    fn name(&self) -> &str {
        if self.is(AdmissionOperation::Create) {
            text_of(&self.object["metadata"], "name")
        } else {
            self.request.name
        }
    }

    /// The object before the write; null if there is none.
    fn old(&self) -> &Value {
        self.request.old.unwrap_or(&Value::Null)
    }

    fn unexpected_operation(&self) -> AdmissionRejection {
        forbidden(format!("unexpected operation {}", quote(self.request.operation.name())))
    }
}

/// Kubelets only report the sizes and conditions of claims.
fn check_claim(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    if kubelet.request.subresource != "status" {
        return reject("may only update PVC status");
    }
    if !kubelet.is(AdmissionOperation::Update) {
        return Err(kubelet.unexpected_operation());
    }
    let strip = |claim: &Value| {
        let mut claim = claim.clone();
        for (part, fields) in [
            ("metadata", &["resourceVersion", "managedFields"][..]),
            ("status", &["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"][..]),
        ] {
            let part = claim.get_mut(part).and_then(Value::as_object_mut);
            if let Some(part) = part {
                part.retain(|field, _| !fields.contains(&field.as_str()));
            }
        }
        claim
    };
    if strip(kubelet.object) == strip(kubelet.old()) {
        return Ok(());
    }
    let node = kubelet.quoted();
    reject(format!(
        "node {node} is not allowed to update fields other than status.quantity and status.conditions"
    ))
}

fn check_lease(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    if kubelet.request.namespace != LEASE_NAMESPACE {
        return reject(format!("can only access leases in the {LEASE_NAMESPACE:?} system namespace"));
    }
    if kubelet.name() != kubelet.node {
        return reject("can only access node lease with the same name as the requesting node");
    }
    Ok(())
}

fn check_csi_node(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    if kubelet.name() != kubelet.node {
        return reject("can only access CSINode with the same name as the requesting node");
    }
    Ok(())
}

fn check_slice(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let (verb, slice) = match kubelet.request.operation {
        AdmissionOperation::Create => ("create", kubelet.object),
        AdmissionOperation::Delete => ("delete", kubelet.old()),
        _ => return Ok(()),
    };
    if slice["spec"]["nodeName"] != kubelet.node {
        return reject(format!(
            "can only {verb} ResourceSlice with the same NodeName as the requesting node"
        ));
    }
    Ok(())
}

/// Kubelets request certificates for themselves only.
fn check_certificate(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let signer = text_of(&kubelet.object["spec"], "signerName");
    if !kubelet.is(AdmissionOperation::Create) || !KUBELET_SIGNERS.contains(&signer) {
        return Ok(());
    }
    let name = format!("{USER}{}", kubelet.node);
    let is_own = subject(kubelet.object).is_some_and(|subject| subject.common_name == name);
    if is_own { Ok(()) } else { reject(format!("can only create a node CSR with CN={name}")) }
}

#[cfg(test)]
mod tests;
