//! Checks pods against the Pod Security Standards that the labels of their namespace name (`PodSecurity`).
//!
//! There is no audit log, so the labels `audit` and `audit-version` are only validated.

mod checks;
mod existing;
mod pod;
mod policy;
mod settings;

use serde_json::Value;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster, InvalidField,
};
use windtunnel_core::resources::{NAMESPACES, PODS};
use windtunnel_core::text_of;

use self::checks::{details, violations};
use self::pod::Pod;
use self::policy::{Level, Policy, Standard};
pub(crate) use self::settings::Settings;
use crate::gotext::quote;
use crate::kinds::templates::template_path;
use crate::profile::since;

/// Subresources of pods that do not change what a pod runs.
const IGNORED: [&str; 8] = ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

/// The plug-in.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodSecurity(pub(crate) Settings);

impl AdmissionPlugin for PodSecurity {
    fn name(&self) -> &'static str {
        "PodSecurity"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let writes = [AdmissionOperation::Create, AdmissionOperation::Update].contains(&request.operation);
        let Some(object) = object.filter(|_| writes) else { return Ok(()) };
        if request.is_of(&PODS) {
            return self.check_pod(request, object, cluster);
        }
        if !request.subresource.is_empty() {
            return Ok(());
        }
        if request.is_of(&NAMESPACES) {
            return self.check_namespace(request, object, cluster);
        }
        if let Some(path) = template_path(request.resource) {
            self.check_template(request, path.iter().fold(object, |part, field| &part[field]), cluster);
        }
        Ok(())
    }
}

impl PodSecurity {
    fn read_policy(&self, labels: &Value, server: u32) -> (Policy, Vec<InvalidField>) {
        Policy::read(labels, &self.0.defaults, server >= since::POD_SECURITY_WARNS_AS_IT_ENFORCES)
    }

    /// The policy of the namespace of a request; `None` if there is no such namespace.
    fn policy_of(&self, request: &AdmissionRequest<'_>, cluster: &dyn AdmittingCluster) -> Option<Policy> {
        let namespace = cluster.object(&NAMESPACES, "", request.namespace)?;
        Some(self.read_policy(&namespace["metadata"]["labels"], cluster.kubernetes_minor()).0)
    }

    /// Rejects a pod that violates the enforced standard, and warns about the other one.
    fn check_pod(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if IGNORED.contains(&request.subresource) || self.is_exempt(request) {
            return Ok(());
        }
        let Some(policy) = self.policy_of(request, cluster) else {
            return Err(AdmissionRejection::Internal(format!(
                "failed to lookup namespace {}",
                quote(request.namespace)
            )));
        };
        let server = cluster.kubernetes_minor();
        if policy.is_privileged() || request.old.is_some_and(|old| !changes_pod(object, old, server)) {
            return Ok(());
        }
        let Some(pod) = Pod::new(object).filter(|_| !self.0.exempts_spec(&object["spec"])) else {
            return Ok(());
        };
        let enforced = violations(pod, policy.enforce, server);
        if !enforced.is_empty() {
            let (standard, details) = (quote(&policy.enforce.to_string()), details(&enforced));
            return Err(AdmissionRejection::Forbidden(format!("violates PodSecurity {standard}: {details}")));
        }
        warn(pod, policy.warn, cluster);
        Ok(())
    }

    /// Warns about the template of pods that violate a standard. The controller fails to create them later.
    fn check_template(
        &self,
        request: &AdmissionRequest<'_>,
        template: &Value,
        cluster: &mut dyn AdmittingCluster,
    ) {
        if !self.is_exempt(request)
            && !self.0.exempts_spec(&template["spec"])
            && let Some(policy) = self.policy_of(request, cluster)
            && let Some(pod) = Pod::new(template)
        {
            warn(pod, policy.warn, cluster);
        }
    }

    /// Checks the labels of a namespace, and the pods in it if it enforces more than before.
    fn check_namespace(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let server = cluster.kubernetes_minor();
        let labels = &object["metadata"]["labels"];
        let (policy, errors) = self.read_policy(labels, server);
        let name = text_of(&object["metadata"], "name");
        // A real server has no warning about a new namespace that is exempt: the request has no name in its path.
        let Some(old) = request.old else {
            return if errors.is_empty() { Ok(()) } else { Err(AdmissionRejection::Invalid(errors)) };
        };
        let (before, errors_before) = self.read_policy(&old["metadata"]["labels"], server);
        if !errors.is_empty() && errors != errors_before {
            return Err(AdmissionRejection::Invalid(errors));
        }
        let (new, old) = (policy.enforce, before.enforce);
        let is_relaxed = new.version == old.version && new.level <= old.level;
        if new.level != Level::Privileged && new != old && !is_relaxed {
            if self.0.exempts_namespace(name) {
                self.warn_of_exemption(name, &policy, labels, cluster);
                return Ok(());
            }
            let pods = cluster.objects(&PODS, name);
            let pods: Vec<_> = pods.iter().filter(|pod| !self.0.exempts_spec(&pod["spec"])).collect();
            for warning in existing::warnings(&pods, name, new, server) {
                cluster.warn(warning);
            }
        }
        Ok(())
    }

    /// Whether the namespace or the user of a request is exempt.
    fn is_exempt(&self, request: &AdmissionRequest<'_>) -> bool {
        self.0.exempts_namespace(request.namespace) || self.0.exempts_user(&request.user.user)
    }

    /// Warns that the labels of an exempt namespace have no effect.
    fn warn_of_exemption(
        &self,
        name: &str,
        policy: &Policy,
        labels: &Value,
        cluster: &mut dyn AdmittingCluster,
    ) {
        let has_effect = !policy.is_privileged() || policy.audit.level != Level::Privileged;
        if self.0.exempts_namespace(name) && has_effect && *policy != self.0.defaults {
            let (name, shown) = (quote(name), policy.shown(labels));
            cluster.warn(format!(
                "namespace {name} is exempt from Pod Security, and the policy ({shown}) will be ignored"
            ));
        }
    }
}

fn warn(pod: Pod<'_>, standard: Standard, cluster: &mut dyn AdmittingCluster) {
    let found = violations(pod, standard, cluster.kubernetes_minor());
    if !found.is_empty() {
        let (standard, details) = (quote(&standard.to_string()), details(&found));
        cluster.warn(format!("would violate PodSecurity {standard}: {details}"));
    }
}

/// Whether an update changes what a pod runs: its images, and the annotations that once had seccomp profiles.
fn changes_pod(pod: &Value, old: &Value, server: u32) -> bool {
    fn list<'a>(pod: &'a Value, name: &str) -> &'a [Value] {
        pod["spec"][name].as_array().map(Vec::as_slice).unwrap_or_default()
    }
    let annotation = |name: &str| {
        let text = |pod: &Value| text_of(&pod["metadata"]["annotations"], name).to_owned();
        text(pod) != text(old)
    };
    if server < since::NO_SECCOMP_OF_PODS && annotation("seccomp.security.alpha.kubernetes.io/pod") {
        return true;
    }
    let differs = |new: &Value, old: &Value| {
        let profile = || format!("container.seccomp.security.alpha.kubernetes.io/{}", text_of(new, "name"));
        new["image"] != old["image"] || (server < since::NO_SECCOMP_OF_CONTAINERS && annotation(&profile()))
    };
    let changes = |name: &str| {
        let (new, old) = (list(pod, name), list(old, name));
        new.len() != old.len() || new.iter().zip(old).any(|(new, old)| differs(new, old))
    };
    let debugs = |new: &Value| {
        let mut before = list(old, "ephemeralContainers").iter();
        before.find(|old| old["name"] == new["name"]).is_none_or(|old| differs(new, old))
    };
    changes("containers") || changes("initContainers") || list(pod, "ephemeralContainers").iter().any(debugs)
}

#[cfg(test)]
mod tests;
