//! One pod as the kubelet processes it: its sandbox, the images and states of its containers, its status and
//! its end.
//!
//! * `image_pull.rs` and `pull_outcome.rs`: pulls, their back-off and messages; `signature.rs` checks image policies
//! * `crash.rs` and `ending.rs`: restarts, and the end of pods
//! * `probe.rs`: probes of simulated containers; `probing.rs` and `process_probe.rs` those of programs
//! * `refresh.rs`: volumes that change while a program runs
//! * `pod_status.rs`: the status

mod crash;
mod ending;
mod environment;
mod image_pull;
mod pod_status;
mod probe;
mod probe_timing;
mod probing;
mod process_probe;
mod pull_outcome;
mod refresh;
mod sandbox;
mod signature;
mod sync_context;
mod worker;

pub(super) use sandbox::exit_detection_delay;
pub(super) use sync_context::SyncContext;
pub(super) use worker::{Memory, random_duration, running_before, sync};
