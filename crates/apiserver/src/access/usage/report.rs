//! The rules of a user's roles that its requests used, and those that they did not use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::RequestCount;
use crate::access::Access;
use crate::access::attributes::Subject;
use crate::access::rbac::policy::Grant;
use crate::access::rbac::rule::Rule;

/// A verb on signers that no plug-in of this server checks (`ClusterTrustBundleAttest`).
const UNCHECKED: &str = "attest";
/// The groups whose rules everybody has.
const EVERYBODY: [&str; 3] = ["system:authenticated", "system:unauthenticated", "system:serviceaccounts"];

/// The requests of a user, and the rules that allow them.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserAccess {
    /// The user.
    pub user: String,
    /// Whether it may do everything without a rule, as an administrator.
    pub is_privileged: bool,
    /// The number of requests.
    pub requests: u64,
    /// The rules of its roles, without those that every user has.
    pub rules: Vec<RuleUse>,
    /// The requests that got 403, and the permissions beside their own that others lacked.
    pub refused: Vec<RequestCount>,
}

/// A rule of a role that a binding grants to a user.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleUse {
    /// The binding: `ClusterRoleBinding/NAME` or `RoleBinding/NAMESPACE/NAME`.
    pub binding: String,
    /// The role: `ClusterRole/NAME` or `Role/NAMESPACE/NAME`.
    pub role: String,
    /// The number of the rule in the role, from 0.
    pub index: usize,
    /// The rule as JSON of the API.
    pub rule: Value,
    /// The number of requests that it allows or that needed it.
    pub requests: u64,
    /// The permissions that requests used, such as `list deployments.apps`.
    pub used: Vec<String>,
    /// The permissions that no request used. A rule with `*` has such a permission only if nothing used it.
    pub unused: Vec<String>,
}

impl Access {
    /// The requests of each user, and how much of its rights they used, by the index of roles as of its last update.
    pub(crate) fn report(&self) -> Vec<UserAccess> {
        let mut requests: BTreeMap<String, Vec<RequestCount>> = BTreeMap::new();
        for count in self.usage.all() {
            requests.entry(count.user.clone()).or_default().push(count);
        }
        let mut checks: BTreeMap<String, Vec<RequestCount>> = BTreeMap::new();
        for check in self.usage.all_checks() {
            checks.entry(check.user.clone()).or_default().push(check);
        }
        let user = |(user, groups): (String, Vec<String>)| {
            let mut counts = requests.remove(&user).unwrap_or_default();
            let sent = counts.iter().map(|count| count.allowed + count.refused).sum();
            counts.extend(checks.remove(&user).unwrap_or_default());
            let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
            let grants = self.policy.all_grants(Subject { user: &user, groups: &groups }, &EVERYBODY);
            UserAccess {
                is_privileged: groups.contains(&"system:masters"),
                requests: sent,
                rules: grants.iter().flat_map(|grant| rules(grant, &counts)).collect(),
                refused: counts.into_iter().filter(|count| count.refused > 0).collect(),
                user,
            }
        };
        self.usage.users().into_iter().map(user).collect()
    }
}

/// The use of the rules that a binding grants.
fn rules<'a>(grant: &'a Grant, counts: &'a [RequestCount]) -> impl Iterator<Item = RuleUse> + 'a {
    let namespace = grant.namespace();
    let (binding, role) = grant.names();
    let in_scope = move |count: &&RequestCount| namespace.is_empty() || count.namespace == namespace;
    let allowed: Vec<&RequestCount> =
        counts.iter().filter(in_scope).filter(|count| count.allowed > 0).collect();
    grant.rules().enumerate().map(move |(index, rule)| {
        let used: Vec<&RequestCount> =
            allowed.iter().copied().filter(|count| rule.allows(&count.attributes())).collect();
        let names: BTreeSet<String> = used.iter().map(|count| text_of_request(count)).collect();
        let unused = rule.parts().into_iter().filter(|part| {
            let is_checked = !part.verbs.iter().any(|verb| verb == UNCHECKED);
            is_checked && !used.iter().any(|count| part.allows(&count.attributes()))
        });
        RuleUse {
            binding: binding.clone(),
            role: role.clone(),
            index,
            rule: rule.as_json(),
            requests: used.iter().map(|count| count.allowed).sum(),
            unused: unused.map(|part| text_of_part(&part)).collect(),
            used: names.into_iter().collect(),
        }
    })
}

fn text_of_request(count: &RequestCount) -> String {
    if !count.path.is_empty() {
        return format!("{} {}", count.verb, count.path);
    }
    let resource = match &*count.subresource {
        "" => count.resource.clone(),
        subresource => format!("{}/{subresource}", count.resource),
    };
    permission(&count.verb, &resource, &count.group, "")
}

/// The text of a rule of one verb, one resource and one name.
fn text_of_part(part: &Rule) -> String {
    let only = |list: &[String]| list.first().cloned().unwrap_or_default();
    if !part.urls.is_empty() {
        return format!("{} {}", only(&part.verbs), only(&part.urls));
    }
    permission(&only(&part.verbs), &only(&part.resources), &only(&part.groups), &only(&part.names))
}

/// A permission as text: `list deployments.apps`, or `get configmaps NAME` for one object.
fn permission(verb: &str, resource: &str, group: &str, name: &str) -> String {
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    let name = if name.is_empty() { String::new() } else { format!(" {name}") };
    format!("{verb} {resource}{group}{name}")
}
