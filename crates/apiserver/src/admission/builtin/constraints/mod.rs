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
use windtunnel_core::resources::SECURITY_CONTEXT_CONSTRAINTS;
use windtunnel_core::{Identity, resources};

pub(in crate::admission) use self::constraint::Constraint;
use self::needs::Range;
use crate::access::Attributes;
use crate::call::Call;
use crate::gotext::quote;
use crate::kinds::Kind;
use crate::metadata;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};

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

/// Whether a change of this kind may change which constraints there are.
pub(in crate::admission) fn is_source(kind: &Kind) -> bool {
    kind.is(&SECURITY_CONTEXT_CONSTRAINTS.group, &SECURITY_CONTEXT_CONSTRAINTS.plural)
        || kind.is("apiextensions.k8s.io", "customresourcedefinitions")
}

impl ApiServer {
    /// Has a new pod admitted by SecurityContextConstraints, and notes by which.
    ///
    /// # Errors
    /// It fits none that it may use.
    pub(crate) fn constrain_pod(&mut self, call: &Call<'_>, pod: &mut Value) -> Outcome<()> {
        if !self.admission.openshift || !call.kind.is("", "pods") || pod["spec"]["os"]["name"] == "windows" {
            return Ok(());
        }
        let constraints = self.constraints();
        if constraints.is_empty() || self.is_exempt_namespace(&call.path.namespace) {
            return Ok(());
        }
        let chosen = self.choose(&constraints, call, pod).map_err(|why| {
            let name = match metadata::text(pod, "name") {
                "" => metadata::text(pod, "generateName"),
                name => name,
            };
            Refused::forbidden(&call.kind.resource, name, &why)
        })?;
        let annotations = &mut pod["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[CHOSEN] = json!(chosen);
        Ok(())
    }

    /// All constraints, in the order in which they are tried.
    fn constraints(&mut self) -> Arc<[Constraint]> {
        if let Some(known) = &self.admission.constraints {
            return Arc::clone(known);
        }
        let kind = &SECURITY_CONTEXT_CONSTRAINTS;
        let table = self.catalog.find(&kind.group, &kind.version, &kind.plural).map(|kind| kind.table);
        let stored = table.into_iter().flat_map(|table| self.store.list(table, ""));
        let mut all: Vec<Constraint> =
            stored.map(|(_, _, entry)| Constraint::read(&entry.served())).collect();
        all.sort_by(|one, other| one.rank().cmp(&other.rank()));
        let all: Arc<[Constraint]> = all.into();
        self.admission.constraints = Some(Arc::clone(&all));
        all
    }

    fn namespace_text(&self, namespace: &str, pointer: [&str; 2]) -> Option<String> {
        let found = self.object(&resources::NAMESPACES, "", namespace)?;
        let [map, key] = pointer;
        found["metadata"][map][key].as_str().map(str::to_owned)
    }

    fn is_exempt_namespace(&self, namespace: &str) -> bool {
        let level = self.namespace_text(namespace, ["labels", RUN_LEVEL]);
        level.is_some_and(|level| EXEMPT.contains(&level.as_str()))
    }

    /// The name of the constraints that let a pod in, or why none do.
    fn choose(&mut self, all: &[Constraint], call: &Call<'_>, pod: &Value) -> Result<String, String> {
        let tried = tried(all, pod)?;
        let namespace = &*call.path.namespace;
        let range = self.namespace_text(namespace, ["annotations", USERS]);
        let range = range.and_then(|text| Range::parse(&text));
        let users = Users { requester: call.request.user, account: account_of(pod, namespace), namespace };
        let mut complaints = Vec::new();
        // Whether a pod fits is quickly told; whether somebody may is asked of few.
        for constraint in &tried {
            let found = constraint.complaints(pod, range);
            if found.is_empty() && self.may_use(constraint, &users) {
                return Ok(constraint.name.clone());
            }
            complaints.push(found);
        }
        let mut said = Vec::new();
        for (constraint, complaints) in tried.iter().zip(complaints) {
            if complaints.is_empty() || !self.may_use(constraint, &users) {
                said.push(constraint.forbidden());
            } else {
                said.extend(complaints);
            }
        }
        let said = if said.len() == 1 { said.concat() } else { format!("[{}]", said.join(", ")) };
        Err(format!("unable to validate against any security context constraint: {said}"))
    }

    fn may_use(&mut self, constraint: &Constraint, users: &Users<'_>) -> bool {
        let kind = SECURITY_CONTEXT_CONSTRAINTS;
        let asked = Attributes {
            verb: "use".into(),
            group: (&*kind.group).into(),
            resource: (&*kind.plural).into(),
            namespace: users.namespace.into(),
            name: (&*constraint.name).into(),
            ..Attributes::default()
        };
        let mut candidates = users.account.iter().chain([users.requester]);
        candidates.any(|user| constraint.names(user) || self.may(user, &asked))
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
