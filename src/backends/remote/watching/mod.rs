//! The known objects of a cluster, followed by watches.

pub(super) mod bridge;
pub(super) mod follow;
pub(super) mod known;
