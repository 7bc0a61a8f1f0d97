//! Validation of quotas, limit ranges and disruption budgets.

pub(super) mod limit_range;
pub(super) mod policy;
pub(super) mod quota;
