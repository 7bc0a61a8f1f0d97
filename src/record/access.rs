//! The rights that users needed in a run, and their lines in the file form.
//!
//! They say which requests there were, not how many: a program that asks again on a timer of its own may do so a
//! different number of times in each run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A user that sent requests, and the rules of its roles at the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserRights {
    /// The user.
    pub user: String,
    /// Whether it may do everything without a rule, as an administrator.
    pub is_privileged: bool,
    /// The rules of its roles, without those that every user has.
    pub rules: Vec<RuleRights>,
    /// The requests that got 403, each once.
    pub refused: Vec<RefusedRequest>,
    /// The number of different requests that got 403 and are not in the list, because it is full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_more: usize,
}

/// A rule of a role that a binding grants to a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleRights {
    /// The binding: `ClusterRoleBinding/NAME` or `RoleBinding/NAMESPACE/NAME`.
    pub binding: String,
    /// The role: `ClusterRole/NAME` or `Role/NAMESPACE/NAME`.
    pub role: String,
    /// The number of the rule in the role, from 0.
    pub index: usize,
    /// The rule as JSON of the API.
    pub rule: Value,
    /// The permissions that requests used, such as `list deployments.apps`.
    pub used: Vec<String>,
    /// The permissions that no request used.
    pub unused: Vec<String>,
}

/// A request that got 403. Fields that do not apply are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedRequest {
    /// The verb, such as `get` or `deletecollection`; of a path, the method in lower case.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The resource, such as `pods`.
    pub resource: String,
    /// The subresource, such as `status`.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The path of a request for no resource.
    pub path: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The line of a user in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RightsForm<R> {
    pub(super) rights: R,
}

/// Returns whether a line of a file has the rights of a user.
pub(super) fn is_rights(line: &str) -> bool {
    line.starts_with("{\"rights\":")
}
