//! Controllers in Rust that run in a simulated cluster.

mod faults;
mod programs;
mod volume_keeper;

#[path = "../../../examples/volume_keeper/controller.rs"]
mod controller;

use windtunnel::tunnel::{Identity, Tunnel};

/// The scenario of the example.
const RESTORE: &str = include_str!("../../../examples/volume_keeper/restore.yaml");

/// Adds the example to a tunnel.
fn with_volume_keeper(tunnel: Tunnel, is_buggy: bool) -> Tunnel {
    let account = Identity::service_account("default", "volume-keeper");
    tunnel.program("volume-keeper", account, move |client| controller::run(client, is_buggy))
}

/// A scenario with the cluster of the example and another timeline.
fn scenario(timeline: &str) -> String {
    let (head, _) = RESTORE.split_once("timeline:\n").unwrap();
    format!("{head}timeline:\n{timeline}")
}
