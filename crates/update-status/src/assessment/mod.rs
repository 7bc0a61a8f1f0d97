//! What a cluster's objects say about its update at one moment: the one place for every rule that both
//! `oc adm upgrade status` and the update status controller apply.
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
