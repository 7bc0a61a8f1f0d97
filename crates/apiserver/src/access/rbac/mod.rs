//! Roles and bindings (`k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac`): their index, what they allow, and who may write them.

pub(super) mod aggregation;
pub(super) mod binding;
pub(super) mod bootstrap;
pub(super) mod escalation;
pub(super) mod policy;
pub(super) mod rule;
