//! Validation of controllers of pods, and of autoscalers.

pub(super) mod amount;
pub(super) mod apps;
pub(super) mod autoscaler;
pub(super) mod controller;
pub(super) mod cron;
pub(super) mod job;
mod template;
pub(super) mod warnings;

#[cfg(test)]
mod tests;
