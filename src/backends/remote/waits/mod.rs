//! The reasons for cluster time to wait: watches of controllers that lag, and pending work of the cluster's own ones.

pub(super) mod lag;
pub(super) mod pending_work;
mod replicas;
