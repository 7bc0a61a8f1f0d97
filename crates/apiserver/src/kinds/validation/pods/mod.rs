//! Validation of pods: their containers, volumes and status.

pub(super) mod container;
pub(super) mod pod;
pub(super) mod volume;
