//! What pods may ask of their nodes in OpenShift (admission plugin `security.openshift.io/SecurityContextConstraint`): a new
//! pod needs a SecurityContextConstraints that it fits and that who asks for it, or its ServiceAccount, may use. The first of
//! these, by priority and then from the strictest on, stands in its annotation `openshift.io/scc` afterwards.
//!
//! Left out: what the plugin fills in (users, groups, SELinux labels, capabilities to drop), what it has to say of SELinux, seccomp,
//! sysctls and groups, and updates of pods. Where constraints are missing that each cluster has, the real one waits ten seconds
//! before it refuses; here it refuses at once.

mod constraint;
mod needs;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{AdmissionPlugin, AdmissionRequest, AdmittingCluster, Permission};
use windtunnel_core::resources::{
    CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, SECURITY_CONTEXT_CONSTRAINTS,
};
use windtunnel_core::text::go_quote::quote;
use windtunnel_core::{Identity, Resource};

use self::constraint::Constraint;
use self::needs::Range;

/// The annotation that tells which constraints let a pod in.
const CHOSEN: &str = "openshift.io/scc";
/// The annotation by which a pod wants to be let in by these and no others.
const REQUIRED: &str = "openshift.io/required-scc";
/// The label of namespaces that stand beneath what other admission needs, and values of it that exempt their pods.
const RUN_LEVEL: &str = "openshift.io/run-level";
const EXEMPT: [&str; 2] = ["0", "1"];
/// The annotation of namespaces with the users that its pods may have.
const USERS: &str = "openshift.io/sa.scc.uid-range";
const MIRROR: &str = "kubernetes.io/config.mirror";
/// Those that each cluster has: without one of them nobody can tell whether all are known.
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

/// Who may use constraints for a pod.
struct Users<'a> {
    requester: &'a Identity,
    /// `None`: the pod runs as no ServiceAccount.
    account: Option<Identity>,
    namespace: &'a str,
}

/// Admits new pods by the SecurityContextConstraints in the cluster, and notes in each pod which one admitted it. Without any such
/// object it admits every pod.
#[derive(Debug, Clone, Default)]
pub struct SecurityContextConstraints {
    /// All constraints, in the order in which they are tried; `None`: to be read.
    known: Option<Arc<[Constraint]>>,
}

impl AdmissionPlugin for SecurityContextConstraints {
    fn copied(&self) -> Box<dyn AdmissionPlugin> {
        Box::new(self.clone())
    }

    fn mutate_created(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), String> {
        if *request.resource != PODS || pod["spec"]["os"]["name"] == "windows" {
            return Ok(());
        }
        let constraints = self.constraints(cluster);
        if constraints.is_empty() || is_exempt_namespace(cluster, request.namespace) {
            return Ok(());
        }
        let chosen = choose(&constraints, request, pod, cluster)?;
        let annotations = &mut pod["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[CHOSEN] = json!(chosen);
        Ok(())
    }

    fn note_change(&mut self, kind: &Resource) {
        if *kind == SECURITY_CONTEXT_CONSTRAINTS || *kind == CUSTOM_RESOURCE_DEFINITIONS {
            self.known = None;
        }
    }
}

impl SecurityContextConstraints {
    fn constraints(&mut self, cluster: &dyn AdmittingCluster) -> Arc<[Constraint]> {
        let known = self.known.get_or_insert_with(|| {
            let objects = cluster.objects(&SECURITY_CONTEXT_CONSTRAINTS);
            let mut all: Vec<Constraint> = objects.iter().map(|object| Constraint::read(object)).collect();
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

/// The name of the constraints that admit a pod.
///
/// # Errors
/// Why none do.
fn choose(
    all: &[Constraint],
    request: &AdmissionRequest<'_>,
    pod: &Value,
    cluster: &mut dyn AdmittingCluster,
) -> Result<String, String> {
    let tried = tried(all, pod)?;
    let namespace = request.namespace;
    let range = namespace_text(cluster, namespace, ["annotations", USERS]);
    let range = range.and_then(|text| Range::parse(&text));
    let users = Users { requester: request.user, account: account_of(pod, namespace), namespace };
    let mut complaints = Vec::new();
    // Fitting is cheap to check, so permissions are only asked for where a pod fits.
    for constraint in &tried {
        let found = constraint.complaints(pod, range);
        if found.is_empty() && users.may_use(constraint, cluster) {
            return Ok(constraint.name.clone());
        }
        complaints.push(found);
    }
    let mut said = Vec::new();
    for (constraint, complaints) in tried.iter().zip(complaints) {
        if complaints.is_empty() || !users.may_use(constraint, cluster) {
            said.push(constraint.forbidden());
        } else {
            said.extend(complaints);
        }
    }
    let said = if said.len() == 1 { said.concat() } else { format!("[{}]", said.join(", ")) };
    Err(format!("unable to validate against any security context constraint: {said}"))
}

impl Users<'_> {
    fn may_use(&self, constraint: &Constraint, cluster: &mut dyn AdmittingCluster) -> bool {
        let permission = Permission {
            verb: "use",
            resource: &SECURITY_CONTEXT_CONSTRAINTS,
            namespace: self.namespace,
            name: &constraint.name,
        };
        let mut candidates = self.account.iter().chain([self.requester]);
        candidates.any(|user| constraint.names(user) || cluster.allows(user, permission))
    }
}

/// The constraints that are tried for a pod: all, unless it wants one.
fn tried<'a>(all: &'a [Constraint], pod: &Value) -> Result<Vec<&'a Constraint>, String> {
    let is_there = |name: &&str| all.iter().any(|constraint| constraint.name == *name);
    let missing: Vec<&str> = STANDARD.into_iter().filter(|name| !is_there(name)).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(format!("securitycontextconstraints.security.openshift.io cache is missing {missing}"));
    }
    let required = pod["metadata"]["annotations"][REQUIRED].as_str().filter(|name| !name.is_empty());
    let Some(name) = required else { return Ok(all.iter().collect()) };
    match all.iter().find(|constraint| constraint.name == name) {
        Some(constraint) => Ok(vec![constraint]),
        None => Err(format!(
            "failed to retrieve the required SCC {name}: securitycontextconstraints.security.openshift.io {name} not found",
            name = quote(name)
        )),
    }
}

/// Whom a pod runs as: `default`, unless it says otherwise or a kubelet runs it from a file.
fn account_of(pod: &Value, namespace: &str) -> Option<Identity> {
    if pod["metadata"]["annotations"].get(MIRROR).is_some() {
        return None;
    }
    let name = pod["spec"]["serviceAccountName"].as_str().filter(|name| !name.is_empty());
    Some(Identity::service_account(namespace, name.unwrap_or("default")))
}
