//! Admission of pods by SecurityContextConstraints (plug-in
//! `security.openshift.io/SecurityContextConstraint`). A new pod needs an SCC whose limits it meets and that
//! the requester or the pod's ServiceAccount may use. The plug-in tries SCCs by priority and then from the
//! strictest on, and writes the name of the first match to the annotation `openshift.io/scc`.
//!
//! Not simulated: default values (users, groups, SELinux labels, dropped capabilities), checks of SELinux,
//! seccomp, sysctls and groups, and updates of pods. If a standard SCC is missing, the real plug-in waits ten
//! seconds before it rejects a pod. This one rejects it at once.

mod constraint;
mod limits;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster, Permission,
};
use windtunnel_core::resources::{
    CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, SECURITY_CONTEXT_CONSTRAINTS,
};
use windtunnel_core::text::go_quote::quote;
use windtunnel_core::{Identity, Resource};

use self::constraint::Constraint;
use self::limits::Range;

/// The annotation of pods with the SCC that admitted them.
const CHOSEN: &str = "openshift.io/scc";
/// The annotation by which a pod requires one SCC.
const REQUIRED: &str = "openshift.io/required-scc";
/// The label of namespaces with a run level, and the run levels whose pods need no SCC.
const RUN_LEVEL: &str = "openshift.io/run-level";
const EXEMPT: [&str; 2] = ["0", "1"];
/// The annotation of namespaces with the range of user IDs for their pods.
const USERS: &str = "openshift.io/sa.scc.uid-range";
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The SCCs of every cluster, those of [`STRICT`] from 4.11 on. If one of them is missing, the list may not be
/// complete yet.
const STANDARD: [&str; 10] = [
    "anyuid",
    "hostaccess",
    "hostmount-anyuid",
    "hostnetwork",
    "hostnetwork-v2",
    "nonroot",
    "nonroot-v2",
    "privileged",
    "restricted",
    "restricted-v2",
];

/// The standard SCCs that came with Kubernetes 1.24 (OpenShift 4.11).
const STRICT: [&str; 3] = ["hostnetwork-v2", "nonroot-v2", "restricted-v2"];
const FIRST_MINOR_WITH_STRICT: u32 = 24;
/// The first Kubernetes minor whose plug-in knows [`REQUIRED`] (OpenShift 4.14).
const FIRST_MINOR_WITH_REQUIRED: u32 = 27;

/// The identities that may use an SCC for a pod.
struct Users<'a> {
    requester: &'a Identity,
    /// `None` for a pod without a ServiceAccount.
    account: Option<Identity>,
    namespace: &'a str,
}

/// Admits new pods by the SecurityContextConstraints in the cluster, and records in each pod which one
/// admitted it. Without any such object it admits every pod.
#[derive(Debug, Clone, Default)]
pub struct SecurityContextConstraints {
    /// All SCCs, in the order in which they are tried. `None` to reload them.
    known: Option<Arc<[Constraint]>>,
}

impl AdmissionPlugin for SecurityContextConstraints {
    fn name(&self) -> &'static str {
        "security.openshift.io/SecurityContextConstraint"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_new = request.writes(&PODS) && request.operation == AdmissionOperation::Create;
        if !is_new || pod["spec"]["os"]["name"] == "windows" {
            return Ok(());
        }
        let constraints = self.constraints(cluster);
        if constraints.is_empty() || is_exempt_namespace(cluster, request.namespace) {
            return Ok(());
        }
        let chosen = choose(&constraints, request, pod, cluster).map_err(AdmissionRejection::Forbidden)?;
        let annotations = &mut pod["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[CHOSEN] = json!(chosen);
        Ok(())
    }

    fn on_event(&mut self, kind: &Resource) {
        if *kind == SECURITY_CONTEXT_CONSTRAINTS || *kind == CUSTOM_RESOURCE_DEFINITIONS {
            self.known = None;
        }
    }
}

impl SecurityContextConstraints {
    fn constraints(&mut self, cluster: &dyn AdmittingCluster) -> Arc<[Constraint]> {
        let known = self.known.get_or_insert_with(|| {
            let objects = cluster.objects(&SECURITY_CONTEXT_CONSTRAINTS, "");
            let mut all: Vec<Constraint> =
                objects.iter().map(|object| Constraint::from_object(object)).collect();
            all.sort_by(|one, other| one.rank().cmp(&other.rank()));
            all.into()
        });
        Arc::clone(known)
    }
}

fn namespace_text(cluster: &dyn AdmittingCluster, namespace: &str, [map, key]: [&str; 2]) -> Option<String> {
    let found = cluster.object(&NAMESPACES, "", namespace)?;
    found["metadata"][map][key].as_str().map(str::to_owned)
}

fn is_exempt_namespace(cluster: &dyn AdmittingCluster, namespace: &str) -> bool {
    let level = namespace_text(cluster, namespace, ["labels", RUN_LEVEL]);
    level.is_some_and(|level| EXEMPT.contains(&level.as_str()))
}

/// The name of the SCC that admits a pod.
///
/// # Errors
/// Why no SCC admits it.
fn choose(
    all: &[Constraint],
    request: &AdmissionRequest<'_>,
    pod: &Value,
    cluster: &mut dyn AdmittingCluster,
) -> Result<String, String> {
    let tried = constraints_to_try(all, pod, cluster.kubernetes_minor())?;
    let namespace = request.namespace;
    let range = namespace_text(cluster, namespace, ["annotations", USERS]);
    let range = range.and_then(|text| Range::parse(&text));
    let users = Users { requester: request.user, account: account_of(pod, namespace), namespace };
    let mut violations = Vec::new();
    // The limits are cheap to check, so permissions are checked only for SCCs whose limits the pod meets.
    for constraint in &tried {
        let found = constraint.violations(pod, range);
        if found.is_empty() && users.may_use(constraint, cluster) {
            return Ok(constraint.name.clone());
        }
        violations.push(found);
    }
    let mut errors = Vec::new();
    for (constraint, violations) in tried.iter().zip(violations) {
        if violations.is_empty() || !users.may_use(constraint, cluster) {
            errors.push(constraint.forbidden());
        } else {
            errors.extend(violations);
        }
    }
    let errors = if errors.len() == 1 { errors.concat() } else { format!("[{}]", errors.join(", ")) };
    Err(format!("unable to validate against any security context constraint: {errors}"))
}

impl Users<'_> {
    fn may_use(&self, constraint: &Constraint, cluster: &mut dyn AdmittingCluster) -> bool {
        let permission = Permission {
            verb: "use",
            resource: &SECURITY_CONTEXT_CONSTRAINTS,
            subresource: "",
            namespace: self.namespace,
            name: &constraint.name,
        };
        let mut candidates = self.account.iter().chain([self.requester]);
        candidates.any(|user| constraint.lists_user(user) || cluster.allows(user, permission))
    }
}

/// The SCCs to try for a pod: all of them, or only the one that it requires.
fn constraints_to_try<'a>(
    all: &'a [Constraint],
    pod: &Value,
    minor: u32,
) -> Result<Vec<&'a Constraint>, String> {
    let is_standard = |name: &&str| minor >= FIRST_MINOR_WITH_STRICT || !STRICT.contains(name);
    let exists = |name: &&str| all.iter().any(|constraint| constraint.name == *name);
    let missing: Vec<&str> = STANDARD.into_iter().filter(is_standard).filter(|name| !exists(name)).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(format!("securitycontextconstraints.security.openshift.io cache is missing {missing}"));
    }
    let required = pod["metadata"]["annotations"][REQUIRED].as_str();
    let required = required.filter(|name| !name.is_empty() && minor >= FIRST_MINOR_WITH_REQUIRED);
    let Some(name) = required else { return Ok(all.iter().collect()) };
    match all.iter().find(|constraint| constraint.name == name) {
        Some(constraint) => Ok(vec![constraint]),
        None => Err(format!(
            "failed to retrieve the required SCC {name}: securitycontextconstraints.security.openshift.io {name} not found",
            name = quote(name)
        )),
    }
}

/// The pod's ServiceAccount, by default `default`. Mirror pods have none.
fn account_of(pod: &Value, namespace: &str) -> Option<Identity> {
    if pod["metadata"]["annotations"].get(MIRROR).is_some() {
        return None;
    }
    let name = pod["spec"]["serviceAccountName"].as_str().filter(|name| !name.is_empty());
    Some(Identity::service_account(namespace, name.unwrap_or("default")))
}
