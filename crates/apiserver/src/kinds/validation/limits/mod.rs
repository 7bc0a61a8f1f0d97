//! Validation of quotas, limit ranges, disruption budgets and API services.

pub(super) mod budget;
pub(super) mod limit_range;
pub(super) mod quota;
mod scopes;

#[cfg(test)]
mod tests;
