//! Bounds that keep a run finite. Each says what goes wrong without it.

use jiff::SignedDuration;

/// How long a wait may take in virtual time when the scenario does not say: longer than any healthy update.
pub const WAIT_DEFAULT: SignedDuration = SignedDuration::from_hours(6);

/// Virtual latency of one request served in process. Without it a client that reconnects at once would keep the
/// runtime busy for ever and virtual time would stand still.
pub const REQUEST_LATENCY_MS: u64 = 1;

/// Requests that an in-process client may make within one virtual second before the run is stopped as a hot loop.
pub const REQUESTS_PER_SECOND_MAX: u32 = 5_000;

/// Steps that one actor may take at one virtual moment before the run is stopped as a loop without progress.
pub const STEPS_PER_MOMENT_MAX: u32 = 10_000;
