//! Whether a user may do what a request asks for: before the verb, and wherever the server asks on its own.

use windtunnel_core::Identity;

use super::attributes::Attributes;
use super::binding::RoleKind;
use super::policy::{Decision, Subject};
use super::{Access, AuthorizationMode, node};
use crate::call::Call;
use crate::request::Request;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};

/// The group to which nothing is forbidden.
const PRIVILEGED: &str = "system:masters";

impl ApiServer {
    /// Checks a request as a whole.
    pub(crate) fn check_access(&mut self, request: &Request<'_>) -> Outcome<()> {
        if self.admission.asks_authorizer() {
            // Expressions ask on behalf of others than the user too, when the index can no longer be brought up to date.
            self.access.policy.follow(&self.store);
        }
        if self.access.lets_everything(request.user) {
            return Ok(());
        }
        self.check_attributes(request.user, &Attributes::of(request))
    }

    /// Checks one thing that a user wants.
    pub(crate) fn check_attributes(&mut self, who: &Identity, asked: &Attributes<'_>) -> Outcome<()> {
        if self.may(who, asked) {
            return Ok(());
        }
        let decision = self.decide(&who.user, &who.all_groups().collect::<Vec<_>>(), asked);
        Err(asked.forbidden(&who.user, &decision.reason))
    }

    /// Whether a user may.
    pub(crate) fn may(&mut self, who: &Identity, asked: &Attributes<'_>) -> bool {
        if self.access.lets_everything(who) {
            return true;
        }
        self.access.policy.follow(&self.store);
        let groups: Vec<&str> = who.all_groups().collect();
        let subject = Subject { user: &who.user, groups: &groups };
        self.decide_for_node(subject, asked).is_some_and(|decision| decision.allowed)
            || self.access.policy.allows(subject, asked)
    }

    /// What is decided for a user who has exactly these groups, with the reason.
    pub(crate) fn decide(&mut self, user: &str, groups: &[&str], asked: &Attributes<'_>) -> Decision {
        if self.access.mode == AuthorizationMode::AlwaysAllow || groups.contains(&PRIVILEGED) {
            return Decision { allowed: true, reason: String::new() };
        }
        self.access.policy.follow(&self.store);
        self.decide_as_known(Subject { user, groups }, asked)
    }

    /// What the authorizers come to, one after the other, by the roles that are known.
    pub(crate) fn decide_as_known(&self, who: Subject<'_>, asked: &Attributes<'_>) -> Decision {
        let node = self.decide_for_node(who, asked);
        if let Some(decision) = node.as_ref().filter(|decision| decision.allowed) {
            return decision.clone();
        }
        let mut decision = self.access.policy.decide(who, asked);
        let said = node.map(|decision| decision.reason).filter(|_| !decision.allowed);
        if let Some(said) = said.filter(|said| !said.is_empty()) {
            let more =
                if decision.reason.is_empty() { String::new() } else { format!("\n{}", decision.reason) };
            decision.reason = said + &more;
        }
        decision
    }

    /// What is decided for a node; nothing for anybody else.
    fn decide_for_node(&self, who: Subject<'_>, asked: &Attributes<'_>) -> Option<Decision> {
        let node = node::node_of(who).filter(|_| self.access.mode == AuthorizationMode::NodeRbac)?;
        let rules = self.access.policy.role(RoleKind::ClusterRole, "", "system:node")?;
        let pods = self.catalog.find("", "v1", "pods").map(|kind| kind.table);
        Some(node::decide(node, rules, node::pods(&self.store, pods), asked))
    }

    /// An update that creates what is not there needs the verb `create` as well.
    pub(crate) fn check_create_on_update(&mut self, call: &Call<'_>) -> Outcome<()> {
        let asked = Attributes { verb: "create".into(), ..Attributes::of(call.request) };
        if self.may(call.request.user, &asked) {
            return Ok(());
        }
        Err(Refused::forbidden(&call.kind.resource, &call.path.name, ""))
    }
}

impl Access {
    fn lets_everything(&self, who: &Identity) -> bool {
        self.mode == AuthorizationMode::AlwaysAllow || who.is_privileged()
    }
}
