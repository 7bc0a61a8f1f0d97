//! OpenShift's own build of kube-apiserver. Its admission plug-in NamespaceLifecycle rejects the deletion of
//! some OpenShift namespaces, which a kind cluster allows. So the plug-in is off there, and a policy does the
//! rest of its work.

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use crate::cli::serve::client;

/// A namespace that this build protects from deletion.
const PROTECTED: &str = "openshift-config";
/// The name of the policy and its binding.
const POLICY: &str = "nothing-new-in-a-terminating-namespace";

async fn namespaces(kubeconfig: &str) -> Api<Namespace> {
    Api::all(client(kubeconfig).await)
}

/// Whether this is such a build: creates a protected namespace and tries to delete it.
pub(super) async fn protects_namespaces(kubeconfig: &str) -> bool {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(PROTECTED.to_owned());
    namespaces(kubeconfig).await.create(&PostParams::default(), &namespace).await.unwrap();
    !delete_namespace(kubeconfig).await
}

async fn delete_namespace(kubeconfig: &str) -> bool {
    namespaces(kubeconfig).await.delete(PROTECTED, &DeleteParams::default()).await.is_ok()
}

/// Whether the deletion of the protected namespace has finished, which needs the controller manager.
pub(super) async fn is_namespace_gone(kubeconfig: &str) -> bool {
    namespaces(kubeconfig).await.get_opt(PROTECTED).await.unwrap().is_none()
}

/// Rejects new objects in terminating namespaces, as NamespaceLifecycle does: otherwise controllers would
/// create their ConfigMaps there again and again, and no such namespace would ever be empty. Then deletes the
/// protected namespace.
pub(super) async fn install_policy(kubeconfig: &str) {
    let client = client(kubeconfig).await;
    let policy = json!({
        "metadata": { "name": POLICY },
        "spec": {
            "matchConstraints": { "resourceRules": [
                { "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"] },
            ] },
            "validations": [{
                "expression": "namespaceObject == null || !has(namespaceObject.metadata.deletionTimestamp)",
                "message": "the namespace is being terminated",
                "reason": "Forbidden",
            }],
        },
    });
    let binding = json!({
        "metadata": { "name": POLICY },
        "spec": { "policyName": POLICY, "validationActions": ["Deny"] },
    });
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    policies.create(&PostParams::default(), &serde_json::from_value(policy).unwrap()).await.unwrap();
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(client);
    bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    assert!(delete_namespace(kubeconfig).await);
}
