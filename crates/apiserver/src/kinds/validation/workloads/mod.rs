//! Validation of controllers of pods and of autoscalers.

pub(super) mod job;
pub(super) mod metrics;
pub(super) mod workload;
