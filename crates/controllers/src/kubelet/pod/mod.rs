//! One pod as the kubelet processes it: its sandbox, the images and states of its containers, its status and
//! its end.

mod crash;
mod ending;
mod environment;
mod image_pull;
mod probe;
mod probe_timing;
mod probing;
mod process_probe;
mod pull_outcome;
mod refresh;
mod sandbox;
mod signature;
mod status;
mod sync_context;
mod worker;

pub(super) use sandbox::exit_detection_delay;
pub(super) use sync_context::SyncContext;
pub(super) use worker::{Memory, random_duration, running_before, sync};
