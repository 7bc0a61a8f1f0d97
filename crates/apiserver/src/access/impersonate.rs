//! Impersonation: acting as another user (`Impersonate-User` and related headers).
//!
//! Kubernetes 1.36 checks the narrow permissions of constrained impersonation first, then the older verb
//! `impersonate`. If neither is granted, it returns the first error.

use std::borrow::Cow;
use std::collections::BTreeMap;

use windtunnel_core::Identity;

use super::Attributes;
use crate::access::Access;
use crate::gotext::quote;
use crate::kinds::objects::Objects;
use crate::names;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::Request;
use crate::request::impersonation::Impersonate;

const AUTHENTICATION: &str = "authentication.k8s.io";
const ANONYMOUS: &str = "system:anonymous";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// With at least this many groups or extra values, a wildcard permission is checked first.
const MANY: usize = 4;

/// A mode of constrained impersonation, by the kind of the impersonated user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    /// The verb `impersonate`, without constraints.
    Legacy,
}

impl Impersonate {
    fn is_user_alone(&self) -> bool {
        self.groups.is_empty() && self.uid.is_empty() && self.extra.is_empty()
    }

    /// The 400 error of headers that name no user.
    fn without_user(&self, constrained: bool) -> BoxedRejection {
        let text = if constrained { self.as_user_info() } else { self.as_references() };
        let what = if constrained { "a user name" } else { "a user" };
        BoxedRejection::bad_request(format!("requested {text} without impersonating {what}"))
    }

    /// The user as Go prints a `user.DefaultInfo` with `%#v`.
    fn as_user_info(&self) -> String {
        let list = |items: &[String]| {
            let quoted: Vec<String> = items.iter().map(|item| quote(item)).collect();
            format!("[]string{{{}}}", quoted.join(", "))
        };
        let groups = if self.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&self.groups) };
        let extra: Vec<String> =
            self.extra.iter().map(|(key, values)| format!("{}:{}", quote(key), list(values))).collect();
        let extra = if extra.is_empty() { "(nil)".to_owned() } else { format!("{{{}}}", extra.join(", ")) };
        format!(
            "&user.DefaultInfo{{Name:\"\", UID:{}, Groups:{groups}, Extra:map[string][]string{extra}}}",
            quote(&self.uid)
        )
    }

    /// The user as Go prints a list of `v1.ObjectReference` with `%v`.
    fn as_references(&self) -> String {
        let version = format!("{AUTHENTICATION}/v1");
        let mut parts: Vec<String> =
            self.groups.iter().map(|group| format!("{{Group  {group}    }}")).collect();
        for (key, values) in &self.extra {
            parts.extend(values.iter().map(|value| format!("{{UserExtra  {value}  {version}  {key}}}")));
        }
        if !self.uid.is_empty() {
            parts.push(format!("{{UID  {}  {version}  }}", self.uid));
        }
        format!("[{}]", parts.join(" "))
    }

    /// The identity of the impersonated user.
    fn identity(&self, mode: Mode) -> Identity {
        let mut groups = self.groups.clone();
        if matches!(mode, Mode::AssociatedNode | Mode::ArbitraryNode) {
            groups = vec!["system:nodes".to_owned()];
        } else if let (Some((namespace, _)), true) = (service_account(&self.user), groups.is_empty()) {
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
        let has = |groups: &[String], group: &str| groups.iter().any(|found| found == group);
        if self.user == ANONYMOUS {
            if !has(&groups, UNAUTHENTICATED) {
                groups.push(UNAUTHENTICATED.to_owned());
            }
        } else if !has(&groups, UNAUTHENTICATED) && !has(&groups, AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Identity { user: self.user.clone(), groups, uid: self.uid.clone(), extra: self.extra.clone() }
    }
}

/// The namespace and name in a ServiceAccount's user name.
pub(super) fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let valid = names::label(namespace).is_empty() && names::subdomain(name).is_empty();
    valid.then_some((namespace, name))
}

fn node(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| names::subdomain(name).is_empty())
}

impl Mode {
    const CONSTRAINED: [Self; 4] =
        [Self::AssociatedNode, Self::ArbitraryNode, Self::ServiceAccount, Self::UserInfo];

    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    /// Whether `who` can impersonate the wanted user in this mode.
    fn fits(self, wanted: &Impersonate, who: &Identity) -> bool {
        let (node, account) = (node(&wanted.user), service_account(&wanted.user));
        match self {
            Self::AssociatedNode => {
                let own = who.extra.get(NODE_NAME).map(Vec::as_slice);
                let is_own = matches!((own, node), (Some([own]), Some(node)) if own == node);
                wanted.is_user_alone() && is_own && service_account(&who.user).is_some()
            }
            Self::ArbitraryNode => wanted.is_user_alone() && node.is_some(),
            Self::ServiceAccount => wanted.is_user_alone() && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    /// The permission to impersonate one user, group, uid or extra value.
    fn permission<'a>(self, resource: &'a str, name: &'a str) -> Attributes<'a> {
        let is_legacy_group =
            self == Self::Legacy && matches!(resource, "users" | "groups" | "serviceaccounts");
        Attributes {
            verb: match self {
                Self::Legacy => "impersonate".into(),
                _ => format!("impersonate:{}", self.name()).into(),
            },
            group: if is_legacy_group { "".into() } else { AUTHENTICATION.into() },
            resource: resource.into(),
            name: name.into(),
            ..Attributes::default()
        }
    }
}

impl Access {
    /// The impersonated user.
    ///
    /// # Errors
    /// 400 if the headers name no user, 403 if the client may not impersonate the user.
    pub(crate) fn impersonated(
        &mut self,
        objects: Objects<'_>,
        constrained: bool,
        request: &Request<'_>,
        wanted: &Impersonate,
    ) -> Outcome<Identity> {
        if wanted.user.is_empty() {
            return Err(wanted.without_user(constrained));
        }
        let asked = Attributes::from_request(request);
        let who = request.user;
        let mut first = None;
        if constrained {
            for mode in Mode::CONSTRAINED.into_iter().filter(|mode| mode.fits(wanted, who)) {
                let verb = format!("impersonate-on:{}:{}", mode.name(), asked.verb);
                let on = Attributes { verb: Cow::Owned(verb), ..asked.clone() };
                match self
                    .check_attributes(objects, who, &on)
                    .and_then(|()| self.check_mode(objects, who, wanted, mode))
                {
                    Ok(()) => return Ok(wanted.identity(mode)),
                    Err(refused) => first = first.or(Some(refused)),
                }
            }
        }
        match self.check_mode(objects, who, wanted, Mode::Legacy) {
            Ok(()) => Ok(wanted.identity(Mode::Legacy)),
            Err(refused) => Err(first.unwrap_or(refused)),
        }
    }

    fn check_mode(
        &mut self,
        objects: Objects<'_>,
        who: &Identity,
        wanted: &Impersonate,
        mode: Mode,
    ) -> Outcome<()> {
        let mut user = mode.permission("users", &wanted.user);
        match (mode, service_account(&wanted.user), node(&wanted.user)) {
            (Mode::AssociatedNode, ..) => user = mode.permission("nodes", "*"),
            (Mode::ArbitraryNode, _, Some(node)) => user = mode.permission("nodes", node),
            (_, Some((namespace, name)), _) => {
                user = mode.permission("serviceaccounts", name);
                user.namespace = namespace.into();
            }
            _ => {}
        }
        self.check_attributes(objects, who, &user)?;
        if !wanted.uid.is_empty() {
            self.check_attributes(objects, who, &mode.permission("uids", &wanted.uid))?;
        }
        self.check_groups(objects, who, &wanted.groups, mode)?;
        self.check_extra(objects, who, &wanted.extra, mode)
    }

    fn check_groups(
        &mut self,
        objects: Objects<'_>,
        who: &Identity,
        groups: &[String],
        mode: Mode,
    ) -> Outcome<()> {
        if mode != Mode::Legacy {
            for (group, why) in [
                ("", "impersonating the empty string group is not allowed"),
                ("system:masters", "impersonating the system:masters group is not allowed"),
            ] {
                if groups.iter().any(|found| found == group) {
                    return Err(mode.permission("groups", group).forbidden(&who.user, why));
                }
            }
            if groups.len() >= MANY && self.may(objects, who, &mode.permission("groups", "*")) {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.check_attributes(objects, who, &mode.permission("groups", group)))
    }

    fn check_extra(
        &mut self,
        objects: Objects<'_>,
        who: &Identity,
        extra: &BTreeMap<String, Vec<String>>,
        mode: Mode,
    ) -> Outcome<()> {
        if mode != Mode::Legacy {
            for (key, values) in extra {
                if let Some(why) = forbidden_extra(key, values) {
                    return Err(mode.permission("userextras", "").forbidden(&who.user, why));
                }
            }
            let all = Attributes { subresource: "*".into(), ..mode.permission("userextras", "*") };
            let many = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && self.may(objects, who, &all) {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                let mut asked = mode.permission("userextras", value);
                asked.subresource = key.into();
                self.check_attributes(objects, who, &asked)?;
            }
        }
        Ok(())
    }
}

/// The reason why constrained impersonation never allows an extra value, if it does not.
fn forbidden_extra(key: &str, values: &[String]) -> Option<&'static str> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed");
    }
    let empty = values.iter().any(String::is_empty);
    empty.then_some("impersonating the empty string value in extra is not allowed")
}
