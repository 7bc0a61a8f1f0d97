//! Derives insights from objects. Pure and total: accepts any JSON without a panic; missing fields are
//! unknown.

pub mod cluster_operator;
pub mod cluster_version;
pub mod dated;
pub mod health;
pub mod node;
pub mod pool;
pub mod progress;
