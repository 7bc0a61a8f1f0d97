//! Escalation checks: a user may only grant permissions that the user has (`pkg/registry/rbac/*/policybased`).

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::{Identity, resources};

use crate::access::Access;
use crate::access::attributes::Attributes;
use crate::access::attributes::Subject;
use crate::access::rbac::binding::RoleKind;
use crate::access::rbac::policy::Grant;
use crate::access::rbac::rule::{self, Rule};
use crate::call::Call;
use crate::gotext::quote;
use crate::kinds::objects::Objects;
use crate::metadata;
use crate::rejection::{BoxedRejection, Outcome};

const GROUP: &str = "rbac.authorization.k8s.io";

impl Access {
    /// Checks a role or a binding that is created, or that replaces `old`.
    ///
    /// # Errors
    /// 403 if it grants permissions that the user does not have, 404 if the bound role does not exist.
    pub(crate) fn check_escalation(
        &mut self,
        objects: Objects<'_>,
        call: &Call<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Outcome<()> {
        let who = call.request.user;
        let tables = self.policy.tables();
        if !tables.has(call.kind.table)
            || who.is_privileged()
            || old.is_some_and(|old| changes_only_gc_fields(object, old))
        {
            return Ok(());
        }
        if call.kind.table == tables.roles || call.kind.table == tables.cluster_roles {
            self.check_role(objects, call, object, old)
        } else {
            self.check_binding(objects, call, object)
        }
    }

    fn check_role(
        &mut self,
        objects: Objects<'_>,
        call: &Call<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Outcome<()> {
        let who = call.request.user;
        let escalate = Attributes { verb: "escalate".into(), ..Attributes::from_request(call.request) };
        if self.may(objects, who, &escalate) {
            return Ok(());
        }
        let name = metadata::text(object, "name");
        self.confirm(objects, who, &call.path.namespace, &Rule::read_all(object))
            .map_err(|why| BoxedRejection::forbidden(&call.kind.resource, name, &why))?;
        let aggregation = |role: &Value| role["aggregationRule"].clone();
        let none = Value::Null;
        let before = old.map_or(none.clone(), aggregation);
        let after = aggregation(object);
        let touched = if old.is_some() { before != after } else { after != none };
        let everything = [Rule::all_resources(), Rule::all_urls()];
        if touched && self.confirm(objects, who, "", &everything).is_err() {
            let why = "must have cluster-admin privileges to use an aggregationRule";
            return Err(BoxedRejection::forbidden(&call.kind.resource, name, why));
        }
        Ok(())
    }

    fn check_binding(&mut self, objects: Objects<'_>, call: &Call<'_>, object: &Value) -> Outcome<()> {
        let (who, namespace) = (call.request.user, &*call.path.namespace);
        let reference = &object["roleRef"];
        let kind = RoleKind::from_reference(reference);
        let role = reference["name"].as_str().unwrap_or_default();
        let bind = Attributes {
            verb: "bind".into(),
            group: reference["apiGroup"].as_str().unwrap_or(GROUP).into(),
            resource: kind.plural().into(),
            namespace: namespace.into(),
            name: role.into(),
            ..Attributes::default()
        };
        if self.may(objects, who, &bind) {
            return Ok(());
        }
        self.policy.follow(objects.store);
        let Some(rules) = self.policy.role(kind, namespace, role).cloned() else {
            let resource = match kind {
                RoleKind::Role => &resources::ROLES,
                RoleKind::ClusterRole => &resources::CLUSTER_ROLES,
            };
            return Err(BoxedRejection::not_found(resource, role));
        };
        self.confirm(objects, who, namespace, &rules).map_err(|why| {
            BoxedRejection::forbidden(&call.kind.resource, metadata::text(object, "name"), &why)
        })
    }

    /// Checks that a user has all of these rules (`ConfirmNoEscalation`).
    ///
    /// # Errors
    /// The message with the missing rules.
    fn confirm(
        &mut self,
        objects: Objects<'_>,
        who: &Identity,
        namespace: &str,
        wanted: &[Rule],
    ) -> Result<(), String> {
        self.policy.follow(objects.store);
        let groups: Vec<&str> = who.all_groups().collect();
        let grants = self.policy.grants(Subject { user: &who.user, groups: &groups }, namespace);
        let missing = rule::missing(&grants.iter().flat_map(Grant::rules), wanted);
        if missing.is_empty() {
            return Ok(());
        }
        let texts: BTreeSet<String> = missing.iter().map(Rule::text).collect();
        let groups: Vec<String> = groups.into_iter().map(quote).collect();
        let mut why = format!(
            "user {} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
            quote(&who.user),
            groups.join(" "),
            texts.into_iter().collect::<Vec<_>>().join("\n")
        );
        let errors: BTreeSet<String> = grants.iter().filter_map(Grant::stored_role_not_found).collect();
        let errors: Vec<String> = errors.into_iter().collect();
        match errors.as_slice() {
            [] => {}
            [only] => why += &format!("; resolution errors: [{only}]"),
            _ => why += &format!("; resolution errors: [[{}]]", errors.join(", ")),
        }
        Err(why)
    }
}

/// Whether an update changes only fields that the garbage collector writes (`IsOnlyMutatingGCFields`).
fn changes_only_gc_fields(object: &Value, old: &Value) -> bool {
    const GC_FIELDS: [&str; 4] = ["ownerReferences", "finalizers", "selfLink", "managedFields"];
    let rest = |object: &Value| {
        let mut object = object.clone();
        let metadata = metadata::metadata_mut(&mut object);
        for field in GC_FIELDS {
            metadata.remove(field);
        }
        object
    };
    rest(object) == rest(old)
}
