//! Authorization of requests before their verb runs, and of single permissions that other checks of the server need.

use windtunnel_core::Identity;

use super::attributes::Attributes;
use super::{Access, AuthorizationMode, node};
use crate::access::attributes::Subject;
use crate::access::rbac::binding::RoleKind;
use crate::access::rbac::policy::Decision;
use crate::call::RequestInfo;
use crate::kinds::objects::Objects;
use crate::profile::since;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::Request;

/// The group whose members may do everything.
const PRIVILEGED: &str = "system:masters";

impl Access {
    /// Checks whether the user may send the request.
    ///
    /// # Errors
    /// 403 if no authorizer allows the request.
    pub(crate) fn check_access(&mut self, objects: Objects<'_>, request: &Request<'_>) -> Outcome<()> {
        if self.allows_everything(request.user) {
            return Ok(());
        }
        let asked = Attributes::from_request(request);
        if self.allows(objects, request.user, &asked) {
            return Ok(());
        }
        Err(self.forbidden(objects, request.user, &asked))
    }

    /// Checks a permission that a request needs beside its own.
    ///
    /// # Errors
    /// 403 if no authorizer allows it.
    pub(crate) fn check_attributes(
        &mut self,
        objects: Objects<'_>,
        who: &Identity,
        asked: &Attributes<'_>,
    ) -> Outcome<()> {
        let allowed = self.allows(objects, who, asked);
        self.usage.add_check(who, asked, allowed);
        if allowed { Ok(()) } else { Err(self.forbidden(objects, who, asked)) }
    }

    /// The error about a permission that no authorizer gives.
    fn forbidden(&mut self, objects: Objects<'_>, who: &Identity, asked: &Attributes<'_>) -> BoxedRejection {
        let decision = self.decide(objects, &who.user, &who.all_groups().collect::<Vec<_>>(), asked);
        asked.forbidden(&who.user, &decision.reason)
    }

    /// Whether a user has a permission with which a request needs no other one.
    pub(crate) fn may(&mut self, objects: Objects<'_>, who: &Identity, asked: &Attributes<'_>) -> bool {
        let allowed = self.allows(objects, who, asked);
        if allowed {
            self.usage.add_check(who, asked, true);
        }
        allowed
    }

    /// Whether a user has a permission. Counts no use of it.
    pub(crate) fn allows(&mut self, objects: Objects<'_>, who: &Identity, asked: &Attributes<'_>) -> bool {
        if self.allows_everything(who) {
            return true;
        }
        self.policy.follow(objects.store);
        let groups: Vec<&str> = who.all_groups().collect();
        let subject = Subject { user: &who.user, groups: &groups };
        self.decide_for_node(objects, subject, asked).is_some_and(|decision| decision.allowed)
            || self.policy.allows(subject, asked)
    }

    /// Decides for a user with exactly these groups, and gives the reason.
    pub(crate) fn decide(
        &mut self,
        objects: Objects<'_>,
        user: &str,
        groups: &[&str],
        asked: &Attributes<'_>,
    ) -> Decision {
        if self.mode == AuthorizationMode::AlwaysAllow || groups.contains(&PRIVILEGED) {
            return Decision { allowed: true, reason: String::new() };
        }
        self.policy.follow(objects.store);
        self.decide_from_index(objects, Subject { user, groups }, asked)
    }

    /// Decides by the node authorizer, then by RBAC, without updating the index of roles.
    pub(crate) fn decide_from_index(
        &self,
        objects: Objects<'_>,
        who: Subject<'_>,
        asked: &Attributes<'_>,
    ) -> Decision {
        let node = self.decide_for_node(objects, who, asked);
        if let Some(decision) = node.as_ref().filter(|decision| decision.allowed) {
            return decision.clone();
        }
        let mut decision = self.policy.decide(who, asked);
        let node_reason = node.map(|decision| decision.reason).filter(|_| !decision.allowed);
        if let Some(node_reason) = node_reason.filter(|reason| !reason.is_empty()) {
            let rbac_reason =
                if decision.reason.is_empty() { String::new() } else { format!("\n{}", decision.reason) };
            decision.reason = node_reason + &rbac_reason;
        }
        decision
    }

    /// Decides by the node authorizer; `None` if the user is not a kubelet.
    fn decide_for_node(
        &self,
        objects: Objects<'_>,
        who: Subject<'_>,
        asked: &Attributes<'_>,
    ) -> Option<Decision> {
        let node = node::node_of(who).filter(|_| self.mode == AuthorizationMode::NodeRbac)?;
        let rules = self.policy.role(RoleKind::ClusterRole, "", "system:node")?;
        let pods = objects.catalog.find("", "v1", "pods").map(|kind| kind.table);
        Some(node::decide(node, rules, node::pods(objects.store, pods), asked))
    }

    /// Checks an update that creates a missing object: the user needs the verb `create` as well.
    pub(crate) fn check_create_on_update(
        &mut self,
        objects: Objects<'_>,
        info: &RequestInfo<'_>,
        minor: u32,
    ) -> Outcome<()> {
        let asked = Attributes { verb: "create".into(), ..Attributes::from_request(info.request) };
        if minor >= since::CREATION_BY_UPDATE_EXPLAINED {
            return self.check_attributes(objects, info.request.user, &asked);
        }
        if self.may(objects, info.request.user, &asked) {
            return Ok(());
        }
        Err(BoxedRejection::forbidden(&info.kind.resource, &info.path.name, ""))
    }
}

impl Access {
    fn allows_everything(&self, who: &Identity) -> bool {
        self.mode == AuthorizationMode::AlwaysAllow || who.is_privileged()
    }
}
