//! The authorizer of CEL expressions.

use std::rc::Rc;

use windtunnel_core::Identity;

use super::expression::Given;
use crate::access::{Attributes, AuthorizationMode, Subject};
use crate::admission::{self, Admitter};
use crate::call::RequestInfo;
use crate::cel::value::Value;
use crate::cel::value::authorization::{Account, AuthorizationCheck, Authorizer, CheckAttributes};

impl Authorizer for Admitter<'_> {
    fn decide(&self, who: &Account, asked: &CheckAttributes) -> (bool, String) {
        let groups: Vec<&str> = who.groups.iter().map(String::as_str).collect();
        if self.access.mode() == AuthorizationMode::AlwaysAllow || groups.contains(&"system:masters") {
            return (true, String::new());
        }
        let asked = Attributes {
            verb: asked.verb.as_str().into(),
            group: asked.group.as_str().into(),
            resource: asked.resource.as_str().into(),
            subresource: asked.subresource.as_str().into(),
            namespace: asked.namespace.as_str().into(),
            name: asked.name.as_str().into(),
            path: asked.path.as_deref().map(Into::into),
        };
        let decision = self.access.decide_from_index(
            self.objects(),
            Subject { user: &who.user, groups: &groups },
            &asked,
        );
        if decision.allowed {
            let who = Identity { user: who.user.clone(), groups: who.groups.clone(), ..Identity::default() };
            self.access.usage.add_check(&who, &asked, true);
        }
        (decision.allowed, decision.reason)
    }
}

/// The values of the variables `authorizer` and `authorizer.requestResource` for a write.
pub(super) fn variables<'a>(
    admitter: &'a Admitter<'_>,
    info: &RequestInfo<'_>,
    attributes: admission::Attributes<'_>,
) -> Vec<Given<'a>> {
    let who = Rc::new(Account {
        user: info.request.user.user.clone(),
        groups: info.request.user.all_groups().map(str::to_owned).collect(),
    });
    let resource = &info.kind.resource;
    let asked = CheckAttributes {
        group: resource.group.to_string(),
        resource: resource.plural.to_string(),
        subresource: info.path.subresource.to_string(),
        namespace: attributes.namespace.to_owned(),
        name: attributes.name.to_owned(),
        ..CheckAttributes::default()
    };
    let all = AuthorizationCheck::new(admitter, Rc::clone(&who));
    let own = AuthorizationCheck::for_request_resource(admitter, who, asked);
    [all, own].map(|inquiry| Ok(Value::AuthorizationCheck(Rc::new(inquiry)))).into()
}
