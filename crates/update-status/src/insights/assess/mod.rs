//! What objects say, as insights. Pure and total: any JSON in, never a panic; what is missing is unknown.

pub mod cluster_operator;
pub mod cluster_version;
pub mod dated;
pub mod health;
pub mod node;
pub mod pool;
pub mod progress;
