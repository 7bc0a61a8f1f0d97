//! Bounds that keep a run finite. Each says what goes wrong without it.

use jiff::SignedDuration;

/// The longest span of virtual time that one step may ask for. Without it the clock would run out of years.
pub const SPAN_MAX: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);

/// Virtual latency of one request served in process. Without it a client that reconnects at once would keep the
/// runtime busy for ever and virtual time would stand still.
pub const REQUEST_LATENCY_MS: u64 = 1;

/// Requests that controllers may make within one virtual second before the run is stopped as a hot loop. One client
/// that never pauses makes a thousand, at a latency of a millisecond each.
pub const REQUESTS_PER_SECOND_MAX: u64 = 800;

/// Steps that all actors together may take at one virtual moment before the run is stopped as a loop without progress.
/// Without it two actors that undo each other's work at once would never let time pass.
pub const STEPS_PER_MOMENT_MAX: u32 = 10_000;

/// The same for each actor of a cluster, where that is more: thousands of nodes may have something to do at one moment.
pub const STEPS_PER_ACTOR_MAX: u32 = 20;
