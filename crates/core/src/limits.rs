//! Limits that keep a run finite. Each comment says what goes wrong without the limit.

use jiff::SignedDuration;

/// The longest span of virtual time that one scenario step may request. Without it the clock could overflow.
pub const SPAN_MAX: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);

/// The virtual latency of one request served in process. Without it a client that reconnects at once would
/// keep the runtime busy for ever, and virtual time would not advance.
pub const REQUEST_LATENCY_MS: u64 = 1;

/// The requests that controllers may make within one virtual second. The run stops with a hot-loop error when
/// they make more. A single client that never pauses makes a thousand, at a latency of one millisecond each.
pub const REQUESTS_PER_SECOND_MAX: u64 = 800;

/// The steps that all actors together may take at one virtual time. The run stops when they take more.
/// Without it two actors that keep undoing each other's work would never let time advance.
pub const STEPS_PER_MOMENT_MAX: u32 = 10_000;

/// The same limit per actor of a cluster; the larger of both applies. Thousands of nodes may have work at the
/// same time.
pub const STEPS_PER_ACTOR_MAX: u32 = 20;
