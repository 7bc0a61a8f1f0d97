//! Assesses the update of a cluster from its objects at one moment. `oc adm upgrade status` and the update
//! status controller share these rules.
//!
//! Pure and total: accepts any JSON without a panic; missing fields are unknown. Where the two programs differ,
//! [`rules::Rules`] selects the behavior, or each has a function of its own.

pub mod cluster_operator;
pub mod cluster_version;
pub mod dated_condition;
pub(crate) mod estimate;
pub mod health;
pub(crate) mod history;
pub mod node;
pub(crate) mod operator_counts;
pub(crate) mod percent;
pub mod pool;
pub mod progress;
pub mod rules;
pub(crate) mod time;
