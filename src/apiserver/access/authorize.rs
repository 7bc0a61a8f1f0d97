//! Whether a user may do what a request asks for: before the verb, and wherever the server asks on its own.

use super::attributes::Attributes;
use super::policy::{Decision, Subject};
use super::{Access, AuthorizationMode};
use crate::apiserver::call::Call;
use crate::apiserver::request::Request;
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};
use crate::model::Identity;

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
        self.access.policy.allows(Subject { user: &who.user, groups: &groups }, asked)
    }

    /// What is decided for a user who has exactly these groups, with the reason.
    pub(crate) fn decide(&mut self, user: &str, groups: &[&str], asked: &Attributes<'_>) -> Decision {
        if self.access.mode == AuthorizationMode::AlwaysAllow || groups.contains(&PRIVILEGED) {
            return Decision { allowed: true, reason: String::new() };
        }
        self.access.policy.follow(&self.store);
        self.access.policy.decide(Subject { user, groups }, asked)
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
