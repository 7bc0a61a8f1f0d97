//! Validation of quotas, limit ranges and disruption budgets.

pub(super) mod budget;
pub(super) mod limit_range;
pub(super) mod quota;
mod scopes;

#[cfg(test)]
mod tests;
